//! What every workload yields, whatever it drives: metrics, samples, totals per node; or a reason from a closed list.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fathom_runtime::Nanos;
use fathom_volume::{Kind, PERCENTILES, Snapshot};

/// One measured interval of one node and one kind of operation.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Start of the interval, ns since the measured phase began; negative during the ramp.
    pub start: i64,
    /// Length of the interval, ns.
    pub span: Nanos,
    /// Name of the node: a volume, or `workload` for what the user sees.
    pub node: String,
    /// `read`, `write`, `flush`, `trim`, `write_zeroes` or `transaction`; or a level that the node reports, such as
    /// `dirty_bytes`.
    pub operation: &'static str,
    /// Operations completed.
    pub count: u64,
    /// Bytes of them; of a level, what it was when the interval ended.
    pub bytes: u64,
    /// None if nothing completed.
    pub latency: Option<Latencies>,
    /// Mean waiting time, ns; None if nothing completed.
    pub waiting_mean: Option<f64>,
    /// Mean number outstanding, of all kinds together.
    pub outstanding_mean: f64,
}

/// Latencies of one interval, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies {
    /// The mean.
    pub mean: f64,
    /// Those at [`Latencies::QUANTILES`]; None where intervals were added up whose histograms are gone. Of fewer than 1,000
    /// (10,000) operations the last but one (the last) is the largest.
    pub percentiles: Option<[f64; 4]>,
    /// The largest; None where only sums are known.
    pub max: Option<f64>,
}

impl Latencies {
    /// What [`Latencies::percentiles`] holds, with the words of results.
    pub const QUANTILES: [(&'static str, f64); 4] =
        [PERCENTILES[0], PERCENTILES[2], PERCENTILES[3], PERCENTILES[4]];
}

impl Sample {
    /// Levels of a node at the end of an interval, by name: one sample each, with the level as its bytes.
    pub fn of_level(node: &str, start: i64, span: Nanos, (name, bytes): (&'static str, u64)) -> Self {
        Self {
            start,
            span,
            node: node.to_owned(),
            operation: name,
            count: 1,
            bytes,
            latency: None,
            waiting_mean: None,
            outstanding_mean: 0.0,
        }
    }

    /// The samples of one node over one interval.
    pub fn of_snapshot(node: &str, start: i64, snapshot: &Snapshot) -> Vec<Self> {
        let present =
            Kind::ALL.into_iter().filter_map(|kind| snapshot.kind(kind).map(|counters| (kind, counters)));
        let sample = |(kind, counters): (Kind, &fathom_volume::KindStatistics)| {
            let at = |(_, quantile)| counters.latency.value_at_quantile(quantile) as f64;
            let latency = counters.latency_mean().map(|mean| Latencies {
                mean,
                percentiles: Some(Latencies::QUANTILES.map(at)),
                max: Some(counters.latency.max() as f64),
            });
            Self {
                start,
                span: snapshot.span,
                node: node.to_owned(),
                operation: kind.name(),
                count: counters.count,
                bytes: counters.bytes,
                latency,
                waiting_mean: counters.waiting_mean(),
                outstanding_mean: snapshot.outstanding_mean,
            }
        };
        present.map(sample).collect()
    }
}

/// The operation of a sample of transactions, and the kind of a node that counts them.
pub const TRANSACTION: &str = "transaction";

/// One node's counters over the measured phase.
#[derive(Debug, Clone)]
pub struct NodeTotal {
    /// Name in the settings, or `workload`.
    pub node: String,
    /// The layer's or device's kind, or [`TRANSACTION`].
    pub kind: String,
    /// The counters.
    pub total: Snapshot,
}

/// What a finished run yields.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Metrics by name, as the workload declares them; None where a number could not be measured.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Per-interval samples, ramp included.
    pub samples: Vec<Sample>,
    /// Totals of every node, the measured phase only.
    pub totals: Vec<NodeTotal>,
    /// Small facts worth keeping, by name (a SQLite version, a page size, a direct-I/O fallback).
    pub facts: BTreeMap<String, String>,
    /// Length of the measured phase on the run's clock, ns.
    pub measured: Nanos,
    /// When the measured phase began on the monotonic clock, ns: what was sampled beside the run is set against it.
    /// None in virtual time.
    pub began: Option<Nanos>,
    /// Digest of the event log and its number of events, of a simulated run.
    pub digest: Option<(String, u64)>,
    /// By database, the mean number of sessions in each wait over the measured phase, the most frequent first; of a database
    /// that the workload models. One that runs is asked by its observer.
    pub waits: BTreeMap<String, Vec<(String, f64)>>,
    /// The steps of a sequence of virtual users; without one none. With them `metrics` is empty: each step has its own.
    pub steps: Vec<Step>,
}

/// One step of a sequence of virtual users.
#[derive(Debug, Clone)]
pub struct Step {
    /// Virtual users.
    pub users: u32,
    /// Whether it counts for nothing: the first finds cold caches.
    pub discarded: bool,
    /// When its measured phase began on the monotonic clock, ns.
    pub began: Nanos,
    /// Length of that phase, ns.
    pub measured: Nanos,
    /// As of a run.
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// Why a run failed; the closed list of results and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// What the run needs is not available here (a kernel feature, a program, privileges, a path).
    Unavailable,
    /// The settings cannot be carried out (found only when the volume stood).
    Settings,
    /// A device, the file system or a database failed a request.
    InputOutput,
    /// No space was left.
    NoSpace,
    /// A password or a right was refused.
    Permission,
    /// A server or the connection to it was lost in mid-run.
    Lost,
    /// The answer was wrong: data read is not data written, rows are missing.
    Verification,
    /// The person stopped it.
    Cancelled,
    /// The simulation is deadlocked: every task waits for another.
    Deadlock,
}

impl Reason {
    /// Every reason; the order of the declaration.
    pub const ALL: [Self; 9] = [
        Self::Unavailable,
        Self::Settings,
        Self::InputOutput,
        Self::NoSpace,
        Self::Permission,
        Self::Lost,
        Self::Verification,
        Self::Cancelled,
        Self::Deadlock,
    ];

    /// The word used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Settings => "settings",
            Self::InputOutput => "input-output",
            Self::NoSpace => "no-space",
            Self::Permission => "permission",
            Self::Lost => "lost",
            Self::Verification => "verification",
            Self::Cancelled => "cancelled",
            Self::Deadlock => "deadlock",
        }
    }
}

