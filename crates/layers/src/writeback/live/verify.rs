//! The verifier: reads everything an open would rely on, and what an open trusts unread, and writes nothing. A log that is
//! longer than memory is no trouble: one record is looked at after the other.

use std::rc::Rc;

use fathom_volume::{ErrorKind, Result};

use crate::side_by_side::side_by_side;
use crate::writeback::record::{Header, Record};
use crate::writeback::report::Report;
use crate::writeback::superblock::{
    CACHE_MAGIC, CacheSuper, MEMBER_MAGIC, MemberMark, ORIGIN_MAGIC, OriginSuper,
};

use super::opening::{Opening, Parts};
use super::replay::{advance, next_commit, read_batch};
use super::samples;
use super::scan::{payload_is_whole, scan_headers, space_of};
use super::superblocks::Copies;

/// Records whose payload is read at once.
const WIDTH: usize = 16;

/// Looks at everything a group has on its devices.
pub async fn check(parts: Parts) -> Report {
    let mut opening = Opening::new(parts);
    let mut report = Report { group: opening.parts.name.clone(), ..Report::default() };
    if let Err(error) = opening.check_all(&mut report).await {
        report.refused(&error);
    }
    report
}

impl Opening {
    async fn check_all(&mut self, report: &mut Report) -> Result<()> {
        self.check_copies(report).await?;
        let caches = self.read_caches().await?;
        let found = self.find_origin(&caches).await?;
        self.settle_shape(found.as_ref(), &caches)?;
        let Some(origin) = found else {
            self.check_unused(&caches).await?;
            report.note("the group was not made yet; its first open makes it");
            if let Some(loss) = self.given_up(&caches).await {
                report.note(format!("the settings say to go on with a loss: {loss}"));
            }
            return Ok(());
        };
        report.created = true;
        (report.generation, report.incarnation, report.owner) =
            (origin.generation, origin.incarnation, origin.owner);
        report.last_loss = Some(origin.loss).filter(|loss| loss.incarnation != 0);
        if origin.owner > origin.incarnation {
            let (owner, last) = (origin.owner, origin.incarnation);
            report.wrong(format!("incarnation {owner} owns the backing volumes, and the last was {last}"));
        }
        // Whose records and which volumes these are is told by the group's own volumes alone.
        self.check_members(&origin, &caches)?;
        self.check_marks(&origin, &caches).await?;
        let foreseen = self.check_ring(&origin, report).await?;
        report.seq = foreseen.seq;
        report.log_seq = foreseen.seq;
        let mut counts = vec![origin.owner != 0; caches.len()];
        let mut given_up_from = u64::MAX;
        match self.decide(&foreseen, &caches).await {
            Ok(verdict) => {
                let gives_up = verdict.loss.is_some();
                if let Some(loss) = verdict.loss {
                    report.note(format!("the settings say to go on with a loss: {loss}"));
                    // Whatever is not gone on from is given up.
                    counts.fill(false);
                }
                given_up_from = verdict.given_up_from();
                let fits = self.check_log_sectors(verdict.chosen.as_ref());
                fits.unwrap_or_else(|refused| report.refused(&refused));
                let mut lost = Vec::new();
                if let Some(chosen) = verdict.chosen {
                    counts = (0..caches.len()).map(|leg| chosen.has_all(leg)).collect();
                    lost = chosen.lost;
                } else if !gives_up {
                    // Of a group at rest no log is needed; the open goes on without a device that failed all the same.
                    lost.extend((0..caches.len()).filter_map(|leg| self.failure(leg)));
                }
                lost.iter().for_each(|why| report.note(format!("{why}; the other one counts")));
            }
            Err(refused) => report.refused(&refused),
        }
        for (leg, cache) in caches.iter().enumerate() {
            let counts = counts[leg] && !self.has_failed(leg);
            if let Some(cache) = cache.filter(|cache| cache.uuid == origin.uuid && counts) {
                self.check_log(leg, &foreseen, &cache, given_up_from, report).await?;
            }
        }
        Ok(())
    }

    /// Each copy of each superblock: one of two may be torn, as a power cut leaves it.
    async fn check_copies(&self, report: &mut Report) -> Result<()> {
        let Parts { pool, caches, cache_layout, members, ring, origin_layout, .. } = &self.parts;
        let mut tell = |torn: Option<usize>, name: &str| {
            if let Some(copy) = torn {
                report.note(format!(
                    "superblock {copy} of `{name}` is not whole, as a power cut leaves it; the other one counts"
                ));
            }
        };
        for cache in caches {
            // One that cannot be read is left alone by the open; `read_caches` says whether another one is there.
            let Ok(copies) = Copies::read(pool, cache, cache_layout.superblocks).await else { continue };
            tell(copies.torn(|block| CacheSuper::decode(block).is_some(), CACHE_MAGIC), cache.name());
        }
        let copies = Copies::read(pool, ring, origin_layout.superblocks).await?;
        tell(copies.torn(|block| OriginSuper::decode(block).is_some(), ORIGIN_MAGIC), ring.name());
        for member in &members[1..] {
            let Some(at) = member.mark else { continue };
            let copies = Copies::read(pool, &member.backing, at).await?;
            let torn = copies.torn(|block| MemberMark::decode(block).is_some(), MEMBER_MAGIC);
            tell(torn, member.backing.name());
        }
        Ok(())
    }

