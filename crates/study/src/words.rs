//! `[scale]` and `[labels]`: words for people about how a study was scaled down, and for levels.

use std::collections::BTreeMap;

use fathom_settings::{Problem, Section, did_you_mean};
use serde_json::{Map, Value};

use crate::factors::Factor;
use crate::reading::expected;

/// Reads `[scale]`: how far a run differs in scale from what was published, in words, by clock or `quick`.
pub(crate) fn read_scale(root: &mut Section<'_>) -> BTreeMap<&'static str, String> {
    let Some(mut section) = root.section("scale") else { return BTreeMap::new() };
    let words = ["real", "virtual", "quick"].map(|key| Some((key, section.optional::<String>(key)?)));
    let _ = section.finish();
    words.into_iter().flatten().collect()
}

/// Reads `[labels]`: words for levels, by factor and level.
pub(crate) fn read_labels(root: &mut Section<'_>, factors: &[Factor]) -> Map<String, Value> {
    let mut labels = Map::new();
    for (name, mut section) in root.named_sections("labels") {
        let Some(factor) = factors.iter().find(|factor| factor.name == name) else {
            let help = did_you_mean(name, "factors", factors.iter().map(|factor| factor.name.as_str()));
            section.error(format!("there is no factor `{}`", name.escape_debug()), help);
            continue;
        };
        let mut words = Map::new();
        let levels: Vec<String> = factor.levels.iter().map(plain).collect();
        for entry in section.entries() {
            let path = section.path().join(&entry.key);
            if !levels.contains(&entry.key) {
                let help = did_you_mean(&entry.key, "levels", levels.iter().map(String::as_str));
                let message = format!("`{name}` has no level \"{}\"", entry.key.escape_debug());
                section.refuse(entry.position, &path, Problem::new(message, help));
            } else if let Some(text) = entry.value.as_text() {
                words.insert(entry.key.clone(), text.into());
            } else {
                section.refuse(
                    entry.value.position,
                    &path,
                    expected("a text", &entry.value, "put it in quotes"),
                );
            }
        }
        labels.insert(name.to_owned(), words.into());
    }
    labels
}

/// A level as a key: texts without quotes, numbers and truth values as written.
pub(crate) fn plain(level: &fathom_settings::Value) -> String {
    level.as_text().map_or_else(|| level.to_string(), str::to_owned)
}
