//! `tproc-c`: an order-entry workload derived from TPC-C, as HammerDB's TPROC-C is.

pub mod conditions;
pub mod hammerdb;
pub mod input;
mod job;
pub mod load;
pub mod population;
pub mod random;
mod read;
pub mod scale;
pub mod terminal;
pub mod text;
pub mod texts;
pub mod user;

pub use job::KIND;
pub use read::{Config, HomeChoice, Schema};
