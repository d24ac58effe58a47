//! Opening a group: what is there, may it be used, and where do we go on.
//!
//! 1. Flush every device, so that what is read cannot be lost afterwards.
//! 2. Read the superblocks; create them on blank devices, refuse foreign ones.
//! 3. Put the committed batches of the redo ring in place.
//! 4. If an incarnation owns the backing volumes, its cache must be there: scan its log. A cache that is missing
//!    or stale is refused, unless the loss is accepted for exactly that incarnation.
//! 5. Take the next incarnation: cache first, owner mark second.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use fathom_runtime::{Context, Signal};
use fathom_volume::{Error, ErrorKind, Handle, Pool, Request, Result};

use crate::writeback::Settings;
use crate::writeback::codec::{BLOCK, Uuid};
use crate::writeback::extents::Extents;
use crate::writeback::layout::{CacheLayout, OriginLayout, batch_limits};
use crate::writeback::mutation::{Mutation, mutated};
use crate::writeback::plan::Limits;
use crate::writeback::record::MOST_PAYLOAD;
use crate::writeback::redo::Pending;
use crate::writeback::space::Space;
use crate::writeback::superblock::{CacheSuper, MemberEntry, MemberMark, OriginSuper, name_hash};

use super::append::show;
use super::destage::RingState;
use super::redo_ring::RedoRing;
use super::replay::{foresee, replay};
use super::scan::{Scanned, scan};
use super::state::{Counts, Flushes, Point, State};
use super::superblocks::{Copies, write};
use super::{Live, io};

/// Everything a group is opened with. Members are sorted by name.
pub struct Parts {
    pub context: Context,
    pub pool: Pool,
    pub name: String,
    pub settings: Settings,
    pub members: Vec<Member>,
    pub cache: Handle,
    pub cache_layout: CacheLayout,
    /// The redo ring's volume and layout.
    pub ring: Handle,
    pub origin_layout: OriginLayout,
}

/// One volume of a group.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    pub backing: Handle,
    /// Bytes it shows.
    pub size: u64,
    /// Its own superblocks, if the redo ring is not on a volume of its own.
    pub mark: Option<[u64; 2]>,
}

/// What an accepted loss cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The incarnation whose cache was lost.
    pub incarnation: u64,
    /// What its cache held beyond the backing volumes at its last batch; it may have accepted more since.
    pub pending: Pending,
}

/// Opens a group.
pub async fn open(parts: Parts) -> Result<Rc<Live>> {
    let opening = Opening {
        origins: Rc::new(parts.members.iter().map(|member| member.backing.clone()).collect()),
        parts,
    };
    opening.flush_everything().await?;
    let mut cache = opening.read_cache().await?;
    let (mut origin, new) = opening.read_origin(cache.as_ref()).await?;
    if !new {
        opening.check_members(&origin)?;
        opening.check_marks(&origin).await?;
    }
    let ring = opening.ring(&origin);
    // Refused before anything is written.
    let refusal = if origin.owner == 0 {
        opening.check_free(&origin, cache.as_ref())?;
        None
    } else {
        opening.owners_cache(&origin, cache.as_ref()).err()
    };
    let mut loss = None;
    if let Some(why) = refusal {
        let foreseen = foresee(&opening.parts.pool, &ring, &origin).await?;
        loss = Some(opening.accept_loss(&foreseen, &why)?);
        cache = cache.filter(|cache| !cache.dirty || opening.parts.settings.discard_cache);
    }
    origin = replay(&opening.parts.context, &opening.parts.pool, &opening.origins, &ring, &origin).await?;
    let mut scanned = None;
    if let Some(superblock) = cache.as_ref().filter(|_| origin.owner != 0 && loss.is_none()) {
        let found =
            scan(&opening.parts.pool, &opening.parts.cache, superblock, opening.parts.context.now()).await?;
        opening.check_contiguous(&origin, superblock, &found)?;
        scanned = Some(found);
    }
    if loss.is_some() {
        origin.owner = 0;
        origin.generation += u64::from(!mutated(Mutation::GenerationNotBumped));
    }
    let origin = if mutated(Mutation::OwnerNotMarked) { OriginSuper { owner: 0, ..origin } } else { origin };
    opening.start(origin, cache, scanned, loss).await
}

struct Opening {
    parts: Parts,
    origins: Rc<Vec<Handle>>,
}

