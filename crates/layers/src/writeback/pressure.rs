//! How writers are held back while the cache fills: not at all below 60 %, then to a rate that falls towards nothing at the
//! limit and is the drain rate near it, so that they come down to that rate smoothly. The form is that of OpenZFS' write
//! throttle (man page zfs.4, `zfs_delay_min_dirty_percent` and `zfs_delay_scale`), with the learned drain rate for its
//! scale; the cap is Crucible's. As there, writers take turns: a delay of each by itself would let twice as many write twice
//! as much, and half as many half.

use fathom_runtime::{Nanos, SECOND};

/// Below this part of the limit nothing is held back.
const FROM: f64 = 0.6;
/// Writers write as fast as it drains at this part of the limit.
const LEVEL: f64 = 0.9;
/// The longest delay, ns.
pub const LONGEST: Nanos = 100_000_000;

/// At how many times the drain rate writers may write when `used` of `limit` is in use (bytes, or ns of lag); None for any.
pub fn pace(used: u64, limit: u64) -> Option<f64> {
    let part = used as f64 / limit.max(1) as f64;
    let scale = (LEVEL - FROM) / (1.0 - LEVEL);
    (part > FROM).then(|| scale * ((1.0 - part) / (part - FROM)).max(0.0))
}

/// The turns of writers that are held back.
#[derive(Debug, Default)]
pub struct Turns {
    next: Nanos,
}

impl Turns {
    /// How long a write of so many bytes waits, ns, if all together may write so many per second.
    pub fn wait(&mut self, now: Nanos, bytes: u64, rate: f64) -> Nanos {
        let span = (bytes as f64 * SECOND as f64 / rate.max(1.0)).min(LONGEST as f64);
        self.next = (self.next.max(now) + span as Nanos).min(now + LONGEST);
        self.next - now
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;
    use proptest::prelude::*;

    use super::{LONGEST, Turns, pace};

    proptest! {
        #[test]
        fn it_falls_with_use_to_nothing_at_the_limit(used in 0..2_000_000_u64, limit in 1..1_000_000_u64) {
            let rate = |used| pace(used, limit).unwrap_or(f64::MAX);
            prop_assert!(rate(used) >= rate(used + 1));
            prop_assert_eq!(pace(limit, limit), Some(0.0));
            prop_assert_eq!(pace(limit * 59 / 100, limit), None);
        }

        /// However many writers there are, together they keep to the rate, and none waits longer than the cap.
        #[test]
        fn writers_share_the_rate(writers in 1..64_u64, rate in 1_000..100_000_u64) {
            let (mut turns, mut admitted) = (Turns::default(), 0_u64);
            let mut next = vec![0_u64; writers as usize];
            loop {
                let (at, writer) = next.iter().copied().zip(0..).min().expect("there are writers");
                if at >= 10 * SECOND {
                    break;
                }
                let wait = turns.wait(at, 8192, rate as f64 * 8192.0);
                prop_assert!(wait <= LONGEST);
                next[writer] = at + wait;
                admitted += 1;
            }
            let found = admitted as f64 / 10.0 / rate as f64;
            prop_assert!((0.98..1.02).contains(&found), "{found} times the rate");
        }
    }

    #[test]
    fn it_begins_gently_and_meets_the_drain_rate_near_the_limit() {
        assert!(pace(61, 100).is_some_and(|pace| pace > 50.0));
        assert!(pace(90, 100).is_some_and(|pace| (0.99..1.01).contains(&pace)));
    }
}
