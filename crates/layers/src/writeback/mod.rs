//! `writeback`: a write-back cache on a fast device that may be lost.
//!
//! # What it does
//! A write goes to a log on the cache device and is answered when it and all earlier writes are there. In the
//! background the log is destaged in batches that end where a flush ended: a batch is copied to a redo ring on the
//! backing side, committed by one checksummed block, then put in place. At any instant the backing volume therefore
//! shows one exact moment of the log. If the cache device is lost, the volume opens at that moment; a snapshot of the
//! backing volume alone is consistent.
//!
//! All volumes with the same `group` share one log and one order: after a loss they stand at the same moment. The data
//! and log volumes of one database belong in one group.
//!
//! # Why
//! Local NVMe is many times faster than a cloud volume and vanishes with the instance. Other caches lose the volume
//! with it, or copy the whole cache before a stop.
//!
//! # Parameters
//! - `backing`, `cache` (volumes); `ring` (volume): the place of the redo ring, if not the tail of `backing`, which
//!   then shows less than it holds. A volume with data is adopted with a `ring` of its own.
//! - `group` (text): volumes with the same word share cache, log and order.
//! - `mode`: `strict`; or `barrier`, without the redo copy, for bulk loads: the backing volume then shows what a disk
//!   could show after a power cut.
//! - `durability`: what a flush means. `cache`: the cache device has the data. `origin`: the redo ring has it, and
//!   nothing flushed is lost with the cache. `cache-mirrored`: both cache devices, `cache` and `cache_copy`, have it,
//!   or the one that is left.
//! - `read_cache` (size): the part of the cache device for lines of 64 KiB that are read often; it starts cold. `scrub`
//!   (size): verifies this many bytes of the dirty log per second in the background.
//! - `memory` (size): how much of the log also stays in memory until a batch has it; the rest is read back.
//! - Limits: `dirty_limit`, `drain_target`, `lag_target`, `lag_max`; a full cache slows writers down to the drain rate.
//! - `accept_loss` (count): opens without the cache of that incarnation, or with what is left of it. `roll_forward`,
//!   `accept_rollback` (count): what to do with a backing volume that is older than its cache. `discard_cache`:
//!   overwrites a cache device. `backing_size` (size): how much of `backing` is used.
//! - `mark_every` (time): the shortest time between two notes in the cache's superblock of how far the log is flushed.
//!
//! # Example
//! ```toml
//! [volumes.data]
//! kind = "writeback"
//! backing = "ebs"
//! cache = "nvme"
//! size = "200GiB"
//! ```
//!
//! # Limits
//! Writes cost the backing volume twice their bytes in mode `strict`, in large transfers. The backing volume must not
//! be written without the cache while the cache owns it. A torn or flipped bit is detected wherever it is read; damage
//! to records that were flushed within `mark_every` of a power cut, and to all records behind them, looks as if they
//! had never been written.

#![allow(clippy::redundant_pub_crate)]

mod config;
mod drain;
mod extents;
mod group;
mod layout;
mod lines;
mod live;
mod loss;
mod pace;
mod plan;
mod pressure;
pub mod record;
mod redo;
mod report;
mod space;
mod superblock;

use std::cell::Cell;
use std::rc::Rc;

use fathom_volume::{Blueprint, Buf, Class, Env, Geometry, Handle, NewBesideOld, Request, Result, Volume};

pub use config::{Config, Durability, KIND, Mode, Settings};
pub use group::{Group, Groups, Status, groups};
pub use live::{Counts, LegStatus, Standing, Undrained, undrained};
pub use loss::{Bounds, Loss};
use record::Change;
pub use redo::Pending;
pub use report::{Finding, Report, Weight};

/// One volume of a group.
pub struct Writeback {
    group: Rc<Group>,
    index: Rc<Cell<u16>>,
    geometry: Geometry,
}

