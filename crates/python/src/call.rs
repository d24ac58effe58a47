//! How a long call runs: interpreter released, Ctrl-C watched, progress passed on, panics caught.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fathom_job::{Failure, Progress};
use pyo3::prelude::*;

use crate::errors;

/// Runs `work` without the interpreter lock.
///
/// About every 50 ms the work ticks; then signals are handled and `tick(share, note)` is called, and whatever either of
/// them raises stops the work and is raised here.
pub(crate) fn long<T: Send>(
    py: Python<'_>,
    tick: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn Progress) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let mut watch = Watch { tick, raised: None };
    let answer = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&mut watch))));
    if let Some(raised) = watch.raised {
        return Err(raised);
    }
    match answer {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(errors::run_failed(failure.reason.name(), &failure.message)),
        Err(panic) => Err(errors::run_failed("internal", &panic_message(panic.as_ref()))),
    }
}

struct Watch {
    tick: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Progress for Watch {
    fn tick(&mut self, done: f64, note: &str) -> ControlFlow<()> {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match &self.tick {
                Some(tick) => tick.call1(py, (done, note)).map(drop),
                None => Ok(()),
            }
        });
        match answer {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "a mistake in Fathom: {}; please report it with the study",
        text.unwrap_or("a panic without a message")
    )
}
