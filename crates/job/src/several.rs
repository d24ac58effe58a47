//! Several databases driven at the same time: their figures side by side, and their totals.
//!
//! Counts and rates add up. Percentiles are those of all transactions of all databases, from their histograms put together. What
//! each database did stays beside that under its name: metrics as `NAME_METRIC`, samples and totals as `NODE NAME`, facts as
//! `databases.NAME.FACT`.

use std::collections::{BTreeMap, BTreeSet};

use fathom_runtime::MILLISECOND;
use fathom_settings::Key;
use fathom_volume::PERCENTILES;

use crate::metrics::{Adding, Metric, Metrics};
use crate::outcome::{Latencies, NodeTotal, Outcome, Sample, TRANSACTION};
use crate::tally;
use crate::transactions::Transactions;

/// The key beside a list of databases, for the manual of workloads that take one.
pub const COUNT: Key = Key::optional(
    "count",
    "1 to the length of the list in `database`",
    "all of them",
    "How many of the databases listed are driven, the first ones; as a factor it shows what each further one costs.",
);

/// The table beside a list of databases, likewise.
pub const OWN: Key = Key::optional(
    "databases",
    "table of tables: [workload.databases.NAME]",
    "none",
    "What is otherwise for one of the databases listed: keys of this table but `ramp`, `duration` and `interval`, in which all are \
     measured.",
);

/// How many databases were driven.
const DATABASES: &str = "databases";
/// The least primary figure of the databases in % of the greatest.
const FAIRNESS: &str = "fairness_percent";
/// In front of the primary metric: its mean over the databases.
const PER_DATABASE: &str = "per_database";

/// The metrics that a run on several databases has beside those of its workload; each metric of a database has its name in front.
pub fn metrics() -> Vec<Metric> {
    vec![
        Metric::neutral(DATABASES, "databases at the same time", ""),
        Metric::higher(FAIRNESS, "slowest database of the fastest", "%"),
    ]
}

/// Names of the metrics that only a run on these databases has, of a workload with `metrics` that is judged by `primary`. Two may
/// be equal: then the names of the databases do not keep their metrics apart.
pub fn names(metrics: &[Metric], primary: &str, databases: &[String]) -> Vec<String> {
    let own: Vec<&Metric> = metrics.iter().filter(|metric| is_of_one(&metric.name, metric.adding)).collect();
    let mut names = vec![DATABASES.to_owned(), FAIRNESS.to_owned(), format!("{PER_DATABASE}_{primary}")];
    for database in databases {
        names.extend(own.iter().map(|metric| format!("{database}_{}", metric.name)));
    }
    names
}

/// Whether each database has a metric of its own. Latencies by kind of transaction would be too many to read: a database's
/// are in its histograms.
fn is_of_one(metric: &str, adding: Adding) -> bool {
    match adding {
        Adding::OfProcess => false,
        Adding::Transactions => !metric.contains("_latency_"),
        Adding::Sum | Adding::Longest | Adding::PerEach(_) => true,
    }
}

/// The outcome of a run on several databases, from that of each by its name. The workload has `metrics` and is judged by
/// `primary`, which adds up; shares and fairness are measured by it.
pub fn combine(metrics: &[Metric], primary: &str, outcomes: &[(String, Outcome)]) -> Outcome {
    let mut whole = Outcome { metrics: combined(metrics, primary, outcomes), ..Outcome::default() };
    // What was sampled beside the run counts for the time in which all of them were measured.
    whole.began = outcomes.iter().filter_map(|(_, outcome)| outcome.began).max();
    let end = |outcome: &Outcome| outcome.began.map(|began| began + outcome.measured);
    whole.measured = match (whole.began, outcomes.iter().filter_map(|(_, outcome)| end(outcome)).min()) {
        (Some(began), Some(end)) => end.saturating_sub(began),
        _ => outcomes.iter().map(|(_, outcome)| outcome.measured).min().unwrap_or(0),
    };
    whole.facts = facts(outcomes);
    whole.totals = totals(outcomes);
    whole.samples = samples(outcomes);
    whole
}

