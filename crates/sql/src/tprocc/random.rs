//! The keys of TPC-C: uniform integers, the non-uniform NURand of clause 2.1.6, and its constants.

use fathom_runtime::Random;

use crate::population::between;

use super::scale::Scale;

/// NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) mod (y - x + 1)) + x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nurand {
    a: u32,
    c: u32,
    low: u32,
    high: u32,
}

impl Nurand {
    /// One draw.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let mixed = between(random, 0, self.a) | between(random, self.low, self.high);
        ((u64::from(mixed) + u64::from(self.c)) % u64::from(self.high - self.low + 1)) as u32 + self.low
    }
}

/// How a key is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// The specification's skew.
    Nurand(Nurand),
    /// Every key alike, from low to high inclusive.
    Uniform(u32, u32),
}

impl Keys {
    /// One draw.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Self::Nurand(nurand) => nurand.draw(random),
            Self::Uniform(low, high) => between(random, *low, *high),
        }
    }
}

/// The distributions of keys of one database. The constants C follow from the seed of the load: the run's last names
/// must keep their distance from the load's (clause 2.1.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpace {
    /// Last names of customers when loading, 0 to 999.
    pub names_loaded: Nurand,
    /// Last names when running.
    pub names: Nurand,
    /// Customers of a district, from 1.
    pub customers: Keys,
    /// Items, from 1.
    pub items: Keys,
}

impl KeySpace {
    /// Of a database of that scale loaded with that seed; with the specification's skew, or with uniform customers and
    /// items as HammerDB draws them.
    pub fn new(scale: &Scale, seed: u64, skewed: bool) -> Self {
        let mut random = Random::new(seed, "tproc-c/constants");
        let a = |spec_a: u32, spec_keys: u32, keys: u32| mask(spec_a, spec_keys, keys);
        let names = scale.names();
        let a_names = a(255, 1000, names);
        let loaded = between(&mut random, 0, 255);
        let run = run_constant(&mut random, loaded);
        let of_names = |c| Nurand { a: a_names, c, low: 0, high: names - 1 };
        let a_customers = a(1023, 3000, scale.customers);
        let a_items = a(8191, 100_000, scale.items);
        let customers =
            Nurand { a: a_customers, c: between(&mut random, 0, a_customers), low: 1, high: scale.customers };
        let items = Nurand { a: a_items, c: between(&mut random, 0, a_items), low: 1, high: scale.items };
        let keys = |nurand: Nurand| {
            if skewed { Keys::Nurand(nurand) } else { Keys::Uniform(nurand.low, nurand.high) }
        };
        Self {
            names_loaded: of_names(loaded),
            names: of_names(run),
            customers: keys(customers),
            items: keys(items),
        }
    }

    /// Of a database that HammerDB loaded. Its last names have the constant 123, with which its own runs draw as well.
    pub fn of_hammerdb(scale: &Scale, skewed: bool) -> Self {
        const LOADED: u32 = 123;
        let mut random = Random::new(u64::from(LOADED), "tproc-c/constants");
        let run = if skewed { run_constant(&mut random, LOADED) } else { LOADED };
        let ours = Self::new(scale, u64::from(LOADED), skewed);
        let of_names = |c| Nurand { c, ..ours.names };
        Self { names_loaded: of_names(LOADED), names: of_names(run), ..ours }
    }
}

/// The A of NURand: the specification's for its number of keys, and about the same share of fewer keys, a power of two
/// less 1.
fn mask(spec_a: u32, spec_keys: u32, keys: u32) -> u32 {
    if keys >= spec_keys {
        return spec_a;
    }
    let share = u64::from(keys) * (u64::from(spec_a) + 1) / u64::from(spec_keys);
    (share.max(2) + 1).next_power_of_two() as u32 / 2 - 1
}

