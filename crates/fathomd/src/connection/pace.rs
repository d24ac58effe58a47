//! When to look for requests: at once, or a moment later for many at a time.
//!
//! Waking up for a request costs more than serving it from memory. A client with many requests outstanding does not miss
//! a few microseconds: it is busy with the answers it has. A client with one outstanding misses every one of them. Which of
//! the two it is shows when the server waits once and counts: so it tries, seldom and more seldom, as long as that shows
//! nothing, and goes on as long as it pays. Waits of all connections end at the same ticks, so that one wake-up serves
//! them all.

use fathom_runtime::{MICROSECOND, Nanos};

/// From one tick to the next.
const TICK: Nanos = 50 * MICROSECOND;
/// A wait that finds fewer requests than this did not pay: a client that has no more outstanding would be kept waiting.
const PAYS: u32 = 5;
/// So many waits in a row that did not pay end it; one may be the client's own pause.
const PATIENCE: u32 = 3;
/// A trial after that many looks at first; twice as many after each that showed nothing.
const FIRST_TRIAL: u32 = 32;
const RAREST_TRIAL: u32 = 4096;

/// How one connection is looked at.
#[derive(Debug)]
pub struct Pace {
    waiting: bool,
    // Waits in a row that did not pay.
    poor: u32,
    looks: u32,
    trial_after: u32,
}

impl Pace {
    pub fn new() -> Self {
        Self { waiting: false, poor: 0, looks: 0, trial_after: FIRST_TRIAL }
    }

    /// After a look that found so many requests: until when to wait before the next; None to look as soon as there is
    /// something.
    pub fn next(&mut self, found: u32, now: Nanos) -> Option<Nanos> {
        if found >= PAYS {
            self.waiting = true;
            self.poor = 0;
            self.trial_after = FIRST_TRIAL;
        } else if self.waiting {
            self.poor += 1;
            self.waiting = self.poor < PATIENCE;
            self.looks = 0;
        } else {
            self.looks += 1;
            if self.looks >= self.trial_after {
                self.looks = 0;
                self.trial_after = (2 * self.trial_after).min(RAREST_TRIAL);
                self.waiting = true;
                self.poor = 0;
            }
        }
        self.waiting.then(|| (now / TICK + 1) * TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::{PATIENCE, Pace, RAREST_TRIAL, TICK};

    #[test]
    fn a_client_with_one_request_at_a_time_is_hardly_ever_kept_waiting() {
        let mut pace = Pace::new();
        let waits = (0..1_000_000).filter(|look| pace.next(1, *look).is_some()).count();
        let trials = 8 + 1_000_000 / RAREST_TRIAL;
        assert!(waits <= (trials * PATIENCE) as usize, "{waits} waits");
    }

    #[test]
    fn a_client_with_many_is_found_out_and_served_at_ticks_until_it_has_few() {
        let mut pace = Pace::new();
        let first = (0..100).find(|_| pace.next(1, 5).is_some());
        assert!(first.is_some(), "a trial is made");
        assert_eq!(pace.next(9, TICK + 1), Some(2 * TICK));
        assert_eq!(pace.next(5, 2 * TICK), Some(3 * TICK), "at a tick, the next one");
        assert!(pace.next(2, 3 * TICK).is_some(), "one pause is forgiven");
        assert!(pace.next(9, 4 * TICK).is_some());
        let few = (0..PATIENCE).map(|_| pace.next(3, 5 * TICK)).last();
        assert_eq!(few, Some(None));
        assert_eq!(pace.next(1, 6 * TICK), None);
    }
}
