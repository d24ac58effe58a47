//! What an open refuses, each with its remedy. A refusal comes before anything is written.

use fathom_units::Bytes;
use fathom_volume::{Action, Error, ErrorKind, Loses, Remedy, Result, Setting};

use crate::writeback::layout::size_that_shows;
use crate::writeback::superblock::{CacheSuper, MemberEntry, OriginSuper, name_hash};

use super::opening::{Member, Opening};
use super::superblocks::Instead;

impl Opening {
    /// The volumes must be those that the group was made of.
    pub fn check_members(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Result<()> {
        let (mut wrong, mut remedies, mut shrunk) = (Vec::new(), Vec::new(), false);
        for member in &self.parts.members {
            let hash = name_hash(&member.name);
            match origin.members.iter().find(|entry| entry.name == hash) {
                None => wrong.push(format!("`{}` is none of them", member.name)),
                Some(MemberEntry { size, .. }) if *size != member.size => {
                    wrong.push(format!(
                        "`{}` showed {:#} and would show {:#}: `{}` was resized",
                        member.name,
                        Bytes::new(*size),
                        Bytes::new(member.size),
                        member.backing.name()
                    ));
                    shrunk |= member.size < *size;
                    remedies.push(self.sizes_again(member, *size));
                }
                Some(_) => {}
            }
        }
        let named = |entry: &&MemberEntry| {
            !self.parts.members.iter().any(|member| name_hash(&member.name) == entry.name)
        };
        let missing: Vec<String> = origin
            .members
            .iter()
            .filter(named)
            .map(|entry| format!("one that showed {:#}", Bytes::new(entry.size)))
            .collect();
        if !missing.is_empty() {
            wrong.push(format!("{} of them not named: {}", missing.len(), missing.join(", ")));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let names_differ = wrong.len() > remedies.len();
        let why = format!("it was made of {} volumes: {}", origin.members.len(), wrong.join("; "));
        let is_at_rest = origin.owner == 0 && caches.iter().flatten().all(|cache| !cache.dirty);
        if !shrunk && is_at_rest {
            // After a planned stop the volumes are complete without log and ring: they may be those of another group.
            let keys = vec![("discard_cache", Some(Setting::Flag(true)))];
            remedies.push(self.add_ring(keys, "use the volumes as they are now".to_owned(), None));
        }
        Err(self.other_volumes(&why, remedies, names_differ))
    }

    /// A volume that was resized: it is used as it was, or given the size it had.
    fn sizes_again(&self, member: &Member, showed: u64) -> Remedy {
        let had = match member.mark {
            None => Some(showed),
            Some(_) => size_that_shows(showed, self.parts.settings.ring_size),
        };
        let device = member.backing.name().to_owned();
        had.map_or_else(
            || Remedy {
                text: format!("give `{device}` the size it had"),
                action: Action::Resize { device, bytes: None },
                loses: None,
            },
            |had| self.as_large_again(member, had),
        )
    }

    /// Each volume but the first carries the group's mark on its tail, from the moment of the first or later. Where a cache
    /// goes with the mark, it is the first that does not belong here.
    pub async fn check_marks(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Result<()> {
        for (index, member) in self.parts.members.iter().enumerate() {
            if let Err(found) = self.marks.read(index, origin.uuid).await? {
                let uuid = found.map(|found| found.uuid).filter(|uuid| *uuid != origin.uuid);
                let is_known =
                    uuid.is_some_and(|uuid| caches.iter().flatten().any(|cache| cache.uuid == uuid));
                let odd = if is_known { &self.parts.ring } else { &member.backing };
                let device = odd.name().to_owned();
                let own = found.filter(|found| found.uuid == origin.uuid);
                let (why, text) = match own {
                    Some(mark) => (
                        format!("`{device}`, the backing volume of `{}`, was that of {}", member.name, self.name_of(&mark)),
                        "undo the renaming or swap: give each volume of the group the name and the backing volume that it had; \
                         nothing is lost"
                            .to_owned(),
                    ),
                    None => (
                        format!("`{device}`, the backing volume of `{}`, is not the volume it was made of", member.name),
                        format!("give the right one as `{device}`"),
                    ),
                };
                let remedy = Remedy { action: Action::BringBack { device }, text, loses: None };
                return Err(self.refuse(ErrorKind::Misuse, "other_volumes", why, vec![remedy]));
            }
        }
        let apart = self.marks.of_copies(origin);
        if !apart.is_empty() {
            return Err(self.other_copies(origin, &apart, caches));
        }
        let older = self.marks.older(origin);
        if older.is_empty() { Ok(()) } else { Err(self.older_members(origin, &older)) }
    }

    /// What is on the cache devices that somebody else may miss, or may be somebody's.
    pub fn in_the_way(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Option<Error> {
        let discards = self.parts.settings.discard_cache;
        let is_foreign = |cache: &CacheSuper| cache.uuid != origin.uuid || self.is_of_a_copy(origin, cache);
        caches.iter().enumerate().find_map(|(leg, cache)| match cache {
            Some(cache) if cache.dirty && is_foreign(cache) && !discards => {
                Some(self.foreign_cache(leg, cache, origin))
            }
            Some(_) => None,
            None => self.check_known(leg).err(),
        })
    }

    /// A cache device whose superblocks cannot be read may belong to anybody.
    pub fn check_known(&self, leg: usize) -> Result<()> {
        let what = match self.instead(leg) {
            _ if self.parts.settings.discard_cache => return Ok(()),
            Instead::Nothing | Instead::OwnLog => return Ok(()),
            Instead::One | Instead::Both => {
                "a write-back log whose superblocks are damaged, and nothing tells whose it is"
            }
            Instead::Other => "something that is no write-back log",
        };
        Err(self.unknown_cache(leg, what))
    }

    /// The backing volumes are complete: the cache device may be used if it holds nothing that is nowhere else.
    pub fn check_free(&self, leg: usize, origin: &OriginSuper, cache: Option<&CacheSuper>) -> Result<()> {
        let Some(cache) = cache else {
            // One copy alone is what an open leaves that was cut off before the group ever had a log.
            return if self.instead(leg) == Instead::One { Ok(()) } else { self.check_known(leg) };
        };
        if !cache.dirty || self.parts.settings.discard_cache {
            return Ok(());
        }
        if cache.uuid != origin.uuid {
            return Err(self.foreign_cache(leg, cache, origin));
        }
        if self.is_of_a_copy(origin, cache) {
            return Err(self.foreign_cache(leg, cache, origin));
        }
        if cache.generation != origin.generation {
            let why = format!(
                "cache device `{}` holds writes from before their loss was accepted",
                self.parts.caches[leg].name()
            );
            let device = self.parts.caches[leg].name().to_owned();
            let text = "name the cache device that the group used last, or a blank one".to_owned();
            let other = Remedy { action: Action::BringBack { device }, text, loses: None };
            let discard = self.discard("them for good and start over on the device", Loses::default());
            return Err(self.refuse(ErrorKind::Misuse, "cache_given_up", why, vec![other, discard]));
        }
        Ok(())
    }
}
