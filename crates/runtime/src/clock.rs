//! Whose time passes, and the system's clocks.

use crate::Nanos;
#[cfg(feature = "real")]
use crate::SECOND;

/// Whose time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The monotonic clock's.
    Real,
    /// The simulation's.
    Virtual,
}

impl Clock {
    /// The word used in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Virtual => "virtual",
        }
    }
}

/// The monotonic clock, in ns since an arbitrary moment: for code that runs outside of any executor. Code inside one has
/// its context.
#[cfg(feature = "real")]
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// The monotonic clock, in ns since an arbitrary moment: for code that runs outside of any executor.
#[cfg(not(feature = "real"))]
#[allow(clippy::disallowed_methods, reason = "it is the clock itself")]
pub fn monotonic() -> Nanos {
    static BEGIN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGIN.elapsed().as_nanos() as Nanos
}

/// One of the kernel's clocks that every kernel has, in ns.
#[cfg(feature = "real")]
pub(crate) fn read(clock: libc::clockid_t) -> Nanos {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the length of the call.
    let status = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(status, 0, "the clock is always there");
    now.tv_sec as Nanos * SECOND + now.tv_nsec as Nanos
}
