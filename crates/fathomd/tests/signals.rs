//! Signals from the first moment on: a start that is stopped, and signals that ask for nothing.

mod common;

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Client, Daemon, MEMORY, directory, sockets, until};

/// A server that answers nothing, and settings of a daemon that waits for it.
fn silent_server(directory: &Path) -> UnixListener {
    let silent = UnixListener::bind(directory.join("silent.sock")).expect("writable");
    let settings = format!(
        "{}[volumes.disk]\nkind = \"nbd\"\nuri = \"nbd+unix:///?socket={}\"\n[exports.disk]\nvolume = \"disk\"\n",
        sockets(directory),
        directory.join("silent.sock").display()
    );
    fs::write(directory.join("fathomd.toml"), settings).expect("writable");
    silent
}

#[test]
fn a_signal_during_the_start_ends_it_with_success() {
    for signal in ["-TERM", "-INT", "-QUIT"] {
        let directory = directory();
        let silent = silent_server(&directory);
        let mut fathomd = Command::new(env!("CARGO_BIN_EXE_fathomd"));
        fathomd.arg(directory.join("fathomd.toml")).stdout(Stdio::null());
        fathomd.stderr(File::create(directory.join("log")).expect("writable"));
        let mut daemon = Daemon::running_in(&directory, fathomd.spawn().expect("the daemon was built"));
        let _taken = silent.accept().expect("it connects");
        daemon.signal("-HUP");
        daemon.signal("-USR1");
        until("the log tells", || {
            daemon.log().contains("SIGHUP") && daemon.log().contains("asks for nothing")
        });
        daemon.signal(signal);
        assert_eq!(daemon.wait().code(), Some(0), "{signal}: {}", daemon.log());
        assert!(daemon.log().contains("stopped before anything was served"), "{}", daemon.log());
    }
}

#[test]
fn signals_that_ask_for_nothing_are_told_and_sigquit_stops() {
    let mut daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    for (told, signal) in ["-USR1", "-USR2", "-ALRM", "-VTALRM", "-IO", "-34", "-64"].into_iter().enumerate()
    {
        daemon.signal(signal);
        until(signal, || daemon.log().matches("asks for nothing").count() == told + 1);
    }
    assert_eq!(client.read(0, 512), [0; 512]);
    drop(client);
    daemon.signal("-QUIT");
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(daemon.log().contains("everything acknowledged is durable"), "{}", daemon.log());
}

#[test]
fn a_check_and_a_creation_end_by_signals_as_programs_do() {
    let directory = directory();
    let silent = silent_server(&directory);
    for flag in ["--check", "--create"] {
        let mut fathomd = Command::new(env!("CARGO_BIN_EXE_fathomd"));
        fathomd.arg(flag).arg(directory.join("fathomd.toml")).stdout(Stdio::null()).stderr(Stdio::null());
        let child = fathomd.spawn().expect("the daemon was built");
        let mut daemon = Daemon::running_in(&directory, child);
        let _taken = silent.accept().expect("it connects");
        daemon.signal("-TERM");
        assert_eq!(daemon.wait().code(), None, "{flag} has no exit code: the signal has ended it");
        std::mem::forget(daemon);
    }
    fs::remove_dir_all(directory).expect("writable");
}
