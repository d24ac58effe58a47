//! Every driver keeps the same promises, on real databases.

use crate::common::servers::Server;
use crate::conformance::conforms;
use fathom_job::{Connection, DatabaseKind, Failure, Reason};
use fathom_sql::database::Database;
use fathom_sql::drivers::mariadb::Mariadb;
use fathom_sql::drivers::postgresql::Postgresql;
use fathom_sql::drivers::sqlite::Sqlite;
use fathom_sql::error::{Error, ErrorKind};
use fathom_sql::session::Session;
use fathom_sql::value::Value;

/// The server is well and its address right: what to do is something else.
fn takes_no_more_sessions(database: &dyn Database) {
    let mut sessions = Vec::new();
    let full = std::iter::repeat_with(|| database.connect()).take(200).find_map(|one| match one {
        Ok(session) => {
            sessions.push(session);
            None
        }
        Err(full) => Some(full),
    });
    let full = full.expect("a server has a limit");
    assert_eq!(full.kind(), ErrorKind::Crowded, "{full}");
    let failure = Failure::from(full);
    assert_eq!(failure.reason, Reason::Unavailable);
    assert!(failure.message.contains("use fewer `users`"), "{failure}");
    assert!(!failure.message.contains("start the server"), "{failure}");
    // The server takes a moment to notice that they are gone.
    drop(sessions);
    while database.connect().is_err() {
        crate::common::servers::pause();
    }
}

fn refused(database: &dyn Database) -> ErrorKind {
    database.connect().err().expect("this connection cannot be had").kind()
}

#[test]
fn sqlite_conforms() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("main.db");
    let open = || rusqlite::Connection::open(&path);
    conforms(&Sqlite::new(open, "PRAGMA journal_mode = wal; PRAGMA synchronous = off;"));
}

#[test]
fn postgresql_conforms() {
    let mut server = Server::postgresql(&["password_encryption=scram-sha-256", "max_connections=20"]);
    server.wait_for(|connection| Postgresql::new(connection.clone()).connect().is_ok());
    let database = Postgresql::new(server.connection.clone());
    conforms(&database);
    lists_are_arrays(&database);
    passwords_are_proved(&server);
    takes_no_more_sessions(&database);
    let mut session = database.connect().expect("the server is there");
    server.kill();
    assert_eq!(lost(&mut *session).kind(), ErrorKind::Lost);
    assert_eq!(refused(&database), ErrorKind::Refused);
}

/// What a session of a killed server ends with. The process that serves it may live on for a moment.
fn lost(session: &mut dyn Session) -> Error {
    for _ in 0..600 {
        if let Err(error) = session.batch("SELECT 1") {
            return error;
        }
        crate::common::servers::pause();
    }
    panic!("a killed server still answers after half a minute")
}

fn lists_are_arrays(database: &Postgresql) {
    let mut session = database.connect().expect("the server is there");
    let text = "SELECT sum(item)::bigint, count(*) FROM unnest($1::integer[]) AS item";
    for (list, sum) in [(&[3, -1, 40][..], Value::Int(42)), (&[], Value::Null)] {
        let answer = session.query(text, &[Value::Ints(list)]).expect("asked");
        let row = answer.first().expect("one row");
        assert_eq!((row.get(0).ok(), row.int(1).ok()), (Some(sum), Some(list.len() as i64)));
    }
    let wrong = session.query(text, &[Value::Int(1)]).expect_err("no list");
    assert_eq!(wrong.kind(), ErrorKind::Constraint);
    let procedure =
        "CREATE PROCEDURE twice(INOUT value integer) LANGUAGE plpgsql AS $$ BEGIN value := value * 2; END $$";
    session.batch(procedure).expect("made");
    let answer = session.query("CALL twice($1)", &[Value::Int(21)]).expect("called");
    assert_eq!(answer.first().and_then(|row| row.int(0)).ok(), Some(42));
}

fn passwords_are_proved(server: &Server) {
    let database = Postgresql::new(server.connection.clone());
    let mut session = database.connect().expect("the server is there");
    let folder = session.query("SHOW hba_file", &[]).expect("asked");
    let file = folder.first().and_then(|row| row.text(0).map(str::to_owned)).expect("a path");
    session.batch("CREATE ROLE proved LOGIN PASSWORD 'pa\\ss word'").expect("made");
    session.batch("SET password_encryption = 'md5'; CREATE ROLE hashed LOGIN PASSWORD 'old'").expect("made");
    let trusted = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, format!("local all proved scram-sha-256\nlocal all hashed md5\n{trusted}"))
        .expect("written");
    session.batch("SELECT pg_reload_conf()").expect("reloaded");
    let as_user = |user: &str, password: Option<&str>| {
        let password = password.map(str::to_owned);
        Postgresql::new(Connection { user: user.into(), password, ..server.connection.clone() })
    };
    // The server reloads when it gets to it: until then everybody is let in.
    for _ in 0..2400 {
        if as_user("proved", None).connect().is_err() {
            break;
        }
        session.batch("SELECT pg_sleep(0.05)").expect("waited");
    }
    for (user, password) in [("proved", "pa\\ss word"), ("hashed", "old")] {
        assert!(as_user(user, Some(password)).connect().is_ok(), "{user}");
        assert_eq!(refused(&as_user(user, Some("wrong"))), ErrorKind::Authentication);
        assert_eq!(refused(&as_user(user, None)), ErrorKind::Authentication);
    }
    let elsewhere = Connection { database: "nowhere".into(), ..server.connection.clone() };
    assert_eq!(refused(&Postgresql::new(elsewhere)), ErrorKind::Refused);
    let guest = as_user("proved", Some("pa\\ss word"));
    let mut guest = guest.connect().expect("let in");
    let forbidden = guest.query("SELECT count(*) FROM kept", &[]).expect_err("not granted");
    assert_eq!(forbidden.kind(), ErrorKind::Permission, "{forbidden}");
    session.batch("SET statement_timeout = '50ms'").expect("set");
    let late = session.batch("SELECT pg_sleep(60)").expect_err("cancelled");
    assert_eq!(late.kind(), ErrorKind::Timeout, "{late}");
    session.batch("SET statement_timeout = 0").expect("set");
    session.set_timeout(Some(std::time::Duration::from_millis(50))).expect("set");
    let late = session.batch("SELECT pg_sleep(60)").expect_err("not waited for");
    assert_eq!(late.kind(), ErrorKind::Timeout, "{late}");
}

