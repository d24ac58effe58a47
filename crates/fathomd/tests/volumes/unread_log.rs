//! A log that nobody reads, or that cannot be written, keeps no client waiting and ends no daemon.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Client, Daemon, MEMORY, directory, sockets, until};

/// What is told once somebody reads again.
const DROPPED: &str = "lines of the log were dropped";

/// A daemon whose standard error is this, once it listens.
fn daemon(error: Stdio) -> (Daemon, Option<std::process::ChildStderr>) {
    let folder = directory();
    let file = folder.join("fathomd.toml");
    fs::write(&file, format!("{}{MEMORY}", sockets(&folder))).expect("the folder is writable");
    let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    let mut child: Child =
        program.arg(&file).args(["--log-level", "debug"]).stderr(error).spawn().expect("it was built");
    let pipe = child.stderr.take();
    let daemon = Daemon::running_in(&folder, child);
    until("it listens", || UnixStream::connect(daemon.socket()).is_ok());
    (daemon, pipe)
}

/// Connects so often that the log has some hundred kilobytes, and uses the volume.
fn work(daemon: &Daemon) {
    for round in 0..3000_u64 {
        let mut client = Client::open(daemon, "disk");
        if round % 100 == 0 {
            client.write(round * 4096, &[round as u8; 4096]);
            assert_eq!(client.read(round * 4096, 4096), [round as u8; 4096]);
        }
    }
}

#[test]
fn a_pipe_that_nobody_reads_keeps_nobody_waiting_and_the_dropped_lines_are_counted() {
    let (mut daemon, pipe) = daemon(Stdio::piped());
    work(&daemon);
    // Beyond what the pipe and the daemon keep.
    for _ in 0..3 {
        work(&daemon);
    }
    let pipe = pipe.expect("it was piped");
    let (caught_up, told) = std::sync::mpsc::channel();
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(pipe).lines() {
            let line = line.expect("the log is text");
            text.push_str(&line);
            if line.contains(DROPPED) {
                // Nobody waits for the second time.
                let _ = caught_up.send(());
            }
            text.push('\n');
        }
        text
    });
    // Until all that waited is read, the last lines may be dropped as others were.
    told.recv_timeout(Duration::from_mins(1)).expect("what was dropped is told after what was kept");
    assert!(daemon.stop().success());
    let text = read.join().expect("it ends with the daemon");
    assert!(text.contains("serving"), "the first lines are there");
    assert!(text.contains(DROPPED), "{} bytes", text.len());
    assert!(text.contains("everything acknowledged is durable"), "the last lines are there");
}

#[test]
fn a_daemon_whose_log_is_stuck_stops_when_it_is_asked_to() {
    let (mut daemon, _unread) = daemon(Stdio::piped());
    work(&daemon);
    assert!(daemon.stop().success());
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let (mut full, _) = daemon(full.into());
    work(&full);
    assert!(full.stop().success());
    let (mut closed, pipe) = daemon(Stdio::piped());
    drop(pipe);
    work(&closed);
    assert!(closed.stop().success());
}
