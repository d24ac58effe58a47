//! One small single-threaded executor with two drivers.
//!
//! *virtual*: a wheel of timers, integer nanoseconds, ties broken by a seeded order; simulated hours pass in seconds of
//! CPU. *real*: the monotonic clock and one io_uring; one executor per core. Code that runs here gets time, sleep,
//! spawn and randomness only from the [`Context`] it is handed, so the same file runs in both.
//!
//! Without the feature `real` there is the virtual driver alone, which needs nothing of the system.

#[cfg(all(feature = "real", not(target_os = "linux")))]
compile_error!("the real driver is io_uring's: build with --no-default-features on other systems than Linux");

#[cfg(not(feature = "real"))]
mod absent;
#[cfg(feature = "real")]
mod busy;
mod clock;
mod context;
mod digest;
#[cfg(feature = "real")]
mod entries;
mod executor;
mod inner;
mod random;
#[cfg(feature = "real")]
mod ring;
mod select;
mod setup;
mod station;
mod sync;
mod tasks;
mod timer;

#[cfg(not(feature = "real"))]
pub use absent::Ring;
pub use clock::{Clock, monotonic};
pub use context::{Context, JoinHandle, Sleep};
pub use digest::Digest;
#[cfg(feature = "real")]
pub use entries::AnyEntry;
pub use executor::Runtime;
pub use inner::Deadlock;
pub use random::Random;
#[cfg(feature = "real")]
pub use random::seed_from_kernel;
#[cfg(feature = "real")]
pub use ring::{Make, Op, Ring};
pub use select::{Either, first, within};
pub use setup::RingSetup;
pub use station::{Discipline, Station, Usage};
pub use sync::{Join, Oneshot, Permit, Queue, Semaphore, Signal, Watermark, join, until, yield_now};

/// A duration or an instant, in nanoseconds; instants count from the start of the executor.
pub type Nanos = u64;

/// One second in nanoseconds.
pub const SECOND: Nanos = 1_000_000_000;
/// One millisecond in nanoseconds.
pub const MILLISECOND: Nanos = 1_000_000;
/// One microsecond in nanoseconds.
pub const MICROSECOND: Nanos = 1_000;
