//! Latencies of transactions, per interval and in all, with the nodes below sampled beside them.

use std::rc::Rc;

use fathom_job::sampler::WORKLOAD;
use fathom_job::{NodeTotal, Sample, Transactions};
use fathom_runtime::Nanos;
use fathom_volume::{Snapshot, Statistics};

/// A node whose counters are sampled beside the transactions.
pub struct Watched {
    /// Its name in results.
    pub name: String,
    /// Its kind in results.
    pub kind: String,
    /// Its counters.
    pub statistics: Rc<Statistics>,
}

/// Collects transactions and cuts them into intervals.
pub struct Ledger {
    transactions: Transactions,
    watched: Vec<Watched>,
    samples: Vec<Sample>,
    begin: Nanos,
    interval_begin: Nanos,
    interval: Nanos,
    /// Only how many transactions passed is known, not how long each of them took.
    counted_only: bool,
}

impl Ledger {
    /// Starts at `now`, with intervals of that length in ns.
    pub fn start(now: Nanos, interval: Nanos, watched: Vec<Watched>) -> Self {
        let transactions = Transactions::default();
        transactions.restart(now);
        watched.iter().for_each(|node| node.statistics.restart(now));
        let samples = Vec::new();
        Self {
            transactions,
            watched,
            samples,
            begin: now,
            interval_begin: now,
            interval,
            counted_only: false,
        }
    }

    /// Counts a committed transaction. An interval that passes without a commit becomes part of the next one, whose
    /// length says so.
    pub fn committed(&mut self, start: Nanos, end: Nanos, payload: u64) {
        self.transactions.observe(payload, start, end);
        if end - self.interval_begin >= self.interval {
            self.cut(end);
        }
    }

    /// Counts transactions that the server committed by itself, one after the other, in this time.
    pub fn looped(&mut self, start: Nanos, end: Nanos, transactions: u64, rows: u64) {
        self.counted_only = true;
        self.transactions.observe_many(rows, start, end, transactions);
        if end - self.interval_begin >= self.interval {
            self.cut(end);
        }
    }

    /// Whether the latency of each transaction is known.
    pub fn has_latencies(&self) -> bool {
        !self.counted_only
    }

    fn cut(&mut self, now: Nanos) {
        let start = (self.interval_begin - self.begin) as i64;
        let interval = self.transactions.interval(now);
        let known = |sample: Sample| {
            let latency = sample.latency.filter(|_| !self.counted_only);
            Sample { latency, ..sample }
        };
        self.samples.extend(Transactions::samples(WORKLOAD, start, &interval).map(known));
        for node in &self.watched {
            self.samples.extend(Sample::of_snapshot(&node.name, start, &node.statistics.interval(now)));
        }
        self.interval_begin = now;
    }

    /// Ends at `now`: the samples, the transactions' counters and every node's totals.
    pub fn finish(mut self, now: Nanos) -> (Vec<Sample>, Snapshot, Vec<NodeTotal>) {
        if now > self.interval_begin {
            self.cut(now);
        }
        let total = |node: &Watched| NodeTotal {
            node: node.name.clone(),
            kind: node.kind.clone(),
            total: node.statistics.total(now),
        };
        let totals = self.watched.iter().map(total).collect();
        (self.samples, self.transactions.total(now), totals)
    }

    /// When the measured phase began, ns.
    pub fn begin(&self) -> Nanos {
        self.begin
    }
}
