//! Volumes of another fathomd: through TLS, and as the leg of a mirror that loses its server and gets it back.

#![allow(
    clippy::disallowed_methods,
    reason = "a network that breaks is a thread of its own, by the real clock"
)]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use common::certificates::certificates;
use common::check::{check, text};
use common::host::can_mount;
use common::{
    Client, Daemon, FLUSH, MEMORY, WRITE, directory, files, program, sockets, status, success, until,
};

const BLOCK: usize = 8192;
const SIZE: usize = 32 << 20;
/// Writes sent before the first answer is looked at.
const BATCH: u64 = 16;

/// What a host has written, and its bytes.
struct Writer {
    client: Client,
    bytes: Vec<u8>,
    next: u64,
}

impl Writer {
    fn new(client: Client) -> Self {
        Self { client, bytes: vec![0; SIZE - (1 << 20)], next: 1 }
    }

    /// Sends writes all over the volume and hears their answers; `between` comes before the answers.
    fn batch(&mut self, between: impl FnOnce()) {
        let blocks = (self.bytes.len() / BLOCK) as u64;
        for _ in 0..BATCH {
            let number = self.next;
            self.next += 1;
            let at = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % blocks * BLOCK as u64;
            let payload: Vec<u8> = number.to_le_bytes().into_iter().cycle().take(BLOCK).collect();
            self.bytes[at as usize..at as usize + BLOCK].copy_from_slice(&payload);
            self.client.request(WRITE, number, at, BLOCK as u32, &payload);
        }
        between();
        for _ in 0..BATCH {
            assert_eq!(self.client.answer().0, 0, "no write fails");
        }
    }

    fn flush(&mut self) {
        self.client.request(FLUSH, 0, 0, 0, &[]);
        assert_eq!(self.client.answer(), (0, 0));
    }

    /// Every byte is on the legs in these folders.
    fn is_held_by(&self, folders: [&Path; 2]) {
        for folder in folders {
            let held = fs::read(folder.join("disk")).expect("the leg is there");
            let differs = held.iter().zip(&self.bytes).position(|(held, written)| held != written);
            assert_eq!(differs, None, "{}: the first byte that differs", folder.display());
        }
    }
}

