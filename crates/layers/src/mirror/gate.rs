//! The door to one leg: open to all while nothing is rebuilt; during a rebuild, [`Share`] says who is next.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, Waker};

use fathom_runtime::{Context, Nanos};
use fathom_volume::Class;

use super::share::{Capacity, Share};

/// The door to one leg.
pub struct Gate {
    context: Context,
    share: RefCell<Share>,
    /// Who was let through and does not know it yet, with the cost; and who waits.
    granted: RefCell<BTreeMap<u64, Nanos>>,
    wakers: RefCell<BTreeMap<u64, Waker>>,
    guarded: Cell<bool>,
    next: Cell<u64>,
    /// Device time by class, ns.
    used: Cell<[Nanos; 2]>,
}

impl Gate {
    /// An open door.
    pub fn new(context: &Context, capacity: Capacity) -> Self {
        Self {
            context: context.clone(),
            share: RefCell::new(Share::new(capacity)),
            granted: RefCell::default(),
            wakers: RefCell::default(),
            guarded: Cell::new(false),
            next: Cell::new(0),
            used: Cell::new([0; 2]),
        }
    }

    /// Whether requests are to queue: while a rebuild runs. Who waits already is let through in turn.
    pub fn guard(&self, guarded: bool) {
        self.guarded.set(guarded);
    }

    /// Whether requests queue.
    pub fn is_guarded(&self) -> bool {
        self.guarded.get()
    }

    /// Device time that requests of a class took while the door was guarded, ns by the leg's figures.
    pub fn used(&self, class: Class) -> Nanos {
        self.used.get()[class as usize]
    }

    /// Waits for the turn of a request; dropping the pass tells that it has ended.
    pub fn enter(&self, class: Class, bytes: u64) -> Enter<'_> {
        if !self.guarded.get() {
            return Enter { gate: self, class, ticket: None, cost: 0 };
        }
        let ticket = self.next.get();
        self.next.set(ticket + 1);
        let cost = self.share.borrow().capacity().cost(bytes);
        self.share.borrow_mut().enter(class, ticket, cost, self.context.now());
        self.let_through();
        Enter { gate: self, class, ticket: Some(ticket), cost }
    }

    fn let_through(&self) {
        loop {
            let next = self.share.borrow_mut().next(self.context.now());
            let Some((ticket, cost)) = next else { return };
            self.granted.borrow_mut().insert(ticket, cost);
            if let Some(waker) = self.wakers.borrow_mut().remove(&ticket) {
                waker.wake();
            }
        }
    }

    fn done(&self, class: Class, cost: Nanos) {
        let mut used = self.used.get();
        used[class as usize] += cost;
        self.used.set(used);
        self.share.borrow_mut().done(class, cost, self.context.now());
        self.let_through();
    }
}

/// Waits for the turn of a request; made by [`Gate::enter`].
pub struct Enter<'a> {
    gate: &'a Gate,
    class: Class,
    // None once the turn has come, or if there is no queue.
    ticket: Option<u64>,
    cost: Nanos,
}

impl<'a> Future for Enter<'a> {
    type Output = Pass<'a>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Pass<'a>> {
        let (gate, class, cost) = (self.gate, self.class, self.cost);
        if let Some(ticket) = self.ticket {
            if gate.granted.borrow_mut().remove(&ticket).is_none() {
                gate.wakers.borrow_mut().insert(ticket, task.waker().clone());
                return Poll::Pending;
            }
            self.ticket = None;
        }
        Poll::Ready(Pass { gate, class, cost })
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        self.gate.wakers.borrow_mut().remove(&ticket);
        if self.gate.granted.borrow_mut().remove(&ticket).is_some() {
            self.gate.done(self.class, self.cost);
        } else {
            self.gate.share.borrow_mut().leave(self.class, ticket);
            self.gate.let_through();
        }
    }
}

/// A request is at the leg.
#[must_use = "dropping the pass tells that the request has ended"]
pub struct Pass<'a> {
    gate: &'a Gate,
    class: Class,
    cost: Nanos,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.cost > 0 {
            self.gate.done(self.class, self.cost);
        }
    }
}
