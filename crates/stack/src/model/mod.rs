//! `model = "…"`: volumes whose figures come from the catalogue.
//!
//! On a `model` it is a cloud volume or drive, and becomes a throttle with the vendor's limits on a device with its
//! service times; on a `throttle` it is an instance with the caps that all its volumes share; on an `adapter` it is an
//! adapter with its queue depths.

mod adapter;
mod instance;
mod volume;

use fathom_catalogue::{Catalogue, CatalogueError};
use fathom_settings::{Key, Section};
use fathom_volume::Blueprint;

/// One node of an expansion: what to append to the table's name, the kind, the settings.
pub(crate) struct Part {
    pub suffix: &'static str,
    pub kind: &'static str,
    pub blueprint: Box<dyn Blueprint>,
}

/// A kind that reads its figures out of the catalogue when its table has the key `model`.
pub(crate) struct FromCatalogue {
    /// The kind's name.
    pub kind: &'static str,
    /// The keys beside `kind`; those the kind has without the catalogue mean the same.
    pub keys: &'static [Key],
    /// Reads the table: the parts from the lowest up, the last one under the table's own name.
    pub read: fn(&str, &mut Section<'_>, &Catalogue) -> Option<Vec<Part>>,
}

/// All of them.
pub(crate) static ALL: &[FromCatalogue] = &[adapter::KIND, instance::KIND, volume::KIND];

/// The reader of a table of that kind, if it names a model.
pub(crate) fn reader(kind: &str, section: &Section<'_>) -> Option<&'static FromCatalogue> {
    ALL.iter().find(|from| from.kind == kind && section.has("model"))
}

/// Reports a refusal of the catalogue at the key it is about.
fn refuse(section: &Section<'_>, error: &CatalogueError) {
    let text = error.to_string();
    let (message, help) = text.split_once("\n  ").unwrap_or((&text, ""));
    let about = |key: &&&str| {
        section.has(key) && (help.contains(&format!("set {key}")) || help.contains(&format!("leave {key}")))
    };
    let key = ["size", "iops", "throughput"].iter().find(about).copied().unwrap_or("model");
    section.error_at(key, message, help.replace('\n', " "));
}
