//! The shipped daemon as a child: started, waited for, asked, killed.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::{self, WallClock};
use crate::disk::Power;
use crate::disk::power::{GONE, STARTING};

/// How long a start or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

/// How a start ended.
#[derive(Debug)]
pub enum Start {
    /// It serves.
    Serving(Daemon),
    /// It ended by itself: what it said.
    Refused(String),
    /// The planned end came before it served.
    Killed,
}

/// How a planned stop ended.
#[derive(Debug)]
pub enum Stopped {
    /// Everything that was answered is durable.
    Durable,
    /// It says that not everything is: its log.
    NotDurable(String),
    /// The planned end came first.
    Killed,
}

/// Why the daemon does not answer.
#[derive(Debug)]
pub enum Ended {
    /// It was killed, as planned.
    Planned,
    /// It was not.
    Wrong(String),
}

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    power: Arc<Power>,
    folder: PathBuf,
}

/// Starts daemons in one folder.
#[derive(Debug)]
pub struct Starter {
    program: PathBuf,
    folder: PathBuf,
    power: Arc<Power>,
    notify: UnixDatagram,
}

impl Starter {
    pub fn new(program: &Path, folder: &Path, power: &Arc<Power>) -> std::io::Result<Self> {
        let at = folder.join("notify");
        let _ = std::fs::remove_file(&at);
        let notify = UnixDatagram::bind(at)?;
        notify.set_nonblocking(true)?;
        Ok(Self { program: program.to_owned(), folder: folder.to_owned(), power: power.clone(), notify })
    }

    /// Starts one with these settings, on this wall clock, and waits until it serves or has ended.
    pub fn start(&self, settings: &str, clock: Option<&WallClock>) -> Result<Start, String> {
        let mut word = [0; 4096];
        while self.notify.recv(&mut word).is_ok() {}
        let file = self.folder.join("fathomd.toml");
        let log = self.folder.join("log");
        let said = |error: std::io::Error| error.to_string();
        std::fs::write(&file, settings).map_err(said)?;
        self.power.daemon(STARTING);
        let mut program = Command::new(&self.program);
        program
            .arg(&file)
            .args(["--log", "json"])
            .env("NOTIFY_SOCKET", self.folder.join("notify"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).map_err(said)?);
        if let Some(clock) = clock {
            clock.give(&mut program);
        }
        let child = program.spawn().map_err(|error| {
            // An end need not wait for its process number.
            self.power.daemon(GONE);
            said(error)
        })?;
        self.power.daemon(child.id() as i32);
        let mut daemon = Daemon { child, power: self.power.clone(), folder: self.folder.clone() };
        // SAFETY: a number in, a descriptor or an error out.
        let ended = unsafe { libc::syscall(libc::SYS_pidfd_open, daemon.child.id(), 0) };
        if ended < 0 {
            return Err(format!("pidfd_open: {}", std::io::Error::last_os_error()));
        }
        // SAFETY: just opened, and nobody else's.
        let ended = unsafe { OwnedFd::from_raw_fd(ended as i32) };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut both = [wait(self.notify.as_raw_fd()), wait(ended.as_raw_fd())];
            // SAFETY: two descriptors that are open, in an array of this frame.
            unsafe { libc::poll(both.as_mut_ptr(), 2, 1000) };
            while let Ok(got) = self.notify.recv(&mut word) {
                if word[..got].starts_with(b"READY=1") {
                    return Ok(Start::Serving(daemon));
                }
            }
            if both[1].revents != 0 {
                let status = daemon.reap()?;
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                return match status.signal() {
                    None if matches!(status.code(), Some(1 | 2)) => Ok(Start::Refused(last_error(&log))),
                    None => Err(format!("the start ended with {status}: {log}")),
                    Some(libc::SIGKILL) if self.power.has_fired() => Ok(Start::Killed),
                    Some(signal) => Err(format!("the daemon died of signal {signal} at its start: {log}")),
                };
            }
        }
        daemon.kill();
        Err("the daemon neither served nor refused".to_owned())
    }
}

