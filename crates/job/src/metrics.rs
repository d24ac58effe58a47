//! The metrics of runs: what each is called, its unit, which direction is better, and how it adds up over several databases.
//!
//! A metric is declared once: by its workload, or here if several workloads yield it. `python/fathom/metrics.json` is made from
//! these declarations (`make docs`), for analysis and reports.

mod counted;

use std::borrow::Cow;
use std::collections::BTreeMap;

use fathom_volume::PERCENTILES;

pub use counted::{all_latencies, latencies, milliseconds, moving_data, of_io};

/// Metrics by name; None where a number could not be measured.
pub type Metrics = BTreeMap<String, Option<f64>>;

/// One number that a run can yield.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Key in `metrics.json`, the unit as its last word.
    pub name: Cow<'static, str>,
    /// Words for people.
    pub label: Cow<'static, str>,
    /// Unit for people; empty for pure counts.
    pub unit: &'static str,
    /// None where neither direction is better: a description, not a result.
    pub higher_is_better: Option<bool>,
    /// How the figures of several databases become one.
    pub adding: Adding,
}

/// How one metric of several databases becomes one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adding {
    /// Latencies and waiting times: over the transactions of all databases. None for what has no histogram.
    Transactions,
    /// Counts, and rates over the same time.
    Sum,
    /// The longest counts.
    Longest,
    /// An amount for each of what that metric counts: the mean, weighted by it.
    PerEach(&'static str),
    /// An amount of this process for each of what a database counts. Every database saw the whole process, so that no
    /// database has a figure of its own; together they share the one amount.
    OfProcess,
}

impl Metric {
    /// A result; more is better.
    pub fn higher(
        name: impl Into<Cow<'static, str>>,
        label: impl Into<Cow<'static, str>>,
        unit: &'static str,
    ) -> Self {
        Self {
            name: name.into(),
            label: label.into(),
            unit,
            higher_is_better: Some(true),
            adding: Adding::Transactions,
        }
    }

    /// A result; less is better.
    pub fn lower(
        name: impl Into<Cow<'static, str>>,
        label: impl Into<Cow<'static, str>>,
        unit: &'static str,
    ) -> Self {
        Self { higher_is_better: Some(false), ..Self::higher(name, label, unit) }
    }

    /// A description; neither direction is better.
    pub fn neutral(
        name: impl Into<Cow<'static, str>>,
        label: impl Into<Cow<'static, str>>,
        unit: &'static str,
    ) -> Self {
        Self { higher_is_better: None, ..Self::higher(name, label, unit) }
    }

    /// The same, put together over several databases in that way.
    #[must_use]
    pub fn adding(self, adding: Adding) -> Self {
        Self { adding, ..self }
    }
}

/// Mean and percentiles of a latency, as [`all_latencies`] fills them; `kind` is what is timed, with hyphens between its words, or
/// empty for everything together.
pub fn of_latency(kind: &str) -> impl Iterator<Item = Metric> {
    let (before, words) = match kind {
        "" => (String::new(), String::new()),
        kind => (format!("{}_", kind.replace('-', "_")), format!("{kind} ")),
    };
    let statistics =
        [("", "mean"), ("_p50", "median")].map(|(part, word)| (part.to_owned(), word.to_owned()));
    let further = PERCENTILES[1..].iter().map(|(part, quantile)| {
        // 0.9999 is 99.99 %, without what a binary fraction leaves behind.
        (format!("_{part}"), format!("{}th percentile", (quantile * 1e6).round() / 1e4))
    });
    statistics.into_iter().chain(further).map(move |(part, statistic)| {
        Metric::lower(format!("{before}latency{part}_ms"), format!("{statistic} {words}latency"), "ms")
    })
}

/// How many percentiles [`latencies`] fills: those up to 99.9.
const FEW: usize = 4;

/// Mean and percentiles up to 99.9, as [`latencies`] fills them.
fn of_short_latency(kind: &str) -> impl Iterator<Item = Metric> {
    of_latency(kind).take(1 + FEW)
}

