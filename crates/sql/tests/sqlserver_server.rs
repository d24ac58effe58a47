//! Everything on a real SQL Server: the one that `FATHOM_TEST_SQLSERVER` names, `sqlserver://USER:PASSWORD@HOST:PORT?tls=require`
//! (`tls_ca=FILE` may follow). The login must be one that may create databases: each test makes one of its own and drops it.
//! Without the variable nothing is tested, and said so. `make test-sqlserver` runs it.
//!
//! A server that speaks T-SQL but not all of it says by `FATHOM_TEST_SQLSERVER_LACKS` what is left out, in these words:
//!
//! | word | what it stands for |
//! |---|---|
//! | `update-locks` | `WITH (UPDLOCK)` and `HOLDLOCK`: users run one after another |
//! | `procedures` | `OUTPUT ... INTO` another table, `UPDATE` that sets variables: no procedures, no trigger |
//! | `full-text` | full-text indexes: no DVD Store |
//! | `check-ident` | `DBCC CHECKIDENT`: no DVD Store |
//! | `null-type` | parameters of the type NULL (0x1F): values other than null only |
//! | `duplicate-key-codes` | errors by SQL Server's numbers for every duplicate key and every wrong statement |

mod common;
mod conformance;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod order_entry;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod shop;

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_runtime::monotonic;
use fathom_settings::{Diagnostics, Tree};
use fathom_sql::database::{Database, DatabaseKind};
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::{ErrorKind, Result};
use fathom_sql::insert::Config;
use fathom_sql::rows::Answer;
use fathom_sql::session::{Bulk, Session, Statement, Target};
use fathom_sql::settings::Interface;
use fathom_sql::value::Value;
use fathom_workload::{Address, Connection, Tls};

/// The server that is named; None without one.
fn named() -> Option<Connection> {
    let Ok(url) = std::env::var("FATHOM_TEST_SQLSERVER") else {
        eprintln!("not tested: FATHOM_TEST_SQLSERVER names no server");
        return None;
    };
    let wrong = "FATHOM_TEST_SQLSERVER is sqlserver://USER:PASSWORD@HOST:PORT?tls=MODE&tls_ca=FILE";
    let rest = url.strip_prefix("sqlserver://").expect(wrong);
    let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, place) = rest.rsplit_once('@').expect(wrong);
    let (user, password) = login.split_once(':').expect(wrong);
    let (host, port) = place.trim_end_matches('/').rsplit_once(':').unwrap_or((place, "1433"));
    let option = |name: &str| {
        let mut pairs = options.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let tls = option("tls").map(|word| match word {
        "disable" => Tls::Disable,
        "prefer" => Tls::Prefer,
        "require" => Tls::Require,
        "verify-full" => Tls::VerifyFull,
        other => panic!("{wrong}; {other} is no way to encrypt"),
    });
    Some(Connection {
        kind: DatabaseKind::Sqlserver,
        address: Address::Tcp(host.into(), port.parse().expect(wrong)),
        user: user.into(),
        password: Some(password.into()),
        database: "master".into(),
        tls,
        tls_ca: option("tls_ca").map(Into::into),
        timeout_ns: Some(120_000_000_000),
    })
}

const LACKS: [&str; 6] =
    ["update-locks", "procedures", "full-text", "check-ident", "null-type", "duplicate-key-codes"];

fn lacks(what: &str) -> bool {
    let words = std::env::var("FATHOM_TEST_SQLSERVER_LACKS").unwrap_or_default();
    for word in words.split_whitespace() {
        assert!(LACKS.contains(&word), "FATHOM_TEST_SQLSERVER_LACKS: {word} is none of {LACKS:?}");
    }
    let lacks = words.split_whitespace().any(|word| word == what);
    if lacks {
        eprintln!("left out, because the server lacks it: {what}");
    }
    lacks
}

/// A server, less what it lacks: hints and definitions that it does not take are left out.
struct Less {
    server: Sqlserver,
    hints: bool,
    procedures: bool,
}

struct LessSession<'s> {
    session: Box<dyn Session + 's>,
    of: &'s Less,
}

