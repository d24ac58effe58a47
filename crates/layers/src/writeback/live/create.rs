//! The superblocks: read, or made on blank devices; what is neither is left alone.

use fathom_units::Bytes;
use fathom_volume::{Action, Error, ErrorKind, Remedy, Result, Setting};

use crate::codec::{BLOCK, Uuid};
use crate::head::{Look, first_use};
use crate::writeback::Settings;
use crate::writeback::loss::{Bounds, Loss};
use crate::writeback::redo::Pending;
use crate::writeback::superblock::{
    CACHE_MAGIC, CacheSuper, MEMBER_MAGIC, MemberEntry, MemberMark, ORIGIN_MAGIC, OriginSuper, name_hash,
};

use super::opening::{Member, Opening, Parts};
use super::superblocks::{Copies, Instead, write};

/// Where the end of a volume that grew is looked for.
const PARTS: u128 = 60;

impl Opening {
    /// The superblock of each cache device; None if it is blank, or failed. One of two may have failed.
    pub async fn read_caches(&self) -> Result<Vec<Option<CacheSuper>>> {
        let mut found = Vec::new();
        for leg in 0..self.parts.caches.len() {
            found.push(if self.has_failed(leg) {
                None
            } else {
                match self.read_cache(leg).await {
                    Err(error) if error.kind() != ErrorKind::Misuse => {
                        self.leg_fails(leg, error)?;
                        None
                    }
                    answer => answer?,
                }
            });
        }
        Ok(found)
    }

    async fn read_cache(&self, leg: usize) -> Result<Option<CacheSuper>> {
        let Parts { pool, caches, cache_layout, .. } = &self.parts;
        let copies = Copies::read(pool, &caches[leg], cache_layout.superblocks).await?;
        let found = copies.newest(CacheSuper::decode, |found| found.counter);
        if found.is_some() {
            return Ok(found);
        }
        if copies.are_of_another_version(CACHE_MAGIC) && !self.parts.settings.discard_cache {
            let what =
                "a write-back log of another version of Fathom; open it with that one and stop it as planned";
            return Err(self.unknown_cache(leg, what));
        }
        // Whether a log can be found without them is seen when the backing side has said where it stands.
        let instead = match copies.instead(CACHE_MAGIC) {
            // A simulated device holds what its run wrote; a run without payload takes the same times as one with.
            Instead::Nothing if self.parts.context.is_virtual() => Instead::Nothing,
            Instead::Nothing => {
                let size = caches[leg].geometry().size;
                let used = first_use(pool, &caches[leg], size, Look::Closely, None).await?;
                used.map_or(Instead::Nothing, |_| Instead::Other)
            }
            found => found,
        };
        self.set_instead(leg, instead);
        Ok(None)
    }

    /// Whether a group may be made where no superblock is found: nothing of another one may be there.
    pub async fn check_unused(&self, caches: &[Option<CacheSuper>]) -> Result<()> {
        // A simulated group is made by its own run, on blank devices.
        if !self.parts.context.is_virtual() || caches.iter().any(Option::is_some) {
            self.check_ring_added(caches).await?;
            self.check_renamed(None).await?;
        }
        let unused = match self.check_grown().await {
            Ok(()) => self.check_blank().await,
            Err(error) => Err(error),
        };
        let found = if unused.is_ok() {
            "is blank where it was looked at"
        } else {
            "shows no superblock of the group"
        };
        self.holds_nothing(caches, found, unused.is_ok()).await?;
        unused
    }

