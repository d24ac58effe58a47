//! Against real servers, nbdkit and qemu-nbd: what they can and cannot, and what happens when they are lost.
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs;
use std::future::Future;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fathom_conformance::{Driver, Suite};
use fathom_runtime::{Context, MILLISECOND, RingSetup, Runtime, SECOND, within};
use fathom_volume::{Blueprint, Env, Error, ErrorKind, Handle, Pool, Request, Result};
use tempfile::TempDir;

use super::{Config, Uri};
use crate::testing::{read, starting_programs};

const MIB: u64 = 1 << 20;
/// An odd end: 4 MiB and a sector of 4 KiB.
const SIZE: u64 = 4 * MIB + 4096;

/// A server in a folder of its own, killed when dropped.
struct Server {
    folder: TempDir,
    program: &'static str,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl Server {
    /// Starts a server; None, said aloud, where it is not installed. `{}` in the arguments is the folder.
    fn start(program: &'static str, arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let at = folder.path().display().to_string();
        let arguments = arguments.iter().map(|argument| argument.replace("{}", &at)).collect();
        fs::write(folder.path().join("disk"), vec![0; SIZE as usize]).expect("room for a disk");
        let mut server = Self { folder, program, arguments, child: None };
        let starts = starting_programs();
        if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: {program} is not installed");
            return None;
        }
        drop(starts);
        server.restart();
        Some(server)
    }

    fn nbdkit(arguments: &[&str]) -> Option<Self> {
        Self::start("nbdkit", &[&["-f", "-U", "{}/socket"], arguments].concat())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Starts it, again, and waits until it answers.
    fn restart(&mut self) {
        let _ = fs::remove_file(self.socket());
        let started = {
            let _starts = starting_programs();
            Command::new(self.program).args(&self.arguments).stdin(Stdio::null()).spawn()
        };
        self.child = Some(started.expect("it is installed"));
        until("the server listens", || UnixStream::connect(self.socket()).is_ok());
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().expect("it runs").id().to_string();
        let _starts = starting_programs();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill is there").success());
    }

    /// Stops it, and waits until none of its threads runs any more.
    fn pause(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.child.as_ref().expect("it runs").id());
        until("all threads have stopped", || {
            let mut threads = fs::read_dir(&tasks).expect("it runs").flatten();
            threads.all(|thread| {
                let told = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
                told.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
            })
        });
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it was ours");
            child.wait().expect("it was ours");
        }
    }

    fn config(&self) -> Config {
        let uri = Uri::parse(&format!("nbd+unix:///?socket={}", self.socket().display()));
        Config::of_uri(uri.expect("an address"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn until(what: &str, mut true_now: impl FnMut() -> bool) {
    let start = Instant::now();
    while !true_now() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} within 60 s");
        sleep(Duration::from_millis(5));
    }
}

/// A client's side: an executor, and buffers.
struct Host {
    runtime: Runtime,
    env: Env,
}

impl Host {
    fn new() -> Self {
        let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
        let context = runtime.context();
        let pool = Pool::new(&context);
        Self { runtime, env: Env::new(context, pool) }
    }

    fn build(&self, config: &Config) -> Result<Handle> {
        config.build(&self.env, "remote", Vec::new())
    }

    fn open(&self, config: &Config) -> Handle {
        self.build(config).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The output of a future that must end within a minute.
    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let limited = within(&self.env.context, 60 * SECOND, future);
        self.runtime.block_on(limited).expect("the kernel answers").expect("done within 60 s")
    }

    fn context(&self) -> &Context {
        &self.env.context
    }

    fn write(&self, volume: &Handle, offset: u64, byte: u8, fua: bool) -> Result<()> {
        let buf = self.env.pool.copy_of(&[byte; 4096]);
        self.run(volume.write(Request::new(offset, 4096).with_fua(fua), buf))
    }

    fn read(&self, volume: &Handle, offset: u64) -> Result<u8> {
        let buf = self.env.pool.get(4096);
        self.run(volume.read(Request::new(offset, 4096), buf.clone()))?;
        Ok(buf.with(|bytes| {
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "one write");
            bytes[0]
        }))
    }

    fn flush(&self, volume: &Handle) -> Result<()> {
        self.run(volume.flush(Request::flush()))
    }

    /// Lets the executor run until a counter has this value.
    fn wait_for(&self, volume: &Handle, counter: &str, value: u64) {
        let now = || volume.counters().into_iter().find(|(name, _)| *name == counter).map(|(_, value)| value);
        self.run(async {
            while now() != Some(value) {
                self.context().sleep(2 * MILLISECOND).await;
            }
        });
    }
}

