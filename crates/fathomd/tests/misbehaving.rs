//! Clients that misbehave: none of them hurts the daemon or another client.

mod common;

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Command;

use common::{
    BLOCK_STATUS, CACHE, Client, DISCONNECT, Daemon, FLUSH, MEMORY, READ, TRIM, WRITE, WRITE_ZEROES,
    cpu_time, directory, request, sockets, status, success, until,
};

const SIZE: u64 = 64 << 20;

#[test]
fn garbage_ends_the_connection_and_no_other() {
    let daemon = Daemon::start(MEMORY);
    let mut good = Client::open(&daemon, "disk");
    let mut bad = Client::open(&daemon, "disk");
    bad.send(&[0x55; 64]);
    assert!(bad.is_closed());
    let mut early = UnixStream::connect(daemon.socket()).expect("it listens");
    early.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    good.write(0, &[1; 512]);
    assert_eq!(good.read(0, 512), [1; 512]);
    until("the log tells", || daemon.log().contains("not the NBD protocol"));
}

#[test]
fn who_connects_and_leaves_is_no_failure() {
    let daemon = Daemon::start(MEMORY);
    // Unread, the greeting makes the kernel reset the connection: both ways of going.
    for _ in 0..50 {
        drop(UnixStream::connect(daemon.socket()).expect("it listens"));
    }
    until("the log tells", || daemon.log().contains("left during the handshake"));
    Client::open(&daemon, "disk").write(0, &[1; 512]);
    let log = daemon.log();
    assert!(!log.contains("handshake failed"), "{log}");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("left during the handshake")).collect();
    assert!(told.iter().all(|line| line.contains("\"DEBUG\"")), "{told:?}");
}

#[test]
fn half_a_write_changes_nothing() {
    let daemon = Daemon::start(MEMORY);
    let mut good = Client::open(&daemon, "disk");
    good.write(0, &[7; 8192]);
    let mut cut = Client::open(&daemon, "disk");
    cut.request(WRITE, 9, 0, 8192, &[9; 4096]);
    cut.0.shutdown(Shutdown::Both).expect("open until now");
    until("the log tells", || daemon.log().contains("cut off within a request"));
    assert_eq!(good.read(0, 8192), [7; 8192]);
}

#[test]
fn byte_by_byte_is_as_good_as_at_once() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    let bytes = [request(WRITE, 3, 4096, 512), vec![5; 512], request(READ, 4, 4096, 512)].concat();
    for byte in bytes {
        client.send(&[byte]);
    }
    assert_eq!(client.answer(), (0, 3));
    assert_eq!(client.answer(), (0, 4));
    assert_eq!(client.receive(512), [5; 512]);
}

#[test]
fn many_requests_in_one_piece_are_all_answered() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    let mut bytes = Vec::new();
    for cookie in 0..1000_u64 {
        bytes.extend(request(WRITE, cookie, cookie * 512, 512));
        bytes.extend([cookie as u8; 512]);
    }
    client.send(&bytes);
    let mut cookies: Vec<u64> = (0..1000).map(|_| client.answer().1).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, (0..1000).collect::<Vec<_>>());
    let whole = client.read(0, 512_000);
    assert!(whole.chunks(512).zip(0..).all(|(sector, cookie): (&[u8], u64)| sector[0] == cookie as u8));
}

#[test]
fn wrong_requests_get_the_protocol_s_errors_and_the_connection_lives() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    // Command, offset, length, payload, error.
    let large = (32 << 20) + 512;
    let wrong: [(u16, u64, u32, usize, u32); 13] = [
        (READ, SIZE - 512, 1024, 0, 22),
        (READ, 100, 512, 0, 22),
        (READ, 0, 0, 0, 22),
        (READ, u64::MAX - 511, 512, 0, 22),
        (READ, 0, large, 0, 75),
        (WRITE, SIZE, 512, 512, 28),
        (WRITE, 0, large, large as usize, 22),
        (WRITE_ZEROES, SIZE - 512, 1024, 0, 28),
        (TRIM, SIZE, 512, 0, 22),
        (TRIM, SIZE - 512, 1024, 0, 22),
        (CACHE, SIZE, 512, 0, 22),
        (BLOCK_STATUS, SIZE, 512, 0, 22),
        (99, 0, 0, 0, 22),
    ];
    for (cookie, (kind, offset, length, payload, errno)) in (10..).zip(wrong) {
        client.request(kind, cookie, offset, length, &vec![0; payload]);
        assert_eq!(client.answer(), (errno, cookie), "command {kind} at {offset} of {length}");
    }
    client.request(FLUSH, 30, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 30));
    client.request(DISCONNECT, 0, 0, 0, &[]);
    assert!(client.is_closed());
}

#[test]
fn a_payload_beyond_the_limit_is_read_off_and_takes_no_memory() {
    let daemon = Daemon::start(MEMORY);
    let peak = || {
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("Linux tells it");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number")
    };
    let mut client = Client::open(&daemon, "disk");
    client.write(0, &[5; 4096]);
    let before = peak();
    client.request(WRITE, 1, 0, 256 << 20, &vec![9; 256 << 20]);
    assert_eq!(client.answer(), (22, 1));
    assert!(peak() < before + (64 << 10), "{before} KiB, then {} KiB", peak());
    assert_eq!(client.read(0, 4096), [5; 4096], "nothing of it was written");
}