    /// No cache device may hold what belongs to backing volumes that are not found, or know that these had writes: the
    /// volume that is here is another one, or has its parts in another order. `unused`: a group can be made on them without
    /// a ring of its own.
    async fn holds_nothing(&self, caches: &[Option<CacheSuper>], found: &str, unused: bool) -> Result<()> {
        let resized = |cache: &CacheSuper| ![0, self.ring_volume()].contains(&cache.ring_volume);
        let unplaced = unplaced(caches);
        let is_given_up = unplaced.is_none() || self.gives_up(caches).is_some();
        for (leg, cache) in caches.iter().enumerate() {
            let cache = cache.filter(|_| !(self.parts.settings.discard_cache && is_given_up));
            let counts = |cache: &CacheSuper| cache.dirty || resized(cache) || cache.seq > 1;
            if let Some(mut cache) = cache.filter(counts) {
                let ended = resized(&cache) && self.ended_at(cache.ring_volume).await?;
                if let Some((_, newest)) = unplaced.filter(|_| cache.dirty) {
                    cache.incarnation = newest.incarnation;
                }
                return Err(self.no_superblock(leg, &cache, found, unused && !resized(&cache), ended));
            }
            self.check_known(leg)?;
        }
        Ok(())
    }

    /// The log, and its device, that is given up where its backing side is not found: only who names its incarnation gives it up. That
    /// the cache device may be overwritten says nothing of a log that nobody missed.
    fn gives_up(&self, caches: &[Option<CacheSuper>]) -> Option<(usize, CacheSuper)> {
        let Settings { accept_loss, discard_cache, .. } = self.parts.settings;
        unplaced(caches).filter(|(_, newest)| discard_cache && accept_loss == Some(newest.incarnation))
    }

    /// What is lost with that log, as far as it can still be read. A batch of it may be in place in part, and its copy is gone with the
    /// redo ring.
    pub async fn given_up(&self, caches: &[Option<CacheSuper>]) -> Option<Loss> {
        let (leg, newest) = self.gives_up(caches)?;
        let end = self.scan_log(leg, newest, false).await.map_or(0, |log| log.scanned.end.seq.max(log.known));
        let (incarnation, seq, last) = (newest.incarnation, newest.seq - 1, end.max(newest.flushed_seq));
        let writes = newest.flushed_seq.saturating_sub(seq);
        Some(Loss { incarnation, seq, writes, parts_up_to: (last > seq).then_some(last), ..Loss::default() })
    }

    /// Whether the superblocks of a group lie where the redo ring's volume would end with so many bytes.
    async fn ended_at(&self, bytes: u64) -> Result<bool> {
        let Parts { pool, ring, .. } = &self.parts;
        let block = BLOCK as u64;
        let Some(at) = bytes.checked_sub(2 * block).filter(|_| bytes <= ring.geometry().size) else {
            return Ok(false);
        };
        let is_there = |copies: Copies| copies.newest(OriginSuper::decode, |found| found.counter).is_some();
        Ok(bytes.is_multiple_of(block) && is_there(Copies::read(pool, ring, [at, at + block]).await?))
    }

    /// The superblock on the backing side; None where its place is blank.
    pub async fn find_origin(&self, caches: &[Option<CacheSuper>]) -> Result<Option<OriginSuper>> {
        let Parts { pool, ring, origin_layout, .. } = &self.parts;
        let copies = Copies::read(pool, ring, origin_layout.superblocks).await?;
        if let Some(found) = copies.newest(OriginSuper::decode, |found| found.counter) {
            let fits = (found.start, found.length) == (origin_layout.ring_start, origin_layout.ring_length);
            return if fits { Ok(Some(found)) } else { Err(self.other_ring(&found)) };
        }
        if copies.are_blank() {
            return Ok(None);
        }
        let device = ring.name().to_owned();
        if copies.are_of_another_version(ORIGIN_MAGIC) {
            let why = format!(
                "the superblock on `{device}` is of another version of Fathom; open it with that one"
            );
            return Err(self.refuse(ErrorKind::Misuse, "backing_version", why, Vec::new()));
        }
        self.check_renamed(copies.newest(MemberMark::decode, |mark| mark.counter)).await?;
        self.holds_nothing(caches, "holds something else where its superblock belongs", false).await?;
        let why = format!(
            "where its superblock belongs, `{device}` holds something else: it was resized, or is in use without a cache"
        );
        Err(self.refuse(ErrorKind::Misuse, "backing_unknown", why, self.adopt(device)))
    }

