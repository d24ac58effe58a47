//! Request sizes: one, or a list with weights.

use std::fmt;

use fathom_runtime::Random;
use fathom_units::Bytes;

use super::alias::Alias;

/// A distribution of request sizes, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    sizes: Vec<u64>,
    choice: Option<Alias>,
    mean: f64,
}

impl Sizes {
    /// One size.
    pub fn fixed(bytes: u64) -> Self {
        Self { sizes: vec![bytes], choice: None, mean: bytes as f64 }
    }

    /// Sizes with weights, which need not sum to one.
    ///
    /// None if the list is empty or the weights mean nothing (see [`Alias::new`]).
    pub fn weighted(list: &[(u64, f64)]) -> Option<Self> {
        let (sizes, weights): (Vec<u64>, Vec<f64>) = list.iter().copied().unzip();
        let choice = Alias::new(&weights)?;
        let total: f64 = weights.iter().sum();
        let mean = list.iter().map(|(size, weight)| *size as f64 * weight / total).sum();
        Some(Self { choice: (sizes.len() > 1).then_some(choice), sizes, mean })
    }

    /// Each size of the list, in bytes.
    pub fn list(&self) -> &[u64] {
        &self.sizes
    }

    /// The smallest, in bytes.
    pub fn smallest(&self) -> u64 {
        self.sizes.iter().copied().min().expect("there is at least one size")
    }

    /// The largest, in bytes.
    pub fn largest(&self) -> u64 {
        self.sizes.iter().copied().max().expect("there is at least one size")
    }

    /// The mean, in bytes.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Draws an index into [`Sizes::list`].
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        match &self.choice {
            None => 0,
            Some(choice) => choice.draw(random),
        }
    }
}

impl fmt::Display for Sizes {
    /// The size, or the sizes with their mean: lists that draw differently get different names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self.sizes.iter().map(|size| Bytes::new(*size).to_string()).collect();
        f.write_str(&each.join("/"))?;
        if self.sizes.len() > 1 { write!(f, ", {:.0} B on average", self.mean) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::Sizes;

    #[test]
    fn the_mean_drawn_is_the_mean_promised() {
        let sizes = Sizes::weighted(&[(8192, 6.0), (65_536, 3.0), (1 << 20, 1.0)]).expect("sound weights");
        let mut random = Random::new(5, "sizes");
        let n = 400_000;
        let sum: u64 = (0..n).map(|_| sizes.list()[sizes.draw(&mut random)]).sum();
        assert!((sum as f64 / f64::from(n) / sizes.mean() - 1.0).abs() < 0.01);
    }

    #[test]
    fn bounds_are_those_of_the_list() {
        let sizes = Sizes::weighted(&[(4096, 1.0), (512, 1.0), (65_536, 0.0)]).expect("sound weights");
        assert_eq!((sizes.smallest(), sizes.largest()), (512, 65_536));
        assert_eq!(Sizes::weighted(&[]), None);
    }
}
