//! Reading and writing superblocks: two copies in turn, each durable when it counts.

use fathom_volume::{Buf, Handle, Pool, Result};

use crate::codec::{BLOCK, Reader};
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::{Live, io};

/// What stands where a pair of superblocks belongs, if neither is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// Zeroes.
    Nothing,
    /// One that is damaged, and no other: as the first write of all leaves it that was cut off.
    One,
    /// Two that are damaged.
    Both,
    /// Whatever it is, the group's own log follows.
    OwnLog,
    /// Something else.
    Other,
}

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
        self.blocks.iter().all(|block| block.with(is_blank))
    }

    /// What stands there, if neither is whole.
    pub fn instead(&self, magic: &[u8; 8]) -> Instead {
        let blank = self.blocks.iter().filter(|block| block.with(is_blank)).count();
        match (blank, self.are_of(magic)) {
            (2, _) => Instead::Nothing,
            (_, false) => Instead::Other,
            (1, true) => Instead::One,
            (_, true) => Instead::Both,
        }
    }

    /// The copy that is not whole beside one that is.
    pub fn torn(&self, is_whole: impl Fn(&[u8]) -> bool, magic: &[u8; 8]) -> Option<usize> {
        let whole = [0, 1].map(|copy: usize| self.blocks[copy].with(&is_whole));
        let torn = whole.iter().any(|whole| *whole).then(|| whole.iter().position(|whole| !whole))??;
        let is_other = |bytes: &[u8]| is_blank(bytes) || Reader::is_other_version(bytes, magic);
        (!self.blocks[torn].with(is_other)).then_some(torn)
    }

    /// Whether another version of this program wrote them.
    pub fn are_of_another_version(&self, magic: &[u8; 8]) -> bool {
        self.blocks
            .iter()
            .any(|block| block.with(|bytes| !bytes.is_empty() && Reader::is_other_version(bytes, magic)))
    }

    /// Whether one of them says that it is of this kind, damaged or not.
    pub fn are_of(&self, magic: &[u8; 8]) -> bool {
        self.blocks.iter().any(|block| block.with(|bytes| bytes.starts_with(magic)))
    }

    /// The copy with the highest count.
    pub fn newest<T>(&self, decode: impl Fn(&[u8]) -> Option<T>, counter: impl Fn(&T) -> u64) -> Option<T> {
        self.blocks.iter().filter_map(|block| block.with(&decode)).max_by_key(counter)
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
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
    io::write(volume, at[(counter % 2) as usize], &block, true).await
}

impl Live {
    /// Changes the group's superblock on the backing side.
    pub async fn update_origin(&self, change: impl FnOnce(&mut OriginSuper)) -> Result<()> {
        let _turn = self.origin_turn.take().await;
        let mut next = self.origin_super.borrow().clone();
        change(&mut next);
        self.write_origin_super(next).await
    }

    /// Changes the superblock of the cache devices.
    pub async fn update_cache(&self, change: impl FnOnce(&mut CacheSuper)) -> Result<()> {
        let _turn = self.cache_turn.take().await;
        let mut next = self.cache_super.get();
        change(&mut next);
        self.write_cache_super(next).await
    }

    /// Writes the group's superblock on the backing side. The caller has the turn.
    pub async fn write_origin_super(&self, mut next: OriginSuper) -> Result<()> {
        next.counter = self.origin_super.borrow().counter + 1;
        next.flushed_seq = self.state.borrow().flushed_seq;
        write(&self.pool, &self.ring.volume, self.origin_at, next.counter, |bytes| next.encode(bytes))
            .await?;
        *self.origin_super.borrow_mut() = next;
        Ok(())
    }

    /// Writes the cache devices' superblock. The caller has the turn.
    pub async fn write_cache_super(&self, mut next: CacheSuper) -> Result<()> {
        next.counter = self.cache_super.get().counter + 1;
        next.flushed_seq = self.state.borrow().flushed_seq;
        self.write_leg_supers(&next).await?;
        self.cache_super.set(next);
        Ok(())
    }
}