    /// Every batch that an open would put in place; where the group will stand then.
    async fn check_ring(&self, origin: &OriginSuper, report: &mut Report) -> Result<OriginSuper> {
        let Parts { context, pool, .. } = &self.parts;
        let ring = self.ring(origin);
        let mut state = origin.clone();
        while let Some((commit, crc)) = next_commit(pool, &ring, origin, &state).await? {
            match read_batch(context, pool, &ring, &commit).await {
                Ok((descriptor, _)) => {
                    samples::forget(&mut state.samples, &descriptor.extents);
                    let place = format!("the redo ring on `{}`", ring.volume.name());
                    self.check_sectors(&descriptor.extents, &place)?;
                    if !self.parts.hold(&descriptor.extents) {
                        report.wrong(format!(
                            "batch {} of the redo ring goes beyond its volumes",
                            commit.batch
                        ));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => report.refused(&error),
                Err(error) => return Err(error),
            }
            report.ring_batches += 1;
            report.ring_bytes += commit.payload;
            advance(&mut state, &commit, crc);
        }
        Ok(state)
    }

    /// Every record of the log from its tail up to what is given up, header and payload, also where an open believes the header.
    async fn check_log(
        &self,
        leg: usize,
        origin: &OriginSuper,
        cache: &CacheSuper,
        given_up_from: u64,
        report: &mut Report,
    ) -> Result<()> {
        let Parts { pool, caches, context, .. } = &self.parts;
        let device = &caches[leg];
        let mut found = scan_headers(pool, device, cache).await?;
        found.headers.retain(|header| header.head.position < given_up_from);
        let space = space_of(cache);
        let (mut damaged, mut last_flushed) = (Vec::new(), 0);
        'log: for headers in found.headers.chunks(WIDTH) {
            let records: Vec<Rc<Record>> =
                headers.iter().map(|header| Rc::new(Record::found(header, context.now()))).collect();
            let whole = std::cell::RefCell::new(vec![false; records.len()]);
            let reads = records.iter().enumerate().map(|(index, record)| {
                let whole = &whole;
                Box::pin(async move {
                    let answer = payload_is_whole(pool, device, &space, record).await?;
                    whole.borrow_mut()[index] = answer;
                    Ok(())
                })
            });
            side_by_side(reads.collect()).await?;
            for (record, whole) in records.iter().zip(whole.into_inner()) {
                report.log_records += 1;
                report.log_extents += record.extents.len() as u64;
                report.log_bytes += record.end - record.position;
                report.log_seq = record.last_seq();
                if record.end <= found.flushed {
                    last_flushed = record.last_seq();
                }
                if !whole && !check_payload(record, found.flushed, origin, report, &mut damaged) {
                    break 'log;
                }
            }
            for Header { head, extents, .. } in headers {
                if !self.parts.hold(extents) {
                    report.wrong(format!("the record at position {} goes beyond its volumes", head.position));
                }
            }
        }
        // Whoever goes on without the first one goes on without all that follow.
        if let Some((record, others)) = damaged.split_first() {
            report.refused(&self.damaged_payload(leg, record, last_flushed, origin));
            for other in others {
                let (at, first, last) = (other.position, other.first_seq, other.last_seq());
                report
                    .wrong(format!("the payload at position {at} is damaged, too: writes {first} to {last}"));
            }
        }
        Ok(())
    }
}

/// A record whose payload is not whole: false if the log ends before it.
fn check_payload(
    record: &Rc<Record>,
    flushed: u64,
    origin: &OriginSuper,
    report: &mut Report,
    damaged: &mut Vec<Rc<Record>>,
) -> bool {
    let (at, first) = (record.position, record.first_seq);
    if record.end > flushed {
        report.note(format!(
            "the log ends at position {at}: the record there was being written when it was cut off, and was never flushed"
        ));
        report.log_seq = first - 1;
        return false;
    }
    if record.last_seq() <= origin.seq {
        report.note(format!("the payload at position {at} is damaged; the backing volumes hold it already"));
    } else {
        damaged.push(Rc::clone(record));
    }
    true
}