/// The metrics that [`of_io`] may give.
pub fn io() -> Vec<Metric> {
    let mut all = vec![
        Metric::higher("iops", "I/O rate", "IOPS"),
        Metric::higher("read_iops", "read rate", "IOPS"),
        Metric::higher("write_iops", "write rate", "IOPS"),
        Metric::higher("mb_per_s", "throughput", "MB/s"),
        Metric::higher("read_mb_per_s", "read throughput", "MB/s"),
        Metric::higher("write_mb_per_s", "write throughput", "MB/s"),
    ];
    all.extend(["", "read", "write"].into_iter().flat_map(of_short_latency));
    all.extend([
        Metric::lower("flush_latency_ms", "mean flush latency", "ms"),
        Metric::neutral("flushes_per_second", "flushes", "1/s"),
        Metric::lower("waiting_ms", "mean waiting time", "ms"),
        Metric::lower("standstill_ms", "longest standstill", "ms").adding(Adding::Longest),
        Metric::neutral("outstanding", "outstanding I/O, mean", ""),
        Metric::neutral("average_read_kib", "average read size", "KiB"),
        Metric::neutral("average_write_kib", "average write size", "KiB"),
        Metric::lower("errors", "failed requests", ""),
    ]);
    all
}

/// Metrics of several workloads: those of block I/O, of inserted rows, of the server's processors, and of what arrives at a rate.
pub fn shared() -> Vec<Metric> {
    let mut all = io();
    all.extend([
        Metric::higher("rows_per_second", "insert rate", "rows/s").adding(Adding::Sum),
        Metric::higher("rows", "rows inserted", "rows").adding(Adding::Sum),
        Metric::lower("elapsed_s", "elapsed time", "s").adding(Adding::Longest),
        Metric::higher("commits_per_second", "commits", "1/s").adding(Adding::Sum),
        Metric::neutral("server_cpus", "processors the servers kept busy", ""),
        Metric::neutral("server_cpu_percent", "share of the processors that the servers may use", "%"),
        Metric::neutral("arrivals_per_second", "arrivals", "1/s").adding(Adding::Sum),
        Metric::lower("backlog_max", "most arrivals waiting", "").adding(Adding::Longest),
        Metric::lower("backlog_end", "arrivals waiting at the end", "").adding(Adding::Sum),
    ]);
    all
}

/// Those of [`shared`] with these names.
///
/// # Panics
/// If one of them is not there: then the workload declares it itself.
pub fn named(names: &[&str]) -> Vec<Metric> {
    let all = shared();
    let of = |name: &&str| all.iter().find(|metric| metric.name == **name).cloned();
    names.iter().map(|name| of(name).unwrap_or_else(|| panic!("`{name}` is no shared metric"))).collect()
}

#[cfg(test)]
mod tests {
    use super::{io, of_latency, shared};

    #[test]
    fn latencies_have_names_and_words() {
        let found: Vec<_> = of_latency("new-order").map(|metric| (metric.name, metric.label)).collect();
        let (name, label) = &found[1];
        assert_eq!((&**name, &**label), ("new_order_latency_p50_ms", "median new-order latency"));
        let (name, label) = found.last().expect("there are six");
        assert_eq!(
            (&**name, &**label),
            ("new_order_latency_p9999_ms", "99.99th percentile new-order latency")
        );
        assert_eq!(found.len(), 6);
        let labels: Vec<_> =
            io().into_iter().filter(|metric| metric.name.starts_with("latency_p9")).collect();
        assert_eq!(
            labels.iter().map(|metric| &*metric.label).collect::<Vec<_>>()[1..],
            ["99th percentile latency", "99.9th percentile latency"]
        );
    }

    #[test]
    fn every_shared_metric_is_declared_once() {
        let mut names: Vec<_> = shared().into_iter().map(|metric| metric.name).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
