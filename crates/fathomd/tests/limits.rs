//! Peers that say nothing: on no socket do they keep others out, and on none do they take all descriptors.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use common::certificates::certificates;
use common::{Client, Daemon, MEMORY, directory, program, sockets, status, success, until};

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
    free.port()
}

/// A daemon that also listens by TCP, in the clear, and for Prometheus.
fn with_tcp(more: &str) -> (Daemon, u16, u16) {
    let directory = directory();
    let (tcp, metrics) = (free_port(), free_port());
    let settings = format!(
        "{}tcp = \"127.0.0.1:{tcp}\"\ntcp_in_the_clear = true\nmetrics = \"127.0.0.1:{metrics}\"\n{more}{MEMORY}",
        sockets(&directory)
    );
    (Daemon::start_in(&directory, &settings), tcp, metrics)
}

fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("it listens")
}

fn descriptors(daemon: &Daemon) -> usize {
    fs::read_dir(format!("/proc/{}/fd", daemon.id())).expect("it runs").count()
}

#[test]
fn silent_peers_by_tcp_keep_nobody_out() {
    let (daemon, tcp, _) = with_tcp("most_clients = 16\n");
    let silent: Vec<TcpStream> = (0..40).map(|_| connect(tcp)).collect();
    let start = Instant::now();
    assert_eq!(Client::open(&daemon, "disk").read(0, 512), [0; 512], "by the Unix socket");
    let uri = format!("nbd://127.0.0.1:{tcp}/disk");
    success("nbdinfo", &["--size", &uri]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    until("the silent are few", || descriptors(&daemon) < 60);
    drop(silent);
}

#[test]
fn clients_by_tcp_leave_the_unix_socket_its_places() {
    let (daemon, tcp, _) = with_tcp("most_clients = 4\n");
    let mut established: Vec<TcpStream> = Vec::new();
    for _ in 0..8 {
        let mut client = connect(tcp);
        let mut greeting = [0; 18];
        if client.read_exact(&mut greeting).is_err() {
            continue;
        }
        let asked = [
            3_u32.to_be_bytes().as_slice(),
            &0x4948_4156_454F_5054_u64.to_be_bytes(),
            &1_u32.to_be_bytes(),
            &4_u32.to_be_bytes(),
            b"disk",
        ]
        .concat();
        client.write_all(&asked).expect("sent");
        if client.read_exact(&mut [0; 10]).is_ok() {
            established.push(client);
        }
    }
    assert_eq!(established.len(), 4, "no more than allowed by that door");
    let own: Vec<Client> = (0..4).map(|_| Client::open(&daemon, "disk")).collect();
    assert_eq!(status(&daemon)["clients"].as_array().map(Vec::len), Some(8));
    drop((own, established));
}

#[test]
fn peers_that_stop_within_the_tls_handshake_keep_nobody_out_and_hold_up_no_stop() {
    let directory = directory();
    if certificates(&directory).is_none() || program("nbdinfo", &["--version"]).is_none() {
        return;
    }
    let tcp = free_port();
    let file = |name: &str| directory.join(name).display().to_string();
    let settings = format!(
        "{}most_clients = 16\ntcp = \"127.0.0.1:{tcp}\"\ntls = {{ certificate = \"{}\", key = \"{}\" }}\n{MEMORY}",
        sockets(&directory),
        file("server-cert.pem"),
        file("server-key.pem"),
    );
    let mut daemon = Daemon::start_in(&directory, &settings);
    let half: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut peer = connect(tcp);
            let start_tls = [
                3_u32.to_be_bytes().as_slice(),
                &0x4948_4156_454F_5054_u64.to_be_bytes(),
                &5_u32.to_be_bytes(),
                &0_u32.to_be_bytes(),
            ]
            .concat();
            let _ = peer.write_all(&start_tls);
            // The first bytes of a record that never comes whole.
            let _ = peer.write_all(&[0x16, 3, 1]);
            peer
        })
        .collect();
    let uri = format!("nbds://localhost:{tcp}/disk?tls-certificates={}", directory.display());
    let start = Instant::now();
    success("nbdinfo", &["--size", &uri]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let start = Instant::now();
    assert!(daemon.stop().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(half);
}

#[test]
fn half_sent_requests_for_metrics_and_status_are_limited() {
    let (daemon, _, metrics) = with_tcp("");
    let before = descriptors(&daemon);
    let half: Vec<TcpStream> = (0..1100)
        .map(|_| {
            let mut caller = connect(metrics);
            let _ = caller.write_all(b"GET /metrics HT");
            caller
        })
        .collect();
    let half_status: Vec<UnixStream> = (0..200)
        .filter_map(|_| {
            let mut caller = UnixStream::connect(daemon.directory.join("status.sock")).ok()?;
            let _ = caller.write_all(b"GET /sta");
            Some(caller)
        })
        .collect();
    let start = Instant::now();
    let mut caller = connect(metrics);
    caller.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sent");
    let mut told = String::new();
    caller.read_to_string(&mut told).expect("an answer");
    assert!(told.contains("fathomd_clients"), "{told}");
    assert_eq!(status(&daemon)["phase"], "serving");
    assert_eq!(Client::open(&daemon, "disk").read(0, 512), [0; 512]);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(descriptors(&daemon) <= before + 64, "{} descriptors", descriptors(&daemon));
    drop((half, half_status));
}

#[test]
fn as_many_descriptors_as_the_host_allows_are_asked_for() {
    let directory = directory();
    let program = format!(
        "ulimit -S -n 256; exec {} {}",
        env!("CARGO_BIN_EXE_fathomd"),
        directory.join("fathomd.toml").display()
    );
    fs::write(directory.join("fathomd.toml"), format!("{}{MEMORY}", sockets(&directory))).expect("writable");
    let mut child = std::process::Command::new("sh")
        .args(["-c", &program])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a shell");
    let limits = Path::new("/proc").join(child.id().to_string()).join("limits");
    let socket = directory.join("status.sock");
    until("it listens", || UnixStream::connect(&socket).is_ok());
    let told = fs::read_to_string(limits).expect("it runs");
    let line = told.lines().find(|line| line.starts_with("Max open files")).expect("a line for it");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3], words[4], "soft and hard limit: {line}");
    child.kill().expect("it runs");
    child.wait().expect("it was ours");
    fs::remove_dir_all(directory).expect("it was ours");
}

