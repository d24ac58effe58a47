//! Where users wait: for each other at the start, for the next transaction, and for the end.

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
