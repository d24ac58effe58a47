//! Everything on a MySQL server: the one that `FATHOM_TEST_MYSQL` names, `mysql://USER:PASSWORD@HOST:PORT?tls=require`
//! (`&tls_ca=FILE` may follow). The user must be one that may create databases, and the server must allow `LOAD DATA LOCAL`:
//! each test makes a database of its own and drops it. Without the variable nothing is tested, and said so. `make test-mysql`
//! runs it.

mod common;
mod conformance;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod order_entry;
mod outage;
mod rows;
#[allow(dead_code, reason = "a server of somebody else's is not killed")]
mod shop;

use common::certificates::Certificates;
use common::named::{named, on_its_own};
use common::proxy::Proxy;
use fathom_job::{Connection, DatabaseKind, Tls};
use fathom_runtime::SECOND;
use fathom_sql::database::Database;
use fathom_sql::drive::Observer;
use fathom_sql::drivers::mariadb::Mariadb;
use fathom_sql::error::ErrorKind;
use fathom_sql::value::Value;
use fathom_sql::watch::Watch;

/// Runs on an empty database of that name, of the server that is named.
fn on(name: &str, test: impl FnOnce(&Mariadb, &Connection)) {
    let Some(to) = server() else { return };
    on_its_own(&to, name, |to| test(&Mariadb::new(to.clone()), &to));
}

fn server() -> Option<Connection> {
    named("FATHOM_TEST_MYSQL", DatabaseKind::Mysql, "mysql", 3306)
}

#[test]
fn it_conforms() {
    on("conforms", |database, to| {
        conformance::conforms(database);
        let mut session = database.connect().expect("the server is there");
        let facts = database.facts(&mut *session).expect("facts");
        eprintln!("facts: {facts:#?}");
        assert!(facts["encryption"].starts_with("TLS") || to.tls() == Tls::Disable, "{facts:?}");
    });
}

#[test]
fn the_other_kind_is_refused_and_named() {
    let Some(to) = server() else { return };
    let wrong = Connection { kind: DatabaseKind::Mariadb, ..to };
    let refused = Mariadb::new(wrong).connect().err().expect("it is MySQL");
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains("kind = \"mysql\""), "{refused}");
}

#[test]
fn rows_arrive_however_they_are_handed_over() {
    on("rows", |_, to| rows::arrive_however_they_are_handed_over(to));
}

#[test]
fn order_entry_works() {
    on("order_entry", |database, _| {
        order_entry::works(database);
        order_entry::repair(database);
    });
}

#[test]
fn its_files_and_its_buffer_pool_are_told() {
    on("files", |database, _| {
        let mut session = database.connect().expect("the server is there");
        let session = &mut *session;
        let mut watch = Watch::new(DatabaseKind::Mysql, None);
        watch.is_warm(session, SECOND).expect("it tells how full its pool is");
        watch.begin(session).expect("asked");
        session.batch("CREATE TABLE filled (n int NOT NULL PRIMARY KEY)").expect("made");
        session.batch("INSERT INTO filled (n) VALUES (1), (2), (3)").expect("filled");
        // A look at once: the end must not come before it.
        watch.interval(session, 1).expect("asked");
        watch.end(session).expect("asked");
        let of = |node: &'static str| watch.samples.iter().filter(move |sample| sample.node == node);
        let log: u64 =
            of("file redo log").filter(|sample| sample.operation == "write").map(|sample| sample.count).sum();
        assert!(log > 0, "a commit writes the log: {:?}", watch.samples);
        // Its name begins with that of the data directory.
        let catalogue = watch.samples.iter().any(|sample| sample.node.ends_with("/mysql.ibd"));
        assert!(catalogue, "{:?}", watch.samples);
        assert!(of("buffer pool").any(|sample| sample.bytes > 0), "{:?}", watch.samples);
        let facts = watch.facts();
        assert!(!facts.iter().any(|(name, _)| name == "file_counters"), "{facts:?}");
    });
}

#[test]
fn the_shop_works() {
    on("shop", |database, _| shop::works(database));
}

#[test]
fn definitions_may_be_done_again() {
    on("orders_again", |database, _| order_entry::definitions_may_be_done_again(database));
    on("shop_again", |database, _| shop::definitions_may_be_done_again(database));
}

#[test]
fn a_stranger_is_not_believed() {
    let Some(to) = server().filter(|to| to.tls() != Tls::Disable) else { return };
    let files = Certificates::of("root");
    let wanted = Connection { tls: Some(Tls::VerifyFull), tls_ca: Some(files.stranger()), ..to };
    let refused = Mariadb::new(wanted).connect().err().expect("the stranger has not signed it");
    assert_eq!(refused.kind(), ErrorKind::Untrusted, "{refused}");
}

