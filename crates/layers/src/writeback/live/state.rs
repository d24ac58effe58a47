//! What an open group knows. Changed only between two awaits, so never seen half-changed.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use fathom_runtime::{Nanos, Oneshot};
use fathom_volume::{Buf, Error, Result};

use crate::writeback::drain::DrainRate;
use crate::writeback::extents::Extents;
use crate::writeback::plan::Location;
use crate::writeback::pressure::Turns;
use crate::writeback::record::{Extent, Record};
use crate::writeback::space::Space;

/// A write that has no place in the log yet.
pub struct Waiting {
    pub extent: Extent,
    pub payload: Option<Buf>,
    pub ack: Rc<Ack>,
}

/// The answer that a write waits for.
pub type Ack = Oneshot<Result<()>>;

/// A record on its way to the device, and who waits for it.
pub struct InFlight {
    pub record: Rc<Record>,
    pub acks: Vec<Rc<Ack>>,
}

/// When a batch begins.
#[derive(Debug, Clone, Copy)]
pub struct Began {
    /// The moment, ns.
    pub at: Nanos,
    /// Device time that destaging had had until then, ns.
    pub used: Nanos,
}

/// A committed batch.
pub struct Batch {
    pub number: u64,
    /// Position in the redo ring after it.
    pub ring_end: u64,
    /// Checksum of its commit block.
    pub crc: u32,
    /// The log up to here is in it or in batches before it.
    pub point: Point,
    pub putting: Rc<Putting>,
    pub extents: Vec<Extent>,
    pub chunks: Vec<Buf>,
    /// Whether no batch before it was on its way when it was made.
    pub alone: bool,
    /// When its first byte went in place, or to the redo ring if it was alone then.
    pub began: Cell<Began>,
    /// Percent of the backing volume's time that it was guaranteed while it was put in place.
    pub part: Cell<u64>,
    /// Whether it was put in place before its commit, without the redo ring (mode `barrier`).
    pub in_place: bool,
}

/// A point of the log: everything before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Point {
    /// Position after the last record.
    pub end: u64,
    /// Number of the last extent.
    pub seq: u64,
    /// Checksum of the last record's header.
    pub crc: u32,
    /// Epoch of the last record.
    pub epoch: u64,
}

impl Point {
    pub fn after(record: &Record) -> Self {
        Self { end: record.end, seq: record.last_seq(), crc: record.crc, epoch: record.epoch }
    }
}

/// Flushes asked for, begun and done, by number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flushes {
    pub wanted: u64,
    pub started: u64,
    pub finished: u64,
}

/// What this group counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Records written to the log.
    pub log_records: u64,
    /// Bytes of them.
    pub log_bytes: u64,
    /// Writes, trims and zeroes in them.
    pub log_extents: u64,
    /// Parts of reads served by the log.
    pub log_reads: u64,
    /// Parts of reads served by backing volumes.
    pub origin_reads: u64,
    /// Batches committed.
    pub batches: u64,
    /// Bytes they took in the redo ring.
    pub redo_bytes: u64,
    /// Bytes put in place.
    pub applied_bytes: u64,
    /// Requests that put them there.
    pub applied_writes: u64,
    /// How long writes were held back, in all.
    pub delayed_ns: u64,
    /// Age of the oldest write that was put in place, when it was there.
    pub lag_most: u64,
    /// Reads of the cache device that found other bytes than were written.
    pub checksum_errors: u64,
    /// Bytes repaired on one cache device from the intact copy on the other.
    pub repaired_bytes: u64,
    /// Reads served by the read cache.
    pub cached_reads: u64,
    /// Lines brought to the read cache.
    pub cached_lines: u64,
    /// Bytes of the dirty log verified in the background.
    pub scrubbed_bytes: u64,
    /// Records that were found damaged there.
    pub scrub_errors: u64,
    /// Cache devices that the group went on without.
    pub legs_lost: u64,
}

/// How far a batch is on its way in place.
pub struct Putting {
    /// When its oldest write was made, ns.
    pub born: u64,
    /// Position in the log after it.
    pub end: u64,
    /// Bytes of the log it stands for.
    pub log_bytes: u64,
    /// Its work (`work.rs`).
    pub work: i64,
    /// Bytes of payload.
    pub payload: u64,
    /// Bytes of payload that are in place already.
    pub done: Cell<u64>,
}

