//! What a volume that refuses to open advises, so that a program can carry it out without reading the message.

/// Why a volume refuses to open, and what can be done. Plain data; the error's message says the same for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The case, from a closed list that the layer's documentation holds.
    pub code: &'static str,
    /// Those that lose nothing come first.
    pub remedies: Vec<Remedy>,
}

/// One way out of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// What to do.
    pub action: Action,
    /// The same for people.
    pub text: String,
    /// What it costs; None if nothing is lost.
    pub loses: Option<Loses>,
}

/// What a remedy asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Put the newest state of a device back.
    BringBack {
        /// The volume's name in the settings.
        device: String,
    },
    /// Give a device another size.
    Resize {
        /// The volume's name in the settings.
        device: String,
        /// The size to give it; None where only the owner can know it.
        bytes: Option<u64>,
    },
    /// Make a volume, name it as `ring` and open again: the backing volumes are then used as they are.
    AddRing {
        /// The volumes whose settings change.
        volumes: Vec<String>,
        /// The new volume's size, at least.
        bytes: u64,
        /// Each other key with its value; None removes it.
        keys: Vec<(&'static str, Option<Setting>)>,
    },
    /// Change settings and open again.
    Set {
        /// The volumes whose settings change.
        volumes: Vec<String>,
        /// Each key with its value; None removes it.
        keys: Vec<(&'static str, Option<Setting>)>,
    },
}

/// The value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// A number.
    Count(u64),
    /// `true` or `false`.
    Flag(bool),
    /// A size in bytes.
    Bytes(u64),
}

/// What a remedy costs. None where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loses {
    /// Answered writes, at least.
    pub least_writes: Option<u64>,
    /// Bytes of the log, at least.
    pub least_bytes: Option<u64>,
    /// Answered writes, at most.
    pub most_writes: Option<u64>,
    /// Bytes of the log, at most.
    pub most_bytes: Option<u64>,
    /// Whether the volumes are of one moment afterwards.
    pub moment: Moment,
}

/// Whether volumes show what they held at one moment. If not, databases on them have to be restored from a backup, or checked as
/// after a torn write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Moment {
    /// They do.
    #[default]
    One,
    /// They do if all of the group were put back to the moment that the remedy names.
    OneIfRestored,
    /// They may hold parts of writes that came later.
    Torn,
}
