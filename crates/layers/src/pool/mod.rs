//! `pool`: one volume in extents on several volumes, rebalanced after volumes were added.
//!
//! # What it does
//! Divides the volume into extents and places each on one member, so that all members are equally full. A map says which
//! extent is where. A request goes to the member that holds its extent; one that crosses extents is divided.
//!
//! Members that were added are empty. Extents move to them, from the fullest member to the emptiest, until all are equally
//! full, while users continue to read and write. Users and moves share each member by device time: the moves get
//! `resync_share` of it when both want more than there is, and otherwise whatever is left, up to `resync_limit`. When nothing
//! is left to move, requests pass the layer as they pass a stripe.
//!
//! # Why
//! Hyperconverged storage, Storage Spaces (`Optimize-StoragePool`) and LVM (`pvmove`) spread a volume that way. After disks
//! were added to a group that is nearly full, data moves for hours: how fast, and what do the users notice?
//!
//! # How an extent moves
//! 1. A free slot is chosen. Writes that are in flight to the extent end first; later ones know of the move.
//! 2. Piece by piece (`resync_io`) it is copied. A write to a piece that is copied already goes to both slots, a write to
//!    the piece in the copy waits for it, all others go to the old slot. Reads go to the old slot.
//! 3. Requests to the extent are held, the new member is flushed, and the extent's block of the map is written twice with FUA.
//!    From then on the new slot counts, and the old one is free.
//!
//! After a crash the map names either the old or the new slot, and both hold everything that was flushed. A move that was
//! cut off starts over. If a slot cannot be read or written, the move is given up, the extent stays, and another move is
//! tried after a second. If the write of the map fails, it is unknown which slot it names: writes go to both slots, and
//! fail if one of them fails, until the map could be written.
//!
//! # Parameters
//! - `members`, `added` (lists of volumes): together the members, in order; sizes may differ. A new pool places its extents
//!   on `members`. To add a volume later, name it at the end of `added`. The order must stay; names may change.
//!   A new member's first and last MiB must be zeroes. A new pool's first and last MiB are zeroes, too, whatever its members held.
//! - `size`: what the pool shows. 80 % of the members' room leaves a fifth free. It does not change later.
//! - `extent`: the unit that is stored together and moves as one. The last one may be larger than what is left of `size`.
//! - `rebalance` (`false`): extents stay where they are.
//! - `resync_share`, `resync_io`, `resync_depth`, `resync_limit`, `member_iops`, `member_throughput`, `resync_window`,
//!   `resync_careful`: the moves and their share, as in a mirror (`fathom doc mirror`). What a member can do is learned from
//!   its completions unless it is stated.
//!
//! # Example
//! ```toml
//! [volumes.data]
//! kind = "pool"
//! members = ["disk1", "disk2"]
//! added = ["disk3"]
//! size = "3TiB"
//! ```
//!
//! # Limits
//! If one member is lost, the volume is lost: put mirrors below it, or two pools under a mirror. The map is on the first
//! member alone, twice: one damaged copy is mended from the other, both are not. All members must be there when it opens, and
//! none can be taken out. A member that is an older copy of itself is refused if the pool was opened since that copy was made;
//! one that was made since the last opening is not recognised. If all members were copied and both pools opened since, a member of
//! one is refused beside those of the other. A member with larger sectors than the pool was made with is
//! refused. A write that crosses extents is not atomic. The slot that an extent has left is not trimmed.

#![allow(clippy::redundant_pub_crate)]

mod config;
mod live;
mod map;
mod metadata;
mod node;
mod open;
mod parts;
mod rebalance;
mod stored;
mod traffic;

use std::rc::Rc;

use fathom_volume::{
    Blueprint, Buf, Class, Env, Error, ErrorKind, Geometry, Handle, Request, Result, Volume,
};

pub use config::{Config, KIND, Settings};
use metadata::Layout;
pub use node::{Node, pools};

use crate::change::Change;
use crate::codec::BLOCK;
use crate::combined::combined;
use crate::tap::{Owner, tap};

