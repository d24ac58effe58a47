//! A weighted choice with one random word and one table look-up, however many alternatives there are.

use fathom_runtime::Random;

/// Walker's alias table, built by Vose's method (Vose 1991, "A linear algorithm for generating random numbers with a
/// given distribution").
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    // Below this the cell's own index is drawn, from it on the alias.
    threshold: u64,
    alias: u32,
}

impl Alias {
    /// A table for these weights; they need not sum to one.
    ///
    /// None if there are no weights, more than 2^32, one is negative or not finite, or all are zero.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let total: f64 = weights.iter().sum();
        let sound = weights.iter().all(|weight| *weight >= 0.0) && total.is_finite() && total > 0.0;
        if !sound || u32::try_from(weights.len()).is_err() {
            return None;
        }
        let n = weights.len();
        // Shares in units of one cell: the mean is 1.
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / total * n as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|index| shares[*index] < 1.0);
        let mut cells = vec![Cell { threshold: u64::MAX, alias: 0 }; n];
        for (index, cell) in cells.iter_mut().enumerate() {
            cell.alias = index as u32;
        }
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            cells[poor] = Cell { threshold: fraction_to_word(shares[poor]), alias: rich as u32 };
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        // What is left in either list has share 1 up to rounding: its cell is wholly its own.
        Some(Self { cells })
    }

    /// How many alternatives there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never true: a table has at least one alternative.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Draws an index.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        // The high half of the product picks the cell, the low half is a fresh fraction within it.
        let product = u128::from(random.word()) * self.cells.len() as u128;
        let index = (product >> 64) as usize;
        let cell = &self.cells[index];
        if (product as u64) < cell.threshold { index } else { cell.alias as usize }
    }
}

/// A fraction in [0, 1] as a threshold for a uniform word.
pub fn fraction_to_word(fraction: f64) -> u64 {
    // The cast saturates, so that 1 becomes the largest word.
    (fraction * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::Alias;
    use crate::draw::statistics::chi_square_sigma;

    #[test]
    fn each_alternative_comes_up_by_its_weight() {
        let weights = [5.0, 0.0, 1.0, 0.25, 3.0, 100.0];
        let alias = Alias::new(&weights).expect("the weights are sound");
        let mut random = Random::new(1, "alias");
        let n = 2_000_000_u32;
        let mut counts = [0_u64; 6];
        (0..n).for_each(|_| counts[alias.draw(&mut random)] += 1);
        assert_eq!(counts[1], 0, "weight zero is never drawn");
        let total: f64 = weights.iter().sum();
        let present = [0, 2, 3, 4, 5];
        let expected = present.map(|index| weights[index] / total * f64::from(n));
        let sigma = chi_square_sigma(&present.map(|index| counts[index]), &expected);
        assert!(sigma.abs() < 5.0, "{sigma} sigma, {counts:?}");
    }

    #[test]
    fn weights_that_mean_nothing_give_no_table() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0, 3.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(Alias::new(weights), None, "{weights:?}");
        }
    }

    #[test]
    fn one_alternative_is_always_drawn() {
        let alias = Alias::new(&[0.3]).expect("one weight");
        let mut random = Random::new(2, "one");
        assert!((0..1000).all(|_| alias.draw(&mut random) == 0));
    }
}
