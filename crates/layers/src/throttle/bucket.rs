//! Token buckets in integers: no drift, however long they run.

use fathom_runtime::Nanos;

/// Levels are counted in fractions of a token, so that a rate of one token in a thousand seconds is a whole number of
/// fractions per nanosecond.
const TOKEN: i128 = 1_000_000_000_000;
/// Fractions per nanosecond of a rate of one token per second.
const PER_SECOND: f64 = 1000.0;

/// A bucket that fills at a rate up to a size. Who takes more than it holds at its fullest takes what is there and
/// leaves a debt, so that one large request passes and those behind it wait.
#[derive(Debug, Clone)]
pub struct Bucket {
    // Fractions per nanosecond.
    rate: u64,
    size: i128,
    level: i128,
    at: Nanos,
}

impl Bucket {
    /// A bucket of `size` tokens that fills at `per_second` tokens a second (0.001 to 10^12) and holds `initial`.
    pub fn new(per_second: f64, size: f64, initial: f64) -> Self {
        assert!((0.001..=1e12).contains(&per_second), "a rate of {per_second} per second");
        let fractions = |tokens: f64| (tokens * TOKEN as f64) as i128;
        let size = fractions(size.max(1.0));
        Self {
            rate: (per_second * PER_SECOND).round() as u64,
            size,
            level: fractions(initial).min(size),
            at: 0,
        }
    }

    /// Fullest level: one nanosecond's filling above the size, so that rounding an instant up loses nothing.
    fn brim(&self) -> i128 {
        self.size + i128::from(self.rate)
    }

    #[inline]
    fn level_at(&self, at: Nanos) -> i128 {
        let span = at.saturating_sub(self.at);
        (self.level + i128::from(self.rate) * i128::from(span)).min(self.brim())
    }

    /// Tokens held at an instant not before the last [`Bucket::spend`]; 0 while in debt.
    pub fn tokens(&self, at: Nanos) -> u64 {
        u64::try_from(self.level_at(at) / TOKEN).unwrap_or(0)
    }

    /// The first instant from `from` on at which `cost` tokens may be spent.
    #[inline]
    pub fn earliest(&self, from: Nanos, cost: u64) -> Nanos {
        let missing = (i128::from(cost) * TOKEN).min(self.size) - self.level_at(from);
        if missing <= 0 {
            return from;
        }
        // One 64-bit division where it is enough: it nearly always is.
        let wait = match u64::try_from(missing) {
            Ok(missing) => missing.div_ceil(self.rate),
            Err(_) => u64::try_from((missing as u128).div_ceil(u128::from(self.rate))).unwrap_or(Nanos::MAX),
        };
        from.saturating_add(wait)
    }

    /// Spends at an instant that [`Bucket::earliest`] allows; instants never go back.
    #[inline]
    pub fn spend(&mut self, at: Nanos, cost: u64) {
        self.level = self.level_at(at) - i128::from(cost) * TOKEN;
        self.at = self.at.max(at);
    }
}

/// A sustained rate and, where there are credits, a higher one while they last.
#[derive(Debug, Clone)]
pub struct Meter {
    peak: Bucket,
    credit: Option<Bucket>,
    // When the last one was allowed.
    last: Nanos,
}

impl Meter {
    /// `slack`, in ns, is how long unused rate is kept.
    pub fn new(allowance: &super::Allowance, slack: Nanos) -> Self {
        let peak = allowance.burst.map_or(allowance.per_second, |burst| burst.per_second);
        let kept = peak * slack as f64 / 1e9;
        let credit = |burst: super::Burst| Bucket::new(allowance.per_second, burst.credits, burst.initial);
        Self { peak: Bucket::new(peak, kept, kept.max(1.0)), credit: allowance.burst.map(credit), last: 0 }
    }

