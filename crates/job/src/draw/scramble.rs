//! A fixed shuffling of block numbers, so that popular blocks are all over the volume.

/// A one-to-one map of `0..n` onto itself without a table.
///
/// Multiplying by an odd number and folding the high half into the low one are both one-to-one on words of a given
/// width; results outside `0..n` are mapped again until they fall inside ("cycle walking", Black and Rogaway 2002),
/// which takes fewer than two rounds on average because the width is the smallest that holds `n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scramble {
    count: u64,
    mask: u64,
    shift: u32,
}

impl Scramble {
    /// A map of `0..count`; `count` must be at least 1.
    pub fn new(count: u64) -> Self {
        assert!(count > 0, "a range needs at least one member");
        let bits = (u64::BITS - (count - 1).leading_zeros()).max(1);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        Self { count, mask, shift: bits.div_ceil(2) }
    }

    /// Where a number goes; it must be below `count`.
    #[inline]
    pub fn map(&self, number: u64) -> u64 {
        debug_assert!(number < self.count);
        let mut place = number;
        loop {
            // The odd factors are those of MurmurHash3's finaliser (Appleby, public domain).
            place = place.wrapping_mul(0xFF51_AFD7_ED55_8CCD) & self.mask;
            place ^= place >> self.shift;
            place = place.wrapping_mul(0xC4CE_B9FE_1A85_EC53) & self.mask;
            place ^= place >> self.shift;
            if place < self.count {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Scramble;

    proptest! {
        #[test]
        fn every_number_is_hit_exactly_once(count in 1_u64..5000) {
            let scramble = Scramble::new(count);
            let mut hits: Vec<u64> = (0..count).map(|number| scramble.map(number)).collect();
            hits.sort_unstable();
            prop_assert!(hits.into_iter().eq(0..count));
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let count = 1 << 20;
        let scramble = Scramble::new(count);
        let near = (0..10_000_u64)
            .filter(|number| scramble.map(*number).abs_diff(scramble.map(number + 1)) < count / 100)
            .count();
        // Two independent places lie within 1 % of each other with probability 2 %.
        assert!(near < 400, "{near} of 10,000 neighbours stay together");
    }
}
