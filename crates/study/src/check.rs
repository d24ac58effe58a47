//! Checking a study as a whole: its settings, then every variant as it would run.

use fathom_catalogue::Catalogue;
use fathom_job::{DatabaseKind, Job};
use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Path, Problem, Tree, Value};
use serde_json::Map;

use crate::compare::{self, unknown_metric};
use crate::document::{self, Resolved};
use crate::factors::{Factor, Overlay, Override};
use crate::provision::{observed, of_place, unseen};
use crate::study::Study;
use crate::variant::{Variant, replace};

/// Up to this many variants, each is checked on every clock and scale; beyond, each level beside the first of all other
/// factors, and each variant on the clock and scale asked for once those are sound.
const ALL_CHECKED: usize = 256;

/// How a study is to be run.
#[derive(Debug, Default)]
pub struct CheckOptions {
    /// Whose time passes; None for the study's own clock.
    pub clock: Option<Clock>,
    /// At tiny scale, as `[quick]` says.
    pub quick: bool,
    /// What replaces values of the study beside `[real]`, `[virtual]` and `[quick]`: path (or name of a set) to value.
    pub fixed: Map<String, serde_json::Value>,
}

/// What a check finds.
#[derive(Debug)]
pub struct Checked {
    /// The study as it runs when asked for so, every default spelled out (docs/RESULTS.md); None if anything is wrong.
    pub study: Option<serde_json::Value>,
    /// Everything that is wrong; empty for a study that can run.
    pub diagnostics: Diagnostics,
}

/// Checks a study: every key, every variant, by the clock asked for, and by the other if the study has settings for it; at
/// full scale, and at tiny scale if it says what that is. `file` is the name messages give it.
pub fn check(text: &str, file: &str, options: &CheckOptions, catalogue: &Catalogue) -> Checked {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse(file, text, &diagnostics);
    if !diagnostics.is_empty() {
        return Checked { study: None, diagnostics };
    }
    let study = Study::read(&mut tree.section(&diagnostics), &tree);
    let clock = options.clock.unwrap_or(study.clock);
    for (of, quick, overlay) in modes(&study, clock) {
        if (of, quick) != (clock, options.quick) || !options.fixed.is_empty() {
            for choice in few(&study.factors) {
                check_choice(&tree, &study, of, &merge(&overlay, choice), catalogue, &diagnostics);
            }
        }
    }
    if options.quick && study.quick.is_none() {
        let problem = Problem::new(
            "the study does not say how to run at tiny scale",
            "add a [quick] table of dotted paths, for example \"workload.rows\" = 1000",
        );
        diagnostics.push(tree.source().diagnostic(tree.root().position, &Path::ROOT, problem));
    }
    let overlay = asked_overlay(&tree, &study, clock, options, &diagnostics);
    let factors = study.factors_at(options.quick);
    let variants = resolve(&tree, &study, factors, clock, &overlay, catalogue, &diagnostics);
    let found = diagnostics.is_empty().then(|| {
        let mut whole = tree.clone();
        replace(&mut whole, &overlay, &study.sets, &diagnostics);
        document::document(
            &study,
            &Resolved { clock, quick: options.quick, overlay: &overlay, tree: &whole, variants },
        )
    });
    Checked { study: found, diagnostics }
}

/// What replaces values of the study in every variant.
fn asked_overlay(
    tree: &Tree,
    study: &Study,
    clock: Clock,
    options: &CheckOptions,
    diagnostics: &Diagnostics,
) -> Overlay {
    let mut overlay = study.overlay(clock).cloned().unwrap_or_default();
    if let Some(quick) = study.quick.as_ref().filter(|_| options.quick) {
        overlay = merge(&overlay, quick.clone());
    }
    merge(&overlay, place_overrides(&options.fixed, tree, study, diagnostics))
}

