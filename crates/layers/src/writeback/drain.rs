//! The rate of destaging as the dirty limit and writers take it: what was learned, reached within some seconds. A batch may
//! show another rate than the one before it, and writers near the limit would feel a step of it.

use fathom_runtime::{Nanos, SECOND};

/// Within some times this span the rate is what was learned.
const GLIDE: Nanos = 5 * SECOND;

/// Payload of the first batch, bytes: it shows the rate before writers are held back.
const FIRST: u64 = 1 << 20;
/// So many small batches one after the other tell the first rate, too: most of what is written is written again.
const SMALL: u32 = 8;
/// A batch that takes less says nothing of the rate, ns: a volume may take the first bytes from its credits or into a cache.
pub const TELLING: Nanos = SECOND / 4;

/// What destaging manages.
#[derive(Debug, Clone, Copy)]
pub struct Managed {
    /// Bytes of the log per second.
    pub rate: f64,
    /// The work of that, per second (`work.rs`).
    pub work: f64,
}

/// A figure, reached smoothly.
#[derive(Debug, Clone, Copy, Default)]
struct Gliding {
    /// 0 if not known.
    learned: f64,
    /// What it was when that was learned, and when that was, ns.
    from: f64,
    since: Nanos,
}

impl Gliding {
    fn at(&self, now: Nanos) -> f64 {
        let left = (-(now.saturating_sub(self.since) as f64) / GLIDE as f64).exp();
        self.learned + (self.from - self.learned) * left
    }

    /// The first one is taken for `first` if that is higher, and comes down from there.
    fn learn(&mut self, now: Nanos, learned: f64, first: f64) {
        let from = if self.learned > 0.0 { self.at(now) } else { first.max(learned) };
        *self = Self { learned, from, since: now };
    }
}

/// What destaging manages, as it is learned.
#[derive(Debug, Clone, Copy, Default)]
pub struct DrainRate {
    rate: Gliding,
    work: Gliding,
    /// How often a batch was over too soon to tell.
    tries: u32,
    /// Batches since the last large one.
    small: u32,
}

impl DrainRate {
    /// Bytes per second of the log as learned last; 0 if nothing was.
    pub fn learned(&self) -> u64 {
        self.rate.learned as u64
    }

    /// Learns from what was seen: `weigh` makes the new figure of the known one, 0 if there is none, and of it. The first rate
    /// is taken for `first` if that is higher, and comes down from there.
    pub fn learn(&mut self, now: Nanos, seen: Managed, weigh: impl Fn(f64, f64) -> f64, first: f64) {
        let rate = weigh(self.rate.learned, seen.rate).max(1.0);
        self.rate.learn(now, rate, first);
        let work = weigh(self.work.learned, seen.work);
        self.work.learn(now, work, first / seen.rate.max(1.0) * seen.work);
    }

    /// A batch was over too soon to tell: the next one is larger.
    pub fn try_more(&mut self) {
        self.tries += 1;
    }

    /// Whether a batch says something of the rate: small ones do not, unless there are no others and nothing is known.
    pub fn counts(&mut self, is_large: bool) -> bool {
        self.small = if is_large { 0 } else { self.small + 1 };
        is_large || self.rate.learned == 0.0 && self.small > SMALL
    }

    /// Payload of a batch while the rate is not known, bytes.
    pub fn first_batch(&self) -> u64 {
        FIRST << (2 * self.tries.min(16))
    }

    /// Bytes per second of the log that are put in place now, if each is so much work; None while the rate is not known. Those
    /// that are less work than before are not believed to be faster until they are.
    pub fn at(&self, now: Nanos, work: f64) -> Option<f64> {
        (self.rate.learned > 0.0).then(|| self.rate.at(now).min(self.work.at(now) / work))
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;

    use super::{DrainRate, GLIDE, Managed};

    fn learn(drain: &mut DrainRate, now: u64, rate: f64, price: f64, first: f64) {
        drain.learn(now, Managed { rate, work: rate * price }, |_, seen| seen, first);
    }

    #[test]
    fn a_rate_is_reached_smoothly_and_from_where_it_was() {
        let mut rate = DrainRate::default();
        assert_eq!((rate.at(0, 1.0), rate.learned()), (None, 0));
        learn(&mut rate, SECOND, 1000.0, 1.0, 5000.0);
        assert_eq!((rate.at(SECOND, 1.0), rate.learned()), (Some(5000.0), 1000));
        let then = SECOND + GLIDE;
        let between = rate.at(then, 1.0).expect("it is known");
        assert!((2400.0..2500.0).contains(&between), "{between}");
        learn(&mut rate, then, 3000.0, 1.0, 9000.0);
        assert_eq!(rate.at(then, 1.0), Some(between), "no step");
        let end = rate.at(then + 20 * GLIDE, 1.0).expect("it is known");
        assert!((2999.9..3000.1).contains(&end), "{end}");
    }

    #[test]
    fn what_costs_more_is_slower_before_it_is_seen_and_what_costs_less_is_not_faster() {
        let mut rate = DrainRate::default();
        learn(&mut rate, 0, 1000.0, 0.5, 0.0);
        assert_eq!(rate.at(SECOND, 0.5), Some(1000.0));
        assert_eq!(rate.at(SECOND, 2.0), Some(250.0));
        assert_eq!(rate.at(SECOND, 0.1), Some(1000.0));
    }
}
