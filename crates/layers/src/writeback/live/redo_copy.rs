//! Step 3 of destaging: the payload of a batch, from memory or the log to the redo ring.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::{Nanos, yield_now};
use fathom_volume::{Buf, Class, Result};

use crate::codec::BLOCK;
use crate::share::Gate;
use crate::writeback::extents::Cut;
use crate::writeback::plan::{Location, Piece, Plan};
use crate::writeback::record::Change;

use super::pacing::Stage;
use super::read::copy_from_memory;
use super::redo_ring::CHUNK;
use super::task_group::TaskGroup;
use super::{Live, fetch};

/// Requests to the redo ring in flight at once.
const WIDTH: usize = 8;
/// Bytes of one, unless there is hurry, or more cost the volume no more: a user's read waits behind it.
const PIECE: u64 = 64 << 10;

/// A part of the payload: where it is, and where it goes.
pub struct Part {
    pub from: Location,
    /// Index of its chunk.
    chunk: usize,
    pub into: Buf,
    /// It was read from the log.
    pub is_fetched: Cell<bool>,
}

impl Part {
    /// The whole payload, in the order of the chunks.
    pub fn all(plan: &Plan, chunks: &[Buf]) -> Vec<Rc<Self>> {
        let (mut parts, mut at) = (Vec::new(), 0);
        for piece in writes(plan) {
            let (mut done, length) = (0, piece.length as usize);
            while done < length {
                let (chunk, within) = (at / CHUNK, at % CHUNK);
                let part = (length - done).min(CHUNK - within);
                let into = chunks[chunk].slice(within..within + part);
                let from = piece.place.skip(done as u64);
                parts.push(Rc::new(Self { from, chunk, into, is_fetched: Cell::new(false) }));
                at += part;
                done += part;
            }
        }
        if let Some(last) = chunks.last() {
            let from = if at.is_multiple_of(CHUNK) { last.len() } else { at % CHUNK };
            last.slice(from..last.len()).with_mut(|bytes| bytes.fill(0));
        }
        parts
    }

    /// Whether memory still has it.
    pub fn is_in_memory(&self) -> bool {
        self.from.record.bytes.borrow().is_some()
    }

    /// Where it stands in the log, by position.
    pub fn range(&self) -> Range<u64> {
        self.from.position..self.from.position + self.into.len() as u64
    }
}

impl Live {
    /// Fills the whole payload.
    pub async fn gather(self: &Rc<Self>, parts: &[Rc<Part>]) -> Result<()> {
        self.fetch(parts, self.steps(0.0)).await?;
        for chunk in parts.chunk_by(|one, other| one.chunk == other.chunk) {
            yield_now().await;
            copy_kept(chunk);
        }
        Ok(())
    }

    /// Copies the payload of a batch to a position of the redo ring, at the pace of destaging, as the batch stands for so
    /// many bytes of the log.
    pub async fn copy_payload(
        self: &Rc<Self>,
        position: u64,
        plan: &Plan,
        chunks: &[Buf],
        log_bytes: u64,
    ) -> Result<()> {
        let parts = Part::all(plan, chunks);
        let payload = chunks.iter().map(Buf::len).sum::<usize>() as u64;
        let weight = log_bytes as f64 / payload.max(1) as f64;
        self.ring.expect(position, payload);
        let part_to_fetch = self.part_to_fetch(payload);
        self.fetch(&parts, self.steps(part_to_fetch)).await?;
        let steps = self.steps(1.0);
        self.redo_clock.borrow_mut().begin(self.context.now());
        let tasks = TaskGroup::new(&self.context, WIDTH);
        let (mut parts, mut gone) = (&parts[..], 0);
        for (index, chunk) in chunks.iter().enumerate() {
            if !tasks.goes_on() {
                break;
            }
            // A batch is a lot to copy, and others have their turns meanwhile.
            yield_now().await;
            let (these, rest) = parts.split_at(parts.partition_point(|part| part.chunk <= index));
            copy_kept(these);
            parts = rest;
            let mut done = 0;
            while done < chunk.len() && tasks.goes_on() {
                let piece = chunk.slice(done..(done + self.piece()).min(chunk.len()));
                // Beside a batch only the rest of the time is left, and a late commit would leave users a gap after that batch.
                let part = if self.in_step(steps, gone, payload).await { 1.0 - part_to_fetch } else { 1.0 };
                self.in_pace(&self.redo_clock, Stage::Redo).await;
                self.redo_clock.borrow_mut().spend(part * weight * piece.len() as f64);
                let at = position + gone;
                done += piece.len();
                gone += piece.len() as u64;
                self.start_write(&tasks, at, piece).await;
            }
        }
        tasks.end().await
    }