impl Less {
    fn text(&self, text: &str) -> String {
        if self.hints {
            return text.replace(" WITH (UPDLOCK, HOLDLOCK)", "").replace(" WITH (UPDLOCK)", "");
        }
        text.to_owned()
    }
}

impl Database for Less {
    fn kind(&self) -> DatabaseKind {
        self.server.kind()
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(LessSession { session: self.server.connect()?, of: self }))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        self.server.facts(session)
    }
}

impl Session for LessSession<'_> {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        self.session.prepare(&self.of.text(text))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        self.session.run(statement, parameters, answer)
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        let defines = |what: &str| text.lines().any(|line| line.starts_with(what));
        if self.of.procedures && (defines("CREATE PROCEDURE") || defines("CREATE TRIGGER")) {
            return Ok(());
        }
        self.session.batch(text)
    }

    fn begin(&mut self) -> Result<()> {
        self.session.begin()
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session.rollback()
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        self.session.bulk(target)
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.session.set_timeout(timeout)
    }
}

/// Runs on an empty database of that name, which is dropped afterwards if all went well.
fn on(name: &str, test: impl FnOnce(&Less)) {
    let Some(to) = named() else { return };
    let master = Sqlserver::new(to.clone());
    let mut session = master.connect().expect("FATHOM_TEST_SQLSERVER: the server lets us in");
    let name = format!("fathom_test_{name}");
    session.batch(&format!("IF DB_ID('{name}') IS NOT NULL DROP DATABASE {name}")).expect("dropped");
    session.batch(&format!("CREATE DATABASE {name}")).expect("the login may create databases");
    let server = Sqlserver::new(Connection { database: name.clone(), ..to });
    test(&Less { server, hints: lacks("update-locks"), procedures: lacks("procedures") });
    // The server notices a moment later that the sessions have gone.
    let dropped = (0..100).any(|_| {
        let done = session.batch(&format!("DROP DATABASE {name}")).is_ok();
        if !done {
            common::servers::pause();
        }
        done
    });
    assert!(dropped, "{name} cannot be dropped");
}

#[test]
fn it_conforms() {
    on("conforms", |database| {
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
fn order_entry_works() {
    on("order_entry", |database| match (database.hints, database.procedures) {
        (false, false) => order_entry::works(database),
        (false, true) => order_entry::works_by(database, &[Interface::Statements]),
        (true, _) => {
            order_entry::loads(database);
            order_entry::every_transaction_does_what_the_clauses_say(database, Interface::Statements);
        }
    });
}

#[test]
fn the_shop_works() {
    if lacks("full-text") || lacks("check-ident") || lacks("procedures") {
        return;
    }
    on("shop", |database| shop::works(database));
}

/// Two sessions want two rows in opposite order: one of them is the victim, and the other goes on.
#[test]
fn a_deadlock_has_a_victim_that_may_try_again() {
    on("deadlock", |database| {
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

/// The loop that runs inside the server leaves the same rows as the one that runs here.
#[test]
fn rows_of_a_loop_are_those_of_the_client() {
    on("loop", |_| {
        let to = Connection { database: "fathom_test_loop".into(), ..named().expect("it is named") };
        for table in ["trade", "payload"] {
            let checksum = |transaction: &str, method: &str| {
                let text =
                    format!("rows = 60\ntransaction = {transaction}\nmethod = {method}\ntable = \"{table}\"");
                let diagnostics = Diagnostics::new();
                let tree = Tree::parse("test.toml", &text, &diagnostics);
                let config = Config::read(&mut tree.section(&diagnostics)).expect("sound settings");
                let outcome = config.run_on_server(&to, &mut ()).unwrap_or_else(|failed| panic!("{failed}"));
                outcome.facts["rows_checksum"].clone()
            };
            let of_client = checksum("\"per-row\"", "1");
            for transaction in ["\"per-row\"", "25", "\"whole-batch\""] {
                assert_eq!(checksum(transaction, "\"loop\""), of_client, "{table} {transaction}");
            }
        }
    });
}

#[test]
fn bulk_rows_go_over_quickly() {
    on("bulk", |database| {
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
    on("deadline", |database| {
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
