//! Counting transactions, and what is counted of them.

use fathom_runtime::Nanos;
use fathom_volume::{Kind, KindStatistics, Snapshot, Statistics};

use crate::outcome::{Sample, TRANSACTION};

/// The slot of the request counters that transactions use; private to this crate.
const SLOT: Kind = Kind::Write;

/// Counts the transactions of one kind, or of all users.
#[derive(Default)]
pub struct Transactions(Statistics);

impl Transactions {
    /// One ended: the bytes it carried, how long it took, and how much of that it waited, ns.
    pub fn completed(&self, bytes: u64, latency: Nanos, waiting: Nanos) {
        self.0.completed(SLOT, bytes, latency, waiting);
    }

    /// One was under way from `start` to `end`.
    pub fn observe(&self, bytes: u64, start: Nanos, end: Nanos) {
        self.0.observe(SLOT, bytes, start, end);
    }

    /// So many were under way one after the other from `start` to `end`, of which only the sum of bytes is known.
    pub fn observe_many(&self, bytes: u64, start: Nanos, end: Nanos, transactions: u64) {
        self.0.begin(start);
        self.0.end(end);
        for number in 0..transactions {
            let share = |of: u64| of * (number + 1) / transactions - of * number / transactions;
            self.completed(share(bytes), share(end - start), 0);
        }
    }

    /// Forgets everything and counts from `now`.
    pub fn restart(&self, now: Nanos) {
        self.0.restart(now);
    }

    /// Ends an interval at `now`.
    pub fn interval(&self, now: Nanos) -> Snapshot {
        self.0.interval(now)
    }

    /// Everything since the last restart.
    pub fn total(&self, now: Nanos) -> Snapshot {
        self.0.total(now)
    }

    /// What a snapshot of transactions says of them; None if there were none.
    pub fn of(snapshot: &Snapshot) -> Option<&KindStatistics> {
        snapshot.kind(SLOT).filter(|counted| counted.count > 0)
    }

    /// The samples of an interval that began at `start`, ns since the measured phase began.
    pub fn samples(node: &str, start: i64, interval: &Snapshot) -> impl Iterator<Item = Sample> {
        let samples = Sample::of_snapshot(node, start, interval).into_iter();
        samples.map(|sample| Sample { operation: TRANSACTION, ..sample })
    }
}
