//! Checking a study and running one variant of it.

use std::path::PathBuf;

use fathom_settings::{to_json, to_text};
use fathom_study::Run;
use fathom_workload::Reason;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{call, columns, convert, errors};

/// Every mistake in a study: `screen` for people, `diagnostics` as data.
#[pyfunction]
#[pyo3(signature = (text, file, clock = None, models = Vec::new()))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    clock: Option<&str>,
    models: Vec<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let clock = clock.map(convert::clock).transpose()?;
    let catalogue = convert::catalogue(&models)?;
    let found = fathom_study::check(text, file, clock, &catalogue).diagnostics;
    let answer = PyDict::new(py);
    answer.set_item("screen", to_text(&found))?;
    answer.set_item("diagnostics", convert::to_python(py, &to_json(&found))?)?;
    Ok(answer)
}

/// What provisioning must provide before a variant can run.
#[pyfunction]
#[pyo3(signature = (text, file, overrides_json, clock, models = Vec::new()))]
pub(crate) fn wanted<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides_json: &str,
    clock: &str,
    models: Vec<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let clock = convert::clock(clock)?;
    let catalogue = convert::catalogue(&models)?;
    let overrides = serde_json::from_str(overrides_json).map_err(|error| errors::bad_input(&error))?;
    let wanted = fathom_study::wanted(text, file, &overrides, clock, &catalogue)
        .map_err(|found| errors::run_failed(Reason::Settings.name(), &to_text(&found)))?;
    convert::to_python(py, &wanted)
}

/// Runs one variant and gives what it yields.
#[pyfunction]
#[pyo3(signature = (text, file, overrides_json, clock, seed, scratch, models = Vec::new(), tick = None, databases_json = "{}"))]
#[expect(clippy::too_many_arguments, reason = "a call from Python, by name")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides_json: &str,
    clock: &str,
    seed: u64,
    scratch: PathBuf,
    models: Vec<PathBuf>,
    tick: Option<Py<PyAny>>,
    databases_json: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let clock = convert::clock(clock)?;
    let catalogue = convert::catalogue(&models)?;
    let overrides = serde_json::from_str(overrides_json).map_err(|error| errors::bad_input(&error))?;
    let databases = serde_json::from_str(databases_json).map_err(|error| errors::bad_input(&error))?;
    let run =
        Run { text, file, overrides: &overrides, clock, seed, scratch: &scratch, databases: &databases };
    let outcome = call::long(py, tick, |progress| fathom_study::run(&run, &catalogue, progress))?;

    let answer = PyDict::new(py);
    answer.set_item("metrics", outcome.metrics)?;
    answer.set_item("samples", columns::samples(py, &outcome.samples)?)?;
    answer.set_item("histograms", columns::histograms(py, &outcome.totals)?)?;
    answer.set_item("volumes", columns::volumes(py, &outcome.totals)?)?;
    answer.set_item("facts", outcome.facts)?;
    answer.set_item("measured_ns", outcome.measured)?;
    answer.set_item("began_ns", outcome.began)?;
    let (digest, events) = outcome.digest.unzip();
    answer.set_item("digest", digest)?;
    answer.set_item("events", events)?;
    Ok(answer)
}

/// Loads the data one variant begins with.
#[pyfunction]
#[pyo3(signature = (text, file, overrides_json, seed, scratch, models, tick, databases_json))]
#[expect(clippy::too_many_arguments, reason = "a call from Python, by name")]
pub(crate) fn load(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides_json: &str,
    seed: u64,
    scratch: PathBuf,
    models: Vec<PathBuf>,
    tick: Option<Py<PyAny>>,
    databases_json: &str,
) -> PyResult<()> {
    let clock = fathom_stack::Clock::Real;
    let catalogue = convert::catalogue(&models)?;
    let overrides = serde_json::from_str(overrides_json).map_err(|error| errors::bad_input(&error))?;
    let databases = serde_json::from_str(databases_json).map_err(|error| errors::bad_input(&error))?;
    let run =
        Run { text, file, overrides: &overrides, clock, seed, scratch: &scratch, databases: &databases };
    call::long(py, tick, |progress| fathom_study::load(&run, &catalogue, progress))
}