impl Blueprint for Config {
    fn keeps_metadata(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<String> {
        self.members.iter().chain(&self.added).cloned().collect()
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let misuse = |key, why: String| Error::new(ErrorKind::Misuse, why).about(key);
        if let Some((key, what, help)) = self.settings.contradictions().into_iter().next() {
            return Err(misuse(key, format!("{what}; {help}")));
        }
        let geometries: Vec<&Geometry> = children.iter().map(Handle::geometry).collect();
        let all =
            combined(&geometries).ok_or_else(|| misuse("members", "a pool needs a member".to_owned()))?;
        let (size, extent) = (self.settings.size, self.settings.extent);
        if all.logical_sector as usize > BLOCK || (all.max_transfer as usize) < BLOCK {
            let why = "a member cannot write blocks of 4 KiB, which the map consists of".to_owned();
            return Err(misuse("members", why));
        }
        if !size.is_multiple_of(u64::from(all.logical_sector)) {
            let why = format!(
                "{size} bytes are no multiple of the members' sectors of {} bytes",
                all.logical_sector
            );
            return Err(misuse("size", why));
        }
        let layout = Layout::new(size, extent);
        let slots: Vec<u32> = geometries.iter().map(|member| layout.slots(member.size)).collect();
        if let Some(small) = slots.iter().position(|slots| *slots == 0) {
            let why = format!(
                "`{}` holds {} bytes, too few for the map and one extent of {extent} bytes; give it the \
                 size it had, or make the extents of a new pool smaller",
                children[small].name(),
                geometries[small].size
            );
            return Err(misuse("extent", why));
        }
        let longest = u64::from(all.max_transfer - all.max_transfer % all.logical_sector);
        let geometry = Geometry {
            size,
            max_transfer: Geometry::UNLIMITED_TRANSFER,
            // Larger aligned writes can cross an extent.
            atomic_write: u64::from(all.atomic_write).min(extent) as u32,
            ..all
        };
        let owner = Owner::<live::Live>::default();
        let parts = parts::Parts {
            context: env.context.clone(),
            pool: env.pool.clone(),
            name: name.to_owned(),
            settings: self.settings.clone(),
            layout,
            slots,
            longest,
            sector: all.logical_sector,
            members: children,
            filled: self.members.len(),
            tap: tap(env, name, layout.extents as u64 * layout.extent, &owner)?,
            for_reading: env.is_for_reading(),
        };
        let node = node::join(env, parts, owner);
        Handle::new(&env.context, name, KIND.name, Pool { node, geometry })
    }
}

/// A volume in extents on its members.
pub struct Pool {
    node: Rc<Node>,
    geometry: Geometry,
}

impl Volume for Pool {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.node.live().await?.read(request, &into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.node.live().await?.change(request, Change::Write(from)).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.node.live().await?.flush(request).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.node.live().await?.change(request, Change::Trim).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.node.live().await?.change(request, Change::Zeroes).await
    }

    fn trims_to_zeroes(&self) -> bool {
        self.node.now().is_some_and(|live| live.members.iter().all(|member| member.handle.trims_to_zeroes()))
    }

    fn went_back(&self) -> bool {
        self.node.now().is_some_and(|live| live.members.iter().any(|member| member.handle.went_back()))
    }

    fn reopen(&self) {
        if let Some(live) = self.node.now() {
            live.members.iter().for_each(|member| member.handle.reopen());
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let Some(live) = self.node.now() else { return Vec::new() };
        let map = live.map.borrow();
        let fill = live
            .members
            .iter()
            .enumerate()
            .map(|(index, member)| format!("{} {:.0} % full", member.handle.name(), map.fill(index)));
        vec![("members", fill.collect::<Vec<_>>().join(", "))]
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Some(live) = self.node.now() else { return Vec::new() };
        let counts = live.counts.get();
        let used = |class| -> u64 { live.members.iter().map(|member| member.gate.usage().of(class)).sum() };
        vec![
            ("extents_left", counts.left),
            ("extents_moved", counts.moved),
            ("resync_left_bytes", live.left_bytes()),
            ("resync_bytes", counts.bytes),
            ("resync_errors", counts.errors),
            ("users_device_ns", used(Class::Foreground)),
            ("resync_device_ns", used(Class::Resync)),
        ]
    }
}

#[cfg(test)]
mod bench;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod tests;
