//! A node that opens when the executor first runs: every request waits for the outcome.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_runtime::{Signal, until};
use fathom_volume::Result;

/// What a node is once it is open, or why it could not be opened.
pub(crate) struct Opening<T> {
    outcome: RefCell<Option<Result<Rc<T>>>>,
    opened: Signal,
}

impl<T> Default for Opening<T> {
    fn default() -> Self {
        Self { outcome: RefCell::default(), opened: Signal::default() }
    }
}

impl<T> Opening<T> {
    /// Tells everyone who waits.
    pub fn give(&self, outcome: Result<Rc<T>>) {
        *self.outcome.borrow_mut() = Some(outcome);
        self.opened.notify();
    }

    /// Waits for the open node.
    ///
    /// # Errors
    /// Why it could not be opened, with the remedy.
    pub async fn get(&self) -> Result<Rc<T>> {
        until(&self.opened, || self.outcome.borrow().clone()).await
    }

    /// The node, if it is open by now.
    pub fn now(&self) -> Option<Rc<T>> {
        self.outcome.borrow().as_ref()?.as_ref().ok().cloned()
    }
}
