//! Windows performance logs: columns as bytes, so that a frame takes them as they are.

use std::fs::File;
use std::io::BufReader;

use fathom_blg::{Batch, Log};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors;

/// A log being read; `_core.pyi` documents the calls.
#[pyclass]
pub(crate) struct BlgLog {
    log: Log<BufReader<File>>,
}

#[pymethods]
impl BlgLog {
    #[new]
    fn open(path: std::path::PathBuf) -> PyResult<BlgLog> {
        let file = File::open(&path).map_err(|error| errors::bad_input(&error))?;
        let log = Log::open(BufReader::new(file)).map_err(|fault| errors::bad_input(&fault))?;
        Ok(BlgLog { log })
    }

    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (facts, dict) = (self.log.facts(), PyDict::new(py));
        dict.set_item("build", facts.build)?;
        dict.set_item("processors", facts.processors)?;
        dict.set_item("events_lost", facts.events_lost)?;
        dict.set_item("buffers_lost", facts.buffers_lost)?;
        dict.set_item("circular", facts.circular)?;
        dict.set_item("bias_minutes", facts.bias_minutes)?;
        dict.set_item("foreign_events", facts.foreign_events)?;
        dict.set_item("samples", self.log.samples())?;
        dict.set_item("unknown_types", self.log.unknown_types().clone())?;
        Ok(dict)
    }

    fn series<'py>(&self, py: Python<'py>, first: usize) -> PyResult<Bound<'py, PyList>> {
        let rest = self.log.series().get(first..).unwrap_or_default();
        PyList::new(
            py,
            rest.iter().map(|one| {
                (
                    &one.machine,
                    &one.object,
                    &one.instance,
                    &one.counter,
                    one.object_index,
                    one.counter_index,
                    one.counter_type,
                )
            }),
        )
    }

    fn batch<'py>(&mut self, py: Python<'py>, least: usize) -> PyResult<Option<Bound<'py, PyDict>>> {
        let batch = py.detach(|| self.log.batch(least)).map_err(|fault| errors::bad_input(&fault))?;
        batch.map(|batch| columns(py, &batch)).transpose()
    }
}

/// Little-endian columns.
fn columns<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyDict>> {
    let times: Vec<u8> = batch.time_ns.iter().flat_map(|value| value.to_le_bytes()).collect();
    let series: Vec<u8> = batch.series.iter().flat_map(|value| value.to_le_bytes()).collect();
    let values: Vec<u8> = batch.value.iter().flat_map(|value| value.to_le_bytes()).collect();
    let dict = PyDict::new(py);
    dict.set_item("time_ns", PyBytes::new(py, &times))?;
    dict.set_item("series", PyBytes::new(py, &series))?;
    dict.set_item("value", PyBytes::new(py, &values))?;
    Ok(dict)
}