/// A failed run: a result like any other.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// From the closed list.
    pub reason: Reason,
    /// What, where, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with a message that says what, where and what to do.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl From<fathom_volume::Error> for Failure {
    fn from(error: fathom_volume::Error) -> Self {
        use fathom_volume::ErrorKind;
        let reason = match error.kind() {
            ErrorKind::Misuse => Reason::Settings,
            ErrorKind::NoSpace => Reason::NoSpace,
            ErrorKind::Corrupt => Reason::Verification,
            ErrorKind::Io | ErrorKind::Gone | ErrorKind::Fenced => Reason::InputOutput,
        };
        Self::new(reason, error.to_string())
    }
}

impl From<fathom_runtime::Deadlock> for Failure {
    fn from(deadlock: fathom_runtime::Deadlock) -> Self {
        Self::new(Reason::Deadlock, deadlock.to_string())
    }
}

/// Told how far a run is, about every 50 ms of wall time; may stop it.
pub trait Progress {
    /// `done` is the share of the run that is over, 0 to 1; `note` a few words. Break stops the run, which ends as
    /// [`Reason::Cancelled`].
    fn tick(&mut self, done: f64, note: &str) -> ControlFlow<()>;

    /// Called when all is prepared, before each phase that is measured: the phase begins when this returns. A run on several
    /// databases keeps each here until all are prepared, so that they begin together. Break as in [`Progress::tick`].
    fn ready(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody is told.
impl Progress for () {
    fn tick(&mut self, _: f64, _: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