    /// Takes `cost` tokens for what arrives at `now`, behind all that came earlier; when they are there.
    #[inline]
    pub fn take(&mut self, now: Nanos, cost: u64) -> Nanos {
        let mut at = self.peak.earliest(now.max(self.last), cost);
        if let Some(credit) = &mut self.credit {
            at = credit.earliest(at, cost);
            credit.spend(at, cost);
        }
        self.peak.spend(at, cost);
        self.last = at;
        at
    }

    /// Credits left at an instant; None without a burst.
    pub fn credits(&self, at: Nanos) -> Option<u64> {
        self.credit.as_ref().map(|credit| credit.tokens(at))
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;
    use proptest::prelude::*;

    use super::{Bucket, TOKEN};

    /// The definition: filling is capped by the size at every instant of spending.
    fn level_by_definition(bucket: &Bucket, history: &[(u64, u64)], at: u64) -> i128 {
        let fill = |from: u64| i128::from(bucket.rate) * i128::from(at - from);
        let spent =
            |from: usize| history[from..].iter().map(|(_, cost)| i128::from(*cost) * TOKEN).sum::<i128>();
        let since = (0..history.len()).map(|index| bucket.brim() + fill(history[index].0) - spent(index));
        since.chain([bucket.brim(), bucket.level + fill(0) - spent(0)]).min().expect("the list is not empty")
    }

    proptest! {
        /// Never above the rate over any window, beyond one bucket or one request, and never later than it must be.
        #[test]
        fn spending_is_as_early_as_the_definition_allows(
            per_second in 1..5_000_000_u64, size in 1..50_u64, full in any::<bool>(),
            asks in prop::collection::vec((0..2_000_000_u64, 1..80_u64), 1..40),
        ) {
            let fresh = Bucket::new(per_second as f64, size as f64, if full { size as f64 } else { 0.0 });
            let mut bucket = fresh.clone();
            let (mut now, mut last) = (0, 0);
            let mut history: Vec<(u64, u64)> = Vec::new();
            for (gap, cost) in asks {
                now += gap;
                let from = now.max(last);
                let start = bucket.earliest(from, cost);
                let need = (i128::from(cost) * TOKEN).min(fresh.size);
                prop_assert!(level_by_definition(&fresh, &history, start) >= need, "too early");
                prop_assert!(start == from || level_by_definition(&fresh, &history, start - 1) < need, "too late");
                bucket.spend(start, cost);
                history.push((start, cost));
                last = start;
            }
            let largest = history.iter().map(|(_, cost)| i128::from(*cost) * TOKEN).max().expect("one at least");
            for (first, (begin, _)) in history.iter().enumerate() {
                let mut spent = 0;
                for (start, cost) in &history[first..] {
                    spent += i128::from(*cost) * TOKEN;
                    let filled = i128::from(start - begin) * i128::from(fresh.rate);
                    prop_assert!(spent <= fresh.brim().max(largest + i128::from(fresh.rate)) + filled);
                }
            }
        }
    }

    #[test]
    fn the_long_run_rate_is_exact() {
        for per_second in [0.1_f64, 3.0, 333.0, 12_288.0, 999_999.0] {
            let mut bucket = Bucket::new(per_second, 1.0, 1.0);
            let count = 100_000;
            let mut at = 0;
            for _ in 0..=count {
                at = bucket.earliest(at, 1);
                bucket.spend(at, 1);
            }
            let exact = f64::from(count) / per_second * SECOND as f64;
            assert!((at as f64 - exact).abs() <= 1.0 + exact * 1e-15, "{per_second}: {at} for {exact}");
        }
    }

    #[test]
    fn a_large_request_passes_and_leaves_a_debt() {
        let mut bucket = Bucket::new(1000.0, 1.0, 1.0);
        assert_eq!(bucket.earliest(0, 8), 0);
        bucket.spend(0, 8);
        assert_eq!((bucket.tokens(0), bucket.earliest(0, 1)), (0, 8_000_000));
    }
}
