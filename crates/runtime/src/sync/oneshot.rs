//! One value from one task to another.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// A place for one value, which one task gives and another one awaits. Once taken, the place is empty again.
pub struct Oneshot<T>(RefCell<State<T>>);

enum State<T> {
    Empty(Option<Waker>),
    Given(T),
}

impl<T> Default for Oneshot<T> {
    fn default() -> Self {
        Self(RefCell::new(State::Empty(None)))
    }
}

impl<T> Oneshot<T> {
    /// Gives the value; dropped if an earlier one was not taken yet.
    #[inline]
    pub fn give(&self, value: T) {
        let mut state = self.0.borrow_mut();
        let State::Empty(waker) = &mut *state else { return };
        let waker = waker.take();
        *state = State::Given(value);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether a value was given and not taken yet.
    pub fn is_given(&self) -> bool {
        matches!(*self.0.borrow(), State::Given(_))
    }

    /// Waits for the value.
    pub async fn wait(&self) -> T {
        poll_fn(|task| self.poll(task)).await
    }

    /// The value, or a wake-up when it is given.
    #[inline]
    pub(crate) fn poll(&self, task: &Context<'_>) -> Poll<T> {
        let mut state = self.0.borrow_mut();
        match std::mem::replace(&mut *state, State::Empty(None)) {
            State::Given(value) => Poll::Ready(value),
            State::Empty(_) => {
                *state = State::Empty(Some(task.waker().clone()));
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::Oneshot;
    use crate::Runtime;

    #[test]
    fn the_first_value_counts_whoever_comes_first() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let early = Oneshot::default();
        early.give(1);
        early.give(2);
        assert!(early.is_given());
        let late = Rc::new(Oneshot::default());
        let (giver, later) = (Rc::clone(&late), context.clone());
        context.spawn(async move {
            later.sleep(10).await;
            giver.give(3);
        });
        let both = runtime.block_on(async { (early.wait().await, late.wait().await, context.now()) });
        assert_eq!(both, Ok((1, 3, 10)));
        assert!(!early.is_given());
        early.give(4);
        assert_eq!(runtime.block_on(early.wait()), Ok(4));
    }
}
