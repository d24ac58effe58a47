//! What the workload `insert` must do on every server, in one body.

use fathom_job::{Connection, Outcome};
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::drivers;
use fathom_sql::insert::Config;

pub fn config(text: &str) -> Config {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    config.unwrap_or_else(|| panic!("{}", to_text(&diagnostics)))
}

fn run(to: &Connection, text: &str) -> Outcome {
    config(text).run_on_server(to, &mut ()).unwrap_or_else(|failed| panic!("{text}: {failed}"))
}

/// What SQLite holds after the client's loop.
fn checksum(table: &str, rows: u64) -> String {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let config = config(&format!("rows = {rows}\ntransaction = \"whole-batch\"\ntable = \"{table}\""));
    let outcome = config.run_on_directory(scratch.path(), &mut ()).expect("the run succeeds");
    outcome.facts["rows_checksum"].clone()
}

/// Every way to hand rows over, every place where a transaction may end; and nothing is left behind.
pub fn arrive_however_they_are_handed_over(to: &Connection) {
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
                to,
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
        let timed = run(to, &text);
        let (rows, elapsed) =
            (timed.metrics["rows"].expect("some"), timed.metrics["elapsed_s"].expect("some"));
        assert!(rows >= 1.0 && (transaction != "10" || rows % 10.0 == 0.0), "{rows}");
        assert!(elapsed >= 0.6, "{elapsed}");
    }
    let timed = run(to, "duration = \"500ms\"\nmethod = 10\ntransaction = 10");
    let rows = timed.metrics["rows"].expect("some");
    assert!(rows >= 10.0 && rows % 10.0 == 0.0, "{rows}");
    let database = drivers::server(to).expect("a driver");
    let left = database.connect().expect("it answers").query("SELECT count(*) FROM fathom_rows", &[]);
    assert!(left.is_err(), "the table is dropped");
}

/// What a run with that setting says that a crash may take.
#[allow(dead_code, reason = "for servers whose durability may be set")]
pub fn may_lose(to: &Connection, setting: &str, words: &str) {
    let outcome = run(to, &format!("rows = 5\n{setting}"));
    assert!(outcome.facts["may_lose"].contains(words), "{setting}: {:?}", outcome.facts);
}
