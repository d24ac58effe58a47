//! Backing volumes that are from before their cache: restored from a snapshot while the cache held writes. The cache has
//! everything that came after, so nothing is lost, and the log may bring them up to date.

use fathom_volume::{ErrorKind, Result};

use crate::writeback::loss::{Bounds, Loss};
use crate::writeback::redo::Pending;
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::copies_apart::{goes_through, may_be_one, went_on_apart};
use super::found_log::{Log, NoLog, Older};
use super::opening::Opening;

impl Opening {
    /// The newest cache that the backing volumes are older than. They are if the cache was used by a later incarnation, or
    /// if the space of writes was given back in its log that they lack: that happens only when they have them.
    pub async fn find_older(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
    ) -> std::result::Result<Option<Older>, NoLog> {
        let newest = caches.iter().enumerate().filter_map(|(leg, cache)| cache.map(|cache| (leg, cache)));
        let newest = newest.filter(|(leg, cache)| !self.has_failed(*leg) && self.may_be_later(origin, cache));
        let Some((leg, cache)) = newest.max_by_key(|(_, cache)| (cache.incarnation, cache.seq)) else {
            return Ok(None);
        };
        let is_shaped = self.parts.cache_layout.is_of(&cache)
            && self.parts.caches[leg].geometry().size >= cache.start + cache.length;
        let ends = cache.flushed_seq.max(cache.seq - 1).max(self.marks.newest_write());
        let mut older = Older { leg, cache, ends, forward: None };
        if !is_shaped {
            return Ok(Some(older).filter(|_| self.is_later(origin, &cache, 0)));
        }
        let own = match self.scan_log(leg, cache, false).await {
            Ok(log) => log,
            Err(NoLog::Lost(mut lost)) => match lost.kept.take() {
                Some(log) => log,
                None => return Err(NoLog::Lost(lost)),
            },
            Err(NoLog::InTheWay(error)) if error.kind() != ErrorKind::Misuse => {
                self.leg_fails(leg, error)?;
                return Ok(None);
            }
            Err(other) => return Err(other),
        };
        if !self.is_later(origin, &cache, own.scanned.newest) {
            return Ok(None);
        }
        older.ends = older.ends.max(own.scanned.end.seq).max(own.known);
        if origin.seq + 1 >= cache.seq {
            // The log begins early enough as it is.
            let reaches = |log: &Log| log.scanned.end.seq >= older.ends && goes_through(origin, log);
            older.forward = Some(own).filter(reaches);
            return Ok(Some(older));
        }
        let mut from = vec![(origin.log_end, origin.log_crc)];
        let own = may_be_one(cache.root, origin.life);
        from.extend((own && cache.began.1 == origin.seq + 1).then_some((cache.began.0, 0)));
        for (tail, chain) in from {
            let superblock = CacheSuper { tail, chain, seq: origin.seq + 1, ..cache };
            let Ok(log) = self.scan_log(leg, superblock, true).await else { continue };
            // By the same records as the cache's own, to its end.
            let joins = log.scanned.records.iter().any(|record| {
                (record.end, record.crc, record.last_seq()) == (cache.tail, cache.chain, cache.seq - 1)
            });
            if joins && log.scanned.end.seq >= older.ends {
                older.forward = Some(log);
                break;
            }
        }
        Ok(Some(older))
    }

    /// Whether the superblock alone lets a cache be later than the backing volumes.
    fn may_be_later(&self, origin: &OriginSuper, cache: &CacheSuper) -> bool {
        // Complete without the cache, and the cache holds nothing: whoever restored them meant to.
        let at_rest = origin.owner == 0 && !cache.dirty;
        cache.uuid == origin.uuid
            && !went_on_apart(origin, cache)
            && !at_rest
            && cache.generation >= origin.generation
            && (cache.incarnation > origin.incarnation
                || cache.generation > origin.generation
                || cache.seq > origin.seq + 1)
    }

    /// Whether it is, when the last record of its log is of that incarnation. An open that was cut off leaves the cache one
    /// incarnation ahead, with a loss one generation, too, and without a record of its own.
    fn is_later(&self, origin: &OriginSuper, cache: &CacheSuper, newest_record: u64) -> bool {
        let next = origin.incarnation + 1;
        cache.seq > origin.seq + 1
            || cache.incarnation > next
            || match cache.generation - origin.generation {
                // What follows without a gap is brought up to date without a word, as after any power cut.
                0 => cache.incarnation == next && origin.owner == 0,
                1 => newest_record > origin.incarnation,
                _ => true,
            }
    }

    /// Brings older backing volumes up to date, or goes back to them, if that was said for exactly this moment.
    pub fn settle_older(
        &self,
        origin: &OriginSuper,
        mut older: Older,
    ) -> Result<(Option<Loss>, Option<Log>)> {
        let settings = &self.parts.settings;
        if settings.roll_forward == Some(origin.seq)
            && let Some(mut log) = older.forward.take()
        {
            self.check_beyond(origin, Some(&log))?;
            log.superblock.dirty = true;
            return Ok((None, Some(log)));
        }
        if settings.accept_rollback == Some(origin.seq) && self.beyond(origin, None).is_empty() {
            let loss = Loss {
                incarnation: older.cache.incarnation,
                seq: origin.seq,
                epoch: origin.epoch,
                pending: Pending::default(),
                bounds: Bounds::default(),
                writes: older.ends.saturating_sub(origin.seq),
                parts_up_to: None,
            };
            return Ok((Some(loss), None));
        }
        Err(self.older_backing(origin, &older))
    }
}