impl Starter {
    /// What `--check --json` says of the settings of the last start.
    pub fn check(&self) -> Result<String, String> {
        let file = self.folder.join("fathomd.toml");
        let mut check = Command::new(&self.program);
        let output =
            check.args(["--check", "--json"]).arg(file).output().map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Daemon {
    /// Where its clients connect.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("nbd.sock")
    }

    fn reap(&mut self) -> Result<ExitStatus, String> {
        self.power.daemon(GONE);
        let status = self.child.wait().map_err(|error| error.to_string())?;
        clock::clean_up(self.child.id());
        Ok(status)
    }

    /// Whether the process has ended. It keeps its number until [`Daemon::reap`], so that an end never kills another process.
    fn has_ended(&self) -> bool {
        let events = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        // SAFETY: zeroes are a siginfo_t.
        let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `told` lives for the call; the child has not been waited for.
        let known = unsafe { libc::waitid(libc::P_PID, self.child.id(), &raw mut told, events) } == 0;
        // SAFETY: filled in by a successful call, and zeroes if the child runs.
        !known || unsafe { told.si_pid() } != 0
    }

    /// Stops the process for as long as `what` takes, so that files copied one after the other show one moment.
    pub fn held<T>(&self, what: impl FnOnce() -> T) -> T {
        let pid = self.child.id();
        // SAFETY: plain numbers; the child has not been waited for.
        unsafe { libc::kill(pid as i32, libc::SIGSTOP) };
        // SAFETY: zeroes are a siginfo_t.
        let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // It is stopped, or has ended; `reap` takes care of an end.
        let events = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `told` lives for the call.
        unsafe { libc::waitid(libc::P_PID, pid, &raw mut told, events) };
        let done = what();
        // SAFETY: as above.
        unsafe { libc::kill(pid as i32, libc::SIGCONT) };
        done
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.reap();
    }

    /// Asks it to stop, and waits.
    pub fn stop(&mut self) -> Result<Stopped, String> {
        // SAFETY: plain numbers; the child has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.has_ended() {
                let status = self.reap()?;
                return match (status.code(), status.signal()) {
                    (Some(0), _) => Ok(Stopped::Durable),
                    // docs/FATHOMD.md has the exit codes.
                    (Some(1 | 4), _) => Ok(Stopped::NotDurable(self.log())),
                    (None, Some(libc::SIGKILL)) if self.power.has_fired() => Ok(Stopped::Killed),
                    _ => Err(format!("a planned stop ended with {status}: {}", self.log())),
                };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        Err("a planned stop did not end".to_owned())
    }

    /// The answer to a request on the status socket.
    fn ask(&self, request: &str) -> Result<String, String> {
        let said = |error: std::io::Error| error.to_string();
        let mut stream = UnixStream::connect(self.folder.join("status.sock")).map_err(said)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(said)?;
        let request = format!("{request} HTTP/1.1\r\nHost: fathomd\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(said)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(said)?;
        Ok(text)
    }

    /// Has everything that was answered put in place.
    pub fn drain(&self) -> Result<(), String> {
        let text = self.ask("POST /drain")?;
        if text.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(text) }
    }

    /// Whether all legs of all mirrors have everything.
    pub fn legs_in_sync(&self) -> Result<bool, String> {
        let text = self.ask("GET /status")?;
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let status: serde_json::Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let mirrors = status["mirrors"].as_array().ok_or("no mirrors in the status")?;
        let whole = |mirror: &serde_json::Value| {
            let legs = mirror["legs"].as_array();
            legs.is_some_and(|legs| legs.iter().all(|leg| leg["state"] == "in-sync"))
                && mirror["resync_left_bytes"] == 0
        };
        Ok(!mirrors.is_empty() && mirrors.iter().all(whole))
    }

    /// What it said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last error of a log in JSON lines, or all of it if there is none.
fn last_error(log: &str) -> String {
    let told = log.lines().rev().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut errors = told.filter(|entry| entry["level"] == "ERROR");
    errors
        .next()
        .and_then(|entry| Some(entry["message"].as_str()?.to_owned()))
        .unwrap_or_else(|| log.to_owned())
}
