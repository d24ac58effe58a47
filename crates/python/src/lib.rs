//! The extension module `fathom._core`: a few coarse calls, conversion and error mapping, no logic.
//!
//! Text and JSON go in; small facts come out as dictionaries, samples and histograms as columns. Python writes the files.
//! `python/fathom/_core.pyi` documents every call.

mod call;
mod columns;
mod errors;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Facts of this build; they go into every run's record.
#[pyfunction]
fn build_facts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("version", env!("CARGO_PKG_VERSION"))?;
    facts.set_item("commit", env!("FATHOM_COMMIT"))?;
    facts.set_item("profile", env!("FATHOM_PROFILE"))?;
    facts.set_item("optimisation", env!("FATHOM_OPT_LEVEL"))?;
    facts.set_item("assertions", if cfg!(debug_assertions) { "on" } else { "off" })?;
    facts.set_item("target", env!("FATHOM_TARGET"))?;
    Ok(facts)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RunFailed", module.py().get_type::<errors::RunFailed>())?;
    module.add_function(wrap_pyfunction!(build_facts, module)?)
}
