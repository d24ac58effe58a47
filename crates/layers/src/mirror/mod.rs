//! `mirror`: RAID-1 over any number of legs, which may be lost, return, and are rebuilt.
//!
//! # What it does
//! Writes go to every leg and complete when all legs have completed; a read goes to one leg. With one leg it is the
//! same code without redundancy: failures to tolerate (FTT) = legs - 1.
//!
//! A leg that fails a write or a flush is dropped. The other legs record that before anything more is answered, and
//! continue. A leg that fails a read is repaired with another leg's bytes. A dropped leg that is back receives what it
//! missed: regions that may differ have their bit set in a bitmap on every leg before they are written. After a crash
//! one leg is authoritative and is copied over the others where bits are set.
//!
//! While legs are rebuilt, users and rebuild share each leg by device time. The rebuild gets `resync_share` of it when
//! both want more than there is, and otherwise whatever is left.
//!
//! # Why
//! Hyperconverged storage keeps FTT + 1 copies of a block. A write costs the cluster that many writes and waits for the
//! slowest; a read costs one. A rebuild costs users the share that this layer's scheduler gives it.
//!
//! # Parameters
//! - `legs` (list of volumes): the copies. Their sizes may differ; the smallest counts. On the tail of each are two
//!   superblocks and the bitmap, one block of 4 KiB for 32,256 regions.
//! - `read` (`balanced`): which leg serves a read. `balanced`: the one with the fewest requests outstanding, in turn if
//!   several have equally few. `first`: the first leg that is in sync.
//! - `initial` (`copy`): the first leg's bytes are copied to the others when the mirror is created; `blank`: nothing is
//!   copied, because what was never written is never read.
//! - `region`, `bitmap`, `clean_after`: what a bit covers, and when it is cleared: after two checks without a write.
//! - `resync_share`, `resync_io`, `resync_depth`, `leg_iops`, `leg_throughput`, `resync_window`, `resync_careful`: the
//!   rebuild and its share. What a leg can do is learned from its completions unless it is stated.
//! - `force` (a generation and legs of it), `discard` (one or a list of them): what you accept when a mirror refuses to open; the refusal
//!   names the generations, and the key has no effect on any later one.
//!
//! # Example
//! ```toml
//! [volumes.disk]
//! kind = "mirror"
//! legs = ["host1", "host2"]
//! ```
//!
//! # Limits
//! There is no quorum: if a leg that was in sync is missing, the mirror does not open until you accept the loss. After
//! a crash the legs beside the authoritative one are not trusted until they are copied. A leg that is an old copy of
//! itself is copied whole. If every leg fails one request, the first stays and the request fails. The mirror cannot
//! know which of two readable copies is wrong. A leg must not change its size: legs that were enlarged are refused with the
//! `size` that opens them. A leg that a mirror would write over must be blank; docs/MIRROR.md says what is looked at.

#![allow(clippy::redundant_pub_crate)]

mod bitmap;
mod config;
mod joined;
mod live;
mod membership;
mod node;
mod noting;
mod open;
mod resized;
mod resync;
mod serve;
mod superblock;
mod unused;

use fathom_volume::{Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Request, Result, Volume};
use std::rc::Rc;

pub use config::{Config, Initial, KIND, ReadPolicy, Settings};
pub use live::{Counts, Standing};
pub use membership::{Accepted, Force};
pub use node::{LegStatus, Node, Status, mirrors};
pub use superblock::Generation;
use superblock::Layout;

use crate::change::Change;
use crate::combined::combined;

