//! Workloads: streams of requests, and what running one yields.

pub mod draw;
pub mod outcome;

pub use outcome::{Failure, NodeTotal, Outcome, Progress, Reason, Sample};
