//! Destaging at its pace (`pace.rs`): when the next request may go, and when there is hurry.

use std::cell::RefCell;

use fathom_runtime::{MILLISECOND, Nanos, SECOND};
use fathom_volume::Class;

use crate::share::Usage;
use crate::writeback::drain::Managed;
use crate::writeback::pace::{Clock, HELD, Load};
use crate::writeback::{Mode, Settings};

use super::state::{Putting, State};
use super::{Live, io};

/// A batch is read from the log and copied to the redo ring while the one before it goes in place: until so much of that is,
/// so that nothing waits for its commit. So much of it may go at once.
const READY: f64 = 0.93;
const AT_ONCE: f64 = 0.02;
/// How often that is looked at.
const STEP: Nanos = 2 * MILLISECOND;
/// So many times what is dirty is the limit at first, if it would be less by the rate: writers are not held back at once.
const ROOM: f64 = 1.25;
/// So many times what is dirty is the limit at least, within the setting: there writers have four tenths of the rate.
const ABOVE: f64 = 1.05;
/// Part of `lag_max` that the log's age may use: what a batch takes longer than the last one must not make it reach `lag_max`,
/// where no write is accepted.
const AGED: f64 = 0.85;
/// So many batches may be dirty while the rate is not known.
const AHEAD: u64 = 8;
/// Bytes of payload of a batch at least.
const LEAST_BATCH: u64 = 256 << 10;
/// Bytes per second that are put in place at least where nothing is known: 100 pages of 8 KiB.
const LEAST_RATE: f64 = 819_200.0;
/// So many batches fit into the dirty limit at least. Of four, two or three made destaging hurry again and again where writers fill
/// a fifth of a small cache, and reads queued behind it.
const PARTS: u64 = 12;
/// Bytes of payload of a batch that goes in place without a redo copy, at most.
const ALONE: u64 = 8 << 20;
/// A batch may be so much of what goes in place before writers are held back for their age, and of the dirty limit.
const SHARE: f64 = 0.25;

/// Log bytes that even a slow volume puts in place within the drain target, and before writers are held back for their age.
fn by_least_rate(settings: &Settings) -> u64 {
    let span = aging(settings).min(settings.drain_target as f64);
    (LEAST_RATE * span / SECOND as f64) as u64
}

/// Between being destaged and holding writers back, ns.
fn aging(settings: &Settings) -> f64 {
    HELD * settings.lag_max.saturating_sub(settings.lag_target) as f64
}

/// What the log may hold of a limit beside a batch that is being put in place, as it gives the batch's space back in one go.
pub fn beside(batch: u64, limit: u64) -> u64 {
    limit.saturating_sub(batch).max(limit / 2)
}

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// On its way to the redo ring.
    Redo,
    /// On its way to its place.
    InPlace,
}

/// Keeping step with the batch before: it begins and ends when so much of that is in place.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    from: f64,
    until: f64,
}

impl Steps {
    /// Whether so much may have gone when that much of the batch before is in place.
    fn may(self, gone: f64, before: f64) -> bool {
        before >= self.until || gone <= AT_ONCE + (before - self.from) / (self.until - self.from)
    }
}

impl Live {
    /// How things stand with the destaging.
    pub fn load(&self) -> Load {
        self.load_of(&self.state.borrow())
    }

    fn load_of(&self, state: &State) -> Load {
        // As for writers (`write.rs`): what is in place of a batch counts at once.
        let (part, batch) = state.being_applied();
        let dirty = state.dirty().saturating_sub(part);
        let (limit, lag_ahead) = match self.known_drain_rate(state) {
            Some(rate) => (self.dirty_limit, (dirty as f64 / rate.max(1.0) * SECOND as f64) as Nanos),
            None => (self.dirty_limit(state), 0),
        };
        Load {
            dirty,
            batch,
            limit: beside(batch, limit),
            lag: [self.lag_smoothly(state), self.settings.lag_target + (HELD * self.lag_room()) as Nanos],
            lag_ahead: [lag_ahead, (HELD * self.drain_target() * SECOND as f64) as Nanos],
            lag_target: self.settings.lag_target,
        }
    }

