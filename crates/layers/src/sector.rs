//! `sector`: sector sizes other than those of the volume below.
//!
//! # What it does
//! Reports the configured sector sizes (512n: 512 logical and physical; 512e: 512 and 4096; 4Kn: 4096 and 4096) and
//! serves requests in them. If a write does not cover whole physical sectors of the volume below, the layer does what a
//! drive does: it reads the sectors at the head and the tail of the range (in parallel), puts the new bytes in, and
//! writes whole sectors once (read-modify-write, RMW). Writes that touch the same physical sector run one after the
//! other, so that no update is lost. Reads are widened to whole logical sectors below.
//!
//! # Why
//! A host sizes its writes by the sector that a disk reports. A log that is written in multiples of 512 bytes to drives
//! with sectors of 4096 pays a read for every write that is not a multiple of 4096. This layer shows how much that
//! costs.
//!
//! # Example
//! ```toml
//! [volumes.log]
//! kind = "sector"
//! backing = "nvme"
//! logical_sector = "512B"
//! physical_sector = "512B"
//! ```
//!
//! # Limits
//! A power cut in the middle of a read-modify-write must not damage neighbouring sectors, so the volume below must
//! write its physical sectors atomically. If it says that it does not, the layer refuses to be built on it. A trim is
//! reduced to whole sectors below.
//!
//! # Counters
//! `rmw_writes`: writes that needed a read; `rmw_reads`: sectors read for them.

use std::cell::Cell;
use std::ops::Range;

use fathom_settings::{Key, Section, VolumeName};
use fathom_units::Bytes;
use fathom_volume::{
    Answer, Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, NodeKind, Pool, Request, Result, Volume,
    manual,
};

use crate::range_lock::{RangeGuard, RangeLock};
use crate::side_by_side::side_by_side;

/// Hosts in wide use know no larger physical sector and fail on one.
const LARGEST_PHYSICAL: u32 = 4096;

/// Settings of a sector layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the volume below.
    pub backing: String,
    /// Bytes; reported, and requests are multiples of it.
    pub logical_sector: u32,
    /// Bytes; reported.
    pub physical_sector: u32,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "sector",
    summary: "other sector sizes; read-modify-write where a write covers sectors in part",
    manual: manual!("sector.rs"),
    keys: &[
        Key::required("backing", "volume", "The volume below."),
        Key::optional(
            "logical_sector",
            "size up to 4KiB",
            "512B",
            "The logical sector it reports; requests are multiples of it.",
        ),
        Key::optional(
            "physical_sector",
            "size up to 4KiB",
            "as logical_sector",
            "The physical sector it reports; smaller than the one below, hosts write in units that cost a read.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let backing = section.required::<VolumeName>("backing");
        let logical_sector = sector_size(section, "logical_sector");
        let physical_sector = sector_size(section, "physical_sector");
        let logical_sector = logical_sector?.unwrap_or(512);
        let physical_sector = physical_sector?.unwrap_or(logical_sector);
        if physical_sector < logical_sector {
            let message =
                format!("{physical_sector} bytes are less than the logical sector ({logical_sector})");
            section.error_at("physical_sector", message, "a physical sector holds one or more logical ones");
            return None;
        }
        Some(Self { backing: backing?.0, logical_sector, physical_sector })
    }
}

/// A sector size, if it is given; None if it is wrong.
fn sector_size(section: &mut Section<'_>, key: &str) -> Option<Option<u32>> {
    let Some(size) = section.optional::<Bytes>(key) else { return (!section.has(key)).then_some(None) };
    let fits = size.get().is_power_of_two() && (512..=u64::from(LARGEST_PHYSICAL)).contains(&size.get());
    if !fits {
        section.error_at(
            key,
            format!("no disk has sectors of {} bytes", size.get()),
            "use 512B, 1KiB, 2KiB or 4KiB",
        );
    }
    fits.then_some(Some(size.get() as u32))
}

/// How a range of bytes covers whole units of the volume below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// The range, widened to whole units.
    pub outer: Range<u64>,
    /// The whole units inside the range; empty if there is none.
    pub inner: Range<u64>,
    /// The first unit, if the range covers only part of it.
    pub head: Option<u64>,
    /// The last unit, if the range covers only part of it and it is not also the first.
    pub tail: Option<u64>,
}

