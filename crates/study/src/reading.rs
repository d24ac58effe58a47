//! What the readers of a study's tables share.

use fathom_settings::{Problem, Section};

/// A text that says something.
pub(crate) fn required_words(section: &mut Section<'_>, key: &str) -> Option<String> {
    let words = section.required::<String>(key)?;
    if words.trim().is_empty() {
        section.error_at(key, "it is empty", "write a few words");
        return None;
    }
    Some(words)
}

/// The problem of a value whose kind fits nowhere.
pub(crate) fn expected(what: &str, found: &fathom_settings::Value, help: &str) -> Problem {
    Problem::new(format!("expected {what}, found {}", found.kind()), help)
}
