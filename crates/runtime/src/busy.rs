//! Busy polling: a wait that is likely to be short is spent spinning instead of sleeping.
//!
//! Going to sleep and being woken costs CPU time, on a virtual machine that leaves its processor 20 us and more, and the
//! same again in latency. Spinning for no longer than twice that never costs much more than sleeping would have (the
//! ski-rental bound of Karlin et al., Algorithmica 3, 1988), and where the answer comes sooner it costs less. Whether it
//! does is learned: as Linux's haltpoll governor (Documentation/virt/guest-halt-polling.rst), it goes on while it pays, and
//! else it is tried again now and then.

use std::cell::Cell;

use crate::clock::{monotonic, read};
use crate::ring::Ring;
use crate::{MICROSECOND, Nanos};

/// How long to spin, in multiples of the cost of a sleep.
const WORTH: u64 = 2;
/// A machine whose sleeps seem to cost more than half of it was busy when they were measured.
const LONGEST: Nanos = 60 * MICROSECOND;
/// Sleeps that are measured at the start.
const SAMPLES: usize = 31;
/// A timer that is due within that many times the limit is what is waited for: it will not come sooner.
const TIMER: u64 = 10;
/// A spin that found something counts one: spinning goes on where two of three do, and ends soon where others want the CPU.
const IN_VAIN: i32 = -2;
const CONTENDED: i32 = -4;
/// Spins of a trial that may be in vain, twice; and as many as count at most.
const TRIAL: i32 = 6;
const MOST: i32 = 16;
/// A trial after that many waits at first; twice as many after each in vain.
const FIRST_TRIAL: u32 = 64;
const RAREST_TRIAL: u32 = 1 << 12;

/// Whether waits are spent spinning, and for how long.
#[derive(Debug, Default)]
pub(crate) struct BusyPoll {
    // 0: never.
    limit: Nanos,
    // Above 0 while waits are spent spinning.
    score: Cell<i32>,
    waits: Cell<u32>,
    trial_after: Cell<u32>,
}

impl BusyPoll {
    /// Measures on this ring, which nothing else uses yet, what a sleep costs.
    pub fn measured(ring: &Ring) -> Self {
        let mut costs = [0; SAMPLES];
        for cost in &mut costs {
            let before = read(libc::CLOCK_THREAD_CPUTIME_ID);
            ring.wait(Some(MICROSECOND));
            *cost = read(libc::CLOCK_THREAD_CPUTIME_ID) - before;
        }
        costs.sort_unstable();
        Self::up_to((WORTH * costs[SAMPLES / 2]).min(LONGEST))
    }

    fn up_to(limit: Nanos) -> Self {
        Self { limit, trial_after: Cell::new(FIRST_TRIAL), ..Self::default() }
    }

    /// Spins for a wait if that is likely to pay; true if something completed. Pending submissions were then handed to the
    /// kernel, and only then.
    pub fn spin(&self, ring: &Ring, span: Option<Nanos>) -> bool {
        if ring.failure().is_some() || !self.pays(span) {
            return false;
        }
        ring.poll();
        if ring.has_completions() {
            // It was there already: that says nothing about waits.
            return true;
        }
        let mut now = monotonic();
        let end = now + self.limit;
        loop {
            // SAFETY: it takes no arguments.
            unsafe { libc::sched_yield() };
            ring.poll();
            let found = ring.has_completions();
            let before = std::mem::replace(&mut now, monotonic());
            // Somebody else needs the CPU: who sleeps is woken sooner then than who spins gets its turn. Not so if it did what
            // is waited for, as a worker thread of the kernel does.
            let contended = now - before > self.limit / 4;
            if found || contended || now >= end {
                self.learn(if found {
                    1
                } else if contended {
                    CONTENDED
                } else {
                    IN_VAIN
                });
                return found;
            }
        }
    }

    fn pays(&self, span: Option<Nanos>) -> bool {
        if self.limit == 0 || span.is_some_and(|span| span < TIMER * self.limit) {
            return false;
        }
        if self.score.get() > 0 {
            return true;
        }
        self.waits.set(self.waits.get() + 1);
        if self.waits.get() < self.trial_after.get() {
            return false;
        }
        self.waits.set(0);
        self.trial_after.set((2 * self.trial_after.get()).min(RAREST_TRIAL));
        self.score.set(TRIAL);
        true
    }

    fn learn(&self, counts: i32) {
        self.score.set((self.score.get() + counts).min(MOST));
        if self.score.get() == MOST {
            self.trial_after.set(FIRST_TRIAL);
        } else if self.score.get() <= 0 && counts == CONTENDED {
            self.trial_after.set(RAREST_TRIAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BusyPoll, CONTENDED, FIRST_TRIAL, IN_VAIN, LONGEST, MOST, RAREST_TRIAL, TIMER, TRIAL};
    use crate::RingSetup;
    use crate::ring::Ring;
    use crate::{MICROSECOND, SECOND};

    #[test]
    fn spins_in_vain_end_soon_and_are_tried_seldom() {
        let busy = BusyPoll::up_to(50 * MICROSECOND);
        let mut spins = 0;
        for _ in 0..1_000_000 {
            if busy.pays(None) {
                spins += 1;
                busy.learn(IN_VAIN);
            }
        }
        let trials = (RAREST_TRIAL / FIRST_TRIAL).ilog2() + 1_000_000 / RAREST_TRIAL;
        assert!(spins > 0, "it is tried");
        assert!(spins <= (trials * TRIAL as u32).div_ceil(2), "{spins} spins in vain");
    }

    #[test]
    fn spinning_goes_on_while_two_of_three_find_something() {
        let busy = BusyPoll::up_to(50 * MICROSECOND);
        let first = (0..2 * FIRST_TRIAL).find(|_| busy.pays(None));
        assert!(first.is_some(), "a trial is made");
        for round in 0..1000 {
            assert!(busy.pays(None), "round {round}");
            busy.learn(if round % 4 == 0 { IN_VAIN } else { 1 });
        }
        (0..MOST).for_each(|_| busy.learn(1));
        (0..MOST / -CONTENDED).for_each(|_| busy.learn(CONTENDED));
        let waits = (0..RAREST_TRIAL).find(|_| busy.pays(None));
        assert_eq!(waits, Some(RAREST_TRIAL - 1), "others want the CPU");
    }

    #[test]
    fn a_timer_that_is_due_is_waited_for_asleep() {
        let busy = BusyPoll::up_to(50 * MICROSECOND);
        busy.learn(1);
        assert!(busy.pays(None));
        assert!(busy.pays(Some(SECOND)));
        assert!(!busy.pays(Some(TIMER * 50 * MICROSECOND - 1)));
        let never = BusyPoll::default();
        assert!((0..100_000).all(|_| !never.pays(None)));
    }

    #[test]
    fn a_sleep_costs_something_and_a_spin_in_vain_says_so() {
        let ring = Ring::new(RingSetup::default()).expect("the tests need an io_uring");
        let busy = BusyPoll::measured(&ring);
        assert!((1..=LONGEST).contains(&busy.limit), "{} ns", busy.limit);
        busy.learn(1);
        assert!(!busy.spin(&ring, None));
        assert!(!busy.pays(None), "one in vain after one that found something");
    }
}
