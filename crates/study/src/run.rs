//! Running one variant: the only call here with side effects.

use std::path::Path;

use fathom_catalogue::Catalogue;
use fathom_job::{Databases, Failure, Metric, Outcome, Progress, Reason, RunEnvironment, Storage};
use fathom_runtime::{Clock, RingSetup};
use fathom_settings::{Diagnostics, to_text};
use fathom_stack::{BuildError, Stack};
use fathom_volume::{ErrorKind, Site};

use crate::check::prepare;
use crate::queues::wait_below;

/// How to run one variant.
#[derive(Debug)]
pub struct Run<'a> {
    /// The study's text and the name messages give it.
    pub text: &'a str,
    /// The name messages give the text.
    pub file: &'a str,
    /// Object of path (or name of a set) to value: what the plan replaces.
    pub overrides: &'a serde_json::Map<String, serde_json::Value>,
    /// Whose time passes.
    pub clock: Clock,
    /// Of everything random.
    pub seed: u64,
    /// An empty directory for whatever the run writes; the caller empties it afterwards.
    pub scratch: &'a Path,
    /// What `wants` of the variant names, running.
    pub databases: &'a Databases,
}

/// Runs one variant once. Besides the workload's results, the outcome's facts hold those of each volume and what it
/// counted since it was built, as `volumes.NAME.WORD`.
///
/// # Errors
/// A reason from the closed list; mistakes in the settings as one screen of text.
pub fn run(run: &Run<'_>, catalogue: &Catalogue, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
    let diagnostics = Diagnostics::new();
    let (variant, job) = prepare(run.text, run.file, run.overrides, run.clock, catalogue, &diagnostics)
        .ok_or_else(|| Failure::new(Reason::Settings, to_text(&diagnostics)))?;
    let roots = job.volumes();
    let environment = |storage| RunEnvironment {
        storage,
        databases: run.databases,
        scratch: run.scratch,
        clock: run.clock,
        seed: run.seed,
    };
    let site = match run.clock {
        Clock::Virtual => Site::virtual_time(run.seed, job.needs_payload()),
        // A database on a server needs no ring, and runs where there is none.
        Clock::Real if roots.is_empty() => return job.run(&environment(None), progress),
        Clock::Real => Site::real(RingSetup::default(), run.seed)
            .map_err(|error| Failure::new(Reason::Unavailable, error.to_string()))?,
    };
    let site = site.in_directory(run.scratch);
    let stack = Stack::build(&variant.volumes, &roots, &site).map_err(not_built)?;
    open(&stack)?;
    let storage = Storage { site: &site, nodes: stack.nodes().to_vec() };
    let mut outcome = job.run(&environment(Some(&storage)), progress)?;
    wait_below(&variant.volumes, &roots, &mut outcome);
    stop(&stack, &mut outcome)?;
    for node in stack.nodes() {
        let counted = node.counters().into_iter().map(|(name, count)| (name, count.to_string()));
        let facts = node.facts().into_iter().chain(counted);
        outcome.facts.extend(facts.map(|(name, value)| (format!("volumes.{}.{name}", node.name()), value)));
    }
    Ok(outcome)
}

/// Loads the data one variant begins with (`loads` of what it wants) into its databases.
///
/// # Errors
/// As [`run`].
pub fn load(run: &Run<'_>, catalogue: &Catalogue, progress: &mut dyn Progress) -> Result<(), Failure> {
    let diagnostics = Diagnostics::new();
    let (_, job) = prepare(run.text, run.file, run.overrides, run.clock, catalogue, &diagnostics)
        .ok_or_else(|| Failure::new(Reason::Settings, to_text(&diagnostics)))?;
    let environment = RunEnvironment {
        storage: None,
        databases: run.databases,
        scratch: run.scratch,
        clock: run.clock,
        seed: run.seed,
    };
    job.load(&environment, progress)
}

/// What a run on volumes with write-back caches yields beside its workload's metrics.
pub(crate) fn metrics() -> [Metric; 2] {
    [
        Metric::neutral("dirty_end_mb", "in the write-back cache at the end", "MB"),
        Metric::lower("planned_stop_s", "planned stop of the write-back cache", "s"),
    ]
}

/// Waits until every volume serves: what making or opening it takes is no latency of the job's.
fn open(stack: &Stack<'_>) -> Result<(), Failure> {
    let opened = stack.site().runtime().block_on(stack.lifecycle().ready());
    let opened = opened.map_err(|why| Failure::new(Reason::Deadlock, why.to_string()))?;
    opened.map_err(|error| Failure::new(reason(error.kind()), error.to_string()))
}

/// The planned stop of a stack with write-back caches: what they hold goes to the backing volumes.
fn stop(stack: &Stack<'_>, outcome: &mut Outcome) -> Result<(), Failure> {
    let lifecycle = stack.lifecycle();
    let dirty: u64 = lifecycle.groups().map(|(_, status)| status.dirty).sum();
    if lifecycle.groups().next().is_none() {
        return Ok(());
    }
    let site = stack.site();
    let begin = site.context().now();
    let closed = site.runtime().block_on(lifecycle.close());
    let closed = closed.map_err(|why| Failure::new(Reason::Deadlock, why.to_string()))?;
    closed.map_err(|error| Failure::new(Reason::InputOutput, format!("the planned stop fails: {error}")))?;
    let span = (site.context().now() - begin) as f64 / 1e9;
    let measured = metrics().into_iter().zip([dirty as f64 / 1e6, span]);
    outcome.metrics.extend(measured.map(|(metric, value)| (metric.name.into_owned(), Some(value))));
    Ok(())
}

fn not_built(error: BuildError) -> Failure {
    Failure::new(reason(error.kind), error.to_string())
}

/// Why a run whose volumes fail in this way does not begin.
fn reason(kind: ErrorKind) -> Reason {
    match kind {
        ErrorKind::Misuse => Reason::Settings,
        ErrorKind::NoSpace => Reason::NoSpace,
        ErrorKind::Corrupt => Reason::Verification,
        ErrorKind::Io | ErrorKind::Gone | ErrorKind::Fenced => Reason::Unavailable,
    }
}