impl Opening {
    fn refuse(&self, kind: ErrorKind, why: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("group `{}`: {why}", self.parts.name))
    }

    async fn flush_everything(&self) -> Result<()> {
        if mutated(Mutation::OpenDoesNotFlush) {
            return Ok(());
        }
        for volume in self.origins.iter().chain([&self.parts.ring, &self.parts.cache]) {
            volume.flush(Request::flush()).await?;
        }
        Ok(())
    }

    fn ring(&self, origin: &OriginSuper) -> RedoRing {
        RedoRing { volume: self.parts.ring.clone(), start: origin.start, length: origin.length }
    }

    async fn read_cache(&self) -> Result<Option<CacheSuper>> {
        let Parts { pool, cache, cache_layout, .. } = &self.parts;
        let copies = Copies::read(pool, cache, cache_layout.superblocks).await?;
        let found = copies.newest(CacheSuper::decode, |found| found.counter);
        if found.is_none() && !copies.are_blank() && !self.parts.settings.discard_cache {
            return Err(self.refuse(
                ErrorKind::Misuse,
                format!(
                    "cache device `{}` holds something that is no write-back log; wipe it, or say `discard_cache = true`",
                    cache.name()
                ),
            ));
        }
        Ok(found)
    }

    /// The superblock on the backing side, and whether it had to be created.
    async fn read_origin(&self, cache: Option<&CacheSuper>) -> Result<(OriginSuper, bool)> {
        let Parts { pool, ring, origin_layout, .. } = &self.parts;
        let copies = Copies::read(pool, ring, origin_layout.superblocks).await?;
        if let Some(found) = copies.newest(OriginSuper::decode, |found| found.counter) {
            let fits = (found.start, found.length) == (origin_layout.ring_start, origin_layout.ring_length);
            return if fits { Ok((found, false)) } else { Err(self.other_size()) };
        }
        if !copies.are_blank() {
            return Err(self.refuse(
                ErrorKind::Misuse,
                format!(
                    "where its superblock belongs, `{}` holds something else: it was resized, or is in use without a cache. \
                     Give the size it had, or adopt it with a redo ring on a volume of its own (`ring = \"NAME\"`)",
                    ring.name()
                ),
            ));
        }
        self.check_blank().await?;
        if let Some(cache) = cache.filter(|cache| cache.dirty && !self.parts.settings.discard_cache) {
            return Err(self.foreign_cache(cache));
        }
        Ok((self.create().await?, true))
    }

    fn other_size(&self) -> Error {
        self.refuse(
            ErrorKind::Misuse,
            format!(
                "the redo ring on `{}` has another size than the settings say; give the one it was made with",
                self.parts.ring.name()
            ),
        )
    }

    fn foreign_cache(&self, cache: &CacheSuper) -> Error {
        self.refuse(
            ErrorKind::Misuse,
            format!(
                "cache device `{}` holds writes of another group (incarnation {}) that are nowhere else; give that group its \
                 cache back, or say `discard_cache = true` to lose them",
                self.parts.cache.name(),
                cache.incarnation
            ),
        )
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
            members: members.iter().map(entry).collect(),
        };
        write(pool, ring, origin_layout.superblocks, 0, |bytes| created.encode(bytes)).await?;
        Ok(created)
    }

    fn check_members(&self, origin: &OriginSuper) -> Result<()> {
        let found: Vec<MemberEntry> = self
            .parts
            .members
            .iter()
            .map(|member| MemberEntry { size: member.size, name: name_hash(&member.name) })
            .collect();
        if found == origin.members {
            return Ok(());
        }
        Err(self.refuse(
            ErrorKind::Misuse,
            format!(
                "it was made of {} volumes of certain names and sizes, and these are {} others; open exactly the volumes it was \
                 made of",
                origin.members.len(),
                found.len()
            ),
        ))
    }

    /// Each volume but the first carries the group's mark on its tail.
    async fn check_marks(&self, origin: &OriginSuper) -> Result<()> {
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

    /// Whether this is the cache of the incarnation that owns the backing volumes; if not, why.
    fn owners_cache(
        &self,
        origin: &OriginSuper,
        cache: Option<&CacheSuper>,
    ) -> std::result::Result<(), String> {
        let device = self.parts.cache.name();
        let cache = cache.ok_or_else(|| format!("cache device `{device}` is blank"))?;
        if cache.uuid != origin.uuid && !mutated(Mutation::UuidNotChecked) {
            return Err(format!("cache device `{device}` belongs to another group"));
        }
        if cache.generation != origin.generation && !mutated(Mutation::GenerationNotChecked) {
            return Err(format!("cache device `{device}` is from before a loss was accepted"));
        }
        let follows = cache.incarnation == origin.owner || cache.incarnation == origin.incarnation + 1;
        if !follows && !mutated(Mutation::IncarnationNotChecked) {
            return Err(format!(
                "cache device `{device}` is stale: it was last used by incarnation {}",
                cache.incarnation
            ));
        }
        let Parts { cache_layout, .. } = &self.parts;
        if (cache.start, cache.length, cache.segment)
            != (cache_layout.start, cache_layout.length, cache_layout.segment)
        {
            return Err(format!("cache device `{device}` was laid out with another size or segment"));
        }
        Ok(())
    }

    /// The log must reach from what the backing volumes hold without a gap, and not end before it.
    fn check_contiguous(&self, origin: &OriginSuper, cache: &CacheSuper, found: &Scanned) -> Result<()> {
        if cache.seq > origin.seq + 1 {
            return Err(self.refuse(
                ErrorKind::Corrupt,
                format!(
                    "the backing volume stands at write {} and the log begins at {}: the backing volume is an older copy. \
                     Give the newest one, or accept the loss",
                    origin.seq, cache.seq
                ),
            ));
        }
        let end = found.end.seq;
        if end < origin.seq && !self.parts.pool.is_hollow() && !mutated(Mutation::LogEndsBeforeBatch) {
            return Err(self.refuse(
                ErrorKind::Corrupt,
                format!(
                    "the log on `{}` ends at write {end} and the backing volume holds {}: the cache is an older copy. Give the \
                     newest one, or accept the loss",
                    self.parts.cache.name(),
                    origin.seq
                ),
            ));
        }
        Ok(())
    }

    fn accept_loss(&self, origin: &OriginSuper, refusal: &str) -> Result<Loss> {
        let Pending { bytes, epochs, age } = origin.pending;
        if self.parts.settings.accept_loss != Some(origin.owner) && !mutated(Mutation::MissingCacheAccepted) {
            return Err(self.refuse(
                ErrorKind::Gone,
                format!(
                    "{refusal}, and incarnation {} holds writes there that the backing volume has not got: at least {bytes} \
                     bytes of log in {epochs} flushes, the oldest {:.1} s old at the last batch, and whatever was accepted \
                     since. Bring the cache device back; or set `accept_loss = {}` to go on from the last batch without them",
                    origin.owner,
                    age as f64 / 1e9,
                    origin.owner
                ),
            ));
        }
        Ok(Loss { incarnation: origin.owner, pending: origin.pending })
    }

    /// The backing volumes are complete: the cache device may be used if it holds nothing that is nowhere else.
    fn check_free(&self, origin: &OriginSuper, cache: Option<&CacheSuper>) -> Result<()> {
        let Some(cache) = cache.filter(|cache| cache.dirty && !self.parts.settings.discard_cache) else {
            return Ok(());
        };
        let ours = cache.uuid == origin.uuid;
        if !ours && !mutated(Mutation::UuidNotChecked) {
            return Err(self.foreign_cache(cache));
        }
        if cache.generation != origin.generation && !mutated(Mutation::GenerationNotChecked) {
            return Err(self.refuse(
                ErrorKind::Misuse,
                format!(
                    "cache device `{}` holds writes from before their loss was accepted; say `discard_cache = true` to use the \
                     device anew",
                    self.parts.cache.name()
                ),
            ));
        }
        Ok(())
    }

    /// Step 5.
    async fn start(
        self,
        mut origin: OriginSuper,
        cache: Option<CacheSuper>,
        scanned: Option<Scanned>,
        loss: Option<Loss>,
    ) -> Result<Rc<Live>> {
        let layout = self.parts.cache_layout;
        let incarnation = origin.incarnation
            + u64::from(!mutated(Mutation::IncarnationNotBumped) || origin.incarnation == 0);
        let end = scanned.as_ref().map(|scanned| scanned.end);
        let mut superblock = match (&cache, end) {
            (Some(cache), Some(_)) => *cache,
            // A log that begins anew goes on behind every position that old records may have.
            (found, _) => CacheSuper {
                counter: found.map_or(0, |found| found.counter),
                uuid: origin.uuid,
                generation: origin.generation,
                incarnation,
                base: incarnation,
                dirty: false,
                start: layout.start,
                length: layout.length,
                segment: layout.segment,
                tail: found.map_or(0, |found| (found.tail / layout.length + 2) * layout.length),
                chain: 0,
                seq: origin.seq + 1,
            },
        };
        superblock.incarnation = incarnation;
        let keeps = superblock.dirty;
        superblock.dirty = keeps && scanned.is_some();
        let live = self.live(origin.clone(), superblock, scanned, loss, incarnation);
        live.write_cache_super(superblock).await?;
        origin.incarnation = incarnation;
        origin.owner = if mutated(Mutation::OwnerNotMarked) { 0 } else { incarnation };
        live.write_origin_super(origin).await?;
        if !superblock.dirty {
            live.write_cache_super(CacheSuper { dirty: true, ..live.cache_super.get() }).await?;
        }
        live.start();
        Ok(live)
    }

    fn live(
        self,
        origin: OriginSuper,
        cache: CacheSuper,
        scanned: Option<Scanned>,
        loss: Option<Loss>,
        incarnation: u64,
    ) -> Rc<Live> {
        let ring = self.ring(&origin);
        let Parts {
            context, pool, name, settings, members, cache: device, cache_layout, origin_layout, ..
        } = self.parts;
        let begin = Point { end: cache.tail, seq: origin.seq, crc: cache.chain, epoch: origin.epoch };
        let scanned = scanned.unwrap_or_else(|| Scanned { records: Vec::new(), end: begin });
        let (payload, extents) = batch_limits(origin_layout.ring_length, settings.batch);
        let dirty_limit = settings.dirty_limit.unwrap_or(cache_layout.length / 4);
        // A segment may be left half empty, and the head must never meet the tail.
        let dirty_limit =
            dirty_limit.min(cache_layout.length - 2 * cache_layout.segment).max(cache_layout.segment);
        let state = state_of(&scanned, begin, &cache, &origin, members.len());
        let ring_state = RingState {
            head: origin.position,
            free_before: origin.position,
            batch: origin.batch,
            previous: origin.previous,
        };
        Rc::new(Live {
            most_payload: most_payload(&cache_layout, payload),
            batch_limits: Limits { payload, extents },
            dirty_limit,
            least_dirty_limit: (4 * payload).min(dirty_limit),
            destage_from: payload.min(dirty_limit / 4),
            context,
            pool,
            name,
            settings,
            origins: self.origins,
            cache: device,
            ring,
            origin_at: origin_layout.superblocks,
            cache_at: cache_layout.superblocks,
            uuid: origin.uuid,
            incarnation,
            origin_super: RefCell::new(origin),
            cache_super: Cell::new(cache),
            ring_state: Cell::new(ring_state),
            state: RefCell::new(state),
            loss,
            appended: io::Bell::default(),
            recorded: Signal::default(),
            room: Signal::default(),
            progressed: Signal::default(),
            committed: Signal::default(),
            apply_due: Signal::default(),
            destage_due: Signal::default(),
            flush_due: Signal::default(),
            flushed: Signal::default(),
        })
    }
}

