//! Exclusive locks on byte ranges, first come, first served: a request waits for every earlier one that it overlaps.

use std::cell::RefCell;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The decisions: which hold, which wait, which is next. Knows no task.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    // In order of arrival; as short as the queue is deep, so it is searched from the front.
    entries: Vec<Entry>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    ticket: u64,
    range: Range<u64>,
    held: bool,
    waker: Option<Waker>,
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Queue {
    /// Asks for a range; the ticket, and whether the lock is held at once.
    pub fn ask(&mut self, range: Range<u64>) -> (u64, bool) {
        let held = !self.entries.iter().any(|entry| overlap(&entry.range, &range));
        let ticket = self.next;
        self.next += 1;
        self.entries.push(Entry { ticket, range, held, waker: None });
        (ticket, held)
    }

    fn position(&self, ticket: u64) -> usize {
        // Tickets are handed out and stored in order.
        self.entries.binary_search_by_key(&ticket, |entry| entry.ticket).expect("a ticket is given back once")
    }

    /// Whether the lock is held now.
    pub fn is_held(&self, ticket: u64) -> bool {
        self.entries[self.position(ticket)].held
    }

    /// Releases a lock, or a place in the queue; returns those that hold a lock because of that.
    pub fn give_back(&mut self, ticket: u64) -> Vec<u64> {
        let position = self.position(ticket);
        let freed = self.entries.remove(position);
        let mut granted = Vec::new();
        for index in position..self.entries.len() {
            let entry = &self.entries[index];
            let waits = !entry.held && overlap(&entry.range, &freed.range);
            if waits && !self.entries[..index].iter().any(|earlier| overlap(&earlier.range, &entry.range)) {
                granted.push(entry.ticket);
                self.entries[index].held = true;
            }
        }
        granted
    }

    fn waker(&mut self, ticket: u64) -> &mut Option<Waker> {
        let position = self.position(ticket);
        &mut self.entries[position].waker
    }
}

/// Locks on ranges of one volume; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RangeLock(Rc<RefCell<Queue>>);

impl RangeLock {
    /// Waits until the range `start..end` (bytes) overlaps no earlier request; dropping the guard frees it.
    pub fn lock(&self, range: Range<u64>) -> Locking {
        let (ticket, held) = self.0.borrow_mut().ask(range);
        Locking { guard: Some(RangeGuard { lock: self.clone(), ticket }), held }
    }
}

/// A locked range.
#[derive(Debug)]
#[must_use = "dropping the guard frees the range"]
pub struct RangeGuard {
    lock: RangeLock,
    ticket: u64,
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        let mut queue = self.lock.0.borrow_mut();
        for ticket in queue.give_back(self.ticket) {
            if let Some(waker) = queue.waker(ticket).take() {
                waker.wake();
            }
        }
    }
}

/// Waits for a range; made by [`RangeLock::lock`]. Dropped, it gives its place in the queue back.
#[must_use = "a lock is taken only if awaited"]
pub struct Locking {
    guard: Option<RangeGuard>,
    held: bool,
}

impl Future for Locking {
    type Output = RangeGuard;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<RangeGuard> {
        let guard = self.guard.as_ref().expect("a lock is awaited once");
        if !self.held {
            let mut queue = guard.lock.0.borrow_mut();
            if !queue.is_held(guard.ticket) {
                *queue.waker(guard.ticket) = Some(task.waker().clone());
                return Poll::Pending;
            }
        }
        Poll::Ready(self.guard.take().expect("checked above"))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use fathom_runtime::Runtime;
    use proptest::prelude::*;

    use super::{Queue, RangeLock, overlap};

    proptest! {
        /// Against the definition: a ticket holds exactly if no earlier ticket that is still there overlaps it.
        #[test]
        fn whoever_overlaps_nobody_earlier_holds(
            steps in prop::collection::vec((any::<bool>(), 0..40_u64, 1..12_u64, any::<prop::sample::Index>()), 1..80),
        ) {
            let mut queue = Queue::default();
            let mut there: Vec<(u64, std::ops::Range<u64>)> = Vec::new();
            for (ask, start, length, pick) in steps {
                let before: Vec<u64> =
                    there.iter().map(|(ticket, _)| *ticket).filter(|ticket| queue.is_held(*ticket)).collect();
                if ask || there.is_empty() {
                    let range = start..start + length;
                    let (ticket, held) = queue.ask(range.clone());
                    prop_assert_eq!(held, queue.is_held(ticket));
                    there.push((ticket, range));
                } else {
                    let (ticket, _) = there.remove(pick.index(there.len()));
                    for granted in queue.give_back(ticket) {
                        prop_assert!(!before.contains(&granted) && queue.is_held(granted));
                    }
                }
                for (index, (ticket, range)) in there.iter().enumerate() {
                    let free = !there[..index].iter().any(|(_, earlier)| overlap(earlier, range));
                    prop_assert_eq!(queue.is_held(*ticket), free);
                }
            }
        }
    }

    #[test]
    fn overlapping_holders_follow_each_other_in_order_and_the_abandoned_are_skipped() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let (lock, log) = (RangeLock::default(), Rc::new(RefCell::new(Vec::new())));
        for (name, range) in [("a", 0..8), ("b", 4..12), ("c", 0..4), ("d", 20..24)] {
            let (lock, log, context) = (lock.clone(), Rc::clone(&log), context.clone());
            context.clone().spawn(async move {
                let _guard = lock.lock(range).await;
                log.borrow_mut().push((name, context.now()));
                context.sleep(10).await;
            });
        }
        let outcome = runtime.block_on(async {
            context.sleep(1).await;
            drop(lock.lock(0..100));
            let _last = lock.lock(0..100).await;
            context.now()
        });
        assert_eq!(outcome, Ok(20));
        let mut log = log.borrow_mut();
        log.sort_unstable();
        assert_eq!(*log, [("a", 0), ("b", 10), ("c", 10), ("d", 0)]);
    }
}
