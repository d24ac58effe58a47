//! What an open refuses, each with its remedy. A refusal comes before anything is written.

use fathom_units::Bytes;
use fathom_volume::{Error, ErrorKind, Result};

use crate::writeback::loss::Loss;
use crate::writeback::mutation::{Mutation, mutated};
use crate::writeback::superblock::{CacheSuper, MemberEntry, MemberMark, OriginSuper, name_hash};

use super::open::{Opening, Parts};
use super::scan::{Scanned, scan};
use super::state::Point;
use super::superblocks::Copies;

/// Why the owner's log cannot be had.
pub enum NoLog {
    /// It is lost: to go on without it must be said.
    Lost(String),
    /// It is there and the settings or a device stand in the way: mend those.
    InTheWay(Error),
}

/// The log that an open goes on with.
pub struct Chosen {
    /// The cache device it was read from.
    pub leg: usize,
    /// What it holds.
    pub scanned: Scanned,
    /// Up to where each device holds the same, from where it begins; None if it holds another log, or none.
    pub same: Vec<Option<Point>>,
    /// Why the others do not.
    pub lost: Vec<String>,
}

impl Chosen {
    /// Whether a device holds all of the log.
    pub fn has_all(&self, leg: usize) -> bool {
        self.same[leg].is_some_and(|same| same.end == self.scanned.end.end)
    }
}

impl From<Error> for NoLog {
    fn from(error: Error) -> Self {
        Self::InTheWay(error)
    }
}

