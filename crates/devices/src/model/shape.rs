//! Shapes of service times: how they scatter about their mean. Each has mean 1, so that a shape changes the scatter
//! and leaves the load alone.

use fathom_runtime::Random;

/// How service times scatter about their mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Not at all.
    Constant,
    /// Memoryless; the assumption of most queueing formulas.
    Exponential,
    /// A long right tail.
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Two exponentials, most requests fast and a few slow: bursty, as measured storage is (Wajahat et al.,
    /// Performance Evaluation 2020).
    HyperExponential {
        /// Share of slow requests, 0 to 1.
        slow_share: f64,
        /// Mean of the slow ones over the mean of the fast ones.
        slow_factor: f64,
    },
    /// As measured: (cumulative probability, value) in ascending order, the first at 0, the last at 1, values linear
    /// in between. Only the ratios of the values count.
    Quantiles(Vec<(f64, f64)>),
}

impl Shape {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A sentence that names the parameter and its bounds.
    pub fn check(&self) -> Result<(), String> {
        let bounded = |name: &str, value: f64, low: f64, high: f64| {
            // Written so that NaN fails too.
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}; it must lie between {low} and {high}"))
            }
        };
        match self {
            Self::Constant | Self::Exponential => Ok(()),
            Self::LogNormal { sigma } => bounded("sigma", *sigma, 0.0, 4.0),
            Self::HyperExponential { slow_share, slow_factor } => {
                bounded("slow_share", *slow_share, 0.0, 1.0)?;
                bounded("slow_factor", *slow_factor, 1.0, 1e6)
            }
            Self::Quantiles(points) => check_quantiles(points),
        }
    }
}

fn check_quantiles(points: &[(f64, f64)]) -> Result<(), String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err("quantiles are empty; give at least those at 0 and 1".to_owned());
    };
    if points.len() < 2 || first.0 != 0.0 || last.0 != 1.0 {
        return Err("quantiles must begin at probability 0 and end at 1".to_owned());
    }
    let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    let bounded = first.1 >= 0.0 && last.1 > 0.0 && last.1.is_finite();
    if !(ascending && bounded) {
        return Err(
            "quantiles must ascend: probabilities strictly, values from 0 up, the last above 0".to_owned()
        );
    }
    Ok(())
}

/// Draws factors of mean 1.
#[derive(Debug, Clone)]
pub(super) enum Sampler {
    Constant,
    Exponential,
    LogNormal { sigma: f64 },
    HyperExponential { slow_share: f64, fast_mean: f64, slow_mean: f64 },
    Quantiles(Vec<(f64, f64)>),
}

impl Sampler {
    /// The sampler of a checked shape.
    pub fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Constant => Self::Constant,
            Shape::Exponential => Self::Exponential,
            Shape::LogNormal { sigma } => Self::LogNormal { sigma: *sigma },
            Shape::HyperExponential { slow_share, slow_factor } => {
                let fast_mean = 1.0 / (1.0 - slow_share + slow_share * slow_factor);
                Self::HyperExponential {
                    slow_share: *slow_share,
                    fast_mean,
                    slow_mean: fast_mean * slow_factor,
                }
            }
            Shape::Quantiles(points) => {
                let trapezoid = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
                let mean: f64 = points.windows(2).map(trapezoid).sum();
                Self::Quantiles(
                    points.iter().map(|(probability, value)| (*probability, value / mean)).collect(),
                )
            }
        }
    }

    /// One factor.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => random.exponential(1.0),
            Self::LogNormal { sigma } => random.log_normal(*sigma),
            Self::HyperExponential { slow_share, fast_mean, slow_mean } => {
                let mean = if random.chance(*slow_share) { *slow_mean } else { *fast_mean };
                random.exponential(mean)
            }
            Self::Quantiles(points) => {
                let at = random.fraction();
                let next = points.partition_point(|(probability, _)| *probability <= at);
                let ((low, from), (high, to)) = (points[next - 1], points[next]);
                from + (to - from) * (at - low) / (high - low)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::{Sampler, Shape};

    fn moments(shape: &Shape) -> (f64, f64) {
        let sampler = Sampler::new(shape);
        let mut random = Random::new(3, "moments");
        let draws: Vec<f64> = (0..400_000).map(|_| sampler.draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        (mean, variance)
    }

    #[test]
    fn every_shape_has_mean_one_and_its_own_variance() {
        // Variances by formula: log-normal exp(s^2) - 1; H2 with share q, factor f and fast mean m: 2 m^2 (1 - q + q f^2)
        // - 1; two linear pieces: the integral of the square less 1.
        let fast = 1.0 / (0.9 + 0.1 * 10.0);
        let cases = [
            (Shape::Constant, 0.0),
            (Shape::Exponential, 1.0),
            (Shape::LogNormal { sigma: 0.5 }, 0.25_f64.exp() - 1.0),
            (Shape::HyperExponential { slow_share: 0.1, slow_factor: 10.0 }, 2.0 * fast * fast * 10.9 - 1.0),
            (Shape::Quantiles(vec![(0.0, 100.0), (1.0, 300.0)]), 1.0 / 12.0),
        ];
        for (shape, expected) in cases {
            shape.check().expect("the parameters are within bounds");
            let (mean, variance) = moments(&shape);
            assert!((mean - 1.0).abs() < 0.01, "{shape:?}: mean {mean}");
            assert!((variance - expected).abs() < 0.05 * expected.max(0.2), "{shape:?}: variance {variance}");
        }
    }

    #[test]
    fn measured_quantiles_come_back() {
        let points = vec![(0.0, 50.0), (0.5, 100.0), (0.99, 400.0), (1.0, 5000.0)];
        let mean = 0.5 * 75.0 + 0.49 * 250.0 + 0.01 * 2700.0;
        let sampler = Sampler::new(&Shape::Quantiles(points));
        let mut random = Random::new(1, "quantiles");
        let mut draws: Vec<f64> = (0..200_000).map(|_| sampler.draw(&mut random) * mean).collect();
        draws.sort_by(f64::total_cmp);
        assert!((draws[100_000] - 100.0).abs() < 2.0);
        assert!((draws[198_000] - 400.0).abs() < 40.0);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let wrong = [
            (Shape::LogNormal { sigma: f64::NAN }, "sigma"),
            (Shape::HyperExponential { slow_share: 1.5, slow_factor: 2.0 }, "slow_share"),
            (Shape::HyperExponential { slow_share: 0.5, slow_factor: 0.5 }, "slow_factor"),
            (Shape::Quantiles(vec![]), "empty"),
            (Shape::Quantiles(vec![(0.0, 1.0), (0.9, 2.0)]), "end at 1"),
            (Shape::Quantiles(vec![(0.0, 3.0), (1.0, 2.0)]), "ascend"),
        ];
        for (shape, word) in wrong {
            let message = shape.check().expect_err("out of bounds");
            assert!(message.contains(word), "{message}");
        }
    }
}
