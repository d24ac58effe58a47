//! When to read requests from the socket: at once, or a moment later and many at a time.
//!
//! Going to sleep and waking up costs more than serving several requests from memory. A client that still has answers to
//! read loses nothing by a delay; a client that has read them all loses every microsecond of it. Which of the two it is shows
//! when the server delays a read once and checks, as it sends the next answers, whether some are unread. So it tries a delay,
//! less and less often as long as that gains nothing, and keeps to it as long as it gains, as long a delay as leaves the
//! client answers to read. Where a read finds many requests, more arrive while they are served, and the next read follows
//! at once.

use fathom_runtime::{MICROSECOND, Nanos};

/// Waits end at multiples of it, for all connections, so that one wake-up can serve several of them.
const GRID: Nanos = 25 * MICROSECOND;
/// The shortest wait, in steps of the grid, and the longest: a request that comes at its beginning is held up for that long.
const SHORTEST: u64 = 2;
const LONGEST: u64 = 16;
/// After a read that found as many, the next follows at once.
const MANY: u32 = 4;
/// After so many waits in a row that kept nobody waiting, the next is a step longer; after one that did, half as long: a wait
/// too long costs its whole length, a short one a few microseconds.
const CONFIDENCE: u32 = 8;
/// So many of the shortest waits in a row that kept the client waiting end it; one may be the client's own pause.
const PATIENCE: u32 = 3;
/// A trial after that many reads at first; twice as many after each that gained nothing.
const FIRST_TRIAL: u32 = 32;
const RAREST_TRIAL: u32 = 4096;

/// When to read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRead {
    /// At once: there will be something.
    Now,
    /// At this instant, whatever comes before it.
    At(Nanos),
    /// As soon as there is something.
    WhenReadable,
}

/// When one connection is read.
#[derive(Debug)]
pub struct Pace {
    // Steps of the grid; None to read as soon as there is something.
    wait: Option<u64>,
    // Whether it is known what came of the last wait that is over.
    judged: bool,
    // Waits in a row that did not keep the client waiting, and the shortest ones that did.
    good: u32,
    poor: u32,
    // Reads since the last trial, and how many there are to be.
    reads: u32,
    trial_after: u32,
}

impl Pace {
    pub fn new() -> Self {
        Self { wait: None, judged: true, good: 0, poor: 0, reads: 0, trial_after: FIRST_TRIAL }
    }

    /// Whether it may wait, so that it pays to have sent first what can be sent.
    pub fn waits(&self) -> bool {
        self.wait.is_some()
    }

    /// When to read next, after a read that found so many requests.
    pub fn next(&mut self, found: u32, now: Nanos) -> NextRead {
        if self.wait.is_none() {
            self.count_immediate_read();
        } else if found >= MANY {
            return NextRead::Now;
        }
        if !self.judged {
            // Nothing was answered since.
            self.judge(false);
        }
        let Some(steps) = self.wait else { return NextRead::WhenReadable };
        NextRead::At((now / GRID + steps) * GRID)
    }

    /// When a wait is over: the next answers tell what came of it. Those that were sent meanwhile do not, as the client may be
    /// reading what it had when the wait began.
    pub fn waited(&mut self) {
        self.judged = false;
    }

    /// When answers are about to be sent: `busy` tells whether the client still has some to read.
    pub fn answers(&mut self, busy: impl FnOnce() -> bool) {
        if !self.judged {
            self.judge(busy());
        }
    }

    /// Counts a read without a wait, and tries a wait after some.
    fn count_immediate_read(&mut self) {
        self.reads += 1;
        if self.reads >= self.trial_after {
            self.reads = 0;
            self.trial_after = (2 * self.trial_after).min(RAREST_TRIAL);
            self.wait = Some(SHORTEST);
            self.poor = 0;
        }
    }

    fn judge(&mut self, busy: bool) {
        self.judged = true;
        let Some(steps) = self.wait else { return };
        if !busy {
            self.good = 0;
            self.poor += u32::from(steps == SHORTEST);
            self.wait = (self.poor < PATIENCE).then_some((steps / 2).max(SHORTEST));
            return;
        }
        self.poor = 0;
        self.good += 1;
        self.trial_after = FIRST_TRIAL;
        if self.good == CONFIDENCE {
            self.good = 0;
            self.wait = Some((steps + 1).min(LONGEST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CONFIDENCE, GRID, LONGEST, MANY, NextRead, PATIENCE, Pace, RAREST_TRIAL, SHORTEST};

    #[test]
    fn a_client_with_one_request_at_a_time_is_hardly_ever_kept_waiting() {
        let mut pace = Pace::new();
        let mut waits = 0;
        for now in 0..1_000_000 {
            if pace.next(1, now) != NextRead::WhenReadable {
                waits += 1;
                pace.waited();
            }
            pace.answers(|| false);
        }
        assert!(waits > 0, "it is tried");
        let trials = 8 + 1_000_000 / RAREST_TRIAL;
        assert!(waits <= trials * PATIENCE, "{waits} waits");
    }

    fn waiting() -> Pace {
        let mut pace = Pace::new();
        let first = (0..100).find(|_| pace.next(1, 0) != NextRead::WhenReadable);
        assert!(first.is_some(), "a trial is made");
        pace
    }

    /// So many waits, each with answers after it.
    fn waits(pace: &mut Pace, count: u32, busy: bool) {
        for _ in 0..count {
            pace.waited();
            pace.answers(|| busy);
            pace.next(1, 0);
        }
    }

    #[test]
    fn a_wait_grows_until_the_client_has_nothing_left_and_is_half_as_long_then() {
        let mut pace = waiting();
        assert_eq!(pace.next(MANY, 0), NextRead::Now);
        waits(&mut pace, 4 * CONFIDENCE, true);
        assert_eq!(pace.wait, Some(SHORTEST + 4));
        waits(&mut pace, 1, false);
        assert_eq!(pace.wait, Some(SHORTEST + 1));
        waits(&mut pace, 1000, true);
        pace.waited();
        pace.answers(|| true);
        assert_eq!(pace.next(1, GRID + 1), NextRead::At((1 + LONGEST) * GRID), "on the grid");
        assert_eq!(pace.next(MANY, 0), NextRead::Now);
    }

    #[test]
    fn a_client_that_reads_everything_at_once_is_not_kept_waiting_any_longer() {
        let mut pace = waiting();
        waits(&mut pace, PATIENCE - 1, false);
        waits(&mut pace, 1, true);
        waits(&mut pace, PATIENCE - 1, false);
        assert!(pace.waits(), "one pause is forgiven");
        waits(&mut pace, 1, false);
        assert!(!pace.waits());
    }

    #[test]
    fn a_client_whose_answers_take_long_is_not_kept_waiting_either() {
        let mut pace = waiting();
        for _ in 0..PATIENCE {
            pace.waited();
            assert!(pace.next(0, 0) != NextRead::Now);
        }
        assert_eq!(pace.next(1, 0), NextRead::WhenReadable);
    }

    /// Writes to a device are answered while the next read waits; what the client has to read then, it had when the wait
    /// began. With 16 writes at once, a client lay idle for 0.37 ms of every 0.8 that way.
    #[test]
    fn answers_during_a_wait_say_nothing_of_it() {
        let mut pace = waiting();
        for _ in 0..PATIENCE {
            pace.answers(|| true);
            pace.waited();
            pace.answers(|| false);
            pace.next(1, 0);
        }
        assert!(!pace.waits());
    }
}