#[test]
fn mariadb_conforms() {
    let mut server = Server::mariadb(&["--max-connections=20"]);
    server.wait_for(|connection| Mariadb::new(connection.clone()).connect().is_ok());
    let whole = Mariadb::new(server.connection.clone());
    whole
        .connect()
        .expect("the server is there")
        .batch("CREATE DATABASE work CHARACTER SET utf8mb4")
        .expect("made");
    let database = Mariadb::new(Connection { database: "work".into(), ..server.connection.clone() });
    conforms(&database);
    procedures_answer_with_their_first_result(&database);
    users_have_their_rights(&database, &server);
    let mysql = Mariadb::new(Connection { kind: DatabaseKind::Mysql, ..server.connection.clone() });
    let other = mysql.connect().err().expect("it is MariaDB");
    assert_eq!(other.kind(), ErrorKind::Refused);
    let words = other.to_string();
    assert!(words.contains("the server is MariaDB (") && words.contains("kind = \"mariadb\""), "{words}");
    takes_no_more_sessions(&database);
    let mut session = database.connect().expect("the server is there");
    server.kill();
    assert_eq!(lost(&mut *session).kind(), ErrorKind::Lost);
    assert_eq!(refused(&database), ErrorKind::Refused);
}

fn procedures_answer_with_their_first_result(database: &Mariadb) {
    let mut session = database.connect().expect("the server is there");
    let procedure = "CREATE PROCEDURE twice(IN list JSON, IN fails INT)
        BEGIN
            SELECT sum(item), count(*) FROM JSON_TABLE(list, '$[*]' COLUMNS (item BIGINT PATH '$')) AS items;
            SELECT 'a second answer';
            IF fails THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as asked'; END IF;
        END";
    session.batch(procedure).expect("made");
    let answer = session.query("CALL twice(?, 0)", &[Value::Ints(&[3, -1, 40])]).expect("called");
    let row = answer.first().expect("one row");
    assert_eq!((answer.len(), row.int(0).ok(), row.int(1).ok()), (1, Some(42), Some(3)));
    let failed =
        session.query("CALL twice(?, 1)", &[Value::Ints(&[])]).expect_err("it fails after its answers");
    assert!(failed.to_string().contains("as asked"), "{failed}");
    let failed = session.batch("SELECT 1; SELECT no_such_column; SELECT 2").expect_err("the second fails");
    assert_eq!(failed.kind(), ErrorKind::Other);
    session.set_timeout(Some(std::time::Duration::from_millis(50))).expect("set");
    let late = session.batch("SELECT sum(seq % 7) FROM seq_1_to_100000000000").expect_err("cancelled");
    assert_eq!(late.kind(), ErrorKind::Timeout, "{late}");
}

fn users_have_their_rights(database: &Mariadb, server: &Server) {
    let mut session = database.connect().expect("the server is there");
    session
        .batch("CREATE USER guest IDENTIFIED BY 'secret'; GRANT SELECT ON work.kept TO guest")
        .expect("made");
    let guest = |password: &str, name: &str| {
        let (user, password, database) = ("guest".into(), Some(password.into()), name.into());
        Mariadb::new(Connection { user, password, database, ..server.connection.clone() })
    };
    assert_eq!(refused(&guest("wrong", "work")), ErrorKind::Authentication);
    let nowhere = Connection { database: "nowhere".into(), ..server.connection.clone() };
    assert_eq!(refused(&Mariadb::new(nowhere)), ErrorKind::Refused);
    let reader = guest("secret", "work");
    let mut reader = reader.connect().expect("let in");
    let forbidden = reader.batch("DELETE FROM kept").expect_err("not granted");
    assert_eq!(forbidden.kind(), ErrorKind::Permission, "{forbidden}");
    // One waits for the other's lock, and is told so.
    session.begin().expect("begun");
    session.query("SELECT t FROM kept WHERE id = 1 FOR UPDATE", &[]).expect("locked");
    let mut other = database.connect().expect("the server is there");
    other.batch("SET SESSION innodb_lock_wait_timeout = 0").expect("set");
    let conflict = other.batch("DELETE FROM kept WHERE id = 1").expect_err("it is locked");
    assert!(conflict.is_retryable(), "{conflict}");
}