fn combined(declared: &[Metric], primary: &str, outcomes: &[(String, Outcome)]) -> Metrics {
    let mut metrics = Metrics::new();
    let names: BTreeSet<&String> = outcomes.iter().flat_map(|(_, outcome)| outcome.metrics.keys()).collect();
    for name in names {
        let known = declared.iter().find(|metric| metric.name == **name);
        let adding = known.map_or(Adding::Transactions, |metric| metric.adding);
        metrics.insert(name.clone(), added(adding, name, outcomes));
        if is_of_one(name, adding) {
            for (database, outcome) in outcomes {
                let value = outcome.metrics.get(name).copied().flatten();
                metrics.insert(format!("{database}_{name}"), value);
            }
        }
    }
    let each = values(primary, outcomes);
    let least = each.iter().flatten().copied().reduce(f64::min);
    let most = each.iter().flatten().copied().reduce(f64::max).filter(|most| *most > 0.0);
    metrics.insert(DATABASES.to_owned(), Some(outcomes.len() as f64));
    // One alone is neither treated fairly nor unfairly.
    if each.len() > 1 {
        let known = each.iter().all(Option::is_some);
        let fairness = least.zip(most).filter(|_| known).map(|(least, most)| 100.0 * least / most);
        metrics.insert(FAIRNESS.to_owned(), fairness);
    }
    let sum = metrics.get(primary).copied().flatten();
    let mean = sum.map(|sum| sum / outcomes.len() as f64);
    metrics.insert(format!("{PER_DATABASE}_{primary}"), mean);
    metrics
}

fn values(name: &str, outcomes: &[(String, Outcome)]) -> Vec<Option<f64>> {
    outcomes.iter().map(|(_, outcome)| outcome.metrics.get(name).copied().flatten()).collect()
}

/// One metric of all databases; None if one of them does not have it.
fn added(adding: Adding, name: &str, outcomes: &[(String, Outcome)]) -> Option<f64> {
    let all = |name| values(name, outcomes).into_iter().collect::<Option<Vec<f64>>>();
    match adding {
        Adding::Transactions => latency(name, outcomes),
        Adding::Sum => Some(all(name)?.iter().sum()),
        Adding::Longest => all(name)?.into_iter().reduce(f64::max),
        Adding::PerEach(of) => {
            let (each, weights) = (all(name)?, all(of)?);
            let weight: f64 = weights.iter().sum();
            let sum: f64 = each.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
            (weight > 0.0).then(|| sum / weight)
        }
        Adding::OfProcess => {
            let inverse: f64 = all(name)?.iter().map(|value| 1.0 / value).sum();
            (inverse.is_finite() && inverse > 0.0).then(|| 1.0 / inverse)
        }
    }
}

/// `latency_…`, `waiting_ms` or `NODE_latency_…` over the transactions of all databases.
fn latency(name: &str, outcomes: &[(String, Outcome)]) -> Option<f64> {
    let (node, word) = match name.split_once("_latency_") {
        Some((node, word)) => (Some(node), word),
        None => (None, name.strip_prefix("latency_").unwrap_or(name)),
    };
    let wanted = |total: &&NodeTotal| {
        total.kind == TRANSACTION && node.is_none_or(|node| total.node.replace('-', "_") == node)
    };
    let found = outcomes.iter().flat_map(|(_, outcome)| &outcome.totals).filter(wanted);
    let whole = tally::side_by_side(found.map(|total| &total.total));
    let whole = Transactions::of(&whole)?;
    let nanos = match word {
        "ms" => whole.latency_mean(),
        "waiting_ms" => whole.waiting_mean(),
        _ => {
            let mut percentiles = PERCENTILES.iter();
            let (_, quantile) = percentiles.find(|(name, _)| word.strip_suffix("_ms") == Some(name))?;
            whole.latency_at(*quantile)
        }
    };
    nanos.map(|nanos| nanos / MILLISECOND as f64)
}

/// Facts that all databases agree on under their own names, the others by database.
fn facts(outcomes: &[(String, Outcome)]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for (database, outcome) in outcomes {
        for (name, value) in &outcome.facts {
            if outcomes.iter().all(|(_, other)| other.facts.get(name) == Some(value)) {
                facts.insert(name.clone(), value.clone());
            } else {
                facts.insert(format!("databases.{database}.{name}"), value.clone());
            }
        }
    }
    facts
}

/// Totals of all databases by node, then those of each.
fn totals(outcomes: &[(String, Outcome)]) -> Vec<NodeTotal> {
    let every = || outcomes.iter().flat_map(|(_, outcome)| &outcome.totals);
    let nodes: BTreeSet<(&str, &str)> = every().map(|total| (&*total.node, &*total.kind)).collect();
    let whole = nodes.into_iter().map(|(node, kind)| NodeTotal {
        node: node.to_owned(),
        kind: kind.to_owned(),
        total: tally::side_by_side(every().filter(|total| total.node == node).map(|total| &total.total)),
    });
    let each = outcomes.iter().flat_map(|(database, outcome)| {
        let named = move |total: &NodeTotal| NodeTotal {
            node: format!("{} {database}", total.node),
            ..total.clone()
        };
        outcome.totals.iter().map(named)
    });
    whole.chain(each).collect()
}

