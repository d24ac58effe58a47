//! Texts with units to numbers, as settings read them.

use fathom_units::{Bytes, Iops, Rate, Span};
use pyo3::prelude::*;

use crate::errors;

/// A size in bytes: "4TiB".
#[pyfunction]
pub(crate) fn size_bytes(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(Bytes::get).map_err(|error| errors::bad_input(&error))
}

/// A time in nanoseconds: "30s".
#[pyfunction]
pub(crate) fn time_ns(text: &str) -> PyResult<u64> {
    text.parse::<Span>().map(Span::as_nanos).map_err(|error| errors::bad_input(&error))
}

/// Bytes per second: "125MiB/s".
#[pyfunction]
pub(crate) fn rate_bytes(text: &str) -> PyResult<u64> {
    text.parse::<Rate>().map(Rate::get).map_err(|error| errors::bad_input(&error))
}

/// Events per second: "3000 IOPS".
#[pyfunction]
pub(crate) fn per_second(text: &str) -> PyResult<f64> {
    text.parse::<Iops>().map(Iops::get).map_err(|error| errors::bad_input(&error))
}
