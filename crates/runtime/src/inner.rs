//! The state of an executor: clock, tasks, timers and one of two drivers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

#[cfg(not(feature = "real"))]
use crate::absent::BusyPoll;
#[cfg(feature = "real")]
use crate::busy::BusyPoll;
use crate::clock::monotonic;
use crate::digest::Digest;
use crate::tasks::{Tasks, wakes_of};
use crate::timer::Timers;
use crate::{Nanos, Ring, SECOND};

/// How many polls may pass before the real clock is read again. One reading costs 18 to 30 ns, as much as a poll; in
/// eight polls about a microsecond passes, below what a block device's latency can show.
const POLLS_PER_CLOCK_READ: u32 = 8;

/// How many polls may pass before the ring is entered again, so that completions are not starved by ready tasks.
pub(crate) const POLLS_PER_RING_ENTRY: u32 = 64;

pub(crate) enum Driver {
    Virtual,
    #[cfg_attr(not(feature = "real"), expect(dead_code, reason = "no ring can be made in this build"))]
    Real {
        ring: Ring,
        start: Nanos,
        busy: BusyPoll,
    },
}

pub(crate) struct Inner {
    pub(crate) driver: Driver,
    now: Cell<Nanos>,
    clock_is_stale: Cell<bool>,
    pub(crate) tasks: Rc<Tasks>,
    timers: RefCell<Timers>,
    pub(crate) digest: Digest,
    pub(crate) seed: u64,
}

impl Inner {
    pub(crate) fn new(driver: Driver, seed: u64) -> Self {
        Self {
            driver,
            now: Cell::new(0),
            clock_is_stale: Cell::new(false),
            tasks: Rc::default(),
            timers: RefCell::new(Timers::new(seed)),
            digest: Digest::default(),
            seed,
        }
    }

    /// The next reading of the clock is a new one.
    pub(crate) fn invalidate_clock(&self) {
        self.clock_is_stale.set(true);
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        if self.clock_is_stale.get() {
            self.read_clock();
        }
        self.now.get()
    }

    fn read_clock(&self) {
        if let Driver::Real { start, .. } = self.driver {
            self.now.set(monotonic() - start);
        }
        self.clock_is_stale.set(false);
    }

    #[inline]
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self.driver, Driver::Virtual)
    }

    #[inline]
    pub(crate) fn add_timer(&self, at: Nanos, waker: &Waker) {
        self.timers.borrow_mut().add(at, wakes_of(waker));
    }

    /// Wakes whatever is due now.
    fn fire_due(&self) {
        let now = self.now();
        loop {
            let due = self.timers.borrow_mut().pop_due(now);
            match due {
                Some(wakes) => self.tasks.fire(wakes),
                None => return,
            }
        }
    }

    fn deadlock(&self) -> Deadlock {
        Deadlock { tasks: self.tasks.live(), at: self.now.get() }
    }

    /// Nothing is ready: lets time pass until something is.
    #[inline]
    pub(crate) fn park(&self) -> Result<(), Deadlock> {
        match &self.driver {
            Driver::Virtual => {
                let next = self.timers.borrow_mut().pop();
                let (at, wakes) = next.ok_or_else(|| self.deadlock())?;
                self.now.set(at);
                self.tasks.run(wakes);
            }
            Driver::Real { ring, busy, .. } => {
                let next = self.timers.borrow_mut().next_at();
                let span = match next {
                    Some(at) => {
                        self.clock_is_stale.set(true);
                        // A day at most per wait: the loop comes back here anyway, and the kernel's timespec cannot
                        // overflow.
                        Some(at.saturating_sub(self.now()).min(86_400 * SECOND))
                    }
                    None if ring.in_flight() == 0 => return Err(self.deadlock()),
                    None => None,
                };
                if !busy.spin(ring, span) {
                    ring.wait(span);
                }
                self.clock_is_stale.set(true);
                let mut polls = POLLS_PER_RING_ENTRY;
                ring.reap(polls as usize, |wakes| {
                    self.spend(&mut polls);
                    self.tasks.run(wakes);
                });
                if next.is_some() {
                    self.fire_due();
                }
            }
        }
        Ok(())
    }

    /// Takes a poll from what may still pass before the ring is entered again.
    #[inline]
    pub(crate) fn spend(&self, polls: &mut u32) {
        if polls.is_multiple_of(POLLS_PER_CLOCK_READ) && !self.is_virtual() {
            self.clock_is_stale.set(true);
        }
        *polls -= 1;
    }

    /// Runs ready tasks until the main future is, or no polls are left; true if no task is left.
    #[inline]
    pub(crate) fn run_ready(&self, polls: &mut u32) -> bool {
        while *polls > 0 {
            let Some(index) = self.tasks.next_ready() else { return true };
            self.spend(polls);
            self.tasks.poll(index);
            if self.tasks.main_woken().get() {
                return false;
            }
        }
        false
    }

    pub(crate) fn serve_ring(&self) {
        if let Driver::Real { ring, .. } = &self.driver {
            ring.poll();
            self.clock_is_stale.set(true);
            ring.reap(usize::MAX, |wakes| self.tasks.fire(wakes));
            let next = self.timers.borrow_mut().next_at();
            if next.is_some_and(|at| at <= self.now()) {
                self.fire_due();
            }
        }
    }
}

/// Every task waits and no timer or I/O is pending: nothing can ever happen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// How many tasks wait.
    pub tasks: usize,
    /// When, on the executor's clock.
    pub at: Nanos,
}

impl std::fmt::Display for Deadlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "deadlock at {} ns: {} tasks wait, no timer and no I/O is pending", self.at, self.tasks)
    }
}
impl std::error::Error for Deadlock {}
