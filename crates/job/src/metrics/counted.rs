//! From counters to the metrics of a run.

use fathom_runtime::{MILLISECOND, SECOND};
use fathom_volume::{Kind, KindStatistics, PERCENTILES, Snapshot};

use super::{FEW, Metrics};

const KINDS_MOVING_DATA: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Trim, Kind::WriteZeroes];

/// The metrics of block I/O. I/O rates count reads, writes, trims and write-zeroes, not flushes; throughput counts the
/// bytes of reads and writes.
pub fn of_io(snapshot: &Snapshot) -> Metrics {
    let mut metrics = Metrics::new();
    let seconds = snapshot.span as f64 / SECOND as f64;
    let per_second = |amount: f64| (snapshot.span > 0).then(|| amount / seconds);
    let mut set = |name: &str, value: Option<f64>| {
        metrics.insert(name.to_owned(), value);
    };

    let (read, write) = (snapshot.kind(Kind::Read), snapshot.kind(Kind::Write));
    let count = |kind: Option<&KindStatistics>| kind.map_or(0.0, |kind| kind.count as f64);
    let megabytes = |kind: Option<&KindStatistics>| kind.map_or(0.0, |kind| kind.bytes as f64 / 1e6);
    let all = moving_data(snapshot);

    set("iops", per_second(count(all.as_ref())));
    set("read_iops", per_second(count(read)));
    set("write_iops", per_second(count(write)));
    set("mb_per_s", per_second(megabytes(read) + megabytes(write)));
    set("read_mb_per_s", per_second(megabytes(read)));
    set("write_mb_per_s", per_second(megabytes(write)));
    for (name, kind) in [("latency", all.as_ref()), ("read_latency", read), ("write_latency", write)] {
        latencies(name, kind, &mut set);
    }
    set("waiting_ms", all.as_ref().and_then(KindStatistics::waiting_mean).map(milliseconds));
    set("standstill_ms", (snapshot.span > 0).then(|| milliseconds(snapshot.standstill as f64)));
    set("outstanding", (snapshot.span > 0).then_some(snapshot.outstanding_mean));
    set("average_read_kib", mean_kib(read));
    set("average_write_kib", mean_kib(write));
    if let Some(flush) = snapshot.kind(Kind::Flush) {
        set("flushes_per_second", per_second(flush.count as f64));
        set("flush_latency_ms", flush.latency_mean().map(milliseconds));
    }
    let errors: u64 = snapshot.kinds.iter().flatten().map(|kind| kind.errors).sum();
    if errors > 0 {
        set("errors", Some(errors as f64));
    }
    metrics
}

/// Mean and percentiles to 99.9 of one kind as `NAME_ms`, `NAME_p50_ms`, `NAME_p95_ms`, ...
pub fn latencies(name: &str, kind: Option<&KindStatistics>, set: &mut impl FnMut(&str, Option<f64>)) {
    some_latencies(name, kind, &PERCENTILES[..FEW], set);
}

/// The same with the 99.99th percentile.
pub fn all_latencies(name: &str, kind: Option<&KindStatistics>, set: &mut impl FnMut(&str, Option<f64>)) {
    some_latencies(name, kind, &PERCENTILES, set);
}

fn some_latencies(
    name: &str,
    kind: Option<&KindStatistics>,
    percentiles: &[(&str, f64)],
    set: &mut impl FnMut(&str, Option<f64>),
) {
    set(&format!("{name}_ms"), kind.and_then(KindStatistics::latency_mean).map(milliseconds));
    for (word, quantile) in percentiles {
        let value = kind.and_then(|kind| kind.latency_at(*quantile)).map(milliseconds);
        set(&format!("{name}_{word}_ms"), value);
    }
}

/// All requests that move data, of every kind; None if there were none.
pub fn moving_data(snapshot: &Snapshot) -> Option<KindStatistics> {
    let mut present = KINDS_MOVING_DATA.iter().filter_map(|kind| snapshot.kind(*kind));
    let mut sum = present.next()?.clone();
    present.for_each(|kind| sum.add(kind));
    Some(sum)
}

/// Nanoseconds as milliseconds.
pub fn milliseconds(nanos: f64) -> f64 {
    nanos / MILLISECOND as f64
}

fn mean_kib(kind: Option<&KindStatistics>) -> Option<f64> {
    let kind = kind.filter(|kind| kind.count > 0)?;
    Some(kind.bytes as f64 / kind.count as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MILLISECOND, SECOND};
    use fathom_volume::{Kind, Statistics};

    use super::of_io;

    #[test]
    fn rates_sizes_and_latencies_come_out_in_the_units_of_their_names() {
        let statistics = Statistics::default();
        statistics.restart(0);
        for step in 0..100_u64 {
            let kind = if step < 75 { Kind::Read } else { Kind::Write };
            statistics.observe(kind, 8192, step * 20 * MILLISECOND, (step * 20 + 10) * MILLISECOND);
        }
        let metrics = of_io(&statistics.total(2 * SECOND));
        let get = |name: &str| metrics[name].expect("it was measured");
        for (name, value) in [
            ("iops", 50.0),
            ("read_iops", 37.5),
            ("write_iops", 12.5),
            ("mb_per_s", 0.4096),
            ("latency_ms", 10.0),
            ("latency_p50_ms", 10.0),
            ("outstanding", 0.5),
            ("average_read_kib", 8.0),
            ("waiting_ms", 0.0),
            ("standstill_ms", 10.0),
        ] {
            assert!((get(name) / value - 1.0).abs() < 1e-3 || get(name) == value, "{name}: {}", get(name));
        }
    }

    #[test]
    fn what_was_not_measured_is_missing_and_not_zero() {
        let statistics = Statistics::default();
        statistics.restart(0);
        statistics.observe(Kind::Write, 512, 0, 10);
        let metrics = of_io(&statistics.total(SECOND));
        assert_eq!((metrics["read_latency_ms"], metrics["average_read_kib"]), (None, None));
        assert_eq!(metrics["read_iops"], Some(0.0));
        let empty = of_io(&Statistics::default().total(0));
        assert_eq!((empty["iops"], empty["outstanding"]), (None, None));
    }
}
