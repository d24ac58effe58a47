//! The storage that a workload runs on.

use fathom_runtime::Context;
use fathom_volume::{Handle, Site};

use crate::outcome::{Failure, Reason};

/// A site and the live volumes on it.
pub struct Storage<'a> {
    /// The executor with its memory.
    pub site: &'a Site,
    /// Every volume, each after the volumes below it; for samples and totals.
    pub nodes: Vec<Handle>,
}

impl Storage<'_> {
    /// The clock, randomness and tasks of the executor.
    pub fn context(&self) -> Context {
        self.site.context()
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