/// Every variant as it runs; fewer if anything is wrong.
fn resolve(
    tree: &Tree,
    study: &Study,
    factors: &[Factor],
    clock: Clock,
    overlay: &Overlay,
    catalogue: &Catalogue,
    diagnostics: &Diagnostics,
) -> Vec<serde_json::Value> {
    let of = |choice: Overlay| {
        let levels = choice.clone();
        let (variant, replaced) =
            check_choice(tree, study, clock, &merge(overlay, choice), catalogue, diagnostics)?;
        document::variant(&levels, &variant, &replaced)
    };
    if count(factors).is_none_or(|count| count > ALL_CHECKED) {
        few(factors).into_iter().for_each(|choice| drop(of(choice)));
        if !diagnostics.is_empty() {
            return Vec::new();
        }
    }
    all(factors).into_iter().filter_map(of).collect()
}

/// Reads and checks one variant as it will run; None if anything is wrong.
pub(crate) fn prepare(
    text: &str,
    file: &str,
    overrides: &Map<String, serde_json::Value>,
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
    let (mut variant, _) = check_choice(&tree, &study, clock, &overrides, catalogue, diagnostics)?;
    let job = variant.job.take().filter(|_| diagnostics.is_empty())?;
    Some((variant, job))
}

/// Clock, whether at tiny scale, and the overlay that holds then: the clock asked for, the other one if the study has
/// settings for it, and both at tiny scale.
fn modes(study: &Study, clock: Clock) -> Vec<(Clock, bool, Overlay)> {
    let other = if clock == Clock::Real { Clock::Virtual } else { Clock::Real };
    let clocks = [Some(clock), study.overlay(other).map(|_| other)];
    let mut modes = Vec::new();
    for clock in clocks.into_iter().flatten() {
        let full = study.overlay(clock).cloned().unwrap_or_default();
        if let Some(quick) = &study.quick {
            modes.push((clock, true, merge(&full, quick.clone())));
        }
        modes.push((clock, false, full));
    }
    modes
}

/// The second over the first.
fn merge(under: &Overlay, over: Overlay) -> Overlay {
    let kept = under.iter().filter(|under| !over.iter().any(|over| over.name == under.name));
    kept.cloned().chain(over.iter().cloned()).collect()
}

/// Every combination of levels, the last factor changing fastest; one empty choice for a study without factors.
fn all(factors: &[Factor]) -> Vec<Overlay> {
    factors.iter().fold(vec![Overlay::new()], |choices, factor| {
        let with = |choice: &Overlay, chosen| choice.iter().cloned().chain([chosen]).collect();
        choices.iter().flat_map(|choice| factor.choices().map(move |chosen| with(choice, chosen))).collect()
    })
}

/// How many variants there are; None beyond counting.
fn count(factors: &[Factor]) -> Option<usize> {
    factors.iter().try_fold(1_usize, |count, factor| count.checked_mul(factor.levels.len()))
}

