//! `mirror`: RAID-1 over any number of legs.
//!
//! # What it does
//! Writes go to every leg and are done when all of them are; a read goes to one leg. With one leg it is the same code
//! without redundancy: failures to tolerate (FTT) = legs - 1.
//!
//! # Why
//! Hyperconverged storage keeps FTT + 1 copies of a block. A write costs the cluster that many writes and waits for the
//! slowest; a read costs one.
//!
//! # Parameters
//! - `legs` (list of volumes): the copies. Their sizes may differ; the smallest counts.
//! - `read` (`balanced`): which leg serves a read. `balanced`: the one with the fewest requests outstanding, in turn where
//!   several have as few. `first`: always the first leg.
//!
//! # Example
//! ```toml
//! [volumes.disk]
//! kind = "mirror"
//! legs = ["host1", "host2"]
//! ```
//!
//! # Limits
//! Membership is fixed: an error of any leg is an error of the request, and nothing is rebuilt. After a power cut the
//! legs may differ where writes were in flight.

use std::cell::Cell;

use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_volume::{
    Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, NodeKind, Request, Result, Volume, manual,
};

use crate::side_by_side::side_by_side;

/// Which leg serves a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPolicy {
    /// The least busy one, in turn among equals.
    Balanced,
    /// Always the first.
    First,
}

impl Choice for ReadPolicy {
    const CHOICES: &'static [(&'static str, Self)] = &[("balanced", Self::Balanced), ("first", Self::First)];
}

/// Settings of a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Names of the legs.
    pub legs: Vec<String>,
    /// Which leg serves a read.
    pub read: ReadPolicy,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "mirror",
    summary: "RAID-1: every leg holds everything",
    manual: manual!("mirror.rs"),
    keys: &[
        Key::required("legs", "list of volumes", "The copies."),
        Key::optional("read", "`balanced` or `first`", "balanced", "Which leg serves a read."),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let legs = section.required_list::<VolumeName>("legs");
        let read = section.or("read", ReadPolicy::Balanced);
        let legs: Vec<String> = legs?.into_iter().map(|VolumeName(name)| name).collect();
        let twice = legs.iter().enumerate().find(|(index, leg)| legs[..*index].contains(leg));
        if let Some((_, leg)) = twice {
            section.error_at(
                "legs",
                format!("`{leg}` is a leg twice"),
                "a copy on the same volume protects nothing",
            );
            return None;
        }
        if legs.is_empty() {
            section.error_at("legs", "a mirror without legs holds nothing", "name one or more volumes");
            return None;
        }
        Some(Self { legs, read })
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        self.legs.clone()
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        Handle::new(&env.context, name, KIND.name, Mirror::new(children, self.read)?)
    }
}

/// RAID-1 over its legs.
pub struct Mirror {
    legs: Vec<Handle>,
    geometry: Geometry,
    policy: ReadPolicy,
    turn: Cell<usize>,
}

impl Mirror {
    /// A mirror over these legs.
    ///
    /// # Errors
    /// If there is no leg.
    pub fn new(legs: Vec<Handle>, policy: ReadPolicy) -> Result<Self> {
        let geometries: Vec<&Geometry> = legs.iter().map(Handle::geometry).collect();
        let geometry = combined(&geometries)
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "a mirror needs at least one leg"))?;
        Ok(Self { legs, geometry, policy, turn: Cell::new(0) })
    }

    fn leg_for_read(&self) -> &Handle {
        let count = self.legs.len();
        let first = match self.policy {
            ReadPolicy::First => return &self.legs[0],
            ReadPolicy::Balanced => self.turn.replace((self.turn.get() + 1) % count),
        };
        let busy = |index: &usize| self.legs[*index].statistics().outstanding();
        // Of equals the first in turn wins: min_by_key keeps the earliest.
        let index = (0..count).map(|step| (first + step) % count).min_by_key(busy);
        &self.legs[index.expect("a mirror has a leg")]
    }
}

/// The geometry of legs that all hold everything: the smallest size, the strictest limits. None without legs.
fn combined(legs: &[&Geometry]) -> Option<Geometry> {
    let least = |of: fn(&Geometry) -> u32| legs.iter().map(|leg| of(leg)).min();
    let most = |of: fn(&Geometry) -> u32| legs.iter().map(|leg| of(leg)).max();
    let logical_sector = most(|leg| leg.logical_sector)?;
    let size = legs.iter().map(|leg| leg.size).min()?;
    Some(Geometry {
        size: size - size % u64::from(logical_sector),
        logical_sector,
        physical_sector: most(|leg| leg.physical_sector)?,
        optimal_transfer: most(|leg| leg.optimal_transfer)?,
        max_transfer: least(|leg| leg.max_transfer)?,
        // Reads spread over the legs; 0 means unlimited, and then so is the whole.
        queue_depth: if legs.iter().any(|leg| leg.queue_depth == 0) {
            0
        } else {
            legs.iter().fold(0, |sum, leg| sum.saturating_add(leg.queue_depth))
        },
        volatile_cache: legs.iter().any(|leg| leg.volatile_cache),
        atomic_write: least(|leg| leg.atomic_write)?,
    })
}

/// Asks every leg, side by side, and waits for all of them even if one fails: a request that has been answered must
/// have nothing in flight.
async fn on_all<'a>(legs: &'a [Handle], ask: impl Fn(&'a Handle) -> fathom_volume::Answer<'a>) -> Result<()> {
    if let [only] = legs {
        return ask(only).await;
    }
    side_by_side(legs.iter().map(ask).collect()).await
}

impl Volume for Mirror {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.leg_for_read().read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        on_all(&self.legs, |leg| leg.write(request.part(request.offset, request.length), from.clone())).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        on_all(&self.legs, |leg| leg.flush(request.flush_for())).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        on_all(&self.legs, |leg| leg.trim(request.part(request.offset, request.length))).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        on_all(&self.legs, |leg| leg.write_zeroes(request.part(request.offset, request.length))).await
    }
}

#[cfg(test)]
#[path = "mirror/tests.rs"]
mod tests;
