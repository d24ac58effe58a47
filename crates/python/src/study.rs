//! Checking a study and running one variant of it.

use std::path::PathBuf;

use fathom_catalogue::Catalogue;
use fathom_job::Databases;
use fathom_runtime::Clock;
use fathom_settings::{to_json, to_text};
use fathom_study::{CheckOptions, Run};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{call, columns, convert, errors};

/// A file of models: its name and its text.
type Model = (String, String);

/// A run as a plan holds it, of which this much is the engine's business (docs/RESULTS.md).
#[derive(Deserialize)]
struct Entry {
    text: String,
    file: String,
    models: Vec<Model>,
    clock: String,
    set: Map<String, Value>,
    seed: u64,
}

impl Entry {
    fn read(json: &str) -> PyResult<(Self, Clock, Catalogue)> {
        let entry: Self = serde_json::from_str(json).map_err(|error| errors::bad_input(&error))?;
        let clock = convert::clock(&entry.clock)?;
        let catalogue = catalogue(&entry.models)?;
        Ok((entry, clock, catalogue))
    }

    fn run<'a>(&'a self, clock: Clock, scratch: &'a std::path::Path, databases: &'a Databases) -> Run<'a> {
        let Self { text, file, set, seed, .. } = self;
        Run { text, file, overrides: set, clock, seed: *seed, scratch, databases }
    }
}

fn catalogue(models: &[Model]) -> PyResult<Catalogue> {
    models.iter().try_fold(Catalogue::builtin(), |catalogue, (file, text)| {
        catalogue.with_text(file, text).map_err(|error| errors::bad_input(&error))
    })
}

/// Every mistake in a study, `screen` for people and `diagnostics` as data; `study`, if there is none: all of it resolved.
#[pyfunction]
#[pyo3(signature = (text, file, clock = None, quick = false, fixed_json = "{}", models = Vec::new()))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    clock: Option<&str>,
    quick: bool,
    fixed_json: &str,
    models: Vec<Model>,
) -> PyResult<Bound<'py, PyDict>> {
    let clock = clock.map(convert::clock).transpose()?;
    let fixed = serde_json::from_str(fixed_json).map_err(|error| errors::bad_input(&error))?;
    let found = fathom_study::check(text, file, &CheckOptions { clock, quick, fixed }, &catalogue(&models)?);
    let answer = PyDict::new(py);
    answer.set_item("screen", to_text(&found.diagnostics))?;
    answer.set_item("diagnostics", convert::to_python(py, &to_json(&found.diagnostics))?)?;
    answer.set_item("study", convert::to_python(py, &found.study)?)?;
    Ok(answer)
}

/// Runs one variant and gives what it yields.
#[pyfunction]
#[pyo3(signature = (entry_json, scratch, tick = None, databases_json = "{}"))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    entry_json: &str,
    scratch: PathBuf,
    tick: Option<Py<PyAny>>,
    databases_json: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let (entry, clock, catalogue) = Entry::read(entry_json)?;
    let databases = serde_json::from_str(databases_json).map_err(|error| errors::bad_input(&error))?;
    let run = entry.run(clock, &scratch, &databases);
    let outcome = call::long(py, tick, |progress| fathom_study::run(&run, &catalogue, progress))?;

    let answer = PyDict::new(py);
    answer.set_item("metrics", outcome.metrics)?;
    answer.set_item("samples", columns::samples(py, &outcome.samples)?)?;
    answer.set_item("histograms", columns::histograms(py, &outcome.totals)?)?;
    answer.set_item("volumes", columns::volumes(py, &outcome.totals)?)?;
    answer.set_item("facts", outcome.facts)?;
    answer.set_item("measured_ns", outcome.measured)?;
    answer.set_item("began_ns", outcome.began)?;
    answer.set_item("waits", waits(py, outcome.waits)?)?;
    answer.set_item("steps", steps(py, outcome.steps)?)?;
    let (digest, events) = outcome.digest.unzip();
    answer.set_item("digest", digest)?;
    answer.set_item("events", events)?;
    Ok(answer)
}

/// By database, a mapping from what sessions waited for to their mean number.
fn waits<'py>(
    py: Python<'py>,
    waits: std::collections::BTreeMap<String, Vec<(String, f64)>>,
) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    for (database, waits) in waits {
        let events = PyDict::new(py);
        waits.into_iter().try_for_each(|(event, sessions)| events.set_item(event, sessions))?;
        answer.set_item(database, events)?;
    }
    Ok(answer)
}

fn steps(py: Python<'_>, steps: Vec<fathom_job::Step>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let step = |step: fathom_job::Step| {
        let answer = PyDict::new(py);
        answer.set_item("users", step.users)?;
        answer.set_item("discarded", step.discarded)?;
        answer.set_item("began_ns", step.began)?;
        answer.set_item("measured_ns", step.measured)?;
        answer.set_item("metrics", step.metrics)?;
        Ok(answer)
    };
    steps.into_iter().map(step).collect()
}

/// Loads the data one variant begins with.
#[pyfunction]
#[pyo3(signature = (entry_json, scratch, tick, databases_json))]
pub(crate) fn load(
    py: Python<'_>,
    entry_json: &str,
    scratch: PathBuf,
    tick: Option<Py<PyAny>>,
    databases_json: &str,
) -> PyResult<()> {
    let (entry, clock, catalogue) = Entry::read(entry_json)?;
    let databases = serde_json::from_str(databases_json).map_err(|error| errors::bad_input(&error))?;
    let run = entry.run(clock, &scratch, &databases);
    call::long(py, tick, |progress| fathom_study::load(&run, &catalogue, progress))
}
