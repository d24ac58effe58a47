//! The metadata on a pool's members, in blocks of 4 KiB at their beginning.
//!
//! ```text
//! | superblock: begun | superblock: whole | map: two copies of each block, on the first member | slots for extents …
//! ```
//!
//! Every opening writes both superblocks of every member with its number, the first ones before the second ones, and one that is
//! damaged is rewritten from the other. A member whose first superblock is of an earlier opening than any second one was not
//! there when the pool was open last: it is an older copy. An opening also has a random name, and says that of the one before it:
//! two members that name one opening differently are of copies of the pool that went on apart. A block of the map is written to its first copy, then to its second
//! one; the higher version counts, and an opening makes both copies equal. So one of them may be torn, or rot, at any time.

use std::ops::Range;

use super::map::PhysicalExtent;
use crate::codec::{BLOCK, Reader, Uuid, Writer, are_countable};

const SUPER_MAGIC: &[u8; 8] = b"FTHMPOOL";
/// How a block of the map begins.
pub const MAP_MAGIC: &[u8; 8] = b"FTHMPMAP";
/// The most members.
pub const MOST_MEMBERS: usize = 64;
/// The most extents.
pub const MOST_EXTENTS: u64 = 1 << 20;
/// Places in one block of the map: what is left beside magic, checksum, version, name, number and the map's version.
pub const PLACES_PER_BLOCK: usize = (BLOCK - 48) / 8;
/// The first slot begins at a multiple of this, or of the extent if that is smaller.
const ALIGNMENT: u64 = 1 << 20;

/// What a new pool has blank at its beginning and at its end at least, bytes: what is looked at of any volume.
const LEAST_END: u64 = 1 << 20;
/// The part of its end: the superblocks of a mirror stand before a bit for each 64 KiB at most. Twice that.
const TAIL: u64 = 8 * (64 << 10) / 2;

/// The layout of every member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes the pool shows.
    pub size: u64,
    /// Bytes of an extent.
    pub extent: u64,
    /// Extents; the last may reach beyond the size.
    pub extents: usize,
    /// Where the first slot begins.
    head: u64,
}

/// A range within one extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of the extent.
    pub extent: usize,
    /// First byte within it.
    pub within: u64,
    /// Bytes.
    pub length: u64,
    /// First byte within the whole range.
    pub from: u64,
}

impl Part {
    /// Its bytes within the whole range.
    pub fn range(&self) -> Range<usize> {
        self.from as usize..(self.from + self.length) as usize
    }
}

impl Layout {
    /// Of a pool of that size with such extents; both positive, at most [`MOST_EXTENTS`] extents.
    pub fn new(size: u64, extent: u64) -> Self {
        let extents = size.div_ceil(extent) as usize;
        let blocks = 2 + 2 * extents.div_ceil(PLACES_PER_BLOCK) as u64;
        let head = (blocks * BLOCK as u64).next_multiple_of(extent.min(ALIGNMENT));
        Self { size, extent, extents, head }
    }

    /// Places on a member of that size.
    pub fn slots(&self, member: u64) -> u32 {
        u32::try_from(member.saturating_sub(self.head) / self.extent).unwrap_or(u32::MAX)
    }

    /// What of a new pool is blank whatever its members held: its beginning and its end.
    pub fn ends(&self) -> [Range<u64>; 2] {
        let tail = self.size.saturating_sub(LEAST_END.max(self.size / TAIL / LEAST_END * LEAST_END));
        [0..LEAST_END.min(tail), tail..self.size]
    }

    /// Where a slot begins, plus so many bytes.
    #[inline]
    pub fn offset(&self, place: PhysicalExtent, within: u64) -> u64 {
        self.head + u64::from(place.slot) * self.extent + within
    }

    /// Bytes of an extent that the pool shows.
    pub fn shown(&self, extent: usize) -> u64 {
        (self.size - extent as u64 * self.extent).min(self.extent)
    }

    /// Blocks of the map.
    pub fn blocks(&self) -> usize {
        self.extents.div_ceil(PLACES_PER_BLOCK)
    }

    /// Extents that a block of the map covers.
    pub fn block_extents(&self, block: usize) -> Range<usize> {
        let first = block * PLACES_PER_BLOCK;
        first..(first + PLACES_PER_BLOCK).min(self.extents)
    }

    /// Offset of a copy, 0 or 1, of a block of the map.
    pub fn block_offset(block: usize, copy: usize) -> u64 {
        (2 + 2 * block as u64 + copy as u64) * BLOCK as u64
    }

    /// Where both copies of all blocks of the map are, on the first member.
    pub fn map(&self) -> Range<u64> {
        Self::block_offset(0, 0)..Self::block_offset(self.blocks(), 0)
    }

    /// A range of the volume, cut at the borders of extents, in parts of at most `longest` bytes.
    pub fn parts(&self, offset: u64, length: u64, longest: u64) -> impl Iterator<Item = Part> + use<> {
        let extent = self.extent;
        let mut done = 0;
        std::iter::from_fn(move || {
            (done < length).then(|| {
                let at = offset + done;
                let within = at % extent;
                let part = (length - done).min(extent - within).min(longest);
                let part = Part { extent: (at / extent) as usize, within, length: part, from: done };
                done += part.length;
                part
            })
        })
    }
}