    /// Which part of the time until a batch is ready is for reading it from the log, the rest being for the copy: by what the two
    /// cost their devices, and by how busy those are. What takes a device that nobody wants need not take long.
    fn part_to_fetch(&self, payload: u64) -> f64 {
        let (log, ring) = (&self.legs.all()[0].gate, &self.ring_gate);
        let time = |gate: &Gate, piece: u64| gate.time(piece) * payload as f64 / piece as f64;
        let now = [self.context.now(), log.busy(), ring.busy()];
        let [at, log_busy, ring_busy] = self.seen_busy.replace(now);
        let part = |busy: Nanos| (busy as f64 / (now[0] - at).max(1) as f64).clamp(0.01, 1.0);
        let fetch = time(log, fetch::LONGEST) * part(now[1] - log_busy);
        let copy = time(ring, CHUNK as u64) * part(now[2] - ring_busy);
        fetch / (fetch + copy).max(1.0)
    }

    /// Writes the descriptor of a batch to a position of the redo ring. It stands for no bytes of the log.
    pub async fn copy_descriptor(&self, position: u64, descriptor: &Buf) -> Result<()> {
        let tasks = TaskGroup::new(&self.context, WIDTH);
        let mut done = 0;
        while done < descriptor.len() && tasks.goes_on() {
            let piece = descriptor.slice(done..(done + self.piece()).min(descriptor.len()));
            let at = position + done as u64;
            done += piece.len();
            self.start_write(&tasks, at, piece).await;
        }
        tasks.end().await
    }

    /// Bytes of the next request to the redo ring at most. In a full cache the volume's I/Os are what writers wait for.
    fn piece(&self) -> usize {
        if self.is_calm(Stage::Redo) { self.ring_gate.cheap(PIECE, CHUNK as u64) as usize } else { CHUNK }
    }

    /// Starts a write to the redo ring, once the volume has room for it beside its users.
    async fn start_write(&self, tasks: &TaskGroup, position: u64, piece: Buf) {
        let pass = self.ring_gate.pass(Class::Destage, piece.len() as u64, true).await;
        let ring = self.ring.clone();
        tasks
            .start(async move {
                ring.destage(position, &piece).await?;
                pass.end();
                Ok(())
            })
            .await;
    }
}

/// Fills those parts that memory holds.
fn copy_kept(parts: &[Rc<Part>]) {
    for part in parts.iter().filter(|part| !part.is_fetched.get()) {
        let is_there = copy_from_memory(&part.from, &part.into);
        assert!(is_there, "memory keeps what is dirty until its batch is committed");
    }
}

/// The pieces of a batch that have payload.
fn writes(plan: &Plan) -> impl Iterator<Item = &Piece> {
    plan.pieces.iter().filter(|piece| piece.place.change == Change::Write)
}

/// The checksum of each block of a batch's payload: its record's where it is a block of that record too.
pub fn payload_checksums(plan: &Plan, chunks: &[Buf]) -> Vec<u32> {
    let mut known = vec![None; plan.payload.div_ceil(BLOCK as u64) as usize];
    let mut at = 0;
    for piece in writes(plan) {
        let blocks = (at as usize).div_ceil(BLOCK)..(at + piece.length) as usize / BLOCK;
        for block in blocks {
            let position = piece.place.position + (block * BLOCK) as u64 - at;
            known[block] = piece.place.record.checksum_at(position);
        }
        at += piece.length;
    }
    let checksum = |(block, known): (usize, Option<u32>)| {
        known.unwrap_or_else(|| {
            let within = block * BLOCK % CHUNK;
            let bytes = chunks[block * BLOCK / CHUNK].slice(within..within + BLOCK);
            bytes.with(|bytes| if bytes.is_empty() { 0 } else { crc_fast::crc32_iscsi(bytes) })
        })
    };
    known.into_iter().enumerate().map(checksum).collect()
}