    /// Age of the oldest write that the backing volumes lack, ns, going on while a batch is put in place.
    pub fn lag_smoothly(&self, state: &State) -> Nanos {
        state.oldest_smoothly().map_or(0, |born| self.context.now().saturating_sub(born))
    }

    /// Log bytes that may be dirty: the setting, and no more than destages within the drain target.
    pub fn dirty_limit(&self, state: &State) -> u64 {
        let Some(rate) = self.known_drain_rate(state) else {
            // Of a volume of unknown speed no more is taken than a slow one puts in place in time, or than shows it.
            let showing = AHEAD * state.drain_rate.first_batch();
            return by_least_rate(&self.settings).max(showing).min(self.dirty_limit);
        };
        let by_rate = (rate * self.drain_target()) as u64;
        // A rate that falls leaves more dirty than its limit: writers then come down at less than the rate, and do not stop.
        self.dirty_limit.min(by_rate.max((state.logged() as f64 * ABOVE) as u64))
    }

    /// How much older than when it is destaged a write may be, ns.
    pub fn lag_room(&self) -> f64 {
        (AGED * self.settings.lag_max as f64 - self.settings.lag_target as f64).max(0.0)
    }

    /// Seconds in which all that is dirty can be put in place: what is written now is as old as that when its turn comes, and
    /// must not be older than `lag_max` then.
    fn drain_target(&self) -> f64 {
        let age = AGED * self.settings.lag_max as f64;
        age.min(self.settings.drain_target as f64) / SECOND as f64
    }

    /// Bytes per second of the log that destaging manages, as the dirty limit takes them. While it is not known the limit alone
    /// holds writers back, for a second at most.
    pub fn drain_rate(&self, state: &State) -> f64 {
        self.known_drain_rate(state).unwrap_or_else(|| self.dirty_limit(state) as f64)
    }

    fn known_drain_rate(&self, state: &State) -> Option<f64> {
        state.drain_rate.at(self.context.now(), state.work_per_byte())
    }

    /// Bytes of a batch, and of what is dirty when one is made: no more than goes in place well before `lag_max`.
    pub fn batch_payload(&self, state: &State) -> u64 {
        let wanted = match state.drain_rate.learned() {
            0 => state.drain_rate.first_batch(),
            rate => {
                let in_time = rate as f64 * aging(&self.settings) / SECOND as f64;
                ((in_time.min(self.dirty_limit(state) as f64) * SHARE) as u64).max(LEAST_BATCH)
            }
        };
        wanted.min(self.most_batch())
    }

    /// Whether enough is dirty for a batch. If none is on its way and the rate is known, that is what gives destaging some
    /// urgency: a burst that stays below is over before its first write is old, and does not pay for destaging.
    pub fn is_batch_due(&self, state: &State) -> bool {
        let goes_on = !state.batches.is_empty() || state.drain_rate.learned() == 0;
        state.dirty() >= self.batch_payload(state) && (goes_on || self.load_of(state).urgency() > 0.0)
    }

    /// Bytes of a batch at most.
    pub fn most_batch(&self) -> u64 {
        // Without the redo copy nothing is put in place while a batch is gathered, and none before the last is durable.
        let most = if self.settings.mode == Mode::Barrier { ALONE } else { self.batch_limits.payload };
        most.min(self.batch_limits.payload)
            .min((self.dirty_limit / PARTS).max(LEAST_BATCH))
            .min(self.dirty_limit / 4)
    }

    /// Whether destaging goes as fast as it may to learn the rate: not for writers who are far from being held back.
    fn explores(&self) -> bool {
        let state = self.state.borrow();
        state.drain_rate.learned() == 0 && state.dirty() as f64 >= SHARE * self.dirty_limit(&state) as f64
    }

