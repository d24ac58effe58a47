//! The crash campaign: records what a write-back cache does to its devices, cuts the power at every boundary, opens what
//! is left, and compares it with what was promised.
//!
//! The oracle knows the order of the log and nothing else: after a crash the volumes of a group must together show one
//! prefix of that order, and no shorter one than the last answered flush covers; after the loss of the cache device,
//! again one prefix.

pub mod apart;
pub mod cached;
pub mod crash;
pub mod damage;
pub mod differing;
pub mod disk;
pub mod edited;
pub mod group;
pub mod history;
pub mod legs;
pub mod life;
pub mod mirror;
pub mod oracle;
pub mod pool;
pub mod scenarios;
pub mod sequences;
pub mod sharing;
#[cfg(feature = "sql")]
pub mod sql;
pub mod testbed;
pub mod users;

/// What the campaign has seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Crash states opened and checked.
    pub crashes: u64,
    /// States opened without their cache device.
    pub losses: u64,
    /// Crashes inside of a recovery.
    pub recoveries: u64,
    /// SQLite databases opened and checked.
    pub databases: u64,
}

impl Tally {
    /// Adds another's counts.
    pub fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.losses += other.losses;
        self.recoveries += other.recoveries;
        self.databases += other.databases;
    }
}
