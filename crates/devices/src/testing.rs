//! Shared by the tests of devices.

#[cfg(feature = "real")]
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use fathom_settings::{Diagnostics, Section, Tree};

/// Reads settings as the registry would; the mistakes, as people see them, if there are any.
pub(crate) fn read<T>(text: &str, read: impl Fn(&mut Section<'_>) -> Option<T>) -> Result<T, Vec<String>> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("device.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = read(&mut section);
    let clean = section.finish();
    let mistakes = || diagnostics.list().iter().map(ToString::to_string).collect();
    config.filter(|_| clean).ok_or_else(mistakes)
}

/// A program that is started has this process's descriptors and their locks until it begins to run, whoever closes them meanwhile.
#[cfg(feature = "real")]
static STARTS: RwLock<()> = RwLock::new(());

/// While a test starts a program: none that looks at locks runs.
#[cfg(feature = "real")]
pub(crate) fn starting_programs() -> RwLockReadGuard<'static, ()> {
    STARTS.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test of locks, which end when it lets go of them: no other test starts a program.
#[cfg(feature = "real")]
pub(crate) fn no_program_starts() -> RwLockWriteGuard<'static, ()> {
    STARTS.write().unwrap_or_else(PoisonError::into_inner)
}
