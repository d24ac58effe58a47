//! Peers that send anything, through every socket the daemon has: it serves others on, and neither connections nor descriptors
//! nor memory are left behind. A few seconds here; `make fuzz-sockets SECONDS=3600 SEED=1` for as long as wanted.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use common::certificates::certificates;
use common::{Client, Daemon, directory, request, sockets, status, until};

const SIZE: u64 = 32 << 20;
/// Peers between two looks whether others are served.
const ROUND: u64 = 100;
/// Bytes of log that are kept.
const LOG: u64 = 16 << 20;
const OPTION: u64 = 0x4948_4156_454F_5054;

/// Random numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// A number as they go wrong: small, at a power of two, at the end of the type, anything.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(8),
            1 => (1_u64 << self.below(64)).wrapping_add(self.below(3)).wrapping_sub(1),
            2 => u64::MAX - self.below(3),
            _ => self.next(),
        }
    }

    /// Bytes as they break: some flipped, a part left out or doubled, numbers in their places, the end cut off.
    fn break_up(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let length = bytes.len() as u64;
            let at = self.below(length) as usize;
            let end = at + self.below(length - at as u64 + 1) as usize;
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.extend_from_within(at..end),
                3 => {
                    let number = self.number().to_be_bytes();
                    bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
                }
                _ => bytes.truncate(at),
            }
        }
    }
}

fn option(dice: &mut Dice, code: u32, data: &[u8]) -> Vec<u8> {
    let length = if dice.one_in(20) { dice.number() as u32 } else { data.len() as u32 };
    [OPTION.to_be_bytes().as_slice(), &code.to_be_bytes(), &length.to_be_bytes(), data].concat()
}

/// What a client says until it has the export, mostly right.
fn handshake(dice: &mut Dice) -> Vec<u8> {
    let mut said = (dice.of(&[3_u32, 3, 3, 1, 0, 7])).to_be_bytes().to_vec();
    for _ in 0..dice.below(5) {
        let code = dice.of(&[2_u32, 3, 5, 6, 7, 8, 9, 10, 11, 99]);
        let count = dice.below(64);
        let data = dice.bytes(count);
        let data = if dice.one_in(2) { named("disk") } else { data };
        said.extend(option(dice, code, &data));
    }
    if dice.one_in(2) {
        said.extend(option(dice, 8, &[]));
        let context = b"base:allocation";
        let asked = [
            4_u32.to_be_bytes().as_slice(),
            b"disk",
            &1_u32.to_be_bytes(),
            &(context.len() as u32).to_be_bytes(),
            context,
        ]
        .concat();
        said.extend(option(dice, 10, &asked));
        said.extend(option(dice, 7, &named("disk")));
    } else {
        said.extend(option(dice, 1, b"disk"));
    }
    said
}

/// The data of INFO and GO for an export.
fn named(export: &str) -> Vec<u8> {
    let length = (export.len() as u32).to_be_bytes();
    [length.as_slice(), export.as_bytes(), &0_u16.to_be_bytes()].concat()
}

/// Requests, mostly right.
fn requests(dice: &mut Dice) -> Vec<u8> {
    let mut said = Vec::new();
    for _ in 0..dice.below(40) {
        let kind = dice.of(&[0_u16, 0, 1, 1, 1, 3, 4, 5, 6, 7, 8, 99]);
        let length = match dice.below(20) {
            0 => dice.number() as u32,
            1 => 1 << 20,
            _ => 512 * dice.below(64) as u32,
        };
        let offset = if dice.one_in(20) { dice.number() } else { 512 * dice.below(SIZE / 512) };
        let mut bytes = request(kind, dice.next(), offset, length);
        if dice.one_in(4) {
            bytes[4..6].copy_from_slice(&(1_u16 << dice.below(16)).to_be_bytes());
        }
        if kind == 1 && length <= 1 << 20 {
            bytes.resize(bytes.len() + length as usize, 0xA5);
        }
        said.extend(bytes);
    }
    if dice.one_in(3) {
        said.extend(request(2, 0, 0, 0));
    }
    said
}