/// The standing of each leg, as the status tells it.
fn legs(daemon: &Daemon) -> Vec<String> {
    let legs = status(daemon)["mirrors"][0]["legs"].as_array().cloned().unwrap_or_default();
    legs.iter().map(|leg| leg["state"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_mirror_outlives_the_server_of_a_leg_and_rebuilds_it() {
    let (there, here) = (directory(), directory());
    let served = format!(
        "{}[volumes.disk]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n[exports.leg]\nvolume = \"disk\"\n",
        sockets(&there)
    );
    let mut server = Daemon::make_in(&there, &served);
    let settings = format!(
        "{}[volumes.near]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n\
         [volumes.far]\nkind = \"nbd\"\nuri = \"{}\"\nsize = \"32MiB\"\nlogical_sector = \"4KiB\"\nreconnect = \"50ms\"\n\
         [volumes.data]\nkind = \"mirror\"\nlegs = [\"near\", \"far\"]\ninitial = \"blank\"\nretry = \"100ms\"\n\
         [exports.data]\nvolume = \"data\"\n",
        sockets(&here),
        server.uri("leg"),
    );
    let mut daemon = Daemon::make_in(&here, &settings);
    assert_eq!(legs(&daemon), ["in-sync", "in-sync"]);
    let mut writer = Writer::new(Client::open(&daemon, "data"));
    for round in 0..3 {
        for _ in 0..4 {
            writer.batch(|| {});
        }
        writer.flush();
        // Answered writes that nothing has flushed, and others on their way.
        writer.batch(|| {});
        writer.batch(|| server.kill());
        writer.flush();
        until("the leg is gone", || legs(&daemon) == ["in-sync", "away"]);
        for _ in 0..4 {
            writer.batch(|| {});
        }
        let again = Daemon::start_in(&there, &served);
        std::mem::forget(std::mem::replace(&mut server, again));
        until("the leg is rebuilt", || {
            writer.batch(|| {});
            legs(&daemon) == ["in-sync", "in-sync"]
        });
        writer.flush();
        if round == 1 {
            // A planned stop and start of the mirror itself.
            assert!(daemon.stop().success(), "{}", daemon.log());
            daemon.again(&settings);
            writer.client = Client::open(&daemon, "data");
        }
    }
    assert!(daemon.stop().success(), "{}", daemon.log());
    assert!(server.stop().success(), "{}", server.log());
    writer.is_held_by([&here, &there]);
}

#[test]
fn a_file_whose_flush_failed_comes_back_into_its_mirror_without_a_restart() {
    if !can_mount() {
        return;
    }
    // A file on a disk that fails three flushes, one after the other: the first drops the leg, the others end rebuilds.
    let (there, here) = (directory(), directory());
    let served = format!(
        "{}{}[volumes.disk]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n\
         [volumes.flaky]\nkind = \"fault\"\nbacking = \"disk\"\n\
         rules = [{{ fault = \"error\", kinds = [\"flush\"], after = 60, times = 3 }}]\n\
         [exports.leg]\nvolume = \"flaky\"\n",
        sockets(&there),
        files(&there),
    );
    let mut server = Daemon::make_in(&there, &served);
    let settings = format!(
        "{}[volumes.near]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n\
         [volumes.far]\nkind = \"file\"\npath = \"{}\"\n\
         [volumes.data]\nkind = \"mirror\"\nlegs = [\"far\", \"near\"]\ninitial = \"blank\"\nretry = \"50ms\"\n\
         [exports.data]\nvolume = \"data\"\n",
        sockets(&here),
        server.mount().join("leg").display(),
    );
    let mut daemon = Daemon::make_in(&here, &settings);
    let rebuilt = || status(&daemon)["mirrors"][0]["legs_rebuilt"].as_u64();
    let failed = || {
        let volumes = status(&server)["volumes"].as_array().cloned().unwrap_or_default();
        let flaky = volumes.iter().find(|volume| volume["name"] == "flaky").expect("it is served");
        flaky["counters"]["errors"].as_u64()
    };
    assert_eq!(legs(&daemon), ["in-sync", "in-sync"], "{}", daemon.log());
    let mut writer = Writer::new(Client::open(&daemon, "data"));
    until("the disk has failed three times, and the leg is rebuilt", || {
        writer.batch(|| {});
        writer.flush();
        failed() == Some(3) && rebuilt() >= Some(1) && legs(&daemon) == ["in-sync", "in-sync"]
    });
    writer.batch(|| {});
    writer.flush();
    assert!(daemon.stop().success(), "{}", daemon.log());
    assert!(server.stop().success(), "{}", server.log());
    writer.is_held_by([&here, &there]);
}

#[test]
fn a_volume_that_starts_while_its_server_is_away_says_so_and_serves_when_it_is_there() {
    let (there, here) = (directory(), directory());
    let served = format!("{}{MEMORY}", sockets(&there));
    let settings = format!(
        "{}[volumes.far]\nkind = \"nbd\"\nuri = \"nbd+unix:///disk?socket={}\"\nsize = \"16MiB\"\n\
         logical_sector = \"4KiB\"\nreconnect = \"0s\"\n[exports.disk]\nvolume = \"far\"\n",
        sockets(&here),
        there.join("nbd.sock").display(),
    );
    fs::write(here.join("fathomd.toml"), &settings).expect("writable");
    let found = check(&here.join("fathomd.toml"), &[]);
    let told = text(&found);
    assert!(found.status.code() == Some(3) && told.contains("nbd `far`: not looked at"), "{told}");
    assert!(told.contains("bring the server of `far` back"), "{told}");
    let mut daemon = Daemon::start_in(&here, &settings);
    until("the log tells it", || daemon.log().contains("the server of a volume is away"));
    let mut server = Daemon::start_in(&there, &served);
    until("the server is reached", || daemon.log().contains("the server of a volume is back"));
    let mut client = Client::open(&daemon, "disk");
    client.request(WRITE, 1, 0, BLOCK as u32, &[7; BLOCK]);
    assert_eq!(client.answer().0, 0);
    assert!(daemon.stop().success(), "{}", daemon.log());
    let found = check(&here.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    assert!(server.stop().success(), "{}", server.log());
}

#[test]
fn a_mirror_starts_and_stops_without_a_leg_that_was_left_behind() {
    let (there, here) = (directory(), directory());
    let served = format!(
        "{}[volumes.disk]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n[exports.leg]\nvolume = \"disk\"\n",
        sockets(&there)
    );
    let mut server = Daemon::make_in(&there, &served);
    let settings = format!(
        "{}[volumes.near]\nkind = \"file\"\npath = \"disk\"\nsize = \"32MiB\"\n\
         [volumes.far]\nkind = \"nbd\"\nuri = \"{}\"\nsize = \"32MiB\"\nlogical_sector = \"4KiB\"\nreconnect = \"0s\"\n\
         [volumes.data]\nkind = \"mirror\"\nlegs = [\"near\", \"far\"]\ninitial = \"blank\"\nretry = \"100ms\"\n\
         [exports.data]\nvolume = \"data\"\n",
        sockets(&here),
        server.uri("leg"),
    );
    let mut daemon = Daemon::make_in(&here, &settings);
    server.kill();
    let mut writer = Writer::new(Client::open(&daemon, "data"));
    writer.batch(|| {});
    writer.flush();
    until("the leg is gone", || legs(&daemon) == ["in-sync", "away"]);
    assert!(daemon.stop().success(), "what a leg that was left behind lacks is no loss: {}", daemon.log());
    daemon.again(&settings);
    assert_eq!(legs(&daemon), ["in-sync", "away"]);
    // Nor does it need one that is back with less than it must hold.
    assert!(daemon.stop().success(), "{}", daemon.log());
    let disk = File::options().write(true).open(there.join("disk")).expect("it was made");
    disk.set_len(8 << 20).expect("writable");
    let short = served.replace("32MiB", "8MiB");
    server.again(&short);
    let found = check(&here.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    daemon.again(&settings);
    assert_eq!(legs(&daemon), ["in-sync", "away"]);
    server.kill();
    disk.set_len(32 << 20).expect("writable");
    server.again(&served);
    until("the leg is rebuilt", || legs(&daemon) == ["in-sync", "in-sync"]);
}

/// An address where nobody listens.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port")
}

/// A way to a server that passes nothing on while it is cut, and loses nothing.
fn way_to(server: SocketAddr) -> (SocketAddr, Arc<AtomicBool>) {
    let door = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, cut) = (door.local_addr().expect("bound"), Arc::new(AtomicBool::new(false)));
    let cuts = Arc::clone(&cut);
    spawn(move || {
        for near in door.incoming().flatten() {
            let Ok(far) = TcpStream::connect(server) else { continue };
            let ends = [&near, &far].map(|end| end.try_clone().expect("descriptors are left"));
            for (mut from, mut to) in [
                (near, ends[1].try_clone().expect("as before")),
                (far, ends[0].try_clone().expect("as before")),
            ] {
                let cut = Arc::clone(&cuts);
                spawn(move || {
                    let mut bytes = [0; 64 << 10];
                    loop {
                        let count = from.read(&mut bytes).unwrap_or(0);
                        while cut.load(Ordering::Relaxed) {
                            sleep(Duration::from_millis(5));
                        }
                        if count == 0 || to.write_all(&bytes[..count]).is_err() {
                            let _ = to.shutdown(Shutdown::Write);
                            return;
                        }
                    }
                });
            }
        }
    });
    (address, cut)
}

#[test]
fn a_short_break_of_the_network_costs_a_wait_and_a_long_one_a_copy_of_what_was_written() {
    let (there, here) = (directory(), directory());
    let address = free();
    let served = format!(
        "{}tcp = \"{address}\"\ntcp_in_the_clear = true\n{MEMORY}[exports.leg]\nvolume = \"disk\"\n",
        sockets(&there)
    );
    let _server = Daemon::start_in(&there, &served);
    let (way, cut) = way_to(address);
    let settings = format!(
        "{}[volumes.near]\nkind = \"memory\"\nsize = \"64MiB\"\n\
         [volumes.far]\nkind = \"nbd\"\nuri = \"nbd://{way}/leg\"\ntimeout = \"4s\"\nreconnect = \"50ms\"\n\
         [volumes.data]\nkind = \"mirror\"\nlegs = [\"near\", \"far\"]\ninitial = \"blank\"\nretry = \"100ms\"\n\
         clean_after = \"200ms\"\n[exports.data]\nvolume = \"data\"\n",
        sockets(&here),
    );
    let daemon = Daemon::start_in(&here, &settings);
    let counts = || {
        let status = status(&daemon);
        ["legs_dropped", "resync_bytes", "bitmap_dirty_bytes"].map(|name| status["mirrors"][0][name].as_u64())
    };
    let mut client = Client::open(&daemon, "data");
    for region in 0..16 {
        client.write(region << 20, &[1; BLOCK]);
    }
    cut.store(true, Ordering::Relaxed);
    let waits = spawn({
        let cut = Arc::clone(&cut);
        move || {
            sleep(Duration::from_secs(1));
            cut.store(false, Ordering::Relaxed);
        }
    });
    client.write(20 << 20, &[2; BLOCK]);
    waits.join().expect("it slept");
    assert_eq!(legs(&daemon), ["in-sync", "in-sync"], "a break of a second");
    until("what was written is flushed", || counts()[2] == Some(0));
    assert_eq!(counts()[..2], [Some(0), Some(0)]);

    cut.store(true, Ordering::Relaxed);
    client.write(30 << 20, &[3; BLOCK]);
    client.write(31 << 20, &[3; BLOCK]);
    assert_eq!(legs(&daemon), ["in-sync", "away"], "a break of more than four seconds");
    cut.store(false, Ordering::Relaxed);
    until("the leg is rebuilt", || legs(&daemon) == ["in-sync", "in-sync"]);
    assert_eq!(counts()[..2], [Some(1), Some(2 << 20)], "the two regions that were written");
}

/// A daemon over a volume of another one; it ends by itself if that is not available.
fn client(of: &Path, uri: &str, tls: &str) -> Daemon {
    let settings = format!(
        "{}[volumes.far]\nkind = \"nbd\"\nuri = \"{uri}\"\n{tls}[exports.disk]\nvolume = \"far\"\n",
        sockets(of)
    );
    Daemon::start_in(of, &settings)
}

#[test]
fn a_volume_comes_through_tls_and_who_is_not_known_is_refused_on_both_sides() {
    let there = directory();
    if certificates(&there).is_none() || program("nbdcopy", &["--version"]).is_none() {
        return;
    }
    let free = free();
    let file = |name: &str| there.join(name).display().to_string();
    let (authority, certificate, key) =
        (file("ca-cert.pem"), file("client-cert.pem"), file("client-key.pem"));
    let settings = format!(
        "{}tcp = \"{free}\"\ntls = {{ certificate = \"{}\", key = \"{}\", client_authority = \"{authority}\" }}\n{MEMORY}",
        sockets(&there),
        file("server-cert.pem"),
        file("server-key.pem"),
    );
    let _server = Daemon::start_in(&there, &settings);
    let uri = format!("nbds://localhost:{}/disk", free.port());
    let own = format!("tls_certificate = \"{certificate}\"\ntls_key = \"{key}\"\n");
    let known = format!("tls_authority = \"{authority}\"\n");

    let daemon = client(&directory(), &uri, &format!("{known}{own}connections = 2\n"));
    let (source, copy) = (there.join("source"), there.join("copy"));
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&source, &bytes).expect("writable");
    success("nbdcopy", &["--flush", &source.display().to_string(), &daemon.uri("disk")]);
    success("nbdcopy", &[&daemon.uri("disk"), &copy.display().to_string()]);
    assert!(fs::read(&copy).expect("it was written") == bytes);

    let strange = directory();
    certificates(&strange);
    let stranger = strange.join("ca-cert.pem");
    let plain = uri.replace("nbds", "nbd");
    for (uri, tls, words) in [
        (&uri, format!("tls_authority = \"{}\"\n{own}", stranger.display()), "invalid peer certificate"),
        (&uri, format!("{known}{own}tls_name = \"db2.example.org\"\n"), "not valid for name"),
        (&uri, known.clone(), "CertificateRequired"),
        (&plain, String::new(), "it wants TLS"),
    ] {
        let mut refused = client(&directory(), uri, &tls);
        assert!(!refused.wait().success());
        assert!(refused.log().contains(words), "{words}: {}", refused.log());
    }
    let _ = fs::remove_dir_all(strange);
}

/// Settings of a stack over the exports of two servers, `a` and `b`, with these keys for each.
fn over(directory: &Path, servers: &[Daemon; 2], keys: &str, stack: &str) -> String {
    let far = |name: &str, server: &Daemon| {
        format!("[volumes.{name}]\nkind = \"nbd\"\nuri = \"{}\"\n{keys}", server.uri("disk"))
    };
    let [a, b] = servers;
    let exported = "[exports.disk]\nvolume = \"disk\"\n";
    format!("{}{}{}{stack}{exported}", sockets(directory), far("a", a), far("b", b))
}

#[test]
fn nothing_is_created_or_checked_beside_a_daemon_on_volumes_of_other_servers() {
    let stacks = [
        "[volumes.disk]\nkind = \"writeback\"\nbacking = \"a\"\ncache = \"b\"\nsegment = \"1MiB\"\nring_size = \"4MiB\"\n",
        "[volumes.disk]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"\n",
    ];
    for stack in stacks {
        let servers = [Daemon::start(MEMORY), Daemon::start(MEMORY)];
        let directory = directory();
        let settings = over(&directory, &servers, "", stack);
        let mut daemon = Daemon::make_in(&directory, &settings);
        let mut client = Client::open(&daemon, "disk");
        let file = directory.join("fathomd.toml");
        client.request(WRITE, 1, 0, 4096, &[7; 4096]);
        assert_eq!(client.answer(), (0, 1));
        let path = file.display().to_string();
        let created = program(env!("CARGO_BIN_EXE_fathomd"), &["--create", &path]).expect("it was built");
        let said = String::from_utf8_lossy(&created.stderr).into_owned();
        assert_eq!(created.status.code(), Some(1), "{said}");
        assert!(said.contains("another fathomd serves") && said.contains("stop it first"), "{said}");
        let checked = check(&file, &[]);
        assert_eq!(checked.status.code(), Some(3), "{}", text(&checked));
        assert!(text(&checked).contains("another program of this machine uses"), "{}", text(&checked));
        // A second daemon is told the same, and no damage.
        let second = program(env!("CARGO_BIN_EXE_fathomd"), &[&path]).expect("it was built");
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(said.contains("another fathomd serves"), "{said}");
        // And so is a creation for another socket.
        let elsewhere = directory.join("elsewhere");
        fs::create_dir(&elsewhere).expect("writable");
        let aside = directory.join("aside.toml");
        fs::write(&aside, settings.replace(&sockets(&directory), &sockets(&elsewhere))).expect("writable");
        let aside = aside.display().to_string();
        let third = program(env!("CARGO_BIN_EXE_fathomd"), &["--create", &aside]).expect("it was built");
        let said = String::from_utf8_lossy(&third.stderr).into_owned();
        assert_eq!(third.status.code(), Some(1), "{said}");
        assert!(said.contains("another program of this machine uses this export"), "{said}");
        client.write(0, &[9; 4096]);
        client.request(FLUSH, 3, 0, 0, &[]);
        assert_eq!(client.answer(), (0, 3));
        daemon.kill();
        let after = Daemon::start_in(&directory, &settings);
        assert_eq!(Client::open(&after, "disk").read(0, 4096), [9; 4096]);
    }
}

#[test]
fn a_check_of_a_cache_or_a_pool_whose_server_is_away_could_not_look_and_says_whose() {
    let stacks = [
        "[volumes.disk]\nkind = \"writeback\"\nbacking = \"a\"\ncache = \"b\"\nsegment = \"1MiB\"\nring_size = \"4MiB\"\n",
        "[volumes.disk]\nkind = \"pool\"\nmembers = [\"a\", \"b\"]\nsize = \"32MiB\"\nextent = \"64KiB\"\n",
    ];
    for stack in stacks {
        let mut servers = [Daemon::start(MEMORY), Daemon::start(MEMORY)];
        let directory = directory();
        let settings = over(&directory, &servers, "size = \"64MiB\"\nlogical_sector = 512\n", stack);
        let mut daemon = Daemon::make_in(&directory, &settings);
        let mut client = Client::open(&daemon, "disk");
        client.write(0, &[7; 4096]);
        drop(client);
        daemon.kill();
        servers[1].kill();
        let file = directory.join("fathomd.toml");
        let checked = check(&file, &[]);
        assert_eq!(checked.status.code(), Some(3), "{}", text(&checked));
        assert!(text(&checked).contains("bring the server of `b` back"), "{}", text(&checked));
        let path = file.display().to_string();
        let refused = program(env!("CARGO_BIN_EXE_fathomd"), &[&path]).expect("it was built");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("nbd `b`") && !said.contains("ddrescue"), "{said}");
    }
}
