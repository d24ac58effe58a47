//! The read cache's book: which lines of which volumes stand in which slots of the cache device. A line is admitted when
//! it is missed for the second time within memory, replaced by the clock algorithm, dropped as soon as any byte of it is
//! written. Nothing of this survives a restart: the read cache starts cold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Bytes of a line.
pub const LINE: u64 = 64 << 10;
/// Lines missed once that are remembered, for each slot.
const REMEMBERED: usize = 2;

/// What one replaced line counts for in the mean of what lines save.
const RECENT: f64 = 1.0 / 64.0;
/// How many times its cost a line saves that pays: what is near it helps nobody.
const PAYS: f64 = 1.5;

/// A line: volume, and its number on the volume.
pub type Key = (u16, u64);

/// What a slot is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Use {
    Empty,
    /// It is being filled; false once the line was written meanwhile.
    Filling(Key, bool),
    Full(Key),
}

#[derive(Debug, Clone)]
struct Slot {
    what: Use,
    /// Counts its uses: a read that took longer than the line stayed is seen by it.
    uses: u64,
    touched: bool,
    /// What reads from here would have cost the backing volume.
    saved: u64,
    checksums: Vec<u32>,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The slot's number.
    pub slot: usize,
    /// Its use.
    pub uses: u64,
}

/// The book.
#[derive(Debug, Default)]
pub struct Lines {
    slots: Vec<Slot>,
    full: BTreeMap<Key, usize>,
    filling: BTreeMap<Key, usize>,
    hand: usize,
    once: VecDeque<Key>,
    is_once: BTreeSet<Key>,
    /// What a line saves before it is replaced or written, lately; None while none was.
    worth: Option<f64>,
}

impl Lines {
    /// For that many slots.
    pub fn new(slots: usize) -> Self {
        let empty = Slot { what: Use::Empty, uses: 0, touched: false, saved: 0, checksums: Vec::new() };
        Self { slots: vec![empty; slots], ..Self::default() }
    }

    /// Whether there are none.
    pub fn is_off(&self) -> bool {
        self.slots.is_empty()
    }