    /// Ways out where a volume was resized or never had a cache.
    fn adopt(&self, device: String) -> Vec<Remedy> {
        let text = format!("give `{device}` the size it had, if it was resized");
        let adopt = self.add_ring(
            Vec::new(),
            format!("adopt `{device}` if it never had a cache: nothing on it is touched"),
            None,
        );
        vec![Remedy { action: Action::Resize { device, bytes: None }, text, loses: None }, adopt]
    }

    fn other_ring(&self, found: &OriginSuper) -> Error {
        let name = self.parts.ring.name();
        let length = Bytes::new(found.length);
        if self.parts.members.iter().all(|member| member.mark.is_none()) {
            let why = format!("the redo ring on `{name}` has {length:#}, and would have another size");
            let bytes = found.start + found.length;
            let remedy = Remedy {
                action: Action::Resize { device: name.to_owned(), bytes: Some(bytes) },
                text: format!("give `{name}` the {:#} that it had", Bytes::new(bytes)),
                loses: None,
            };
            return self.refuse(ErrorKind::Misuse, "ring_size", why, vec![remedy]);
        }
        let had = found.start + found.length + 2 * BLOCK as u64;
        if had != self.ring_volume() {
            let why = format!(
                "`{name}` carries the superblocks of a volume of {:#} and has {:#}: it was resized",
                Bytes::new(had),
                Bytes::new(self.ring_volume())
            );
            let remedy = self.as_large_again(&self.parts.members[0], had);
            return self.refuse(ErrorKind::Misuse, "backing_resized", why, vec![remedy]);
        }
        let why = format!("the redo ring on `{name}` has {length:#}, and would have another size");
        let text = format!("set `ring_size = \"{length:#}\"`");
        let remedy = self.set(vec![("ring_size", Some(Setting::Bytes(found.length)))], text, None);
        self.refuse(ErrorKind::Misuse, "ring_size", why, vec![remedy])
    }

    /// A volume that had so many bytes: that much of it is used, or it gets them back.
    pub fn as_large_again(&self, member: &Member, had: u64) -> Remedy {
        let (device, size) = (member.backing.name().to_owned(), Bytes::new(had));
        let has = member.backing.geometry().size;
        if had > has {
            let text = format!("give `{device}` the {size:#} that it had");
            return Remedy { action: Action::Resize { device, bytes: Some(had) }, text, loses: None };
        }
        let (value, text) = if had == has {
            (None, format!("leave `backing_size` out for `{}`, so that it is used as it was", member.name))
        } else {
            let text = format!(
                "set `backing_size = \"{size:#}\"` for `{}`, so that it is used as it was",
                member.name
            );
            (Some(Setting::Bytes(had)), text)
        };
        let action = Action::Set { volumes: vec![member.name.clone()], keys: vec![("backing_size", value)] };
        Remedy { action, text, loses: None }
    }

    /// A new group on the tail of a volume must not cover what is there already, nor on a ring of its own.
    async fn check_blank(&self) -> Result<()> {
        let Parts { context, pool, ring, members, .. } = &self.parts;
        let look = if context.is_virtual() { Look::Simulated } else { Look::Closely };
        for member in members {
            // What a creation that was cut off left in the place of the superblocks says nothing of a use.
            let Some([first, _]) = member.mark else { continue };
            if let Some(at) = first_use(pool, &member.backing, first, look, None).await? {
                let device = member.backing.name().to_owned();
                let why = format!(
                    "`{device}` holds data at byte {at} and has no superblock of a write-back cache: it was resized, or is in use \
                     without one"
                );
                return Err(self.refuse(ErrorKind::Misuse, "backing_in_use", why, self.adopt(device)));
            }
        }
        let own = members.iter().all(|member| member.mark.is_none()) && !context.is_virtual();
        let used = if own { first_use(pool, ring, ring.geometry().size, look, None).await? } else { None };
        if let Some(at) = used {
            let device = ring.name().to_owned();
            let why = format!("`{device}`, named as `ring`, holds data at byte {at} and no redo ring");
            let text = format!(
                "name the volume that was the `ring`, or a blank one; nothing on `{device}` was touched"
            );
            let remedy = Remedy { action: Action::BringBack { device }, text, loses: None };
            return Err(self.refuse(ErrorKind::Misuse, "ring_in_use", why, vec![remedy]));
        }
        Ok(())
    }

