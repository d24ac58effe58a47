//! Latencies of transactions by kind and interval.

use fathom_job::live::{Live, Rate, grouped};
use fathom_job::sampler::WORKLOAD;
use fathom_job::{NodeTotal, Sample, TRANSACTION, Transactions, tally};
use fathom_runtime::Nanos;
use fathom_volume::{KindStatistics, Snapshot, Standstill};

use super::pacing::{Arrived, Queue};
use super::{Driven, Ending};

/// A transaction that has ended.
pub(super) struct Record {
    pub(super) kind: usize,
    /// When, ns.
    pub(super) end: Nanos,
    /// From its meant beginning, ns.
    pub(super) latency: Nanos,
    /// Part of it that passed before a user was free, ns.
    pub(super) waiting: Nanos,
    /// Attempts that ended in a conflict.
    pub(super) conflicts: u64,
    pub(super) ended: Ending,
}

/// What is counted beside latencies, in the measured phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Attempts that were done again because others were in the way.
    pub conflicts: u64,
    /// Transactions that rolled back as was meant.
    pub rolled_back: u64,
}

/// Latencies over the measured phase.
#[derive(Debug, Clone)]
pub struct KindTotal {
    /// The counters; None if there was no such transaction.
    pub statistics: Option<KindStatistics>,
}

impl KindTotal {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.statistics.as_ref().map_or(0, |statistics| statistics.count)
    }
}

/// The books of a run. Transactions are counted as they end; one that ends after the run is over is not.
pub(super) struct Ledger {
    kinds: &'static [&'static str],
    transactions: Vec<Transactions>,
    counts: Counts,
    samples: Vec<Sample>,
    totals: Vec<Snapshot>,
    // Transactions under way, and the longest time in which none of them ended.
    running: u64,
    standstill: Standstill,
    // What arrives at a rate; None where users begin when they are free.
    queue: Option<Queue>,
    since: Nanos,
    open: bool,
    arrived: Option<Arrived>,
    live: Live,
}

impl Ledger {
    pub(super) fn new(kinds: &'static [&'static str], queue: Option<Queue>) -> Self {
        Self {
            kinds,
            transactions: kinds.iter().map(|_| Transactions::default()).collect(),
            counts: Counts::default(),
            samples: Vec::new(),
            totals: kinds.iter().map(|_| tally::nothing()).collect(),
            running: 0,
            standstill: Standstill::default(),
            queue,
            since: 0,
            open: true,
            arrived: None,
            live: Live::new(Rate::PerMinute),
        }
    }

    /// The gate opens at `now`, for the first transactions.
    pub(super) fn open(&mut self, now: Nanos) {
        if let Some(queue) = &mut self.queue {
            queue.open(now);
        }
        self.begin(now);
    }

    fn begin(&mut self, now: Nanos) {
        self.transactions.iter().for_each(|transactions| transactions.restart(now));
        self.standstill = Standstill::starting(now);
        self.since = now;
    }

    /// A transaction begins at `now`.
    pub(super) fn start(&mut self, now: Nanos) {
        self.standstill.begin(now, self.running);
        self.running += 1;
        if let Some(queue) = &mut self.queue {
            queue.take(now);
        }
    }

    /// A transaction that began has ended.
    pub(super) fn add(&mut self, record: &Record) {
        if !self.open {
            return;
        }
        self.standstill.end(record.end);
        self.running -= 1;
        self.transactions[record.kind].completed(0, record.latency, record.waiting);
        self.counts.conflicts += record.conflicts;
        self.counts.rolled_back += u64::from(record.ended == Ending::RolledBack);
    }

    /// Ends an interval at `now`; its samples count their time from `origin`.
    pub(super) fn cut(&mut self, now: Nanos, origin: i64) {
        if now <= self.since {
            return;
        }
        let start = self.since as i64 - origin;
        let mut snapshots: Vec<Snapshot> = Vec::with_capacity(self.kinds.len());
        for (name, transactions) in self.kinds.iter().zip(&self.transactions) {
            let snapshot = with_outstanding(transactions.interval(now));
            self.samples.extend(Transactions::samples(name, start, &snapshot));
            snapshots.push(snapshot);
        }
        let seen = tally::side_by_side(&snapshots);
        self.samples.extend(Transactions::samples(WORKLOAD, start, &seen));
        self.totals.iter_mut().zip(&snapshots).for_each(|(total, next)| tally::append(total, next));
        self.since = now;
        self.live.saw(seen);
    }

    /// The ramp ended so much sooner than planned: the times of its samples are counted back from then.
    pub(super) fn ramp_ended(&mut self, sooner: Nanos) {
        self.samples.iter_mut().for_each(|sample| sample.start += sooner as i64);
    }

    /// What the users saw in the last interval, in words, and the conflicts so far; empty before its end.
    pub(super) fn live(&mut self) -> String {
        match (self.live.words(), self.counts.conflicts) {
            ("", _) => String::new(),
            (words, 0) => words.to_owned(),
            (words, 1) => format!("{words}, 1 conflict"),
            (words, conflicts) => format!("{words}, {} conflicts", grouped(conflicts as f64)),
        }
    }

    /// The measured phase begins: what was counted so far stays in the samples only.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.begin(now);
        if let Some(queue) = &mut self.queue {
            queue.restart(now);
        }
        self.counts = Counts::default();
        self.totals = self.kinds.iter().map(|_| tally::nothing()).collect();
    }

    /// It is over at `now`.
    pub(super) fn close(&mut self, now: Nanos) {
        self.open = false;
        self.arrived = self.queue.take().map(|mut queue| queue.counts(now));
    }

    pub(super) fn finish(self, began: Nanos, measured: Nanos) -> Driven {
        let all = tally::side_by_side(&self.totals);
        let node = |name: &str, total: &Snapshot| NodeTotal {
            node: name.to_owned(),
            kind: TRANSACTION.to_owned(),
            total: total.clone(),
        };
        let kinds = self.kinds.iter().zip(&self.totals).map(|(name, total)| node(name, total));
        let seen = |snapshot: &Snapshot| KindTotal { statistics: Transactions::of(snapshot).cloned() };
        Driven {
            samples: self.samples,
            totals: std::iter::once(node(WORKLOAD, &all)).chain(kinds).collect(),
            all: seen(&all),
            kinds: self.totals.iter().map(seen).collect(),
            counts: self.counts,
            arrived: self.arrived,
            standstill: self.standstill.until(began + measured, self.running),
            began,
            measured,
        }
    }
}

/// The mean number of transactions under way, by Little's law: their rate times their latency.
fn with_outstanding(mut snapshot: Snapshot) -> Snapshot {
    if let Some(statistics) = Transactions::of(&snapshot).filter(|_| snapshot.span > 0) {
        snapshot.outstanding_mean = statistics.latency_sum as f64 / snapshot.span as f64;
    }
    snapshot
}