fn kind<T>(result: &Result<T>) -> Option<ErrorKind> {
    result.as_ref().err().map(Error::kind)
}

/// The suite in real time: there are no servers in virtual time.
fn conforms(config: &Config) {
    let config = config.clone();
    let suite = Suite::new(move |bench| config.build(&bench.env, "volume", Vec::new())).reopens();
    let violations: Vec<String> = suite.violations(Driver::Real, 1).iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn it_conforms_on_nbdkit() {
    let Some(server) = Server::nbdkit(&["memory", "4198400"]) else { return };
    conforms(&server.config());
}

#[test]
fn it_conforms_over_four_connections() {
    let Some(server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
    let config = Config { connections: 4, depth: 16, ..server.config() };
    conforms(&config);
    let host = Host::new();
    let volume = host.open(&config);
    host.flush(&volume).expect("it is there");
    assert!(volume.facts().contains(&("connections", "4".to_owned())), "{:?}", volume.facts());
}

#[test]
fn it_conforms_on_qemu() {
    let arguments = ["-k", "{}/socket", "-f", "raw", "-t", "-e", "8", "{}/disk"];
    let Some(server) = Server::start("qemu-nbd", &arguments) else { return };
    conforms(&server.config());
}

#[test]
fn it_conforms_where_a_server_can_do_little() {
    let little = ["--no-sr", "--filter=nozero", "--filter=blocksize-policy", "memory", "4198400"];
    let sizes = ["blocksize-minimum=4096", "blocksize-maximum=64K", "blocksize-error-policy=error"];
    let Some(server) = Server::nbdkit(&[&little[..], &sizes[..]].concat()) else { return };
    let host = Host::new();
    let volume = host.open(&server.config());
    assert_eq!((volume.geometry().logical_sector, volume.geometry().size), (4096, SIZE));
    conforms(&server.config());
}

#[test]
fn where_a_server_knows_no_fua_a_flush_follows_and_zeroes_are_written() {
    let script = ["get_size=echo 1048576", "pread=dd if={}/disk bs=1 skip=$4 count=$3 2>/dev/null"];
    let changes = ["pwrite=dd of={}/disk bs=1 seek=$4 conv=notrunc 2>/dev/null", "flush=echo >>{}/flushes"];
    let can =
        ["can_write=exit 0", "can_flush=exit 0", "can_fua=echo none", "can_zero=exit 3", "can_trim=exit 3"];
    let little = [&["--filter=nozero", "eval"], &script[..], &changes[..], &can[..]].concat();
    let Some(server) = Server::nbdkit(&little) else {
        return;
    };
    let host = Host::new();
    let volume = host.open(&server.config());
    host.write(&volume, 4096, 9, false).expect("it writes");
    host.run(volume.trim(Request::new(4096, 4096))).expect("a trim that cannot be is none");
    assert_eq!(host.read(&volume, 4096).expect("it reads"), 9);
    assert!(!volume.trims_to_zeroes());
    assert!(!server.folder.path().join("flushes").exists());
    host.run(volume.write_zeroes(Request::new(4096, 4096).with_fua(true))).expect("it writes");
    assert_eq!(fs::read(server.folder.path().join("flushes")).expect("it was told"), b"\n");
    assert_eq!(host.read(&volume, 4096).expect("it reads"), 0);
}

#[test]
fn a_server_that_is_not_as_wanted_is_told() {
    let Some(server) = Server::nbdkit(&[
        "-r",
        "-e",
        "data",
        "--filter=exportname",
        "memory",
        "1M",
        "exportname=data",
        "exportname-strict=true",
        "exportname-list=explicit",
    ]) else {
        return;
    };
    let host = Host::new();
    let refused = |config: &Config| host.build(config).expect_err("it is refused").to_string();
    let named = |name: &str| Config {
        uri: Uri::parse(&format!("nbd+unix:///{name}?socket={}", server.socket().display()))
            .expect("an address"),
        ..server.config()
    };
    let said = refused(&named("dta"));
    assert!(said.contains("no export \"dta\"") && said.contains("\"data\""), "{said}");
    let said = refused(&named("data"));
    assert!(said.contains("read-only: set read_only = true"), "{said}");
    let checked = named("data").build(&host.env.clone().for_reading(), "checked", Vec::new());
    let said = checked.expect_err("a check says the same").to_string();
    assert!(said.contains("read-only: set read_only = true"), "{said}");
    let reader = Config { read_only: true, ..named("data") };
    let said = refused(&Config { size: Some(2 * MIB), ..reader.clone() });
    assert!(said.contains("holds 1048576 bytes, and 2097152 are needed"), "{said}");
    let volume = host.open(&reader);
    assert_eq!(host.read(&volume, 0).expect("it reads"), 0);
    assert_eq!(kind(&host.write(&volume, 0, 1, false)), Some(ErrorKind::Misuse));
    host.flush(&volume).expect("there is nothing to flush");
    let nobody = Config { uri: Uri::parse("nbd+unix:///?socket=/nowhere").expect("an address"), ..reader };
    let error = host.build(&nobody).expect_err("nobody is there");
    assert_eq!(error.kind(), ErrorKind::Gone);
    assert!(error.to_string().contains("`size` and `logical_sector`"), "{error}");
}

#[test]
fn what_a_server_fails_fails_and_a_failed_flush_fences() {
    let script =
        ["get_size=echo 1048576", "pread=dd if=/dev/zero bs=1 count=$3 2>/dev/null", "can_write=exit 0"];
    let failing = [
        "pwrite=cat >/dev/null; echo ENOSPC full >&2; exit 1",
        "can_flush=exit 0",
        "flush=echo EIO broken >&2; exit 1",
    ];
    let Some(server) = Server::nbdkit(&[&["eval"], &script[..], &failing[..]].concat()) else { return };
    let host = Host::new();
    let volume = host.open(&server.config());
    let error = host.write(&volume, 4096, 1, false).expect_err("no space");
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.to_string().contains("write of 4096 bytes at offset 4096"), "{error}");
    assert_eq!(host.read(&volume, 0).expect("it reads"), 0);
    assert_eq!(kind(&host.flush(&volume)), Some(ErrorKind::Io));
    assert_eq!(kind(&host.flush(&volume)), Some(ErrorKind::Fenced));
    assert_eq!(kind(&host.read(&volume, 0)), Some(ErrorKind::Fenced));
    volume.reopen();
    assert_eq!(host.read(&volume, 0).expect("it reads"), 0);
}

#[test]
fn a_flush_under_way_when_another_fails_is_no_success() {
    // One of them fails after a second, the other one is answered after two.
    let flush = "flush=if mkdir $tmpdir/first 2>/dev/null; then sleep 1; echo EIO broken >&2; exit 1; else sleep 2; fi";
    let script = ["get_size=echo 1048576", "pread=exit 1", "can_write=exit 0", "can_flush=exit 0", flush];
    let Some(server) = Server::nbdkit(&[&["eval"], &script[..]].concat()) else { return };
    let host = Host::new();
    let volume = host.open(&server.config());
    let (one, other) = host.run(async {
        let also = volume.clone();
        let one = host.context().spawn(async move { also.flush(Request::flush()).await });
        let other = volume.flush(Request::flush()).await;
        (one.await, other)
    });
    let mut kinds = [kind(&one), kind(&other)];
    kinds.sort_by_key(|kind| *kind == Some(ErrorKind::Fenced));
    assert_eq!(kinds, [Some(ErrorKind::Io), Some(ErrorKind::Fenced)]);
}

#[test]
fn a_write_with_fua_that_fails_may_have_failed_as_a_flush() {
    let script = [
        "get_size=echo 1048576",
        "pread=dd if=/dev/zero bs=1 count=$3 2>/dev/null",
        "can_write=exit 0",
        "can_flush=exit 0",
        "flush=exit 0",
        "can_fua=echo native",
        "pwrite=cat >/dev/null; if [ $4 = 4096 ]; then echo ENOSPC full >&2; else echo EIO broken >&2; fi; exit 1",
    ];
    let Some(server) = Server::nbdkit(&[&["eval"], &script[..]].concat()) else { return };
    let host = Host::new();
    let volume = host.open(&server.config());
    assert_eq!(kind(&host.write(&volume, 0, 1, false)), Some(ErrorKind::Io));
    host.flush(&volume).expect("a write that was not durable anyhow");
    assert_eq!(kind(&host.write(&volume, 4096, 1, true)), Some(ErrorKind::NoSpace));
    host.flush(&volume).expect("a full disk has not come to its flush");
    assert_eq!(kind(&host.write(&volume, 0, 1, true)), Some(ErrorKind::Io));
    assert_eq!(kind(&host.flush(&volume)), Some(ErrorKind::Fenced));
}

#[test]
fn after_a_restart_no_flush_covers_what_was_answered_before() {
    let Some(mut server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
    let host = Host::new();
    let volume = host.open(&server.config());
    host.write(&volume, 0, 1, false).expect("it is there");
    server.kill();
    server.restart();
    let error = host.flush(&volume).expect_err("the write may be lost");
    assert_eq!(error.kind(), ErrorKind::Fenced);
    assert!(error.to_string().contains("a write that it had answered was not flushed"), "{error}");
    // Reads could show older bytes than before.
    assert_eq!(kind(&host.read(&volume, 0)), Some(ErrorKind::Fenced));
    host.wait_for(&volume, "reconnected", 1);
    assert_eq!(kind(&host.flush(&volume)), Some(ErrorKind::Fenced), "no error and then success");
    volume.reopen();
    host.flush(&volume).expect("it is there");
    assert_eq!(host.read(&volume, 0).expect("it is there"), 1);
}

#[test]
fn requests_wait_for_a_server_that_owes_nothing_and_unanswered_ones_are_sent_again() {
    let Some(mut server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
    let host = Host::new();
    let volume = host.open(&Config { reconnect: 60 * SECOND, ..server.config() });
    host.write(&volume, 0, 1, false).expect("it is there");
    host.flush(&volume).expect("it is there");
    host.write(&volume, 4096, 2, true).expect("it is there");
    // A server that has stopped answers nothing of what it is sent now.
    server.pause();
    let at = |offset: u64| {
        let (volume, buf) = (volume.clone(), host.env.pool.copy_of(&[3; 4096]));
        host.context().spawn(async move { volume.write(Request::new(offset, 4096), buf).await })
    };
    let (buf, reader) = (host.env.pool.get(4096), volume.clone());
    let into = buf.clone();
    let reading = host.context().spawn(async move { reader.read(Request::new(4096, 4096), into).await });
    let writing = [at(8192), at(12288)];
    host.run(host.context().sleep(10 * MILLISECOND));
    server.kill();
    host.wait_for(&volume, "connections_lost", 1);
    server.restart();
    host.run(async {
        reading.await.expect("it is answered");
        for write in writing {
            write.await.expect("it is answered");
        }
    });
    buf.with(|bytes| assert_eq!(bytes, [2; 4096]));
    assert_eq!(host.read(&volume, 12288).expect("it was written"), 3);
    let expected =
        [("connections_lost", 1), ("reconnected", 1), ("sent_again", 3), ("away", 0), ("fenced", 0)];
    assert_eq!(volume.counters(), expected);
}

/// Nothing is unflushed, so that requests would wait for the server and go on: with an older copy, or with an empty disk.
#[test]
fn a_server_that_comes_back_with_something_else_is_not_taken_for_the_one_that_was_lost() {
    for other in [Some(1_u8), None] {
        for reconnect in [60 * SECOND, 20 * MILLISECOND] {
            let Some(mut server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
            let host = Host::new();
            let volume = host.open(&Config { reconnect, ..server.config() });
            let disk = server.folder.path().join("disk");
            for (at, byte) in [(0, 1), (4096, 1), (0, 2)] {
                host.write(&volume, at, byte, false).expect("it is there");
                host.flush(&volume).expect("it is there");
            }
            let mut content = fs::read(&disk).expect("it is there");
            assert_eq!((content[0], content[4096]), (2, 1));
            server.kill();
            host.wait_for(&volume, "connections_lost", 1);
            match other {
                Some(older) => content[..4096].fill(older),
                None => content.fill(0),
            }
            fs::write(&disk, &content).expect("room for a disk");
            server.restart();
            host.wait_for(&volume, "reconnected", 1);
            let error = host.read(&volume, 8192).expect_err("it is another");
            assert_eq!(error.kind(), ErrorKind::Fenced);
            assert!(
                error.to_string().contains("does not hold what was written and flushed at offset"),
                "{error}"
            );
            volume.reopen();
            assert_eq!(host.read(&volume, 0).expect("who knows better"), other.unwrap_or(0));
            // The same content once more is the same.
            host.write(&volume, 0, 3, true).expect("it is there");
            server.kill();
            host.wait_for(&volume, "connections_lost", 2);
            server.restart();
            host.wait_for(&volume, "reconnected", 2);
            assert_eq!(host.read(&volume, 0).expect("it is back"), 3);
        }
    }
}

#[test]
fn who_waits_in_vain_is_told_and_the_server_is_taken_back() {
    let Some(mut server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
    let host = Host::new();
    let volume = host.open(&Config { reconnect: 20 * MILLISECOND, ..server.config() });
    host.write(&volume, 0, 1, true).expect("it is there");
    server.kill();
    let error = host.read(&volume, 0).expect_err("nobody is there");
    assert_eq!(error.kind(), ErrorKind::Gone);
    assert_eq!(kind(&host.flush(&volume)), Some(ErrorKind::Gone));
    server.restart();
    host.wait_for(&volume, "reconnected", 1);
    assert_eq!(host.read(&volume, 0).expect("it is back"), 1);
    host.flush(&volume).expect("it is back");
}

#[test]
fn silence_is_a_loss_and_nothing_is_sent_twice_to_who_may_still_be_busy() {
    let Some(server) = Server::nbdkit(&["memory", "1M"]) else { return };
    let host = Host::new();
    let quick = Config { timeout: 100 * MILLISECOND, reconnect: 100 * MILLISECOND, ..server.config() };
    let (reader, writer) = (host.open(&quick), host.open(&quick));
    server.pause();
    assert_eq!(kind(&host.read(&reader, 0)), Some(ErrorKind::Gone));
    assert_eq!(kind(&host.write(&writer, 0, 1, false)), Some(ErrorKind::Fenced));
    // No second connection while the first may still be served.
    host.run(host.context().sleep(300 * MILLISECOND));
    let reconnected = |volume: &Handle| volume.counters()[1];
    assert_eq!([reconnected(&reader), reconnected(&writer)], [("reconnected", 0); 2]);
    server.signal("-CONT");
    host.wait_for(&reader, "reconnected", 1);
    host.wait_for(&writer, "reconnected", 1);
    host.read(&reader, 0).expect("it is back");
    assert_eq!(kind(&host.read(&writer, 0)), Some(ErrorKind::Fenced));
}

#[test]
fn a_volume_of_known_size_is_built_before_its_server_is_there() {
    let Some(mut server) = Server::nbdkit(&["file", "{}/disk"]) else { return };
    server.kill();
    let host = Host::new();
    let config = Config {
        size: Some(4 * MIB),
        logical_sector: Some(4096),
        reconnect: 20 * MILLISECOND,
        ..server.config()
    };
    let volume = host.open(&config);
    let error = host.read(&volume, 0).expect_err("nobody is there");
    assert_eq!(error.kind(), ErrorKind::Gone);
    assert!(error.to_string().contains("cannot connect"), "{error}");
    server.restart();
    host.wait_for(&volume, "reconnected", 1);
    host.write(&volume, 0, 7, true).expect("it is there");
    assert_eq!((host.read(&volume, 0).expect("it is there"), volume.geometry().size), (7, 4 * MIB));
    // One that came back smaller is not the same.
    fs::File::options()
        .write(true)
        .open(server.folder.path().join("disk"))
        .and_then(|disk| disk.set_len(MIB))
        .expect("it can be cut");
    server.kill();
    server.restart();
    host.run(async {
        loop {
            let buf = host.env.pool.get(4096);
            match volume.read(Request::new(0, 4096), buf).await {
                Err(error) if error.to_string().contains("holds 1048576 bytes") => return,
                _ => host.context().sleep(10 * MILLISECOND).await,
            }
        }
    });
}

#[test]
fn without_payload_and_in_virtual_time_there_are_no_servers() {
    let config = Config::of_uri(Uri::parse("nbd://localhost/").expect("an address"));
    let runtime = Runtime::virtual_time(1);
    let pool = Pool::new(&runtime.context());
    let error = config.build(&Env::new(runtime.context(), pool), "remote", Vec::new()).expect_err("virtual");
    assert!(error.to_string().contains("virtual time"), "{error}");
    let env = Env::new(Host::new().env.context, Pool::hollow());
    let error = config.build(&env, "remote", Vec::new()).expect_err("hollow");
    assert!(error.to_string().contains("without payload"), "{error}");
}

#[test]
fn settings_are_read_and_mistakes_named() {
    let text = "uri = \"nbds://db2/data\"\ntls_authority = \"ca.pem\"\nreconnect = \"2s\"\nlogical_sector = \"4KiB\"";
    let config = read(text, Config::read).expect("sound settings");
    let tls = config.tls.expect("it is encrypted");
    assert_eq!((tls.name.as_str(), tls.identity, config.logical_sector), ("db2", None, Some(4096)));
    for (text, words) in [
        ("uri = \"db2\"", "no address"),
        ("uri = \"nbds://db2\"", "nothing verifies"),
        ("uri = \"nbd://db2\"\ntls_authority = \"ca.pem\"", "not encrypted"),
        ("uri = \"nbds+unix:///?socket=s\"\ntls_authority = \"ca.pem\"", "does not tell the server's name"),
        ("uri = \"nbds://db2\"\ntls_authority = \"ca.pem\"\ntls_key = \"key.pem\"", "goes with its key"),
        ("uri = \"nbd://db2\"\ntimeout = \"0s\"", "no time at all"),
        ("uri = \"nbd://db2\"\nconnections = 17", "at most 16"),
    ] {
        let mistakes = read(text, Config::read).expect_err(text);
        assert!(mistakes.iter().any(|mistake| mistake.contains(words)), "{text}: {mistakes:?}");
    }
}
