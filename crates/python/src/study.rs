//! Checking a study and running one variant of it.

use std::path::PathBuf;

use fathom_settings::{to_json, to_text};
use fathom_study::Run;
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

/// Runs one variant and gives what it yields.
#[pyfunction]
#[pyo3(signature = (text, file, overrides_json, clock, seed, scratch, models = Vec::new(), tick = None))]
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
) -> PyResult<Bound<'py, PyDict>> {
    let clock = convert::clock(clock)?;
    let catalogue = convert::catalogue(&models)?;
    let overrides = serde_json::from_str(overrides_json).map_err(|error| errors::bad_input(&error))?;
    let run = Run { text, file, overrides: &overrides, clock, seed, scratch: &scratch };
    let outcome = call::long(py, tick, |progress| fathom_study::run(&run, &catalogue, progress))?;

    let answer = PyDict::new(py);
    answer.set_item("metrics", outcome.metrics)?;
    answer.set_item("samples", columns::samples(py, &outcome.samples)?)?;
    answer.set_item("histograms", columns::histograms(py, &outcome.totals)?)?;
    answer.set_item("volumes", columns::volumes(py, &outcome.totals)?)?;
    answer.set_item("facts", outcome.facts)?;
    answer.set_item("measured_ns", outcome.measured)?;
    let (digest, events) = outcome.digest.unzip();
    answer.set_item("digest", digest)?;
    answer.set_item("events", events)?;
    Ok(answer)
}
