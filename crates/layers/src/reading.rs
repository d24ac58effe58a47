//! What reading a layer's settings has in common: spans and sizes as plain numbers, and contradictions reported at their key.

use fathom_settings::Section;
use fathom_units::{Bytes, Span};

/// A contradiction between settings: the key, what is wrong, what to do.
pub type Contradiction = (&'static str, String, &'static str);

/// A size in bytes, or the usual one.
pub fn bytes_or(section: &mut Section<'_>, key: &str, usual: u64) -> u64 {
    section.optional::<Bytes>(key).map_or(usual, |bytes| bytes.get())
}

/// A span in ns, or the usual one.
pub fn span_or(section: &mut Section<'_>, key: &str, usual: u64) -> u64 {
    section.optional::<Span>(key).map_or(usual, |span| span.as_nanos())
}

/// Tells every contradiction at its key; whether there is none.
pub fn told_none(section: &Section<'_>, wrong: Vec<Contradiction>) -> bool {
    let none = wrong.is_empty();
    for (key, message, help) in wrong {
        section.error_at(key, message, help);
    }
    none
}