impl Cover {
    /// Of `offset..offset + length` with units of `unit` bytes; the length must not be 0.
    pub fn new(unit: u64, offset: u64, length: u64) -> Self {
        let end = offset + length;
        let outer = offset - offset % unit..end.next_multiple_of(unit);
        let start = offset.next_multiple_of(unit);
        let inner = start..(end - end % unit).max(start);
        let last = outer.end - unit;
        let head = (outer.start < offset || (last == outer.start && end < outer.end)).then_some(outer.start);
        let tail = (end < outer.end && last != outer.start).then_some(last);
        Self { outer, inner, head, tail }
    }

    /// Whether the range is whole units.
    pub fn is_whole(&self) -> bool {
        self.head.is_none() && self.tail.is_none()
    }

    /// The units covered in part: the first, the last, or both.
    pub fn partial(&self) -> impl Iterator<Item = u64> {
        self.head.into_iter().chain(self.tail)
    }
}

/// A live sector layer.
pub struct Sector {
    backing: Handle,
    geometry: Geometry,
    pool: Pool,
    // Bytes that can be read below, and that can be written there without a read.
    read_unit: u64,
    write_unit: u64,
    lock: RangeLock,
    rmw_writes: Cell<u64>,
    rmw_reads: Cell<u64>,
}

impl Sector {
    /// A sector layer over a live volume.
    ///
    /// # Errors
    /// If the sizes do not fit the volume below; a sentence with the remedy.
    pub fn new(
        pool: &Pool,
        logical: u32,
        physical: u32,
        backing: Handle,
    ) -> std::result::Result<Self, String> {
        let below = backing.geometry();
        let (read_unit, write_unit) = (u64::from(below.logical_sector), u64::from(below.physical_sector));
        if physical > LARGEST_PHYSICAL {
            return Err(format!(
                "a physical sector of {physical} bytes; hosts know 512 and 4096, use one of them"
            ));
        }
        if u64::from(logical) < write_unit && below.atomic_write < below.physical_sector {
            return Err(format!(
                "the volume below has physical sectors of {} bytes and writes only {} atomically: a power cut in a \
                 read-modify-write would damage sectors that were not written; use a volume whose atomic write is at least its \
                 physical sector",
                below.physical_sector, below.atomic_write
            ));
        }
        // A sector that the volume below has only in part cannot be rewritten as a whole.
        let size = below.size - below.size % write_unit.max(u64::from(logical));
        let max_transfer = below.max_transfer - below.max_transfer % logical;
        let geometry = Geometry {
            size,
            logical_sector: logical,
            physical_sector: physical,
            max_transfer,
            ..below.clone()
        };
        Ok(Self {
            geometry,
            pool: pool.clone(),
            read_unit,
            write_unit,
            lock: RangeLock::default(),
            rmw_writes: Cell::new(0),
            rmw_reads: Cell::new(0),
            backing,
        })
    }

    /// Whether requests may be cut finer than the volume below writes without reading.
    fn is_finer(&self) -> bool {
        u64::from(self.geometry.logical_sector) < self.write_unit
    }

