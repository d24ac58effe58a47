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

use fathom_runtime::Signal;
use fathom_volume::{Handle, Request, Result};

use crate::codec::BLOCK;
use crate::share::{Gate, Rules};
use crate::writeback::drain::DrainRate;
use crate::writeback::extents::Extents;
use crate::writeback::layout::{CacheLayout, batch_limits};
use crate::writeback::lines::Lines;
use crate::writeback::loss::{Bounds, Loss};
use crate::writeback::plan::Limits;
use crate::writeback::pressure::Turns;
use crate::writeback::record::{MOST_PAYLOAD, Record};
use crate::writeback::space::Space;
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::copies_apart::new_life;
use super::destage::RingState;
use super::found_log::{Chosen, Verdict};
use super::legs::{Leg, Legs, Standing, new_id};
use super::opening::{Opening, Parts};
use super::scan::Scanned;
use super::state::{Counts, Flushes, Point, State};
use super::write::show;
use super::{Live, Mode, io};

/// Opens a group.
pub async fn open(parts: Parts) -> Result<Rc<Live>> {
    let mut opening = Opening::new(parts);
    opening.flush_everything().await?;
    let (caches, known) = opening.look().await?;
    let (known, given_up) = match known {
        Some(known) => (known, None),
        None => {
            let origin = opening.create(&caches).await?;
            (opening.judge(origin, &caches).await?, opening.given_up(&caches).await)
        }
    };
    let Known { mut origin, foreseen, verdict } = known;
    let ring = opening.ring(&origin);
    let Verdict { chosen, loss, later, as_found } = verdict;
    opening.retire_tails(&origin, &caches).await?;
    origin = if as_found { foreseen } else { opening.replay(&ring, &origin).await? };
    if let Some(later) = later {
        origin.generation = origin.generation.max(later.generation);
        origin.incarnation = origin.incarnation.max(later.incarnation);
        origin.samples.clear();
    }
    let loss = loss.or(given_up);
    if let Some(loss) = loss {
        origin.owner = 0;
        origin.loss = loss;
        origin.generation += 1;
    }
    opening.start(origin, &caches, chosen, loss).await
}

/// Whether an open would be refused; nothing is written.
///
/// # Errors
/// The refusal.
pub async fn foresee(parts: Parts) -> Result<()> {
    Opening::new(parts).look().await.map(drop)
}

/// A group that was made, before anything is written.
struct Known {
    origin: OriginSuper,
    /// What it will be when the redo ring's committed batches are in place.
    foreseen: OriginSuper,
    verdict: Verdict,
}

impl Opening {
    /// What is there: the cache devices' superblocks, and the group if it was made. Whatever is refused is refused here, before
    /// anything is written.
    async fn look(&mut self) -> Result<(Vec<Option<CacheSuper>>, Option<Known>)> {
        let caches = self.read_caches().await?;
        let found = self.find_origin(&caches).await?;
        self.settle_shape(found.as_ref(), &caches)?;
        let Some(origin) = found else {
            self.check_unused(&caches).await?;
            return Ok((caches, None));
        };
        self.check_members(&origin, &caches)?;
        self.check_marks(&origin, &caches).await?;
        let known = self.judge(origin, &caches).await?;
        Ok((caches, Some(known)))
    }

    async fn judge(&self, origin: OriginSuper, caches: &[Option<CacheSuper>]) -> Result<Known> {
        let foreseen = self.foresee(&self.ring(&origin), &origin).await?;
        let verdict = self.decide(&foreseen, caches).await?;
        self.check_log_sectors(verdict.chosen.as_ref())?;
        Ok(Known { origin, foreseen, verdict })
    }

    async fn flush_everything(&self) -> Result<()> {
        for volume in self.origins.iter().chain([&self.parts.ring]) {
            volume.flush(Request::flush()).await?;
        }
        for (leg, cache) in self.parts.caches.iter().enumerate() {
            if let Err(error) = cache.flush(Request::flush()).await {
                self.leg_fails(leg, error)?;
            }
        }
        Ok(())
    }

