//! Chance by seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of a life of a campaign.
    pub fn new(seed: u64, life: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed) ^ life.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`; 0 if the bound is.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `from..to`.
    pub fn range(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from))
    }

    /// An index in `0..count`.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }

    /// One of these, each as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, of: &[(T, u64)]) -> T {
        let mut left = self.below(of.iter().map(|(_, weight)| weight).sum());
        for (what, weight) in of {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *what,
            }
        }
        of[0].0
    }

    /// A number in `1..=most`, small ones as likely as large ones: uniform in its logarithm.
    pub fn scale(&mut self, most: u64) -> u64 {
        let bits = self.below(u64::from(most.max(1).ilog2()) + 1);
        (1 << bits) + self.below(((1 << bits) as u64).min(most.saturating_sub(1 << bits) + 1))
    }
}

/// Spreads a number over 64 bits (SplitMix64's finaliser).
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
