//! Something that happens again and again, and giving way to others.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

/// Yields to every other ready task.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|task| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A repeatable event: waiters are woken by the next [`Signal::notify`].
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

    /// Wakes one of those who wait now, the one that came last: for work that one task does.
    pub fn notify_one(&self) {
        self.0.count.set(self.0.count.get() + 1);
        let waker = self.0.wakers.borrow_mut().pop();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for the next notification after this call.
    pub fn wait(&self) -> Wait {
        Wait { state: Rc::clone(&self.0), seen: self.0.count.get() }
    }
}

/// Waits until `ready` has something, asked again after each notification of the signal.
pub async fn until<T>(signal: &Signal, mut ready: impl FnMut() -> Option<T>) -> T {
    loop {
        let wait = signal.wait();
        if let Some(found) = ready() {
            return found;
        }
        wait.await;
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
