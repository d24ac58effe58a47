//! What the verifier found: facts of a group's devices, and findings. Plain data.

use std::fmt;

use fathom_volume::{Error, Refusal};

use super::loss::Loss;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As it should be after what happened; worth knowing.
    Note,
    /// The group cannot be opened, or has lost something.
    Wrong,
}

impl Weight {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Wrong => "wrong",
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub weight: Weight,
    /// What was found, where, and what to do.
    pub what: String,
    /// The same for programs, where an open is refused for it.
    pub refusal: Option<Refusal>,
}

/// What the devices of one group hold. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The group's name in the settings.
    pub group: String,
    /// Whether the backing side has a superblock at all.
    pub created: bool,
    /// Bumped when a loss is accepted.
    pub generation: u64,
    /// The last incarnation there was.
    pub incarnation: u64,
    /// The incarnation that holds writes in its cache; 0 if the backing volumes are complete.
    pub owner: u64,
    /// The backing volumes show every write up to this number when the redo ring is in place.
    pub seq: u64,
    /// Committed batches in the redo ring that an open will put in place again, checked bit by bit.
    pub ring_batches: u64,
    /// Payload of them.
    pub ring_bytes: u64,
    /// Records of the live log, each checked from header to last byte.
    pub log_records: u64,
    /// Writes, trims and zeroes in them.
    pub log_extents: u64,
    /// Bytes of them.
    pub log_bytes: u64,
    /// Number of the last write in the log.
    pub log_seq: u64,
    /// The last loss that was accepted.
    pub last_loss: Option<Loss>,
    /// Everything else.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.weight == Weight::Note)
    }

    pub(super) fn note(&mut self, what: impl fmt::Display) {
        self.findings.push(Finding { weight: Weight::Note, what: what.to_string(), refusal: None });
    }

    pub(super) fn wrong(&mut self, what: impl fmt::Display) {
        self.findings.push(Finding { weight: Weight::Wrong, what: what.to_string(), refusal: None });
    }

    /// An open of these devices is refused.
    pub(super) fn refused(&mut self, error: &Error) {
        let (what, refusal) = (error.to_string(), error.refusal().cloned());
        self.findings.push(Finding { weight: Weight::Wrong, what, refusal });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_sound() { "sound" } else { "NOT sound" };
        writeln!(f, "write-back group `{}`: {verdict}", self.group)?;
        if self.created {
            let Self { generation, incarnation, owner, seq, .. } = self;
            let owner = match owner {
                0 => "owned by none: complete without the cache".to_owned(),
                owner => format!("owned by incarnation {owner}"),
            };
            writeln!(
                f,
                "  backing volumes: {owner}; incarnation {incarnation}, generation {generation}, write {seq}"
            )?;
            writeln!(
                f,
                "  redo ring: {} batches to put in place, {} bytes",
                self.ring_batches, self.ring_bytes
            )?;
            writeln!(
                f,
                "  log: {} records with {} writes, {} bytes, up to write {}",
                self.log_records, self.log_extents, self.log_bytes, self.log_seq
            )?;
        }
        if let Some(loss) = &self.last_loss {
            writeln!(f, "  loss of incarnation {} accepted: {loss}", loss.incarnation)?;
        }
        for Finding { weight, what, .. } in &self.findings {
            writeln!(f, "  {}: {what}", weight.name())?;
        }
        Ok(())
    }
}
