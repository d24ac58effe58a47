//! The digest of the event log: the proof that two simulations did the same things at the same times.

use std::cell::Cell;

/// A running 64-bit digest over words. Not cryptographic: it detects divergence, it does not resist forgery.
///
/// The mixing step is the finaliser of MurmurHash3 (Appleby, public domain) applied to state xor word.
#[derive(Debug)]
pub struct Digest {
    state: Cell<u64>,
    events: Cell<u64>,
}

impl Default for Digest {
    fn default() -> Self {
        Self { state: Cell::new(0x9E37_79B9_7F4A_7C15), events: Cell::new(0) }
    }
}

impl Digest {
    /// Adds one event, given as words whose meaning the caller fixes.
    #[inline]
    pub fn event<const N: usize>(&self, words: [u64; N]) {
        let mut state = self.state.get();
        for word in words {
            state = (state ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
            state ^= state >> 32;
        }
        self.state.set(state);
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
}