fn call(dice: &mut Dice) -> Vec<u8> {
    let method = dice.of(&["GET", "POST", "PUT", ""]);
    let path = dice.of(&["/status", "/metrics", "/drain", "/", "/metrics?x", "\u{fffd}"]);
    let mut said = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n").into_bytes();
    let more = dice.below(3) * 4000;
    said.extend(dice.bytes(more));
    said.extend(b"\r\n\r\n");
    said
}

/// The sockets of a daemon.
struct Sockets {
    daemon: Daemon,
    tcp: u16,
    metrics: u16,
    encrypted: bool,
}

impl Sockets {
    fn open() -> Self {
        let directory = directory();
        let encrypted = certificates(&directory).is_some();
        let free =
            || TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let (tcp, metrics) = (free().port(), free().port());
        let file = |name: &str| directory.join(name).display().to_string();
        let tls = if encrypted {
            format!(
                "tls = {{ certificate = \"{}\", key = \"{}\" }}\n",
                file("server-cert.pem"),
                file("server-key.pem")
            )
        } else {
            "tcp_in_the_clear = true\n".to_owned()
        };
        let settings = format!(
            "{}tcp = \"127.0.0.1:{tcp}\"\nmetrics = \"127.0.0.1:{metrics}\"\nmost_clients = 4096\n{tls}\
             [volumes.disk]\nkind = \"memory\"\nsize = \"32MiB\"\n[exports.disk]\nvolume = \"disk\"\n\
             [volumes.kept]\nkind = \"memory\"\nsize = \"1MiB\"\n[exports.kept]\nvolume = \"kept\"\n",
            sockets(&directory)
        );
        fs::write(directory.join("fathomd.toml"), settings).expect("writable");
        // Appended to, so that it can be cut.
        let log = File::options().create(true).append(true).open(directory.join("log")).expect("writable");
        let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
        program.arg(directory.join("fathomd.toml")).args(["--log", "json"]).stderr(log);
        Self { daemon: Daemon::of(&directory, program), tcp, metrics, encrypted }
    }

    fn unix(&self, name: &str) -> Option<OwnedFd> {
        UnixStream::connect(self.daemon.directory.join(name)).ok().map(OwnedFd::from)
    }

    fn by_tcp(&self, port: u16) -> Option<OwnedFd> {
        TcpStream::connect(("127.0.0.1", port)).ok().map(OwnedFd::from)
    }

    /// A peer at one of the sockets, and what it will say.
    fn peer(&self, dice: &mut Dice) -> Option<(OwnedFd, Vec<u8>)> {
        let (socket, mut said) = match dice.below(8) {
            0 => (self.unix("status.sock"), call(dice)),
            1 => (self.by_tcp(self.metrics), call(dice)),
            2 | 3 if self.encrypted => {
                let mut said = 3_u32.to_be_bytes().to_vec();
                said.extend(option(dice, 5, &[]));
                // The head of a TLS record, and what is none.
                said.extend([0x16, 3, 1, dice.next() as u8, dice.next() as u8, 1]);
                let count = dice.below(600);
                said.extend(dice.bytes(count));
                (self.by_tcp(self.tcp), said)
            }
            2 => (self.by_tcp(self.tcp), [handshake(dice), requests(dice)].concat()),
            3 => {
                let count = dice.below(4096);
                (self.unix("nbd.sock"), dice.bytes(count))
            }
            _ => (self.unix("nbd.sock"), [handshake(dice), requests(dice)].concat()),
        };
        if dice.one_in(2) {
            dice.break_up(&mut said);
        }
        Some((socket?, said))
    }

    /// Speaks through a socket, listens or not, and goes in one way or another.
    fn speak(dice: &mut Dice, socket: OwnedFd, said: &[u8]) -> Option<UnixStream> {
        // Reading, writing and shutting down are the same for both kinds.
        let mut socket = UnixStream::from(socket);
        socket.set_nonblocking(true).expect("an option");
        let piece = dice.of(&[1_usize << 20, 4096, 100]);
        for piece in said.chunks(piece.max(said.len() / 16)) {
            // Who is not listened to any more says no more.
            if socket.write_all(piece).is_err() {
                break;
            }
            if dice.one_in(3) {
                let _ = socket.read(&mut vec![0; dice.of(&[1, 18, 1 << 16])]);
            }
        }
        match dice.below(4) {
            0 => return Some(socket),
            1 => {
                let _ = socket.shutdown(dice.of(&[Shutdown::Write, Shutdown::Read, Shutdown::Both]));
                return dice.one_in(2).then_some(socket);
            }
            _ => {}
        }
        None
    }

