//! Destaging: sealed batches through the redo ring onto the backing volumes.
//!
//! For each batch: 1. choose records up to the end of an epoch, the last writer of each place wins; 2. have the cache
//! flushed, so that the log never ends before the batch; 3. write descriptor and payload to the redo ring and flush it;
//! 4. write the commit block, durable at once: from here on the batch counts; 5. put it in place, sorted and merged;
//! 6. flush the backing volumes; 7. advance the tails of ring and log. Steps 1 to 4 of a batch run beside 5 to 7 of the
//! one before it.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::yield_now;
use fathom_volume::{Buf, Class, Request, Result};

use crate::codec::BLOCK;
use crate::writeback::extents::Cut;
use crate::writeback::pace::GUARANTEED;
use crate::writeback::plan::{Piece, Plan, plan};
use crate::writeback::record::{Change, Extent, Record};
use crate::writeback::redo::{Commit, Descriptor, Pending, footprint};

use super::pacing::Stage;
use super::read::copy_from_memory;
use super::redo_ring::{CHUNK, chunks};
use super::state::{Batch, Point, State};
use super::task_group::TaskGroup;
use super::{Live, Mode, io};

/// Requests to the redo ring in flight at once.
const REDO_WIDTH: usize = 8;
/// Bytes of one, unless there is hurry, or more cost the volume no more: a user's read waits behind it.
const REDO_PIECE: u64 = 64 << 10;
/// Committed batches that may wait to be put in place.
const MOST_BATCHES: usize = 2;

/// Where the redo ring stands.
#[derive(Debug, Clone, Copy)]
pub struct RingState {
    /// Position of the next batch.
    pub head: u64,
    /// Batches before this position may be written over.
    pub free_before: u64,
    /// Number of the next batch.
    pub batch: u64,
    /// Checksum of the last commit block.
    pub previous: u32,
}

impl Live {
    /// Makes batches and commits them, one after the other, as long as the group is open.
    pub async fn commit_batches(self: Rc<Self>) {
        loop {
            self.until_due().await;
            if self.state.borrow().fence.is_some() {
                return;
            }
            let plan = self.next_plan();
            if plan.records == 0 {
                continue;
            }
            if let Err(error) = self.commit(plan).await {
                self.fence(&error.at("destaging to the redo ring"));
                return;
            }
            self.committed.notify();
        }
    }

    /// Waits until a batch should be made: enough is dirty, the oldest write is old, somebody waits, or a record found
    /// no room.
    async fn until_due(&self) {
        loop {
            let wait = self.destage_due.wait();
            let at = {
                let state = self.state.borrow();
                if state.fence.is_some() {
                    return;
                }
                let full = state.batches.len() >= MOST_BATCHES;
                match state
                    .unplanned
                    .front()
                    .filter(|oldest| !full && oldest.done.get() && is_complete(&state, oldest))
                {
                    None => None,
                    Some(oldest) => {
                        let ripe = oldest.born + self.settings.lag_target;
                        let due = state.starved
                            || state.closing
                            || state.wanted_seq > state.committed.seq
                            || state.dirty() >= self.destage_from
                            || self.context.now() >= ripe;
                        if due {
                            return;
                        }
                        Some(ripe)
                    }
                }
            };
            io::signal_or(&self.context, wait, at).await;
        }
    }

    /// Step 1: as many records as make a batch.
    fn next_plan(&self) -> Plan {
        let mut state = self.state.borrow_mut();
        let complete = state.completed.seq;
        let open_epoch = state.epoch;
        let records = state.unplanned.make_contiguous();
        let mut count = records.partition_point(|record| record.last_seq() <= complete);
        if self.settings.mode == Mode::Barrier {
            let first = records.first().map_or(0, |record| record.epoch);
            count = records[..count].partition_point(|record| record.epoch == first);
        }
        plan(&records[..count], open_epoch, self.batch_limits)
    }

