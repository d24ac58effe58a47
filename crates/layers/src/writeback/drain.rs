//! The rate of destaging as the dirty limit and writers take it: what was learned, reached within some seconds. A batch may
//! show another rate than the one before it, and writers near the limit would feel a step of it.

use fathom_runtime::{Nanos, SECOND};

/// Within some times this span the rate is what was learned.
const GLIDE: Nanos = 5 * SECOND;

/// Payload of the first batch, bytes: it shows the rate before writers are held back.
const FIRST: u64 = 1 << 20;
/// A batch that takes less says nothing of the rate, ns: a volume may take the first bytes from its credits or into a cache.
pub const TELLING: Nanos = SECOND / 4;

/// Bytes per second of the log that destaging manages.
#[derive(Debug, Clone, Copy, Default)]
pub struct DrainRate {
    /// 0 if not known.
    learned: u64,
    /// How often a batch was over too soon to tell.
    tries: u32,
    /// What it was when that was learned, and when that was, ns.
    from: (f64, Nanos),
}

impl DrainRate {
    /// What was learned last; 0 if nothing was.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    /// Learns a rate. The first one is taken for `first` if that is higher, and comes down from there.
    pub fn learn(&mut self, now: Nanos, rate: u64, first: f64) {
        let rate = rate.max(1);
        let from = self.at(now).unwrap_or_else(|| first.max(rate as f64));
        *self = Self { learned: rate, from: (from, now), ..*self };
    }

    /// A batch was over too soon to tell: the next one is larger.
    pub fn try_more(&mut self) {
        self.tries += 1;
    }

    /// Payload of a batch while the rate is not known, bytes.
    pub fn first_batch(&self) -> u64 {
        FIRST << (2 * self.tries.min(16))
    }

    /// The rate now; None while it is not known.
    pub fn at(&self, now: Nanos) -> Option<f64> {
        if self.learned == 0 {
            return None;
        }
        let ((from, since), learned) = (self.from, self.learned as f64);
        let left = (-(now.saturating_sub(since) as f64) / GLIDE as f64).exp();
        Some(learned + (from - learned) * left)
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;

    use super::{DrainRate, GLIDE};

    #[test]
    fn a_rate_is_reached_smoothly_and_from_where_it_was() {
        let mut rate = DrainRate::default();
        assert_eq!((rate.at(0), rate.learned()), (None, 0));
        rate.learn(SECOND, 1000, 5000.0);
        assert_eq!((rate.at(SECOND), rate.learned()), (Some(5000.0), 1000));
        let then = SECOND + GLIDE;
        let between = rate.at(then).expect("it is known");
        assert!((2400.0..2500.0).contains(&between), "{between}");
        rate.learn(then, 3000, 9000.0);
        assert_eq!(rate.at(then), Some(between), "no step");
        let end = rate.at(then + 20 * GLIDE).expect("it is known");
        assert!((2999.9..3000.1).contains(&end), "{end}");
    }
}
