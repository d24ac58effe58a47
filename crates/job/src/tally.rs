//! Merging counters: of volumes side by side, of intervals one after the other.

use fathom_volume::{KindStatistics, Snapshot};

fn add_kinds(into: &mut [Option<KindStatistics>; 5], other: &[Option<KindStatistics>; 5]) {
    for (own, theirs) in into.iter_mut().zip(other) {
        match (own, theirs) {
            (_, None) => {}
            (Some(own), Some(theirs)) => own.add(theirs),
            (own @ None, Some(theirs)) => *own = Some(theirs.clone()),
        }
    }
}

/// Nothing counted over no time.
pub fn nothing() -> Snapshot {
    Snapshot { span: 0, kinds: Default::default(), outstanding_mean: 0.0, outstanding_max: 0, standstill: 0 }
}

/// What volumes counted side by side over the same span: counts and outstanding requests add up; the longest standstill of one
/// counts. The largest number outstanding is an upper bound, for the volumes need not have had theirs at the same moment.
pub fn side_by_side<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Snapshot {
    let mut sum = nothing();
    for snapshot in snapshots {
        add_kinds(&mut sum.kinds, &snapshot.kinds);
        sum.span = sum.span.max(snapshot.span);
        sum.outstanding_mean += snapshot.outstanding_mean;
        sum.outstanding_max += snapshot.outstanding_max;
        sum.standstill = sum.standstill.max(snapshot.standstill);
    }
    sum
}

/// Adds the next interval to what was counted before it.
pub fn append(sum: &mut Snapshot, next: &Snapshot) {
    let span = sum.span + next.span;
    if span > 0 {
        let area = sum.outstanding_mean * sum.span as f64 + next.outstanding_mean * next.span as f64;
        sum.outstanding_mean = area / span as f64;
    }
    sum.span = span;
    sum.outstanding_max = sum.outstanding_max.max(next.outstanding_max);
    sum.standstill = sum.standstill.max(next.standstill);
    add_kinds(&mut sum.kinds, &next.kinds);
}

#[cfg(test)]
mod tests {
    use fathom_volume::{Kind, Statistics};

    use super::{append, nothing, side_by_side};

    #[test]
    fn intervals_appended_are_the_total() {
        let statistics = Statistics::default();
        statistics.restart(0);
        let mut sum = nothing();
        for interval in 0..3 {
            let now = interval * 100;
            statistics.begin(now);
            statistics.end(now + 40);
            statistics.completed(Kind::Read, 512, 40, 0);
            append(&mut sum, &statistics.interval(now + 100));
        }
        let total = statistics.total(300);
        assert_eq!((sum.span, sum.outstanding_max), (300, 1));
        assert!((sum.outstanding_mean - 0.4).abs() < 1e-9);
        let reads = |snapshot: &fathom_volume::Snapshot| {
            snapshot.kind(Kind::Read).map(|kind| (kind.count, kind.latency_sum))
        };
        assert_eq!(reads(&sum), reads(&total));
    }

    #[test]
    fn volumes_side_by_side_add_up_over_the_same_span() {
        let statistics = Statistics::default();
        statistics.restart(0);
        statistics.begin(0);
        statistics.end(50);
        statistics.completed(Kind::Write, 512, 50, 0);
        let one = statistics.interval(100);
        let two = side_by_side([&one, &one]);
        assert_eq!((two.span, two.kind(Kind::Write).map(|kind| kind.count)), (100, Some(2)));
        assert!((two.outstanding_mean - 1.0).abs() < 1e-9);
    }
}
