//! A device of a group that somebody is about to use without the group.

use fathom_volume::{Handle, Pool, Result};

use super::misplaced::at_the_end;
use super::superblocks::Copies;
use crate::codec::BLOCK;
use crate::writeback::superblock::{CacheSuper, OriginSuper};

/// What a device of a group has to do with writes that are in its cache alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undrained {
    /// It has not got them.
    Backing,
    /// It holds them.
    Cache,
}

/// Whether this volume is a device of a group that was not drained, as its superblocks say: the first backing volume by name, the
/// ring or a cache. After a planned stop, and on all other volumes, None.
pub async fn undrained(pool: &Pool, volume: &Handle) -> Result<Option<Undrained>> {
    let block = BLOCK as u64;
    if volume.geometry().size < 4 * block {
        return Ok(None);
    }
    let origin = |copies: &Copies| {
        let found = copies.newest(OriginSuper::decode, |found| found.counter);
        found.is_some_and(|found| found.owner != 0)
    };
    let first = Copies::read(pool, volume, [0, block]).await?;
    if first.newest(CacheSuper::decode, |found| found.counter).is_some_and(|found| found.dirty) {
        return Ok(Some(Undrained::Cache));
    }
    let last = Copies::read(pool, volume, at_the_end(volume)).await?;
    Ok((origin(&first) || origin(&last)).then_some(Undrained::Backing))
}