    /// Steps 2 to 4.
    async fn commit(self: &Rc<Self>, plan: Plan) -> Result<()> {
        let (last, born, first_seq, log_bytes) = {
            let state = self.state.borrow();
            let last = Point::after(&state.unplanned[plan.records - 1]);
            let log_bytes = last.end - state.committed.end.min(last.end);
            (last, state.unplanned[0].born, state.unplanned[0].first_seq, log_bytes)
        };
        // Step 2: the log must never end before the batch.
        if last.end > self.state.borrow().flushed {
            self.flush_cache().await?;
        }
        let chunks = self.gather(&plan).await?;
        let extents: Vec<Extent> = plan.pieces.iter().map(as_extent).collect();
        let skips_redo = self.settings.mode == Mode::Barrier && plan.records > 0;
        let descriptor = if skips_redo {
            Descriptor { extents: Vec::new(), checksums: Vec::new() }
        } else {
            Descriptor { extents: extents.clone(), checksums: payload_checksums(&plan, &chunks) }
        };
        let encoded = descriptor.encode();
        let payload = if skips_redo { 0 } else { plan.payload };
        let total = footprint(encoded.len() as u64, payload);
        io::until(&self.progressed, || {
            let state = self.state.borrow();
            (state.fence.is_some() || self.ring_has_room(total)).then_some(())
        })
        .await;
        self.check_open(&self.state.borrow())?;
        let ring = self.ring_state.get();
        if skips_redo {
            self.all_applied().await?;
            self.put(&extents, &chunks, log_bytes, &Rc::default()).await?;
            self.flush_origins().await?;
        }
        let commit = Commit {
            uuid: self.uuid,
            incarnation: self.incarnation,
            batch: ring.batch,
            position: ring.head,
            descriptor: encoded.len() as u64,
            payload,
            first_seq,
            last_seq: last.seq,
            last_epoch: last.epoch,
            pending: self.pending_after(last),
            descriptor_crc: crc32c::crc32c(&encoded),
            previous: ring.previous,
            flushed_seq: self.state.borrow().flushed_seq,
            log_end: last.end,
            log_crc: last.crc,
        };
        let block = self.pool.get(BLOCK);
        let crc = block.with_mut(|bytes| if bytes.is_empty() { 0 } else { commit.encode(bytes) });
        // Step 3.
        self.write_batch(&commit, &encoded, if skips_redo { &[] } else { &chunks }, log_bytes).await?;
        self.ring.volume.flush(Request::flush()).await?;
        // Step 4.
        self.ring.write(commit.position, &block, true).await?;
        let number = ring.batch;
        // The batch before it may have been put in place meanwhile, and its room given back.
        let free_before = self.ring_state.get().free_before;
        self.ring_state.set(RingState {
            head: ring.head + total,
            free_before,
            batch: number + 1,
            previous: crc,
        });
        let mut state = self.state.borrow_mut();
        let complete = state.completed.seq;
        let planned = state.unplanned.drain(..plan.records).filter(|record| record.last_seq() <= complete);
        let given_back: u64 = planned.filter_map(|record| record.bytes.take().map(|_| record.memory())).sum();
        state.in_memory -= given_back;
        state.committed = last;
        state.starved = false;
        state.counts.batches += 1;
        state.counts.redo_bytes += total;
        state.batches.push_back(Rc::new(Batch {
            number,
            ring_end: ring.head + total,
            crc,
            point: last,
            born,
            log_bytes,
            extents,
            chunks,
            payload: plan.payload,
            done: Rc::default(),
            part: Cell::new(GUARANTEED[1] as u64),
            in_place: skips_redo,
        }));
        drop(state);
        self.apply_due.notify();
        Ok(())
    }

    fn ring_has_room(&self, total: u64) -> bool {
        let ring = self.ring_state.get();
        ring.head + total <= ring.free_before + self.ring.length
    }

    /// The payload of a batch in chunks, in the order of its pieces: from memory, or read from the log.
    async fn gather(self: &Rc<Self>, plan: &Plan) -> Result<Vec<Buf>> {
        let chunks = chunks(&self.pool, plan.payload);
        let (mut reads, mut at) = (Vec::new(), 0);
        for piece in writes(plan) {
            let (mut done, length) = (0, piece.length as usize);
            while done < length {
                let within = at % CHUNK;
                let part = (length - done).min(CHUNK - within);
                let place = piece.place.skip(done as u64);
                let into = chunks[at / CHUNK].slice(within..within + part);
                if !copy_from_memory(&place, &into) {
                    reads.push((place, into));
                }
                at += part;
                done += part;
                if at.is_multiple_of(CHUNK) {
                    // A batch is a lot to copy, and others have their turns meanwhile.
                    yield_now().await;
                }
            }
        }
        if let Some(last) = chunks.last() {
            let from = if at.is_multiple_of(CHUNK) { last.len() } else { at % CHUNK };
            last.slice(from..last.len()).with_mut(|bytes| bytes.fill(0));
        }
        let live = Rc::clone(self);
        io::at_once(&self.context, self.settings.destage_depth, reads, move |(place, into)| {
            let live = Rc::clone(&live);
            async move {
                // Users read the log beside it, unless somebody waits for the batch.
                let calm = live.is_calm(Stage::Redo);
                let class = if calm { Class::Destage } else { Class::Foreground };
                live.read_dirty(class, &place, &into).await
            }
        })
        .await?;
        Ok(chunks)
    }

