//! The switch of the injected bugs, and their list. Only the copy of the sources that the hunts build has this module.

#![allow(dead_code, reason = "the daemon asks for its bugs and needs neither the list nor the switch")]

use std::cell::Cell;

thread_local! {
    static ACTIVE: Cell<Option<&'static str>> = Cell::new(named());
}

/// The bug that the environment names, which is on from the start.
fn named() -> Option<&'static str> {
    let name = std::env::var("FATHOM_BUG").ok()?;
    ALL.iter().map(|(_, listed, _)| *listed).find(|listed| *listed == name)
}

/// Whether this bug is on in this thread.
#[inline]
pub fn bug(name: &str) -> bool {
    ACTIVE.get() == Some(name)
}

/// Turns one bug on in this thread, or none.
pub fn switch(name: Option<&'static str>) {
    ACTIVE.set(name);
}
