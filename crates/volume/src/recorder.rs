//! Counts of values by size, in the buckets of a three-digit HDR histogram, for code that records millions a second.
//!
//! Only counts are kept while recording; the histogram with its smallest, largest and total is made from them when
//! somebody asks. That takes a quarter of the time of recording into the histogram itself.

use hdrhistogram::Histogram;

/// Values below 2 to this power have buckets of their own; above, each octave has half as many.
const EXACT_BITS: u32 = 11;
const HALF: usize = 1 << (EXACT_BITS - 1);

/// Counts of 64-bit values, each within one part in 1,024 of its bucket.
///
/// Counts are 32-bit, for what is written a million times a second should fit into the cache; each time one overflows, its
/// bucket is noted in `carries`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    counts: Vec<u32>,
    carries: Vec<u32>,
}

#[inline]
fn bucket_of(value: u64) -> usize {
    let octave = (64 - EXACT_BITS) - (value | ((1 << EXACT_BITS) - 1)).leading_zeros();
    octave as usize * HALF + (value >> octave) as usize
}

/// The least value of a bucket.
fn value_of(bucket: usize) -> u64 {
    let octave = (bucket / HALF).saturating_sub(1);
    ((bucket - octave * HALF) as u64) << octave
}

impl Recorder {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        match self.counts.get_mut(bucket) {
            Some(count) if *count < u32::MAX => *count += 1,
            _ => self.record_more(bucket),
        }
    }

    #[cold]
    fn record_more(&mut self, bucket: usize) {
        if bucket >= self.counts.len() {
            self.counts.resize((bucket + 1).next_multiple_of(HALF), 0);
        }
        let (sum, carry) = self.counts[bucket].overflowing_add(1);
        self.counts[bucket] = sum;
        if carry {
            self.carries.push(bucket as u32);
        }
    }

    /// The buckets that hold something, with how many.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counted = counted.map(|(bucket, count)| (bucket, u64::from(*count)));
        counted.chain(self.carries.iter().map(|bucket| (*bucket as usize, 1 << 32)))
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.filled().map(|(_, count)| count).sum()
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (bucket, (own, theirs)) in self.counts.iter_mut().zip(&other.counts).enumerate() {
            let (sum, carry) = own.overflowing_add(*theirs);
            *own = sum;
            if carry {
                self.carries.push(bucket as u32);
            }
        }
        self.carries.extend(&other.carries);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.carries.clear();
    }

    /// The histogram of what was counted.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are within the histogram's bounds");
        for (bucket, count) in self.filled() {
            histogram.record_n(value_of(bucket), count).expect("the histogram grows as needed");
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::{Recorder, bucket_of, value_of};

    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![0..5000_u64, 0..1_u64 << 40, 0..1_u64 << 63]
    }

    proptest! {
        #[test]
        fn it_counts_as_the_histogram_does(values in prop::collection::vec(value(), 1..100)) {
            let mut recorder = Recorder::default();
            let mut histogram = Histogram::<u64>::new(3).expect("sound bounds");
            for value in &values {
                recorder.record(*value);
                histogram.record(*value).expect("it grows");
            }
            let made = recorder.histogram();
            prop_assert_eq!(recorder.total(), values.len() as u64);
            prop_assert!(made == histogram);
            for quantile in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(made.value_at_quantile(quantile), histogram.value_at_quantile(quantile));
            }
            prop_assert_eq!(made.max(), histogram.max());
        }

        #[test]
        fn a_bucket_begins_at_its_least_value(value in value()) {
            let bucket = bucket_of(value);
            prop_assert!(value_of(bucket) <= value);
            prop_assert_eq!(bucket_of(value_of(bucket)), bucket);
            if value < 2048 {
                prop_assert_eq!(value_of(bucket), value);
            }
        }
    }

    #[test]
    fn more_than_32_bits_of_one_value_are_counted() {
        let mut recorder = Recorder::default();
        recorder.record(7);
        recorder.counts[7] = u32::MAX;
        recorder.record(7);
        recorder.record(7);
        let mut twice = recorder.clone();
        twice.counts[7] = u32::MAX;
        twice.add(&recorder);
        assert_eq!((recorder.total(), twice.total()), ((1 << 32) + 1, 3 << 32));
        assert_eq!(twice.histogram().count_at(7), 3 << 32);
        twice.clear();
        assert_eq!(twice.total(), 0);
    }
}
