//! A group's superblock that is not where the settings say, but on another of its volumes: a `ring` was added to a group that has
//! its redo ring on a volume's tail, or volumes were renamed, swapped or added, for the first by name carries it. To undo that
//! loses nothing.

use fathom_volume::{Action, Error, ErrorKind, Handle, Remedy, Result};

use crate::codec::{BLOCK, Uuid};
use crate::writeback::superblock::{CacheSuper, MemberMark, OriginSuper, name_hash};

use super::opening::Opening;
use super::superblocks::{Copies, write};

impl Opening {
    /// Refuses a new ring beside a volume that has one on its tail, with what the group committed there. After a planned stop the
    /// move is made on purpose; before it the log is not what the settings allow to overwrite.
    pub async fn check_ring_added(&self, caches: &[Option<CacheSuper>]) -> Result<()> {
        let settings = &self.parts.settings;
        if self.parts.members.iter().any(|member| member.mark.is_some()) {
            return Ok(());
        }
        for member in &self.parts.members {
            let Some(found) = self.origin_at(&member.backing, at_the_end(&member.backing)).await? else {
                continue;
            };
            let own = || caches.iter().flatten().filter(|cache| cache.uuid == found.uuid);
            let holds = found.owner != 0 || own().any(|cache| cache.dirty);
            if !holds && (settings.discard_cache || own().next().is_none()) {
                continue;
            }
            let (ring, device) = (self.parts.ring.name(), member.backing.name());
            let (mut keys, mut text) =
                (vec![("ring", None)], "take `ring` out of the settings again".to_owned());
            if settings.discard_cache {
                keys.push(("discard_cache", None));
                text = "take `ring` and `discard_cache` out of the settings again".to_owned();
            }
            let remedy = self.set(keys, text, None);
            let until = if holds {
                format!(
                    ", and its log holds writes that `{device}` has not got: neither a kill nor `at_stop = \"keep\"` nor an end with \
                     exit code 4 puts them in place"
                )
            } else {
                String::new()
            };
            let why = format!(
                "`ring` was added: superblocks and redo ring of the group are on the tail of `{device}`, and `{ring}` has \
                 none{until}. To have them on `{ring}` in future, drain and stop the group without `ring` (`fathom volume drain \
                 --stop`), then set `ring` and `discard_cache = true` for one start: `{device}` is complete then"
            );
            return Err(self.refuse(ErrorKind::Misuse, "ring_added", why, vec![remedy]));
        }
        Ok(())
    }

    /// Clears the superblocks that this group had on a volume's tail before its redo ring moved to one of its own. They
    /// would say that the volume ends before them, and the tail is the users' now.
    pub async fn retire_tails(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Result<()> {
        // Its log is still there under the old name. A group that lies on this volume has one of its own.
        let others = caches.iter().flatten().map(|cache| cache.uuid).filter(|uuid| *uuid != origin.uuid);
        let old: Vec<Uuid> = others.collect();
        if old.is_empty() || self.parts.members.iter().any(|member| member.mark.is_some()) {
            return Ok(());
        }
        for member in &self.parts.members {
            let at = at_the_end(&member.backing);
            if self.origin_at(&member.backing, at).await?.is_some_and(|found| old.contains(&found.uuid)) {
                for copy in 0..at.len() as u64 {
                    write(&self.parts.pool, &member.backing, at, copy, |block| block.fill(0)).await?;
                }
            }
        }
        Ok(())
    }

    /// Refuses volumes of which another one than the first carries the group's superblock, or the first a later one's mark, which
    /// was found in the superblock's place.
    pub async fn check_renamed(&self, found: Option<MemberMark>) -> Result<()> {
        let Some(first) = self.parts.members.first() else { return Ok(()) };
        let discards = self.parts.settings.discard_cache;
        let mut carrier = None;
        for member in self.parts.members.iter().skip(1) {
            let Some(at) = member.mark else { continue };
            // What a creation that was cut off left behind nobody ever opened.
            let counts = |found: &OriginSuper| found.incarnation > 0 && !(discards && found.owner == 0);
            if self.origin_at(&member.backing, at).await?.as_ref().is_some_and(counts) {
                carrier = Some(member);
                break;
            }
        }
        let mark = found.filter(|mark| mark.opened > 0 && !discards);
        let why = match (carrier, mark) {
            (Some(carrier), _) => format!(
                "the group's superblock is on `{}`, which is the backing volume of `{}` and was that of the group's first volume \
                 by name; now `{}` is first",
                carrier.backing.name(),
                carrier.name,
                first.name
            ),
            (None, Some(mark)) => format!(
                "`{}` carries the mark of {}, and now is the backing volume of the group's first volume by name, `{}`; the \
                 volume that was first is not named",
                first.backing.name(),
                self.name_of(&mark),
                first.name
            ),
            (None, None) => return Ok(()),
        };
        let why = format!("{why}: volumes were renamed, swapped, added or left out");
        let text = "undo that: give each volume of the group the name and the backing volume that it had, and name all of them; \
                    nothing is lost"
            .to_owned();
        let device = carrier.unwrap_or(first).backing.name().to_owned();
        let remedy = Remedy { action: Action::BringBack { device }, text, loses: None };
        Err(self.refuse(ErrorKind::Misuse, "volumes_renamed", why, vec![remedy]))
    }

    /// What a mark says of its volume, by the names that the group has now.
    pub fn name_of(&self, mark: &MemberMark) -> String {
        let named = self.parts.members.iter().find(|member| name_hash(&member.name) == mark.name);
        named.map_or_else(
            || "a volume of another name".to_owned(),
            |member| format!("the volume `{}`", member.name),
        )
    }

    async fn origin_at(&self, volume: &Handle, at: [u64; 2]) -> Result<Option<OriginSuper>> {
        let copies = Copies::read(&self.parts.pool, volume, at).await?;
        Ok(copies.newest(OriginSuper::decode, |found| found.counter))
    }

    /// What the group is made of, where the settings name others: those that are not named are known by their sizes only.
    pub fn other_volumes(&self, why: &str, mut remedies: Vec<Remedy>, names_differ: bool) -> Error {
        if names_differ {
            let named: Vec<String> =
                self.parts.members.iter().map(|member| format!("`{}`", member.name)).collect();
            let text = format!(
                "name exactly the volumes that the group was made of, with the names that they had then (now: {}); nothing is lost",
                named.join(", ")
            );
            let device = self.parts.ring.name().to_owned();
            remedies.insert(0, Remedy { action: Action::BringBack { device }, text, loses: None });
        }
        self.refuse(ErrorKind::Misuse, "other_volumes", why, remedies)
    }
}

/// Where a volume has its superblocks if they are on its tail.
pub fn at_the_end(volume: &Handle) -> [u64; 2] {
    let block = BLOCK as u64;
    let end = volume.geometry().size / block * block;
    [end.saturating_sub(2 * block), end.saturating_sub(block)]
}
