//! Samples and histograms as columns, node totals as small facts; names as in docs/RESULTS.md.

use fathom_job::{Latencies, NodeTotal, Sample, TRANSACTION};
use fathom_volume::{Kind, KindStatistics, PERCENTILES, SIZE_STEP, Snapshot};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const SECOND: f64 = 1e9;

/// The columns of `samples.parquet`.
pub(crate) fn samples<'py>(py: Python<'py>, samples: &[Sample]) -> PyResult<Bound<'py, PyDict>> {
    fn column<'a, T>(samples: &'a [Sample], of: impl Fn(&'a Sample) -> T) -> Vec<T> {
        samples.iter().map(of).collect()
    }
    fn latency(samples: &[Sample], of: impl Fn(&Latencies) -> Option<f64>) -> Vec<Option<f64>> {
        column(samples, |sample| sample.latency.as_ref().and_then(&of))
    }
    let columns = PyDict::new(py);
    columns.set_item("t_s", column(samples, |sample| sample.start as f64 / SECOND))?;
    columns.set_item("seconds", column(samples, |sample| sample.span as f64 / SECOND))?;
    columns.set_item("phase", column(samples, |sample| if sample.start < 0 { "ramp" } else { "measure" }))?;
    columns.set_item("node", column(samples, |sample| sample.node.as_str()))?;
    columns.set_item("op", column(samples, |sample| sample.operation))?;
    columns.set_item("count", column(samples, |sample| sample.count))?;
    columns.set_item("bytes", column(samples, |sample| sample.bytes))?;
    columns.set_item("latency_mean_ns", latency(samples, |values| Some(values.mean)))?;
    for (index, (name, _)) in Latencies::QUANTILES.into_iter().enumerate() {
        let at = |values: &Latencies| values.percentiles.map(|percentiles| percentiles[index]);
        columns.set_item(format!("latency_{name}_ns"), latency(samples, at))?;
    }
    columns.set_item("latency_max_ns", latency(samples, |values| values.max))?;
    columns.set_item("waiting_mean_ns", column(samples, |sample| sample.waiting_mean))?;
    columns.set_item("outstanding_mean", column(samples, |sample| sample.outstanding_mean))?;
    Ok(columns)
}

/// The columns of `histograms.parquet`.
pub(crate) fn histograms<'py>(py: Python<'py>, totals: &[NodeTotal]) -> PyResult<Bound<'py, PyDict>> {
    let mut buckets = Buckets::default();
    for total in totals {
        for (kind, counters) in present(&total.total) {
            let op = if total.kind == TRANSACTION { TRANSACTION } else { kind.name() };
            buckets.of_kind(&total.node, op, counters);
        }
    }
    let columns = PyDict::new(py);
    columns.set_item("node", buckets.node)?;
    columns.set_item("op", buckets.op)?;
    columns.set_item("measure", buckets.measure)?;
    columns.set_item("low", buckets.low)?;
    columns.set_item("high", buckets.high)?;
    columns.set_item("count", buckets.count)?;
    Ok(columns)
}

/// The content of `volumes.json`: per node its kind, outstanding I/O, and counters by kind of request.
pub(crate) fn volumes<'py>(py: Python<'py>, totals: &[NodeTotal]) -> PyResult<Bound<'py, PyDict>> {
    let nodes = PyDict::new(py);
    for NodeTotal { node, kind, total } in totals {
        let facts = PyDict::new(py);
        facts.set_item("kind", kind)?;
        facts.set_item("outstanding_mean", total.outstanding_mean)?;
        facts.set_item("outstanding_max", total.outstanding_max)?;
        for (kind, counters) in present(total) {
            facts.set_item(kind.name(), counted(py, counters)?)?;
        }
        nodes.set_item(node, facts)?;
    }
    Ok(nodes)
}

fn counted<'py>(py: Python<'py>, counters: &KindStatistics) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("count", counters.count)?;
    facts.set_item("bytes", counters.bytes)?;
    facts.set_item("errors", counters.errors)?;
    facts.set_item("latency_mean_ns", counters.latency_mean())?;
    facts.set_item("waiting_mean_ns", counters.waiting_mean())?;
    for (name, quantile) in &PERCENTILES[..4] {
        let value = counters.latency_at(*quantile).map(|nanos| nanos as u64);
        facts.set_item(format!("latency_{name}_ns"), value)?;
    }
    Ok(facts)
}

fn present(total: &Snapshot) -> impl Iterator<Item = (Kind, &KindStatistics)> {
    Kind::ALL.into_iter().filter_map(|kind| total.kind(kind).map(|counters| (kind, counters)))
}

#[derive(Default)]
struct Buckets<'a> {
    node: Vec<&'a str>,
    op: Vec<&'static str>,
    measure: Vec<&'static str>,
    low: Vec<u64>,
    high: Vec<u64>,
    count: Vec<u64>,
}

impl<'a> Buckets<'a> {
    fn of_kind(&mut self, node: &'a str, op: &'static str, counters: &KindStatistics) {
        for (measure, histogram) in [("latency", &counters.latency), ("waiting", &counters.waiting)] {
            for value in histogram.iter_recorded() {
                let at = value.value_iterated_to();
                let (low, high) = (histogram.lowest_equivalent(at), histogram.highest_equivalent(at));
                self.push(node, op, measure, (low, high), value.count_at_value());
            }
        }
        for (step, count) in counters.sizes.iter().enumerate().filter(|(_, count)| **count > 0) {
            let high = step as u64 * SIZE_STEP;
            let low = high.saturating_sub(SIZE_STEP - 1).min(high);
            self.push(node, op, "size", (if step == 0 { 0 } else { low }, high), *count);
        }
    }

    fn push(
        &mut self,
        node: &'a str,
        op: &'static str,
        measure: &'static str,
        range: (u64, u64),
        count: u64,
    ) {
        self.node.push(node);
        self.op.push(op);
        self.measure.push(measure);
        self.low.push(range.0);
        self.high.push(range.1);
        self.count.push(count);
    }
}
