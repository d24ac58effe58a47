//! What an open does first, with or without a cache: every batch that the redo ring has committed is put in place. After
//! that the backing volumes show one moment of the log, and nothing of any later one.

use fathom_runtime::Context;
use fathom_volume::{Action, Buf, Error, ErrorKind, Pool, Refusal, Remedy, Request, Result};

use crate::codec::{BLOCK, checksums};
use crate::writeback::record::Extent;
use crate::writeback::redo::{Commit, Descriptor};
use crate::writeback::superblock::OriginSuper;

use super::io;
use super::opening::{Opening, Parts};
use super::redo_ring::{RedoRing, chunks, put_in_place};
use super::samples;

/// Requests in flight at once while batches are read back and put in place.
const WIDTH: usize = 32;

impl Opening {
    /// Puts the committed batches in place and says where the ring stands now, once the volumes' marks say so. Whatever was
    /// found must be durable already.
    pub async fn replay(&self, ring: &RedoRing, found: &OriginSuper) -> Result<OriginSuper> {
        let Parts { context, pool, .. } = &self.parts;
        let mut state = found.clone();
        while let Some((commit, crc)) = next_commit(pool, ring, found, &state).await? {
            let (Descriptor { extents, .. }, chunks) = self.read_batch(ring, &commit).await?;
            put_in_place(context, &self.origins, WIDTH, &extents, &chunks).await?;
            advance(&mut state, &commit, crc);
            state.samples = samples::after(&state.samples, commit.batch, &extents, &chunks);
            self.marks.placed(&extents, commit.last_seq);
        }
        if state.batch != found.batch {
            for origin in self.origins.iter() {
                origin.flush(Request::flush()).await?;
            }
            self.marks.write().await?;
            self.marks.require(&mut state);
        }
        Ok(state)
    }

    /// Where the ring will stand when its committed batches are in place; changes nothing. A batch that is damaged is refused
    /// here, before one ahead of it is put in place.
    pub async fn foresee(&self, ring: &RedoRing, found: &OriginSuper) -> Result<OriginSuper> {
        let mut state = found.clone();
        while let Some((commit, crc)) = next_commit(&self.parts.pool, ring, found, &state).await? {
            let (Descriptor { extents, .. }, _) = self.read_batch(ring, &commit).await?;
            advance(&mut state, &commit, crc);
            samples::forget(&mut state.samples, &extents);
        }
        Ok(state)
    }

    async fn read_batch(&self, ring: &RedoRing, commit: &Commit) -> Result<(Descriptor, Vec<Buf>)> {
        let Parts { context, pool, .. } = &self.parts;
        let (descriptor, chunks) = read_batch(context, pool, ring, commit).await?;
        if descriptor.extents.iter().any(|extent| usize::from(extent.volume) >= self.origins.len()) {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "the redo ring names a volume that the group has not got",
            ));
        }
        self.check_sectors(&descriptor.extents, &format!("the redo ring on `{}`", ring.volume.name()))?;
        Ok((descriptor, chunks))
    }
}

/// Where the ring stands behind a batch.
pub fn advance(state: &mut OriginSuper, commit: &Commit, crc: u32) {
    state.position += commit.total();
    state.batch += 1;
    state.previous = crc;
    state.seq = commit.last_seq;
    state.epoch = commit.last_epoch;
    state.pending = commit.pending;
    state.flushed_seq = state.flushed_seq.max(commit.flushed_seq);
    (state.log_end, state.log_crc) = (commit.log_end, commit.log_crc);
}

/// The commit block at the ring's position, if it is the next one. A ring holds one lap of batches from where it was
/// `found`, so none is looked for beyond that (invariant I6).
pub async fn next_commit(
    pool: &Pool,
    ring: &RedoRing,
    found: &OriginSuper,
    state: &OriginSuper,
) -> Result<Option<(Commit, u32)>> {
    let left = found.position + ring.length - state.position;
    if left < BLOCK as u64 {
        return Ok(None);
    }
    let block = pool.get(BLOCK);
    ring.read(state.position, &block).await?;
    Ok(block.with(Commit::decode).filter(|(commit, _)| {
        commit.uuid == state.uuid
            && commit.batch == state.batch
            && commit.position == state.position
            && commit.previous == state.previous
            && commit.total() <= left
    }))
}

/// A batch read back from the ring and checked: its extents, and its payload in chunks.
pub async fn read_batch(
    context: &Context,
    pool: &Pool,
    ring: &RedoRing,
    commit: &Commit,
) -> Result<(Descriptor, Vec<Buf>)> {
    let damaged = |what: &str| {
        let device = ring.volume.name();
        let message = format!(
            "the redo ring on `{device}` is damaged: {what} of batch {} is not what was committed; restore the backing volume \
             from a snapshot and keep the cache device: what its log still holds can be rolled forward. Nothing was written",
            commit.batch
        );
        Error::new(ErrorKind::Corrupt, message).advising(Refusal {
            code: "redo_ring_damaged",
            remedies: vec![Remedy {
                action: Action::BringBack { device: device.to_owned() },
                text: format!("restore `{device}` from a snapshot and keep the cache device"),
                loses: None,
            }],
        })
    };
    let padded = pool.get((commit.descriptor as usize).next_multiple_of(BLOCK));
    ring.read(commit.position + BLOCK as u64, &padded).await?;
    let encoded = padded.slice(0..commit.descriptor as usize);
    let whole = encoded.with(|bytes| crc_fast::crc32_iscsi(bytes) == commit.descriptor_crc);
    let descriptor =
        encoded.with(Descriptor::decode).filter(|_| whole).ok_or_else(|| damaged("the descriptor"))?;
    let chunks = chunks(pool, commit.payload);
    let (mut at, mut reads) = (commit.payload_at(), Vec::new());
    for chunk in &chunks {
        reads.push((at, chunk.clone()));
        at += chunk.len() as u64;
    }
    let source = ring.clone();
    io::at_once(context, WIDTH, reads, move |(position, buf)| {
        let ring = source.clone();
        async move { ring.read(position, &buf).await }
    })
    .await?;
    let mut expected = descriptor.checksums.iter();
    let whole = chunks
        .iter()
        .all(|chunk| chunk.with(|bytes| checksums(bytes).all(|crc| expected.next() == Some(&crc))));
    let lengths: u64 = descriptor.extents.iter().map(Extent::payload).sum();
    if !whole || lengths != commit.payload {
        return Err(damaged("the payload"));
    }
    Ok((descriptor, chunks))
}
