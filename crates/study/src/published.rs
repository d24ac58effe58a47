//! `[published]` and `[[calibration]]`: what a publication says, and which parameters were fitted to it.

use std::collections::BTreeSet;

use fathom_settings::{ABOVE_ZERO, Choice, Path, Position, Problem, Section, Tree, Value, did_you_mean};

use serde_json::{Map, Value as Json, json};

use crate::compare::read_levels;
use crate::factors::{Allowed, Factor, Override, Sets, assignments};
use crate::reading::required_words;
use crate::words::plain;

/// Units a figure may have.
const UNITS: &[&str] = &[
    "", "%", "1/s", "B", "GB/s", "IOPS", "KiB", "MB/s", "MiB/s", "kB", "min", "ms", "rows", "rows/s", "s",
    "us", "x",
];

/// The published figures; their metrics are judged later, where those of the workload are known.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Name of each cell's metric, its path and place.
    pub metrics: Vec<(String, Path, Position)>,
    /// `normalise`, `cells` and `table`; a cell has the publication's source unless it names its own.
    pub json: Json,
}

#[derive(Clone, Copy)]
struct Normalisation;

impl Choice for Normalisation {
    const CHOICES: &'static [(&'static str, Self)] = &[("best", Self)];
}

/// Reads `[published]`.
pub(crate) fn read(root: &mut Section<'_>, factors: &[Factor]) -> Published {
    let Some(mut section) = root.section("published") else { return Published::default() };
    let source = required_words(&mut section, "source");
    let normalise = section.optional::<Normalisation>("normalise").map(|_| "best");
    section.optional::<String>("note");
    let mut names = BTreeSet::new();
    let (mut metrics, mut cells) = (Vec::new(), Vec::new());
    for mut cell in section.sections("cells") {
        let (metric, mut json) = read_cell(&mut cell, factors, source.as_deref());
        if let Some(name) = required_words(&mut cell, "name") {
            if names.contains(&name) {
                cell.error_at(
                    "name",
                    format!("there is a cell \"{}\" already", name.escape_debug()),
                    "choose another",
                );
            }
            json["name"] = name.as_str().into();
            names.insert(name);
        }
        metrics.extend(metric);
        cells.push(json);
        let _ = cell.finish();
    }
    let mut table = Vec::new();
    for mut line in section.sections("table") {
        table.push(read_line(&mut line));
        let _ = line.finish();
    }
    let _ = section.finish();
    Published { metrics, json: json!({ "normalise": normalise, "cells": cells, "table": table }) }
}

/// One figure, given or to be predicted: its metric, if it names one, and all of it but the name.
fn read_cell(
    cell: &mut Section<'_>,
    factors: &[Factor],
    source: Option<&str>,
) -> (Option<(String, Path, Position)>, Json) {
    let before = cell.is_clean();
    let levels =
        cell.section("where").map(|mut levels| read_levels(&mut levels, factors)).unwrap_or_default();
    let named = levels.len();
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
    let unit = cell.optional::<String>("unit");
    if let Some(unit) = &unit
        && !UNITS.contains(&unit.as_str())
    {
        let help = did_you_mean(unit, "units", UNITS.iter().copied().filter(|unit| !unit.is_empty()));
        cell.error_at("unit", format!("the unit \"{}\" is not known", unit.escape_debug()), help);
    }
    let calibrated = cell.or("calibrated", false);
    if calibrated && value.is_none() {
        cell.error_at(
            "calibrated",
            "nothing can be fitted to a figure that is not given",
            "add `value` or leave it out",
        );
    }
    let own = cell.optional::<String>("source");
    let note = cell.optional::<String>("note");
    let place = cell.value("metric").map(|value| value.position);
    let metric = cell.optional::<String>("metric");
    let json = json!({
        "where": levels,
        "metric": metric,
        "value": value,
        "unit": unit,
        "calibrated": calibrated,
        "source": own.as_deref().or(source),
        "note": note,
    });
    (metric.zip(place).map(|(metric, place)| (metric, cell.path().join("metric"), place)), json)
}

/// One line of a published table, for the audit of its figures against each other.
fn read_line(line: &mut Section<'_>) -> Json {
    let mut json = Map::new();
    json.insert("where".to_owned(), required_words(line, "where").into());
    json.insert("iops".to_owned(), line.required_in("iops", ABOVE_ZERO).into());
    for key in ["latency_ms", "outstanding", "mb_per_s", "io_bytes"] {
        json.insert(key.to_owned(), line.optional_in(key, ABOVE_ZERO).into());
    }
    json.into()
}

/// Reads `[[calibration]]`: every fitted parameter must be in the study with the value it was fitted to. A sentence for
/// each.
///
/// `replaced` is every level and every override of the study.
pub(crate) fn read_calibration(
    root: &mut Section<'_>,
    tree: &Tree,
    replaced: &[Override],
    sets: &Sets,
) -> Vec<String> {
    let mut sentences = Vec::new();
    for mut entry in root.sections("calibration") {
        let parameter = required_words(&mut entry, "parameter");
        let value = entry.value("value");
        if value.is_none() {
            entry.error_at("value", "it is missing", "repeat the parameter's value");
        }
        let fitted_to = required_words(&mut entry, "fitted_to");
        let reason = required_words(&mut entry, "reason");
        let _ = entry.finish();
        if let (Some(parameter), Some(value)) = (parameter, value) {
            check_parameter(&entry, &parameter, value, tree, (replaced, sets));
            let said = fitted_to.zip(reason).map(|(to, reason)| {
                let value = plain(value);
                format!("{parameter} = {value} was fitted to {to}: {}", reason.trim())
            });
            sentences.extend(said);
        }
    }
    sentences
}

fn check_parameter(
    entry: &Section<'_>,
    parameter: &str,
    value: &Value,
    tree: &Tree,
    replaced: (&[Override], &Sets),
) {
    let path = match Path::parse(parameter) {
        Ok(path) => path,
        Err(message) => return entry.error_at("parameter", message, ""),
    };
    let stands: Vec<Value> = tree.get(&path).cloned().into_iter().chain(put_at(&path, replaced)).collect();
    if stands.is_empty() {
        let help = nearest_key(&path, tree);
        entry.error_at("parameter", format!("the study has no `{path}`"), help);
    } else if !stands.iter().any(|found| found.same_as(value)) {
        let help = format!("it is {} in the study; make both the same", stands[0]);
        entry.refuse(
            value.position,
            &entry.path().join("value"),
            Problem::new(format!("`{path}` is not {value}"), help),
        );
    }
}

/// The values that factors and overlays put at a path.
fn put_at(path: &Path, (replaced, sets): (&[Override], &Sets)) -> Vec<Value> {
    let assigned = |chosen| assignments(chosen, sets, Allowed::SettingsAndRounds).unwrap_or_default();
    let found = replaced.iter().flat_map(assigned).filter(|found| &found.path == path);
    found.map(|found| found.value).collect()
}

fn nearest_key(path: &Path, tree: &Tree) -> String {
    let parent = tree.get(&path.parent()).and_then(Value::as_table);
    let last = path.steps().last().map_or("", String::as_str);
    match parent {
        Some(table) => did_you_mean(last, "keys", table.entries().iter().map(|entry| entry.key.as_str())),
        None => "write a path such as volumes.data.size".to_owned(),
    }
}
