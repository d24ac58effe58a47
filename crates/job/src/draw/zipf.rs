//! Zipf's law: the k-th most popular of n blocks is asked for in proportion to k^-theta.

use fathom_runtime::Random;

use super::alias::Alias;

/// Ranks up to this one have a table entry of their own.
const SINGLE: u64 = 4096;
/// Later ranks are grouped; a group spans this fraction of its first rank, so that popularity within it hardly varies.
const GROUP_SPAN: u64 = 64;
/// Sums of at most this many terms are added up one by one, longer ones by the Euler-Maclaurin formula.
const DIRECT_TERMS: u64 = 256;

/// An exact Zipf sampler: an alias table over the popular ranks and over groups of the others, then rejection within
/// the group, which refuses fewer than 2 % of its candidates.
///
/// Exact for any `theta` >= 0 (0 is uniform; above 1 is allowed) and any n, with a table of a few thousand entries and
/// no power function on the way. The usual methods are slower (rejection-inversion of Hörmann and Derflinger 1996
/// needs a power and a logarithm per sample) or only approximate beyond rank 2 (Gray et al. 1994, used by YCSB).
#[derive(Debug, Clone, PartialEq)]
pub struct Zipf {
    choice: Alias,
    groups: Vec<Group>,
    theta: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    // Ranks first .. first + width, counted from 1.
    first: u64,
    width: u64,
    // The smallest acceptance probability within the group.
    sure: f64,
}

impl Zipf {
    /// A sampler of ranks `0..count`. `count` must be at least 1 and `theta` finite and not negative.
    pub fn new(count: u64, theta: f64) -> Self {
        assert!(count > 0, "a range needs at least one member");
        assert!(theta.is_finite() && theta >= 0.0, "theta is {theta}; it must be finite and not negative");
        let mut groups = Vec::new();
        let mut weights = Vec::new();
        let mut first = 1;
        while first <= count {
            let width = if first <= SINGLE { 1 } else { (first / GROUP_SPAN).min(count - first + 1) };
            let sure = (first as f64 / (first + width - 1) as f64).powf(theta);
            weights.push(power_sum(first, width, theta));
            groups.push(Group { first, width, sure });
            first += width;
        }
        let choice =
            Alias::new(&weights).expect("powers of positive numbers are positive, and the first is 1");
        Self { choice, groups, theta }
    }

    /// Draws a rank; 0 is the most popular.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let group = &self.groups[self.choice.draw(random)];
        if group.width == 1 {
            return group.first - 1;
        }
        loop {
            let rank = group.first + random.below(group.width);
            let toss = random.fraction();
            if toss < group.sure || toss < (group.first as f64 / rank as f64).powf(self.theta) {
                return rank - 1;
            }
        }
    }
}

/// The sum of k^-theta over `width` ranks from `first` on.
fn power_sum(first: u64, width: u64, theta: f64) -> f64 {
    let term = |rank: f64| rank.powf(-theta);
    if width <= DIRECT_TERMS {
        return (first..first + width).map(|rank| term(rank as f64)).sum();
    }
    // Euler-Maclaurin up to the first derivative; the next term is below 1e-12 of the sum from rank 4096 on.
    let (a, b) = (first as f64, (first + width - 1) as f64);
    let integral = if (theta - 1.0).abs() < 1e-9 {
        (b / a).ln()
    } else {
        (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta)
    };
    let slope = |rank: f64| -theta * rank.powf(-theta - 1.0);
    integral + (term(a) + term(b)) / 2.0 + (slope(b) - slope(a)) / 12.0
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::{Zipf, power_sum};
    use crate::draw::statistics::chi_square_sigma;

    // Cells of ranks that grow by half each, so that each has enough expected counts.
    fn cells(count: u64) -> Vec<(u64, u64)> {
        let mut cells = Vec::new();
        let mut first = 1;
        while first <= count {
            let width = (first / 2).max(1).min(count - first + 1);
            cells.push((first, width));
            first += width;
        }
        cells
    }

    #[test]
    fn ranks_follow_the_power_law_from_first_to_last() {
        for (count, theta) in
            [(100_000, 0.99), (100_000, 0.5), (50_000, 1.0), (300_000, 1.2), (10_000, 0.0), (3, 0.9)]
        {
            let zipf = Zipf::new(count, theta);
            let mut random = Random::new(3, "zipf");
            let n = 1_000_000;
            let cells = cells(count);
            let mut counts = vec![0_u64; cells.len()];
            for _ in 0..n {
                let rank = zipf.draw(&mut random) + 1;
                counts[cells.partition_point(|(first, _)| *first <= rank) - 1] += 1;
            }
            let direct = |(first, width): &(u64, u64)| -> f64 {
                (*first..first + width).map(|rank| (rank as f64).powf(-theta)).sum()
            };
            let masses: Vec<f64> = cells.iter().map(direct).collect();
            let total: f64 = masses.iter().sum();
            let expected: Vec<f64> = masses.iter().map(|mass| mass / total * f64::from(n)).collect();
            let sigma = chi_square_sigma(&counts, &expected);
            assert!(sigma.abs() < 5.0, "n {count}, theta {theta}: {sigma} sigma");
        }
    }

    #[test]
    fn long_sums_agree_with_adding_up() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.5] {
            let direct: f64 = (5000..25_000).map(|rank| f64::from(rank).powf(-theta)).sum();
            let formula = power_sum(5000, 20_000, theta);
            assert!((formula / direct - 1.0).abs() < 1e-11, "theta {theta}: {formula} for {direct}");
        }
    }

    #[test]
    fn a_table_for_a_petabyte_of_blocks_stays_small() {
        let zipf = Zipf::new(1 << 37, 0.9);
        assert!(zipf.groups.len() < 8000, "{} groups", zipf.groups.len());
        let mut random = Random::new(4, "large");
        assert!((0..10_000).all(|_| zipf.draw(&mut random) < 1 << 37));
    }
}
