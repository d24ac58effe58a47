//! Putting committed batches in place: steps 5 to 7 of destaging.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};
use fathom_volume::{Buf, Class, Error, Request, Result};

use crate::share::Usage;
use crate::writeback::drain::TELLING;
use crate::writeback::pace::GUARANTEED;
use crate::writeback::record::Extent;

use super::destage::RingState;
use super::pacing::Stage;
use super::redo_ring::{InPlace, requests};
use super::samples;
use super::state::{Batch, Began, Putting};
use super::task_group::TaskGroup;
use super::{Live, Mode, io};

/// A first batch that used less than one part in so many of the backing volumes' time says nothing of what they do: with a
/// `lag_target` of minutes it goes at a hundredth of that, and writers would be held to twice that.
const IDLE: Nanos = 20;

/// Where putting in place stood at the beginning of a second.
struct Observed {
    at: Nanos,
    /// Bytes of the log.
    gone: u64,
    usage: Usage,
}

impl Live {
    /// Puts committed batches in place, in order (invariant I4).
    pub async fn apply_batches(self: Rc<Self>) {
        let mut ended = self.begins();
        loop {
            let batch = io::until(&self.apply_due, || {
                let state = self.state.borrow();
                if state.fence.is_some() { Some(None) } else { state.batches.front().cloned().map(Some) }
            })
            .await;
            let Some(batch) = batch else { return };
            // Its copy had begun beside the batch before: what it takes from there on is its own.
            if !batch.alone {
                batch.began.set(ended);
            }
            if let Err(error) = self.apply(&batch).await {
                self.fence(&error);
                return;
            }
            self.applied(&batch);
            ended = self.begins();
        }
    }

    /// A batch that begins now.
    pub fn begins(&self) -> Began {
        Began { at: self.context.now(), used: self.usage().of(Class::Destage) }
    }

    /// Steps 5 to 7.
    async fn apply(&self, batch: &Batch) -> Result<()> {
        if !batch.in_place {
            // Step 5.
            let destaging = |error: Error| error.at("destaging to the backing volume");
            let part = self.put(&batch.extents, &batch.chunks, &batch.putting).await.map_err(destaging)?;
            batch.part.set(part);
            // Step 6.
            self.flush_origins().await.map_err(destaging)?;
        }
        // Step 7: superblocks of either side.
        self.advance_tails(batch).await.map_err(|error| error.at("noting what is in place"))
    }

    /// Puts a batch in place, at the pace of destaging: its extents lie sorted, their payload in the same order in the chunks,
    /// so that neighbours make one request. What is done of `putting` grows by the bytes of each write. Percent of the device that
    /// it was guaranteed on average: less than the most if it took its time.
    pub async fn put(&self, extents: &[Extent], chunks: &[Buf], putting: &Rc<Putting>) -> Result<u64> {
        for extent in extents {
            self.origins[usize::from(extent.volume)].expect(extent.offset, extent.length);
        }
        let requests = in_turn(requests(extents, chunks));
        let (count, payload) = (requests.len(), extents.iter().map(Extent::payload).sum::<u64>());
        let weight = putting.log_bytes as f64 / payload.max(1) as f64;
        let task_group = TaskGroup::new(&self.context, self.settings.destage_depth);
        self.apply_clock.borrow_mut().begin(self.context.now());
        let (mut parts, mut observed) = (0, None);
        for request in requests {
            if !task_group.goes_on() {
                break;
            }
            let (part, behind) = self.in_pace(&self.apply_clock, Stage::InPlace).await;
            parts += part;
            self.observe(&mut observed, behind, part, putting);
            let bytes = request.payload();
            self.apply_clock.borrow_mut().spend(weight * bytes as f64);
            let pass = self.gates[request.volume()].pass(Class::Destage, bytes, true).await;
            let (origins, putting) = (Rc::clone(&self.origins), Rc::clone(putting));
            task_group
                .start(async move {
                    request.put(&origins).await?;
                    putting.done.set(putting.done.get() + bytes);
                    pass.end();
                    Ok(())
                })
                .await;
        }
        task_group.end().await?;
        let mut state = self.state.borrow_mut();
        state.counts.applied_writes += count as u64;
        state.counts.applied_bytes += payload;
        Ok(parts / (count as u64).max(1))
    }

    /// Learns the rate from a second of putting in place, while something else than the pace holds it up: a batch may take
    /// much longer, and writers run ahead of a rate that is unknown or was another volume's work.
    fn observe(&self, observed: &mut Option<Observed>, behind: bool, part: u64, putting: &Putting) {
        if !behind {
            *observed = None;
            return;
        }
        let (now, gone) = (self.context.now(), putting.log_bytes_in_place());
        let since = observed.get_or_insert_with(|| Observed { at: now, gone, usage: self.usage() });
        if now - since.at < SECOND {
            return;
        }
        // Users may have left more than destaging was guaranteed.
        let had = |class| self.usage().of(class) - since.usage.of(class);
        let (ours, theirs) = (had(Class::Destage), had(Class::Foreground));
        let part = part.max(ours * 100 / (ours + theirs).max(1));
        let seen = self.managed(putting, gone - since.gone, now - since.at);
        *observed = None;
        let mut state = self.state.borrow_mut();
        let known = state.drain_rate.learned();
        if known == 0 || possible(seen.rate, part) < known as f64 / 4.0 {
            self.learn_drain_rate(&mut state, seen, |_, seen| possible(seen, part));
        }
    }

