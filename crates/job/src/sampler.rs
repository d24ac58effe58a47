//! Cuts a run into intervals: every node's counters, and the workload's own.

use std::rc::Rc;

use fathom_runtime::{MILLISECOND, Nanos, SECOND};
use fathom_settings::Section;
use fathom_units::Span;
use fathom_volume::{Handle, Snapshot, Statistics};

use crate::outcome::{NodeTotal, Sample};
use crate::tally;
use crate::transactions::Transactions;

/// The name of the node for what the user sees.
pub const WORKLOAD: &str = "workload";

/// Fewest and most intervals of a measured phase, if the settings do not say how long one is.
const INTERVALS: (Nanos, Nanos) = (20, 1000);

/// Most samples of a run whose settings say how long one is: beyond, writing them takes longer than the run.
const MOST_SAMPLES: Nanos = 10_000;

/// What a volume counts that is a level and no sum: sampled at the end of each interval.
const LEVELS: [&str; 3] = ["dirty_bytes", "io_credits", "byte_credits"];

/// Length of an interval when the settings do not say, for a measured phase of that length (None: unknown): 1 s, but at
/// least 20 intervals and at most 1,000.
pub fn default_interval(measured: Option<Nanos>) -> Nanos {
    let measured = measured.unwrap_or(20 * SECOND);
    SECOND.clamp(
        measured.div_ceil(INTERVALS.1).max(1),
        (measured / INTERVALS.0).max(measured.div_ceil(INTERVALS.1)).max(1),
    )
}

/// Reads `interval`, for a measured phase of that length (None: unknown): each sample costs time and memory, so that a run of
/// samples of nanoseconds would never end.
pub fn read_interval(section: &mut Section<'_>, measured: Option<Nanos>) -> Option<Nanos> {
    let interval = section.optional::<Span>("interval")?.as_nanos();
    let least = measured.map_or(MILLISECOND, |measured| measured.div_ceil(MOST_SAMPLES).max(1));
    if interval < least {
        let message = match measured {
            Some(_) => format!("this run would have more than {MOST_SAMPLES} samples"),
            None => "too short for a run whose length is not known".to_owned(),
        };
        section.error_at("interval", message, format!("write \"{:#}\" or more", Span::from_nanos(least)));
    }
    Some(interval)
}

/// Where the workload's own counters come from.
pub enum View {
    /// The user sees what these volumes' seams see (a closed loop): their counters side by side.
    Volumes(Vec<Handle>),
    /// The workload times its requests itself.
    Own(Rc<Statistics>),
    /// The workload's users see transactions.
    Transactions(Rc<Transactions>),
}

impl View {
    fn restart(&self, now: Nanos) {
        match self {
            Self::Volumes(volumes) => volumes.iter().for_each(|volume| volume.statistics().restart(now)),
            Self::Own(statistics) => statistics.restart(now),
            Self::Transactions(transactions) => transactions.restart(now),
        }
    }

    fn samples(&self, start: i64, seen: &Snapshot) -> Vec<Sample> {
        match self {
            Self::Transactions(_) => Transactions::samples(WORKLOAD, start, seen).collect(),
            Self::Volumes(_) | Self::Own(_) => Sample::of_snapshot(WORKLOAD, start, seen),
        }
    }
}

/// Samples of a run.
pub struct Sampler {
    nodes: Vec<Handle>,
    view: View,
    kind: &'static str,
    samples: Vec<Sample>,
    // Start of the measured phase and of the current interval, ns on the run's clock.
    origin: Nanos,
    since: Nanos,
}

impl Sampler {
    /// Begins at `now` to sample these nodes; the measured phase will begin at `origin`. `kind` is the workload's.
    pub fn start(nodes: Vec<Handle>, view: View, kind: &'static str, now: Nanos, origin: Nanos) -> Self {
        let sampler = Self { nodes, view, kind, samples: Vec::new(), origin, since: now };
        sampler.forget(now);
        sampler
    }

    fn forget(&self, now: Nanos) {
        self.nodes.iter().for_each(|node| node.statistics().restart(now));
        self.view.restart(now);
    }

    /// Ends the interval at `now`: keeps its samples and returns what the user saw. None if the interval is empty.
    pub fn cut(&mut self, now: Nanos) -> Option<Snapshot> {
        if now <= self.since {
            return None;
        }
        let start = self.since as i64 - self.origin as i64;
        let mut snapshots = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let snapshot = node.statistics().interval(now);
            self.samples.extend(Sample::of_snapshot(node.name(), start, &snapshot));
            let levels = node.counters().into_iter().filter(|(name, _)| LEVELS.contains(name));
            self.samples
                .extend(levels.map(|level| Sample::of_level(node.name(), start, snapshot.span, level)));
            snapshots.push(snapshot);
        }
        let seen = match &self.view {
            View::Own(statistics) => statistics.interval(now),
            View::Transactions(transactions) => transactions.interval(now),
            View::Volumes(volumes) => {
                let of = |volume: &Handle| {
                    let place = self.nodes.iter().position(|node| node.name() == volume.name());
                    &snapshots[place.expect("the workload's volumes are among the nodes")]
                };
                tally::side_by_side(volumes.iter().map(of))
            }
        };
        self.samples.extend(self.view.samples(start, &seen));
        self.since = now;
        Some(seen)
    }

    /// The ramp is over at `now`: what was counted so far stays in the samples only.
    pub fn restart(&mut self, now: Nanos) {
        self.cut(now);
        self.forget(now);
        (self.origin, self.since) = (now, now);
    }

    /// Ends at `now`: everything from the measured phase on, and the samples before it.
    pub fn finish(mut self, now: Nanos) -> Finished {
        self.cut(now);
        let mut totals: Vec<NodeTotal> = Vec::with_capacity(self.nodes.len() + 1);
        for node in &self.nodes {
            let total = node.statistics().total(now);
            totals.push(NodeTotal { node: node.name().to_owned(), kind: node.kind().to_owned(), total });
        }
        let seen = match &self.view {
            View::Own(statistics) => statistics.total(now),
            View::Transactions(transactions) => transactions.total(now),
            View::Volumes(volumes) => {
                let named = |volume: &Handle| totals.iter().find(|total| total.node == volume.name());
                tally::side_by_side(volumes.iter().filter_map(named).map(|total| &total.total))
            }
        };
        // The table of totals is about requests.
        if !matches!(self.view, View::Transactions(_)) {
            let total = seen.clone();
            totals.insert(0, NodeTotal { node: WORKLOAD.to_owned(), kind: self.kind.to_owned(), total });
        }
        Finished { samples: self.samples, totals, seen }
    }
}

/// What a run's sampling yields.
pub struct Finished {
    /// All samples.
    pub samples: Vec<Sample>,
    /// Totals of the measured phase: of the workload, unless it sees transactions, and of every node.
    pub totals: Vec<NodeTotal>,
    /// What the users saw in the measured phase.
    pub seen: Snapshot,
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MILLISECOND, SECOND};

    use super::default_interval;

    #[test]
    fn an_interval_is_a_second_within_bounds() {
        for (measured, interval) in [
            (Some(60 * SECOND), SECOND),
            (Some(20 * SECOND), SECOND),
            (Some(SECOND), 50 * MILLISECOND),
            (Some(7200 * SECOND), 7200 * MILLISECOND),
            (Some(3), 1),
            (None, SECOND),
        ] {
            assert_eq!(default_interval(measured), interval, "{measured:?}");
        }
    }
}
