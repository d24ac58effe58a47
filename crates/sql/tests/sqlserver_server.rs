//! Everything on a real SQL Server: the one that `FATHOM_TEST_SQLSERVER` names, `sqlserver://USER:PASSWORD@HOST:PORT?tls=require`
//! (`&tls_ca=FILE` may follow). The login must be one that may create databases: each test makes one of its own and drops it.
//! Without the variable nothing is tested, and said so. `make test-sqlserver` runs it.
//!
//! A server that speaks T-SQL but not all of it says by `FATHOM_TEST_SQLSERVER_LACKS` what is left out or put
//! differently, in these words:
//!
//! | word | what it stands for |
//! |---|---|
//! | `update-locks` | `WITH (UPDLOCK)` and `HOLDLOCK`: the row is updated to what it is before it is read |
//! | `output-into` | `UPDATE ... OUTPUT ... INTO` with joins, as in `place_order`: an update and an insertion |
//! | `variable-updates` | `UPDATE ... SET @variable = column`: a read that locks, then the update |
//! | `check-ident` | `DBCC CHECKIDENT` after a bulk copy: the greatest number is looked for and set |
//! | `full-text` | full-text indexes: titles and actors are searched word by word, without an index |
//! | `null-type` | parameters of the type NULL (0x1F): empty texts and zeros instead, random values with nulls by bulk copy only |
//! | `kill` | `KILL` of a session |
//! | `foreign-key-plans` | inserts with a foreign key after the session's first table variable: each session begins with one |
//! | `duplicate-key-codes` | errors by SQL Server's numbers for every duplicate key and every wrong statement |

mod common;
mod conformance;
mod less;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod order_entry;
mod outage;
mod rows;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod shop;

use std::time::Duration;

use common::certificates::Certificates;
use common::named::on_its_own;
use common::proxy::Proxy;
use fathom_job::{Connection, Tls};
use fathom_runtime::monotonic;
use fathom_sql::database::{Database, DatabaseKind};
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::{ErrorKind, Result};
use fathom_sql::rows::Answer;
use fathom_sql::session::Target;
use fathom_sql::value::Value;
use less::{LimitedServer, lacks};

/// The server that is named; None without one.
fn named() -> Option<Connection> {
    common::named::named("FATHOM_TEST_SQLSERVER", DatabaseKind::Sqlserver, "master", 1433)
}

/// Runs on an empty database of that name, which is dropped afterwards if all went well.
fn on(name: &str, test: impl FnOnce(&LimitedServer, &Connection)) {
    let Some(to) = named() else { return };
    on_its_own(&to, name, |to| {
        test(&LimitedServer::new(Sqlserver::new(to.clone())), &to);
    });
}

#[test]
fn it_conforms() {
    on("conforms", |database, _| {
        if lacks("null-type") {
            conformance::random::values_come_back(database, false);
        } else {
            conformance::conforms_as(database, !lacks("duplicate-key-codes"));
        }
        let mut session = database.connect().expect("the server is there");
        let facts = database.facts(&mut *session).expect("facts");
        eprintln!("facts: {facts:#?}");
        eprintln!("counters: {:#?}", database.server.counters(&mut *session).expect("counters"));
        assert!(facts["encryption"].starts_with("TLS") || named().is_some_and(|to| to.tls() == Tls::Disable));
    });
}

#[test]
fn rows_arrive_however_they_are_handed_over() {
    on("rows", |_, to| rows::arrive_however_they_are_handed_over(to));
}

#[test]
fn a_stranger_is_not_believed() {
    let Some(to) = named().filter(|to| to.tls() != Tls::Disable) else { return };
    let files = Certificates::of("root");
    let wanted = Connection { tls: Some(Tls::VerifyFull), tls_ca: Some(files.stranger()), ..to };
    let refused = Sqlserver::new(wanted).connect().err().expect("the stranger has not signed it");
    assert_eq!(refused.kind(), ErrorKind::Untrusted, "{refused}");
    assert!(refused.to_string().contains("signed by none of the authorities"), "{refused}");
}

#[test]
fn a_network_that_stands_still_ends_in_the_timeout() {
    on("stalls", |_, to| {
        let (proxy, through) = Proxy::before(to);
        outage::stands_still(&proxy, &through);
    });
}

#[test]
fn a_network_that_breaks_is_lost() {
    on("breaks", |_, to| {
        let (proxy, through) = Proxy::before(to);
        outage::breaks(&proxy, &through);
    });
}

