//! `fathomd --check`, and starts that are refused for what it finds.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::Daemon;

/// What `fathomd --check` says of settings.
pub fn check(settings: &Path, flags: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_fathomd");
    Command::new(program).arg("--check").args(flags).arg(settings).output().expect("the daemon was built")
}

/// What it has printed.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first refusal that a check of the settings in a directory finds in a write-back group.
pub fn advice(directory: &Path) -> Option<Value> {
    let found = check(&directory.join("fathomd.toml"), &["--json"]);
    let json: Value = serde_json::from_slice(&found.stdout).expect("one JSON object");
    let findings = json["writeback"][0]["findings"].as_array()?.clone();
    findings.into_iter().map(|finding| finding["refusal"].clone()).find(|refusal| !refusal.is_null())
}

/// Settings that no start can serve: check and start must refuse them, and say the same.
pub fn refused(directory: &Path, settings: &str, code: i32, words: &str) {
    refused_as(directory, settings, (code, code), words);
}

/// The same, with the exit codes of start and check.
pub fn refused_as(directory: &Path, settings: &str, codes: (i32, i32), words: &str) {
    let mut daemon = Daemon::start_in(directory, settings);
    let started = daemon.log();
    assert!(
        !started.contains("\"serving\"") && started.contains(words),
        "the start lacks {words}: {started}"
    );
    assert_eq!(daemon.wait().code(), Some(codes.0));
    // The directory serves the next one.
    std::mem::forget(daemon);
    let found = check(&directory.join("fathomd.toml"), &[]);
    let told = text(&found) + &String::from_utf8_lossy(&found.stderr);
    assert_eq!(found.status.code(), Some(codes.1), "{told}");
    assert!(told.contains(words), "the check lacks {words}: {told}");
}
