//! Kinds of workload: the record a registry holds of each, and what one is once its settings are read.

use std::collections::BTreeMap;
use std::path::Path;

use fathom_runtime::{Clock, Nanos};
use fathom_settings::{Key, Problem, Section};
use fathom_units::Bytes;

use crate::connection::Databases;
use crate::database::DatabaseKind;
use crate::metrics::Metric;
use crate::outcome::{Failure, Outcome, Progress};
use crate::storage::Storage;

/// One kind of workload, as the registry of studies knows it.
#[derive(Clone, Copy)]
pub struct WorkloadKind {
    /// The word after `kind =`.
    pub name: &'static str,
    /// What it is, in half a sentence.
    pub summary: &'static str,
    /// The manual: what it does, why, example, limits. Markdown.
    pub manual: &'static str,
    /// Its keys beside `kind`, dotted below sub-tables (`jobs.read`); the manual's table.
    pub keys: &'static [Key],
    /// Every metric a run may yield; what a study may compare and predict.
    pub metrics: fn() -> Vec<Metric>,
    /// Last words of the keys that say how many requests or users may be at work at once.
    pub users: &'static [&'static str],
    /// The metric that says how much a database got done; None for a workload that cannot drive several databases at the same
    /// time.
    pub primary: Option<&'static str>,
    /// Reads the table `[workload]`. None if anything is missing or wrong; then it has said so in the section's
    /// diagnostics. Reads every key before it gives up; its caller calls [`Section::finish`].
    pub read: fn(&mut Section<'_>) -> Option<Box<dyn Job>>,
}

impl std::fmt::Debug for WorkloadKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "workload `{}`", self.name)
    }
}

/// The key of every kind of workload that says how many requests or transactions arrive per second.
pub const RATE: &str = "rate";

/// How much a workload asks for, by its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Demand {
    /// Arrivals per second, whatever becomes of them.
    Open(f64),
    /// Users, each with one request or transaction under way.
    Closed {
        /// How many.
        users: u64,
        /// Whether a user may think between the end of one and the start of the next.
        pauses: bool,
    },
}

impl Demand {
    /// Both at the same time; None if only one of them waits for answers.
    pub fn beside(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Open(rate), Self::Open(more)) => Some(Self::Open(rate + more)),
            (Self::Closed { users, pauses }, Self::Closed { users: more, pauses: other }) => {
                Some(Self::Closed { users: users.saturating_add(more), pauses: pauses || other })
            }
            _ => None,
        }
    }
}

/// What one request, or one transaction, of a workload is. Latencies of two runs are of the same work where it is equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// In words, behind an article: `a read of 8 KiB`.
    pub words: String,
    /// What [`Request::size`] counts: `rows` or `bytes`.
    pub unit: &'static str,
    /// How much it moves, on average; None for all that the run moves.
    pub size: Option<f64>,
}

impl Request {
    /// A transaction of this many rows, or of all rows, and the bytes of a row where known.
    pub fn of_rows(rows: Option<u64>, bytes: Option<u64>) -> Self {
        let words = match rows {
            None => "all rows".to_owned(),
            Some(1) => "1 row".to_owned(),
            Some(rows) => format!("{rows} rows"),
        };
        let bytes = bytes.map_or_else(String::new, |bytes| format!(" of {}", Bytes::new(bytes)));
        Self {
            words: format!("a transaction of {words}{bytes}"),
            unit: "rows",
            size: rows.map(|rows| rows as f64),
        }
    }
}

/// What a run is given.
pub struct RunEnvironment<'a> {
    /// The executor and the live volumes on it; None if the job names no volumes and runs on the real clock.
    pub storage: Option<&'a Storage<'a>>,
    /// The databases it named, each answering.
    pub databases: &'a Databases,
    /// An empty directory of this run, for jobs that work on files. Its owner empties it afterwards.
    pub scratch: &'a Path,
    /// Whose time passes.
    pub clock: Clock,
    /// Of everything random.
    pub seed: u64,
}

/// A workload whose settings are read and checked.
pub trait Job: std::fmt::Debug + Send + Sync {
    /// Names of the volumes it drives; the stack of its run holds them and all below. None for a job on files.
    fn volumes(&self) -> Vec<String>;

    /// Names of the databases it works on: tables `[databases.NAME]`, or the bare kind of a private server that needs no
    /// table. They run before [`Job::run`] is called.
    fn databases(&self) -> Vec<String> {
        Vec::new()
    }

    /// What does not fit the kinds of its databases, in the order of [`Job::databases`]; as [`Job::misfits`].
    fn database_misfits(&self, _kinds: &[DatabaseKind]) -> Vec<(String, Problem)> {
        Vec::new()
    }

    /// What keeps it from running beside others like it, each on a database of its own; as [`Job::misfits`].
    fn beside_others(&self) -> Vec<(String, Problem)> {
        Vec::new()
    }

    /// By database what the data depends on that [`Job::load`] provides: equal texts, equal data. Empty for a job that loads
    /// none.
    fn loads(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// How much it asks for while it is measured; None if that changes on the way.
    fn demand(&self) -> Option<Demand>;

    /// The phases of its measured part by name, each with what it asks for; empty if there is one part without a name.
    fn phases(&self) -> Vec<(String, Demand)> {
        Vec::new()
    }

    /// What one request is, by the words before `latency` in the metrics that time it (`read`, `write`, `PHASE_read`; empty for
    /// all together). Empty where every run of this kind of workload times the same work.
    fn requests(&self) -> BTreeMap<String, Request> {
        BTreeMap::new()
    }

    /// How long its ramp and measured phases take by its settings, ns of its clock; None if the work decides that.
    fn lasts(&self) -> Option<Nanos>;

    /// Loads the data its runs begin with into the databases, so that a copy can be taken before anything is measured.
    /// What is there already is not loaded again; [`Job::run`] loads what is missing itself.
    ///
    /// # Errors
    /// As [`Job::run`].
    fn load(&self, _surroundings: &RunEnvironment<'_>, _progress: &mut dyn Progress) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether requests must carry bytes: a database, or data that is verified. Without, lengths travel alone in
    /// virtual time.
    fn needs_payload(&self) -> bool;

    /// What does not fit this clock, or these volumes, with its key (a path below `workload`; empty for the
    /// workload as a whole). `volumes` holds those that can be built without touching the outside.
    fn misfits(&self, clock: Clock, volumes: &Storage<'_>) -> Vec<(String, Problem)>;

    /// Runs once. In virtual time the stack's executor makes the time pass; nothing outside of `scratch` is touched.
    ///
    /// # Errors
    /// A reason from the closed list with what, where and what to do. Nothing is left running.
    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure>;
}