#[test]
fn a_session_that_is_killed_is_lost() {
    if lacks("kill") {
        return;
    }
    on("killed", |database, _| {
        let mut session = database.connect().expect("the server is there");
        let number = session.query("SELECT @@SPID", &[]).expect("asked");
        let number = number.first().and_then(|row| row.int(0)).expect("a number");
        session.batch("CREATE TABLE one (n int NOT NULL)").expect("made");
        session.begin().expect("begun");
        session.query("INSERT INTO one (n) VALUES (1)", &[]).expect("inserted");
        let mut other = database.connect().expect("the server is there");
        other.batch(&format!("KILL {number}")).expect("killed");
        let lost = (0..200).find_map(|_| {
            common::servers::pause();
            session.query("INSERT INTO one (n) VALUES (2)", &[]).err()
        });
        let lost = lost.expect("it does not live on");
        assert_eq!(lost.kind(), ErrorKind::Lost, "{lost}");
        let count = other.query("SELECT count(*) FROM one", &[]).expect("counted");
        assert_eq!(count.first().and_then(|row| row.int(0)).expect("a number"), 0, "rolled back");
    });
}

#[test]
fn order_entry_works() {
    on("order_entry", |database, _| order_entry::works(database));
}

#[test]
fn the_shop_works() {
    on("shop", |database, _| shop::works(database));
}

/// Two sessions want two rows in opposite order: one of them is the victim, and the other goes on.
#[test]
fn a_deadlock_has_a_victim_that_may_try_again() {
    on("deadlock", |database, _| {
        let mut first = database.connect().expect("the server is there");
        first.batch("CREATE TABLE pair (id int NOT NULL PRIMARY KEY, n int NOT NULL)").expect("made");
        first.batch("INSERT INTO pair (id, n) VALUES (1, 0), (2, 0)").expect("filled");
        let barrier = std::sync::Barrier::new(2);
        let work = |order: [i64; 2]| {
            let mut session = database.connect().expect("the server is there");
            let text = "-- @P1 int\nUPDATE pair SET n = n + 1 WHERE id = @P1";
            let update = session.prepare(text).expect("prepared");
            let mut conflicts = 0;
            loop {
                let mut both = || -> Result<()> {
                    let mut answer = Answer::new();
                    session.begin()?;
                    session.run(update, &[Value::Int(order[0])], &mut answer)?;
                    if conflicts == 0 {
                        barrier.wait();
                    }
                    session.run(update, &[Value::Int(order[1])], &mut answer)?;
                    session.commit()
                };
                match both() {
                    Ok(()) => return conflicts,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                        conflicts += 1;
                    }
                }
            }
        };
        let conflicts = std::thread::scope(|scope| {
            let other = scope.spawn(|| work([2, 1]));
            work([1, 2]) + other.join().expect("it ended")
        });
        assert!(conflicts >= 1, "they have met");
        let sum = first.query("SELECT SUM(n) FROM pair", &[]).expect("asked");
        assert_eq!(sum.first().and_then(|row| row.int(0)).expect("a number"), 4);
    });
}

#[test]
fn bulk_rows_go_over_quickly() {
    on("bulk", |database, _| {
        const ROWS: i64 = 300_000;
        let mut session = database.connect().expect("the server is there");
        let table =
            "CREATE TABLE filled (id int NOT NULL, price decimal(12, 2) NOT NULL, name varchar(24) NOT NULL)";
        session.batch(table).expect("made");
        let began = monotonic();
        let mut bulk =
            session.bulk(&Target { table: "filled", columns: &["id", "price", "name"] }).expect("begun");
        for id in 0..ROWS {
            let row = [Value::Int(id), Value::cents(id * 7), Value::Text("abcdefghijklmnopqrst")];
            bulk.row(&row).expect("taken");
        }
        assert_eq!(bulk.finish().expect("finished"), ROWS as u64);
        eprintln!("bulk copy: {:.0} rows/s", ROWS as f64 * 1e9 / (monotonic() - began) as f64);
    });
}

#[test]
fn a_deadline_ends_a_statement() {
    on("deadline", |database, _| {
        let mut holds = database.connect().expect("the server is there");
        holds.batch("CREATE TABLE one (n int NOT NULL)").expect("made");
        holds.batch("INSERT INTO one (n) VALUES (0)").expect("filled");
        holds.begin().expect("begun");
        holds.query("UPDATE one SET n = 1", &[]).expect("locked");
        let mut session = database.connect().expect("the server is there");
        session.set_timeout(Some(Duration::from_millis(300))).expect("set");
        let late = session.batch("UPDATE one SET n = 2").expect_err("not waited for");
        assert_eq!(late.kind(), ErrorKind::Timeout, "{late}");
    });
}
