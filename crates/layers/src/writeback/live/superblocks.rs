//! Reading and writing superblocks: two copies in turn, each durable when it counts.

use fathom_volume::{Buf, Handle, Pool, Result};

use crate::writeback::codec::BLOCK;
use crate::writeback::mutation::{Mutation, mutated};
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::{Live, io};

/// Two blocks as they were found.
pub struct Copies {
    blocks: [Buf; 2],
}

impl Copies {
    pub async fn read(pool: &Pool, volume: &Handle, at: [u64; 2]) -> Result<Self> {
        let blocks = [pool.get(BLOCK), pool.get(BLOCK)];
        for (offset, block) in at.into_iter().zip(&blocks) {
            io::read(volume, offset, block).await?;
        }
        Ok(Self { blocks })
    }

    /// Whether nobody ever wrote them; without payload nobody has.
    pub fn are_blank(&self) -> bool {
        self.blocks.iter().all(|block| block.with(|bytes| bytes.iter().all(|byte| *byte == 0)))
    }

    /// The copy with the highest count.
    pub fn newest<T>(&self, decode: impl Fn(&[u8]) -> Option<T>, counter: impl Fn(&T) -> u64) -> Option<T> {
        let found = self.blocks.iter().filter_map(|block| block.with(&decode));
        if mutated(Mutation::SuperblockOldestWins) {
            found.min_by_key(counter)
        } else {
            found.max_by_key(counter)
        }
    }
}

/// Writes a superblock whose counter says which copy it is.
pub async fn write(
    pool: &Pool,
    volume: &Handle,
    at: [u64; 2],
    counter: u64,
    encode: impl Fn(&mut [u8]),
) -> Result<()> {
    let block = pool.get(BLOCK);
    block.with_mut(|bytes| {
        if !bytes.is_empty() {
            encode(bytes);
        }
    });
    let copy = if mutated(Mutation::SuperblockInOnePlace) { 0 } else { counter % 2 };
    io::write(volume, at[copy as usize], &block, !mutated(Mutation::SuperblockWithoutFua)).await
}

impl Live {
    /// Writes the group's superblock on the backing side.
    pub async fn write_origin_super(&self, mut next: OriginSuper) -> Result<()> {
        next.counter = self.origin_super.borrow().counter + 1;
        write(&self.pool, &self.ring.volume, self.origin_at, next.counter, |bytes| next.encode(bytes))
            .await?;
        *self.origin_super.borrow_mut() = next;
        Ok(())
    }

    /// Writes the cache device's superblock.
    pub async fn write_cache_super(&self, mut next: CacheSuper) -> Result<()> {
        next.counter = self.cache_super.get().counter + 1;
        write(&self.pool, &self.cache, self.cache_at, next.counter, |bytes| next.encode(bytes)).await?;
        self.cache_super.set(next);
        Ok(())
    }
}
