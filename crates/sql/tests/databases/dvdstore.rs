//! DVD Store on real databases, scaled down: load, checksum, operations, consistency conditions.

use crate::common::servers::Server;
use fathom_job::Connection;
use fathom_sql::database::Database;
use fathom_sql::drivers::mariadb::Mariadb;
use fathom_sql::drivers::postgresql::Postgresql;
use fathom_sql::drivers::sqlite::Sqlite;

#[test]
fn sqlite_loads_sells_and_stays_consistent() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let path = scratch.path().join("main.db");
    let open = || rusqlite::Connection::open(&path);
    let database = Sqlite::new(open, "PRAGMA journal_mode = wal; PRAGMA synchronous = off");
    crate::shop::works(&database);
}

#[test]
fn postgresql_loads_sells_and_stays_consistent() {
    let mut server = Server::postgresql(&[]);
    server.wait_for(|connection| Postgresql::new(connection.clone()).connect().is_ok());
    let database = Postgresql::new(server.connection.clone());
    crate::shop::works(&database);
    server.kill();
    server.restart(|| database.connect().is_ok());
    crate::shop::is_consistent(&database);
}

#[test]
fn mariadb_loads_sells_and_stays_consistent() {
    // 2: a commit survives the server, if not the system.
    let mut server = Server::mariadb(&["--innodb-flush-log-at-trx-commit=2"]);
    server.wait_for(|connection| Mariadb::new(connection.clone()).connect().is_ok());
    let whole = Mariadb::new(server.connection.clone());
    whole
        .connect()
        .expect("the server is there")
        .batch("CREATE DATABASE work; CREATE DATABASE again")
        .expect("made");
    let within = |name: &str| Mariadb::new(Connection { database: name.into(), ..server.connection.clone() });
    let (database, again) = (within("work"), within("again"));
    crate::shop::definitions_may_be_done_again(&again);
    crate::shop::works(&database);
    server.kill();
    server.restart(|| database.connect().is_ok());
    crate::shop::is_consistent(&database);
}
