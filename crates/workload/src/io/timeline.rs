//! The time line of a run: ramp, phases, samples; and the counters of each.

use fathom_runtime::{Nanos, SECOND};
use fathom_volume::Snapshot;

use super::profile::{Config, Limit, Phase};
use fathom_job::live::{Live, Rate};
use fathom_job::outcome::{Failure, Reason};
use fathom_job::sampler::Sampler;
use fathom_job::tally;

/// A run that counts its requests is given up when none has ended for this long, ns.
pub const STUCK: Nanos = 3600 * SECOND;

/// What a phase yielded.
pub struct Done {
    /// Its name; empty if the run has no phases.
    pub name: String,
    /// What the users saw in it.
    pub seen: Snapshot,
}

/// How far a run is.
pub struct TimeLine {
    /// Cuts the run into intervals.
    pub sampler: Sampler,
    /// The phase under way; during the ramp the first.
    pub phase: usize,
    /// Whether the measured phase has not begun yet.
    pub ramping: bool,
    /// When the ramp or the phase ends, as far as the clock decides it.
    pub boundary: Nanos,
    /// When the measured phase began, or will begin.
    pub origin: Nanos,
    /// What the users saw in the last interval.
    pub live: Live,
    /// Phases that are over.
    pub done: Vec<Done>,
    interval: Nanos,
    cut_at: Nanos,
    moved_at: Nanos,
    seen: Snapshot,
}

/// When a phase that begins at `now` ends, as far as the clock decides it.
fn end_of(config: &Config, phase: usize, now: Nanos) -> Nanos {
    match config.limit {
        _ if !config.phases.is_empty() => now.saturating_add(config.phases[phase].duration),
        Limit::Time(span) => now.saturating_add(span),
        Limit::Requests(_) | Limit::Bytes(_) => Nanos::MAX,
    }
}

impl TimeLine {
    /// A run that begins at `now`, with samples of that many ns.
    pub fn begin(config: &Config, sampler: Sampler, interval: Nanos, now: Nanos) -> Self {
        let origin = now.saturating_add(config.ramp);
        let ramping = config.ramp > 0;
        Self {
            sampler,
            phase: 0,
            ramping,
            boundary: if ramping { origin } else { end_of(config, 0, now) },
            origin,
            live: Live::new(Rate::Iops),
            done: Vec::new(),
            interval,
            cut_at: now.saturating_add(interval),
            moved_at: now,
            seen: tally::nothing(),
        }
    }

    /// When there is something to do next.
    pub fn due(&self) -> Nanos {
        self.boundary.min(self.cut_at)
    }

    /// Ends the interval at `now`.
    ///
    /// # Errors
    /// If nothing has moved for so long that nothing will.
    pub fn cut(&mut self, now: Nanos) -> Result<(), Failure> {
        self.cut_at = now.saturating_add(self.interval);
        let Some(snapshot) = self.sampler.cut(now) else { return Ok(()) };
        if snapshot.kinds.iter().flatten().any(|kind| kind.count > 0) {
            self.moved_at = now;
        }
        if !self.ramping {
            tally::append(&mut self.seen, &snapshot);
        }
        self.live.saw(snapshot);
        if self.boundary == Nanos::MAX && now - self.moved_at > STUCK {
            return Err(stuck());
        }
        Ok(())
    }

    /// The ramp is over at `now`.
    pub fn end_ramp(&mut self, config: &Config, now: Nanos) {
        self.ramping = false;
        self.origin = now;
        self.sampler.restart(now);
        self.boundary = end_of(config, self.phase, now);
    }

    /// The phase is over at `now`; false if it was the last.
    pub fn end_phase(&mut self, config: &Config, phases: &[Phase], now: Nanos) -> bool {
        let name = phases[self.phase].name.clone();
        self.done.push(Done { name, seen: std::mem::replace(&mut self.seen, tally::nothing()) });
        self.phase += 1;
        if self.phase == phases.len() {
            return false;
        }
        self.boundary = end_of(config, self.phase, now);
        true
    }
}

/// No request ends any more.
pub fn stuck() -> Failure {
    let message = format!("no request has ended for {} s; a volume does not answer", STUCK / SECOND);
    Failure::new(Reason::InputOutput, message)
}