    /// Step 5.
    async fn start(
        self,
        mut origin: OriginSuper,
        caches: &[Option<CacheSuper>],
        chosen: Option<Chosen>,
        loss: Option<Loss>,
    ) -> Result<Rc<Live>> {
        // Volumes that nobody owned may have been used without the cache, and mode `barrier` writes before it commits.
        if origin.owner == 0 || self.parts.settings.mode == Mode::Barrier {
            origin.samples.clear();
        }
        let layout = self.parts.cache_layout;
        let newest = chosen.as_ref().map_or(0, |chosen| chosen.log.scanned.newest);
        let incarnation = origin.incarnation.max(newest) + 1;
        let found = || caches.iter().flatten();
        let counter = found().map(|found| found.counter).max().unwrap_or(0);
        let mut superblock = match &chosen {
            Some(chosen) => CacheSuper { counter, ..chosen.log.superblock },
            // A new log starts behind every position that old records may have.
            None => {
                let tail = found().map(|found| (found.tail / layout.length + 2) * layout.length).max();
                let (tail, seq) = (tail.unwrap_or(0), origin.seq + 1);
                CacheSuper {
                    counter,
                    uuid: origin.uuid,
                    generation: origin.generation,
                    incarnation,
                    base: incarnation,
                    dirty: false,
                    start: layout.start,
                    length: layout.length,
                    segment: layout.segment,
                    tail,
                    chain: 0,
                    seq,
                    leg: 0,
                    flushed_seq: 0,
                    floor: incarnation,
                    given_up_from: 0,
                    began: (tail, seq),
                    ring_volume: 0,
                    life: 0,
                    before: 0,
                    root: origin.life,
                }
            }
        };
        superblock.generation = origin.generation;
        superblock.ring_volume = self.ring_volume();
        superblock.life = new_life(&self.parts.context, &self.parts.name, incarnation);
        superblock.before = origin.life;
        if loss.is_some() {
            superblock.floor = incarnation;
            superblock.given_up_from = chosen.as_ref().map_or(0, |chosen| chosen.log.scanned.end.end);
        }
        let legs = self.legs(incarnation, caches, chosen.as_ref());
        let scanned = chosen.map(|chosen| chosen.log.scanned);
        superblock.incarnation = incarnation;
        let keeps = superblock.dirty;
        superblock.dirty = keeps && scanned.is_some();
        let live = self.live(origin.clone(), superblock, scanned, loss, incarnation, legs);
        live.write_cache_super(superblock).await?;
        (origin.incarnation, origin.life) = (incarnation, superblock.life);
        live.member_marks.remember(&mut origin);
        let left_over = if superblock.dirty { origin.bounds } else { Bounds::default() };
        origin.bounds = live.bounds(left_over);
        origin.pending = live.pending_after(live.state.borrow().applied);
        origin.owner = incarnation;
        origin.legs = live.legs.ids();
        let applied = live.state.borrow().applied;
        (origin.log_end, origin.log_crc, origin.log_base) = (applied.end, applied.crc, superblock.base);
        live.write_origin_super(origin).await?;
        if !superblock.dirty {
            live.write_cache_super(CacheSuper { dirty: true, ..live.cache_super.get() }).await?;
        }
        live.mark_opened().await?;
        live.claim_returning().await;
        live.cut_off_returning().await;
        live.start();
        Ok(live)
    }

    /// What each cache device is good for: those with the log go on counting, others are brought it. A new log
    /// is on every device that works.
    fn legs(&self, incarnation: u64, found: &[Option<CacheSuper>], chosen: Option<&Chosen>) -> Legs {
        let Parts { context, name, caches, .. } = &self.parts;
        let leg = |(index, volume): (usize, &Handle)| {
            let random = context.random(&format!("leg {index} of {name} in incarnation {incarnation}"));
            let standing = match chosen {
                _ if self.has_failed(index) => Standing::Behind,
                Some(chosen) if !chosen.has_all(index) => Standing::Returning,
                _ => Standing::Current,
            };
            let same_before = chosen.and_then(|chosen| chosen.same[index]).map_or(0, |same| same.end);
            // Under the number that the backing side knows already: it is told of this open after the devices are.
            let kept = chosen.filter(|_| standing == Standing::Current).and_then(|chosen| {
                if chosen.log.leg == index { Some(chosen.log.superblock) } else { found[index] }
            });
            let id = kept.map_or_else(|| new_id(random), |found| found.leg);
            let gate = Gate::new(context, Rules::default());
            Leg {
                volume: volume.clone(),
                gate,
                id: Cell::new(id),
                standing: Cell::new(standing),
                why: RefCell::new(self.failure(index).unwrap_or_default()),
                same_before,
            }
        };
        Legs::new(caches.iter().enumerate().map(leg).collect())
    }