    /// Step 3, without the flush: at the pace of destaging, as the batch stands for so many bytes of the log.
    async fn write_batch(
        &self,
        commit: &Commit,
        descriptor: &[u8],
        chunks: &[Buf],
        log_bytes: u64,
    ) -> Result<()> {
        let padded = self.pool.get(descriptor.len().next_multiple_of(BLOCK));
        padded.with_mut(|bytes| {
            if !bytes.is_empty() {
                bytes[..descriptor.len()].copy_from_slice(descriptor);
                bytes[descriptor.len()..].fill(0);
            }
        });
        let mut writes = vec![(commit.position + BLOCK as u64, padded)];
        let mut at = commit.payload_at();
        for chunk in chunks {
            writes.push((at, chunk.clone()));
            at += chunk.len() as u64;
        }
        let payload = chunks.iter().map(Buf::len).sum::<usize>() as u64;
        let weight = log_bytes as f64 / payload.max(1) as f64;
        let task_group = TaskGroup::new(&self.context, REDO_WIDTH);
        let mut gone = 0;
        for (position, whole) in writes {
            let mut done = 0;
            while done < whole.len() && task_group.goes_on() {
                self.in_step(gone, payload).await;
                self.in_pace(&self.redo_clock, Stage::Redo).await;
                // In a full cache the volume's I/Os are what writers wait for.
                let calm = self.is_calm(Stage::Redo);
                let most = if calm { self.ring_gate.cheap(REDO_PIECE, CHUNK as u64) as usize } else { CHUNK };
                let part = whole.slice(done..(done + most).min(whole.len()));
                self.redo_clock.borrow_mut().spend(weight * part.len() as f64);
                let pass = self.ring_gate.pass(Class::Destage, part.len() as u64, true).await;
                let (ring, at) = (self.ring.clone(), position + done as u64);
                done += part.len();
                gone += part.len() as u64;
                task_group
                    .start(async move {
                        ring.destage(at, &part).await?;
                        pass.end();
                        Ok(())
                    })
                    .await;
            }
        }
        task_group.end().await
    }

    /// What the cache holds beyond a point.
    pub fn pending_after(&self, point: Point) -> Pending {
        let state = self.state.borrow();
        let beyond = state.unplanned.iter().find(|record| record.first_seq > point.seq);
        Pending {
            bytes: state.completed.end.saturating_sub(point.end),
            epochs: state.epoch.saturating_sub(point.epoch + 1),
            age: beyond.map_or(0, |record| self.context.now() - record.born),
        }
    }

    /// Waits until everything committed is in place.
    pub async fn all_applied(&self) -> Result<()> {
        io::until(&self.progressed, || {
            let state = self.state.borrow();
            if state.batches.is_empty() { Some(Ok(())) } else { self.check_open(&state).err().map(Err) }
        })
        .await
    }

    /// Waits until the redo ring has committed everything up to a number.
    pub async fn committed_through(&self, seq: u64) -> Result<()> {
        self.want(seq);
        io::until(&self.committed, || {
            let state = self.state.borrow();
            if state.committed.seq >= seq { Some(Ok(())) } else { self.check_open(&state).err().map(Err) }
        })
        .await
    }

    /// Waits until the backing volumes hold everything answered before this call.
    pub async fn settle(&self) -> Result<()> {
        let seq = self.state.borrow().completed.seq;
        {
            let mut state = self.state.borrow_mut();
            state.settling_seq = state.settling_seq.max(seq);
        }
        self.want(seq);
        io::until(&self.progressed, || {
            let state = self.state.borrow();
            if state.applied.seq >= seq { Some(Ok(())) } else { self.check_open(&state).err().map(Err) }
        })
        .await
    }

    fn want(&self, seq: u64) {
        let mut state = self.state.borrow_mut();
        state.wanted_seq = state.wanted_seq.max(seq);
        drop(state);
        self.destage_due.notify();
        self.hurry.notify();
    }
}

fn is_complete(state: &State, record: &Record) -> bool {
    record.last_seq() <= state.completed.seq
}

/// The pieces of a batch that have payload.
fn writes(plan: &Plan) -> impl Iterator<Item = &Piece> {
    plan.pieces.iter().filter(|piece| piece.place.change == Change::Write)
}

/// The checksum of each block of a batch's payload: its record's where it is a block of that record too.
fn payload_checksums(plan: &Plan, chunks: &[Buf]) -> Vec<u32> {
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
            bytes.with(|bytes| if bytes.is_empty() { 0 } else { crc32c::crc32c(bytes) })
        })
    };
    known.into_iter().enumerate().map(checksum).collect()
}

fn as_extent(piece: &Piece) -> Extent {
    Extent { volume: piece.volume, change: piece.place.change, offset: piece.offset, length: piece.length }
}
