//! One way to share a device between users and background work: destaging, rebuilding, scrubbing, filling a cache.
//!
//! # What it does
//! A user's request goes to the device at once. Background work waits here, and goes when the device has room, or when it is
//! owed: of users who want all of the device, `guaranteed` percent of its time are taken off. Nothing is on its way ahead
//! of a user's request but what fills the device, and what was owed.
//!
//! What a device can do is learned from its completions ([`device::Device`]), or stated.
//!
//! # Why so
//! docs/WRITEBACK.md, "Sharing the backing volume".

pub mod device;
mod queue;
pub(crate) mod settings;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use fathom_runtime::{Context, Nanos};
use fathom_volume::{Class, Request, Result};

use device::Done;
pub use device::Stated;
pub use queue::Rules;
use queue::{Queue, Sent};

const CLASSES: usize = Class::ALL.len();
/// A database's page.
const PAGE: u64 = 8 << 10;

/// What a door has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Device time by class, ns, by what is known of the device; in the order of [`Class::ALL`].
    pub used: [Nanos; CLASSES],
    /// How long users waited for background work that was on its way before them, ns; an estimate.
    pub waited: Nanos,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.used.iter_mut().zip(other.used).for_each(|(sum, more)| *sum += more);
        self.waited += other.waited;
        self
    }

    /// Device time of a class, ns.
    pub fn of(&self, class: Class) -> Nanos {
        self.used[class as usize]
    }
}

struct Inner {
    context: Context,
    queue: RefCell<Queue>,
    /// Who was let through and does not know it yet; and who waits.
    granted: RefCell<BTreeMap<u64, Sent>>,
    wakers: RefCell<BTreeMap<u64, Waker>>,
    next: Cell<u64>,
    usage: Cell<Usage>,
    /// Until when scrubs leave the device to users.
    rest: Cell<Nanos>,
}

/// The door to one device. Cheap to clone.
#[derive(Clone)]
pub struct Gate(Rc<Inner>);

impl Gate {
    /// An open door.
    pub fn new(context: &Context, rules: Rules) -> Self {
        Self(Rc::new(Inner {
            context: context.clone(),
            queue: RefCell::new(Queue::new(rules)),
            granted: RefCell::default(),
            wakers: RefCell::default(),
            next: Cell::new(0),
            usage: Cell::default(),
            rest: Cell::new(0),
        }))
    }

    /// Whether both are the same door.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Changes the guaranteed part, in percent.
    pub fn guarantee(&self, percent: u64) {
        self.0.queue.borrow_mut().guarantee(percent);
    }

    /// Whether background work may fill what users leave of the window, instead of its part of it.
    pub fn fill_gaps(&self, fill: bool) {
        self.0.queue.borrow_mut().fill_gaps(fill);
    }

    /// Whether filling a cache pays; see [`Gate::cost`].
    pub fn fills_pay(&self, pay: bool) {
        self.0.queue.borrow_mut().fills_pay(pay);
    }

    /// What a request of so many bytes costs the device, in parts of a small one.
    pub fn cost(&self, bytes: u64) -> u64 {
        self.0.queue.borrow().device().cost(bytes)
    }

    /// The most bytes, `least` times a power of two up to `most`, that cost the device at most half as much again as a page.
    pub fn cheap(&self, least: u64, most: u64) -> u64 {
        let queue = self.0.queue.borrow();
        let affordable = queue.device().cost(PAGE) * 3 / 2;
        let mut size = least;
        while size < most && queue.device().cost(2 * size) <= affordable {
            size *= 2;
        }
        size
    }

    /// Device time of a request of so many bytes, ns; 0 if not known.
    pub fn time(&self, bytes: u64) -> f64 {
        let queue = self.0.queue.borrow();
        queue.device().time(queue.device().cost(bytes))
    }

    /// Device time of all that passed, ns.
    pub fn busy(&self) -> Nanos {
        self.0.usage.get().used.iter().sum()
    }

    /// What passed.
    pub fn usage(&self) -> Usage {
        self.0.usage.get()
    }

