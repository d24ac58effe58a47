//! The registries of this build, the catalogue, and facts of the build itself.

use std::path::PathBuf;

use fathom_job::{Metric, Reason};
use fathom_settings::Key;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::{convert, errors};

/// Kinds of volume and workload with their manuals, every metric, and the reasons of failed runs.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let volumes = fathom_stack::kinds()
        .iter()
        .map(|kind| entry("volume", kind.name, kind.summary, kind.manual, kind.keys, Vec::new()));
    let workloads = fathom_study::workloads()
        .iter()
        .map(|kind| entry("workload", kind.name, kind.summary, kind.manual, kind.keys, (kind.metrics)()));
    let kinds: Vec<Value> = volumes.chain(workloads).collect();
    let reasons: Vec<&str> = Reason::ALL.into_iter().map(Reason::name).collect();
    let metrics: Vec<Value> = fathom_study::metrics().iter().map(metric).collect();
    let observed = names(fathom_study::observed());
    convert::to_python(
        py,
        &json!({ "kinds": kinds, "metrics": metrics, "observed": observed, "reasons": reasons }),
    )
}

fn entry(group: &str, name: &str, summary: &str, manual: &str, keys: &[Key], metrics: Vec<Metric>) -> Value {
    let key = |key: &Key| json!({ "name": key.name, "takes": key.takes, "default": key.default, "summary": key.summary });
    let keys: Vec<Value> = keys.iter().map(key).collect();
    json!({ "group": group, "name": name, "summary": summary, "manual": manual, "keys": keys, "metrics": names(metrics) })
}

fn names(metrics: Vec<Metric>) -> Vec<String> {
    metrics.into_iter().map(|metric| metric.name.into_owned()).collect()
}

fn metric(metric: &Metric) -> Value {
    json!({ "name": metric.name, "label": metric.label, "unit": metric.unit, "higher_is_better": metric.higher_is_better })
}

/// Every model of the catalogue, a user's over the built-in ones.
#[pyfunction]
pub(crate) fn catalogue_list(py: Python<'_>, models: Vec<PathBuf>) -> PyResult<Bound<'_, PyAny>> {
    convert::to_python(py, &convert::catalogue(&models)?.list())
}

/// All that is known of one model.
#[pyfunction]
pub(crate) fn catalogue_explain<'py>(
    py: Python<'py>,
    name: &str,
    models: Vec<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let explained = convert::catalogue(&models)?.explain(name).map_err(|error| errors::bad_input(&error))?;
    convert::to_python(py, &explained)
}

/// Facts of this build; they go into every run's record.
#[pyfunction]
pub(crate) fn build_facts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("version", env!("CARGO_PKG_VERSION"))?;
    facts.set_item("commit", env!("FATHOM_COMMIT"))?;
    facts.set_item("profile", env!("FATHOM_PROFILE"))?;
    facts.set_item("optimisation", env!("FATHOM_OPT_LEVEL"))?;
    facts.set_item("assertions", if cfg!(debug_assertions) { "on" } else { "off" })?;
    facts.set_item("target", env!("FATHOM_TARGET"))?;
    Ok(facts)
}
