//! Samples of what was put in place last. While an incarnation owns the volumes nobody else writes there, so that what was put
//! in place is there to the byte until a later batch is. If it is not, the device is another disk, an older copy, or a stripe
//! with its parts in another order, and the log may not be put in place on it.

use std::collections::BTreeSet;

use fathom_runtime::join;
use fathom_volume::{Action, Buf, Error, ErrorKind, Remedy, Result};

use crate::codec::BLOCK;
use crate::writeback::loss::Loss;
use crate::writeback::record::{Change, Extent};
use crate::writeback::superblock::{CacheSuper, MOST_SAMPLES, OriginSuper, Sample};

use super::found_log::Verdict;
use super::io;
use super::opening::Opening;
use super::redo_ring::CHUNK;

/// What is known of the volumes when a batch is in place, the newest first: pieces of it, evenly spread, that begin at another
/// extent with each batch, and of what was known before as much as there is room for. A small batch leaves most of that; of a volume
/// that it does not touch at least one piece stays. Zeroes tell nothing: a blank disk has them, too.
pub fn after(known: &[Sample], batch: u64, extents: &[Extent], chunks: &[Buf]) -> Vec<Sample> {
    let mut kept = known.to_vec();
    forget(&mut kept, extents);
    let mut pieces = Vec::new();
    let mut at = 0;
    for extent in extents {
        let length = extent.length.min(BLOCK as u64);
        if extent.change == Change::Write && at % CHUNK as u64 + length <= CHUNK as u64 {
            pieces.push((at, extent, length));
        }
        at += extent.payload();
    }
    let others = kept.iter().map(|sample| sample.volume).collect::<BTreeSet<_>>();
    let others =
        others.iter().filter(|volume| !extents.iter().any(|extent| extent.volume == **volume)).count();
    let room = (MOST_SAMPLES - others.min(MOST_SAMPLES / 2)).min(pieces.len());
    let mut samples = Vec::with_capacity(MOST_SAMPLES);
    for index in 0..room {
        let (at, extent, length) = pieces[(index * pieces.len() / room + batch as usize) % pieces.len()];
        let within = (at % CHUNK as u64) as usize;
        let crc = chunks[(at / CHUNK as u64) as usize].with(|bytes| {
            // Without payload there is nothing to know.
            let piece = bytes.get(within..within + length as usize)?;
            piece.iter().any(|byte| *byte != 0).then(|| crc_fast::crc32_iscsi(piece))
        });
        samples.extend(crc.map(|crc| Sample { volume: extent.volume, offset: extent.offset, length, crc }));
    }
    samples.extend(kept);
    while samples.len() > MOST_SAMPLES {
        let counts = |volume| samples.iter().filter(|sample: &&Sample| sample.volume == volume).count();
        let oldest = samples.iter().rposition(|sample| counts(sample.volume) > 1);
        samples.remove(oldest.unwrap_or(samples.len() - 1));
    }
    samples
}

/// A batch may be in place, or a part of it: what it writes is not known any more.
pub fn forget(samples: &mut Vec<Sample>, extents: &[Extent]) {
    let lies_over = |sample: &Sample, extent: &Extent| {
        extent.volume == sample.volume
            && extent.offset < sample.offset + sample.length
            && sample.offset < extent.offset + extent.length
    };
    samples.retain(|sample| !extents.iter().any(|extent| lies_over(sample, extent)));
}

/// A volume that does not hold what was put in place on it.
struct Differing {
    /// Its index in the group.
    volume: usize,
    /// Samples that differ, of how many.
    differ: usize,
    of: usize,
    /// First byte of one that differs.
    offset: u64,
    /// The volume of the group that holds all of them.
    found_on: Option<usize>,
}

