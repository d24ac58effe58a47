//! The dirty bitmap: which regions may differ between the legs, which of that the legs' metadata says already, and what
//! is left to copy. Decides only; knows no device.
//!
//! The invariant: a region that is written, or that differs between legs for any reason, has its bit set in `durable`
//! before the first byte goes to a leg, and keeps it until every leg is there, equal and flushed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A set of small numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    length: usize,
    ones: usize,
}

impl Bits {
    /// None of `length` numbers.
    pub fn none(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)], length, ones: 0 }
    }

    /// How many are in.
    pub fn count(&self) -> usize {
        self.ones
    }

    /// Whether it is in.
    pub fn has(&self, bit: usize) -> bool {
        self.words[bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Takes it in; whether it was out.
    pub fn set(&mut self, bit: usize) -> bool {
        let new = !self.has(bit);
        self.words[bit / 64] |= 1 << (bit % 64);
        self.ones += usize::from(new);
        new
    }

    /// Takes it out; whether it was in.
    pub fn clear(&mut self, bit: usize) -> bool {
        let was = self.has(bit);
        self.words[bit / 64] &= !(1 << (bit % 64));
        self.ones -= usize::from(was);
        was
    }

    /// Takes in what the other has.
    pub fn add(&mut self, other: &Self) {
        other.iter().for_each(|bit| {
            self.set(bit);
        });
    }

    /// The first one in from `from` on.
    pub fn next(&self, from: usize) -> Option<usize> {
        if from >= self.length {
            return None;
        }
        let first = self.words[from / 64] & (u64::MAX << (from % 64));
        let rest = self.words.iter().copied().enumerate().skip(from / 64 + 1);
        std::iter::once((from / 64, first))
            .chain(rest)
            .find(|(_, word)| *word != 0)
            .map(|(index, word)| index * 64 + word.trailing_zeros() as usize)
    }

    /// All that are in, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.next(0);
        std::iter::from_fn(move || {
            let found = next?;
            next = self.next(found + 1);
            Some(found)
        })
    }
}

/// Who copies a region. Another may have begun to copy it again since.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    /// The region.
    pub region: usize,
    number: u64,
}

/// What is known about every region.
#[derive(Debug)]
pub struct Regions {
    region: u64,
    per_block: usize,
    /// What the legs' metadata is to say.
    dirty: Bits,
    /// Those of it that every attached leg's metadata says for sure.
    durable: Bits,
    /// To be copied to the legs that are out of sync.
    todo: Bits,
    /// Being copied, with the claim of who does it.
    copying: BTreeMap<usize, u64>,
    claims: u64,
    /// Written since the last call of [`Regions::idle`].
    touched: Bits,
    /// Writes in flight by region.
    busy: BTreeMap<usize, u32>,
    /// Blocks of the bitmap whose bytes on the legs are not the latest.
    unwritten: BTreeSet<usize>,
}

impl Regions {
    /// Clean regions of `region` bytes over a volume of `size`; a block of metadata holds `per_block` bits, a multiple
    /// of eight.
    pub fn new(size: u64, region: u64, per_block: usize) -> Self {
        let count = size.div_ceil(region) as usize;
        let none = Bits::none(count);
        Self {
            region,
            per_block,
            durable: none.clone(),
            todo: none.clone(),
            copying: BTreeMap::new(),
            claims: 0,
            touched: none.clone(),
            dirty: none,
            busy: BTreeMap::new(),
            unwritten: BTreeSet::new(),
        }
    }

    /// How many regions there are.
    pub fn len(&self) -> usize {
        self.dirty.length
    }

    /// How many blocks of metadata.
    pub fn blocks(&self) -> usize {
        self.len().div_ceil(self.per_block)
    }

    /// Regions that a range of bytes touches.
    pub fn of(&self, range: &Range<u64>) -> Range<usize> {
        (range.start / self.region) as usize..range.end.div_ceil(self.region) as usize
    }

