//! What an open finds of the owner's log: the log itself, or why there is none.

use fathom_volume::{Error, Remedy};

use crate::writeback::loss::Loss;
use crate::writeback::superblock::CacheSuper;

use super::scan::Scanned;
use super::state::Point;

/// Why the owner's log is not available.
pub enum NoLog {
    /// All of it or a part is lost: continuing without it must be allowed explicitly.
    Lost(Box<Lost>),
    /// The backing volumes are from before the cache.
    Older(Box<Older>),
    /// It is there and the settings or a device stand in the way: mend those.
    InTheWay(Error),
}

/// A log that is lost, or ends too early.
pub struct Lost {
    /// The case, for programs.
    pub code: &'static str,
    /// The same for people.
    pub why: String,
    /// What loses nothing.
    pub first: Vec<Remedy>,
    /// As much of it as there is.
    pub kept: Option<Log>,
    /// The last write that is known to have been flushed there; 0 if none is.
    pub known: u64,
}

/// A log as one cache device holds it.
pub struct Log {
    /// Which.
    pub leg: usize,
    /// What an open goes on from.
    pub superblock: CacheSuper,
    /// What it holds.
    pub scanned: Scanned,
    /// The last write that it must hold, as far as its device knows.
    pub known: u64,
}

/// The log that an open continues.
pub struct Chosen {
    /// The longest, and where it is.
    pub log: Log,
    /// Up to where each device holds the same, from where it begins; None if it holds another log, or none.
    pub same: Vec<Option<Point>>,
    /// Why the others do not.
    pub lost: Vec<String>,
}

impl Chosen {
    /// Whether a device holds all of the log.
    pub fn has_all(&self, leg: usize) -> bool {
        self.same[leg].is_some_and(|same| same.end == self.log.scanned.end.end)
    }

    /// A log that is on one device only.
    pub fn alone(log: Log, devices: usize) -> Self {
        let mut same = vec![None; devices];
        same[log.leg] = Some(log.scanned.end);
        Self { log, same, lost: Vec::new() }
    }
}

/// What an open continues from.
#[derive(Default)]
pub struct Verdict {
    /// The owner's log; None if a new log begins.
    pub chosen: Option<Chosen>,
    /// What it costs.
    pub loss: Option<Loss>,
    /// A cache that is later than the backing volumes: nothing may be numbered as it was there.
    pub later: Option<CacheSuper>,
    /// Nothing is put in place: the volumes are taken as they are.
    pub as_found: bool,
}

impl Verdict {
    /// The position from which on the log of earlier incarnations is given up.
    pub fn given_up_from(&self) -> u64 {
        let kept = self.chosen.as_ref().filter(|_| self.loss.is_some());
        kept.map_or(u64::MAX, |chosen| chosen.log.scanned.end.end)
    }
}

impl From<Error> for NoLog {
    fn from(error: Error) -> Self {
        Self::InTheWay(error)
    }
}

impl From<Lost> for NoLog {
    fn from(lost: Lost) -> Self {
        Self::Lost(Box::new(lost))
    }
}

/// A cache whose backing volumes are older.
pub struct Older {
    /// Which cache device.
    pub leg: usize,
    /// What it says of itself.
    pub cache: CacheSuper,
    /// The last write that it knows of.
    pub ends: u64,
    /// The log from where the backing volumes stand, if it still holds everything since.
    pub forward: Option<Log>,
}
