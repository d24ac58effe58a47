//! A counter of free places.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

/// A counter of free places, given out first come, first served.
#[derive(Clone)]
pub struct Semaphore(Rc<Places>);

struct Places {
    free: Cell<usize>,
    queue: RefCell<Queue>,
}

#[derive(Default)]
struct Queue {
    // Sorted by ticket: tickets are handed out in order and stored in order.
    waiting: VecDeque<Waiter>,
    // Whoever has a place and does not know it yet.
    granted: Vec<u64>,
    next: u64,
}

struct Waiter {
    ticket: u64,
    waker: Waker,
}

impl Semaphore {
    /// A semaphore with that many places.
    pub fn new(places: usize) -> Self {
        Self(Rc::new(Places { free: Cell::new(places), queue: RefCell::default() }))
    }

    /// Waits for a place; dropping the permit frees it.
    pub fn acquire(&self) -> Acquire {
        Acquire { places: Rc::clone(&self.0), ticket: None }
    }

    /// A permit if one is free and no task waits.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit> {
        self.0.take().then(|| Permit(Rc::clone(&self.0)))
    }

    /// How many places are free.
    pub fn free(&self) -> usize {
        self.0.free.get()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.0.queue.borrow().waiting.len()
    }
}

impl Places {
    #[inline]
    fn take(&self) -> bool {
        let free = self.free.get();
        let granted = free > 0 && self.queue.borrow().waiting.is_empty();
        if granted {
            self.free.set(free - 1);
        }
        granted
    }

    #[inline]
    fn give_back(&self) {
        // The place passes straight to the first in the queue, so that nobody overtakes.
        let first = {
            let mut queue = self.queue.borrow_mut();
            let first = queue.waiting.pop_front();
            if let Some(waiter) = &first {
                queue.granted.push(waiter.ticket);
            }
            first
        };
        match first {
            Some(waiter) => waiter.waker.wake(),
            None => self.free.set(self.free.get() + 1),
        }
    }
}

impl Queue {
    fn enter(&mut self, waker: &Waker) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.waiting.push_back(Waiter { ticket, waker: waker.clone() });
        ticket
    }

    /// Whether a place was granted to the ticket, which is then forgotten.
    fn collect(&mut self, ticket: u64) -> bool {
        let position = self.granted.iter().position(|granted| *granted == ticket);
        position.map(|index| self.granted.swap_remove(index)).is_some()
    }

    fn position(&self, ticket: u64) -> usize {
        self.waiting
            .binary_search_by_key(&ticket, |waiter| waiter.ticket)
            .expect("a ticket waits or is granted")
    }
}

/// A place in use.
#[must_use = "dropping the permit frees the place"]
pub struct Permit(Rc<Places>);

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        self.0.give_back();
    }
}

/// Waits for a place; made by [`Semaphore::acquire`].
pub struct Acquire {
    places: Rc<Places>,
    ticket: Option<u64>,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Permit> {
        let Acquire { places, ticket } = &mut *self;
        let Some(own) = *ticket else {
            if places.take() {
                return Poll::Ready(Permit(Rc::clone(places)));
            }
            *ticket = Some(places.queue.borrow_mut().enter(task.waker()));
            return Poll::Pending;
        };
        let mut queue = places.queue.borrow_mut();
        if queue.collect(own) {
            *ticket = None;
            return Poll::Ready(Permit(Rc::clone(places)));
        }
        let position = queue.position(own);
        queue.waiting[position].waker.clone_from(task.waker());
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let granted = self.places.queue.borrow_mut().collect(ticket);
        if granted {
            self.places.give_back();
        } else {
            let mut queue = self.places.queue.borrow_mut();
            let position = queue.position(ticket);
            queue.waiting.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::{Acquire, Permit, Semaphore};

    fn poll(acquire: &mut Acquire) -> Option<Permit> {
        match Pin::new(acquire).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    proptest! {
        /// Against a queue of names: who asks first has a place first, and abandoned ones are passed over.
        #[test]
        fn places_go_to_those_who_asked_first(
            places in 1..4_usize, steps in prop::collection::vec((0..4_u8, any::<prop::sample::Index>()), 1..120),
        ) {
            let semaphore = Semaphore::new(places);
            let mut waiting: VecDeque<(u32, Acquire)> = VecDeque::new();
            let mut holding: Vec<(u32, Permit)> = Vec::new();
            let mut name = 0;
            for (step, pick) in steps {
                match step {
                    0 | 1 => {
                        name += 1;
                        let mut acquire = semaphore.acquire();
                        match poll(&mut acquire) {
                            Some(permit) => {
                                prop_assert!(waiting.is_empty() && holding.len() < places);
                                holding.push((name, permit));
                            }
                            None => waiting.push_back((name, acquire)),
                        }
                    }
                    2 if !holding.is_empty() => drop(holding.swap_remove(pick.index(holding.len()))),
                    3 if !waiting.is_empty() => drop(waiting.remove(pick.index(waiting.len()))),
                    _ => prop_assert_eq!(semaphore.try_acquire().is_some(), semaphore.free() > 0 && waiting.is_empty()),
                }
                // The oldest waiters have what is free, and nobody behind them does.
                let due = (places - holding.len()).min(waiting.len());
                for index in (due..waiting.len()).rev() {
                    prop_assert!(poll(&mut waiting[index].1).is_none(), "a place for who came later");
                }
                for _ in 0..due {
                    let (name, mut acquire) = waiting.pop_front().expect("counted above");
                    let permit = poll(&mut acquire);
                    prop_assert!(permit.is_some(), "no place for who came first");
                    holding.extend(permit.map(|permit| (name, permit)));
                }
                prop_assert_eq!(semaphore.free(), places - holding.len());
                prop_assert_eq!(semaphore.waiting(), waiting.len());
            }
        }
    }

    #[test]
    fn a_place_granted_to_who_no_longer_asks_goes_to_the_next() {
        let semaphore = Semaphore::new(1);
        let held = semaphore.try_acquire();
        let (mut first, mut second) = (semaphore.acquire(), semaphore.acquire());
        assert!(poll(&mut first).is_none() && poll(&mut second).is_none());
        drop(held);
        assert!(semaphore.try_acquire().is_none(), "it belongs to the first already");
        drop(first);
        assert!(poll(&mut second).is_some());
        assert_eq!(semaphore.free(), 1);
    }
}