/// All variants, or if they are many, each level once.
fn few(factors: &[Factor]) -> Vec<Overlay> {
    if count(factors).is_some_and(|count| count <= ALL_CHECKED) {
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
) -> Option<(Variant, Tree)> {
    let mut replaced = tree.clone();
    replace(&mut replaced, overrides, &study.sets, diagnostics);
    if overrides.iter().any(|chosen| chosen.name.starts_with("compare.")) {
        compare::read(&mut replaced.section(diagnostics), &study.factors);
    }
    let variant = Variant::read(&replaced, catalogue, diagnostics)?;
    variant.check(&replaced, clock, diagnostics);
    check_metrics(tree, study, &variant, diagnostics);
    check_own_keys(tree, study, overrides, &variant, diagnostics);
    Some((variant, replaced))
}

/// A factor that only another database has: its levels would be the same run.
fn check_own_keys(
    tree: &Tree,
    study: &Study,
    overrides: &Overlay,
    variant: &Variant,
    diagnostics: &Diagnostics,
) {
    let Some(job) = &variant.job else { return };
    let used: Vec<DatabaseKind> =
        variant.databases_of(&**job).into_iter().map(|database| database.kind).collect();
    let Some(first) = used.first() else { return };
    for chosen in overrides.iter().filter(|chosen| study.factors.iter().any(|each| each.name == chosen.name))
    {
        let Some(key) = chosen.name.strip_prefix("workload.") else { continue };
        let owners: Vec<DatabaseKind> =
            DatabaseKind::all().filter(|kind| kind.own_keys().contains(&key)).collect();
        if owners.is_empty() || used.iter().any(|kind| owners.contains(kind)) {
            continue;
        }
        let names: Vec<&str> = owners.iter().map(|kind| kind.name()).collect();
        let message = format!(
            "`{key}` is a setting of {} and means nothing to {}: all levels would be the same run",
            names.join(" and "),
            first.name()
        );
        let help = match first.own_keys().first() {
            Some(own) => format!("vary `workload.{own}`, or leave the factor out"),
            None => "leave the factor out".to_owned(),
        };
        let path = Path::ROOT.join("factors").join(&chosen.name);
        diagnostics.push(tree.source().diagnostic(chosen.written, &path, Problem::new(message, help)));
    }
}

/// A metric without the name of the phase it is of.
fn without_phase<'a>(tree: &Tree, metric: &'a str) -> &'a str {
    let path = Path::parse("workload.phases").unwrap_or(Path::ROOT);
    let phases = tree.get(&path).map(Value::to_json);
    let names = phases.iter().filter_map(|phases| phases.as_array()).flatten();
    let names = names.filter_map(|phase| phase.get("name").and_then(serde_json::Value::as_str));
    let of = |name: &str| metric.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
    names.filter_map(of).next().unwrap_or(metric)
}

/// A metric without the name of the place it is of: what is observed of several places together is there for each as well.
fn without_place<'a>(tree: &Tree, metric: &'a str) -> &'a str {
    let path = Path::parse("places").unwrap_or(Path::ROOT);
    let places = tree.get(&path).map(Value::to_json);
    let names = places.iter().filter_map(|places| places.as_object()).flatten().map(|(name, _)| name);
    let of = |name: &String| metric.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('_'));
    let each_has = of_place();
    let mut found = names.filter_map(of);
    found.find(|rest| each_has.iter().any(|metric| metric.name == **rest)).unwrap_or(metric)
}

fn check_metrics(tree: &Tree, study: &Study, variant: &Variant, diagnostics: &Diagnostics) {
    let own = (variant.kind.metrics)();
    let observed = if variant.may_use_databases() { observed() } else { Vec::new() };
    let of_databases = variant.metrics_of_databases();
    let declared = own.iter().chain(&observed).map(|metric| &*metric.name);
    let metrics: Vec<&str> = declared.chain(of_databases.iter().map(String::as_str)).collect();
    let databases = variant.job.as_ref().map(|job| variant.databases_of(&**job)).unwrap_or_default();
    let compared = study.compare.iter().flat_map(|compare| &compare.metrics);
    for (metric, path, place) in compared.chain(&study.goals.metrics).chain(&study.published.metrics) {
        if !metrics.contains(&without_phase(tree, metric)) && !metrics.contains(&without_place(tree, metric))
        {
            let problem = unknown_metric(metric, variant.kind.name, &metrics);
            diagnostics.push(tree.source().diagnostic(*place, path, problem));
        } else if let Some(problem) = unseen(without_place(tree, metric), &databases) {
            diagnostics.push(tree.source().diagnostic(*place, path, problem));
        }
    }
}

/// Overrides as values with places: that of the level or overlay they were taken from, otherwise of what they replace.
fn place_overrides(
    overrides: &Map<String, serde_json::Value>,
    tree: &Tree,
    study: &Study,
    diagnostics: &Diagnostics,
) -> Overlay {
    let written = study.factors.iter().flat_map(Factor::choices).chain(study.overlays().flatten().cloned());
    let written: Overlay = written.collect();
    let mut placed = Overlay::new();
    for (name, json) in overrides {
        let path = Path::parse(name).unwrap_or(Path::ROOT);
        let replaced = tree.position_of(&path);
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