    fn resident(&self) -> u64 {
        let told = fs::read_to_string(format!("/proc/{}/status", self.daemon.id())).expect("it runs");
        let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.daemon.id())).expect("it runs").count()
    }

    /// Others are served, and what they have written is there.
    fn serves(&self) {
        let mut client = Client::open(&self.daemon, "kept");
        assert_eq!(client.read(4096, 4096), [7; 4096], "nobody else may write here");
        client.write(0, &[1; 4096]);
        assert_eq!(client.read(0, 4096), [1; 4096]);
        let log = self.daemon.directory.join("log");
        if fs::metadata(&log).is_ok_and(|log| log.len() > LOG) {
            assert!(!self.daemon.log().contains("panicked"));
            File::options().write(true).open(&log).and_then(|log| log.set_len(0)).expect("it can be cut");
        }
    }

    /// Waits until everybody has gone, and tells descriptors and KiB of memory.
    fn at_rest(&self) -> (usize, u64) {
        until("everybody has gone", || status(&self.daemon)["clients"].as_array().is_some_and(Vec::is_empty));
        // Who asks is one of them.
        let mut descriptors = self.descriptors();
        until("the last descriptors are closed", || {
            let before = std::mem::replace(&mut descriptors, self.descriptors());
            std::thread::sleep(Duration::from_millis(50));
            before == descriptors
        });
        // A daemon without clients gives memory back after a second.
        std::thread::sleep(Duration::from_millis(1500));
        (descriptors, self.resident())
    }

    /// So many peers, some of them at the same time.
    fn flood(&self, dice: &mut Dice, count: u64) {
        let mut staying = std::collections::VecDeque::new();
        for _ in 0..count {
            let Some((socket, said)) = self.peer(dice) else { continue };
            staying.extend(Self::speak(dice, socket, &said));
            if staying.len() > 12 {
                staying.pop_front();
            }
        }
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

#[test]
fn whatever_peers_send_others_are_served_and_nothing_is_left_behind() {
    let (seconds, seed) = (setting("FATHOM_FUZZ_SECONDS", 6), setting("FATHOM_FUZZ_SEED", 1));
    println!("FATHOM_FUZZ_SECONDS={seconds} FATHOM_FUZZ_SEED={seed}");
    let mut sockets = Sockets::open();
    let mut dice = Dice(seed);
    Client::open(&sockets.daemon, "kept").write(4096, &[7; 4096]);
    let mut disk = Client::open(&sockets.daemon, "disk");
    // Every page of the volume, and as much on its way as ever will be.
    (0..SIZE >> 20).for_each(|at| disk.write(at << 20, &vec![1; 1 << 20]));
    (0..64).for_each(|cookie| disk.request(0, cookie, 0, 1 << 20, &[]));
    (0..64).for_each(|_| {
        disk.answer();
        disk.receive(1 << 20);
    });
    drop(disk);
    let start = Instant::now();
    let (mut peers, mut before) = (0, None);
    while start.elapsed() < Duration::from_secs(seconds) {
        sockets.flood(&mut dice, ROUND);
        peers += ROUND;
        sockets.serves();
        if before.is_none() && (peers >= 3000 || start.elapsed() > Duration::from_secs(seconds) / 2) {
            before = Some(sockets.at_rest());
        }
    }
    let (descriptors, memory) = before.unwrap_or_else(|| sockets.at_rest());
    let (descriptors_after, mut memory_after) = sockets.at_rest();
    until(&format!("memory is back at {memory} KiB, or 5 % more,"), || {
        memory_after = sockets.resident();
        memory_after * 100 <= memory * 105
    });
    println!(
        "{peers} peers; descriptors {descriptors} and {descriptors_after}, memory {memory} and {memory_after} KiB"
    );
    assert_eq!(descriptors_after, descriptors, "descriptors are left behind");
    let start = Instant::now();
    assert!(sockets.daemon.stop().success());
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert!(!sockets.daemon.log().contains("panicked"));
}
