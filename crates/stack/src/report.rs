//! What a check of volumes found that nobody serves. Plain data.

use std::fmt;

use fathom_layers::writeback::Report;

/// Everything that was checked.
#[derive(Debug, Default)]
pub struct StackReport {
    /// What a start would refuse by itself, such as a file that nobody may write, every mirror and every pool.
    pub volumes: Vec<VolumeReport>,
    /// Every write-back group.
    pub groups: Vec<Report>,
}

/// One volume.
#[derive(Debug)]
pub struct VolumeReport {
    /// Its name in the settings.
    pub name: String,
    /// The word after `kind =`.
    pub kind: &'static str,
    /// What a start would make of it.
    pub outcome: Outcome,
}

/// What a start would make of a volume.
#[derive(Debug)]
pub enum Outcome {
    /// It opens; what is worth knowing.
    Opens(Vec<String>),
    /// It is refused: why, and what to do.
    Refused(String),
    /// Only a start can tell: why.
    Unknown(String),
}

impl StackReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        let is_refused = |volume: &VolumeReport| matches!(volume.outcome, Outcome::Refused(_));
        !self.volumes.iter().any(is_refused) && self.groups.iter().all(Report::is_sound)
    }

    /// Whether everything could be looked at.
    pub fn is_complete(&self) -> bool {
        !self.volumes.iter().any(|volume| matches!(volume.outcome, Outcome::Unknown(_)))
    }
}

impl fmt::Display for VolumeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, outcome } = self;
        match outcome {
            Outcome::Opens(notes) => {
                writeln!(f, "{kind} `{name}`: sound")?;
                notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
            }
            Outcome::Refused(why) => writeln!(f, "{kind} `{name}`: NOT sound\n  wrong: {why}"),
            Outcome::Unknown(why) => writeln!(f, "{kind} `{name}`: not looked at\n  note: {why}"),
        }
    }
}

impl fmt::Display for StackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.volumes.iter().try_for_each(|volume| volume.fmt(f))?;
        self.groups.iter().try_for_each(|group| group.fmt(f))
    }
}
