//! Checking a study as a whole: its words, then every variant as it would run.

use fathom_catalogue::Catalogue;
use fathom_settings::{Diagnostics, Path, Problem, Tree, Value};
use fathom_stack::Clock;
use fathom_workload::Job;

use crate::compare::{self, unknown_metric};
use crate::factors::{Factor, Overlay, Override};
use crate::provision::{OBSERVED, OF_PLACES};
use crate::study::Study;
use crate::variant::{Variant, replace};

/// Up to this many variants, each is checked; beyond, each level beside the first of all other factors.
const ALL_CHECKED: usize = 256;

/// What a check finds.
#[derive(Debug)]
pub struct Checked {
    /// The study as an object, tables and keys as written; empty if the text is no TOML.
    pub study_json: serde_json::Value,
    /// Everything that is wrong; empty for a study that can run.
    pub diagnostics: Diagnostics,
}

/// Checks a study: every key, every variant, by its own clock or the one given, and by the other if the study has
/// settings for it; at full scale, and at tiny scale if it says what that is. `file` is the name messages give it.
pub fn check(text: &str, file: &str, clock: Option<Clock>, catalogue: &Catalogue) -> Checked {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse(file, text, &diagnostics);
    if diagnostics.is_empty() {
        let study = Study::read(&mut tree.section(&diagnostics), &tree);
        for (clock, overlay) in modes(&study, clock.unwrap_or(study.clock)) {
            for choice in to_check(&study.factors) {
                check_choice(&tree, &study, clock, &merge(&overlay, choice), catalogue, &diagnostics);
            }
        }
    }
    Checked { study_json: tree.root().to_json(), diagnostics }
}

/// Checks one variant: `overrides` is an object of path (or name of a set) to value, as a plan writes it.
pub fn check_variant(
    text: &str,
    file: &str,
    overrides: &serde_json::Value,
    clock: Clock,
    catalogue: &Catalogue,
) -> Diagnostics {
    let diagnostics = Diagnostics::new();
    prepare(text, file, overrides, clock, catalogue, &diagnostics);
    diagnostics
}

