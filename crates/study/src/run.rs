//! Running one variant: the only call here with side effects.

use std::path::Path;

use fathom_catalogue::Catalogue;
use fathom_settings::{Diagnostics, to_text};
use fathom_stack::{BuildError, Clock, Site, Stack};
use fathom_volume::ErrorKind;
use fathom_workload::{Bench, Failure, Outcome, Progress, Reason, Surroundings};

use crate::check::prepare;

/// How to run one variant.
#[derive(Debug)]
pub struct Run<'a> {
    /// The study's text and the name messages give it.
    pub text: &'a str,
    /// The name messages give the text.
    pub file: &'a str,
    /// Object of path (or name of a set) to value: what the plan replaces.
    pub overrides: &'a serde_json::Value,
    /// Whose time passes.
    pub clock: Clock,
    /// Of everything random.
    pub seed: u64,
    /// An empty directory for whatever the run writes; the caller empties it afterwards.
    pub scratch: &'a Path,
}

/// Runs one variant once. Beside what the workload tells, the outcome's facts hold those of each volume and what it
/// counted since it was built, as `volumes.NAME.WORD`.
///
/// # Errors
/// A reason from the closed list; mistakes in the settings as one screen of text.
pub fn run(run: &Run<'_>, catalogue: &Catalogue, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
    let diagnostics = Diagnostics::new();
    let (volumes, job) = prepare(run.text, run.file, run.overrides, run.clock, catalogue, &diagnostics)
        .ok_or_else(|| Failure::new(Reason::Settings, to_text(&diagnostics)))?;
    let roots = job.volumes();
    let surroundings = |bench| Surroundings { bench, scratch: run.scratch, clock: run.clock, seed: run.seed };
    if roots.is_empty() {
        return job.run(&surroundings(None), progress);
    }
    let site = Site {
        clock: run.clock,
        seed: run.seed,
        payload: run.clock == Clock::Real || job.needs_payload(),
        directory: run.scratch.to_owned(),
    };
    let stack = Stack::build(&volumes, &roots, &site).map_err(not_built)?;
    let mut outcome = job.run(&surroundings(Some(&Bench::from(&stack))), progress)?;
    for node in stack.nodes() {
        let counted = node.counters().into_iter().map(|(name, count)| (name, count.to_string()));
        let facts = node.facts().into_iter().chain(counted);
        outcome.facts.extend(facts.map(|(name, value)| (format!("volumes.{}.{name}", node.name()), value)));
    }
    Ok(outcome)
}

fn not_built(error: BuildError) -> Failure {
    let reason = match &error {
        BuildError::Volume { kind: ErrorKind::Misuse, .. } => Reason::Settings,
        BuildError::Volume { kind: ErrorKind::NoSpace, .. } => Reason::NoSpace,
        BuildError::Volume { kind: ErrorKind::Corrupt, .. } => Reason::Verification,
        BuildError::Ring(_)
        | BuildError::Volume { kind: ErrorKind::Io | ErrorKind::Gone | ErrorKind::Fenced, .. } => {
            Reason::Unavailable
        }
    };
    Failure::new(reason, error.to_string())
}
