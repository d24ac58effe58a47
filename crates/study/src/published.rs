//! `[published]` and `[[calibration]]`: what a publication says, and which parameters were fitted to it.

use std::collections::BTreeSet;

use fathom_settings::{Choice, Path, Place, Problem, Section, Tree, Value, did_you_mean};

use crate::compare::read_levels;
use crate::factors::{Allowed, Factor, assignments};
use crate::study::{Study, required_words};

/// Units a figure may have.
const UNITS: &[&str] = &[
    "", "%", "1/s", "B", "GB/s", "IOPS", "KiB", "MB/s", "MiB/s", "kB", "min", "ms", "rows", "rows/s", "s",
    "us", "x",
];

/// The published figures; their metrics are judged later, where those of the workload are known.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Name of each cell's metric, its path and place.
    pub metrics: Vec<(String, Path, Place)>,
}

#[derive(Clone, Copy)]
struct ToBest;

impl Choice for ToBest {
    const CHOICES: &'static [(&'static str, Self)] = &[("best", Self)];
}

/// Reads `[published]`.
pub(crate) fn read(root: &mut Section<'_>, factors: &[Factor]) -> Published {
    let Some(mut section) = root.section("published") else { return Published::default() };
    required_words(&mut section, "source");
    section.optional::<ToBest>("normalise");
    section.optional::<String>("note");
    let mut names = BTreeSet::new();
    let mut metrics = Vec::new();
    for mut cell in section.sections("cells") {
        if let Some(name) = required_words(&mut cell, "name") {
            if names.contains(&name) {
                cell.error_at(
                    "name",
                    format!("there is a cell \"{}\" already", name.escape_debug()),
                    "choose another",
                );
            }
            names.insert(name);
        }
        metrics.extend(read_cell(&mut cell, factors));
        let _ = cell.finish();
    }
    for mut line in section.sections("table") {
        read_line(&mut line);
        let _ = line.finish();
    }
    let _ = section.finish();
    Published { metrics }
}

/// One figure, given or to be predicted; its metric, if it names one.
fn read_cell(cell: &mut Section<'_>, factors: &[Factor]) -> Option<(String, Path, Place)> {
    let before = cell.is_clean();
    let named = cell.section("where").map_or(0, |mut levels| read_levels(&mut levels, factors));
    let varied: Vec<&str> =
        factors.iter().filter(|factor| factor.levels.len() > 1).map(|factor| factor.name.as_str()).collect();
    if before && cell.is_clean() && named < varied.len() {
        let help = format!("name a level of each of {}", varied.join(", "));
        cell.error_at("where", "it does not say which variant is meant", help);
    }
    let value = cell.optional::<f64>("value");
    if value.is_some_and(|value| value <= 0.0) {
        cell.error_at("value", "a figure is above zero", "leave it out if the publication gives none");
    }
    if let Some(unit) = cell.optional::<String>("unit")
        && !UNITS.contains(&unit.as_str())
    {
        let help = did_you_mean(&unit, "units", UNITS.iter().copied().filter(|unit| !unit.is_empty()));
        cell.error_at("unit", format!("the unit \"{}\" is not known", unit.escape_debug()), help);
    }
    if cell.or("calibrated", false) && value.is_none() {
        cell.error_at(
            "calibrated",
            "nothing can be fitted to a figure that is not given",
            "add `value` or leave it out",
        );
    }
    cell.optional::<String>("source");
    cell.optional::<String>("note");
    let place = cell.value("metric").map(|value| value.place);
    let metric = cell.optional::<String>("metric")?;
    Some((metric, cell.path().join("metric"), place?))
}

/// One line of a published table, for the audit of its figures against each other.
fn read_line(line: &mut Section<'_>) {
    required_words(line, "where");
    line.required_in("iops", f64::MIN_POSITIVE..);
    for key in ["latency_ms", "outstanding", "mb_per_s", "io_bytes"] {
        line.optional_in(key, f64::MIN_POSITIVE..);
    }
}

/// Reads `[[calibration]]`: every fitted parameter must stand in the study with the value it was fitted to.
pub(crate) fn check_calibration(root: &mut Section<'_>, tree: &Tree, study: &Study) {
    for mut entry in root.sections("calibration") {
        let parameter = required_words(&mut entry, "parameter");
        let value = entry.value("value");
        if value.is_none() {
            entry.error_at("value", "it is missing", "repeat the parameter's value");
        }
        required_words(&mut entry, "fitted_to");
        required_words(&mut entry, "reason");
        let _ = entry.finish();
        if let (Some(parameter), Some(value)) = (parameter, value) {
            check_parameter(&entry, &parameter, value, tree, study);
        }
    }
}

fn check_parameter(entry: &Section<'_>, parameter: &str, value: &Value, tree: &Tree, study: &Study) {
    let path = match Path::parse(parameter) {
        Ok(path) => path,
        Err(message) => return entry.error_at("parameter", message, ""),
    };
    let stands: Vec<Value> = tree.get(&path).cloned().into_iter().chain(replaced(&path, study)).collect();
    if stands.is_empty() {
        let help = nearest_key(&path, tree);
        entry.error_at("parameter", format!("the study has no `{path}`"), help);
    } else if !stands.iter().any(|found| found.same_as(value)) {
        let help = format!("it stands as {} in the study; make both the same", stands[0]);
        entry.refuse(
            value.place,
            &entry.path().join("value"),
            Problem::new(format!("`{path}` is not {value}"), help),
        );
    }
}

/// The values that factors and overlays put at a path.
fn replaced(path: &Path, study: &Study) -> Vec<Value> {
    let overrides = study.factors.iter().flat_map(Factor::choices).chain(study.overlays().flatten().cloned());
    let assigned = |chosen| assignments(&chosen, &study.sets, Allowed::SettingsAndRounds).unwrap_or_default();
    overrides.flat_map(assigned).filter(|found| &found.path == path).map(|found| found.value).collect()
}

fn nearest_key(path: &Path, tree: &Tree) -> String {
    let parent = tree.get(&path.parent()).and_then(Value::as_table);
    let last = path.steps().last().map_or("", String::as_str);
    match parent {
        Some(table) => did_you_mean(last, "keys", table.entries().iter().map(|entry| entry.key.as_str())),
        None => "write a path such as volumes.data.size".to_owned(),
    }
}
