//! `fathomd --check`: settings and caches, looked at and not touched.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{Client, Daemon, MEMORY, directory, sockets};
use serde_json::Value;

fn check(settings: &Path, flags: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_fathomd");
    Command::new(program).arg("--check").args(flags).arg(settings).output().expect("the daemon was built")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn cached() -> String {
    "[volumes.slow]\nkind = \"file\"\npath = \"slow.img\"\nsize = \"32MiB\"\n\
     [volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"8MiB\"\n\
     [volumes.disk]\nkind = \"writeback\"\nbacking = \"slow\"\ncache = \"fast\"\nsegment = \"64KiB\"\nlag_target = \"10min\"\nlag_max = \"60min\"\n\
     [exports.disk]\nvolume = \"disk\"\n"
        .to_owned()
}

#[test]
fn settings_without_a_cache_are_checked_and_nothing_is_opened() {
    let daemon = Daemon::start(MEMORY);
    let found = check(&daemon.directory.join("fathomd.toml"), &[]);
    assert_eq!((found.status.code(), text(&found).contains("1 export, settings are sound")), (Some(0), true));
    fs::write(daemon.directory.join("wrong.toml"), "[daemon]\nsocket = 7\n").expect("writable");
    assert_eq!(check(&daemon.directory.join("wrong.toml"), &[]).status.code(), Some(2));
}

#[test]
fn a_killed_daemon_s_cache_is_verified_and_left_as_it_is() {
    let directory = directory();
    let mut daemon = Daemon::make_in(&directory, &format!("{}{}", sockets(&directory), cached()));
    let settings = directory.join("fathomd.toml");
    let mut client = Client::open(&daemon, "disk");
    client.write(8192, &[5; 4096]);
    let busy = check(&settings, &[]);
    assert_eq!(busy.status.code(), Some(3), "{}", text(&busy));
    assert!(text(&busy).contains("has it locked"), "{}", text(&busy));
    assert_eq!(check(&settings, &["--settings-only"]).status.code(), Some(0));
    daemon.kill();
    let before = ["slow.img", "fast.img"].map(|name| fs::read(directory.join(name)).expect("it is there"));
    let sound = check(&settings, &["--json"]);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound));
    let json: Value = serde_json::from_slice(&sound.stdout).expect("one JSON object");
    let group = &json["writeback"][0];
    // Owner 1 made it, 2 serves it.
    assert_eq!(
        (&json["sound"], &group["owner"], &group["log_records"]),
        (&true.into(), &2.into(), &1.into())
    );
    let after = ["slow.img", "fast.img"].map(|name| fs::read(directory.join(name)).expect("it is there"));
    assert!(before == after, "the files are as they were");
    fs::write(directory.join("fast.img"), vec![0; 8 << 20]).expect("writable");
    let lost = check(&settings, &[]);
    assert_eq!(lost.status.code(), Some(1), "{}", text(&lost));
    assert!(text(&lost).contains("NOT sound") && text(&lost).contains("accept_loss = 2"), "{}", text(&lost));
}
