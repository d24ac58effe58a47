//! Where users wait: for each other at the start, for the next transaction, and for the end; and what waits for users.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fathom_job::draw::{ArrivalProcess, Arrivals};
use fathom_runtime::{Nanos, Random, monotonic};

/// The gate in front of a run: users arrive, it opens for all of them at once, and it closes when the run is over.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    arrived: u32,
    opened: Option<Nanos>,
    closed: bool,
}

impl Gate {
    /// A user waits at the gate.
    pub(super) fn arrive(&self) {
        self.state.lock().expect("the lock is never poisoned").arrived += 1;
        self.changed.notify_all();
    }

    /// Waits at most that long for that many users; whether they came. Returns immediately if the gate is closed.
    pub(super) fn wait_arrived(&self, users: u32, at_most: Nanos) -> bool {
        let state = self.state.lock().expect("the lock is never poisoned");
        let waits = |state: &mut State| state.arrived < users && !state.closed;
        let waited = self.changed.wait_timeout_while(state, Duration::from_nanos(at_most), waits);
        waited.expect("the lock is never poisoned").0.arrived >= users
    }

    /// Opens; the run begins at `now`.
    pub(super) fn open(&self, now: Nanos) {
        self.state.lock().expect("the lock is never poisoned").opened = Some(now);
        self.changed.notify_all();
    }

    /// Waits until the gate opens, and says when that was; None if it closes instead.
    pub(super) fn wait_open(&self) -> Option<Nanos> {
        let state = self.state.lock().expect("the lock is never poisoned");
        let waits = |state: &mut State| state.opened.is_none() && !state.closed;
        let state = self.changed.wait_while(state, waits).expect("the lock is never poisoned");
        if state.closed { None } else { state.opened }
    }

    /// The run is over.
    pub(super) fn close(&self) {
        self.state.lock().expect("the lock is never poisoned").closed = true;
        self.changed.notify_all();
    }

    /// Whether it is over.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().expect("the lock is never poisoned").closed
    }

    /// Sleeps until that moment; false if the run is over before.
    pub(super) fn sleep_until(&self, moment: Nanos) -> bool {
        loop {
            let now = monotonic();
            if now >= moment {
                return true;
            }
            let state = self.state.lock().expect("the lock is never poisoned");
            let left = Duration::from_nanos(moment - now);
            let (state, _) = self
                .changed
                .wait_timeout_while(state, left, |state| !state.closed)
                .expect("the lock is never poisoned");
            if state.closed {
                return false;
            }
        }
    }
}

/// The moments at which transactions are meant to begin, shared by all users.
pub(super) struct Schedule(ArrivalProcess);

impl Schedule {
    pub(super) fn new(arrivals: Arrivals, per_second: f64, seed: u64) -> Self {
        Self(ArrivalProcess::new(arrivals, per_second, Random::new(seed, "virtual users/arrivals")))
    }

    /// The next one, ns since the gate opened.
    pub(super) fn next_at(&mut self) -> Nanos {
        self.0.next_at()
    }
}

/// What arrived at a rate, and what of it waits for a free user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Transactions that were due in the measured phase.
    pub count: u64,
    /// Those waiting now.
    pub waiting: u64,
    /// The most that waited at once.
    pub longest: u64,
}

/// Counts what is due and what has begun. Its schedule is a second one of the same seed: users take the moments of theirs
/// as they become free, which says nothing of what has arrived by then.
pub(super) struct Queue {
    schedule: Schedule,
    opened: Nanos,
    next: Nanos,
    arrived: Arrived,
}

impl Queue {
    /// A queue of what is due by that schedule, which nobody has drawn from.
    pub(super) fn new(mut schedule: Schedule) -> Self {
        let next = schedule.next_at();
        Self { schedule, opened: 0, next, arrived: Arrived::default() }
    }

    /// The gate opens at `now`.
    pub(super) fn open(&mut self, now: Nanos) {
        self.opened = now;
    }

    /// Counts what has arrived by `now`.
    pub(super) fn advance(&mut self, now: Nanos) {
        while self.opened + self.next <= now {
            self.arrived.count += 1;
            self.arrived.waiting += 1;
            self.next = self.schedule.next_at();
        }
    }

    /// A user begins with the first that waits.
    pub(super) fn take(&mut self, now: Nanos) {
        self.advance(now);
        self.arrived.waiting -= 1;
        self.arrived.longest = self.arrived.longest.max(self.arrived.waiting);
    }

    /// The measured phase begins; what waits by then waits on.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.advance(now);
        let waiting = self.arrived.waiting;
        self.arrived = Arrived { count: 0, waiting, longest: waiting };
    }

    /// The counts when the measured phase ends.
    pub(super) fn counts(&mut self, now: Nanos) -> Arrived {
        self.advance(now);
        self.arrived.longest = self.arrived.longest.max(self.arrived.waiting);
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use fathom_job::draw::Arrivals;
    use fathom_runtime::{MILLISECOND, SECOND};

    use super::{Arrived, Queue, Schedule};

    #[test]
    fn what_nobody_takes_waits() {
        // Due every 100 ms, the first of them 100 ms after the gate opens.
        let mut queue = Queue::new(Schedule::new(Arrivals::Constant, 10.0, 1));
        queue.open(SECOND);
        queue.take(SECOND + 100 * MILLISECOND);
        queue.restart(SECOND + 150 * MILLISECOND);
        queue.take(SECOND + 450 * MILLISECOND);
        queue.take(SECOND + 450 * MILLISECOND);
        assert_eq!(queue.counts(SECOND + 450 * MILLISECOND), Arrived { count: 3, waiting: 1, longest: 2 });
        assert_eq!(queue.counts(2 * SECOND), Arrived { count: 9, waiting: 7, longest: 7 });
    }

    #[test]
    fn a_user_takes_the_arrival_that_it_drew() {
        for seed in 0..20 {
            let schedule = || Schedule::new(Arrivals::Poisson, 1000.0, seed);
            let (mut users, mut queue) = (schedule(), Queue::new(schedule()));
            queue.open(0);
            for _ in 0..1000 {
                queue.take(users.next_at());
            }
            let counted = queue.counts(0);
            assert_eq!((counted.count, counted.waiting), (1000, 0), "seed {seed}");
        }
    }
}