    /// Flushes every backing volume.
    pub async fn flush_origins(&self) -> Result<()> {
        for origin in self.origins.iter() {
            origin.flush(Request::flush().on_behalf_of(Class::Destage)).await?;
        }
        Ok(())
    }

    /// Step 7: first in the volumes' marks and in the superblocks, then here, so that nothing is taken again that an open
    /// would look for (I5, I6).
    async fn advance_tails(&self, batch: &Batch) -> Result<()> {
        self.member_marks.placed(&batch.extents, batch.point.seq);
        self.member_marks.write().await?;
        let pending = self.pending_after(batch.point);
        self.update_origin(|origin| {
            origin.position = batch.ring_end;
            origin.batch = batch.number + 1;
            origin.previous = batch.crc;
            origin.seq = batch.point.seq;
            origin.epoch = batch.point.epoch;
            (origin.log_end, origin.log_crc) = (batch.point.end, batch.point.crc);
            origin.pending = pending;
            // Mode `barrier` writes before it commits: nothing is known of its volumes.
            if self.settings.mode != Mode::Barrier {
                origin.samples = samples::after(&origin.samples, batch.number, &batch.extents, &batch.chunks);
            }
            self.member_marks.require(origin);
        })
        .await?;
        self.update_cache(|cache| {
            cache.tail = batch.point.end;
            cache.chain = batch.point.crc;
            cache.seq = batch.point.seq + 1;
        })
        .await
    }

    fn applied(&self, batch: &Rc<Batch>) {
        let ring = self.ring_state.get();
        self.ring_state.set(RingState { free_before: batch.ring_end, ..ring });
        let mut state = self.state.borrow_mut();
        state.batches.retain(|other| !Rc::ptr_eq(other, batch));
        state.applied = batch.point;
        state.work -= batch.putting.work;
        state.space.free_before = batch.point.end;
        state.counts.lag_most =
            state.counts.lag_most.max(self.context.now().saturating_sub(batch.putting.born));
        let Began { at, used } = self.begins();
        let took = at - batch.began.get().at;
        let used = (used - batch.began.get().used) / self.gates.len() as u64;
        let seen = self.managed(&batch.putting, batch.putting.log_bytes, took);
        // While nothing is known, a batch that was over soon says nothing, nor one that used next to nothing of the volume's time,
        // because its pace made it long: the next one is larger. One that is small because little was dirty is no reason for that.
        let size = self.batch_payload(&state);
        let is_full = batch.putting.log_bytes >= size / 2;
        let known = state.drain_rate.learned();
        let is_idle = used < took / IDLE;
        if known == 0 && is_full && (took < TELLING || is_idle) && size < self.most_batch() {
            state.drain_rate.try_more();
        } else if state.drain_rate.counts(batch.putting.payload >= size / 2) && (known > 0 || !is_idle) {
            // One that took its time has shown what is possible at least; the first says what all of destaging's part of the
            // device would have made of it, or writers would be held back for a pace that destaging chose itself.
            let (part, most) = (batch.part.get(), GUARANTEED[1] as u64);
            self.learn_drain_rate(&mut state, seen, |known, seen| match known {
                0.0 => possible(seen, part),
                _ if part * 10 < most * 9 => known.max(seen),
                _ => (known * 3.0 + seen) / 4.0,
            });
        }
        drop(state);
        self.progressed.notify();
        self.room.notify();
        self.destage_due.notify();
    }
}

/// The same requests, so that all volumes have something to do from the first to the last: each volume's are spread evenly.
fn in_turn(requests: Vec<InPlace>) -> Vec<InPlace> {
    let mut counts: Vec<usize> = Vec::new();
    for request in &requests {
        counts.resize(counts.len().max(request.volume() + 1), 0);
        counts[request.volume()] += 1;
    }
    if counts.iter().filter(|count| **count > 0).count() < 2 {
        return requests;
    }
    let mut seen = vec![0; counts.len()];
    let mut placed: Vec<(f64, InPlace)> = Vec::with_capacity(requests.len());
    for request in requests {
        let volume = request.volume();
        placed.push((f64::from(seen[volume]) / counts[volume] as f64, request));
        seen[volume] += 1;
    }
    placed.sort_by(|one, other| one.0.total_cmp(&other.0));
    placed.into_iter().map(|(_, request)| request).collect()
}

/// What all of destaging's part of the device would have made of a rate that it had with some percent of it: twice as much at
/// most, as what users keep busy yields little more.
fn possible(rate: f64, part: u64) -> f64 {
    let most = GUARANTEED[1] as u64;
    rate * most as f64 / part.clamp(most / 2, most) as f64
}
