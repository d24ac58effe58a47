//! Whose log it is: the cache devices against the backing volumes. Either side may be from another moment: a cache that is
//! older, or ends before what was flushed, has lost something; a backing volume that is older has a cache with everything
//! in it that came after, and nothing may be given up for lost then.

use fathom_volume::{Action, ErrorKind, Remedy, Result};

use crate::writeback::loss::Loss;
use crate::writeback::redo::Pending;
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::found_log::{Chosen, Log, Lost, NoLog, Verdict};
use super::opening::{Opening, Parts};
use super::scan::{begin, scan};
use super::state::Point;
use super::superblocks::Instead;

/// The code of an open that accepted a loss and was cut off.
const INTERRUPTED: &str = "loss_interrupted";

impl Opening {
    /// What to continue from, given devices that stand at `origin` when the redo ring is in place.
    ///
    /// # Errors
    /// The refusal, if there is no way to go on that loses nothing and none was chosen by the settings.
    pub async fn decide(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Result<Verdict> {
        let verdict = self.decide_by_log(origin, caches).await?;
        self.check_samples(origin, caches, verdict).await
    }

    async fn decide_by_log(&self, origin: &OriginSuper, caches: &[Option<CacheSuper>]) -> Result<Verdict> {
        let found = if origin.owner == 0 {
            match self.find_older(origin, caches).await {
                Ok(None) => {
                    self.check_beyond(origin, None)?;
                    for (leg, cache) in caches.iter().enumerate() {
                        self.check_free(leg, origin, cache.as_ref())?;
                    }
                    return Ok(Verdict::default());
                }
                Ok(Some(older)) => Err(NoLog::Older(Box::new(older))),
                Err(other) => Err(other),
            }
        } else {
            self.owners_log(origin, caches).await
        };
        match found {
            Ok(chosen) => {
                self.check_beyond(origin, Some(&chosen.log))?;
                Ok(Verdict { chosen: Some(chosen), ..Verdict::default() })
            }
            Err(NoLog::InTheWay(error)) => Err(error),
            Err(NoLog::Lost(lost)) => {
                self.check_beyond(origin, lost.kept.as_ref())?;
                let (loss, kept) = self.accept_loss(origin, caches, *lost)?;
                let chosen = kept.map(|log| Chosen::alone(log, caches.len()));
                Ok(Verdict { chosen, loss: Some(loss), ..Verdict::default() })
            }
            Err(NoLog::Older(older)) => {
                let later = Some(older.cache);
                let (loss, log) = self.settle_older(origin, *older)?;
                let chosen = log.map(|log| Chosen::alone(log, caches.len()));
                Ok(Verdict { chosen, loss, later, as_found: false })
            }
        }
    }

    /// The log of the incarnation that owns the backing volumes, which will stand at `origin` when the redo ring is in
    /// place: the longest of those on devices that count, and what each device is good for beside it.
    async fn owners_log(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
    ) -> std::result::Result<Chosen, NoLog> {
        if let Some(older) = self.find_older(origin, caches).await? {
            return Err(NoLog::Older(Box::new(older)));
        }
        let (mut logs, mut lost): (Vec<Option<Log>>, Vec<Lost>) = (Vec::new(), Vec::new());
        for (leg, cache) in caches.iter().enumerate() {
            logs.push(match self.log_of(leg, origin, cache.as_ref()).await {
                Ok(found) => Some(found),
                Err(NoLog::Lost(why)) => {
                    lost.push(*why);
                    None
                }
                Err(NoLog::InTheWay(error)) if error.kind() != ErrorKind::Misuse => {
                    self.leg_fails(leg, error.clone())?;
                    lost.push(self.lost_cache(leg, "cache_failed", error.to_string()));
                    None
                }
                Err(other) => return Err(other),
            });
        }
        let known = logs.iter().flatten().map(|log| log.known).chain(lost.iter().map(|lost| lost.known));
        let known = known.max().unwrap_or(0).max(origin.flushed_seq);
        let ends: Vec<Option<Point>> =
            logs.iter().map(|log| log.as_ref().map(|log| log.scanned.end)).collect();
        let best = (0..ends.len())
            .filter(|leg| ends[*leg].is_some())
            .max_by_key(|leg| ends[*leg].map(|end| end.seq));
        let Some(best) = best else { return Err(none_of(lost, known).into()) };
        if let Some(error) = self.in_the_way(origin, caches) {
            return Err(error.into());
        }
        let log = logs.swap_remove(best).expect("it has a log");
        if let Some((code, why)) = self.ends_early(origin, &log, known) {
            let mut lost = self.lost_cache(best, code, why);
            (lost.kept, lost.known) = (Some(log), known);
            return Err(lost.into());
        }
        // Records are chained: those that end alike are alike, and one that ends within another is its beginning.
        let within = |end: &Point| {
            let records = log.scanned.records.iter().map(|record| Point::after(record));
            records.chain([log.scanned.end]).any(|point| (point.end, point.crc) == (end.end, end.crc))
        };
        let same = ends.into_iter().map(|end| end.filter(within)).collect();
        Ok(Chosen { log, same, lost: lost.into_iter().map(|lost| lost.why).collect() })
    }

    async fn log_of(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: Option<&CacheSuper>,
    ) -> std::result::Result<Log, NoLog> {
        let superblock = self.owners_cache(leg, origin, cache).await?;
        let log = self.scan_log(leg, *superblock, self.accepts(origin)).await?;
        if log.superblock.generation > origin.generation {
            return Err(self.cut_off(leg, Some(log)).into());
        }
        Ok(log)
    }

    /// An open that accepted a loss was cut off before the backing side knew: it is accepted once more.
    fn cut_off(&self, leg: usize, kept: Option<Log>) -> Lost {
        let why = "an open that accepted a loss was cut off".to_owned();
        Lost { kept, ..self.lost_cache(leg, INTERRUPTED, why) }
    }

    /// What a device's log holds; of one that names places outside of the volumes, what stands before that.
    pub async fn scan_log(
        &self,
        leg: usize,
        superblock: CacheSuper,
        verified: bool,
    ) -> std::result::Result<Log, NoLog> {
        let Parts { pool, caches, context, .. } = &self.parts;
        let mut scanned = scan(pool, &caches[leg], &superblock, context.now(), verified).await?;
        let known = scanned.known.max(superblock.flushed_seq);
        let outside = scanned.records.iter().position(|record| !self.parts.hold(&record.extents));
        let Some(outside) = outside else { return Ok(Log { leg, superblock, scanned, known }) };
        let why = format!(
            "the log on `{}` is damaged: the record at position {} goes beyond its volumes",
            caches[leg].name(),
            scanned.records[outside].position
        );
        scanned.records.truncate(outside);
        scanned.end =
            scanned.records.last().map_or_else(|| begin(&superblock), |record| Point::after(record));
        let mut lost = self.lost_cache(leg, "log_damaged", why);
        (lost.kept, lost.known) = (Some(Log { leg, superblock, scanned, known }), known);
        Err(lost.into())
    }

    /// Why a log cannot be all of it, if it cannot.
    fn ends_early(&self, origin: &OriginSuper, log: &Log, known: u64) -> Option<(&'static str, String)> {
        let end = log.scanned.end.seq;
        let device = self.parts.caches[log.leg].name();
        if self.parts.pool.is_hollow() {
            return None;
        }
        if end < origin.seq {
            let why = format!(
                "the log on `{device}` ends at write {end} and the backing volume holds {}: the cache is an older copy, and \
                 the newest one is needed",
                origin.seq
            );
            return Some(("cache_older", why));
        }
        let gone = format!("writes {} to {known} were flushed", end + 1);
        if log.scanned.known > end {
            let at = log.scanned.end.end;
            let why = format!(
                "the log on cache device `{device}` breaks at position {at}, behind write {end}, and later records say that \
                 {gone}: the device lost what it had confirmed. What stands behind the gap cannot follow it"
            );
            return Some(("log_broken", why));
        }
        if log.superblock.flushed_seq > end && known > end {
            let why = format!(
                "the log on cache device `{device}` ends at write {end}, and its superblock says that {gone}: the device lost \
                 what it had confirmed"
            );
            return Some(("log_short", why));
        }
        (known > end).then(|| {
            let why = format!(
                "the log on cache device `{device}` ends at write {end}, and it is known elsewhere that {gone}: the cache is \
                 an older copy, and the newest one is needed"
            );
            ("cache_older", why)
        })
    }

    /// Whether this is the cache of the incarnation that owns the backing volumes; if not, why.
    async fn owners_cache<'a>(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: Option<&'a CacheSuper>,
    ) -> std::result::Result<&'a CacheSuper, NoLog> {
        let device = self.parts.caches[leg].name();
        let lost = |code, why: String| Err(self.lost_cache(leg, code, why).into());
        let Some(cache) = cache else {
            return match self.failure(leg) {
                Some(error) => lost("cache_failed", format!("cache device `{device}` fails: {error}")),
                None => Err(self.without_superblocks(leg, origin).await?.into()),
            };
        };
        if cache.uuid != origin.uuid {
            let ring = self.parts.ring.name().to_owned();
            let why = format!("cache device `{device}` belongs to another group than `{ring}`");
            let mut lost = self.lost_cache(leg, "cache_foreign", why);
            let text = format!("bring back what `{ring}` was, if it is the one that does not belong here");
            lost.first.push(Remedy { action: Action::BringBack { device: ring }, text, loses: None });
            return Err(lost.into());
        }
        if cache.generation < origin.generation {
            let why = format!("cache device `{device}` is from before a loss was accepted");
            return lost("cache_given_up", why);
        }
        let follows = cache.incarnation == origin.owner || cache.incarnation == origin.incarnation + 1;
        if !follows {
            let why = format!(
                "cache device `{device}` is stale: it was last used by incarnation {}",
                cache.incarnation
            );
            return lost("cache_older", why);
        }
        if self.is_of_a_copy(origin, cache) {
            let ring = self.parts.ring.name();
            let why = format!(
                "cache device `{device}` and `{ring}` are of different copies of the group: both went on since one was copied"
            );
            return lost("other_copy", why);
        }
        if !origin.legs.contains(&cache.leg) {
            if cache.generation > origin.generation {
                return Err(self.cut_off(leg, None).into());
            }
            return lost("cache_behind", format!("cache device `{device}` missed writes"));
        }
        if self.parts.caches[leg].geometry().size < cache.start.saturating_add(cache.length) {
            return Err(self.too_small(leg, cache).into());
        }
        if let Some(error) = self.failure(leg) {
            return lost("cache_failed", error);
        }
        if self.parts.cache_layout.is_of(cache) {
            return Ok(cache);
        }
        Err(NoLog::InTheWay(self.other_shape(leg, cache)))
    }

    /// What a cache device holds of the owner's log whose superblocks cannot be read: the backing side knows where it begins.
    async fn without_superblocks(
        &self,
        leg: usize,
        origin: &OriginSuper,
    ) -> std::result::Result<Lost, NoLog> {
        let log = self.scan_log(leg, self.superblock_from(origin), self.accepts(origin)).await?;
        let (device, end) = (self.parts.caches[leg].name(), log.scanned.end.seq);
        if end > origin.seq {
            self.set_instead(leg, Instead::OwnLog);
        }
        let (code, why) = match self.instead(leg) {
            Instead::Nothing => ("cache_blank", "is blank".to_owned()),
            Instead::Other => ("cache_unknown", "holds something that is no write-back log".to_owned()),
            Instead::One | Instead::Both => {
                let nothing = "has lost both superblocks, and none of its log can be found".to_owned();
                ("cache_superblocks_damaged", nothing)
            }
            Instead::OwnLog => {
                let found = "has lost both superblocks; its log is there without them up to write";
                ("cache_superblocks_damaged", format!("{found} {end}, as far as can be told"))
            }
        };
        let mut lost = self.lost_cache(leg, code, format!("cache device `{device}` {why}"));
        (lost.known, lost.kept) = (log.known, Some(log));
        Ok(lost)
    }

    /// Goes on without the owner's log, or with a part of it, if that was said for exactly this incarnation. `origin` is
    /// where the backing volumes will stand.
    fn accept_loss(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
        mut lost: Lost,
    ) -> Result<(Loss, Option<Log>)> {
        let OriginSuper { owner, seq, epoch, pending, bounds, .. } = *origin;
        lost.kept = lost.kept.filter(|log| log.scanned.end.seq > seq);
        let known = lost.known.max(origin.flushed_seq);
        let mut loss = Loss { incarnation: owner, seq, epoch, pending, bounds, writes: 0, parts_up_to: None };
        if let Some(Log { scanned, .. }) = &lost.kept {
            (loss.seq, loss.epoch) = (scanned.end.seq, scanned.end.epoch);
            loss.pending = Pending::default();
        }
        loss.writes = known.saturating_sub(loss.seq);
        let in_the_way = self.in_the_way(origin, caches);
        // It gave up the log to go back to this moment.
        let goes_back = lost.code == INTERRUPTED
            && lost.kept.is_none()
            && self.parts.settings.accept_rollback == Some(seq);
        if !self.accepts(origin) && !goes_back {
            return Err(self.lost_log(origin, &lost, &loss, in_the_way.is_some()));
        }
        in_the_way.map_or(Ok((loss, lost.kept)), Err)
    }

    pub fn accepts(&self, origin: &OriginSuper) -> bool {
        origin.owner != 0 && self.parts.settings.accept_loss == Some(origin.owner)
    }

    /// A cache device that was lost as a whole, unless more is known.
    fn lost_cache(&self, leg: usize, code: &'static str, why: String) -> Lost {
        let device = self.parts.caches[leg].name();
        let first = Remedy {
            action: Action::BringBack { device: device.to_owned() },
            text: "bring the cache device back as it was last, which loses nothing".to_owned(),
            loses: None,
        };
        Lost { code, why, first: vec![first], kept: None, known: 0 }
    }

    /// What a cache device's superblock must have said at least, as far as the backing side knows.
    fn superblock_from(&self, origin: &OriginSuper) -> CacheSuper {
        let layout = self.parts.cache_layout;
        CacheSuper {
            counter: 0,
            uuid: origin.uuid,
            generation: origin.generation,
            incarnation: origin.incarnation,
            base: origin.log_base,
            dirty: true,
            start: layout.start,
            length: layout.length,
            segment: layout.segment,
            tail: origin.log_end,
            chain: origin.log_crc,
            seq: origin.seq + 1,
            leg: origin.legs[0],
            flushed_seq: 0,
            floor: 0,
            given_up_from: 0,
            began: (0, 0),
            ring_volume: 0,
            life: origin.life,
            before: origin.life,
            root: 0,
        }
    }
}

/// Of several devices without a log: the one that keeps most, and why each is none.
fn none_of(lost: Vec<Lost>, known: u64) -> Lost {
    let why = lost.iter().map(|lost| lost.why.clone()).collect::<Vec<_>>().join("; ");
    let most = |lost: &Lost| (lost.kept.as_ref().map(|log| log.scanned.end.seq), lost.code == INTERRUPTED);
    let mut best = lost.into_iter().max_by_key(most).expect("a group has a cache device");
    best.why = why;
    best.known = best.known.max(known);
    best
}
