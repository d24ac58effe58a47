//! What a key means, for manuals, completion and the check that every key read is documented.

/// The documentation of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// As written in the settings.
    pub name: &'static str,
    /// What it takes, with unit or choices: "size", "list of volumes", "`a` or `b`".
    pub takes: &'static str,
    /// What holds when it is left out; None if it must be given.
    pub default: Option<&'static str>,
    /// One sentence on what it does.
    pub summary: &'static str,
}

impl Key {
    /// A key that must be given.
    pub const fn required(name: &'static str, takes: &'static str, summary: &'static str) -> Self {
        Self { name, takes, default: None, summary }
    }

    /// A key that may be left out; `default` says what holds then.
    pub const fn optional(
        name: &'static str,
        takes: &'static str,
        default: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, takes, default: Some(default), summary }
    }
}