#[test]
fn passwords_are_proved_and_rights_kept() {
    if server().is_some_and(|to| to.tls() == Tls::Disable) {
        return;
    }
    on("rights", |database, to| {
        let mut session = database.connect().expect("the server is there");
        session.batch("CREATE TABLE kept (n int NOT NULL PRIMARY KEY)").expect("made");
        session.batch("INSERT INTO kept (n) VALUES (1)").expect("filled");
        session.batch("DROP USER IF EXISTS fathom_test_guest").expect("dropped");
        session.batch("CREATE USER fathom_test_guest IDENTIFIED BY 'sec ret'").expect("made");
        session
            .batch(&format!("GRANT SELECT ON {}.kept TO fathom_test_guest", to.database))
            .expect("granted");
        let guest = |password: &str, tls: Tls| {
            let (user, password) = ("fathom_test_guest".into(), Some(password.into()));
            Mariadb::new(Connection { user, password, tls: Some(tls), tls_ca: None, ..to.clone() })
        };
        // The first proof goes over whole (encrypted by TLS, or to the server's key), later ones as a digest.
        let forced = session.query("SELECT @@require_secure_transport", &[]).expect("asked");
        let forced = forced.first().and_then(|row| row.int(0)).expect("a number") == 1;
        let last = if forced { Tls::Require } else { Tls::Disable };
        for tls in [Tls::Require, Tls::Require, last] {
            let reader = guest("sec ret", tls);
            let mut reader = reader.connect().expect("let in");
            let forbidden = reader.batch("DELETE FROM kept").expect_err("not granted");
            assert_eq!(forbidden.kind(), ErrorKind::Permission, "{forbidden}");
        }
        session.batch("FLUSH PRIVILEGES").expect("digests are forgotten");
        let clear = guest("sec ret", Tls::Disable);
        let clear = clear.connect();
        if forced {
            let refused = clear.err().expect("encrypted only");
            assert_eq!(refused.kind(), ErrorKind::Untrusted, "{refused}");
        } else {
            clear.expect("let in by the server's key");
        }
        let wrong = guest("wrong", Tls::Require).connect().err().expect("not let in");
        assert_eq!(wrong.kind(), ErrorKind::Authentication, "{wrong}");
        session.batch("DROP USER fathom_test_guest").expect("dropped");
    });
}

/// Two sessions want the same row: one waits for the other's lock, and is told so.
#[test]
fn waits_end_and_victims_may_try_again() {
    on("waits", |database, _| {
        let mut holds = database.connect().expect("the server is there");
        holds.batch("CREATE TABLE one (n int NOT NULL PRIMARY KEY)").expect("made");
        holds.batch("INSERT INTO one (n) VALUES (1)").expect("filled");
        holds.begin().expect("begun");
        holds.query("SELECT n FROM one WHERE n = ? FOR UPDATE", &[Value::Int(1)]).expect("locked");
        let mut other = database.connect().expect("the server is there");
        let taken = other.query("SELECT n FROM one WHERE n = 1 FOR UPDATE NOWAIT", &[]).expect_err("locked");
        assert!(taken.is_retryable(), "{taken}");
        other.batch("SET SESSION innodb_lock_wait_timeout = 1").expect("set");
        let late = other.batch("DELETE FROM one WHERE n = 1").expect_err("locked");
        assert!(late.is_retryable(), "{late}");
        other.set_timeout(Some(std::time::Duration::from_millis(50))).expect("set");
        let late = other.query("SELECT count(*) FROM one WHERE sleep(60) = 0", &[]).expect_err("cancelled");
        assert_eq!(late.kind(), ErrorKind::Timeout, "{late}");
    });
}

#[test]
fn a_session_that_is_killed_is_lost() {
    on("killed", |database, _| {
        let mut session = database.connect().expect("the server is there");
        let number = session.query("SELECT connection_id()", &[]).expect("asked");
        let number = number.first().and_then(|row| row.int(0)).expect("a number");
        let mut other = database.connect().expect("the server is there");
        other.batch(&format!("KILL {number}")).expect("killed");
        let lost = (0..200).find_map(|_| {
            common::servers::pause();
            session.query("SELECT 1", &[]).err()
        });
        assert_eq!(lost.map(|error| error.kind()), Some(ErrorKind::Lost));
    });
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
