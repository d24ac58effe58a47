//! The one error map: what Rust reports, as Python exceptions.

use pyo3::prelude::*;

pyo3::create_exception!(
    fathom._core,
    RunFailed,
    pyo3::exceptions::PyException,
    "A run failed. Arguments: the reason, from the closed list, and a message that says what, where and what to do."
);

/// A failed run as an exception.
pub(crate) fn run_failed(reason: &str, message: &str) -> PyErr {
    RunFailed::new_err((reason.to_owned(), message.to_owned()))
}
