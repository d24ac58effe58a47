//! How fast to destage. The rate follows what is dirty: all of it within a span, which shrinks as the dirty level or the
//! lag grows, to nothing where writers begin to be held back. What writers bring in at a rate w thus stands at w times the span,
//! and bursts shorter than that are evened out (docs/WRITEBACK.md, "The pace of destaging").

use fathom_runtime::{MILLISECOND, Nanos, SECOND};

/// What is dirty is on its way out within so many times `lag_target`: one while it is gathered, one while it goes to the
/// redo ring and in place.
const SPANS: f64 = 2.0;
/// Parts of the dirty limit between which urgency grows from nothing to all.
const LEVELS: [f64; 2] = [0.2, 0.55];
/// Where writers begin to be held back, in parts of the age that the log may have (`pressure.rs`).
pub const HELD: f64 = 0.6;
/// So long what was not used of the rate is kept.
const KEPT: Nanos = SECOND / 4;
/// Percent of a device's time guaranteed to destaging: without urgency, and with all of it.
pub const GUARANTEED: [f64; 2] = [20.0, 60.0];
/// How late the guarantee grows with urgency: of 1 to 3 in steps of a half the most even in `benches/cache_feel.py --full`.
const LATE: f64 = 2.5;

/// How things stand. Bytes are bytes of the log, times ns.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// What the backing volumes lack.
    pub dirty: u64,
    /// All of the batch that is on its way to them, what is in place of it included.
    pub batch: u64,
    /// What they may lack.
    pub limit: u64,
    /// Age of the oldest write that they lack, and from which age on writers are held back.
    pub lag: [Nanos; 2],
    /// Age that the youngest write will have when its turn comes, and from which one on writers are held back.
    pub lag_ahead: [Nanos; 2],
    /// Age from which on a write is destaged.
    pub lag_target: Nanos,
}

impl Load {
    /// From 0, no hurry, to 1, as fast as it goes.
    pub fn urgency(&self) -> f64 {
        let [from, to] = LEVELS;
        let level = (self.dirty as f64 / self.limit.max(1) as f64 - from) / (to - from);
        let target = self.lag_target as f64;
        let age = |[lag, held]: [Nanos; 2]| {
            let (lag, held) = (lag as f64, held as f64);
            // What is gathered, committed and put in place without hurry is as old as this.
            let usual = ((SPANS + 1.0) * target).min((target.min(held) + held) / 2.0);
            (lag - usual) / (held - usual).max(1.0)
        };
        level.max(age(self.lag)).max(age(self.lag_ahead)).clamp(0.0, 1.0)
    }

    /// Bytes of the log per second; None for as fast as it goes.
    pub fn rate(&self) -> Option<f64> {
        let calm = 1.0 - self.urgency();
        let span = SPANS * self.lag_target as f64 / SECOND as f64 * calm;
        // By what is left alone, the end of the last batch of a burst would come ever slower.
        (calm > 0.0 && span > 0.0).then(|| self.dirty.max(self.batch) as f64 / span)
    }

    /// Percent of the backing volume's time that destaging is guaranteed: the most while somebody waits for it. It grows late:
    /// a guarantee is time that users' reads lose, and a higher rate comes first.
    pub fn guaranteed(&self, hurries: bool) -> u64 {
        let [least, most] = GUARANTEED;
        let urgency = if hurries { 1.0 } else { self.urgency() };
        (least + (most - least) * urgency.powf(LATE)) as u64
    }
}

/// What has gone at a pace that changes as it goes.
#[derive(Debug, Default)]
pub struct Clock {
    /// Bytes that may go, or went too early.
    free: f64,
    /// The most of it that is kept.
    most: f64,
    at: Nanos,
}

impl Clock {
    /// How long to wait before more may go, ns; 0 for now. To be asked again then: the pace may be another.
    pub fn wait(&mut self, now: Nanos, rate: Option<f64>) -> Nanos {
        let Some(rate) = rate else {
            (self.free, self.most, self.at) = (0.0, 0.0, now);
            return 0;
        };
        let span = now.saturating_sub(self.at).min(KEPT) as f64 / SECOND as f64;
        self.at = now;
        self.most = rate * KEPT as f64 / SECOND as f64;
        self.free = (self.free + rate * span).min(self.most);
        if self.free >= 0.0 {
            return 0;
        }
        // Not for every request by itself: once a millisecond, as a wake-up is not free.
        ((-self.free / rate.max(1.0) * 1e9) as Nanos).clamp(MILLISECOND, 50 * MILLISECOND)
    }

