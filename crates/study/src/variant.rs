//! One variant: the study's tree with values replaced, its volumes and its workload read from it.

use fathom_catalogue::Catalogue;
use fathom_settings::{Diagnostics, Path, Reference, Tree, did_you_mean};
use fathom_stack::{Clock, Stack, Volumes};
use fathom_workload::{Bench, Job, WorkloadKind};

use crate::factors::{Allowed, Assignment, Override, Sets, assignments};
use crate::workloads::{workload, workloads};

/// Volumes and workload of one variant.
pub(crate) struct Variant {
    pub volumes: Volumes,
    pub kind: &'static WorkloadKind,
    /// None if anything in volumes or workload is wrong.
    pub job: Option<Box<dyn Job>>,
    /// The references of the workload.
    roots: Vec<Reference>,
}

/// Replaces values of a tree: those of sets first, then single ones, the shorter path before one that leads into it.
pub(crate) fn replace(tree: &mut Tree, overrides: &[Override], sets: &Sets, diagnostics: &Diagnostics) {
    let (mut of_sets, mut single) = (Vec::new(), Vec::new());
    for chosen in overrides {
        match assignments(chosen, sets, Allowed::SettingsAndRounds) {
            Ok(found) if sets.contains_key(&chosen.name) => of_sets.extend(found),
            Ok(found) => single.extend(found),
            Err(problem) => {
                let path = Path::parse(&chosen.name).unwrap_or_else(|_| Path::ROOT.join(&chosen.name));
                diagnostics.push(tree.source().diagnostic(chosen.written, &path, problem));
            }
        }
    }
    of_sets.sort_by(|a, b| a.path.cmp(&b.path));
    single.sort_by(|a, b| a.path.cmp(&b.path));
    for Assignment { path, value, written } in of_sets.into_iter().chain(single) {
        if let Err(problem) = tree.set(&path, value, written) {
            diagnostics.push(tree.source().diagnostic(written, &path, problem));
        }
    }
}

impl Variant {
    /// Reads volumes and workload; None if the workload's kind is not known.
    pub fn read(tree: &Tree, catalogue: &Catalogue, diagnostics: &Diagnostics) -> Option<Self> {
        let mut root = tree.section(diagnostics);
        let volumes = Volumes::read(&mut root, catalogue);
        volumes.check(diagnostics);
        root.take_references();
        let mut section = root.required_section("workload")?;
        let word = section.required::<String>("kind")?;
        let Some(kind) = workload(&word) else {
            let help = did_you_mean(&word, "kinds", workloads().iter().map(|kind| kind.name));
            section.error_at("kind", format!("there is no workload \"{}\"", word.escape_debug()), help);
            return None;
        };
        let job = (kind.read)(&mut section);
        if section.finish() && job.is_none() {
            let help = "this is a mistake in Fathom; please report it with the text";
            section.error("its settings could not be read", help);
        }
        let roots = root.take_references();
        volumes.check_references(&roots, diagnostics);
        Some(Self { volumes, kind, job: job.filter(|_| root.is_clean()), roots })
    }

    /// Checks that volumes and workload, each right by itself, fit each other and the clock.
    pub fn check(&self, tree: &Tree, clock: Clock, diagnostics: &Diagnostics) {
        let Some(job) = &self.job else { return };
        if !self.volumes.check_use(&self.roots, clock, diagnostics) {
            return;
        }
        let before = diagnostics.reported();
        let stack = Stack::try_out(&self.volumes, &job.volumes(), diagnostics);
        if diagnostics.reported() > before {
            return;
        }
        let root = Path::ROOT.join("workload");
        for (key, problem) in job.misfits(clock, &Bench::from(&stack)) {
            let path = match Path::parse(&key) {
                Ok(below) => below.steps().iter().fold(root.clone(), |path, step| path.join(step)),
                Err(_) => root.clone(),
            };
            diagnostics.push(tree.source().diagnostic(tree.place_of(&path), &path, problem));
        }
    }
}
