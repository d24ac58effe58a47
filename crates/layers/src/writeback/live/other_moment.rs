//! Volumes of one group that are from different moments, as their marks tell: one is older than the first, or the first is
//! older than the others. Nothing that one of them lacks is given up silently.

use fathom_volume::{Action, Error, ErrorKind, Remedy, Result};

use crate::writeback::superblock::OriginSuper;

use super::found_log::Log;
use super::member_marks::OtherMoment;
use super::opening::Opening;

impl Opening {
    /// Volumes that are older than the group's superblock says.
    pub fn older_members(&self, origin: &OriginSuper, older: &[OtherMoment]) -> Error {
        let each = older.iter().map(|OtherMoment { device, mark, entry }| {
            format!(
                "`{device}` is an older copy: it has what was put in place up to write {} and was last opened by incarnation \
                 {}, and write {} and incarnation {} are needed",
                mark.seq, mark.opened, entry.seq, origin.marked
            )
        });
        let why =
            format!("{}. All of its volumes must be from one moment", each.collect::<Vec<_>>().join("; "));
        let remedies = older.iter().map(|OtherMoment { device, .. }| newest(device)).collect();
        self.refuse(ErrorKind::Misuse, "member_older", why, remedies)
    }

    /// The volumes that hold what neither the first volume, with its redo ring in place, nor that log knows of.
    pub fn beyond(&self, origin: &OriginSuper, log: Option<&Log>) -> Vec<OtherMoment> {
        let (incarnation, seq) = log.map_or((0, 0), |log| (log.superblock.incarnation, log.scanned.end.seq));
        self.marks.beyond(origin, incarnation.max(origin.incarnation), seq.max(origin.seq))
    }

    /// Goes on from there only if no volume is beyond that. Where one is, but not beyond the log's end, the log says again
    /// all that the volume has more than the first.
    pub fn check_beyond(&self, origin: &OriginSuper, log: Option<&Log>) -> Result<()> {
        let beyond = self.beyond(origin, log);
        if beyond.is_empty() {
            return Ok(());
        }
        let first = self.parts.ring.name();
        let each = beyond.iter().map(|OtherMoment { device, mark, .. }| {
            format!("`{device}` has write {} in place (incarnation {})", mark.seq, mark.opened)
        });
        let why = format!(
            "`{first}` is an older copy: it stands at write {} (incarnation {}), and {}. To go back to that moment, put {} \
             back to it, too",
            origin.seq,
            origin.incarnation,
            each.collect::<Vec<_>>().join(", "),
            names(&beyond)
        );
        Err(self.refuse(ErrorKind::Misuse, "backing_older", why, vec![newest(first)]))
    }
}

/// The volumes by their names.
pub fn names(found: &[OtherMoment]) -> String {
    found.iter().map(|OtherMoment { device, .. }| format!("`{device}`")).collect::<Vec<_>>().join(", ")
}

fn newest(device: &str) -> Remedy {
    Remedy {
        action: Action::BringBack { device: device.to_owned() },
        text: format!("put the newest state of `{device}` back, which loses nothing"),
        loses: None,
    }
}
