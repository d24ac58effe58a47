//! What a workload runs on: a live volume set and the executor it lives on.

use fathom_runtime::{Context, Runtime};
use fathom_volume::{Handle, Pool};

use crate::outcome::{Failure, Reason};

/// A live volume set.
pub struct Bench<'a> {
    /// The executor.
    pub runtime: &'a Runtime,
    /// Where buffers come from; hollow in a simulation without payload.
    pub pool: Pool,
    /// Every node of the set, for samples and totals.
    pub nodes: Vec<Handle>,
}

impl Bench<'_> {
    /// The clock, randomness and tasks of the executor.
    pub fn context(&self) -> Context {
        self.runtime.context()
    }

    /// The volume of that name.
    ///
    /// # Errors
    /// [`Reason::Settings`] if there is none.
    pub fn volume(&self, name: &str) -> Result<Handle, Failure> {
        self.nodes.iter().find(|node| node.name() == name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.nodes.iter().map(Handle::name).collect();
            let message = format!("workload: there is no volume `{name}`; there are {}", names.join(", "));
            Failure::new(Reason::Settings, message)
        })
    }
}
