//! Cutting off silent peers: by the operator, or by peers that connect later.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

use fathom_runtime::{Either, Signal, first, until};

/// A cancellation that futures are raced against. Clones share it.
#[derive(Clone, Default)]
pub struct Cancellation(Rc<Shared>);

#[derive(Default)]
struct Shared {
    cancelled: Cell<bool>,
    signal: Signal,
}

impl Cancellation {
    /// Cancels, for good.
    pub fn say(&self) {
        self.0.cancelled.set(true);
        self.0.signal.notify();
    }

    /// Whether it was cancelled.
    pub fn is_said(&self) -> bool {
        self.0.cancelled.get()
    }

    /// The future's output, or None, and the future dropped, as soon as it is cancelled.
    pub async fn unless<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match first(until(&self.0.signal, || self.is_said().then_some(())), future).await {
            Either::First(()) => None,
            Either::Second(output) => Some(output),
        }
    }
}

/// Peers of one listener that have not chosen an export yet. If there are too many, the one that has waited longest is cut
/// off, so that a peer that speaks at once is always served.
pub struct UndecidedPeers {
    most: usize,
    inside: RefCell<VecDeque<(u64, Cancellation)>>,
    entered: Cell<u64>,
}

impl UndecidedPeers {
    /// At most so many.
    pub fn new(most: usize) -> Rc<Self> {
        Rc::new(Self { most, inside: RefCell::default(), entered: Cell::new(0) })
    }

    /// Adds a peer that this cancels; true if another one was cut off.
    pub fn enter(self: &Rc<Self>, cancellation: &Cancellation) -> (UndecidedPeer, bool) {
        let number = self.entered.get();
        self.entered.set(number + 1);
        let mut inside = self.inside.borrow_mut();
        inside.push_back((number, cancellation.clone()));
        let too_many = inside.len() > self.most;
        let longest = if too_many { inside.pop_front() } else { None };
        drop(inside);
        if let Some((_, cut)) = &longest {
            cut.say();
        }
        (UndecidedPeer { undecided: Rc::clone(self), number }, longest.is_some())
    }
}

/// One undecided peer; dropping it removes it.
#[must_use = "dropping it leaves the undecided"]
pub struct UndecidedPeer {
    undecided: Rc<UndecidedPeers>,
    number: u64,
}

impl Drop for UndecidedPeer {
    fn drop(&mut self) {
        self.undecided.inside.borrow_mut().retain(|(number, _)| *number != self.number);
    }
}

/// A number of something that ends, however it ends: counted as long as this lives.
#[must_use = "dropping it takes it out of the count"]
pub struct CountGuard(Rc<Cell<usize>>);

impl CountGuard {
    /// Counts one more.
    pub fn one(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }

    /// Counts one more, or None if there are as many as may be.
    pub fn one_of(count: &Rc<Cell<usize>>, most: usize) -> Option<Self> {
        (count.get() < most).then(|| Self::one(count))
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use fathom_runtime::{Runtime, SECOND};

    use super::{Cancellation, CountGuard, UndecidedPeers};

    #[test]
    fn a_cancellation_ends_what_waits_and_nothing_begins_after_it() {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let cut = Cancellation::default();
        let both = runtime.block_on(async {
            let done = cut.unless(context.sleep(SECOND)).await;
            let (later, word) = (context.clone(), cut.clone());
            context.spawn(async move {
                later.sleep(SECOND).await;
                word.say();
            });
            let ended = cut.unless(context.sleep(100 * SECOND)).await;
            (done, ended, cut.unless(async {}).await, context.now())
        });
        assert_eq!(both, Ok((Some(()), None, None, 2 * SECOND)));
    }

    #[test]
    fn the_one_that_has_waited_longest_goes() {
        let undecided = UndecidedPeers::new(2);
        let cuts = [
            Cancellation::default(),
            Cancellation::default(),
            Cancellation::default(),
            Cancellation::default(),
        ];
        let mut inside: Vec<_> = cuts[..3].iter().map(|cut| undecided.enter(cut).0).collect();
        let cancelled = |cuts: &[Cancellation]| cuts.iter().map(Cancellation::is_said).collect::<Vec<_>>();
        assert_eq!(cancelled(&cuts), [true, false, false, false]);
        // One that has spoken makes room.
        drop(inside.remove(1));
        let (_last, another_went) = undecided.enter(&cuts[3]);
        assert!(!another_went);
        assert_eq!(cancelled(&cuts), [true, false, false, false]);
    }

    #[test]
    fn what_has_ended_is_not_counted() {
        let count = Rc::new(Cell::new(0));
        let one = CountGuard::one_of(&count, 1);
        assert!(one.is_some() && CountGuard::one_of(&count, 1).is_none());
        drop(one);
        assert!(CountGuard::one_of(&count, 1).is_some());
        assert_eq!(count.get(), 0);
    }
}
