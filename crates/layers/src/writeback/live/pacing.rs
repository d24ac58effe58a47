//! Destaging at its pace (`pace.rs`): when the next request may go, and when there is hurry.

use std::cell::RefCell;

use fathom_runtime::{MILLISECOND, Nanos, SECOND};
use fathom_volume::Class;

use crate::share::Usage;
use crate::writeback::pace::{Clock, Load};

use super::state::State;
use super::{Live, io};

/// How much of a batch may be in the redo ring: so much at once, and so many times what is in place of the one before it.
/// The ring has it whole before the other ends, so that nothing waits for its commit.
const LEAD: [f64; 2] = [0.02, 1.15];
/// How often that is looked at.
const STEP: Nanos = 2 * MILLISECOND;
/// So many times what is dirty is the limit at first, if it would be less by the rate: writers are not held back at once.
const ROOM: f64 = 1.25;
/// So many times what is dirty is the limit at least, within the setting: there writers have four tenths of the rate.
const ABOVE: f64 = 1.05;

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// On its way to the redo ring.
    Redo,
    /// On its way to its place.
    InPlace,
}

impl Live {
    /// How things stand with the destaging.
    pub fn load(&self) -> Load {
        let state = self.state.borrow();
        // As for writers (`write.rs`): what is in place of a batch counts at once.
        let (part, batch) = state.being_applied();
        let limit = self.dirty_limit(&state);
        let now = self.context.now();
        let lag = state.oldest_smoothly().map_or(0, |born| now.saturating_sub(born));
        Load {
            dirty: state.dirty().saturating_sub(part),
            limit: limit.saturating_sub(batch).max(limit / 2),
            lag,
            lag_target: self.settings.lag_target,
            lag_max: self.settings.lag_max,
        }
    }

    /// Log bytes that may be dirty: the setting, and no more than destages within the drain target.
    pub fn dirty_limit(&self, state: &State) -> u64 {
        let Some(rate) = state.drain_rate.at(self.context.now()) else {
            // Of a volume of unknown speed no more is taken than shows it.
            return self.least_dirty_limit;
        };
        let by_rate = ((rate * self.drain_target()) as u64).max(self.least_dirty_limit);
        // A rate that falls leaves more dirty than its limit: writers then come down at less than the rate, and do not stop.
        self.dirty_limit.min(by_rate.max((state.dirty() as f64 * ABOVE) as u64))
    }

    /// Seconds in which all that is dirty can be put in place.
    fn drain_target(&self) -> f64 {
        self.settings.drain_target as f64 / SECOND as f64
    }

    /// Bytes per second of the log that destaging manages, as the dirty limit takes them; by that limit while it is not known.
    pub fn drain_rate(&self, state: &State) -> f64 {
        let known = state.drain_rate.at(self.context.now());
        known.unwrap_or_else(|| self.least_dirty_limit as f64 / self.drain_target())
    }

    /// Learns what destaging manages, bytes per second of the log.
    pub fn learn_drain_rate(&self, state: &mut State, rate: u64) {
        // What is dirty when a rate becomes known was taken in without one: writers come down from there.
        let first = ROOM * state.dirty() as f64 / self.drain_target();
        state.drain_rate.learn(self.context.now(), rate, first);
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

    /// Waits until so much of a batch may have gone to the redo ring: as much as is in place of the batch before it, and
    /// some more. In one go it would take the volume from users for as long as that takes, once a batch.
    pub async fn in_step(&self, gone: u64, payload: u64) {
        loop {
            let hurry = self.hurry.wait();
            if self.is_in_step(gone, payload) {
                return;
            }
            io::signal_or(&self.context, hurry, Some(self.context.now() + STEP)).await;
        }
    }

    fn is_in_step(&self, gone: u64, payload: u64) -> bool {
        let state = self.state.borrow();
        let Some(before) = state.batches.front() else { return true };
        if state.wanted_seq > state.committed.seq || state.fence.is_some() {
            return true;
        }
        let part = |done: u64, whole: u64| done as f64 / whole.max(1) as f64;
        part(gone, payload) <= LEAD[0] + LEAD[1] * part(before.done.get(), before.payload)
    }

    /// Waits until the next request of a stage may go; percent of the backing volumes' time that it is guaranteed, and
    /// whether something else than the pace holds the stage up.
    pub async fn in_pace(&self, clock: &RefCell<Clock>, stage: Stage) -> (u64, bool) {
        loop {
            let hurry = self.hurry.wait();
            let load = self.load();
            let hurries = self.hurries(stage);
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
