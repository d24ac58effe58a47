//! Destaging at its pace (`pace.rs`): when the next request may go, and when there is hurry.

use std::cell::RefCell;

use fathom_volume::Class;

use crate::share::Usage;
use crate::writeback::pace::{Clock, Load};

use super::{Live, io};

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

    /// What passed to the backing volumes; and to the cache devices what is background work there.
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

    /// Waits until the next request of a stage may go; percent of the backing volumes' time that it is guaranteed.
    pub async fn in_pace(&self, clock: &RefCell<Clock>, stage: Stage) -> u64 {
        loop {
            let hurry = self.hurry.wait();
            let load = self.load();
            let hurries = self.hurries(stage);
            let rate = if hurries { None } else { load.rate() };
            let now = self.context.now();
            let wait = clock.borrow_mut().wait(now, rate);
            if wait == 0 {
                let guaranteed = load.guaranteed(hurries);
                self.gates.iter().chain([&self.ring_gate]).for_each(|gate| gate.guarantee(guaranteed));
                return guaranteed;
            }
            io::signal_or(&self.context, hurry, Some(now + wait)).await;
        }
    }
}
