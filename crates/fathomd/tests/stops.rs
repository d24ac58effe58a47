//! Every wait of a stop is bounded: by clients' patience, by the devices' progress, by the operator's second and third word.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

mod common;

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{
    Client, Daemon, MEMORY, READ, WRITE, cpu_time, directory, request, sockets, status, success, until,
};

/// A flag of a write that no command has.
const UNKNOWN: u16 = 1 << 8;

/// The header of a write that is refused: its payload must be passed over.
fn refused_write(length: u32) -> Vec<u8> {
    let mut bytes = request(WRITE, 7, 0, length);
    bytes[4..6].copy_from_slice(&UNKNOWN.to_be_bytes());
    bytes
}

/// Leaves an answer unread, so that the close is a reset, in the middle of a refused write's payload.
fn leave_within_a_refused_write(daemon: &Daemon) {
    let mut client = Client::open(daemon, "disk");
    client.request(READ, 1, 0, 4096, &[]);
    until("the answer is there", || unread(&client) > 0);
    client.send(&[refused_write(1 << 20), vec![0; 10]].concat());
}

fn unread(client: &Client) -> i32 {
    use std::os::fd::AsRawFd;
    let mut bytes = 0;
    // SAFETY: FIONREAD writes one integer, which lives for the call.
    unsafe { libc::ioctl(client.0.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    bytes
}

#[test]
fn clients_cut_off_within_a_refused_write_leave_nothing_behind() {
    let mut daemon = Daemon::start(MEMORY);
    for _ in 0..70 {
        leave_within_a_refused_write(&daemon);
    }
    until("all have gone", || status(&daemon)["clients"].as_array().is_some_and(Vec::is_empty));
    assert_eq!(Client::open(&daemon, "disk").read(0, 512), [0; 512]);
    let start = Instant::now();
    assert!(daemon.stop().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_refused_write_that_is_whole_is_answered_and_the_connection_lives() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    for _ in 0..300 {
        client.send(&[refused_write(4096), vec![0; 4096]].concat());
        assert_eq!(client.answer(), (22, 7));
    }
    assert_eq!(client.read(0, 512), [0; 512]);
}

#[test]
fn a_stop_that_waits_sleeps() {
    let directory = directory();
    let settings = format!("{}client_patience = \"2s\"\n{MEMORY}", sockets(&directory));
    let mut daemon = Daemon::start_in(&directory, &settings);
    let mut slow = Client::open(&daemon, "disk");
    for cookie in 0..32 {
        slow.request(READ, cookie, 0, 1 << 20, &[]);
    }
    daemon.signal("-TERM");
    until("it stops", || daemon.log().contains("\"stopping\""));
    let before = cpu_time(daemon.id());
    sleep(Duration::from_millis(1000));
    let taken = cpu_time(daemon.id()) - before;
    assert!(taken < Duration::from_millis(200), "{taken:?} of a second that was spent waiting");
    assert!(daemon.wait().success());
}

/// Under a real-time policy a thread that spins keeps the kernel's workers of its CPU from ever completing a flush.
#[test]
fn a_daemon_with_real_time_priority_on_one_cpu_stops() {
    let may = Command::new("chrt").args(["-f", "1", "true"]).output().is_ok_and(|ran| ran.status.success());
    if !may {
        println!("skipped: chrt is not there or may not set SCHED_FIFO");
        return;
    }
    let directory = directory();
    let settings = format!("{}{}", sockets(&directory), file("disk", &directory));
    let daemon = Daemon::make_in(&directory, &settings);
    success("taskset", &["-a", "-p", "-c", "0", &daemon.id().to_string()]);
    success("chrt", &["-a", "-f", "-p", "10", &daemon.id().to_string()]);
    let mut daemon = daemon;
    let mut client = Client::open(&daemon, "disk");
    for block in 0..200_u64 {
        client.write(block * 4096, &[1; 4096]);
    }
    let start = Instant::now();
    assert!(daemon.stop().success());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

fn file(name: &str, directory: &Path) -> String {
    format!(
        "[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\nsize = \"64MiB\"\n[exports.{name}]\nvolume = \"{name}\"\n",
        directory.join(format!("{name}.img")).display()
    )
}

/// A daemon whose one volume is another daemon's, which is stopped in its tracks: nothing that is asked of it is answered.
fn on_a_silent_server(more: &str) -> (Daemon, Daemon) {
    let far = Daemon::start(MEMORY);
    let directory = directory();
    let settings = format!(
        "{}{more}[volumes.disk]\nkind = \"nbd\"\nuri = \"{}\"\ntimeout = \"1h\"\n\
         [volumes.near]\nkind = \"memory\"\nsize = \"1MiB\"\n\
         [exports.disk]\nvolume = \"disk\"\n[exports.near]\nvolume = \"near\"\n",
        sockets(&directory),
        far.uri("disk"),
    );
    let daemon = Daemon::start_in(&directory, &settings);
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[1; 4096]);
    far.signal("-STOP");
    client.request(WRITE, 3, 0, 4096, &[2; 4096]);
    until("the write is under way", || status(&daemon)["clients"][0]["outstanding"] == 1);
    // The client goes, its request stays.
    (daemon, far)
}

#[test]
fn a_device_that_never_answers_ends_a_stop_with_a_word_and_a_code_of_its_own() {
    let (mut daemon, far) = on_a_silent_server("client_patience = \"100ms\"\nstall_patience = \"1s\"\n");
    let start = Instant::now();
    assert_eq!(daemon.stop().code(), Some(4));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let log = daemon.log();
    assert!(log.contains("no device has completed anything") && log.contains("\"disk\""), "{log}");
    assert!(!daemon.socket().exists(), "the socket is gone");
    far.signal("-CONT");
}

#[test]
fn a_drain_that_gets_nowhere_says_so_while_clients_continue() {
    let (mut daemon, far) = on_a_silent_server("client_patience = \"100ms\"\nstall_patience = \"1s\"\n");
    let mut near = Client::open(&daemon, "near");
    let start = Instant::now();
    let (line, body) = daemon.ask("POST", "/drain");
    assert!(
        line.contains("504") && body.contains("no device has completed anything for 1s"),
        "{line} {body}"
    );
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(near.read(0, 512), [0; 512]);
    assert_eq!(daemon.ask("POST", "/stop").0, "HTTP/1.1 202 Accepted");
    assert_eq!(daemon.wait().code(), Some(4));
    far.signal("-CONT");
}

#[test]
fn a_second_signal_cuts_clients_off_and_a_third_ends_it() {
    let (mut daemon, far) = on_a_silent_server("client_patience = \"1h\"\nstall_patience = \"1h\"\n");
    let mut slow = Client::open(&daemon, "near");
    for cookie in 0..64 {
        slow.request(READ, cookie, 0, 1 << 20, &[]);
    }
    daemon.signal("-TERM");
    until("it stops", || daemon.log().contains("\"stopping\""));
    sleep(Duration::from_millis(200));
    assert!(!daemon.log().contains("cut off"), "patience lasts an hour");
    daemon.signal("-TERM");
    until("clients are cut off", || daemon.log().contains("cut off"));
    sleep(Duration::from_millis(200));
    assert!(daemon.ask("GET", "/status").1.contains("draining"), "it goes on with what it can");
    daemon.signal("-INT");
    assert_eq!(daemon.wait().code(), Some(4));
    assert!(daemon.log().contains("not drained"), "{}", daemon.log());
    far.signal("-CONT");
}

#[test]
fn what_was_answered_is_durable_before_clients_are_waited_for() {
    let directory = directory();
    let settings = format!(
        "{}client_patience = \"1h\"\nat_stop = \"keep\"\n{}",
        sockets(&directory),
        file("disk", &directory)
    );
    let mut daemon = Daemon::make_in(&directory, &settings);
    let mut slow = Client::open(&daemon, "disk");
    slow.write(0, &[1; 4096]);
    for cookie in 0..32 {
        slow.request(READ, cookie, 0, 1 << 20, &[]);
    }
    daemon.signal("-TERM");
    until("it is durable", || daemon.log().contains("durable so far"));
    daemon.signal("-TERM");
    assert!(daemon.wait().success());
    drop(slow);
}

#[test]
fn a_client_in_the_middle_of_its_handshake_does_not_hold_up_a_stop() {
    let mut daemon = Daemon::start(MEMORY);
    let silent: Vec<_> = (0..5)
        .map(|_| std::os::unix::net::UnixStream::connect(daemon.socket()).expect("it listens"))
        .collect();
    until("they are in", || status(&daemon)["clients_accepted"] == 5);
    let start = Instant::now();
    assert!(daemon.stop().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(silent);
}

/// Two caches on four files, and what is made of them.
fn on_caches(directory: &Path, made: &str) -> String {
    let file = |name| format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"64MiB\"\n");
    let files: String = ["a", "b", "c", "d", "e"].map(file).concat();
    let cache = |name, backing, cache| {
        format!(
            "[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{backing}\"\ncache = \"{cache}\"\nsegment = \"1MiB\"\n\
             ring_size = \"4MiB\"\n"
        )
    };
    let caches = format!("{}{}", cache("w1", "a", "b"), cache("w2", "c", "d"));
    format!(
        "{}{files}{caches}[volumes.data]\n{made}\n[exports.data]\nvolume = \"data\"\n",
        sockets(directory)
    )
}

#[test]
fn what_lies_above_a_cache_is_closed_before_it() {
    for made in [
        "kind = \"mirror\"\nlegs = [\"w1\", \"w2\"]",
        "kind = \"mirror\"\nlegs = [\"w1\", \"e\"]",
        "kind = \"writeback\"\nbacking = \"w1\"\ncache = \"w2\"\nsegment = \"1MiB\"\nring_size = \"4MiB\"",
    ] {
        let directory = directory();
        let mut daemon = Daemon::make_in(&directory, &on_caches(&directory, made));
        for page in 0..3_u8 {
            let mut client = Client::open(&daemon, "data");
            client.write(u64::from(page) << 20, &[page + 1; 4096]);
            drop(client);
            assert_eq!(daemon.stop().code(), Some(0), "{made}: {}", daemon.log());
            std::mem::forget(daemon);
            daemon = Daemon::start_in(&directory, &on_caches(&directory, made));
            let mut client = Client::open(&daemon, "data");
            assert_eq!(client.read(u64::from(page) << 20, 4096), [page + 1; 4096]);
        }
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_served_is_told_and_no_stop_calls_it_durable() {
    let directory = directory();
    let settings = format!(
        "{}[volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"1MiB\"\n[exports.disk]\nvolume = \"disk\"\n",
        sockets(&directory)
    );
    let at = |name: &str| directory.join(name);
    let mut daemon = Daemon::make_in(&directory, &settings);
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[1; 4096]);
    // Moved away and back: nothing is lost.
    std::fs::rename(at("disk.img"), at("moved.img")).expect("writable");
    until("the log tells it", || daemon.log().contains("was removed, moved or replaced"));
    std::fs::rename(at("moved.img"), at("disk.img")).expect("writable");
    until("the log tells it", || daemon.log().contains("under its name again"));
    assert!(daemon.stop().success(), "{}", daemon.log());
    std::mem::forget(std::mem::replace(&mut daemon, Daemon::start_in(&directory, &settings)));
    let mut client = Client::open(&daemon, "disk");
    // The name is looked at once before that.
    sleep(Duration::from_millis(500));
    std::fs::copy(at("disk.img"), at("copy.img")).expect("writable");
    std::fs::rename(at("copy.img"), at("disk.img")).expect("writable");
    client.write(0, &[2; 4096]);
    until("the log tells it", || daemon.log().contains("was removed, moved or replaced"));
    let log = daemon.log();
    let copy = log.split("\"copy\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a place");
    assert_eq!(std::fs::read(copy).expect("it can be copied")[..4096], [2; 4096]);
    assert_eq!(daemon.stop().code(), Some(1), "{}", daemon.log());
    assert!(daemon.log().contains("not where the next start looks"), "{}", daemon.log());
}

#[test]
fn a_file_below_a_cache_that_is_removed_is_drained_before_it_is_copied() {
    let directory = directory();
    let settings = format!(
        "{}[volumes.slow]\nkind = \"file\"\npath = \"slow.img\"\nsize = \"64MiB\"\n\
         [volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"16MiB\"\n\
         [volumes.disk]\nkind = \"writeback\"\nbacking = \"slow\"\ncache = \"fast\"\nsegment = \"1MiB\"\nring_size = \"4MiB\"\n\
         lag_target = \"10min\"\nlag_max = \"20min\"\n[exports.disk]\nvolume = \"disk\"\n",
        sockets(&directory)
    );
    let mut daemon = Daemon::make_in(&directory, &settings);
    let mut client = Client::open(&daemon, "disk");
    // The name is looked at once before that.
    sleep(Duration::from_millis(500));
    client.write(0, &[7; 4096]);
    drop(client);
    std::fs::remove_file(directory.join("slow.img")).expect("writable");
    until("the log tells it", || daemon.log().contains("was removed, moved or replaced"));
    let log = daemon.log();
    // Its user has left, and what it wrote is in the cache alone.
    assert!(
        log.contains(&format!("fathom volume drain {}", directory.join("fathomd.toml").display())),
        "{log}"
    );
    assert_eq!(daemon.ask("POST", "/drain").0, "HTTP/1.1 200 OK");
    let copy = log.split("\"copy\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a place");
    std::fs::copy(copy, directory.join("slow.img")).expect("writable");
    assert_eq!(std::fs::read(directory.join("slow.img")).expect("readable")[..4096], [7; 4096]);
    daemon.stop();
    std::mem::forget(std::mem::replace(&mut daemon, Daemon::start_in(&directory, &settings)));
    assert_eq!(Client::open(&daemon, "disk").read(0, 4096), [7; 4096], "{}", daemon.log());
}
