//! The heap of timers. Ties in time are broken by a seeded order, so that no code comes to rely on one.
//!
//! A simulated request costs two or three timers, so this heap is much of what a simulation does. An entry is one
//! 128-bit word compared as a whole, and a node has four children, which share a cache line: half the time of the
//! standard library's heap.

use std::task::Waker;

use crate::Nanos;

/// Whom a timer wakes.
pub(crate) enum Wakes {
    /// A task of this executor, by its place. Its generation is not kept: a task that took over the place of one that
    /// ended is woken for nothing, which is allowed and rare.
    Task(u32),
    /// A waker of somebody's combinator.
    Waker(Waker),
}

const CHILDREN: usize = 4;
/// Set in an entry's target if that is a place in `wakers`, and not a task.
const FOREIGN: u32 = 1 << 31;

/// Pending timers, earliest first.
pub(crate) struct Timers {
    // From the highest bit: 64 bits of the instant, 32 of the tie key, 32 of the target.
    heap: Vec<u128>,
    wakers: Vec<Option<Waker>>,
    free: Vec<u32>,
    tie: u64,
}

impl Timers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { heap: Vec::with_capacity(1024), wakers: Vec::new(), free: Vec::new(), tie: seed }
    }

    #[inline]
    pub(crate) fn add(&mut self, at: Nanos, wakes: Wakes) {
        let target = match wakes {
            Wakes::Task(index) => index,
            Wakes::Waker(waker) => self.keep(waker),
        };
        // A full-period linear congruential step (Knuth's MMIX constants); its high half is the key.
        self.tie = self.tie.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let low = (self.tie & !0xFFFF_FFFF) | u64::from(target);
        self.push((u128::from(at) << 64) | u128::from(low));
    }

    /// The earliest timer's instant.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.heap.first().map(|entry| (entry >> 64) as Nanos)
    }

    /// Takes the earliest timer if it is due at `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<Wakes> {
        if self.next_at()? > now {
            return None;
        }
        let target = self.pop() as u32;
        if target & FOREIGN == 0 {
            return Some(Wakes::Task(target));
        }
        let place = target & !FOREIGN;
        self.free.push(place);
        self.wakers[place as usize].take().map(Wakes::Waker)
    }

    #[cold]
    fn keep(&mut self, waker: Waker) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.wakers.push(None);
            u32::try_from(self.wakers.len() - 1).expect("fewer than 2^31 timers")
        });
        self.wakers[place as usize] = Some(waker);
        place | FOREIGN
    }

    #[inline]
    fn push(&mut self, entry: u128) {
        self.heap.push(entry);
        let last = self.heap.len() - 1;
        rise(&mut self.heap, last, entry);
    }

    /// Takes the least entry; there must be one. The gap at the root sinks along the least children to the bottom,
    /// where the last entry fills it and rises: it comes from the bottom and seldom rises far.
    #[inline]
    fn pop(&mut self) -> u128 {
        let last = self.heap.pop().expect("a timer is pending");
        let heap = &mut self.heap[..];
        let Some(&least) = heap.first() else { return last };
        let mut gap = 0;
        while let Some(children) = heap.get(gap * CHILDREN + 1..gap * CHILDREN + 1 + CHILDREN) {
            let left = usize::from(children[1] < children[0]);
            let right = 2 + usize::from(children[3] < children[2]);
            let child = if children[right] < children[left] { right } else { left };
            heap[gap] = children[child];
            gap = gap * CHILDREN + 1 + child;
        }
        // The last node of the heap may have fewer children.
        let rest = gap * CHILDREN + 1..heap.len();
        if let Some(child) = rest.min_by_key(|child| heap[*child]) {
            heap[gap] = heap[child];
            gap = child;
        }
        rise(heap, gap, last);
        least
    }
}

/// Puts an entry where a gap is, or above.
#[inline]
fn rise(heap: &mut [u128], mut gap: usize, entry: u128) {
    while gap > 0 {
        let parent = (gap - 1) / CHILDREN;
        if heap[parent] <= entry {
            break;
        }
        heap[gap] = heap[parent];
        gap = parent;
    }
    heap[gap] = entry;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Timers, Wakes};

    fn task(wakes: Wakes) -> u32 {
        match wakes {
            Wakes::Task(index) => index,
            Wakes::Waker(_) => panic!("only tasks were added"),
        }
    }

    fn drain(timers: &mut Timers) -> Vec<u32> {
        std::iter::from_fn(|| timers.pop_due(u64::MAX)).map(task).collect()
    }

    proptest! {
        #[test]
        fn timers_come_out_in_order_of_time_and_each_once(
            steps in prop::collection::vec(prop_oneof![3 => (0_u64..50).prop_map(Some), 2 => Just(None)], 0..400)
        ) {
            let mut timers = Timers::new(1);
            let mut pending: Vec<(u64, u32)> = Vec::new();
            for (index, step) in (0_u32..).zip(steps) {
                match step {
                    Some(at) => {
                        timers.add(at, Wakes::Task(index));
                        pending.push((at, index));
                    }
                    None => {
                        let least = pending.iter().map(|(at, _)| *at).min();
                        prop_assert_eq!(timers.next_at(), least);
                        let Some(least) = least else { continue };
                        prop_assert!(least == 0 || timers.pop_due(least - 1).is_none());
                        let index = task(timers.pop_due(least).expect("one is due"));
                        let place = pending.iter().position(|entry| *entry == (least, index));
                        pending.swap_remove(place.expect("it was pending for that instant"));
                    }
                }
            }
            prop_assert_eq!(drain(&mut timers).len(), pending.len());
        }
    }

    #[test]
    fn ties_are_broken_by_the_seed() {
        let of = |seed| {
            let mut timers = Timers::new(seed);
            (0..64).for_each(|index| timers.add(5, Wakes::Task(index)));
            drain(&mut timers)
        };
        let first = of(1);
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<_>>());
        assert_ne!(first, sorted);
    }

    #[test]
    fn a_foreign_waker_is_handed_back_to_be_woken() {
        let mut timers = Timers::new(0);
        for round in 0..3_u64 {
            timers.add(round, Wakes::Waker(std::task::Waker::noop().clone()));
            timers.add(round, Wakes::Task(7));
            let due: Vec<_> = std::iter::from_fn(|| timers.pop_due(round)).collect();
            assert_eq!(due.len(), 2);
            assert_eq!(due.iter().filter(|wakes| matches!(wakes, Wakes::Waker(_))).count(), 1);
        }
        assert_eq!(timers.wakers.len(), 1, "places are used again");
    }
}
