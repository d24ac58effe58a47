//! The wall clock jumps by years in both directions under a daemon with a write-back cache: nothing in it orders anything by
//! that clock (`clippy.toml` refuses it), so that nothing may be late, lost or refused.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Client, Daemon, FLUSH, directory, sockets, status, success};

/// faketime's library, which answers for the wall clock.
fn library() -> Option<PathBuf> {
    let places = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut found = places.map(|place| place.path().join("faketime/libfaketime.so.1"));
    let found = found.find(|place| place.exists());
    if found.is_none() {
        println!("skipped: faketime is not installed");
    }
    found
}

fn jump(directory: &Path, by: &str) {
    // Renamed, so that nobody reads half of it.
    let new = directory.join("clock.new");
    fs::write(&new, by).and_then(|()| fs::rename(new, directory.join("clock"))).expect("writable");
}

/// As in common, on a clock that jumps.
fn start(directory: &Path, library: &Path) -> Daemon {
    let log = fs::File::create(directory.join("log")).expect("writable");
    let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    program
        .arg(directory.join("fathomd.toml"))
        .args(["--log", "json", "--log-level", "debug"])
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", directory.join("clock"))
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .stderr(log);
    Daemon::of(directory, program)
}

/// What is written to a block; never zero.
fn pattern(block: u64) -> u8 {
    (block % 251) as u8 + 1
}

/// Jumps that may stay within one month.
const LAST: [&str; 3] = ["+2d", "-2d", "+0d"];

#[test]
fn a_wall_clock_that_jumps_by_years_changes_nothing() {
    let Some(library) = library() else { return };
    let directory = directory();
    let settings = format!(
        "{}at_stop = \"keep\"\n[volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"16MiB\"\n\
         [volumes.log]\nkind = \"file\"\npath = \"log.img\"\nsize = \"128MiB\"\n\
         [volumes.cached]\nkind = \"writeback\"\nbacking = \"disk\"\ncache = \"log\"\n\
         [exports.disk]\nvolume = \"cached\"\n",
        sockets(&directory)
    );
    let file = directory.join("fathomd.toml");
    fs::write(&file, settings).expect("writable");
    success(env!("CARGO_BIN_EXE_fathomd"), &["--create", &file.display().to_string()]);
    let begin = Instant::now();
    let mut block = 0_u64;
    // The directory goes with the first of them.
    let mut stopped = Vec::new();
    // Each start and stop at another time, and jumps in between.
    for jumps in [["+0d", "+3650d", "-3650d"], ["-7000d", "+0d", "+9000d"], LAST] {
        jump(&directory, jumps[0]);
        let mut daemon = start(&directory, &library);
        for by in jumps {
            jump(&directory, by);
            let mut client = Client::open(&daemon, "disk");
            for _ in 0..50 {
                client.write(block * 4096, &[pattern(block); 4096]);
                block += 1;
            }
            client.request(FLUSH, 9, 0, 0, &[]);
            assert_eq!(client.answer(), (0, 9));
        }
        // The jumps arrive: the dates of the log differ by years.
        let log = daemon.log();
        let dates = log.lines().filter_map(|line| line.split("\"timestamp\":\"").nth(1)?.get(..7));
        let months: std::collections::BTreeSet<&str> = dates.collect();
        assert!(months.len() > 1 || jumps == LAST, "{months:?}");
        let told = status(&daemon);
        let (uptime, lag) = (&told["uptime_ns"], &told["writeback"][0]["lag_ns"]);
        let limit = begin.elapsed().as_nanos() as u64;
        assert!(uptime.as_u64().is_some_and(|time| time <= limit), "{uptime}");
        assert!(lag.as_u64().is_some_and(|time| time <= limit), "{lag}");
        assert_eq!(daemon.ask("POST", "/drain").0, "HTTP/1.1 200 OK");
        assert!(daemon.stop().success());
        stopped.push(daemon);
    }
    jump(&directory, "-3650d");
    let mut daemon = start(&directory, &library);
    let mut client = Client::open(&daemon, "disk");
    for block in 0..block {
        assert_eq!(client.read(block * 4096, 4096), [pattern(block); 4096], "block {block}");
    }
    drop(client);
    assert!(daemon.stop().success());
    assert!(begin.elapsed() < Duration::from_secs(100), "{:?}", begin.elapsed());
}
