//! Signals as bytes of a descriptor, so that only the executor receives them. Until it runs, a thread does.

use std::fs::File;
use std::io::{self, Read, pipe};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::JoinHandle;

use fathom_runtime::Ring;
use fathom_wire::Port;

use crate::log::exit;

/// What the operator asks by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    /// SIGTERM, SIGINT or SIGQUIT: drain and stop.
    Stop,
    /// SIGHUP: read the settings again.
    Reload,
    /// A signal, by its number, that asks for nothing.
    Nothing(i32),
}

impl SignalRequest {
    fn of(number: i32) -> Self {
        match number {
            libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => Self::Stop,
            libc::SIGHUP => Self::Reload,
            other => Self::Nothing(other),
        }
    }

    /// Tells of one that changes nothing; whether it is one.
    pub fn is_told(self) -> bool {
        match self {
            Self::Stop => return false,
            Self::Reload => {
                tracing::warn!("SIGHUP: settings are read at the start only; restart to apply changes");
            }
            Self::Nothing(signal) => tracing::warn!(signal, "a signal that asks for nothing"),
        }
        true
    }
}

/// A write beyond the limit of file sizes (`ulimit -f`) is answered with EFBIG; the signal would end the daemon.
pub fn ignore_limits() {
    // SAFETY: sets a disposition and touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The signals that the daemon receives: those that ask for something, and those whose usual effect would be its end.
fn received() -> libc::sigset_t {
    let named = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGHUP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGIO,
        libc::SIGPWR,
        // The limit of processor time (`LimitCPU=`): its hard limit kills, and a kill is what the volumes survive.
        libc::SIGXCPU,
        libc::SIGSTKFLT,
    ];
    // SAFETY: `set` is initialised by sigemptyset before it is used, and lives for all calls.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in named.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Has signals wait for somebody to receive them. To be called before there is another thread.
pub fn block() {
    mask(libc::SIG_BLOCK);
}

/// Gives signals their usual effects: what is no daemon ends by them.
pub fn unblock() {
    mask(libc::SIG_UNBLOCK);
}

fn mask(how: i32) {
    let set = received();
    // SAFETY: the set lives for the call, which fails for an unknown `how` only.
    unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
}

/// Signals while the daemon starts: one that asks it to stop ends it, for nothing is served yet.
pub struct EarlySignals {
    descriptor: OwnedFd,
    /// Closed when the executor takes over.
    starting: io::PipeWriter,
    thread: JoinHandle<()>,
}

impl EarlySignals {
    /// Receives signals, which must be [blocked](block).
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin() -> io::Result<Self> {
        let set = received();
        // SAFETY: the set lives for the call.
        let descriptor =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let (over, starting) = pipe()?;
        let signals = File::from(descriptor.try_clone()?);
        let run = move || receive_until_closed(signals, &over);
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(run)?;
        Ok(Self { descriptor, starting, thread })
    }

    /// Leaves them to the executor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hand_over(self, ring: &Ring) -> io::Result<Signals> {
        drop(self.starting);
        // It has no end but this.
        let _ = self.thread.join();
        Port::new(self.descriptor, ring).map(Signals)
    }
}

fn receive_until_closed(mut signals: File, over: &io::PipeReader) {
    let watch = |descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    loop {
        let mut both = [watch(signals.as_raw_fd()), watch(over.as_raw_fd())];
        // SAFETY: the two entries live for the call.
        unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
        let mut record = [0; RECORD];
        while signals.read(&mut record).is_ok_and(|length| length == RECORD) {
            if !request(&record).is_told() {
                tracing::info!("stopped before anything was served");
                exit(0);
            }
        }
        if both[1].revents != 0 {
            return;
        }
    }
}

/// Bytes that tell of one signal.
const RECORD: usize = size_of::<libc::signalfd_siginfo>();

/// The signal's number is the first field.
fn request(record: &[u8; RECORD]) -> SignalRequest {
    SignalRequest::of(i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))
}

/// The signals the daemon listens to.
pub struct Signals(Port);

impl Signals {
    /// Waits for the next signal.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn next(&self) -> io::Result<SignalRequest> {
        let mut record = [0; RECORD];
        self.0.read(&mut record).await?;
        Ok(request(&record))
    }
}
