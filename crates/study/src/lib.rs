//! A study: a user's text, checked as a whole, and run one variant at a time.
//!
//! docs/STUDY.md gives every key of the format. Checking touches nothing outside of the text; [`run`] is the only call
//! with side effects.

mod check;
mod compare;
mod document;
mod factors;
mod goals;
mod metrics;
mod provision;
mod published;
mod queues;
mod reading;
mod run;
mod several;
mod study;
mod variant;
mod words;
mod workloads;

pub use check::{CheckOptions, Checked, check};
pub use metrics::metrics;
pub use provision::{DATABASE_KEYS, PLACE_KEYS, observed};
pub use run::{Run, load, run};
pub use workloads::{workload, workloads};
