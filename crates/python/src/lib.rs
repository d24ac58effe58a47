//! The extension module `fathom._core`: a few coarse calls, conversion and error mapping, no logic.
//!
//! Text goes in; small facts come out as dictionaries, samples and histograms as columns. Python writes the files.
//! `python/fathom/_core.pyi` documents every call.

mod blg;
mod call;
mod columns;
mod convert;
mod describe;
mod errors;
mod quantity;
mod study;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if matches!(env!("FATHOM_OPT_LEVEL"), "0" | "1") {
        let category = module.py().get_type::<PyRuntimeWarning>();
        let message = c"fathom._core is a debug build: its timings mean nothing (build with --profile quick or --release)";
        PyErr::warn(module.py(), &category, message, 1)?;
    }
    module.add("BadInput", module.py().get_type::<errors::BadInput>())?;
    module.add("RunFailed", module.py().get_type::<errors::RunFailed>())?;
    module.add_class::<blg::BlgLog>()?;
    module.add_function(wrap_pyfunction!(study::check, module)?)?;
    module.add_function(wrap_pyfunction!(study::run, module)?)?;
    module.add_function(wrap_pyfunction!(study::load, module)?)?;
    module.add_function(wrap_pyfunction!(describe::describe, module)?)?;
    module.add_function(wrap_pyfunction!(describe::catalogue_list, module)?)?;
    module.add_function(wrap_pyfunction!(describe::catalogue_explain, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::time_ns, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::rate_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::per_second, module)?)?;
    module.add_function(wrap_pyfunction!(describe::build_facts, module)?)
}
