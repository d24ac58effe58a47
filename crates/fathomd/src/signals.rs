//! Signals as bytes of a descriptor, so that only the executor receives them.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use fathom_runtime::Ring;
use fathom_wire::Port;

/// What the operator asks by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    /// SIGTERM or SIGINT: drain and stop.
    Stop,
    /// SIGHUP: read the settings again.
    Reload,
}

/// A write beyond the limit of file sizes (`ulimit -f`) is answered with EFBIG; the signal would end the daemon.
pub fn ignore_limits() {
    // SAFETY: sets a disposition and touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The signals the daemon listens to.
pub struct Signals(Port);

impl Signals {
    /// Blocks the signals' usual effects and listens to them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(ring: &Ring) -> io::Result<Self> {
        // SAFETY: `set` is initialised by sigemptyset before it is used, and lives for all calls.
        let descriptor = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        Port::new(unsafe { OwnedFd::from_raw_fd(descriptor) }, ring).map(Self)
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn next(&self) -> io::Result<SignalRequest> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        self.0.read(&mut record).await?;
        // The signal's number is the first field.
        let number = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
        Ok(if number == libc::SIGHUP as u32 { SignalRequest::Reload } else { SignalRequest::Stop })
    }
}