    /// Learns what destaging manages: `weigh` makes the new figure of the known one, 0 if there is none, and of what was seen.
    pub fn learn_drain_rate(&self, state: &mut State, seen: Managed, weigh: impl Fn(f64, f64) -> f64) {
        // What is dirty when a rate becomes known was taken in without one: writers come down from there.
        let first = ROOM * state.dirty() as f64 / self.drain_target();
        state.drain_rate.learn(self.context.now(), seen, weigh, first);
    }

    /// What passed to the backing volumes; and to the cache devices what is background work there, without what batches read.
    pub fn usage(&self) -> Usage {
        let same = self.gates.iter().any(|gate| gate.is(&self.ring_gate));
        let ring = Some(&self.ring_gate).filter(|_| !same);
        let mut all =
            self.gates.iter().chain(ring).fold(Usage::default(), |sum, gate| sum.with(&gate.usage()));
        for leg in self.legs.all() {
            for class in [Class::Resync, Class::Scrub] {
                all.used[class as usize] += leg.gate.usage().of(class);
            }
        }
        all
    }

    /// Whether somebody waits for the end of a stage.
    pub fn hurries(&self, stage: Stage) -> bool {
        let state = self.state.borrow();
        let commit = state.wanted_seq > state.committed.seq;
        let settle = stage == Stage::InPlace && state.settling_seq > state.applied.seq;
        // A commit may wait for room that the batch before it gives back.
        commit || settle || state.closing || state.starved || state.held > 0 || state.fence.is_some()
    }

    /// Whether a stage has a pace.
    pub fn is_calm(&self, stage: Stage) -> bool {
        !self.hurries(stage) && self.load().rate().is_some()
    }

    /// How much of the batch before is in place; None if there is none, or somebody waits for the next one.
    fn before(&self) -> Option<f64> {
        let state = self.state.borrow();
        if state.wanted_seq > state.committed.seq || state.fence.is_some() {
            return None;
        }
        let Putting { done, payload, .. } = &*state.batches.front()?.putting;
        Some(done.get() as f64 / (*payload).max(1) as f64)
    }

    /// The steps of something that is over when `part` of what is left until [`READY`] has gone in place of the batch before.
    pub fn steps(&self, part: f64) -> Steps {
        let from = self.before().unwrap_or(1.0).min(READY);
        Steps { from, until: from + part * (READY - from) }
    }

    /// Waits until so much of a whole may have gone; whether it keeps step with a batch. In one go it would take a device from
    /// users for as long as that takes, once a batch.
    pub async fn in_step(&self, steps: Steps, gone: u64, whole: u64) -> bool {
        loop {
            let hurry = self.hurry.wait();
            let gone = gone as f64 / whole.max(1) as f64;
            let Some(before) = self.before() else { return false };
            if steps.may(gone, before) {
                return true;
            }
            io::signal_or(&self.context, hurry, Some(self.context.now() + STEP)).await;
        }
    }

    /// Waits until the next request of a stage may go; percent of the backing volumes' time that it is guaranteed, and
    /// whether something else than the pace holds the stage up.
    pub async fn in_pace(&self, clock: &RefCell<Clock>, stage: Stage) -> (u64, bool) {
        loop {
            let hurry = self.hurry.wait();
            let load = self.load();
            let hurries = self.hurries(stage) || self.explores();
            let rate = if hurries { None } else { load.rate() };
            let now = self.context.now();
            let wait = clock.borrow_mut().wait(now, rate);
            if wait == 0 {
                let guaranteed = load.guaranteed(hurries);
                // What users leave is there for the taking while destaging does not keep its pace: the guaranteed part
                // would take it from their requests. A redo copy that keeps step with a batch says nothing about the pace.
                let behind = rate.is_none() || clock.borrow().is_behind();
                let tells = stage == Stage::InPlace || self.state.borrow().batches.is_empty();
                for gate in self.gates.iter().chain([&self.ring_gate]) {
                    gate.guarantee(guaranteed);
                    if tells {
                        gate.fill_gaps(behind);
                    }
                }
                return (guaranteed, behind);
            }
            io::signal_or(&self.context, hurry, Some(now + wait)).await;
        }
    }
}
