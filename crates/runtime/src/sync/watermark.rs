//! A position that only grows, and tasks that each wait for one of their own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A position, for instance the end of what a log has hardened. It wakes only the waiters whose position is reached.
#[derive(Default)]
pub struct Watermark {
    at: Cell<u64>,
    closed: Cell<bool>,
    // By position, then by arrival.
    waiting: RefCell<BTreeMap<(u64, u64), Waker>>,
    arrivals: Cell<u64>,
}

impl Watermark {
    /// The position reached.
    pub fn get(&self) -> u64 {
        self.at.get()
    }

    /// Moves on to a position and wakes, in order of their positions, those who wait for it or for less.
    pub fn advance(&self, to: u64) {
        self.at.set(self.at.get().max(to));
        let Some(next) = self.at.get().checked_add(1) else { return self.wake_all() };
        let mut waiting = self.waiting.borrow_mut();
        if waiting.first_key_value().is_none_or(|((position, _), _)| *position >= next) {
            return;
        }
        let later = waiting.split_off(&(next, 0));
        let reached = std::mem::replace(&mut *waiting, later);
        drop(waiting);
        reached.into_values().for_each(Waker::wake);
    }

    /// Closes it: no further position will be reached, and all waiters are woken.
    pub fn close(&self) {
        self.closed.set(true);
        self.wake_all();
    }

    fn wake_all(&self) {
        let all = std::mem::take(&mut *self.waiting.borrow_mut());
        all.into_values().for_each(Waker::wake);
    }

    /// Waits until the position is reached; false if it never will be.
    pub fn reach(&self, position: u64) -> Reach<'_> {
        Reach { mark: self, position, ticket: None }
    }
}

/// Waits for a position; made by [`Watermark::reach`].
#[must_use = "futures do nothing unless awaited"]
pub struct Reach<'a> {
    mark: &'a Watermark,
    position: u64,
    ticket: Option<u64>,
}

impl Future for Reach<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<bool> {
        let mark = self.mark;
        let is_reached = mark.at.get() >= self.position;
        if is_reached || mark.closed.get() {
            return Poll::Ready(is_reached);
        }
        let ticket = *self.ticket.get_or_insert_with(|| {
            let ticket = mark.arrivals.get();
            mark.arrivals.set(ticket + 1);
            ticket
        });
        mark.waiting.borrow_mut().insert((self.position, ticket), task.waker().clone());
        Poll::Pending
    }
}

impl Drop for Reach<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.mark.waiting.borrow_mut().remove(&(self.position, ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::Poll;

    use proptest::prelude::*;

    use super::Watermark;
    use crate::Runtime;

    proptest! {
        /// Against the definition: at each step exactly those wake who wait for what is reached, in order.
        #[test]
        fn only_who_waits_for_what_is_reached_wakes(
            positions in prop::collection::vec(0..40_u64, 1..40), steps in prop::collection::vec(0..6_u64, 1..12),
        ) {
            let runtime = Runtime::virtual_time(1);
            let context = runtime.context();
            let mark = Rc::new(Watermark::default());
            let (polls, woken) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(Vec::new())));
            for (name, position) in positions.iter().copied().enumerate() {
                let (mark, polls, woken) = (Rc::clone(&mark), Rc::clone(&polls), Rc::clone(&woken));
                context.spawn(async move {
                    let mut reach = pin!(mark.reach(position));
                    let reached = poll_fn(|task| {
                        polls.set(polls.get() + 1);
                        reach.as_mut().poll(task)
                    });
                    assert!(reached.await);
                    woken.borrow_mut().push((position, name));
                });
            }
            let done = runtime.block_on(async {
                let (mut at, mut due) = (0, Vec::new());
                for step in steps {
                    at += step;
                    mark.advance(at);
                    context.sleep(1).await;
                    let mut now: Vec<_> = positions.iter().copied().zip(0..).filter(|who| who.0 <= at && !due.contains(who)).collect();
                    now.sort_unstable();
                    due.extend(now);
                    let mut expected = due.clone();
                    let mut found = woken.borrow().clone();
                    expected.sort_unstable();
                    found.sort_unstable();
                    assert_eq!(found, expected);
                }
                due.len()
            });
            let done = done.expect("nothing waits for ever");
            // One poll to begin to wait, and one more for each who had to and was woken.
            let at_once = positions.iter().filter(|position| **position <= mark.get()).count();
            prop_assert_eq!(done, at_once);
            prop_assert!(polls.get() <= positions.len() + done);
        }
    }

    #[test]
    fn the_end_is_told_to_all_and_who_gives_up_is_forgotten() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let mark = Watermark::default();
        let ends = runtime.block_on(async {
            let mut given_up = Box::pin(mark.reach(5));
            poll_fn(|task| Poll::Ready(given_up.as_mut().poll(task).is_pending())).await;
            drop(given_up);
            assert!(mark.waiting.borrow().is_empty());
            mark.advance(3);
            mark.advance(2);
            mark.close();
            (mark.reach(3).await, mark.reach(4).await, mark.get(), context.now())
        });
        assert_eq!(ends, Ok((true, false, 3, 0)));
    }
}
