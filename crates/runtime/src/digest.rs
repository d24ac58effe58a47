//! The digest of the event log: the proof that two simulations did the same things at the same times.

use std::cell::Cell;

/// A running 64-bit digest over words. Not cryptographic: it detects divergence, it does not resist forgery.
///
/// The words of an event are summed, each times an odd number of its own, and the sum is mixed into the state by half of
/// MurmurHash3's finaliser (Appleby, public domain). Events that differ in one word always give different sums, and the
/// multiplications run side by side: one step of the state per word took three times as long.
#[derive(Debug)]
pub struct Digest {
    state: Cell<u64>,
    events: Cell<u64>,
}

/// Odd numbers without a pattern: the primes of xxHash64 (Collet) and constants of MurmurHash3 (Appleby).
const FACTORS: [u64; 8] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
    0x87C3_7B91_1142_53D5,
    0x4CF5_AD43_2745_937F,
    0xC4CE_B9FE_1A85_EC53,
];

impl Default for Digest {
    fn default() -> Self {
        Self { state: Cell::new(0x9E37_79B9_7F4A_7C15), events: Cell::new(0) }
    }
}

impl Digest {
    /// Adds one event, given as words whose meaning the caller fixes.
    #[inline]
    pub fn event<const N: usize>(&self, words: [u64; N]) {
        const { assert!(N <= FACTORS.len()) };
        // A product's low bits know nothing of the word's high bits, so those are folded in first.
        let terms =
            words.iter().zip(FACTORS).map(|(word, factor)| (word ^ (word >> 32)).wrapping_mul(factor));
        let sum = terms.fold(0, u64::wrapping_add);
        let state = (self.state.get() ^ sum).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        self.state.set(state ^ (state >> 32));
        self.events.set(self.events.get() + 1);
    }

    /// The digest so far, 16 hexadecimal digits, and the number of events behind it.
    pub fn finish(&self) -> (String, u64) {
        let mut state = self.state.get() ^ self.events.get();
        state = (state ^ (state >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        (format!("{:016x}", state ^ (state >> 33)), self.events.get())
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn order_and_content_of_events_both_matter() {
        let of = |events: &[[u64; 2]]| {
            let digest = Digest::default();
            events.iter().for_each(|event| digest.event(*event));
            digest.finish().0
        };
        assert_eq!(of(&[[1, 2], [3, 4]]), of(&[[1, 2], [3, 4]]));
        assert_ne!(of(&[[1, 2], [3, 4]]), of(&[[3, 4], [1, 2]]));
        assert_ne!(of(&[[1, 2]]), of(&[[1, 2], [0, 0]]));
    }

    #[test]
    fn every_word_of_an_event_matters_and_so_does_its_place() {
        let of = |event: [u64; 6]| {
            let digest = Digest::default();
            digest.event(event);
            digest.finish().0
        };
        let mut seen = std::collections::BTreeSet::from([of([0; 6])]);
        for place in 0..6 {
            for bit in 0..64 {
                let mut event = [0; 6];
                event[place] = 1 << bit;
                assert!(seen.insert(of(event)), "bit {bit} of word {place}");
            }
        }
    }
}
