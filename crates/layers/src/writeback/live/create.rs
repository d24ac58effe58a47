//! The superblocks: read, or made on blank devices; what is neither is left alone.

use fathom_units::Bytes;
use fathom_volume::{Error, ErrorKind, Result};

use crate::writeback::codec::Uuid;
use crate::writeback::loss::{Bounds, Loss};
use crate::writeback::redo::Pending;
use crate::writeback::superblock::{
    CACHE_MAGIC, CacheSuper, MemberEntry, MemberMark, ORIGIN_MAGIC, OriginSuper, name_hash,
};

use super::io;
use super::open::{Member, Opening, Parts};
use super::superblocks::{Copies, write};

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
        if found.is_none() && !copies.are_blank() && !self.parts.settings.discard_cache {
            let what = if copies.are_of_another_version(CACHE_MAGIC) {
                "a write-back log of another version of Fathom; open it with that one and stop it as planned"
            } else if copies.are_of(CACHE_MAGIC) {
                "a write-back log whose superblocks are both damaged, and without them its writes cannot be found; if they \
                 cannot be mended, wipe them, and the next start tells what was lost"
            } else {
                "something that is no write-back log; if nobody needs it, wipe it"
            };
            let device = caches[leg].name();
            return Err(self.refuse(
                ErrorKind::Misuse,
                format!("cache device `{device}` holds {what}, or say `discard_cache = true`"),
            ));
        }
        Ok(found)
    }

    /// The superblock on the backing side, and whether it had to be created.
    pub async fn read_origin(&self, caches: &[Option<CacheSuper>]) -> Result<(OriginSuper, bool)> {
        if let Some(found) = self.find_origin().await? {
            return Ok((found, false));
        }
        self.check_blank().await?;
        for (leg, cache) in caches.iter().enumerate() {
            if let Some(cache) = cache.filter(|cache| cache.dirty && !self.parts.settings.discard_cache) {
                return Err(self.refuse(
                    ErrorKind::Misuse,
                    format!(
                        "`{}` is blank, and cache device `{}` holds writes (incarnation {}) that are nowhere else: bring the \
                         volume back to which they belong, or say `discard_cache = true` to lose them",
                        self.parts.ring.name(),
                        self.parts.caches[leg].name(),
                        cache.incarnation
                    ),
                ));
            }
        }
        Ok((self.create().await?, true))
    }

    /// The superblock on the backing side; None where its place is blank.
    pub async fn find_origin(&self) -> Result<Option<OriginSuper>> {
        let Parts { pool, ring, origin_layout, .. } = &self.parts;
        let copies = Copies::read(pool, ring, origin_layout.superblocks).await?;
        if let Some(found) = copies.newest(OriginSuper::decode, |found| found.counter) {
            let fits = (found.start, found.length) == (origin_layout.ring_start, origin_layout.ring_length);
            return if fits { Ok(Some(found)) } else { Err(self.other_ring(&found)) };
        }
        if copies.are_blank() {
            return Ok(None);
        }
        let why = if copies.are_of_another_version(ORIGIN_MAGIC) {
            format!(
                "the superblock on `{}` is of another version of Fathom; open it with that one",
                ring.name()
            )
        } else {
            format!(
                "where its superblock belongs, `{}` holds something else: it was resized, or is in use without a cache. \
                 Give the size it had, or adopt it with a redo ring on a volume of its own (`ring = \"NAME\"`)",
                ring.name()
            )
        };
        Err(self.refuse(ErrorKind::Misuse, why))
    }

    fn other_ring(&self, found: &OriginSuper) -> Error {
        let name = self.parts.ring.name();
        let length = Bytes::new(found.length);
        let why = format!("the redo ring on `{name}` has {length:#}; set `ring_size = \"{length:#}\"`");
        self.refuse(ErrorKind::Misuse, why)
    }

    /// A new group on the tail of a volume must not cover what is there already.
    async fn check_blank(&self) -> Result<()> {
        for member in self.parts.members.iter().filter(|member| member.mark.is_some()) {
            let length = member.size.min(64 << 10);
            let head = self.parts.pool.get(length as usize);
            io::read(&member.backing, 0, &head).await?;
            if head.with(|bytes| bytes.iter().any(|byte| *byte != 0)) {
                return Err(self.refuse(
                    ErrorKind::Misuse,
                    format!(
                        "`{}` holds data and has no superblock of a write-back cache: it was resized, or is in use without \
                         one. Give the size it had, or adopt it with a redo ring on a volume of its own (`ring = \"NAME\"`)",
                        member.backing.name()
                    ),
                ));
            }
        }
        Ok(())
    }

    async fn create(&self) -> Result<OriginSuper> {
        let Parts { context, pool, name, members, ring, origin_layout, .. } = &self.parts;
        let mut uuid: Uuid = [0; 16];
        context.random(&format!("write-back group {name} at {}", context.now())).fill(&mut uuid);
        for member in &members[1..] {
            if let Some(at) = member.mark {
                let mark = MemberMark { uuid, name: name_hash(&member.name) };
                write(pool, &member.backing, at, 0, |bytes| mark.encode(bytes)).await?;
            }
        }
        let entry = |member: &Member| MemberEntry { size: member.size, name: name_hash(&member.name) };
        let created = OriginSuper {
            counter: 0,
            uuid,
            generation: 1,
            owner: 0,
            incarnation: 0,
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
        };
        write(pool, ring, origin_layout.superblocks, 0, |bytes| created.encode(bytes)).await?;
        Ok(created)
    }
}