impl Opening {
    /// Refuses volumes that do not hold what was put in place on them, unless it was said to take them as they are: nothing of
    /// the redo ring or of the log is put in place then.
    pub async fn check_samples(
        &self,
        origin: &OriginSuper,
        caches: &[Option<CacheSuper>],
        verdict: Verdict,
    ) -> Result<Verdict> {
        // Nobody owns the volumes: they may have been used without the cache.
        if origin.owner == 0 {
            return Ok(verdict);
        }
        let mut samples = origin.samples.clone();
        // Where the redo ring is older than the cache, the volumes may be later: by what the log repeats.
        if let (Some(_), Some(chosen)) = (&verdict.later, &verdict.chosen) {
            chosen.log.scanned.records.iter().for_each(|record| forget(&mut samples, &record.extents));
        }
        let differing = self.differing(origin, &samples).await;
        if differing.is_empty() {
            return Ok(verdict);
        }
        let OriginSuper { owner, seq, epoch, pending, bounds, .. } = *origin;
        if !(self.accepts(origin) && self.parts.settings.discard_cache) {
            return Err(self.differing_volumes(&differing, owner));
        }
        let known = caches.iter().flatten().map(|cache| cache.flushed_seq).max().unwrap_or(0);
        let writes = known.max(origin.flushed_seq).saturating_sub(seq);
        let loss =
            Loss { incarnation: owner, seq, epoch, pending, bounds, writes, parts_up_to: Some(u64::MAX) };
        Ok(Verdict { loss: Some(loss), as_found: true, later: verdict.later, chosen: None })
    }

    async fn differing(&self, origin: &OriginSuper, known: &[Sample]) -> Vec<Differing> {
        let ahead = self.beyond(origin, None);
        let mut found = Vec::new();
        for (volume, member) in self.parts.members.iter().enumerate() {
            // One that is ahead of the superblock holds later batches.
            if ahead.iter().any(|other| other.device == member.backing.name()) {
                continue;
            }
            let samples: Vec<Sample> =
                known.iter().filter(|sample| usize::from(sample.volume) == volume).copied().collect();
            let differ = self.not_on(volume, &samples).await;
            let Some(first) = differ.first() else { continue };
            let (offset, of) = (first.offset, samples.len());
            let mut found_on = None;
            for other in (0..self.parts.members.len()).filter(|other| *other != volume) {
                if found_on.is_none() && self.not_on(other, &samples).await.is_empty() {
                    found_on = Some(other);
                }
            }
            found.push(Differing { volume, differ: differ.len(), of, offset, found_on });
        }
        found
    }

    /// Those of these pieces that a volume does not hold. One that cannot be read tells nothing.
    async fn not_on(&self, volume: usize, samples: &[Sample]) -> Vec<Sample> {
        let backing = &self.parts.members[volume].backing;
        let reads = samples.iter().map(|sample| {
            Box::pin(async move {
                let piece = self.parts.pool.get(sample.length as usize);
                let is_read = io::read(backing, sample.offset, &piece).await.is_ok();
                let differs = |bytes: &[u8]| !bytes.is_empty() && crc_fast::crc32_iscsi(bytes) != sample.crc;
                (is_read && piece.with(differs)).then_some(*sample)
            })
        });
        join(reads.collect()).await.into_iter().filter_map(|(_, differing)| differing).collect()
    }

