//! Pending timers: a hierarchical timing wheel that keeps the exact order. Ties in time are broken by a seeded order,
//! so that no code comes to rely on one.
//!
//! A simulated request costs two or three timers, so this is much of what a simulation does. An instant is eleven
//! digits of six bits; a timer hangs at the level of its highest digit that differs from the wheel's own instant, in
//! the slot of that digit (Varghese and Lauck, SOSP 1987). The earliest is in the lowest level's first slot; taking it
//! sets the wheel to its instant and hangs its neighbours lower (as the radix heap of Ahuja et al., JACM 1990), so a
//! timer moves once or twice in its life, and the cost does not grow with the number of timers as a heap's does.

use std::task::Waker;

use crate::Nanos;

/// Whom a timer wakes.
pub(crate) enum Wakes {
    /// A task of this executor, by its place. Its generation is not kept: a task that took over the place of one that
    /// ended is woken for nothing, which is allowed and rare. A whole word, like the other variant: what is stored by
    /// the half and loaded whole stalls the processor.
    Task(usize),
    /// A waker made by a combinator.
    Waker(Waker),
}

const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = 11;
/// Set in an entry's target if that is a place in `wakers`, and not a task.
const FOREIGN: u32 = 1 << 31;
/// The end of a list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    at: Nanos,
    target: u32,
    // The next in the same slot, or in the list of free entries.
    next: u32,
}

/// Pending timers, earliest first.
pub(crate) struct Timers {
    entries: Vec<Entry>,
    free: u32,
    // First entry of each slot, and which slots and levels have any.
    heads: Box<[[u32; SLOTS]; LEVELS]>,
    used: [u64; LEVELS],
    used_levels: u32,
    // The instant of the timer taken last; no timer is earlier.
    now: Nanos,
    // The earliest instant, if known.
    next: Option<Nanos>,
    coin: u64,
    wakers: Vec<Option<Waker>>,
    free_wakers: Vec<u32>,
}

