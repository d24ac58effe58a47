//! The one error map: Rust's errors as Python exceptions.

use std::fmt::Display;

use pyo3::prelude::*;

pyo3::create_exception!(
    fathom._core,
    BadInput,
    pyo3::exceptions::PyException,
    "What was asked for cannot be meant or does not exist. Argument: a message that says what to do."
);

pyo3::create_exception!(
    fathom._core,
    RunFailed,
    pyo3::exceptions::PyException,
    "A run failed. Arguments: the reason, from the closed list, and a message that says what, where and what to do."
);

/// Something a person asked for that is not available.
pub(crate) fn bad_input(problem: &impl Display) -> PyErr {
    BadInput::new_err(problem.to_string())
}

/// A failed run.
pub(crate) fn run_failed(reason: &str, message: &str) -> PyErr {
    RunFailed::new_err((reason.to_owned(), message.to_owned()))
}