/// The superblocks of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Super {
    /// Of the pool.
    pub uuid: Uuid,
    /// Its index in the list of members.
    pub member: usize,
    /// Bytes of an extent.
    pub extent: u64,
    /// Bytes the pool shows.
    pub size: u64,
    /// Bytes of its sectors when it was made.
    pub sector: u64,
    /// Which opening of the pool wrote this; 1 made it.
    pub opening: u64,
    /// The random name of that opening, and of the one before it; 0 if not known.
    pub lives: [u32; 2],
}

impl Super {
    /// Whether both are of the same member of the same pool, whichever opening wrote them.
    pub fn is_like(&self, other: &Self) -> bool {
        Self { opening: other.opening, lives: other.lives, ..*self } == *other
    }

    /// Whether both name an opening that both know of alike.
    pub fn agrees(&self, other: &Self) -> bool {
        let known = |said: &Self| [0, 1].map(|ago| (said.opening.checked_sub(ago), said.lives[ago as usize]));
        let is_other = |(one, other): ((Option<u64>, u32), (Option<u64>, u32))| {
            one.0 == other.0 && one.1 != other.1 && one.1 != 0 && other.1 != 0
        };
        !known(self).into_iter().any(|one| known(other).into_iter().any(|other| is_other((one, other))))
    }

    /// Into a block.
    pub fn encode(&self, block: &mut [u8]) {
        let mut writer = Writer::new(block, SUPER_MAGIC);
        writer.bytes(&self.uuid).word(self.member as u64).word(self.extent).word(self.size);
        writer.word(self.sector).word(self.opening).half(self.lives[0]).half(self.lives[1]);
        writer.seal();
    }

    /// Out of a block; None if it is none.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, SUPER_MAGIC)?;
        let (uuid, member) = (reader.bytes(), reader.word());
        let (extent, size, sector, opening) = (reader.word(), reader.word(), reader.word(), reader.word());
        let lives = [reader.half(), reader.half()];
        let found = Self { uuid, member: member as usize, extent, size, sector, opening, lives };
        let sound = member < MOST_MEMBERS as u64 && are_countable(&[extent, size, sector, opening]);
        sound.then_some(found)
    }

    /// Whether a block is a superblock of another version of Fathom.
    pub fn is_other_version(block: &[u8]) -> bool {
        block.len() >= BLOCK && Reader::is_other_version(block, SUPER_MAGIC)
    }
}

/// Puts a block of the map together.
pub fn encode_places(block: &mut [u8], uuid: &Uuid, number: usize, version: u64, places: &[PhysicalExtent]) {
    let mut writer = Writer::new(block, MAP_MAGIC);
    writer.bytes(uuid).word(number as u64).word(version);
    for place in places {
        writer.half(place.member as u32).half(place.slot);
    }
    writer.seal();
}

/// Its version and so many slots; None if it is not that block of that pool.
pub fn decode_places(
    block: &[u8],
    uuid: &Uuid,
    number: usize,
    count: usize,
) -> Option<(u64, Vec<PhysicalExtent>)> {
    let mut reader = Reader::new(block, MAP_MAGIC)?;
    let own = reader.bytes::<16>() == *uuid && reader.word() == number as u64;
    let version = reader.word();
    let mut place = || PhysicalExtent { member: reader.half() as usize, slot: reader.half() };
    let places = (0..count.min(PLACES_PER_BLOCK)).map(|_| place()).collect();
    (own && are_countable(&[version])).then_some((version, places))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, Layout, PLACES_PER_BLOCK, PhysicalExtent, Super, decode_places, encode_places};

    proptest! {
        #[test]
        fn parts_cover_a_range_once_and_stay_within_their_extent(
            extent in 1..50_u64, offset in 0..400_u64, length in 1..400_u64, longest in 1..60_u64,
        ) {
            let layout = Layout { size: 1000, extent, extents: 1000_u64.div_ceil(extent) as usize, head: 0 };
            let mut at = 0;
            for part in layout.parts(offset, length, longest) {
                prop_assert_eq!(part.from, at);
                prop_assert_eq!(part.extent as u64 * extent + part.within, offset + at);
                prop_assert!(part.length > 0 && part.length <= longest && part.within + part.length <= extent);
                at += part.length;
            }
            prop_assert_eq!(at, length);
        }

        #[test]
        fn what_is_written_is_read_and_other_blocks_are_not(
            uuid in any::<[u8; 16]>(), number in 0..9_usize, version in 0..1000_u64,
            places in prop::collection::vec((0..64_usize, any::<u32>()), 0..=PLACES_PER_BLOCK), noise in prop::collection::vec(any::<u8>(), BLOCK),
        ) {
            let places: Vec<PhysicalExtent> = places.into_iter().map(|(member, slot)| PhysicalExtent { member, slot }).collect();
            let mut block = vec![0; BLOCK];
            encode_places(&mut block, &uuid, number, version, &places);
            prop_assert_eq!(decode_places(&block, &uuid, number, places.len()), Some((version, places)));
            prop_assert_eq!(decode_places(&block, &uuid, number + 1, 1), None);
            let found = Super { uuid, member: number, extent: 1 << 20, size: version, sector: 512, opening: version + 1, lives: [7, version as u32] };
            found.encode(&mut block);
            prop_assert_eq!(Super::decode(&block), Some(found));
            prop_assert!(block[512..].iter().all(|byte| *byte == 0), "one sector holds it");
            prop_assert_eq!(Super::decode(&noise), None);
            prop_assert_eq!(decode_places(&noise, &uuid, 0, 1), None);
        }
    }
}