    /// Something begins that may go. What could not go before, because there was nothing, is not made up for at once.
    pub fn begin(&mut self, now: Nanos) {
        (self.free, self.at) = (self.free.min(0.0), now);
    }

    /// Whether less went than might have: something else than the pace holds it up.
    pub fn is_behind(&self) -> bool {
        self.free >= 0.5 * self.most
    }

    /// So many bytes go.
    pub fn spend(&mut self, bytes: f64) {
        self.free -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MILLISECOND, SECOND};
    use proptest::prelude::*;

    use super::{Clock, Load};

    const MB: u64 = 1_000_000;

    fn load(dirty: u64, lag: u64) -> Load {
        let held = 20 * SECOND;
        Load {
            dirty,
            batch: 0,
            limit: 1000 * MB,
            lag: [lag, held],
            lag_ahead: [0, held],
            lag_target: 5 * SECOND,
        }
    }

    proptest! {
        #[test]
        fn more_dirty_or_older_is_never_slower(dirty in 1..2000_u64, more in 0..500_u64, lag in 0..40_u64, older in 0..9_u64) {
            let rate = |load: Load| load.rate().unwrap_or(f64::MAX);
            let now = load(dirty * MB, lag * SECOND);
            let then = load((dirty + more) * MB, (lag + older) * SECOND);
            prop_assert!(rate(then) >= rate(now));
            prop_assert!(then.guaranteed(false) >= now.guaranteed(false));
        }

        /// Whatever the writers do, what is dirty comes to rest, and a burst is spread over longer than it lasted.
        #[test]
        fn it_follows_writers_smoothly(writers in 1..20_u64, burst in 1..4_u64) {
            let (mut dirty, mut rates) = (0.0_f64, Vec::new());
            for tick in 0..12_000_u64 {
                // A hundredth of a second; a burst of ten seconds after a minute.
                let factor = if (6_000..7_000).contains(&tick) { burst } else { 1 };
                dirty += (writers * factor * MB) as f64 / 100.0;
                let lag = (dirty / (writers * MB) as f64 * 1e9) as u64;
                let rate = load(dirty as u64, lag.min(15 * SECOND)).rate().unwrap_or(1e9);
                dirty = (dirty - rate / 100.0).max(0.0);
                rates.push(rate / (writers * MB) as f64);
            }
            prop_assert!((0.97..1.03).contains(&rates[5_999]), "{}", rates[5_999]);
            let jump = rates.windows(100).map(|second| (second[99] - second[0]).abs()).fold(0.0, f64::max);
            prop_assert!(rates[100..].windows(100).all(|second| second[99] - second[0] <= 0.3 * burst as f64), "{jump}");
        }

        #[test]
        fn a_clock_keeps_its_rate(bytes in 1_000..1_000_000_u64, rate in 1..100_u64) {
            let (mut clock, mut now, mut gone) = (Clock::default(), 10 * SECOND, 0);
            let begin = now;
            while now < begin + 20 * SECOND {
                match clock.wait(now, Some((rate * MB) as f64)) {
                    0 => {
                        clock.spend(bytes as f64);
                        gone += bytes;
                    }
                    wait => now += wait,
                }
            }
            let found = gone as f64 / 20.0 / (rate * MB) as f64;
            prop_assert!((0.98..1.0 + 0.02 + bytes as f64 / (20 * rate * MB) as f64).contains(&found), "{found}");
        }
    }

    #[test]
    fn with_room_it_takes_its_time_and_before_writers_are_held_back_it_takes_none() {
        assert_eq!(load(100 * MB, 8 * SECOND).rate(), Some(10e6));
        assert_eq!(load(100 * MB, 20 * SECOND).rate(), None);
        assert_eq!(load(560 * MB, 8 * SECOND).rate(), None);
        let mut clock = Clock::default();
        assert_eq!(clock.wait(SECOND, Some(1e6)), 0);
        clock.spend(2e6);
        assert!(clock.wait(SECOND, Some(1e6)) >= MILLISECOND);
        assert_eq!(clock.wait(SECOND, None), 0);
    }
}
