//! Real inserts on real servers: rows arrive however they are handed over, and every durability setting is taken.

mod common;

use common::servers::Server;
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::drivers;
use fathom_sql::insert::Config;
use fathom_workload::{Outcome, Reason};

fn config(text: &str) -> Config {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    config.unwrap_or_else(|| panic!("{}", to_text(&diagnostics)))
}

fn answers(server: &mut Server) {
    server
        .wait_for(|connection| drivers::server(connection).is_ok_and(|database| database.connect().is_ok()));
}

fn run(server: &Server, text: &str) -> Outcome {
    config(text)
        .run_on_server(&server.connection, &mut ())
        .unwrap_or_else(|failed| panic!("{text}: {failed}"))
}

/// What SQLite holds after the client's loop.
fn checksum(table: &str, rows: u64) -> String {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let config = config(&format!("rows = {rows}\ntransaction = \"whole-batch\"\ntable = \"{table}\""));
    let outcome = config.run_on_directory(scratch.path(), &mut ()).expect("the run succeeds");
    outcome.facts["rows_checksum"].clone()
}

/// Every way to hand rows over, every place where a transaction may end.
fn rows_arrive_however_they_are_handed_over(server: &Server) {
    for (transaction, method, rows, commits) in [
        ("\"per-row\"", "1", 60, 60),
        ("\"whole-batch\"", "1", 60, 1),
        ("25", "1", 60, 3),
        ("\"whole-batch\"", "25", 60, 1),
        ("20", "20", 60, 3),
        ("40", "20", 70, 2),
        ("\"whole-batch\"", "\"bulk\"", 60, 1),
        ("25", "\"bulk\"", 60, 3),
        ("\"per-row\"", "\"loop\"", 60, 60),
        ("25", "\"loop\"", 60, 3),
        ("\"whole-batch\"", "\"loop\"", 60, 1),
    ] {
        for table in ["trade", "payload"] {
            let outcome = run(
                server,
                &format!(
                    "rows = {rows}\ntransaction = {transaction}\nmethod = {method}\ntable = \"{table}\""
                ),
            );
            let commits_counted = outcome.metrics["commits_per_second"].expect("some")
                * outcome.metrics["elapsed_s"].expect("some");
            assert_eq!(outcome.metrics["rows"], Some(rows as f64));
            assert_eq!(commits_counted.round() as i32, commits, "{transaction} {method}");
            assert!(outcome.began.is_some());
            assert_eq!(outcome.facts["rows_checksum"], checksum(table, rows), "{transaction} {method}");
            // The server does not tell how long each commit of its loop took.
            assert_eq!(outcome.metrics["latency_p99_ms"].is_some(), method != "\"loop\"");
            assert!(outcome.metrics["latency_ms"].is_some());
        }
    }
    for transaction in ["\"per-row\"", "10", "\"whole-batch\""] {
        let text = format!("duration = \"600ms\"\nmethod = \"loop\"\ntransaction = {transaction}");
        let timed = run(server, &text);
        let (rows, elapsed) =
            (timed.metrics["rows"].expect("some"), timed.metrics["elapsed_s"].expect("some"));
        assert!(rows >= 10.0 && (transaction != "10" || rows % 10.0 == 0.0), "{rows}");
        assert!(elapsed >= 0.6, "{elapsed}");
    }
    let timed = run(server, "duration = \"500ms\"\nmethod = 10\ntransaction = 10");
    let rows = timed.metrics["rows"].expect("some");
    assert!(rows >= 10.0 && rows % 10.0 == 0.0, "{rows}");
}

fn says(server: &Server, setting: &str, words: &str) {
    let outcome = run(server, &format!("rows = 5\n{setting}"));
    assert!(outcome.facts["may_lose"].contains(words), "{setting}: {:?}", outcome.facts);
}

#[test]
fn postgresql_takes_rows_and_durability() {
    let mut server = Server::postgresql(&["fsync=on"]);
    answers(&mut server);
    rows_arrive_however_they_are_handed_over(&server);
    says(&server, "", "nothing");
    says(&server, "synchronous_commit = \"off\"", "wal_writer_delay");
    says(&server, "synchronous_commit = \"local\"", "standby");
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
    answers(&mut server);
    rows_arrive_however_they_are_handed_over(&server);
    says(&server, "", "last second");
    says(&server, "innodb_flush_log_at_trx_commit = 1", "nothing");
    says(&server, "innodb_flush_log_at_trx_commit = 0", "crash of the server or a power cut");
    let database = drivers::server(&server.connection).expect("a driver");
    let mut session = database.connect().expect("it answers");
    let facts = database.facts(&mut *session).expect("facts");
    assert_eq!(facts["innodb_flush_log_at_trx_commit"], "2", "what was changed for a run is changed back");
    let left = session.query("SHOW TABLES LIKE 'fathom_rows'", &[]).expect("asked");
    assert!(left.is_empty(), "the table is dropped");
    let left = session.query("SHOW PROCEDURE STATUS WHERE Name = 'fathom_loop'", &[]).expect("asked");
    assert!(left.is_empty(), "the procedure is dropped");
}