impl Timers {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            entries: Vec::new(),
            free: NONE,
            heads: Box::new([[NONE; SLOTS]; LEVELS]),
            used: [0; LEVELS],
            used_levels: 0,
            now: 0,
            next: None,
            coin: seed,
            wakers: Vec::new(),
            free_wakers: Vec::new(),
        }
    }

    /// Adds a timer; one whose instant has passed is due at once.
    #[inline]
    pub(crate) fn add(&mut self, at: Nanos, wakes: Wakes) {
        let at = at.max(self.now);
        let target = match wakes {
            Wakes::Task(index) => index as u32,
            Wakes::Waker(waker) => self.keep(waker),
        };
        let entry = Entry { at, target, next: NONE };
        let place = self.free;
        let place = if let Some(slot) = self.entries.get_mut(place as usize) {
            self.free = slot.next;
            *slot = entry;
            place
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        self.hang(place, at);
        self.next = self.next.map(|next| next.min(at));
    }

    /// The earliest timer's instant.
    pub(crate) fn next_at(&mut self) -> Option<Nanos> {
        if self.next.is_none() {
            self.next = self.first_slot().map(|(level, digit)| self.least(self.heads[level][digit]));
        }
        self.next
    }

    /// Takes the earliest timer if it is due at `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<Wakes> {
        if self.next_at()? > now { None } else { self.pop().map(|(_, wakes)| wakes) }
    }

    /// Takes the earliest timer.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Nanos, Wakes)> {
        let (level, digit) = self.first_slot()?;
        let head = self.heads[level][digit];
        let Entry { at, target, next } = self.entries[head as usize];
        self.next = None;
        if next == NONE {
            // Alone: the common case.
            self.clear(level, digit);
            self.now = at;
            self.release(head);
            return Some((at, self.wakes(target)));
        }
        if level == 0 {
            // A slot of the lowest level is one instant.
            self.heads[0][digit] = next;
            self.now = at;
            self.release(head);
            return Some((at, self.wakes(target)));
        }
        self.clear(level, digit);
        self.now = self.least(head);
        let mut place = head;
        while place != NONE {
            let Entry { at, next, .. } = self.entries[place as usize];
            self.hang(place, at);
            place = next;
        }
        self.pop()
    }

    #[inline]
    fn first_slot(&self) -> Option<(usize, usize)> {
        let level = self.used_levels.trailing_zeros() as usize;
        let used = self.used.get(level)?;
        Some((level, used.trailing_zeros() as usize % SLOTS))
    }

    #[inline]
    fn clear(&mut self, level: usize, digit: usize) {
        self.heads[level][digit] = NONE;
        self.used[level] &= !(1 << digit);
        self.used_levels &= !(u32::from(self.used[level] == 0) << level);
    }

    /// Hangs an entry in the slot of its instant.
    #[inline]
    fn hang(&mut self, place: u32, at: Nanos) {
        let differs = (at ^ self.now) | 1;
        let level = (differs.ilog2() / DIGIT_BITS) as usize;
        let digit = (at >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        let head = &mut self.heads[level][digit];
        if *head == NONE {
            self.used[level] |= 1 << digit;
            self.used_levels |= 1 << level;
            self.entries[place as usize].next = NONE;
            *head = place;
            return;
        }
        // Before or after the head, by the toss of a coin: the top bit of a full-period linear congruential step
        // (Knuth's MMIX constants).
        self.coin = self.coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if self.coin >> 63 == 0 {
            self.entries[place as usize].next = *head;
            *head = place;
        } else {
            let first = &mut self.entries[*head as usize].next;
            let second = std::mem::replace(first, place);
            self.entries[place as usize].next = second;
        }
    }

    /// The least instant of a list.
    #[inline]
    fn least(&self, head: u32) -> Nanos {
        let mut least = Nanos::MAX;
        let mut place = head;
        while let Some(entry) = self.entries.get(place as usize) {
            least = least.min(entry.at);
            place = entry.next;
        }
        least
    }

    #[inline]
    fn release(&mut self, place: u32) {
        self.entries[place as usize].next = self.free;
        self.free = place;
    }

    #[inline]
    fn wakes(&mut self, target: u32) -> Wakes {
        if target & FOREIGN == 0 { Wakes::Task(target as usize) } else { self.give_back(target & !FOREIGN) }
    }

    #[cold]
    fn keep(&mut self, waker: Waker) -> u32 {
        let place = self.free_wakers.pop().unwrap_or_else(|| {
            self.wakers.push(None);
            u32::try_from(self.wakers.len() - 1).expect("fewer than 2^31 timers")
        });
        self.wakers[place as usize] = Some(waker);
        place | FOREIGN
    }

    #[cold]
    fn give_back(&mut self, place: u32) -> Wakes {
        self.free_wakers.push(place);
        Wakes::Waker(self.wakers[place as usize].take().expect("a timer's waker is kept until it is due"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Timers, Wakes};

    fn task(wakes: Wakes) -> usize {
        match wakes {
            Wakes::Task(index) => index,
            Wakes::Waker(_) => panic!("only tasks were added"),
        }
    }

    fn drain(timers: &mut Timers) -> Vec<usize> {
        std::iter::from_fn(|| timers.pop_due(u64::MAX)).map(task).collect()
    }

    /// Instants near each other, equal, and far apart: every level of the wheel is used.
    fn instant() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..50, 0_u64..100_000, 0_u64..1 << 40, Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn timers_come_out_in_order_of_time_and_each_once(
            steps in prop::collection::vec(prop_oneof![3 => instant().prop_map(Some), 2 => Just(None)], 0..400)
        ) {
            let mut timers = Timers::new(1);
            let mut pending: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (index, step) in steps.into_iter().enumerate() {
                match step {
                    Some(span) => {
                        let at = span.saturating_add(now);
                        timers.add(at, Wakes::Task(index));
                        pending.push((at, index));
                    }
                    None => {
                        let least = pending.iter().map(|(at, _)| *at).min();
                        prop_assert_eq!(timers.next_at(), least);
                        let Some(least) = least else { continue };
                        prop_assert!(least == now || timers.pop_due(least - 1).is_none());
                        now = least;
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
