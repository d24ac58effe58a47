//! What a check of volumes found that nobody serves. Plain data.

use std::fmt;

use fathom_layers::writeback::Report;

/// Everything that was checked.
#[derive(Debug, Default)]
pub struct StackReport {
    /// Every mirror and every pool.
    pub volumes: Vec<VolumeReport>,
    /// Every write-back group.
    pub groups: Vec<Report>,
}

/// One mirror or pool.
#[derive(Debug)]
pub struct VolumeReport {
    /// Its name in the settings.
    pub name: String,
    /// The word after `kind =`.
    pub kind: &'static str,
    /// What is worth knowing, or why a start is refused and what to do.
    pub found: Result<Vec<String>, String>,
}

impl StackReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.volumes.iter().all(|volume| volume.found.is_ok()) && self.groups.iter().all(Report::is_sound)
    }
}

impl fmt::Display for VolumeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, found } = self;
        match found {
            Ok(notes) => {
                writeln!(f, "{kind} `{name}`: sound")?;
                notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
            }
            Err(why) => writeln!(f, "{kind} `{name}`: NOT sound\n  wrong: {why}"),
        }
    }
}

impl fmt::Display for StackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.volumes.iter().try_for_each(|volume| volume.fmt(f))?;
        self.groups.iter().try_for_each(|group| group.fmt(f))
    }
}