/// Samples of all databases by node and operation in the intervals of the first, then those of each.
fn samples(outcomes: &[(String, Outcome)]) -> Vec<Sample> {
    let every = || outcomes.iter().flat_map(|(_, outcome)| &outcome.samples);
    let lines: BTreeSet<(&str, &str)> = every().map(|sample| (&*sample.node, sample.operation)).collect();
    let mut samples = Vec::new();
    for (node, operation) in lines {
        let of = |outcome: &Outcome| -> Vec<Sample> {
            let own = outcome.samples.iter().filter(|own| own.node == node && own.operation == operation);
            own.cloned().collect()
        };
        // A ramp is no part of what is measured, however near its last interval comes.
        for measured in [false, true] {
            let phase = |line: Vec<Sample>| -> Vec<Sample> {
                line.into_iter().filter(|sample| (sample.start >= 0) == measured).collect()
            };
            let lines: Vec<Vec<Sample>> = outcomes.iter().map(|(_, outcome)| phase(of(outcome))).collect();
            samples.extend(joined_lines(&lines));
        }
    }
    for (database, outcome) in outcomes {
        let named =
            |sample: &Sample| Sample { node: format!("{} {database}", sample.node), ..sample.clone() };
        samples.extend(outcome.samples.iter().map(named));
    }
    samples
}

/// Lines of samples of the same node and operation as one. Intervals of different lines hardly ever begin at the same moment: what
/// lies across a boundary is divided in proportion to time.
fn joined_lines(lines: &[Vec<Sample>]) -> Vec<Sample> {
    let Some(first) = lines.iter().find(|line| !line.is_empty()) else { return Vec::new() };
    let end = |sample: &Sample| sample.start + sample.span as i64;
    let mut edges: Vec<i64> = first.iter().map(|sample| sample.start).collect();
    edges[0] = lines.iter().flatten().map(|sample| sample.start).min().unwrap_or(edges[0]);
    let interval = first.iter().map(|sample| sample.span as i64).max().unwrap_or(0);
    let own_end = first.iter().map(end).max().unwrap_or(0);
    let last = lines.iter().flatten().map(end).max().unwrap_or(own_end);
    // What another did long after the first had ended is an interval of its own.
    edges.extend((last - own_end > interval / 2).then_some(own_end));
    edges.push(last);
    let mut counted = (0.0, 0);
    let mut carried = (0.0, 0);
    let mut joined = Vec::new();
    for cell in edges.windows(2) {
        let mut sum = Cell::default();
        lines.iter().flatten().for_each(|sample| sum.add(sample, (cell[0], cell[1])));
        counted.0 += sum.count;
        carried.0 += sum.bytes;
        let whole = |(sum, before): &mut (f64, u64)| {
            let now = sum.round() as u64;
            now - std::mem::replace(before, now)
        };
        let (count, bytes) = (whole(&mut counted), whole(&mut carried));
        let example = &first[0];
        let over = |amount: f64| (sum.timed > 0.0).then(|| amount / sum.timed);
        joined.push(Sample {
            start: cell[0],
            span: (cell[1] - cell[0]) as u64,
            node: example.node.clone(),
            operation: example.operation,
            count,
            bytes,
            latency: over(sum.latency).map(|mean| Latencies { mean, percentiles: None, max: sum.max }),
            waiting_mean: over(sum.waiting),
            outstanding_mean: sum.outstanding,
        });
    }
    joined
}

/// What several lines did in one interval.
#[derive(Debug, Default)]
struct Cell {
    count: f64,
    bytes: f64,
    /// How many of them have latencies.
    timed: f64,
    latency: f64,
    max: Option<f64>,
    waiting: f64,
    outstanding: f64,
}

impl Cell {
    fn add(&mut self, sample: &Sample, (begin, end): (i64, i64)) {
        let from = sample.start.max(begin);
        let to = (sample.start + sample.span as i64).min(end);
        if from >= to {
            return;
        }
        let share = (to - from) as f64 / sample.span as f64;
        let count = sample.count as f64 * share;
        self.count += count;
        self.bytes += sample.bytes as f64 * share;
        self.outstanding += sample.outstanding_mean * (to - from) as f64 / (end - begin) as f64;
        if let Some(latency) = &sample.latency {
            self.timed += count;
            self.latency += latency.mean * count;
            self.waiting += sample.waiting_mean.unwrap_or(0.0) * count;
            self.max = latency.max.map_or(self.max, |max| Some(self.max.unwrap_or(0.0).max(max)));
        }
    }
}

#[cfg(test)]
mod tests;