impl Blueprint for Config {
    fn keeps_metadata(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<String> {
        self.legs.clone()
    }

    fn spares(&self) -> Vec<String> {
        if self.legs.len() > 1 { self.legs.clone() } else { Vec::new() }
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let misuse = |why: String| Error::new(ErrorKind::Misuse, why).about("legs");
        let geometries: Vec<&Geometry> = children.iter().map(Handle::geometry).collect();
        let whole =
            combined(&geometries).ok_or_else(|| misuse("a mirror needs at least one leg".to_owned()))?;
        if whole.size >= Geometry::UNKNOWN_SIZE {
            return Err(misuse("none of the legs is there; bring one back".to_owned()));
        }
        if let Some((key, what, help)) = self.settings.contradictions().into_iter().next() {
            return Err(misuse(format!("{key}: {what}; {help}")).about(key));
        }
        if whole.logical_sector > 4096 || whole.max_transfer < 4096 {
            return Err(misuse("a leg cannot write blocks of 4 KiB, which its superblocks are".to_owned()));
        }
        let layout = Layout::new(whole.size, u64::from(whole.logical_sector), self.settings.region)
            .ok_or_else(|| {
                let name = children.iter().find(|leg| leg.geometry().size == whole.size).map_or("", Handle::name);
                misuse(format!(
                    "leg `{name}` holds {} bytes, too few for superblocks and bitmap; bring back what it held, or give the `size` \
                     that it had, if it is a `file`, to go without it",
                    whole.size
                ))
            })?;
        let geometry = Geometry { size: layout.size, ..whole };
        let node = node::join(env, name, self, layout, children)?;
        Handle::new(&env.context, name, KIND.name, Mirror { node, geometry })
    }
}

/// RAID-1 over its legs.
pub struct Mirror {
    node: Rc<Node>,
    geometry: Geometry,
}

impl Mirror {
    // A task of its own: a request that is given up half-way must still reach every leg.
    async fn change(&self, request: &Request, change: Change) -> Result<()> {
        let live = self.node.live().await?;
        let own = request.part(request.offset, request.length);
        let context = live.context.clone();
        context.spawn(live.change(own, change)).await
    }
}

/// What of acknowledged and flushed writes may be lost, and when; begins with "nothing" where one failure takes none.
fn may_lose(legs: usize, in_sync: usize, bitmap: bool) -> String {
    match legs {
        1 => "the loss of the only copy takes everything since the last backup".to_owned(),
        _ if in_sync < 2 => {
            format!(
                "while only one of {legs} copies is in sync, its loss takes everything since the last backup"
            )
        }
        _ if !bitmap => {
            "after a crash, the loss of the leg that is trusted takes everything until all others are copied \
            whole, for want of a bitmap"
                .to_owned()
        }
        _ if in_sync < legs => {
            format!("nothing: {in_sync} of {legs} copies are in sync, any {} of these may fail", in_sync - 1)
        }
        _ => format!("nothing: {legs} copies, any {} of them may fail", legs - 1),
    }
}

impl Volume for Mirror {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.node.live().await?.read(request, &into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.change(request, Change::Write(from)).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        let live = self.node.live().await?;
        let (class, context) = (request.class, live.context.clone());
        context.spawn(async move { live.flush(class).await }).await
    }

    fn trims_to_zeroes(&self) -> bool {
        self.node.now().is_some_and(|live| live.trims_to_zeroes())
    }

    fn went_back(&self) -> bool {
        self.node
            .now()
            .is_some_and(|live| live.standing(Standing::InSync).all(|leg| live.legs[leg].handle.went_back()))
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        // A trim is advice. Legs that leave something else each would differ for good.
        if !self.node.live().await?.trims_to_zeroes() {
            return Ok(());
        }
        self.change(request, Change::Trim).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.change(request, Change::Zeroes).await
    }

    fn expect(&self, offset: u64, length: u64) {
        if let Some(live) = self.node.now() {
            live.expect(&(offset..offset + length));
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let (Some(live), Some(status)) = (self.node.now(), self.node.status()) else { return Vec::new() };
        let legs = status.legs.iter().map(|leg| format!("{} {}", leg.name, leg.standing.name()));
        let in_sync = status.legs.iter().filter(|leg| leg.standing == Standing::InSync).count();
        vec![
            ("legs", legs.collect::<Vec<_>>().join(", ")),
            ("generation", status.generation.to_string()),
            ("may_lose", may_lose(status.legs.len(), in_sync, live.settings.bitmap)),
        ]
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Some(status) = self.node.status() else { return Vec::new() };
        let counts = status.counts;
        vec![
            (
                "legs_in_sync",
                status.legs.iter().filter(|leg| leg.standing == Standing::InSync).count() as u64,
            ),
            ("bitmap_dirty_bytes", status.dirty),
            ("bitmap_writes", counts.bitmap_writes),
            ("resync_left_bytes", status.left),
            ("resync_bytes", counts.resync_bytes),
            ("resync_errors", counts.resync_errors),
            ("legs_dropped", counts.dropped),
            ("legs_rebuilt", counts.rebuilt),
            ("old_legs", counts.old),
            ("read_failovers", counts.failovers),
            ("read_repairs", counts.repairs),
            ("users_device_ns", status.legs.iter().map(|leg| leg.used_by_users).sum()),
            ("resync_device_ns", status.legs.iter().map(|leg| leg.used_by_resync).sum()),
        ]
    }
}

#[cfg(test)]
mod share_bars;
#[cfg(test)]
mod tests;
