//! How writers are held back while the cache fills: not at all below 60 %, then to a rate that falls towards nothing at the
//! limit and is the drain rate near it, so that they come down to that rate smoothly. The form is that of OpenZFS' write
//! throttle (man page zfs.4, `zfs_delay_min_dirty_percent` and `zfs_delay_scale`), with the learned drain rate for its
//! scale. As there, writers take turns: a delay of each by itself would let twice as many write twice as much, and half as many
//! half. No delay is capped, as many writers would then run past any rate, up to the limit, and stand still there; but a writer
//! asks again while it waits, so that it goes as soon as there is room.

use fathom_runtime::{Nanos, SECOND};

/// Below this part of the limit nothing is held back.
const FROM: f64 = 0.6;
/// Writers write as fast as it drains at this part of the limit.
const LEVEL: f64 = 0.9;
/// So long a writer waits before it asks again, ns.
pub const STEP: Nanos = 100_000_000;
/// So long at least: a wake-up is not free.
const LEAST: Nanos = 10_000;

/// At how many times the drain rate writers may write when `used` of `limit` is in use (bytes, or ns of lag); None for any.
pub fn pace(used: u64, limit: u64) -> Option<f64> {
    let part = used as f64 / limit.max(1) as f64;
    let scale = (LEVEL - FROM) / (1.0 - LEVEL);
    (part > FROM).then(|| scale * ((1.0 - part) / (part - FROM)).max(0.0))
}

/// The turns of writers that are held back. What they write is counted in bytes since the beginning.
#[derive(Debug, Default)]
pub struct Turns {
    /// All that may have gone.
    allowed: f64,
    /// All that has asked.
    asked: f64,
    at: Nanos,
}

/// A writer's turn: when this much is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Turn(f64);

impl Turns {
    /// The turn of a write of so many bytes, after all that asked before.
    pub fn take(&mut self, bytes: u64) -> Turn {
        self.asked += bytes as f64;
        Turn(self.asked)
    }

    /// How long to wait before asking again, ns, if all together may write so many bytes per second; 0 if it is this one's turn.
    pub fn wait(&mut self, now: Nanos, turn: Turn, rate: Option<f64>) -> Nanos {
        let span = now.saturating_sub(self.at) as f64 / SECOND as f64;
        self.at = now;
        // What nobody asked for is not kept, but for what the shortest wait may be too long.
        let most = |rate: f64| self.asked + rate * LEAST as f64 / SECOND as f64;
        self.allowed = rate.map_or(self.asked, |rate| (self.allowed + rate * span).min(most(rate)));
        let missing = turn.0 - self.allowed;
        let Some(rate) = rate.filter(|_| missing > 0.0) else { return 0 };
        ((missing / rate.max(1.0) * SECOND as f64) as Nanos).clamp(LEAST, STEP)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use fathom_runtime::SECOND;
    use proptest::prelude::*;

    use super::{STEP, Turns, pace};

    proptest! {
        #[test]
        fn it_falls_with_use_to_nothing_at_the_limit(used in 0..2_000_000_u64, limit in 1..1_000_000_u64) {
            let rate = |used| pace(used, limit).unwrap_or(f64::MAX);
            prop_assert!(rate(used) >= rate(used + 1));
            prop_assert_eq!(pace(limit, limit), Some(0.0));
            prop_assert_eq!(pace(limit * 59 / 100, limit), None);
        }

        /// However many writers there are, together they keep to the rate, and none waits longer than the others need.
        #[test]
        fn writers_share_the_rate(writers in prop_oneof![1..4_usize, 1..2000_usize], rate in 100..100_000_u64) {
            let (mut turns, mut admitted) = (Turns::default(), 0_u64);
            let mut asleep: BinaryHeap<_> = (0..writers).map(|writer| Reverse((0, writer))).collect();
            let mut held = vec![None; writers];
            let end = 10 * SECOND;
            while let Some(Reverse((now, writer))) = asleep.pop().filter(|Reverse((now, _))| *now < end) {
                let (turn, since) = held[writer].unwrap_or_else(|| (turns.take(8192), now));
                let wait = turns.wait(now, turn, Some(rate as f64 * 8192.0));
                held[writer] = Some((turn, since)).filter(|_| wait > 0);
                if wait == 0 {
                    admitted += 1;
                    let longest = writers as u64 * SECOND / rate + 2 * STEP;
                    prop_assert!(now - since <= longest, "{} ns instead of {longest}", now - since);
                }
                // One that went comes back at once.
                asleep.push(Reverse((now + wait.max(1), writer)));
            }
            let found = admitted as f64 / 10.0 / rate as f64;
            prop_assert!((0.94..1.02).contains(&found), "{found} times the rate");
        }
    }

    #[test]
    fn it_begins_gently_and_meets_the_drain_rate_near_the_limit() {
        assert!(pace(61, 100).is_some_and(|pace| pace > 50.0));
        assert!(pace(90, 100).is_some_and(|pace| (0.99..1.01).contains(&pace)));
    }
}