    fn live(
        self,
        origin: OriginSuper,
        cache: CacheSuper,
        scanned: Option<Scanned>,
        loss: Option<Loss>,
        incarnation: u64,
        legs: Legs,
    ) -> Rc<Live> {
        let ring = self.ring(&origin);
        let Parts { context, pool, name, settings, members, cache_layout, origin_layout, .. } = self.parts;
        let begin = Point { end: cache.tail, seq: origin.seq, crc: cache.chain, epoch: origin.epoch };
        let scanned =
            scanned.unwrap_or_else(|| Scanned { records: Vec::new(), end: begin, known: 0, newest: 0 });
        let (payload, extents) = batch_limits(origin_layout.ring_length, settings.batch);
        let dirty_limit = settings.dirty_limit.unwrap_or(cache_layout.length / 4);
        // A segment may be left half empty, and the head must never meet the tail.
        let dirty_limit =
            dirty_limit.min(cache_layout.length - 2 * cache_layout.segment).max(cache_layout.segment);
        let state = state_of(&scanned, begin, &cache, &origin, members.len(), settings.mode);
        let ring_state = RingState {
            head: origin.position,
            free_before: origin.position,
            batch: origin.batch,
            previous: origin.previous,
        };
        let (gates, ring_gate) = super::gates(&context, &self.origins, &ring.volume);
        Rc::new(Live {
            opened_at: context.now(),
            gates,
            ring_gate,
            seen_busy: Cell::default(),
            redo_clock: RefCell::default(),
            apply_clock: RefCell::default(),
            hurry: Signal::default(),
            most_payload: most_payload(&cache_layout, payload),
            batch_limits: Limits { payload, extents },
            dirty_limit,
            context,
            name,
            settings,
            origins: self.origins,
            member_marks: self.marks,
            legs,
            cache_turn: io::Turn::default(),
            origin_turn: io::Turn::default(),
            ring,
            origin_at: origin_layout.superblocks,
            cache_at: cache_layout.superblocks,
            uuid: origin.uuid,
            incarnation,
            life: cache.life,
            origin_super: RefCell::new(origin),
            cache_super: Cell::new(cache),
            ring_state: Cell::new(ring_state),
            lines: RefCell::new(Lines::new(cache_layout.lines)),
            lines_at: cache_layout.lines_at,
            fills: Cell::new(0),
            pool,
            state: RefCell::new(state),
            loss,
            appended: Signal::default(),
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
    mode: Mode,
) -> State {
    let end = scanned.end;
    let next_seq = end.seq.max(origin.seq) + 1;
    let epoch = end.epoch.max(origin.epoch) + 1;
    let is_dirty = |record: &Record| record.last_seq() > origin.seq;
    let clean = scanned.records.iter().rfind(|record| record.last_seq() <= origin.seq);
    let applied = clean.map_or(Point { seq: origin.seq, ..begin }, |record| Point::after(record));
    let mut state = State {
        space: Space {
            start: cache.start,
            length: cache.length,
            segment: cache.segment,
            head: end.end,
            free_before: cache.tail,
            pinned: None,
        },
        next_seq,
        epoch,
        chain: end.crc,
        index: (0..volumes).map(|_| Extents::default()).collect(),
        kept: scanned.records.iter().cloned().collect(),
        unplanned: scanned.records.iter().filter(|record| is_dirty(record)).cloned().collect(),
        in_flight: VecDeque::new(),
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        in_memory: 0,
        completed: Point { seq: end.seq.max(origin.seq), ..end },
        flushed: end.end,
        flushed_seq: end.seq.max(origin.seq),
        flushes: Flushes::default(),
        committed: applied,
        applied,
        batches: VecDeque::new(),
        uncommitted: None,
        work: 0,
        // The first one begins where the log does.
        batch_bytes: u64::MAX,
        wanted_seq: 0,
        settling_seq: 0,
        held: 0,
        starved: false,
        copying: 0,
        drain_rate: DrainRate::default(),
        turns: Turns::default(),
        fence: None,
        closing: false,
        counts: Counts::default(),
    };
    for record in &scanned.records {
        if is_dirty(record) {
            state.count_work(record, mode);
        }
        show(&mut state.index, record);
    }
    state
}
