//! The hunt for the daemon's injected bugs: what holds without a bug does not hold with it.
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

mod common;

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Client, Daemon, MEMORY, READ, WRITE, directory, sockets, status};

/// Longer than what is looked for takes without a bug.
const LONG: Duration = Duration::from_secs(4);

/// A daemon with one bug, or none for an empty name.
fn with(bug: &str, more: &str, volumes: &str) -> Daemon {
    with_in(&directory(), bug, more, volumes)
}

/// The same in a directory.
fn with_in(directory: &Path, bug: &str, more: &str, volumes: &str) -> Daemon {
    fs::write(directory.join("fathomd.toml"), format!("{}{more}{volumes}", sockets(directory)))
        .expect("writable");
    let log = fs::File::create(directory.join("log")).expect("writable");
    let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    program.arg(directory.join("fathomd.toml")).args(["--log", "json"]).stderr(log);
    program.env("FATHOM_BUG", bug);
    Daemon::of(directory, program)
}

/// A mirror of two files in a directory, of that many bytes each.
fn mirror(directory: &Path, size: u64) -> String {
    let legs = ["a", "b"].map(|name| {
        let path = directory.join(name);
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        file.and_then(|file| file.set_len(size)).expect("the directory is writable");
        format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\n", path.display())
    });
    let mirror =
        "[volumes.disk]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\n[exports.disk]\nvolume = \"disk\"\n";
    legs.concat() + mirror
}

fn comes(mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < LONG {
        if so() {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}

/// What holds without a bug, and does not with the one that is named.
type Claim = (&'static str, fn(&str) -> bool);

const CLAIMS: [Claim; 6] = [
    ("PlaceKept", a_client_that_is_cut_off_goes),
    ("StallIgnored", a_silent_device_ends_a_stop),
    ("HurryIgnored", a_second_signal_ends_patience),
    ("CrowdUnbounded", silent_peers_are_few),
    ("HeadOnlyChecked", a_leg_with_contents_is_refused),
    ("ResizedTakenForNew", legs_that_were_enlarged_are_refused),
];

fn a_client_that_is_cut_off_goes(bug: &str) -> bool {
    let daemon = with(bug, "", MEMORY);
    let mut client = Client::open(&daemon, "disk");
    client.request(WRITE, 1, 0, 8192, &[1; 100]);
    drop(client);
    comes(|| status(&daemon)["clients"].as_array().is_some_and(Vec::is_empty))
}

fn a_silent_device_ends_a_stop(bug: &str) -> bool {
    let far = Daemon::start(MEMORY);
    let volume = format!(
        "[volumes.disk]\nkind = \"nbd\"\nuri = \"{}\"\ntimeout = \"1h\"\n[exports.disk]\nvolume = \"disk\"\n",
        far.uri("disk")
    );
    let daemon = with(bug, "stall_patience = \"1s\"\n", &volume);
    far.signal("-STOP");
    daemon.signal("-TERM");
    comes(|| daemon.log().contains("no device has completed anything"))
}

fn a_second_signal_ends_patience(bug: &str) -> bool {
    let daemon = with(bug, "client_patience = \"1h\"\n", MEMORY);
    let mut slow = Client::open(&daemon, "disk");
    (0..64).for_each(|cookie| slow.request(READ, cookie, 0, 1 << 20, &[]));
    daemon.signal("-TERM");
    assert!(comes(|| daemon.log().contains("\"stopping\"")), "the first signal is heard");
    daemon.signal("-TERM");
    comes(|| daemon.log().contains("everything acknowledged is durable"))
}

fn silent_peers_are_few(bug: &str) -> bool {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = free.expect("a free port");
    let daemon = with(bug, &format!("tcp = \"{address}\"\ntcp_in_the_clear = true\n"), MEMORY);
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    let few = comes(|| {
        let told = status(&daemon);
        told["clients_accepted"] == 40 && told["clients"].as_array().is_some_and(|list| list.len() <= 16)
    });
    drop(silent);
    few
}

fn a_leg_with_contents_is_refused(bug: &str) -> bool {
    let directory = directory();
    let volumes = mirror(&directory, 300 << 20);
    let leg = fs::OpenOptions::new().write(true).open(directory.join("b")).expect("it is there");
    leg.write_all_at(b"_BHRfS_M", 0x10040).expect("it is writable");
    with_in(&directory, bug, "", &volumes).log().contains("holds data at byte 65600")
}

fn legs_that_were_enlarged_are_refused(bug: &str) -> bool {
    let directory = directory();
    let mut made = with_in(&directory, "", "", &mirror(&directory, 300 << 20));
    assert!(made.stop().success(), "{}", made.log());
    // Its end would take the directory away.
    std::mem::forget(made);
    with_in(&directory, bug, "", &mirror(&directory, 500 << 20)).log().contains("the legs were resized")
}

#[test]
fn every_bug_in_the_daemon_is_detected() {
    for (bug, claim) in CLAIMS {
        assert!(claim(""), "without a bug, where {bug} is looked for");
        assert!(!claim(bug), "{bug} is not detected");
        println!("{bug}: detected");
    }
}
