//! The heap of timers. Ties in time are broken by a seeded order, so that no code comes to rely on one.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::task::Waker;

use crate::Nanos;
use crate::executor::TaskId;

/// Whom a timer wakes: a task of this executor, or a waker of somebody's combinator.
pub(crate) enum Wakes {
    Task(TaskId),
    Waker(Waker),
}

struct Entry {
    at: Nanos,
    tie: u64,
    wakes: Wakes,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.tie) == (other.at, other.tie)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    // Reversed: BinaryHeap gives the greatest first, and the earliest timer is wanted.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.tie).cmp(&(self.at, self.tie))
    }
}

/// Pending timers, earliest first.
pub(crate) struct Timers {
    heap: BinaryHeap<Entry>,
    tie: u64,
}

impl Timers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { heap: BinaryHeap::with_capacity(1024), tie: seed }
    }

    #[inline]
    pub(crate) fn add(&mut self, at: Nanos, wakes: Wakes) {
        // A full-period linear congruential step (Knuth's MMIX constants) makes each tie key distinct for 2^64 timers.
        self.tie = self.tie.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.heap.push(Entry { at, tie: self.tie, wakes });
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the earliest timer if it is due at `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<Wakes> {
        if self.heap.peek()?.at > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.wakes)
    }
}