    /// Lines that can be read.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.full.len()
    }

    /// Where a line stands, for a read that would cost the backing volume so much.
    pub fn find(&mut self, key: Key, cost: u64) -> Option<Found> {
        let slot = *self.full.get(&key)?;
        self.slots[slot].touched = true;
        self.slots[slot].saved += cost;
        Some(Found { slot, uses: self.slots[slot].uses })
    }

    /// Whether a slot still holds what was found there, and its bytes from a block of the line on are whole. Without
    /// payload there are no checksums, and nothing to compare.
    pub fn is_whole(&self, found: Found, first_block: usize, checksums: impl Iterator<Item = u32>) -> bool {
        let slot = &self.slots[found.slot];
        slot.uses == found.uses
            && matches!(slot.what, Use::Full(_))
            && checksums
                .zip(slot.checksums.iter().skip(first_block))
                .all(|(found, expected)| found == *expected)
    }

    /// What was found there cannot be read as it was filled. Whether it was so until now: if not, it was replaced meanwhile.
    pub fn forget(&mut self, found: Found) -> bool {
        let slot = &mut self.slots[found.slot];
        let Use::Full(key) = slot.what else { return false };
        if slot.uses != found.uses {
            return false;
        }
        slot.what = Use::Empty;
        slot.uses += 1;
        self.full.remove(&key);
        true
    }

    /// A line was missed. A slot to fill, if this is not the first time lately and one is free.
    pub fn missed(&mut self, key: Key) -> Option<Found> {
        if self.is_off() || self.filling.contains_key(&key) || self.full.contains_key(&key) {
            return None;
        }
        if !self.is_once.remove(&key) {
            self.is_once.insert(key);
            self.once.push_back(key);
            while self.once.len() > REMEMBERED * self.slots.len() {
                let gone = self.once.pop_front().expect("just seen");
                self.is_once.remove(&gone);
            }
            return None;
        }
        self.once.retain(|other| *other != key);
        let slot = self.victim()?;
        if let Use::Full(old) = self.slots[slot].what {
            self.full.remove(&old);
            self.gone(slot);
        }
        let uses = self.slots[slot].uses + 1;
        self.slots[slot] =
            Slot { what: Use::Filling(key, true), uses, touched: false, saved: 0, checksums: Vec::new() };
        self.filling.insert(key, slot);
        Some(Found { slot, uses })
    }

    /// The line of this slot serves no more reads.
    fn gone(&mut self, slot: usize) {
        let saved = self.slots[slot].saved as f64;
        let before = self.worth.unwrap_or(saved);
        self.worth = Some(before + RECENT * (saved - before));
    }

    /// Whether a line saves more before it is replaced or written than it costs to fill; unknown as long as all stay.
    pub fn pays(&self, cost: u64) -> bool {
        self.worth.is_none_or(|worth| worth >= PAYS * cost as f64)
    }

    /// The next slot that was not touched since the hand passed it; none if all are being filled.
    fn victim(&mut self) -> Option<usize> {
        for _ in 0..2 * self.slots.len() {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            match self.slots[slot].what {
                Use::Filling(..) => {}
                Use::Full(_) if self.slots[slot].touched => self.slots[slot].touched = false,
                Use::Empty | Use::Full(_) => return Some(slot),
            }
        }
        None
    }

    /// A slot was filled with these blocks, or could not be. It counts if the line was not written meanwhile.
    pub fn filled(&mut self, found: Found, checksums: Option<Vec<u32>>) {
        let slot = &mut self.slots[found.slot];
        let Use::Filling(key, valid) = slot.what else { return };
        self.filling.remove(&key);
        match checksums.filter(|_| valid) {
            Some(checksums) => {
                slot.what = Use::Full(key);
                slot.checksums = checksums;
                self.full.insert(key, found.slot);
            }
            None => slot.what = Use::Empty,
        }
    }

    /// A range of a volume was changed: nothing of it may be read from here.
    pub fn changed(&mut self, volume: u16, range: Range<u64>) {
        if self.is_off() || range.is_empty() {
            return;
        }
        let keys = (volume, range.start / LINE)..=(volume, (range.end - 1) / LINE);
        for slot in self.filling.range(keys.clone()).map(|(_, slot)| *slot) {
            if let Use::Filling(_, valid) = &mut self.slots[slot].what {
                *valid = false;
            }
        }
        let gone: Vec<Key> = self.full.range(keys).map(|(key, _)| *key).collect();
        for key in gone {
            let slot = self.full.remove(&key).expect("just seen");
            self.slots[slot].what = Use::Empty;
            self.slots[slot].uses += 1;
            self.gone(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{Found, Key, LINE, Lines};

    #[test]
    fn a_line_is_admitted_when_it_is_missed_again() {
        let mut lines = Lines::new(2);
        assert_eq!(lines.missed((0, 5)), None);
        let slot = lines.missed((0, 5)).expect("the second time");
        assert_eq!((lines.find((0, 5), 1), lines.missed((0, 5))), (None, None));
        lines.filled(slot, Some(vec![1; 16]));
        assert_eq!(lines.find((0, 5), 1), Some(slot));
        assert!(lines.is_whole(slot, 3, [1, 1].into_iter()) && !lines.is_whole(slot, 3, [1, 2].into_iter()));
    }

    #[test]
    fn a_line_that_is_damaged_is_forgotten_and_filled_again() {
        let mut lines = Lines::new(1);
        let fill = |lines: &mut Lines| {
            let slot = [(); 2].map(|()| lines.missed((0, 5)))[1].expect("the second time");
            lines.filled(slot, Some(vec![1; 16]));
            slot
        };
        let damaged = fill(&mut lines);
        assert!(lines.forget(damaged) && !lines.forget(damaged));
        assert_eq!(lines.find((0, 5), 1), None);
        let again = fill(&mut lines);
        assert!(!lines.forget(damaged), "what stands there now is another one");
        assert_eq!(lines.find((0, 5), 1), Some(again));
    }

    #[test]
    fn lines_pay_by_what_they_save_before_they_go() {
        let mut lines = Lines::new(4);
        assert!(lines.pays(LINE), "nothing is known yet");
        let round = |lines: &mut Lines, at: u64, reads: u64| {
            let _ = lines.missed((0, at));
            let slot = lines.missed((0, at)).expect("the second time");
            lines.filled(slot, Some(vec![1; 16]));
            (0..reads).for_each(|_| assert!(lines.find((0, at), 100).is_some()));
        };
        // Each line costs 500, and is read twice before it is replaced or written.
        (0..200).for_each(|at| round(&mut lines, at, 2));
        assert!(!lines.pays(500) && lines.pays(100));
        (200..600).for_each(|at| round(&mut lines, at, 20));
        assert!(lines.pays(500));
        for at in 600..1000 {
            round(&mut lines, at, 2);
            lines.changed(0, at * LINE..at * LINE + 1);
        }
        assert!(!lines.pays(500));
    }

    #[test]
    fn without_slots_nothing_is_kept() {
        let mut lines = Lines::new(0);
        assert_eq!((lines.missed((0, 1)), lines.missed((0, 1)), lines.find((0, 1), 1)), (None, None, None));
        lines.changed(0, 0..LINE);
    }

    proptest! {
        // The model: what each volume's line holds is the number of its last change.
        #[test]
        fn what_is_found_is_what_was_there_since_the_last_change(
            steps in prop::collection::vec((0..3_u8, 0..8_u64), 1..300), slots in 1..5_usize,
        ) {
            let mut lines = Lines::new(slots);
            let mut versions: BTreeMap<Key, u32> = BTreeMap::new();
            let mut fills: Vec<(Key, Found, u32)> = Vec::new();
            for (step, line) in steps {
                let key = (1, line);
                let version = *versions.entry(key).or_default();
                match step {
                    0 => match lines.find(key, 1) {
                        Some(found) => prop_assert!(lines.is_whole(found, 0, std::iter::once(version))),
                        None => fills.extend(lines.missed(key).map(|found| (key, found, version))),
                    },
                    1 => {
                        versions.insert(key, version + 1);
                        lines.changed(1, line * LINE + 7..line * LINE + 9);
                    }
                    _ => if !fills.is_empty() {
                        let (_, found, version) = fills.remove(line as usize % fills.len());
                        lines.filled(found, Some(vec![version; 16]));
                    }
                }
                prop_assert!(lines.len() + fills.len() <= slots);
            }
        }
    }
}
