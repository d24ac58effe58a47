//! What several databases come to together.

use crate::transactions::Transactions;
use fathom_runtime::{MILLISECOND, SECOND};

use super::combine;
use crate::metrics::{Adding, Metric};
use crate::outcome::{NodeTotal, Outcome, Sample};

fn together(outcomes: &[(String, Outcome)]) -> Outcome {
    let metrics = [
        Metric::higher("nopm", "", "").adding(Adding::Sum),
        Metric::lower("elapsed_s", "", "").adding(Adding::Longest),
        Metric::lower("log_kib", "", "").adding(Adding::PerEach("nopm")),
        Metric::lower("cpu_ms", "", "").adding(Adding::OfProcess),
    ];
    combine(&metrics, "nopm", outcomes)
}

/// A database with so many transactions of that latency, in one interval of a second that begins at `start`.
fn database(nopm: f64, count: u64, latency: u64, start: i64) -> Outcome {
    let statistics = Transactions::default();
    statistics.restart(0);
    for _ in 0..count {
        statistics.completed(0, latency, 0);
    }
    let total = statistics.total(SECOND);
    let mut samples = Sample::of_snapshot("workload", start, &total);
    samples.iter_mut().for_each(|sample| sample.operation = "transaction");
    let values = [
        ("nopm", nopm),
        ("elapsed_s", nopm / 10.0),
        ("log_kib", count as f64),
        // The same processor time for each, seen by both.
        ("cpu_ms", 600.0 / nopm),
        ("latency_p50_ms", 0.0),
        ("new_order_latency_ms", 0.0),
    ];
    Outcome {
        metrics: values.map(|(name, value)| (name.to_owned(), Some(value))).into(),
        totals: vec![NodeTotal { node: "new-order".to_owned(), kind: "transaction".to_owned(), total }],
        samples,
        facts: [("version", "15".to_owned()), ("loaded", count.to_string())]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        measured: SECOND,
        began: Some(1000 + start as u64),
        ..Outcome::default()
    }
}

fn two() -> Outcome {
    let one = database(100.0, 100, MILLISECOND, 0);
    let other = database(300.0, 300, 3 * MILLISECOND, 250_000_000);
    together(&[("a".to_owned(), one), ("b".to_owned(), other)])
}

fn near(outcome: &Outcome, name: &str, value: f64) {
    let found = outcome.metrics[name].expect("it was measured");
    assert!((found / value - 1.0).abs() < 2e-3, "{name}: {found}, not {value}");
}

#[test]
fn every_metric_is_put_together_as_it_says() {
    let whole = two();
    for (name, value) in [
        ("nopm", 400.0),
        ("elapsed_s", 30.0),
        ("log_kib", (100.0 * 100.0 + 300.0 * 300.0) / 400.0),
        ("cpu_ms", 1.5),
        // Three quarters of all transactions took 3 ms: the median of all is no mean of medians.
        ("latency_p50_ms", 3.0),
        ("new_order_latency_ms", 2.5),
        ("a_nopm", 100.0),
        ("b_nopm", 300.0),
        ("databases", 2.0),
        ("fairness_percent", 100.0 / 3.0),
        ("per_database_nopm", 200.0),
    ] {
        near(&whole, name, value);
    }
    assert!(!whole.metrics.contains_key("a_cpu_ms"), "no database has a process of its own");
}

#[test]
fn a_metric_that_one_of_them_lacks_is_missing_and_not_smaller() {
    let mut lacking = database(1.0, 1, 1, 0);
    lacking.metrics.insert("nopm".to_owned(), None);
    let whole = together(&[("a".to_owned(), database(1.0, 1, 1, 0)), ("b".to_owned(), lacking)]);
    for name in ["nopm", "log_kib", "fairness_percent", "per_database_nopm", "b_nopm"] {
        assert_eq!(whole.metrics[name], None, "{name}");
    }
    assert_eq!(whole.metrics["a_nopm"], Some(1.0));
}

#[test]
fn one_database_alone_has_no_fairness() {
    let whole = together(&[("a".to_owned(), database(5.0, 5, 1, 0))]);
    assert_eq!(whole.metrics["nopm"], Some(5.0));
    assert!(!whole.metrics.contains_key("fairness_percent"));
}

#[test]
fn samples_add_up_over_intervals_that_do_not_begin_together() {
    let whole = two();
    let of = |node: &str| -> Vec<(i64, u64, u64)> {
        let own = whole.samples.iter().filter(|sample| sample.node == node);
        own.map(|sample| (sample.start, sample.span, sample.count)).collect()
    };
    assert_eq!(of("workload a"), [(0, SECOND, 100)]);
    assert_eq!(of("workload b"), [(250_000_000, SECOND, 300)]);
    // The quarter of a second that the second one began later lies within half an interval: it lengthens the last one.
    assert_eq!(of("workload"), [(0, 1_250_000_000, 400)]);
    let latency =
        whole.samples.iter().find(|sample| sample.node == "workload").and_then(|sample| sample.latency);
    let latency = latency.expect("there were transactions");
    assert!((latency.mean / 2.5e6 - 1.0).abs() < 2e-3 && latency.percentiles.is_none(), "{latency:?}");
}

#[test]
fn the_window_is_where_all_were_measured_and_facts_that_differ_have_owners() {
    let whole = two();
    assert_eq!((whole.began, whole.measured), (Some(250_001_000), 750_000_000));
    assert_eq!(whole.facts["version"], "15");
    assert_eq!((&*whole.facts["databases.a.loaded"], &*whole.facts["databases.b.loaded"]), ("100", "300"));
    assert!(!whole.facts.contains_key("loaded"));
    let nodes: Vec<&str> = whole.totals.iter().map(|total| &*total.node).collect();
    assert_eq!(nodes, ["new-order", "new-order a", "new-order b"]);
}
