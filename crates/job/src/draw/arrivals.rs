//! When requests of an open loop arrive.

use fathom_runtime::{Nanos, Random, SECOND};

/// How arrivals are spread around their mean rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// Independent of each other: exponential gaps (a Poisson process).
    Poisson,
    /// Bursty: gaps from a two-phase hyperexponential distribution with balanced means, the family that fits most
    /// measured storage traces (Wajahat et al. 2020). The number is the squared coefficient of variation of the gaps,
    /// above 1, which is Poisson's.
    Hyperexponential(f64),
    /// Bursty: Poisson arrivals during `on`, none during `off`, by turns. The mean over both is the rate.
    OnOff {
        /// Length of a burst, ns.
        on: Nanos,
        /// Length of the silence after it, ns.
        off: Nanos,
    },
}

/// A stream of arrival times.
#[derive(Debug, Clone)]
pub struct ArrivalProcess {
    arrivals: Arrivals,
    // Mean gap while arrivals happen, ns.
    gap: f64,
    // The stream's position, ns since its start, without the silences of on-off.
    at: f64,
    // Arrivals so far: even spacing is counted, not added up, so that rounding does not drift.
    count: u64,
    // Hyperexponential: probability of the short phase, mean gaps of both.
    short: f64,
    means: [f64; 2],
    random: Random,
}

impl ArrivalProcess {
    /// A stream with `per_second` arrivals in the mean; it must be positive.
    pub fn new(arrivals: Arrivals, per_second: f64, random: Random) -> Self {
        assert!(
            per_second > 0.0 && per_second.is_finite(),
            "the rate is {per_second}/s; it must be positive"
        );
        let gap = SECOND as f64 / per_second;
        let mut process = Self { arrivals, gap, at: 0.0, count: 0, short: 0.0, means: [gap; 2], random };
        match arrivals {
            Arrivals::Constant | Arrivals::Poisson => {}
            Arrivals::Hyperexponential(variation) => {
                assert!(variation >= 1.0, "a squared coefficient of variation of {variation} is not bursty");
                // Balanced means: both phases contribute the same share of the time (Morse 1958).
                let short = 0.5 * (1.0 + ((variation - 1.0) / (variation + 1.0)).sqrt());
                process.short = short;
                process.means = [gap / (2.0 * short), gap / (2.0 * (1.0 - short))];
            }
            Arrivals::OnOff { on, off } => {
                assert!(on > 0, "a burst has a length");
                process.gap = gap * on as f64 / (on as f64 + off as f64);
            }
        }
        process
    }

    /// The next arrival, ns since the stream began; never before the one before it.
    #[inline]
    pub fn next_at(&mut self) -> Nanos {
        self.at += match self.arrivals {
            Arrivals::Constant => {
                self.count += 1;
                return (self.count as f64 * self.gap).round() as Nanos;
            }
            Arrivals::Poisson | Arrivals::OnOff { .. } => self.random.exponential(self.gap),
            Arrivals::Hyperexponential(_) => {
                let phase = usize::from(!self.random.chance(self.short));
                self.random.exponential(self.means[phase])
            }
        };
        match self.arrivals {
            Arrivals::OnOff { on, off } => {
                let active = self.at as Nanos;
                active + active / on * off
            }
            _ => self.at as Nanos,
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MILLISECOND, Nanos, Random, SECOND};

    use super::{ArrivalProcess, Arrivals};

    fn times(arrivals: Arrivals, rate: f64, count: usize) -> Vec<Nanos> {
        let mut process = ArrivalProcess::new(arrivals, rate, Random::new(6, "arrivals"));
        (0..count).map(|_| process.next_at()).collect()
    }

    /// Mean and squared coefficient of variation of the gaps, ns.
    fn moments(times: &[Nanos]) -> (f64, f64) {
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / mean.powi(2))
    }

    #[test]
    fn the_mean_rate_and_the_burstiness_are_as_asked() {
        let on_off = Arrivals::OnOff { on: 10 * MILLISECOND, off: 30 * MILLISECOND };
        for (arrivals, variation) in [
            (Arrivals::Constant, Some(0.0)),
            (Arrivals::Poisson, Some(1.0)),
            (Arrivals::Hyperexponential(4.0), Some(4.0)),
            (Arrivals::Hyperexponential(16.0), Some(16.0)),
            (on_off, None),
        ] {
            let times = times(arrivals, 20_000.0, 1_000_000);
            let (mean, squared) = moments(&times);
            assert!((mean / 50_000.0 - 1.0).abs() < 0.02, "{arrivals:?}: a mean gap of {mean} ns");
            if let Some(expected) = variation {
                assert!((squared - expected).abs() <= 0.05 * expected, "{arrivals:?}: variation {squared}");
            }
        }
    }

    #[test]
    fn even_spacing_does_not_drift() {
        // 3 per second: a gap that is no whole number of ns.
        let times = times(Arrivals::Constant, 3.0, 3_000_000);
        assert_eq!(times.last().copied(), Some(1_000_000 * SECOND));
    }

    #[test]
    fn nothing_arrives_in_the_silences() {
        let (on, off) = (10 * MILLISECOND, 30 * MILLISECOND);
        let times = times(Arrivals::OnOff { on, off }, 5000.0, 100_000);
        assert!(times.iter().all(|time| time % (on + off) < on));
    }
}