    /// Dirty regions.
    pub fn dirty(&self) -> usize {
        self.dirty.count()
    }

    /// Regions to copy, with those being copied.
    pub fn left(&self) -> usize {
        self.todo.count() + self.copying.len()
    }

    /// Sets the bits of regions whose legs may differ.
    pub fn mark(&mut self, regions: impl IntoIterator<Item = usize>) {
        for region in regions {
            if self.dirty.set(region) {
                self.unwritten.insert(region / self.per_block);
            }
        }
    }

    /// Sets all bits.
    pub fn mark_all(&mut self) {
        self.mark(0..self.len());
    }

    /// Writes are about to begin.
    pub fn expect(&mut self, regions: Range<usize>) {
        self.mark(regions.clone());
        for region in regions {
            self.touched.set(region);
        }
    }

    /// A write begins. Its bits must be [durable](Self::are_durable) before any leg is written.
    pub fn begin(&mut self, regions: Range<usize>) {
        self.expect(regions.clone());
        for region in regions {
            *self.busy.entry(region).or_default() += 1;
        }
    }

    /// A write has ended on all legs it went to, or was given up.
    pub fn end(&mut self, regions: Range<usize>) {
        for region in regions {
            let count = self.busy.get_mut(&region).expect("a write ends once");
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&region);
            }
        }
    }

    /// Whether the metadata of all legs says that these regions may differ.
    pub fn are_durable(&self, regions: &Range<usize>) -> bool {
        let unsaid = |region: usize| self.dirty.has(region) && !self.durable.has(region);
        !regions.clone().any(unsaid)
    }

    /// Of the blocks to be written those with these regions, which count as written from now on; see [`Regions::said`].
    pub fn take_unwritten_of(&mut self, regions: &Range<usize>) -> BTreeSet<usize> {
        let blocks = regions.start / self.per_block..regions.end.div_ceil(self.per_block);
        let own: BTreeSet<usize> = self.unwritten.range(blocks).copied().collect();
        own.iter().for_each(|block| {
            self.unwritten.remove(block);
        });
        own
    }

    /// Likewise the first of all.
    pub fn take_one_unwritten(&mut self) -> Option<usize> {
        self.unwritten.pop_first()
    }

    /// Blocks that were not written after all.
    pub fn put_back(&mut self, blocks: impl IntoIterator<Item = usize>) {
        self.unwritten.extend(blocks);
    }

    /// The bits of a block, eight to a byte.
    pub fn block(&self, block: usize) -> Vec<u8> {
        let first = block * self.per_block;
        let mut bytes = vec![0; self.per_block / 8];
        for bit in first..(first + self.per_block).min(self.len()) {
            if self.dirty.has(bit) {
                bytes[(bit - first) / 8] |= 1 << (bit % 8);
            }
        }
        bytes
    }

    /// Every attached leg holds these bytes of a block now.
    pub fn said(&mut self, block: usize, bytes: &[u8]) {
        for (bit, region) in self.bits_of(block, bytes) {
            // A bit that was cleared meanwhile no longer counts, whatever is on the leg.
            if bit && self.dirty.has(region) {
                self.durable.set(region);
            }
        }
    }

    /// Takes in what a leg's block says; None is a damaged block, and all of it may differ.
    pub fn learn(&mut self, block: usize, bytes: Option<&[u8]>) {
        let all = vec![0xFF; self.per_block / 8];
        let found: Vec<usize> = self
            .bits_of(block, bytes.unwrap_or(&all))
            .filter_map(|(bit, region)| bit.then_some(region))
            .collect();
        self.mark(found);
    }

    fn bits_of<'a>(&self, block: usize, bytes: &'a [u8]) -> impl Iterator<Item = (bool, usize)> + use<'a> {
        let first = block * self.per_block;
        let until = (first + self.per_block).min(self.len());
        (first..until).map(move |region| (bytes[(region - first) / 8] & (1 << (region % 8)) != 0, region))
    }

    /// A leg joined whose metadata may say less: nothing is said until it is written again.
    pub fn say_all_again(&mut self) {
        self.durable = Bits::none(self.len());
        self.unwritten = (0..self.blocks()).collect();
    }

    /// All dirty regions are to be copied.
    pub fn copy_dirty(&mut self) {
        let dirty = self.dirty.clone();
        self.todo.add(&dirty);
        for region in std::mem::take(&mut self.copying).into_keys() {
            self.todo.set(region);
        }
    }

    /// Nothing is to be copied: there is no leg to copy to.
    pub fn copy_nothing(&mut self) {
        self.todo = Bits::none(self.len());
        self.copying.clear();
    }

    /// The next region to copy, in turn from `from` on; from now on writes to it go to all legs.
    pub fn take_todo(&mut self, from: usize) -> Option<Claim> {
        let region = self.todo.next(from).or_else(|| self.todo.next(0))?;
        self.todo.clear(region);
        self.claims += 1;
        self.copying.insert(region, self.claims);
        Some(Claim { region, number: self.claims })
    }

    /// Whether nobody else has to copy the region meanwhile.
    pub fn is_held(&self, claim: &Claim) -> bool {
        self.copying.get(&claim.region) == Some(&claim.number)
    }

    /// A region was copied; false if it has to be copied again, for another leg.
    pub fn copied(&mut self, claim: &Claim) -> bool {
        let own = self.is_held(claim);
        if own {
            self.copying.remove(&claim.region);
        }
        own
    }

    /// A region could not be copied.
    pub fn not_copied(&mut self, claim: &Claim) {
        if self.copied(claim) {
            self.todo.set(claim.region);
        }
    }

    /// Whether a leg that is out of sync gets a write to these regions: not if all of them will be copied later.
    pub fn reach_rebuilt(&self, regions: &Range<usize>) -> bool {
        regions.clone().any(|region| !self.todo.has(region))
    }

    /// Dirty regions that were not written since the last call and that are equal on all legs once they are flushed. The
    /// next call counts from here.
    pub fn idle(&mut self) -> Vec<usize> {
        let none = Bits::none(self.len());
        let touched = std::mem::replace(&mut self.touched, none);
        let found = self.dirty.iter().filter(|region| {
            let waits = self.todo.has(*region) || self.copying.contains_key(region);
            !touched.has(*region) && !self.busy.contains_key(region) && !waits
        });
        found.collect()
    }

    /// All legs were flushed after these were found [idle](Self::idle): those that still are become clean.
    pub fn flushed(&mut self, idle: &[usize]) {
        for region in idle {
            let again = self.touched.has(*region) || self.busy.contains_key(region) || self.todo.has(*region);
            if !again && self.dirty.clear(*region) {
                // Whoever writes there next has to wait for the metadata again.
                self.durable.clear(*region);
                self.unwritten.insert(*region / self.per_block);
            }
        }
    }

    /// Whether blocks wait to be written.
    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Bits, Regions};

    proptest! {
        #[test]
        fn bits_are_a_set_of_numbers(length in 1..300_usize, steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..200)) {
            let (mut bits, mut model) = (Bits::none(length), BTreeSet::new());
            for (set, pick) in steps {
                let bit = pick.index(length);
                if set {
                    prop_assert_eq!(bits.set(bit), model.insert(bit));
                } else {
                    prop_assert_eq!(bits.clear(bit), model.remove(&bit));
                }
            }
            prop_assert_eq!(bits.count(), model.len());
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }

        /// Whatever is done in whatever order: what the legs' metadata says covers every region in which a write was
        /// under way and every region that waits to be copied, and only flushed idle regions are forgotten.
        #[test]
        fn what_may_differ_is_always_said(
            steps in prop::collection::vec((0..9_u8, 0..40_u64, 1..12_u64), 1..200),
        ) {
            let mut regions = Regions::new(40 * 10 + 5, 10, 16);
            // What is on a leg, block by block, and writes that are in flight.
            let mut leg: Vec<Vec<u8>> = (0..regions.blocks()).map(|block| regions.block(block)).collect();
            let (mut flights, mut different, mut idle) = (Vec::new(), BTreeSet::new(), Vec::new());
            let says = |leg: &[Vec<u8>], region: usize| leg[region / 16][region % 16 / 8] & (1 << (region % 8)) != 0;
            for (step, start, length) in steps {
                let range = regions.of(&(start * 10 + 3..(start * 10 + length * 4).min(405)));
                match step {
                    0 | 1 => {
                        regions.begin(range.clone());
                        for block in regions.take_unwritten_of(&range) {
                            leg[block] = regions.block(block);
                            regions.said(block, &leg[block]);
                        }
                        prop_assert!(regions.are_durable(&range));
                        different.extend(range.clone());
                        flights.push(range);
                    }
                    2 if !flights.is_empty() => {
                        let range = flights.swap_remove(start as usize % flights.len());
                        regions.end(range);
                    }
                    3 => idle = regions.idle(),
                    4 => {
                        regions.flushed(&idle);
                        for region in idle.drain(..) {
                            if !regions.dirty.has(region) {
                                prop_assert!(!flights.iter().any(|flight| flight.contains(&region)));
                                prop_assert!(!regions.todo.has(region) && !regions.copying.contains_key(&region));
                                different.remove(&region);
                            }
                        }
                    }
                    5 => { regions.copy_dirty(); }
                    7 => regions.expect(range),
                    6 => {
                        if let Some(claim) = regions.take_todo(start as usize) {
                            prop_assert!(regions.dirty.has(claim.region));
                            if length % 2 == 0 { regions.copied(&claim); } else { regions.not_copied(&claim); }
                        }
                    }
                    _ => {
                        // Lazily written blocks may wait as long as they like.
                        while let Some(block) = regions.take_one_unwritten() {
                            leg[block] = regions.block(block);
                            regions.said(block, &leg[block]);
                        }
                    }
                }
                for region in &different {
                    prop_assert!(says(&leg, *region), "region {} may differ and nothing says so", region);
                }
                for region in regions.durable.iter() {
                    prop_assert!(says(&leg, region) && regions.dirty.has(region));
                }
            }
            let mut learned = Regions::new(405, 10, 16);
            for (block, bytes) in leg.iter().enumerate() {
                learned.learn(block, Some(bytes));
            }
            prop_assert!(different.iter().all(|region| learned.dirty.has(*region)));
        }
    }

    #[test]
    fn a_damaged_block_means_all_of_its_regions() {
        let mut regions = Regions::new(1000, 10, 64);
        regions.learn(1, None);
        assert_eq!(regions.dirty.iter().collect::<Vec<_>>(), (64..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_rebuilt_leg_gets_writes_to_what_was_copied_and_not_to_what_will_be() {
        let mut regions = Regions::new(100, 10, 64);
        regions.mark(0..4);
        regions.copy_dirty();
        assert!(!regions.reach_rebuilt(&(1..3)) && regions.reach_rebuilt(&(3..5)));
        let claim = regions.take_todo(2).expect("four wait");
        assert_eq!(claim.region, 2);
        assert!(regions.reach_rebuilt(&(1..3)), "a region being copied gets every write");
        assert!(regions.idle().is_empty(), "nothing is clean that waits for its copy");
        assert!(regions.copied(&claim) && !regions.copied(&claim));
        assert_eq!(regions.idle(), [2]);
    }

    #[test]
    fn who_copied_a_region_for_one_leg_has_not_copied_it_for_the_next() {
        let mut regions = Regions::new(100, 10, 64);
        regions.mark(0..1);
        regions.copy_dirty();
        let first = regions.take_todo(0).expect("one waits");
        regions.copy_dirty();
        let second = regions.take_todo(0).expect("it waits again");
        assert!(!regions.copied(&first) && regions.left() == 1);
        assert!(regions.copied(&second) && regions.left() == 0);
    }
}