#[test]
fn clients_leave_descriptors_for_the_status_and_are_turned_away() {
    let directory = directory();
    let settings = directory.join("fathomd.toml");
    fs::write(&settings, format!("{}{MEMORY}", sockets(&directory))).expect("writable");
    let log = fs::File::create(directory.join("log")).expect("writable");
    let line =
        format!("ulimit -n 24; exec {} {} --log json", env!("CARGO_BIN_EXE_fathomd"), settings.display());
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &line]).stderr(log);
    let mut daemon = Daemon::of(&directory, limited);
    let mut clients = Vec::new();
    loop {
        let mut client = UnixStream::connect(daemon.socket()).expect("it listens");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        match client.read(&mut [0; 18]) {
            Ok(18) => clients.push(client),
            // The end, at once.
            Ok(0) => break,
            other => panic!("client {}: {other:?}", clients.len()),
        }
        assert!(clients.len() < 24, "each has a descriptor");
    }
    let told = status(&daemon);
    assert_eq!(told["clients"].as_array().map(Vec::len), Some(clients.len()));
    assert_eq!(told["clients_refused"], 1);
    until("the log tells", || daemon.log().contains("hardly any descriptors left"));
    drop(clients.pop());
    until("there is room for another", || {
        status(&daemon)["clients"].as_array().map(Vec::len) < Some(clients.len() + 1)
    });
    assert_eq!(Client::open(&daemon, "disk").read(0, 512), [0; 512]);
    drop(clients);
    assert!(daemon.stop().success(), "{}", daemon.log());
}
