//! Destaging: sealed batches through the redo ring onto the backing volumes.
//!
//! For each batch: 1. choose records up to the end of an epoch, the last writer of each place wins; 2. have the cache
//! flushed, so that the log never ends before the batch; 3. write payload and descriptor to the redo ring and flush it;
//! 4. write the commit block, durable at once: from here on the batch counts; 5. put it in place, sorted and merged;
//! 6. flush the backing volumes; 7. advance the tails of ring and log. Steps 1 to 4 of a batch run beside 5 to 7 of the
//! one before it.

use std::cell::Cell;
use std::rc::Rc;

use fathom_volume::{Buf, Request, Result};

use crate::codec::BLOCK;
use crate::writeback::pace::GUARANTEED;
use crate::writeback::plan::{Limits, Piece, Plan, plan};
use crate::writeback::record::{Extent, Record};
use crate::writeback::redo::{Commit, Descriptor, Pending, descriptor_length, footprint, payload_at};

use super::redo_copy::{Part, payload_checksums};
use super::redo_ring::{chunks, requests};
use super::state::{Batch, Point, Putting, State};
use super::work::work;
use super::{Live, Mode, io};

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
                            || self.is_batch_due(&state)
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
        // Where somebody waits, few batches are over sooner than many.
        let is_wanted = state.wanted_seq > state.committed.seq || state.closing;
        let payload = if is_wanted { self.most_batch() } else { self.batch_payload(&state) };
        let records = state.unplanned.make_contiguous();
        let mut count = records.partition_point(|record| record.last_seq() <= complete);
        if self.settings.mode == Mode::Barrier {
            let first = records.first().map_or(0, |record| record.epoch);
            count = records[..count].partition_point(|record| record.epoch == first);
        }
        plan(&records[..count], open_epoch, Limits { payload, ..self.batch_limits })
    }

    /// Steps 2 to 4.
    async fn commit(self: &Rc<Self>, plan: Plan) -> Result<()> {
        let (last, born, first_seq, log_bytes, expected) = {
            let state = self.state.borrow();
            let last = Point::after(&state.unplanned[plan.records - 1]);
            let log_bytes = last.end - state.committed.end.min(last.end);
            let expected: i64 =
                state.unplanned.iter().take(plan.records).map(|record| record.work.get()).sum();
            (last, state.unplanned[0].born, state.unplanned[0].first_seq, log_bytes, expected)
        };
        // Step 2: the log must never end before the batch.
        if last.end > self.state.borrow().flushed {
            self.flush_cache().await?;
        }
        let extents: Vec<Extent> = plan.pieces.iter().map(as_extent).collect();
        let chunks = chunks(&self.pool, plan.payload);
        let skips_redo = self.settings.mode == Mode::Barrier && plan.records > 0;
        let (described, payload) = if skips_redo { (0, 0) } else { (extents.len(), plan.payload) };
        let length = descriptor_length(described, payload);
        let total = footprint(length, payload);
        io::until(&self.progressed, || {
            let state = self.state.borrow();
            (state.fence.is_some() || self.ring_has_room(total)).then_some(())
        })
        .await;
        self.check_open(&self.state.borrow())?;
        let ring = self.ring_state.get();
        let (mut began, mut part) = (self.begins(), GUARANTEED[1] as u64);
        let count = requests(&extents, &chunks).len();
        let work = work(count as f64, plan.payload as f64, self.settings.mode);
        self.state.borrow_mut().work += work - expected;
        let putting = Rc::new(Putting {
            born,
            end: last.end,
            log_bytes,
            work,
            payload: plan.payload,
            done: Cell::default(),
        });
        let alone = skips_redo || self.state.borrow().batches.is_empty();
        // Step 3: the payload first, as the checksums in the descriptor are of what was read.
        let checksums = if skips_redo {
            self.gather(&Part::all(&plan, &chunks)).await?;
            self.all_applied().await?;
            began = self.begins();
            self.state.borrow_mut().uncommitted = Some(Rc::clone(&putting));
            part = self.put(&extents, &chunks, &putting).await?;
            self.flush_origins().await?;
            Vec::new()
        } else {
            self.copy_payload(payload_at(ring.head, length), &plan, &chunks, log_bytes).await?;
            payload_checksums(&plan, &chunks)
        };
        let encoded = Descriptor { extents: extents[..described].to_vec(), checksums }.encode();
        let commit = Commit {
            uuid: self.uuid,
            incarnation: self.incarnation,
            batch: ring.batch,
            position: ring.head,
            descriptor: length,
            payload,
            first_seq,
            last_seq: last.seq,
            last_epoch: last.epoch,
            pending: self.pending_after(last),
            descriptor_crc: crc_fast::crc32_iscsi(&encoded),
            previous: ring.previous,
            flushed_seq: self.state.borrow().flushed_seq,
            log_end: last.end,
            log_crc: last.crc,
        };
        let block = self.pool.get(BLOCK);
        let crc = block.with_mut(|bytes| if bytes.is_empty() { 0 } else { commit.encode(bytes) });
        // Then the descriptor.
        self.copy_descriptor(commit.position + BLOCK as u64, &self.padded(&encoded)).await?;
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
        state.uncommitted = None;
        state.batch_bytes = log_bytes;
        state.starved = false;
        state.counts.batches += 1;
        state.counts.redo_bytes += total;
        state.batches.push_back(Rc::new(Batch {
            number,
            ring_end: ring.head + total,
            crc,
            point: last,
            putting,
            extents,
            chunks,
            alone,
            began: Cell::new(began),
            part: Cell::new(part),
            in_place: skips_redo,
        }));
        drop(state);
        self.apply_due.notify();
        Ok(())
    }

    /// Bytes in whole blocks.
    fn padded(&self, bytes: &[u8]) -> Buf {
        let padded = self.pool.get(bytes.len().next_multiple_of(BLOCK));
        padded.with_mut(|blocks| {
            if !blocks.is_empty() {
                blocks[..bytes.len()].copy_from_slice(bytes);
                blocks[bytes.len()..].fill(0);
            }
        });
        padded
    }

    fn ring_has_room(&self, total: u64) -> bool {
        let ring = self.ring_state.get();
        ring.head + total <= ring.free_before + self.ring.length
    }

    /// What the cache holds beyond a point.
    pub fn pending_after(&self, point: Point) -> Pending {
        let state = self.state.borrow();
        let beyond = state.unplanned.iter().find(|record| record.first_seq > point.seq);
        let bytes = state.completed.end.saturating_sub(point.end);
        Pending {
            bytes,
            // Flushes that cover nothing of it have nothing to lose.
            epochs: if bytes == 0 { 0 } else { state.epoch.saturating_sub(point.epoch + 1) },
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

fn as_extent(piece: &Piece) -> Extent {
    Extent { volume: piece.volume, change: piece.place.change, offset: piece.offset, length: piece.length }
}
