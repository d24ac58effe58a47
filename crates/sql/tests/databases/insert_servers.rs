//! Real inserts on real servers: rows arrive however they are handed over, and every durability setting is taken.

use crate::common::servers::{Server, answers};
use crate::rows::{arrive_however_they_are_handed_over, config, may_lose};
use fathom_job::Reason;
use fathom_sql::drivers;

#[test]
fn postgresql_takes_rows_and_durability() {
    let mut server = Server::postgresql(&["fsync=on"]);
    server.wait_for(answers);
    arrive_however_they_are_handed_over(&server.connection);
    may_lose(&server.connection, "", "nothing");
    may_lose(&server.connection, "synchronous_commit = \"off\"", "wal_writer_delay");
    may_lose(&server.connection, "synchronous_commit = \"local\"", "standby");
    let mut elsewhere = server.connection.clone();
    elsewhere.user = "nobody".into();
    let failed = config("rows = 1").run_on_server(&elsewhere, &mut ()).expect_err("no such user");
    assert_eq!(failed.reason, Reason::Permission, "{failed}");
    server.kill();
    let failed = config("rows = 1").run_on_server(&server.connection, &mut ()).expect_err("it is gone");
    assert_eq!(failed.reason, Reason::Unavailable, "{failed}");
}

#[test]
fn mariadb_takes_rows_and_durability_and_keeps_its_own() {
    let mut server = Server::mariadb(&["--innodb-flush-log-at-trx-commit=2"]);
    server.wait_for(answers);
    arrive_however_they_are_handed_over(&server.connection);
    may_lose(&server.connection, "", "last second");
    may_lose(&server.connection, "innodb_flush_log_at_trx_commit = 1", "nothing");
    may_lose(&server.connection, "innodb_flush_log_at_trx_commit = 0", "crash of the server or a power cut");
    let database = drivers::server(&server.connection).expect("a driver");
    let mut session = database.connect().expect("it answers");
    let facts = database.facts(&mut *session).expect("facts");
    assert_eq!(facts["innodb_flush_log_at_trx_commit"], "2", "what was changed for a run is changed back");
    let left = session.query("SHOW PROCEDURE STATUS WHERE Name = 'fathom_loop'", &[]).expect("asked");
    assert!(left.is_empty(), "the procedure is dropped");
}