    /// A volume that grew has its superblocks where it ended. Where that was is not known without its cache: the usual
    /// parts are looked at, which are a half, two thirds and all other sixtieths.
    async fn check_grown(&self) -> Result<()> {
        let block = BLOCK as u64;
        for member in &self.parts.members {
            let Some([first, last]) = member.mark else { continue };
            let size = u128::from(last + block);
            for part in 1..PARTS {
                let end = (size * part / PARTS) as u64 / block * block;
                // What a creation that was cut off left in the volume's own place says nothing of another size.
                let Some(at) = end.checked_sub(2 * block).filter(|at| at + block < first) else { continue };
                let copies = Copies::read(&self.parts.pool, &member.backing, [at, at + block]).await?;
                if copies.are_of(ORIGIN_MAGIC) || copies.are_of(MEMBER_MAGIC) {
                    let why = format!(
                        "`{}` carries the superblocks of a write-back cache where a volume of {:#} ends: it was resized",
                        member.backing.name(),
                        Bytes::new(end)
                    );
                    return Err(self.refuse(
                        ErrorKind::Misuse,
                        "backing_in_use",
                        why,
                        vec![self.as_large_again(member, end)],
                    ));
                }
            }
        }
        Ok(())
    }

    /// Makes the group. Its incarnations follow those of a log that was given up: what accepts the loss of one of these must not
    /// accept that of a later one.
    pub async fn create(&self, caches: &[Option<CacheSuper>]) -> Result<OriginSuper> {
        let Parts { context, pool, name, members, ring, origin_layout, .. } = &self.parts;
        let mut uuid: Uuid = [0; 16];
        context.random(&format!("write-back group {name} at {}", context.now())).fill(&mut uuid);
        self.marks.create(uuid).await?;
        let entry = |member: &Member| MemberEntry {
            size: member.size,
            name: name_hash(&member.name),
            seq: 0,
            life: 0,
        };
        let created = OriginSuper {
            counter: 0,
            uuid,
            generation: 1,
            owner: 0,
            incarnation: self.gives_up(caches).map_or(0, |(_, log)| log.incarnation),
            start: origin_layout.ring_start,
            length: origin_layout.ring_length,
            position: 0,
            batch: 1,
            previous: 0,
            seq: 0,
            epoch: 0,
            pending: Pending::default(),
            bounds: Bounds::default(),
            loss: Loss::default(),
            legs: [0; 2],
            members: members.iter().map(entry).collect(),
            flushed_seq: 0,
            log_end: 0,
            log_crc: 0,
            log_base: 0,
            marked: 0,
            life: 0,
            samples: Vec::new(),
        };
        write(pool, ring, origin_layout.superblocks, 0, |bytes| created.encode(bytes)).await?;
        Ok(created)
    }
}

/// The newest superblock of a log that may hold what the backing volumes have not, and its device.
fn unplaced(caches: &[Option<CacheSuper>]) -> Option<(usize, CacheSuper)> {
    let found = caches.iter().enumerate().filter_map(|(leg, cache)| Some((leg, (*cache)?)));
    found.filter(|(_, cache)| cache.dirty).max_by_key(|(_, cache)| cache.incarnation)
}