    fn differing_volumes(&self, differing: &[Differing], owner: u64) -> Error {
        let device = |volume: usize| self.parts.members[volume].backing.name().to_owned();
        let each = differing.iter().map(|Differing { volume, differ, of, offset, found_on }| {
            let is_on = found_on.map_or_else(String::new, |other| format!("; they are on `{}`", device(other)));
            format!(
                "`{}` does not hold what the group put in place on it last: {differ} of {of} pieces looked at differ, the first \
                 at byte {offset}{is_on}",
                device(*volume)
            )
        });
        let why = format!(
            "{}. It is another disk, an older copy, or a stripe of which a member is one, or whose members or `chunk` were changed; or \
             it is the newest, and `{}` and the cache are from an earlier moment",
            each.collect::<Vec<_>>().join("; "),
            self.parts.ring.name()
        );
        let bring_back = differing.iter().map(|found| {
            let device = device(found.volume);
            let text =
                format!("give `{device}` the disks that it had, in their newest state; nothing is lost");
            Remedy { action: Action::BringBack { device }, text, loses: None }
        });
        let mut remedies: Vec<Remedy> = bring_back.collect();
        remedies.push(self.take_as_found(owner));
        self.refuse(ErrorKind::Misuse, "backing_differs", why, remedies)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fathom_runtime::Runtime;
    use fathom_volume::Pool;
    use proptest::prelude::*;

    use super::{after, forget};
    use crate::writeback::live::redo_ring::{CHUNK, chunks};
    use crate::writeback::record::{Change, Extent};
    use crate::writeback::superblock::MOST_SAMPLES;

    proptest! {
        #[test]
        fn each_sample_is_of_its_place(
            steps in prop::collection::vec((0..3_u16, 1..1500_u64, 0..5_u8), 1..60),
            batch: u16,
        ) {
            let mut steps = steps;
            steps.sort_by_key(|step| step.0);
            let (mut offset, mut payload, mut extents) = (0, 0, Vec::new());
            for (volume, sectors, kind) in steps {
                let change = if kind == 0 { Change::Zero } else { Change::Write };
                let extent = Extent { volume, change, offset, length: sectors * 512 };
                payload += extent.payload();
                offset += extent.length + 512;
                extents.push(extent);
            }
            let runtime = Runtime::virtual_time(1);
            let pool = Pool::new(&runtime.context());
            let filled = chunks(&pool, payload);
            let mut seed = u64::from(batch);
            for chunk in &filled {
                chunk.with_mut(|bytes| bytes.iter_mut().for_each(|byte| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    *byte = (seed >> 56) as u8;
                }));
            }
            let all: Vec<u8> = filled.iter().flat_map(|chunk| chunk.with(<[u8]>::to_vec)).collect();
            let samples = after(&[], u64::from(batch), &extents, &filled);
            prop_assert!(samples.len() <= MOST_SAMPLES);
            let fits = |extent: &Extent| extent.change == Change::Write && extent.length <= CHUNK as u64 / 512;
            prop_assert!(!samples.is_empty() || !extents.iter().any(fits));
            for sample in &samples {
                let mut at = 0;
                for extent in &extents {
                    if (extent.volume, extent.offset) == (sample.volume, sample.offset) && extent.change == Change::Write {
                        let bytes = &all[at as usize..(at + sample.length) as usize];
                        prop_assert_eq!(crc_fast::crc32_iscsi(bytes), sample.crc);
                        prop_assert!(sample.length <= extent.length);
                    }
                    at += extent.payload();
                }
            }
            // What is not touched stays known, by all but as many pieces as there is room for; what may be written over is not.
            let one = Extent { volume: 9, change: Change::Write, offset: 0, length: 4096 };
            let page = chunks(&pool, 4096);
            page[0].with_mut(|bytes| bytes.fill(3));
            let later = after(&samples, 0, &[one], &page);
            prop_assert_eq!(later[0].volume, 9);
            prop_assert_eq!(later.len(), (samples.len() + 1).min(MOST_SAMPLES));
            page[0].with_mut(|bytes| bytes.fill(0));
            prop_assert_eq!(&after(&samples, 0, &[one], &page), &samples, "zeroes tell nothing");
            let volumes = |samples: &[super::Sample]| samples.iter().map(|sample| sample.volume).collect::<BTreeSet<_>>();
            let mut all = volumes(&samples);
            all.insert(9);
            prop_assert_eq!(volumes(&later), all);
            let mut left = samples;
            forget(&mut left, &extents);
            prop_assert!(left.is_empty());
            prop_assert!(after(&[], 0, &extents, &chunks(&Pool::hollow(), payload)).is_empty());
        }
    }
}
