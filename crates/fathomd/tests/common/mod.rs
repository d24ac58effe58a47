//! A real daemon with its settings in a directory of its own, and a client of raw bytes.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

pub mod certificates;
pub mod check;
pub mod host;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A daemon, killed when dropped.
pub struct Daemon {
    pub directory: PathBuf,
    child: Option<Child>,
}

/// A fresh directory for a test.
pub fn directory() -> PathBuf {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("fathomd-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("the temporary directory is writable");
    path
}

/// `[daemon]` with sockets in the directory.
pub fn sockets(directory: &Path) -> String {
    let at = |name: &str| directory.join(name).display().to_string();
    format!("[daemon]\nsocket = \"{}\"\nstatus = \"{}\"\n", at("nbd.sock"), at("status.sock"))
}

/// `[fuse]` with a mount in the directory.
pub fn files(directory: &Path) -> String {
    format!("[fuse]\nmount = \"{}\"\n", directory.join("files").display())
}

/// One memory volume, exported as `disk`.
pub const MEMORY: &str =
    "[volumes.disk]\nkind = \"memory\"\nsize = \"64MiB\"\n[exports.disk]\nvolume = \"disk\"\n";

impl Daemon {
    /// Starts a daemon with these settings behind `[daemon]` and waits until it serves, or has refused.
    pub fn start(settings: &str) -> Self {
        let directory = directory();
        Self::start_in(&directory, &format!("{}{settings}", sockets(&directory)))
    }

    /// Has the volumes of these settings made, and starts a daemon with them.
    pub fn make_in(directory: &Path, settings: &str) -> Self {
        let file = directory.join("fathomd.toml");
        fs::write(&file, settings).expect("the directory is writable");
        success(env!("CARGO_BIN_EXE_fathomd"), &["--create", &file.display().to_string()]);
        Self::start_in(directory, settings)
    }

    /// Starts a daemon with exactly these settings.
    pub fn start_in(directory: &Path, settings: &str) -> Self {
        let file = directory.join("fathomd.toml");
        fs::write(&file, settings).expect("the directory is writable");
        let log = fs::File::create(directory.join("log")).expect("the directory is writable");
        let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
        program.arg(&file).args(["--log", "json", "--log-level", "debug"]).stderr(log);
        Self::of(directory, program)
    }

    /// Starts the next life in the folder of the last one.
    pub fn again(&mut self, settings: &str) {
        let next = Self::start_in(&self.directory, settings);
        // Dropped, it would take the folder with it.
        std::mem::forget(std::mem::replace(self, next));
    }

    /// Starts this program, whose settings and log are in the directory.
    pub fn of(directory: &Path, mut program: Command) -> Self {
        let child = program.spawn().expect("the daemon was built");
        let mut daemon = Self { directory: directory.to_owned(), child: Some(child) };
        // Its own word: a socket is also there before all is mounted, and where a killed daemon left one.
        until("the daemon serves", || {
            let ended =
                daemon.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|end| end.is_some()));
            ended || daemon.log().contains("\"serving\"")
        });
        daemon
    }

    /// One that was started otherwise.
    pub fn running_in(directory: &Path, child: Child) -> Self {
        Self { directory: directory.to_owned(), child: Some(child) }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join("nbd.sock")
    }

    /// Where [`files`] has the exports mounted.
    pub fn mount(&self) -> PathBuf {
        self.directory.join("files")
    }

    pub fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket().display())
    }

    /// What it has written of its log, which a thread of its own writes: a line may be there a moment after what it tells of.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill is there").success());
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("it was ours");
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("-TERM");
        self.wait()
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it runs");
        let mut status = None;
        until("the daemon ends", || {
            status = child.try_wait().expect("it is ours");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// The reply to a request on the status socket: status line and body.
    pub fn ask(&self, method: &str, path: &str) -> (String, String) {
        let mut socket = UnixStream::connect(self.directory.join("status.sock")).expect("it listens");
        socket
            .write_all(format!("{method} {path} HTTP/1.1\r\nHost: fathomd\r\n\r\n").as_bytes())
            .expect("sent");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("a reply in UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        // What a killed daemon leaves; nothing is there otherwise.
        let left = self.mount();
        if fs::read_to_string("/proc/self/mountinfo")
            .is_ok_and(|listed| listed.contains(&*left.to_string_lossy()))
        {
            let _ = Command::new("umount").arg("-l").arg(left).status();
        }
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// How long anything may take: a machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something, as long as patience lasts.
pub fn until(what: &str, mut true_now: impl FnMut() -> bool) {
    let start = Instant::now();
    while !true_now() {
        assert!(start.elapsed() < PATIENCE, "{what} within {PATIENCE:?}");
        sleep(Duration::from_millis(5));
    }
}

/// Runs a program of the system; None, with a note, where it is not installed.
pub fn program(name: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(name).args(arguments).stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: {name}: {error}");
            None
        }
    }
}

/// As [`program`]; it must succeed. Its output.
pub fn success(name: &str, arguments: &[&str]) -> Option<String> {
    let output = program(name, arguments)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name} {arguments:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Some(text(&output.stdout))
}

/// CPU time a process has taken.
pub fn cpu_time(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // utime and stime in ticks of 10 ms, the 14th and 15th field of all.
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(10 * ticks)
}

/// What the status socket tells.
pub fn status(daemon: &Daemon) -> serde_json::Value {
    serde_json::from_str(&daemon.ask("GET", "/status").1).expect("JSON")
}

/// A client of raw bytes, simple replies.
pub struct Client(pub UnixStream);

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

impl Client {
    /// Connects and opens an export by the oldest option there is.
    pub fn open(daemon: &Daemon, export: &str) -> Self {
        let mut client = Self(UnixStream::connect(daemon.socket()).expect("it listens"));
        client.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        client.receive(18);
        client.send(&3_u32.to_be_bytes());
        client.send(&0x4948_4156_454F_5054_u64.to_be_bytes());
        client.send(&1_u32.to_be_bytes());
        client.send(&(export.len() as u32).to_be_bytes());
        client.send(export.as_bytes());
        client.receive(10);
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the daemon listens");
    }

    pub fn receive(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).expect("the daemon answers");
        bytes
    }

    /// Whether the daemon has closed the connection; the kernel calls it a reset if something sent was left unread.
    pub fn is_closed(&mut self) -> bool {
        let read = self.0.read(&mut [0; 1]);
        matches!(&read, Ok(0)) || read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    }

    pub fn request(&mut self, kind: u16, cookie: u64, offset: u64, length: u32, payload: &[u8]) {
        let bytes = [request(kind, cookie, offset, length).as_slice(), payload].concat();
        self.send(&bytes);
    }

    /// The error number and cookie of the next answer.
    pub fn answer(&mut self) -> (u32, u64) {
        let bytes = self.receive(16);
        assert_eq!(bytes[..4], 0x6744_6698_u32.to_be_bytes());
        let errno = u32::from_be_bytes(bytes[4..8].try_into().expect("four"));
        (errno, u64::from_be_bytes(bytes[8..].try_into().expect("eight")))
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        self.request(READ, 1, offset, length, &[]);
        assert_eq!(self.answer(), (0, 1));
        self.receive(length as usize)
    }

    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.request(WRITE, 2, offset, bytes.len() as u32, bytes);
        assert_eq!(self.answer(), (0, 2));
    }
}

pub fn request(kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(0_u16.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}
