//! One small single-threaded executor with two drivers.
//!
//! *virtual*: a heap of timers, integer nanoseconds, ties broken by a seeded order; simulated hours pass in seconds of
//! CPU. *real*: the monotonic clock and one io_uring; one executor per core. Code that runs here gets time, sleep,
//! spawn and randomness only from the [`Context`] it is handed, so the same file runs in both.

mod busy;
mod context;
mod digest;
mod entries;
mod executor;
mod random;
mod ring;
mod sync;
mod timer;

pub use context::{Context, JoinHandle, Sleep};
pub use digest::Digest;
pub use entries::AnyEntry;
pub use executor::{Deadlock, Runtime, monotonic};
pub use random::{Random, seed_from_kernel};
pub use ring::{Make, Op, Ring, RingSetup};
pub use sync::{Permit, Semaphore, Signal, yield_now};

/// A duration or an instant, in nanoseconds; instants count from the start of the executor.
pub type Nanos = u64;

/// One second in nanoseconds.
pub const SECOND: Nanos = 1_000_000_000;
/// One millisecond in nanoseconds.
pub const MILLISECOND: Nanos = 1_000_000;
/// One microsecond in nanoseconds.
pub const MICROSECOND: Nanos = 1_000;
