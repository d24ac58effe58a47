//! Seeded randomness: xoshiro256++, whose output is fixed by its paper, and so repeats across versions and machines.
//! What is built on it uses no logarithm or exponential of the system's, which differ in the last bit from one
//! processor to the next: ziggurats (Marsaglia and Tsang 2000, as rand_distr has them) and libm in Rust.

use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seed from the kernel, for executors whose numbers must not be guessed or repeated: two daemons that name what they
/// make must not give the same names.
///
/// # Errors
/// The kernel's, where it has no getrandom(2).
#[cfg(feature = "real")]
pub fn seed_from_kernel() -> std::io::Result<u64> {
    let mut seed = [0_u8; 8];
    // SAFETY: the kernel writes at most as many bytes as there are.
    let got = unsafe { libc::getrandom(seed.as_mut_ptr().cast(), seed.len(), 0) };
    // Up to 256 bytes come as a whole.
    if got == seed.len() as isize {
        Ok(u64::from_ne_bytes(seed))
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// A stream of random numbers; obtained from [`crate::Context::random`] by name.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A stream fixed by a seed and a name: two names give independent streams, so that adding a consumer of
    /// randomness does not change what the others draw.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a of the name (Fowler, Noll, Vo), mixed with the seed; the generator expands it with SplitMix64.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ hash.rotate_left(32)))
    }

    /// A uniform 64-bit word.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..bound` (Lemire's multiply-and-shift; its bias is below 2^-32 for bounds below 2^32,
    /// and larger bounds reject as his paper says). `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a range needs at least one member");
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// An exponential variate of the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        mean * unit
    }

    /// A standard normal variate.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// A variate whose logarithm is normal with that standard deviation, and whose mean is 1.
    #[inline]
    pub fn log_normal(&mut self, sigma: f64) -> f64 {
        // The mean of a log-normal is exp(mu + sigma^2 / 2); mu is chosen to make it 1.
        libm::exp(sigma * self.normal() - sigma * sigma / 2.0)
    }

    /// Fills a slice with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_stream_of_a_seed_and_name_never_changes() {
        let mut fixed = Random::new(42, "fixed");
        assert_eq!([fixed.word(), fixed.below(1000)], [8_838_082_883_322_740_167, 873]);
        assert_eq!(
            [fixed.exponential(1.0), fixed.normal(), fixed.log_normal(1.0)],
            [0.316_465_816_174_831_44, 0.857_083_034_812_582_4, 1.907_295_954_769_484_8]
        );
        let mut random = Random::new(1, "test");
        let first: Vec<u64> = (0..3).map(|_| random.word()).collect();
        let mut again = Random::new(1, "test");
        assert_eq!(first, (0..3).map(|_| again.word()).collect::<Vec<_>>());
        assert_ne!(first[0], Random::new(1, "other").word());
        assert_ne!(first[0], Random::new(2, "test").word());
    }

    #[test]
    fn means_are_what_they_say() {
        let mut random = Random::new(7, "means");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.fraction()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || random.normal()).abs() < 0.01);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.02);
        assert!((mean(&mut || random.log_normal(0.5)) - 1.0).abs() < 0.01);
        assert!((mean(&mut || random.below(11) as f64) - 5.0).abs() < 0.05);
    }
}