/// Every combination of levels, the last factor changing fastest, each an object of factor to level; one empty object
/// for a study without factors. Mistakes are [`check`]'s to find; factors that have any are left out.
pub fn variants(text: &str, file: &str) -> Vec<serde_json::Value> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse(file, text, &diagnostics);
    let study = Study::read(&mut tree.section(&diagnostics), &tree);
    let object = |choice: Overlay| {
        choice
            .into_iter()
            .map(|chosen| (chosen.name, chosen.value.to_json()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    all(&study.factors).into_iter().map(object).collect()
}

/// Reads and checks one variant as it will run; None if anything is wrong.
pub(crate) fn prepare(
    text: &str,
    file: &str,
    overrides: &serde_json::Value,
    clock: Clock,
    catalogue: &Catalogue,
    diagnostics: &Diagnostics,
) -> Option<(Variant, Box<dyn Job>)> {
    let tree = Tree::parse(file, text, diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    let study = Study::read(&mut tree.section(diagnostics), &tree);
    let overrides = place_overrides(overrides, &tree, &study, diagnostics);
    let mut variant = check_choice(&tree, &study, clock, &overrides, catalogue, diagnostics)?;
    let job = variant.job.take().filter(|_| diagnostics.is_empty())?;
    Some((variant, job))
}

/// The tree of one variant, values replaced.
pub(crate) fn replaced(
    text: &str,
    file: &str,
    overrides: &serde_json::Value,
    diagnostics: &Diagnostics,
) -> Tree {
    let mut tree = Tree::parse(file, text, diagnostics);
    let study = Study::read(&mut tree.section(diagnostics), &tree);
    let overrides = place_overrides(overrides, &tree, &study, diagnostics);
    replace(&mut tree, &overrides, &study.sets, diagnostics);
    tree
}

/// Clocks with the overlays that hold by them: the clock asked for, the other one if the study has settings for it, and
/// both at tiny scale.
fn modes(study: &Study, clock: Clock) -> Vec<(Clock, Overlay)> {
    let other = if clock == Clock::Real { Clock::Virtual } else { Clock::Real };
    let clocks = [Some(clock), study.overlay(other).map(|_| other)];
    let mut modes = Vec::new();
    for clock in clocks.into_iter().flatten() {
        let full = study.overlay(clock).cloned().unwrap_or_default();
        if let Some(quick) = &study.quick {
            modes.push((clock, merge(&full, quick.clone())));
        }
        modes.push((clock, full));
    }
    modes
}

/// The second over the first.
fn merge(under: &Overlay, over: Overlay) -> Overlay {
    let kept = under.iter().filter(|under| !over.iter().any(|over| over.name == under.name));
    kept.cloned().chain(over.iter().cloned()).collect()
}

fn all(factors: &[Factor]) -> Vec<Overlay> {
    factors.iter().fold(vec![Overlay::new()], |choices, factor| {
        let with = |choice: &Overlay, chosen| choice.iter().cloned().chain([chosen]).collect();
        choices.iter().flat_map(|choice| factor.choices().map(move |chosen| with(choice, chosen))).collect()
    })
}

/// All variants, or if they are many, each level once.
fn to_check(factors: &[Factor]) -> Vec<Overlay> {
    let count = factors.iter().try_fold(1_usize, |count, factor| count.checked_mul(factor.levels.len()));
    if count.is_some_and(|count| count <= ALL_CHECKED) {
        return all(factors);
    }
    let first: Overlay = factors.iter().map(|factor| factor.choose(&factor.levels[0])).collect();
    let with = |index: usize, chosen| {
        let mut choice = first.clone();
        choice[index] = chosen;
        choice
    };
    let each = factors.iter().enumerate();
    each.flat_map(|(index, factor)| factor.choices().map(move |chosen| (index, chosen)))
        .map(|(index, chosen)| with(index, chosen))
        .collect()
}

fn check_choice(
    tree: &Tree,
    study: &Study,
    clock: Clock,
    overrides: &Overlay,
    catalogue: &Catalogue,
    diagnostics: &Diagnostics,
) -> Option<Variant> {
    let mut replaced = tree.clone();
    replace(&mut replaced, overrides, &study.sets, diagnostics);
    if overrides.iter().any(|chosen| chosen.name.starts_with("compare.")) {
        compare::read(&mut replaced.section(diagnostics), &study.factors);
    }
    let variant = Variant::read(&replaced, catalogue, diagnostics)?;
    variant.check(&replaced, clock, diagnostics);
    check_metrics(tree, study, &variant, diagnostics);
    Some(variant)
}

/// A metric without the name of the phase it is of.
fn of_phase<'a>(tree: &Tree, metric: &'a str) -> &'a str {
    let path = Path::parse("workload.phases").unwrap_or(Path::ROOT);
    let phases = tree.get(&path).map(Value::to_json);
    let names = phases.iter().filter_map(|phases| phases.as_array()).flatten();
    let names = names.filter_map(|phase| phase.get("name").and_then(serde_json::Value::as_str));
    let of = |name: &str| metric.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
    names.filter_map(of).next().unwrap_or(metric)
}

/// A metric without the name of the place it is of: what is observed of several places together is there for each as well.
fn of_place<'a>(tree: &Tree, metric: &'a str) -> &'a str {
    let path = Path::parse("places").unwrap_or(Path::ROOT);
    let places = tree.get(&path).map(Value::to_json);
    let names = places.iter().filter_map(|places| places.as_object()).flatten().map(|(name, _)| name);
    let of = |name: &String| metric.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('_'));
    names.filter_map(of).find(|rest| OF_PLACES.contains(rest)).unwrap_or(metric)
}

fn check_metrics(tree: &Tree, study: &Study, variant: &Variant, diagnostics: &Diagnostics) {
    let observed = if variant.uses_databases() { OBSERVED } else { &[] };
    let together = variant.metrics_together();
    let metrics: Vec<&str> = variant.kind.metrics.iter().chain(observed).copied().collect();
    let metrics: Vec<&str> = metrics.into_iter().chain(together.iter().map(String::as_str)).collect();
    let compared = study.compare.iter().flat_map(|compare| &compare.metrics);
    for (metric, path, place) in compared.chain(&study.goals).chain(&study.published.metrics) {
        if !metrics.contains(&of_phase(tree, metric)) && !metrics.contains(&of_place(tree, metric)) {
            let problem = unknown_metric(metric, variant.kind.name, &metrics);
            diagnostics.push(tree.source().diagnostic(*place, path, problem));
        }
    }
}

/// Overrides as values with places: that of the level or overlay they were taken from, otherwise of what they replace.
fn place_overrides(
    overrides: &serde_json::Value,
    tree: &Tree,
    study: &Study,
    diagnostics: &Diagnostics,
) -> Overlay {
    let written = study.factors.iter().flat_map(Factor::choices).chain(study.overlays().flatten().cloned());
    let written: Overlay = written.collect();
    let mut placed = Overlay::new();
    for (name, json) in overrides.as_object().into_iter().flatten() {
        let path = Path::parse(name).unwrap_or(Path::ROOT);
        let replaced = tree.place_of(&path);
        match Value::from_json(json, replaced) {
            Ok(value) => {
                let known = written.iter().find(|known| &known.name == name && known.value.same_as(&value));
                let given = Override { name: name.clone(), written: replaced, value };
                placed.push(known.cloned().unwrap_or(given));
            }
            Err(message) => {
                diagnostics.push(tree.source().diagnostic(replaced, &path, Problem::new(message, "")));
            }
        }
    }
    placed
}
