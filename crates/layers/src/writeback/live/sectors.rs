//! Backing volumes whose sectors have become larger than the writes that the log or the redo ring still holds: another device
//! took their place, or a mirror below got a leg of such sectors. What is held could neither be read beside them nor be put
//! in place.

use fathom_volume::{Action, Error, ErrorKind, Remedy, Result};

use crate::writeback::record::{Extent, SECTOR};

use super::found_log::Chosen;
use super::opening::{Member, Opening};

impl Opening {
    /// Whether the backing volumes take what an open would go on from.
    pub fn check_log_sectors(&self, chosen: Option<&Chosen>) -> Result<()> {
        let Some(Chosen { log, .. }) = chosen else { return Ok(()) };
        let place = format!("the log on `{}`", self.parts.caches[log.leg].name());
        log.scanned.records.iter().try_for_each(|record| self.check_sectors(&record.extents, &place))
    }

    /// Whether they take these writes, which are held there.
    pub fn check_sectors(&self, extents: &[Extent], place: &str) -> Result<()> {
        let misfit = extents.iter().find_map(|extent| {
            let member = self.parts.members.get(usize::from(extent.volume))?;
            let sector = u64::from(member.backing.geometry().logical_sector);
            let fits = extent.offset.is_multiple_of(sector) && extent.length.is_multiple_of(sector);
            (!fits).then_some((member, extent))
        });
        misfit.map_or(Ok(()), |(member, extent)| Err(self.larger_sectors(member, extent, place)))
    }

    fn larger_sectors(&self, member: &Member, extent: &Extent, place: &str) -> Error {
        let (device, sector) = (member.backing.name(), member.backing.geometry().logical_sector);
        let Extent { offset, length, .. } = extent;
        let why = format!(
            "`{device}` has sectors of {sector} bytes now, and {place} holds writes of smaller ones, as one of {length} bytes at offset \
             {offset} of `{}`: they could be neither read nor put in place. Nothing is lost",
            member.name
        );
        let text = format!(
            "bring `{device}` back with sectors of {SECTOR} bytes (below a mirror: its leg that had them; a volume of kind `sector` \
             makes them of larger ones), drain and stop the group (`fathom volume drain --stop`), and replace the device then"
        );
        let remedy = Remedy { action: Action::BringBack { device: device.to_owned() }, text, loses: None };
        self.refuse(ErrorKind::Misuse, "backing_sectors", why, vec![remedy])
    }
}