    /// A user's request goes to the device now.
    pub fn user(&self, bytes: u64, write: bool) -> Pass {
        let now = self.0.context.now();
        let mut queue = self.0.queue.borrow_mut();
        if queue.is_full() {
            let ahead = queue.device().time(queue.background());
            let mut usage = self.0.usage.get();
            usage.waited += ahead as Nanos;
            self.0.usage.set(usage);
        }
        let sent = queue.user(bytes, now);
        drop(queue);
        Pass { gate: self.clone(), class: Class::Foreground, bytes, write, sent, begun: now, whole: false }
    }

    /// Waits for the turn of a background request; a user's has it at once.
    pub async fn pass(&self, class: Class, bytes: u64, write: bool) -> Pass {
        if class == Class::Foreground {
            return self.user(bytes, write);
        }
        // Nobody waits for a scrub: it has its part of the time even where users leave gaps, and no more.
        while class == Class::Scrub && self.0.rest.get() > self.0.context.now() {
            self.0.context.sleep_until(self.0.rest.get()).await;
        }
        let ticket = self.0.next.get();
        self.0.next.set(ticket + 1);
        self.0.queue.borrow_mut().enter(class, ticket, bytes);
        self.0.let_through();
        let sent = Enter { gate: &self.0, class, ticket: Some(ticket) }.await;
        Pass { gate: self.clone(), class, bytes, write, sent, begun: self.0.context.now(), whole: false }
    }

    /// As [`Gate::pass`], for a request as it came.
    pub async fn pass_for(&self, request: &Request, write: bool) -> Pass {
        self.pass(request.class, request.length, write).await
    }
}

impl Inner {
    fn let_through(&self) {
        loop {
            let next = self.queue.borrow_mut().next(self.context.now());
            let Some((ticket, sent)) = next else { return };
            self.granted.borrow_mut().insert(ticket, sent);
            if let Some(waker) = self.wakers.borrow_mut().remove(&ticket) {
                waker.wake();
            }
        }
    }

    fn done(&self, class: Class, sent: Sent, done: Option<Done>) {
        let (mut queue, now) = (self.queue.borrow_mut(), self.context.now());
        queue.done(class, sent, done, now);
        if let Some(done) = done.filter(|_| class == Class::Scrub) {
            self.rest.set(now + queue.rest(&done, now));
        }
        let mut usage = self.usage.get();
        usage.used[class as usize] += queue.device().time(sent.cost) as Nanos;
        self.usage.set(usage);
        drop(queue);
        self.let_through();
    }
}

/// Waits for the turn of a request.
struct Enter<'a> {
    gate: &'a Inner,
    class: Class,
    // None once the turn has come.
    ticket: Option<u64>,
}

impl Future for Enter<'_> {
    type Output = Sent;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Sent> {
        let gate = self.gate;
        let ticket = self.ticket.expect("it is polled until it is ready");
        match gate.granted.borrow_mut().remove(&ticket) {
            None => {
                gate.wakers.borrow_mut().insert(ticket, task.waker().clone());
                Poll::Pending
            }
            Some(sent) => {
                self.ticket = None;
                Poll::Ready(sent)
            }
        }
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        self.gate.wakers.borrow_mut().remove(&ticket);
        let granted = self.gate.granted.borrow_mut().remove(&ticket);
        match granted {
            Some(sent) => self.gate.done(self.class, sent, None),
            None => {
                self.gate.queue.borrow_mut().leave(self.class, ticket);
                self.gate.let_through();
            }
        }
    }
}

/// A request is at the device.
#[must_use = "dropping the pass tells that the request has ended"]
pub struct Pass {
    gate: Gate,
    class: Class,
    bytes: u64,
    write: bool,
    sent: Sent,
    begun: Nanos,
    whole: bool,
}

impl Pass {
    /// The request was answered: what it took says something about the device.
    pub fn end(mut self) {
        self.whole = true;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let latency = self.gate.0.context.now() - self.begun;
        let Sent { cost, before } = self.sent;
        let done = Done { write: self.write, bytes: self.bytes, cost, before, latency };
        self.gate.0.done(self.class, self.sent, self.whole.then_some(done));
    }
}

/// Gives a pass back, if there is one; the device is judged by requests that it answered without an error.
pub(crate) fn ended(pass: Option<Pass>, answer: &Result<()>) {
    if let Some(pass) = pass.filter(|_| answer.is_ok()) {
        pass.end();
    }
}