impl Putting {
    /// Part of its payload that is in place.
    pub fn part_in_place(&self) -> f64 {
        self.done.get().min(self.payload) as f64 / self.payload.max(1) as f64
    }

    /// As much of the log as that stands for.
    pub fn log_bytes_in_place(&self) -> u64 {
        (self.log_bytes as f64 * self.part_in_place()) as u64
    }
}

/// What an open group knows.
pub struct State {
    pub space: Space,
    /// The next extent's number.
    pub next_seq: u64,
    /// The epoch of the next record.
    pub epoch: u64,
    /// Checksum of the last record's header.
    pub chain: u32,
    /// By volume: where its newest bytes stand.
    pub index: Vec<Extents<Location>>,
    /// Every record whose space was not taken again, oldest first.
    pub kept: VecDeque<Rc<Record>>,
    /// Those that no batch holds yet, oldest first.
    pub unplanned: VecDeque<Rc<Record>>,
    /// Those that the device may not have yet, oldest first.
    pub in_flight: VecDeque<InFlight>,
    pub waiting: VecDeque<Waiting>,
    /// Log bytes that `waiting` will take at most.
    pub waiting_bytes: u64,
    /// Memory that bytes of records take which are on the device and in no batch.
    pub in_memory: u64,
    /// Everything up to here is on the cache device.
    pub completed: Point,
    /// Position before which the cache device has flushed everything.
    pub flushed: u64,
    /// Number of the last extent before that position.
    pub flushed_seq: u64,
    pub flushes: Flushes,
    /// The redo ring commits up to here.
    pub committed: Point,
    /// The backing volumes hold everything up to here.
    pub applied: Point,
    /// Committed batches that are not applied, oldest first.
    pub batches: VecDeque<Rc<Batch>>,
    /// A batch that goes in place before its commit (mode `barrier`).
    pub uncommitted: Option<Rc<Putting>>,
    /// Batches are destaged up to this number without waiting for more.
    pub wanted_seq: u64,
    /// Batches are put in place up to this number without delay.
    pub settling_seq: u64,
    /// Writes that wait until something is in place.
    pub held: usize,
    /// A record found no room.
    pub starved: bool,
    /// Bytes of the log that a returning cache device still lacks.
    pub copying: u64,
    /// Work of what is dirty (`work.rs`), expected as long as no batch holds it.
    pub work: i64,
    /// Bytes of the log that the last batch took.
    pub batch_bytes: u64,
    /// What destaging managed lately.
    pub drain_rate: DrainRate,
    /// Of writers that are held back.
    pub turns: Turns,
    pub fence: Option<Error>,
    pub closing: bool,
    pub counts: Counts,
}

impl State {
    /// Bytes of the log that the backing volumes lack, with those about to be written.
    pub fn dirty(&self) -> u64 {
        self.logged() + self.waiting_bytes
    }

    /// Bytes of the log that the backing volumes lack.
    pub fn logged(&self) -> u64 {
        self.space.head - self.applied.end.min(self.space.head)
    }

    /// How much of the batch that is being put in place is there already, and all of it, in bytes of the log.
    pub fn being_applied(&self) -> (u64, u64) {
        self.putting().map_or((0, 0), |batch| (batch.log_bytes_in_place(), batch.log_bytes))
    }

    /// The batch that goes in place now, or next.
    pub fn putting(&self) -> Option<&Putting> {
        let committed = self.batches.front().map(|batch| &batch.putting);
        committed.or(self.uncommitted.as_ref()).map(Rc::as_ref)
    }

    /// As [`State::oldest`], but going on while a batch is put in place, instead of by a step at its end.
    pub fn oldest_smoothly(&self) -> Option<u64> {
        let Some(batch) = self.putting() else { return self.oldest() };
        let behind = || self.unplanned.partition_point(|record| record.position < batch.end);
        let next = self.batches.get(1).map(|next| next.putting.born);
        let next = next.or_else(|| self.unplanned.get(behind()).map(|record| record.born));
        let span = next.unwrap_or(batch.born).saturating_sub(batch.born);
        Some(batch.born + (span as f64 * batch.part_in_place()) as u64)
    }

    /// When the oldest write was made that the backing volumes lack.
    pub fn oldest(&self) -> Option<u64> {
        let born = |record: &Rc<Record>| record.born;
        let in_batch = self.batches.front().map(|batch| batch.putting.born);
        in_batch.or_else(|| self.unplanned.front().map(born))
    }
}