impl Blueprint for Config {
    fn keeps_metadata(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<String> {
        [&self.backing, &self.cache].into_iter().chain(&self.cache_copy).chain(&self.ring).cloned().collect()
    }

    fn shared_by_group(&self) -> Vec<(&'static str, String)> {
        self.settings.told()
    }

    fn new_beside_old(&self) -> Option<NewBesideOld> {
        // A ring of its own does not tell an empty backing volume from the group's.
        let ring = self.ring.clone()?;
        Some(NewBesideOld { key: "backing", new: vec![self.backing.clone()], old: vec![ring] })
    }

    fn spares(&self) -> Vec<String> {
        // Of two cache devices either may be lost.
        self.cache_copy.iter().chain(self.cache_copy.as_ref().map(|_| &self.cache)).cloned().collect()
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let below = children[0].geometry().clone();
        let joined = group::join(env, name, self, children)?;
        let sector = u64::from(below.logical_sector);
        let max_transfer = (joined.max_transfer - joined.max_transfer % sector) as u32;
        let atomic = match self.settings.mode {
            // A record counts as a whole or not at all, and so does a batch.
            Mode::Strict => 1 << max_transfer.ilog2(),
            Mode::Barrier => below.atomic_write,
        };
        let geometry = Geometry {
            size: joined.size - joined.size % sector,
            max_transfer,
            queue_depth: 0,
            volatile_cache: true,
            atomic_write: atomic,
            ..below
        };
        Handle::new(
            &env.context,
            name,
            KIND.name,
            Writeback { group: joined.group, index: joined.index, geometry },
        )
    }
}

impl Writeback {
    async fn change(&self, request: &Request, change: Change, from: Option<Buf>) -> Result<()> {
        let live = self.group.live().await?;
        live.append(request, self.index.get(), change, from).await?;
        if request.fua {
            live.flush().await?;
        }
        Ok(())
    }
}

impl Volume for Writeback {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.group.live().await?.read(request, self.index.get(), &into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.change(request, Change::Write, Some(from)).await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        self.group.live().await?.flush().await
    }

    fn trims_to_zeroes(&self) -> bool {
        true
    }

    fn went_back(&self) -> bool {
        self.group.status().is_some_and(|status| status.loss.is_some())
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.change(request, Change::Trim, None).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.change(request, Change::Zero, None).await
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("may_lose", self.group.settings().may_lose())]
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Some(status) = self.group.status() else { return Vec::new() };
        let counts = status.counts;
        vec![
            ("dirty_bytes", status.dirty),
            ("dirty_limit_bytes", status.dirty_limit),
            ("lag_ns", status.lag),
            ("lag_most_ns", counts.lag_most.max(status.lag)),
            ("log_records", counts.log_records),
            ("log_extents", counts.log_extents),
            ("log_bytes", counts.log_bytes),
            ("log_reads", counts.log_reads),
            ("origin_reads", counts.origin_reads),
            ("batches", counts.batches),
            ("redo_bytes", counts.redo_bytes),
            ("applied_bytes", counts.applied_bytes),
            ("applied_writes", counts.applied_writes),
            ("delayed_ns", counts.delayed_ns),
            ("open_ns", status.open),
            ("background_wait_ns", status.usage.waited),
            ("users_device_ns", status.usage.of(Class::Foreground)),
            ("destage_device_ns", status.usage.of(Class::Destage)),
            ("fill_device_ns", status.usage.of(Class::Fill)),
            ("resync_device_ns", status.usage.of(Class::Resync)),
            ("scrub_device_ns", status.usage.of(Class::Scrub)),
            ("checksum_errors", counts.checksum_errors),
            ("repaired_bytes", counts.repaired_bytes),
            ("legs_lost", counts.legs_lost),
            ("cached_reads", counts.cached_reads),
            ("cached_lines", counts.cached_lines),
            ("scrubbed_bytes", counts.scrubbed_bytes),
            ("scrub_errors", counts.scrub_errors),
        ]
    }
}

#[cfg(test)]
mod tests;