/// Bytes of payload that one record takes at most: it must fit into a segment and into a batch.
pub fn most_payload(cache: &CacheLayout, batch: u64) -> u64 {
    MOST_PAYLOAD.min(batch).min(cache.segment - BLOCK as u64)
}

fn state_of(
    scanned: &Scanned,
    begin: Point,
    cache: &CacheSuper,
    origin: &OriginSuper,
    volumes: usize,
) -> State {
    let mut end = scanned.end;
    if mutated(Mutation::HeadReusesTail)
        && let [.., before, _] = &scanned.records[..]
    {
        end.end = before.end;
    }
    let next_seq = if mutated(Mutation::SequenceStartsOver) { 1 } else { end.seq.max(origin.seq) + 1 };
    let epoch = end.epoch.max(origin.epoch) + 1;
    let mut index: Vec<Extents<_>> = (0..volumes).map(|_| Extents::default()).collect();
    scanned.records.iter().for_each(|record| show(&mut index, record));
    let is_dirty = |record: &&Rc<_>| {
        let record: &crate::writeback::record::Record = record;
        record.last_seq() > origin.seq || mutated(Mutation::ScanAppliedAgain)
    };
    let unplanned: VecDeque<_> = scanned.records.iter().filter(is_dirty).cloned().collect();
    let clean = scanned.records.iter().rfind(|record| record.last_seq() <= origin.seq);
    let applied = clean.map_or(Point { seq: origin.seq, ..begin }, |record| Point::after(record));
    State {
        space: Space {
            start: cache.start,
            length: cache.length,
            segment: cache.segment,
            head: end.end,
            free_before: cache.tail,
        },
        next_seq,
        epoch,
        chain: end.crc,
        index,
        kept: scanned.records.iter().cloned().collect(),
        unplanned,
        in_flight: VecDeque::new(),
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        completed: Point { seq: end.seq.max(origin.seq), ..end },
        flushed: end.end,
        flushes: Flushes::default(),
        committed: applied,
        applied,
        batches: VecDeque::new(),
        wanted_seq: 0,
        starved: false,
        drain_rate: 0,
        fence: None,
        closing: false,
        counts: Counts::default(),
    }
}