    /// Reads a unit that is about to be changed in part into its place in `whole`, which begins at `start`.
    fn fetch<'a>(&'a self, request: &Request, unit: u64, whole: &Buf, start: u64) -> Answer<'a> {
        let at = (unit - start) as usize;
        let into = whole.slice(at..at + self.write_unit as usize);
        self.rmw_reads.set(self.rmw_reads.get() + 1);
        self.backing.read(request.part(unit, self.write_unit).with_fua(false), into)
    }

    /// The parts of `start..start + whole.len()`, none longer than the volume below takes, each as a request with its
    /// slice of the buffer: a widened range may be longer than what was asked for.
    fn transfers(
        &self,
        request: &Request,
        start: u64,
        whole: &Buf,
        unit: u64,
    ) -> impl Iterator<Item = (Request, Buf)> {
        let largest = (u64::from(self.backing.geometry().max_transfer) / unit * unit) as usize;
        (0..whole.len()).step_by(largest).map(move |from| {
            let part = whole.slice(from..(from + largest).min(whole.len()));
            (request.part(start + from as u64, part.len() as u64), part)
        })
    }

    /// Waits for other writes to the same units; none waits where no write needs a read.
    async fn locked(&self, cover: &Cover) -> RangeGuard {
        self.lock.lock(cover.outer.clone()).await
    }

    /// Changes part of the outer range of `cover`: `change` is handed a buffer of that range whose partial units hold
    /// what is there now.
    async fn modify(&self, request: &Request, cover: &Cover, change: impl FnOnce(&Buf)) -> Result<()> {
        let start = cover.outer.start;
        let whole = self.pool.get((cover.outer.end - start) as usize);
        self.rmw_writes.set(self.rmw_writes.get() + 1);
        side_by_side(cover.partial().map(|unit| self.fetch(request, unit, &whole, start)).collect()).await?;
        change(&whole);
        let transfers = self.transfers(request, start, &whole, self.write_unit);
        side_by_side(transfers.map(|(part, buf)| self.backing.write(part, buf)).collect()).await
    }
}

impl Volume for Sector {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        let cover = Cover::new(self.read_unit, request.offset, request.length);
        if cover.is_whole() {
            return self.backing.read(request.part(request.offset, request.length), into).await;
        }
        let start = cover.outer.start;
        let whole = self.pool.get((cover.outer.end - start) as usize);
        let transfers = self.transfers(request, start, &whole, self.read_unit);
        side_by_side(transfers.map(|(part, buf)| self.backing.read(part, buf)).collect()).await?;
        let at = (request.offset - start) as usize;
        into.copy_from_buf(&whole.slice(at..at + into.len()));
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        if !self.is_finer() {
            return self.backing.write(request.part(request.offset, request.length), from).await;
        }
        let cover = Cover::new(self.write_unit, request.offset, request.length);
        // Whole units too: a read-modify-write of a neighbour must not bring back what this write replaces.
        let _locked = self.locked(&cover).await;
        if cover.is_whole() {
            return self.backing.write(request.part(request.offset, request.length), from).await;
        }
        let at = (request.offset - cover.outer.start) as usize;
        self.modify(request, &cover, |whole| whole.slice(at..at + from.len()).copy_from_buf(&from)).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.backing.flush(request.flush_for()).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        let inner = Cover::new(self.write_unit, request.offset, request.length).inner;
        if inner.is_empty() {
            return Ok(());
        }
        self.backing.trim(request.part(inner.start, inner.end - inner.start)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        if !self.is_finer() {
            return self.backing.write_zeroes(request.part(request.offset, request.length)).await;
        }
        let cover = Cover::new(self.write_unit, request.offset, request.length);
        let _locked = self.locked(&cover).await;
        for unit in cover.partial() {
            let edge = request.offset.max(unit)..request.end().min(unit + self.write_unit);
            let part = Cover::new(self.write_unit, edge.start, edge.end - edge.start);
            let (from, to) = ((edge.start - unit) as usize, (edge.end - unit) as usize);
            let zero = |whole: &Buf| whole.slice(from..to).with_mut(|bytes| bytes.fill(0));
            self.modify(request, &part, zero).await?;
        }
        if cover.inner.is_empty() {
            return Ok(());
        }
        self.backing.write_zeroes(request.part(cover.inner.start, cover.inner.end - cover.inner.start)).await
    }

    fn went_back(&self) -> bool {
        self.backing.went_back()
    }

    fn reopen(&self) {
        self.backing.reopen();
    }

    fn expect(&self, offset: u64, length: u64) {
        self.backing.expect(offset, length);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("rmw_writes", self.rmw_writes.get()), ("rmw_reads", self.rmw_reads.get())]
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let [backing] = <[Handle; 1]>::try_from(children).expect("a sector layer has one volume below");
        let refuse = |why| Error::new(ErrorKind::Misuse, format!("volume `{name}` (sector): {why}"));
        let sector = Sector::new(&env.pool, self.logical_sector, self.physical_sector, backing)
            .map_err(|why| refuse(why).about("logical_sector"))?;
        Handle::new(&env.context, name, "sector", sector)
    }
}

#[cfg(test)]
mod tests;
