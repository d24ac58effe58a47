//! What the users of one phase share: when to stop, how much is left, who is still there, what went wrong.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

use fathom_runtime::{Context, Either, Nanos, Signal, first};

use super::profile::Limit;
use fathom_job::outcome::{Failure, Reason};
use fathom_job::progress::Beat;

/// A user lets the others run after this many requests, however fast they are answered: a device that answers at once
/// would otherwise never let go.
pub const BURST: u32 = 16;

/// Requests that may pass in virtual time without the clock moving, before the run is given up.
const STILL: u64 = 1 << 22;

/// Shared by the users of one phase.
pub struct Stage {
    /// The clock.
    pub context: Context,
    /// Notified when the last user leaves, something fails, or enough requests were done for a progress report.
    pub signal: Signal,
    beat: Beat,
    stopped: Cell<bool>,
    // What is left to begin, in requests or bytes.
    left: Cell<u64>,
    counts_bytes: Cell<bool>,
    users: Cell<u32>,
    failure: RefCell<Option<Failure>>,
    // Requests since the virtual clock last advanced.
    still: Cell<(Nanos, u64)>,
}

impl Stage {
    /// A stage without users; requests are unlimited until [`Stage::limit`].
    pub fn new(context: &Context, signal: &Signal) -> Rc<Self> {
        Rc::new(Self {
            context: context.clone(),
            signal: signal.clone(),
            beat: Beat::new(signal.clone()),
            stopped: Cell::new(false),
            left: Cell::new(u64::MAX),
            counts_bytes: Cell::new(false),
            users: Cell::new(0),
            failure: RefCell::default(),
            still: Cell::new((0, 0)),
        })
    }

    /// From now on at most so much may begin.
    pub fn limit(&self, limit: Limit) {
        let (left, bytes) = match limit {
            Limit::Time(_) => (u64::MAX, false),
            Limit::Requests(count) => (count, false),
            Limit::Bytes(bytes) => (bytes, true),
        };
        self.left.set(left);
        self.counts_bytes.set(bytes);
    }

    /// What is left to begin, in requests or bytes.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Users leave when their request has ended.
    pub fn stop(&self) {
        self.stopped.set(true);
        self.signal.notify();
    }

    /// Waits for something, but no longer than until the stage is stopped.
    pub async fn unless_stopped<F: Future>(&self, mut wait: Pin<&mut F>) {
        while !self.is_stopped()
            && matches!(first(wait.as_mut(), self.signal.wait()).await, Either::Second(()))
        {}
    }

    /// Whether users are to leave.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Whether a request of that length may begin; counts it if so.
    #[inline]
    pub fn admit(&self, length: u64) -> bool {
        let left = self.left.get();
        if left == 0 || self.stopped.get() {
            return false;
        }
        self.left.set(left.saturating_sub(if self.counts_bytes.get() { length } else { 1 }));
        true
    }

    /// A user completed this many requests.
    #[inline]
    pub fn did(&self, requests: u32) {
        self.beat.did(requests);
        if self.context.is_virtual() {
            self.watch_clock(requests);
        }
    }

    fn watch_clock(&self, requests: u32) {
        let now = self.context.now();
        let (since, count) = self.still.get();
        let count = if now == since { count + u64::from(requests) } else { 0 };
        self.still.set((now, count));
        // A run that counts its requests ends even if no time passes.
        if count > STILL && self.left.get() > u64::MAX / 2 {
            self.fail(Failure::new(
                Reason::Settings,
                format!(
                    "virtual time does not advance beyond {now} ns: the volumes answer at once and the users do not think; \
                     limit the run by `requests` or `bytes`, give a `think` time or a `rate`, or use a `model` volume"
                ),
            ));
        }
    }

    /// Something went wrong: the first failure is kept and everybody leaves.
    pub fn fail(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.stop();
    }

    /// What went wrong.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.borrow().clone()
    }

    /// Users still there.
    pub fn users(&self) -> u32 {
        self.users.get()
    }

    /// A user comes; it leaves when the guard is dropped.
    pub fn enter(self: &Rc<Self>) -> ActiveUser {
        self.users.set(self.users.get() + 1);
        ActiveUser(Rc::clone(self))
    }
}

/// A user of the stage, counted until it is dropped.
pub struct ActiveUser(Rc<Stage>);

impl Drop for ActiveUser {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get() - 1);
        if self.0.users.get() == 0 {
            self.0.signal.notify();
        }
    }
}
