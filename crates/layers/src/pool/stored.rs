//! Reads and writes the metadata on a pool's members.

use fathom_volume::{Buf, Error, ErrorKind, Request, Result};

use super::map::PhysicalExtent;
use super::metadata::{Layout, MAP_MAGIC, Super, decode_places, encode_places};
use super::parts::Parts;
use crate::codec::{BLOCK, Uuid};
use crate::head::{Leftovers, Look, first_use};
use crate::side_by_side::side_by_side;

/// The superblocks of a member.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: it is all zeroes where superblocks would be.
    Blank,
    /// It was being taken in, and nothing was placed on it.
    Begun(Super),
    /// It belongs to a pool: what its first superblock says, and which opening wrote the second one. If one of them is
    /// damaged, the other one speaks for it.
    Whole(Super, u64),
    /// A pool that another version of Fathom made.
    OtherVersion,
    /// Something else, from that byte on.
    Foreign(u64),
}

async fn read_block(parts: &Parts, member: usize, at: u64) -> Result<Buf> {
    let block = parts.pool.get(BLOCK);
    parts.members[member].read(Request::new(at, BLOCK as u64), block.clone()).await?;
    Ok(block)
}

/// The superblocks of a member, after a flush: no power cut can undo them.
///
/// # Errors
/// The first that the member gives.
pub async fn identify(parts: &Parts, member: usize) -> Result<Found> {
    parts.members[member].flush(Request::flush()).await?;
    let mut blocks = Vec::new();
    for at in [0, BLOCK as u64] {
        blocks.push(read_block(parts, member, at).await?);
    }
    let is_blank = |block: &Buf| block.with(|bytes| bytes.iter().all(|byte| *byte == 0));
    let decode = |block: &Buf| block.with(Super::decode);
    Ok(match (decode(&blocks[0]), decode(&blocks[1])) {
        _ if blocks.iter().any(|block| block.with(Super::is_other_version)) => Found::OtherVersion,
        (Some(first), Some(second)) if first.is_like(&second) => Found::Whole(first, second.opening),
        (Some(first), None) if is_blank(&blocks[1]) => Found::Begun(first),
        (Some(first), None) => Found::Whole(first, 0),
        (None, Some(second)) => Found::Whole(second, second.opening),
        (None, None) if blocks.iter().all(is_blank) => {
            in_use(parts, member).await?.map_or(Found::Blank, Found::Foreign)
        }
        _ => {
            let used = |block: &Buf| block.with(|bytes| bytes.iter().position(|byte| *byte != 0));
            let at = blocks.iter().zip([0, BLOCK]).find_map(|(block, at)| Some(at + used(block)?));
            Found::Foreign(at.unwrap_or(0) as u64)
        }
    })
}

/// Where a member without superblocks holds something nevertheless.
async fn in_use(parts: &Parts, member: usize) -> Result<Option<u64>> {
    // A simulated one holds what its run wrote.
    if parts.context.is_virtual() {
        return Ok(None);
    }
    // The map is written before the first superblock.
    let left = (member == 0).then(|| Leftovers { range: parts.layout.map(), magic: MAP_MAGIC });
    let volume = &parts.members[member];
    first_use(&parts.pool, volume, volume.geometry().size, Look::Ends, left.as_ref()).await
}

/// A block of the map.
pub struct MapBlock {
    /// Of the newest copy.
    pub version: u64,
    /// Of its extents.
    pub places: Vec<PhysicalExtent>,
    /// The copy that does not say the same, if any: older, torn or damaged.
    pub older: Option<usize>,
}

/// Every block of the map.
///
/// # Errors
/// If both copies of a block are damaged, or the first member fails.
pub async fn read_map(parts: &Parts, uuid: &Uuid) -> Result<Vec<MapBlock>> {
    let mut blocks = Vec::with_capacity(parts.layout.blocks());
    for number in 0..parts.layout.blocks() {
        let mut copies = Vec::with_capacity(2);
        for copy in [0, 1] {
            let block = read_block(parts, 0, Layout::block_offset(number, copy)).await?;
            let count = parts.layout.block_extents(number).len();
            copies.push(block.with(|bytes| decode_places(bytes, uuid, number, count)));
        }
        let version = |copy: usize| copies[copy].as_ref().map(|(version, _)| *version);
        let newest = usize::from(version(1) > version(0));
        let older = (copies[0] != copies[1]).then_some(1 - newest);
        let Some((version, places)) = copies.swap_remove(newest) else {
            let why = format!(
                "pool `{}`: both copies of block {number} of the map on `{}` are damaged; bring back what it held, or restore the pool from a backup",
                parts.name,
                parts.members[0].name()
            );
            return Err(Error::new(ErrorKind::Corrupt, why));
        };
        blocks.push(MapBlock { version, places, older });
    }
    Ok(blocks)
}

/// Writes a copy of a block of the map: its number, which copy, its version.
///
/// # Errors
/// If the first member fails.
pub async fn write_places(
    parts: &Parts,
    uuid: &Uuid,
    (number, copy, version): (usize, usize, u64),
    places: &[PhysicalExtent],
) -> Result<()> {
    let block = parts.block(|bytes| encode_places(bytes, uuid, number, version, places));
    let at = Request::new(Layout::block_offset(number, copy), BLOCK as u64).with_fua(true);
    parts.members[0].write(at, block).await
}

/// Writes the first (0) or second (1) superblocks of these members.
///
/// # Errors
/// The first that a member gives.
pub async fn write_superblocks(parts: &Parts, said: Super, copy: usize, members: &[usize]) -> Result<()> {
    let write = |member: &usize| {
        let own = Super { member: *member, ..said };
        let at = Request::new((copy * BLOCK) as u64, BLOCK as u64).with_fua(true);
        parts.members[*member].write(at, parts.block(|bytes| own.encode(bytes)))
    };
    side_by_side(members.iter().map(write).collect()).await
}