impl Opening {
    pub fn refuse(&self, kind: ErrorKind, why: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("group `{}`: {why}", self.parts.name))
    }

    /// The volumes must be those that the group was made of.
    pub fn check_members(&self, origin: &OriginSuper) -> Result<()> {
        let mut wrong = Vec::new();
        for member in &self.parts.members {
            let hash = name_hash(&member.name);
            match origin.members.iter().find(|entry| entry.name == hash) {
                None => wrong.push(format!("`{}` is none of them", member.name)),
                Some(MemberEntry { size, .. }) if *size != member.size => wrong.push(format!(
                    "`{}` showed {:#} and would show {:#}: give `{}` the size it had",
                    member.name,
                    Bytes::new(*size),
                    Bytes::new(member.size),
                    member.backing.name()
                )),
                Some(_) => {}
            }
        }
        let named = |entry: &&MemberEntry| {
            !self.parts.members.iter().any(|member| name_hash(&member.name) == entry.name)
        };
        let missing = origin.members.iter().filter(named).count();
        if missing > 0 {
            wrong.push(format!("{missing} of them are not named"));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let count = origin.members.len();
        let why = format!("it was made of {count} volumes: {}; open exactly those", wrong.join(", "));
        Err(self.refuse(ErrorKind::Misuse, why))
    }

    /// Each volume but the first carries the group's mark on its tail.
    pub async fn check_marks(&self, origin: &OriginSuper) -> Result<()> {
        for member in &self.parts.members[1..] {
            let Some(at) = member.mark else { continue };
            let copies = Copies::read(&self.parts.pool, &member.backing, at).await?;
            let found = copies.newest(MemberMark::decode, |_| 0);
            let expected = MemberMark { uuid: origin.uuid, name: name_hash(&member.name) };
            if found != Some(expected) && !self.parts.pool.is_hollow() {
                let why = format!(
                    "`{}` is not the volume it was made of; give the right one",
                    member.backing.name()
                );
                return Err(self.refuse(ErrorKind::Misuse, why));
            }
        }
        Ok(())
    }

    /// The log of the incarnation that owns the backing volumes, which will stand at `origin` when the redo ring is in
    /// place: the longest of those on devices that count, and what each device is good for beside it.
    pub async fn owners_log(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
    ) -> std::result::Result<Chosen, NoLog> {
        let (mut logs, mut lost) = (Vec::new(), Vec::new());
        for (leg, cache) in caches.iter().enumerate() {
            logs.push(match self.log_of(leg, origin, cache.as_ref()).await {
                Ok(found) => Some(found),
                Err(NoLog::Lost(why)) => {
                    lost.push(why);
                    None
                }
                Err(NoLog::InTheWay(error)) if error.kind() == ErrorKind::Misuse => {
                    return Err(NoLog::InTheWay(error));
                }
                Err(NoLog::InTheWay(error)) => {
                    self.leg_fails(leg, error.clone())?;
                    lost.push(error.to_string());
                    None
                }
            });
        }
        let ends: Vec<Option<Point>> = logs.iter().map(|log| log.as_ref().map(|log| log.end)).collect();
        let best = (0..ends.len())
            .filter(|leg| ends[*leg].is_some())
            .max_by_key(|leg| ends[*leg].map(|end| end.seq));
        let Some(best) = best else { return Err(NoLog::Lost(lost.join("; "))) };
        for (leg, cache) in caches.iter().enumerate() {
            if let Some(cache) = cache.filter(|cache| self.holds_others_writes(origin, Some(cache))) {
                return Err(NoLog::InTheWay(self.foreign_cache(leg, &cache)));
            }
        }
        // Records are chained: those that end alike are alike, and one that ends within another is its beginning.
        let scanned = logs.swap_remove(best).expect("it has a log");
        let within = |end: &Point| {
            let mut points = scanned.records.iter().map(|record| Point::after(record)).chain([scanned.end]);
            points.any(|point| (point.end, point.crc) == (end.end, end.crc))
        };
        let same = ends.into_iter().map(|end| end.filter(within)).collect();
        Ok(Chosen { leg: best, scanned, same, lost })
    }

    async fn log_of(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: Option<&CacheSuper>,
    ) -> std::result::Result<Scanned, NoLog> {
        let cache = self.owners_cache(leg, origin, cache)?;
        let Parts { pool, caches, context, .. } = &self.parts;
        let found = match scan(pool, &caches[leg], cache, context.now()).await {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::Corrupt => return Err(NoLog::Lost(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        self.check_contiguous(leg, origin, cache, &found).map_err(NoLog::Lost)?;
        self.check_within_volumes(leg, &found).map_err(NoLog::Lost)?;
        Ok(found)
    }

    /// Whether this is the cache of the incarnation that owns the backing volumes; if not, why.
    fn owners_cache<'a>(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: Option<&'a CacheSuper>,
    ) -> std::result::Result<&'a CacheSuper, NoLog> {
        let device = self.parts.caches[leg].name();
        let lost = |why: String| Err(NoLog::Lost(why));
        let Some(cache) = cache else {
            let what = if self.has_failed(leg) { "fails" } else { "is blank" };
            return lost(format!("cache device `{device}` {what}"));
        };
        if cache.uuid != origin.uuid && !mutated(Mutation::UuidNotChecked) {
            return lost(format!("cache device `{device}` belongs to another group"));
        }
        if cache.generation != origin.generation && !mutated(Mutation::GenerationNotChecked) {
            return lost(format!("cache device `{device}` is from before a loss was accepted"));
        }
        let follows = cache.incarnation == origin.owner || cache.incarnation == origin.incarnation + 1;
        if !follows && !mutated(Mutation::IncarnationNotChecked) {
            return lost(format!(
                "cache device `{device}` is stale: it was last used by incarnation {}",
                cache.incarnation
            ));
        }
        if !origin.legs.contains(&cache.leg) && !mutated(Mutation::LegBehindAccepted) {
            return lost(format!("cache device `{device}` missed writes"));
        }
        let layout = self.parts.cache_layout;
        if (cache.start, cache.length, cache.segment) != (layout.start, layout.length, layout.segment) {
            return Err(NoLog::InTheWay(self.refuse(
                ErrorKind::Misuse,
                format!(
                    "cache device `{device}` holds writes that the backing volume has not got, in a log of another shape; set \
                     `size = \"{:#}\"` and `segment = \"{:#}\"` as it was, and change them after a planned stop",
                    Bytes::new(cache.start + cache.length),
                    Bytes::new(cache.segment)
                ),
            )));
        }
        Ok(cache)
    }

    /// The log must reach from what the backing volumes hold without a gap, and not end before it.
    fn check_contiguous(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: &CacheSuper,
        found: &Scanned,
    ) -> std::result::Result<(), String> {
        if cache.seq > origin.seq + 1 {
            return Err(format!(
                "the backing volume stands at write {} and the log begins at {}: the backing volume is an older copy, and the \
                 newest one is needed",
                origin.seq, cache.seq
            ));
        }
        let end = found.end.seq;
        if end < origin.seq && !self.parts.pool.is_hollow() && !mutated(Mutation::LogEndsBeforeBatch) {
            return Err(format!(
                "the log on `{}` ends at write {end} and the backing volume holds {}: the cache is an older copy, and the \
                 newest one is needed",
                self.parts.caches[leg].name(),
                origin.seq
            ));
        }
        Ok(())
    }

    /// Nothing may be logged of a volume that the group has not got, or beyond a volume's end.
    fn check_within_volumes(&self, leg: usize, found: &Scanned) -> std::result::Result<(), String> {
        match found.records.iter().find(|record| !self.parts.hold(&record.extents)) {
            None => Ok(()),
            Some(record) => Err(format!(
                "the log on `{}` is damaged: the record at position {} goes beyond its volumes",
                self.parts.caches[leg].name(),
                record.position
            )),
        }
    }

    /// Goes on without the owner's log if that was said for exactly this incarnation. `origin` is where the backing volumes
    /// will stand.
    pub fn accept_loss(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
        why: &str,
    ) -> Result<Loss> {
        let OriginSuper { owner, seq, epoch, pending, bounds, .. } = *origin;
        let loss = Loss { incarnation: owner, seq, epoch, pending, bounds };
        let foreign = (0..caches.len()).find(|leg| self.holds_others_writes(origin, caches[*leg].as_ref()));
        if self.parts.settings.accept_loss != Some(owner) && !mutated(Mutation::MissingCacheAccepted) {
            let also = if foreign.is_some() {
                ", and `discard_cache = true` for the other group's writes,"
            } else {
                ""
            };
            return Err(self.refuse(
                ErrorKind::Gone,
                format!(
                    "{why}, and incarnation {owner} holds writes there that the backing volume has not got: {loss}. Bring the \
                     cache device back; or set `accept_loss = {owner}`{also} in each volume of the group to go on from there \
                     without them",
                ),
            ));
        }
        match foreign.and_then(|leg| caches[leg].map(|cache| (leg, cache))) {
            Some((leg, cache)) => Err(self.foreign_cache(leg, &cache)),
            None => Ok(loss),
        }
    }

    /// Whether the cache device holds what another group may miss.
    pub fn holds_others_writes(&self, origin: &OriginSuper, cache: Option<&CacheSuper>) -> bool {
        cache.is_some_and(|cache| {
            let others = cache.uuid != origin.uuid && !mutated(Mutation::UuidNotChecked);
            cache.dirty && others && !self.parts.settings.discard_cache
        })
    }

    pub fn foreign_cache(&self, leg: usize, cache: &CacheSuper) -> Error {
        self.refuse(
            ErrorKind::Misuse,
            format!(
                "cache device `{}` holds writes of another group (incarnation {}) that are nowhere else; give that group its \
                 cache back, or say `discard_cache = true` to lose them",
                self.parts.caches[leg].name(),
                cache.incarnation
            ),
        )
    }

    /// The backing volumes are complete: the cache device may be used if it holds nothing that is nowhere else.
    pub fn check_free(&self, leg: usize, origin: &OriginSuper, cache: Option<&CacheSuper>) -> Result<()> {
        let Some(cache) = cache.filter(|cache| cache.dirty && !self.parts.settings.discard_cache) else {
            return Ok(());
        };
        let ours = cache.uuid == origin.uuid;
        if !ours && !mutated(Mutation::UuidNotChecked) {
            return Err(self.foreign_cache(leg, cache));
        }
        if cache.generation != origin.generation && !mutated(Mutation::GenerationNotChecked) {
            return Err(self.refuse(
                ErrorKind::Misuse,
                format!(
                    "cache device `{}` holds writes from before their loss was accepted; say `discard_cache = true` to use the \
                     device anew",
                    self.parts.caches[leg].name()
                ),
            ));
        }
        Ok(())
    }
}
