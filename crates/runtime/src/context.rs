//! What running code is handed: the clock, sleep, spawn, randomness, and in the real driver the ring.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use crate::digest::Digest;
use crate::inner::{Driver, Inner};
use crate::random::Random;
use crate::sync::Oneshot;
use crate::{Nanos, Ring};

/// A handle on the executor; cheap to clone.
#[derive(Clone)]
pub struct Context(Rc<Inner>);

impl Context {
    pub(crate) fn new(inner: Rc<Inner>) -> Self {
        Self(inner)
    }

    /// Now, in ns since the executor began.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.0.now()
    }

    /// Waits for a span, in ns.
    pub fn sleep(&self, span: Nanos) -> Sleep<'_> {
        self.sleep_until(self.now().saturating_add(span))
    }

    /// Waits until an instant; returns at once if it has passed.
    pub fn sleep_until(&self, at: Nanos) -> Sleep<'_> {
        Sleep { inner: &self.0, at, armed: false }
    }

    /// Starts a task beside the caller. It runs on even if the handle is dropped.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        let done = Rc::new(Oneshot::default());
        self.0.tasks.spawn(Box::pin(Spawned { future, done: Rc::clone(&done) }));
        JoinHandle(done)
    }

    /// A stream of random numbers of its own, fixed by the executor's seed and this name.
    pub fn random(&self, name: &str) -> Random {
        Random::new(self.0.seed, name)
    }

    /// The executor's seed.
    pub fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Whether time is virtual.
    #[inline]
    pub fn is_virtual(&self) -> bool {
        self.0.is_virtual()
    }

    /// The io_uring of the real driver; none in virtual time, where nothing may touch the outside.
    pub fn ring(&self) -> Option<&Ring> {
        match &self.0.driver {
            Driver::Virtual => None,
            Driver::Real { ring, .. } => Some(ring),
        }
    }

    /// The digest of the event log.
    #[inline]
    pub fn digest(&self) -> &Digest {
        &self.0.digest
    }
}

/// Waits until an instant; made by [`Context::sleep`].
#[must_use = "a sleep does nothing unless awaited"]
pub struct Sleep<'a> {
    inner: &'a Inner,
    at: Nanos,
    armed: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        if self.inner.now() >= self.at {
            return Poll::Ready(());
        }
        if !self.armed {
            self.inner.add_timer(self.at, task.waker());
            self.armed = true;
        }
        Poll::Pending
    }
}

// By hand, not as an async block: each task's every poll passes here.
struct Spawned<F: Future> {
    future: F,
    done: Rc<Oneshot<F::Output>>,
}

impl<F: Future> Future for Spawned<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned with the whole and never moved out; `done` is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let Poll::Ready(output) = future.poll(task) else { return Poll::Pending };
        this.done.give(output);
        Poll::Ready(())
    }
}

/// The result of a spawned task, to be awaited once.
pub struct JoinHandle<T>(Rc<Oneshot<T>>);

impl<T> JoinHandle<T> {
    /// Whether the task is done.
    pub fn is_done(&self) -> bool {
        self.0.is_given()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<T> {
        self.0.poll(task)
    }
}
