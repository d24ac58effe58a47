//! Waiting for each other on one thread. Built on `Rc` and `Cell`: with no lock to take, a queue of depth eight costs half of
//! what a thread-safe one does.

mod join;
mod oneshot;
mod queue;
mod semaphore;
mod signal;
mod watermark;

pub use join::{Join, join};
pub use oneshot::Oneshot;
pub use queue::Queue;
pub use semaphore::{Permit, Semaphore};
pub use signal::{Signal, until, yield_now};
pub use watermark::Watermark;
