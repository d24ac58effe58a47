//! How much work it is to put a record in place. The learned rate is one of bytes of the log, and of what was put in place lately:
//! when users go over to requests that cost more, it would let in far more than can be in place in time, and writers would stand
//! still for that. So writers are let in by the work that waits, and what destaging manages is learned as work, too.
//!
//! What a request costs is not asked of the device, whose requests often are all of one size and say nothing of others: a figure
//! that wanders moves writers who should not feel it, and one that does not is right as long as the work is of one kind.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};

use crate::writeback::Mode;
use crate::writeback::drain::Managed;
use crate::writeback::record::{Extent, Record};

use super::Live;
use super::state::{Putting, State};

/// A request costs as much as moving so many bytes. Volumes of 3,000 IOPS and 125 to 250 MiB/s have 43 to 85 KiB, of 16,000 and
/// 1,000 MiB/s 64 KiB, small ones of 100 IOPS 256 KiB, and disks 1 MiB: too much holds writers back for some seconds after a
/// change, too little makes them stand still.
const REQUEST: u64 = 128 << 10;
/// A large request, bytes.
const LARGE: u64 = 256 << 10;

/// Work of so many bytes in so many requests, or in large ones if those are more.
fn work_of(requests: u64, bytes: u64) -> u64 {
    bytes + (requests * REQUEST).max(bytes / (LARGE / REQUEST))
}

impl State {
    /// Counts the work that a record adds, before it is shown.
    pub fn count_work(&mut self, record: &Record, mode: Mode) {
        let mut work = 0;
        for extent in &record.extents {
            let volume = usize::from(extent.volume);
            let (end, payload) = (extent.offset + extent.length, extent.payload());
            // What goes over something that no batch holds yet adds none.
            if !self.is_over_dirty(extent) {
                work += work_of(u64::from(self.ends[volume] != extent.offset), payload);
                work += if mode == Mode::Strict { work_of(0, payload) } else { 0 };
            }
            self.ends[volume] = end;
        }
        record.work.set(work);
        self.work += work;
    }

    fn is_over_dirty(&self, extent: &Extent) -> bool {
        let end = extent.offset + extent.length;
        let is_dirty = |record: &Rc<Record>| record.first_seq > self.committed.seq;
        let first = self.index[usize::from(extent.volume)].parts(extent.offset..end).next();
        first.is_some_and(|(part, place)| {
            part.end == end && place.is_some_and(|place| is_dirty(&place.record))
        })
    }

    /// Work of a byte of the log that is dirty.
    pub fn work_per_byte(&self) -> f64 {
        let (part, batch) = self
            .putting()
            .map_or((0, 0), |batch| (batch.part_of(batch.work), batch.part_of(batch.log_bytes)));
        self.work.saturating_sub(part) as f64 / self.logged().saturating_sub(batch).max(1) as f64
    }
}

impl Live {
    /// What destaging managed when it put so many bytes of the log in place, of a batch, in so much time.
    pub fn managed(&self, putting: &Putting, bytes: u64, took: Nanos) -> Managed {
        let rate = bytes as f64 * SECOND as f64 / took.max(1) as f64;
        Managed { rate, work: rate * putting.work as f64 / putting.log_bytes.max(1) as f64 }
    }
}
