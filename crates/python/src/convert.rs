//! Arguments to Rust's types, JSON to Python's.

use std::path::PathBuf;

use fathom_catalogue::Catalogue;
use fathom_runtime::Clock;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors;

/// The built-in catalogue with a user's files and folders over it.
pub(crate) fn catalogue(models: &[PathBuf]) -> PyResult<Catalogue> {
    models.iter().try_fold(Catalogue::builtin(), |catalogue, path| {
        let added = if path.is_dir() { catalogue.with_directory(path) } else { catalogue.with_file(path) };
        added.map_err(|error| errors::bad_input(&error))
    })
}

/// "real" or "virtual".
pub(crate) fn clock(word: &str) -> PyResult<Clock> {
    match word {
        "real" => Ok(Clock::Real),
        "virtual" => Ok(Clock::Virtual),
        _ => Err(errors::bad_input(&format!("clock \"{word}\" is not known; write \"real\" or \"virtual\""))),
    }
}

/// Anything that serialises, as dictionaries, lists, strings and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| errors::bad_input(&error))?;
    py.import("json")?.call_method1("loads", (text,))
}
