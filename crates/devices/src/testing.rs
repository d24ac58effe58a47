//! Shared by the tests of devices.

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