#[test]
fn a_limit_of_file_sizes_fails_a_write_and_ends_no_daemon() {
    let folder = directory();
    let disk = "[volumes.disk]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"16MiB\"\n[exports.disk]\nvolume = \"disk\"\n";
    let file = folder.join("fathomd.toml");
    fs::write(&file, format!("{}{disk}", sockets(&folder))).expect("the folder is writable");
    success(env!("CARGO_BIN_EXE_fathomd"), &["--create", &file.display().to_string()]);
    let log = fs::File::create(folder.join("log")).expect("the folder is writable");
    let mut limited = Command::new("sh");
    // In units of 512 or 1,024 bytes.
    let line =
        format!("ulimit -f 8192; exec {} {} --log json", env!("CARGO_BIN_EXE_fathomd"), file.display());
    limited.args(["-c", &line]).stderr(log);
    let mut daemon = Daemon::of(&folder, limited);
    let mut client = Client::open(&daemon, "disk");
    client.request(WRITE, 7, 12 << 20, 4096, &[1; 4096]);
    let (errno, cookie) = client.answer();
    assert!(errno != 0 && cookie == 7, "{errno}");
    client.write(0, &[2; 4096]);
    assert_eq!(client.read(0, 4096), [2; 4096]);
    assert!(daemon.stop().success(), "{}", daemon.log());
}

#[test]
fn a_client_that_fetches_nothing_is_not_listened_to_and_takes_bounded_memory() {
    let daemon = Daemon::start(MEMORY);
    let mut slow = Client::open(&daemon, "disk");
    slow.0.set_nonblocking(true).expect("an option");
    // Reads of 1 MiB: 4 GiB of answers that nobody takes.
    let asked =
        (0..4096_u64).filter(|cookie| slow.0.write_all(&request(READ, *cookie, 0, 1 << 20)).is_ok()).count();
    assert!(asked > 0);
    let mut good = Client::open(&daemon, "disk");
    good.write(0, &[1; 4096]);
    assert_eq!(good.read(0, 4096), [1; 4096]);
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for it");
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 300 << 10, "{kib} KiB of memory");
}

#[test]
fn a_client_that_dies_with_requests_on_their_way_leaves_the_daemon_whole() {
    let daemon = Daemon::start(MEMORY);
    for _ in 0..20 {
        let mut dying = Client::open(&daemon, "disk");
        for cookie in 0..64 {
            dying.request(READ, cookie, 0, 65536, &[]);
        }
        drop(dying);
    }
    let mut good = Client::open(&daemon, "disk");
    assert_eq!(good.read(0, 512), [0; 512]);
    until("all but one have gone", || {
        daemon.ask("GET", "/status").1.matches("\"connected_ns\"").count() == 1
    });
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a real process is looked at for a second of the real clock")]
fn a_client_that_has_said_all_and_fetches_nothing_costs_nothing() {
    let daemon = Daemon::start(MEMORY);
    let mut silent = Client::open(&daemon, "disk");
    for cookie in 0..32 {
        silent.request(READ, cookie, 0, 1 << 20, &[]);
    }
    silent.0.shutdown(Shutdown::Write).expect("open until now");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = cpu_time(daemon.id());
    std::thread::sleep(std::time::Duration::from_secs(1));
    let taken = cpu_time(daemon.id()) - before;
    assert!(taken.as_millis() < 200, "{taken:?} of a second");
    // It gets its answers all the same.
    for _ in 0..32 {
        assert_eq!(silent.answer().0, 0);
        silent.receive(1 << 20);
    }
    assert!(silent.is_closed());
}

#[test]
fn reads_of_a_client_that_has_gone_are_dropped_and_its_writes_are_done() {
    let daemon = Daemon::start(&format!("most_clients = 2\n{MEMORY}"));
    let reads = |daemon: &Daemon| status(daemon)["volumes"][0]["requests"]["read"]["count"].as_u64();
    let mut good = Client::open(&daemon, "disk");
    good.read(0, 512);
    let before = reads(&daemon).expect("a count");
    let mut gone = Client::open(&daemon, "disk");
    // 64 GB of answers, half a minute of copying, and one write behind them.
    let mut bytes: Vec<u8> = (0..2000).flat_map(|cookie| request(READ, cookie, 0, 32 << 20)).collect();
    bytes.extend(request(WRITE, 9, 8192, 512));
    bytes.extend([9; 512]);
    gone.send(&bytes);
    drop(gone);
    until("its slot is free", || status(&daemon)["clients"].as_array().map(Vec::len) == Some(1));
    let done = reads(&daemon).expect("a count") - before;
    assert!(done <= 8, "{done} reads for nobody");
    assert_eq!(good.read(8192, 512), [9; 512], "what was sent whole is written");
    Client::open(&daemon, "disk").read(0, 512);
}

#[test]
fn who_says_goodbye_and_still_fetches_gets_all_answers() {
    let daemon = Daemon::start(MEMORY);
    let mut client = Client::open(&daemon, "disk");
    for cookie in 0..16 {
        client.request(READ, cookie, 0, 16 << 20, &[]);
    }
    client.request(DISCONNECT, 99, 0, 0, &[]);
    client.0.shutdown(Shutdown::Write).expect("open until now");
    for _ in 0..16 {
        assert_eq!(client.answer().0, 0);
        client.receive(16 << 20);
    }
    assert!(client.is_closed());
}