/// A constant for the run's last names: 65 to 119 from the load's, but neither 96 nor 112 (clause 2.1.6.1).
fn run_constant(random: &mut Random, loaded: u32) -> u32 {
    let fits = |c: &u32| {
        let distance = c.abs_diff(loaded);
        (65..=119).contains(&distance) && distance != 96 && distance != 112
    };
    let fitting: Vec<u32> = (0..=255).filter(fits).collect();
    fitting[random.below(fitting.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::{KeySpace, Keys, Nurand, mask, run_constant};
    use crate::tprocc::scale::Scale;

    /// The exact probability of each key, by enumeration of both uniform draws' bits: P(a | b = v) for a uniform in
    /// 0..=A and b uniform in low..=high.
    fn exact(nurand: &Nurand) -> Vec<f64> {
        let keys = nurand.high - nurand.low + 1;
        let mut probability = vec![0.0; keys as usize];
        let each = 1.0 / (f64::from(nurand.a + 1) * f64::from(keys));
        for a in 0..=nurand.a {
            for b in nurand.low..=nurand.high {
                probability[(((a | b) + nurand.c) % keys) as usize] += each;
            }
        }
        probability
    }

    /// Chi-square of counts against the exact distribution, in standard deviations from its mean; keys that expect
    /// fewer than 5 draws are pooled.
    fn chi_square_sigma(counts: &[u64], probability: &[f64], draws: f64) -> f64 {
        let (mut sum, mut cells, mut pooled) = (0.0, -1.0, (0.0, 0.0));
        for (count, probability) in counts.iter().zip(probability) {
            let expected = probability * draws;
            if expected < 5.0 {
                pooled = (pooled.0 + *count as f64, pooled.1 + expected);
                continue;
            }
            sum += (*count as f64 - expected).powi(2) / expected;
            cells += 1.0;
        }
        if pooled.1 >= 5.0 {
            sum += (pooled.0 - pooled.1).powi(2) / pooled.1;
            cells += 1.0;
        }
        (sum - cells) / (2.0_f64 * cells).sqrt()
    }

    #[test]
    fn nurand_follows_its_formula_exactly() {
        let space = KeySpace::new(&Scale::spec(1), 7, true);
        let (Keys::Nurand(customers), Keys::Nurand(items)) = (space.customers, space.items) else {
            panic!("the specification's keys are skewed");
        };
        assert_eq!((customers.a, items.a, space.names.a), (1023, 8191, 255));
        for (nurand, draws) in
            [(space.names, 400_000_u32), (space.names_loaded, 400_000), (customers, 900_000)]
        {
            let mut random = Random::new(11, "nurand");
            let mut counts = vec![0; (nurand.high - nurand.low + 1) as usize];
            (0..draws).for_each(|_| counts[(nurand.draw(&mut random) - nurand.low) as usize] += 1);
            let sigma = chi_square_sigma(&counts, &exact(&nurand), f64::from(draws));
            assert!(sigma.abs() < 5.0, "{nurand:?}: {sigma} standard deviations");
        }
    }

    #[test]
    fn a_fifth_of_the_items_gets_84_percent_of_the_accesses() {
        let Keys::Nurand(items) = KeySpace::new(&Scale::spec(1), 3, true).items else {
            panic!("the specification's keys are skewed");
        };
        let mut random = Random::new(5, "items");
        let mut counts = vec![0_u64; 100_000];
        // The exact share of the hottest fifth is 0.844; picking the hottest by counts adds a little.
        (0..4_000_000).for_each(|_| counts[items.draw(&mut random) as usize - 1] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u64 = counts[..20_000].iter().sum();
        let share = hot as f64 / 4e6;
        assert!((0.842..0.856).contains(&share), "the hottest fifth got {share}");
    }

    #[test]
    fn uniform_keys_are_uniform() {
        let Keys::Uniform(low, high) = KeySpace::new(&Scale::spec(1), 3, false).customers else {
            panic!("HammerDB's keys are uniform");
        };
        assert_eq!((low, high), (1, 3000));
        let mut random = Random::new(9, "uniform");
        let mut counts = vec![0; 3000];
        (0..600_000).for_each(|_| counts[Keys::Uniform(low, high).draw(&mut random) as usize - 1] += 1);
        let sigma = chi_square_sigma(&counts, &vec![1.0 / 3000.0; 3000], 6e5);
        assert!(sigma.abs() < 5.0, "{sigma} standard deviations");
    }

    #[test]
    fn the_runs_constant_keeps_its_distance_from_the_loads() {
        for loaded in 0..=255 {
            for seed in 0..20 {
                let run = run_constant(&mut Random::new(seed, "c"), loaded);
                let distance = run.abs_diff(loaded);
                assert!((65..=119).contains(&distance), "{loaded} and {run}");
                assert!(distance != 96 && distance != 112, "{loaded} and {run}");
            }
        }
    }

    #[test]
    fn fewer_keys_keep_about_the_same_skew() {
        assert_eq!(mask(8191, 100_000, 100_000), 8191);
        assert_eq!(mask(8191, 100_000, 10_000), 511);
        assert_eq!(mask(1023, 3000, 30), 7);
        assert_eq!(mask(255, 1000, 3), 1);
    }
}
