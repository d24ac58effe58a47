//! What random workloads draw: which request, how long, where, when.
//!
//! Every sampler is exact (no approximation of its distribution) and cheap enough for a loop of millions of requests
//! per second: one or two random words, a table, no division. Each is tested against theory with fixed seeds.

pub mod alias;
pub mod arrivals;
pub mod scramble;
pub mod sizes;
pub mod zipf;

pub use alias::Alias;
pub use arrivals::{ArrivalProcess, Arrivals};
pub use scramble::Scramble;
pub use sizes::Sizes;
pub use zipf::Zipf;

#[doc(hidden)]
pub mod statistics {
    //! The one statistic that tests of samplers need.

    /// Pearson's chi-square of counts against expected counts, as a number of standard deviations from its mean:
    /// (X^2 - k) / sqrt(2 k), k degrees of freedom. Beyond 5 the counts do not come from the distribution.
    pub fn chi_square_sigma(counts: &[u64], expected: &[f64]) -> f64 {
        let pairs = || counts.iter().zip(expected);
        assert!(
            pairs().all(|(_, expected)| *expected >= 5.0),
            "cells with fewer than 5 expected must be pooled"
        );
        let sum: f64 = pairs().map(|(count, expected)| (*count as f64 - expected).powi(2) / expected).sum();
        let degrees = (expected.len() - 1) as f64;
        (sum - degrees) / (2.0 * degrees).sqrt()
    }
}
