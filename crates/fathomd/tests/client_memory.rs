//! Clients that do not fetch their answers: all of them together take a bounded part of the memory, and nobody's else.

mod common;

use std::fs;

use common::{Client, Daemon, MEMORY, READ, WRITE, request, until};

/// Everything that is served: each 8 bytes say which ones they are.
fn pattern() -> Vec<u8> {
    (0..8_u64 << 20).flat_map(u64::to_be_bytes).collect()
}

const MEBIBYTE: usize = 1 << 20;

/// A daemon whose clients have 8 MiB, half of it in shares of 512 KiB, and stalled ones that have taken what they get.
fn with_stalled(count: usize) -> (Daemon, Vec<u8>, Vec<Client>) {
    let daemon = Daemon::start(&format!("most_clients = 8\nclient_memory = \"8MiB\"\n{MEMORY}"));
    let pattern = pattern();
    let mut client = Client::open(&daemon, "disk");
    for (mebibyte, bytes) in (0..).zip(pattern.chunks(MEBIBYTE)) {
        client.write(mebibyte << 20, bytes);
    }
    let stalled = |_| {
        let mut client = Client::open(&daemon, "disk");
        let reads: Vec<u8> = (0..8).flat_map(|cookie| request(READ, cookie, 0, 32 << 20)).collect();
        client.send(&reads);
        client
    };
    let stalled = (0..count).map(stalled).collect();
    (daemon, pattern, stalled)
}

fn resident_kib(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn who_fetches_nothing_takes_a_bounded_part_and_nobody_elses() {
    let (daemon, pattern, mut stalled) = with_stalled(6);
    let mut good = Client::open(&daemon, "disk");
    good.write(5 << 20, &pattern[5 << 20..6 << 20]);
    assert_eq!(good.read(5 << 20, 4096), pattern[5 << 20..][..4096]);
    for (cookie, bytes) in (0..).zip(pattern.chunks(32 << 20)) {
        assert!(good.read(cookie << 25, 32 << 20) == bytes, "a large one");
    }
    for cookie in 0..64 {
        good.request(READ, cookie, cookie << 20, MEBIBYTE as u32, &[]);
    }
    for _ in 0..64 {
        let (errno, cookie) = good.answer();
        assert_eq!(errno, 0);
        assert!(good.receive(MEBIBYTE) == pattern[cookie as usize * MEBIBYTE..][..MEBIBYTE], "many at once");
    }
    // The volume itself is 64 MiB of it.
    assert!(resident_kib(&daemon) < 128 << 10, "{} KiB", resident_kib(&daemon));
    for _ in 0..8 {
        assert_eq!(stalled[3].answer().0, 0, "who begins to fetch gets what it asked for");
        assert!(stalled[3].receive(32 << 20) == pattern[..32 << 20]);
    }
}

#[test]
fn writes_and_mistakes_are_answered_while_others_fetch_nothing() {
    let (daemon, pattern, _stalled) = with_stalled(6);
    let mut good = Client::open(&daemon, "disk");
    good.write(0, &pattern[..32 << 20]);
    for (offset, length) in [(64 << 20, 1 << 20), (100, 1 << 20), (0, (1 << 20) + 100)] {
        good.request(READ, 7, offset, length, &[]);
        assert_eq!(good.answer(), (22, 7), "{length} bytes at {offset}");
    }
    // Requests around one that goes in pieces keep their answers apart.
    let mixed = [
        request(READ, 1, 4096, 4096),
        request(READ, 2, 0, 8 << 20),
        request(WRITE, 3, 0, 4096),
        pattern[..4096].to_vec(),
        request(READ, 4, 0, 8 << 20),
    ];
    good.send(&mixed.concat());
    for _ in 0..4 {
        let (errno, cookie) = good.answer();
        assert_eq!(errno, 0);
        match cookie {
            1 => assert_eq!(good.receive(4096), pattern[4096..8192]),
            2 | 4 => assert!(good.receive(8 << 20) == pattern[..8 << 20]),
            _ => {}
        }
    }
}

#[test]
fn a_structured_answer_in_pieces_is_one_chunk() {
    let (daemon, pattern, _stalled) = with_stalled(6);
    let mut good = Client(std::os::unix::net::UnixStream::connect(daemon.socket()).expect("it listens"));
    let option = |number: u32, length: u32| {
        [&0x4948_4156_454F_5054_u64.to_be_bytes()[..], &number.to_be_bytes(), &length.to_be_bytes()].concat()
    };
    good.receive(18);
    good.send(&[&3_u32.to_be_bytes()[..], &option(8, 0)].concat());
    good.receive(20);
    good.send(&[&option(1, 4)[..], b"disk"].concat());
    good.receive(10);
    good.request(READ, 5, 4096, 16 << 20, &[]);
    let head = good.receive(28);
    let expected = [
        &0x668E_33EF_u32.to_be_bytes()[..],
        &[0, 1, 0, 1],
        &5_u64.to_be_bytes(),
        &((16_u32 << 20) + 8).to_be_bytes(),
        &4096_u64.to_be_bytes(),
    ];
    assert_eq!(head, expected.concat());
    assert!(good.receive(16 << 20) == pattern[4096..][..16 << 20]);
}

#[test]
fn a_volume_that_fails_within_an_answer_in_pieces_ends_the_connection() {
    let daemon = Daemon::start(
        "client_memory = \"1MiB\"\n[volumes.good]\nkind = \"memory\"\nsize = \"64MiB\"\n\
         [volumes.disk]\nkind = \"fault\"\nbacking = \"good\"\n\
         rules = [{ fault = \"error\", kinds = [\"read\"], offset = \"3MiB\", length = \"4KiB\" }]\n\
         [exports.disk]\nvolume = \"disk\"\n",
    );
    let mut client = Client::open(&daemon, "disk");
    client.request(READ, 1, 3 << 20, 4 << 20, &[]);
    assert_eq!(client.answer(), (5, 1), "nothing was sent of it");
    client.request(READ, 2, 1 << 20, 4 << 20, &[]);
    assert_eq!(client.answer(), (0, 2));
    client.receive(2 << 20);
    assert!(client.is_closed());
    until("the log tells", || daemon.log().contains("cannot be finished"));
    assert_eq!(Client::open(&daemon, "disk").read(0, 512), [0; 512]);
}
