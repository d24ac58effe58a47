//! The same for the mirror: lives of two or three legs that lose power, vanish, return, fail flushes and reads.
//!
//! The oracle is a disk's promise, sector by sector: after a power cut a sector shows a write that no later durable write
//! has replaced. It holds for every mirror that opens without `force`, whichever legs are there; a mirror that
//! opens shows the same on every read, and when it is at rest its legs in sync are equal.

pub mod copies;
pub mod life;
pub mod scenarios;
pub mod superblock;
pub mod testbed;
