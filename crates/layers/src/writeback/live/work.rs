//! How much work it is to put a record in place. The learned rate is one of bytes of the log, and of what was put in place lately:
//! when users go over to requests that cost more, it would let in far more than can be in place in time, and writers would stand
//! still for that. So writers are let in by the work that waits, and what destaging manages is learned as work, too.
//!
//! What a request costs is not asked of the device, whose requests often are all of one size and say nothing of others: a figure
//! that wanders moves writers who should not feel it, and one that does not is right as long as the work is of one kind.

use fathom_runtime::{Nanos, SECOND};

use crate::writeback::Mode;
use crate::writeback::drain::Managed;
use crate::writeback::record::{Extent, Record};

use super::Live;
use super::redo_ring::CHUNK;
use super::state::{Putting, State};

/// A request costs as much as moving so many bytes. Volumes of 3,000 IOPS and 125 to 250 MiB/s have 43 to 85 KiB, of 16,000 and
/// 1,000 MiB/s 64 KiB, small ones of 100 IOPS 256 KiB, and disks 1 MiB: too much holds writers back for some seconds after a
/// change, too little makes them stand still.
const REQUEST: f64 = 131_072.0;

/// Work of so many requests that move so many bytes.
pub fn work(requests: f64, payload: f64, mode: Mode) -> i64 {
    let copy = if mode == Mode::Strict { payload + REQUEST * payload / CHUNK as f64 } else { 0.0 };
    (payload + REQUEST * requests + copy) as i64
}

impl State {
    /// Counts the work that a record is expected to add, before it is shown; less than none if it makes one request of two.
    pub fn count_work(&mut self, record: &Record, mode: Mode) {
        let work = record.extents.iter().map(|extent| self.work_of(extent, record.position, mode)).sum();
        record.work.set(work);
        self.work += work;
    }

    /// Work that an extent adds. A batch puts the last write of each place there, and neighbours with one request: which earlier
    /// writes it holds as well is a matter of where in the log it begins, and all places are as likely.
    fn work_of(&self, extent: &Extent, position: u64, mode: Mode) -> i64 {
        let (start, end) = (extent.offset, extent.offset + extent.length);
        // How far back the writes before are that lie here and beside it, in parts of what a batch takes; 1 is out of reach.
        let (mut here, mut left, mut right) = (1.0_f64, 1.0_f64, 1.0_f64);
        for (piece, before) in self.index[usize::from(extent.volume)].meeting(start..end) {
            // Of its payload: the record itself lies elsewhere in memory, which cost 3 % of the server's CPU.
            let back = position.saturating_sub(before.position) as f64 / self.batch_bytes as f64;
            if piece.contains(&start) {
                here = back.min(1.0);
            }
            if piece.start < start {
                left = back;
            }
            if piece.end > end {
                right = back;
            }
        }
        let joins = (here - left).max(0.0) + (here - right).max(0.0);
        let payload = here * extent.payload() as f64;
        work(here - joins + payload / CHUNK as f64, payload, mode)
    }

    /// Work of a byte of the log that is dirty.
    pub fn work_per_byte(&self) -> f64 {
        let part = self.putting().map_or(0.0, |batch| batch.work as f64 * batch.part_in_place());
        let bytes = self.logged().saturating_sub(self.being_applied().0);
        (self.work as f64 - part).max(0.0) / bytes.max(1) as f64
    }
}

impl Live {
    /// What destaging managed when it put so many bytes of the log in place, of a batch, in so much time.
    pub fn managed(&self, putting: &Putting, bytes: u64, took: Nanos) -> Managed {
        let rate = bytes as f64 * SECOND as f64 / took.max(1) as f64;
        Managed { rate, work: rate * putting.work as f64 / putting.log_bytes.max(1) as f64 }
    }
}
