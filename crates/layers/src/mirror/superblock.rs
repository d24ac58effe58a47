//! The metadata of a leg: two superblocks on its tail that are written in turn, and the blocks of the bitmap.
//!
//! ```text
//! | what the mirror shows | superblock | superblock | bitmap: one block for every 32,256 regions | end of the leg
//! ```

use crate::codec::{BLOCK, Reader, Uuid, Writer, are_countable, checksum_of};

const SUPER_MAGIC: &[u8; 8] = b"FTHMMIRS";
/// How a block of the bitmap begins.
pub const BITMAP_MAGIC: &[u8; 8] = b"FTHMMIRB";
/// The most legs of a mirror.
pub const MOST_LEGS: usize = 8;
/// Generations before the present one that a superblock names: a leg that stopped at one of them is an old copy.
pub const MOST_HISTORY: usize = 128;
/// Bits in one block of the bitmap: what is left beside its header and its age, in whole bytes.
pub const BITS_PER_BLOCK: usize = 32_256;
/// Bytes of such a block before its bits: magic, checksum, version, the mirror's name, the block's number.
const BLOCK_HEAD: usize = 40;

/// Names one generation of a mirror: the legs that belong together, from one opening or loss of a leg to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Generation {
    /// Counts up.
    pub number: u64,
    /// Tells two apart that were begun without knowing of each other.
    pub nonce: u64,
}

impl std::fmt::Display for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.nonce)
    }
}

impl std::str::FromStr for Generation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no generation; they look like 12-00f3a9c15be27d08");
        let (number, nonce) = text.split_once('-').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        let nonce = u64::from_str_radix(nonce, 16).map_err(|_| wrong())?;
        Ok(Self { number, nonce })
    }
}

/// What a superblock says of one leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// Whether it holds everything that was answered.
    pub in_sync: bool,
    /// The generations that it may carry beside the one that says so, unless it continued alone.
    pub left_at: [Generation; 2],
    /// The least age that its bitmap has, unless it is an old copy.
    pub left_age: u64,
}

/// What a leg says of the mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Super {
    /// Counts the writes of superblocks; the higher of two copies counts.
    pub counter: u64,
    /// Of the mirror.
    pub uuid: Uuid,
    /// Which of the mirror's legs this is, from 0.
    pub leg: usize,
    /// Bytes of a region.
    pub region: u64,
    /// Bytes that the mirror shows.
    pub size: u64,
    /// The generation.
    pub current: Generation,
    /// The one before.
    pub previous: Generation,
    /// By leg.
    pub entries: Vec<Entry>,
    /// Counts the writes of blocks of the bitmap. As it is written: of the last one that every leg holds; as it is read: of
    /// the latest that this leg holds.
    pub age: u64,
    /// The generations before the present one, the latest first.
    pub history: Vec<Generation>,
    /// As it is read: the volume below lacks writes that it had answered ([`Volume::went_back`](fathom_volume::Volume::went_back)).
    pub went_back: bool,
}

fn put(writer: &mut Writer<'_>, generation: Generation) {
    writer.word(generation.number).word(generation.nonce);
}

fn take(reader: &mut Reader<'_>) -> Generation {
    Generation { number: reader.word(), nonce: reader.word() }
}

impl Super {
    /// Into a block.
    pub fn encode(&self, block: &mut [u8]) {
        let mut writer = Writer::new(block, SUPER_MAGIC);
        writer.word(self.counter).bytes(&self.uuid).word(self.leg as u64).word(self.region).word(self.size);
        put(&mut writer, self.current);
        put(&mut writer, self.previous);
        writer.word(self.entries.len() as u64);
        for entry in &self.entries {
            writer.word(u64::from(entry.in_sync));
            entry.left_at.iter().for_each(|generation| put(&mut writer, *generation));
        }
        // What follows reads as zero, and as no history, where earlier versions of this layer wrote the block.
        writer.word(self.age);
        for entry in &self.entries {
            writer.word(entry.left_age);
        }
        writer.word(self.history.len() as u64);
        self.history.iter().for_each(|generation| put(&mut writer, *generation));
        writer.seal();
    }

    /// Out of a block; None if it is none, or damaged, or has implausible counts.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, SUPER_MAGIC)?;
        let (counter, uuid, leg) = (reader.word(), reader.bytes(), reader.word() as usize);
        let (region, size) = (reader.word(), reader.word());
        let (current, previous) = (take(&mut reader), take(&mut reader));
        let count = usize::try_from(reader.word()).ok().filter(|count| (1..=MOST_LEGS).contains(count))?;
        let entry = |_| Entry {
            in_sync: reader.word() != 0,
            left_at: [take(&mut reader), take(&mut reader)],
            left_age: 0,
        };
        let mut entries: Vec<Entry> = (0..count).map(entry).collect();
        let age = reader.word();
        entries.iter_mut().for_each(|entry| entry.left_age = reader.word());
        let passed = usize::try_from(reader.word()).ok().filter(|count| *count <= MOST_HISTORY)?;
        let history = (0..passed).map(|_| take(&mut reader)).collect();
        (leg < count && are_countable(&[counter, current.number, age])).then_some(Self {
            counter,
            uuid,
            leg,
            region,
            size,
            current,
            previous,
            entries,
            age,
            history,
            went_back: false,
        })
    }

    /// Whether this is a superblock that another version of this layer wrote.
    pub fn is_other_version(block: &[u8]) -> bool {
        Reader::is_other_version(block, SUPER_MAGIC)
    }
}

/// A block of the bitmap: which mirror's, which block, its bits, and which of all writes of such blocks this is.
pub fn encode_bits(block: &mut [u8], uuid: &Uuid, number: usize, bits: &[u8], age: u64) {
    let mut writer = Writer::new(block, BITMAP_MAGIC);
    writer.bytes(uuid).word(number as u64).bytes(bits).word(age).half(check(uuid, number, age));
    writer.seal();
}

// What a power cut has torn has no checksum that fits: the age, in one sector, has one of its own.
fn check(uuid: &Uuid, number: usize, age: u64) -> u32 {
    checksum_of([uuid, &(number as u64).to_le_bytes(), &age.to_le_bytes()])
}

/// The age of a block, also of one whose bits are damaged; 0 where it says none.
pub fn decode_age(block: &[u8], uuid: &Uuid, number: usize) -> u64 {
    let at = BLOCK_HEAD + BITS_PER_BLOCK / 8;
    let Some((age, rest)) = block.get(at..).and_then(<[u8]>::split_first_chunk::<8>) else { return 0 };
    let age = u64::from_le_bytes(*age);
    let said = rest.first_chunk::<4>().map(|found| u32::from_le_bytes(*found));
    if said == Some(check(uuid, number, age)) && are_countable(&[age]) { age } else { 0 }
}

/// The bits of a block; None if it is damaged, another block, or another mirror's.
pub fn decode_bits(block: &[u8], uuid: &Uuid, number: usize) -> Option<Vec<u8>> {
    let mut reader = Reader::new(block, BITMAP_MAGIC)?;
    let own = reader.bytes::<16>() == *uuid && reader.word() == number as u64;
    own.then(|| reader.bytes::<{ BITS_PER_BLOCK / 8 }>().to_vec())
}

/// The layout of a leg, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What the mirror shows.
    pub size: u64,
    /// The superblocks.
    pub superblocks: [u64; 2],
    /// The bitmap.
    pub bitmap: u64,
    /// Blocks of it.
    pub blocks: usize,
}

impl Layout {
    /// On legs of that size with sectors of that size; None if nothing is left to show.
    pub fn new(leg: u64, sector: u64, region: u64) -> Option<Self> {
        let block = BLOCK as u64;
        let whole = leg - leg % block.max(sector);
        let blocks = whole.div_ceil(region).div_ceil(BITS_PER_BLOCK as u64);
        let size = whole.checked_sub((2 + blocks) * block)?;
        let size = size - size % sector.max(block);
        let superblocks = [size, size + block];
        (size > 0).then_some(Self { size, superblocks, bitmap: size + 2 * block, blocks: blocks as usize })
    }

    /// Of a mirror that shows so many bytes, in regions of that size; None if its superblock says nonsense.
    pub fn of(size: u64, region: u64) -> Option<Self> {
        let block = BLOCK as u64;
        if size == 0 || region == 0 || !size.is_multiple_of(block) || size > u64::MAX / 2 {
            return None;
        }
        // The bitmap has a bit for every region of the whole leg, and so for its own.
        let count = |whole: u64| whole.div_ceil(region).div_ceil(BITS_PER_BLOCK as u64);
        let least = count(size).max(1);
        let blocks = (least..=least + 2).find(|blocks| count(size + (2 + blocks) * block) == *blocks)?;
        Some(Self {
            size,
            superblocks: [size, size + block],
            bitmap: size + 2 * block,
            blocks: usize::try_from(blocks).ok()?,
        })
    }

    /// Bytes of a leg that it takes.
    pub fn end(&self) -> u64 {
        self.bitmap + (self.blocks * BLOCK) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        BITS_PER_BLOCK, Entry, Generation, Layout, MOST_HISTORY, MOST_LEGS, Super, decode_age, decode_bits,
        encode_bits,
    };
    use crate::codec::BLOCK;

    fn generations() -> impl Strategy<Value = Generation> {
        (0..=1_u64 << 60, any::<u64>()).prop_map(|(number, nonce)| Generation { number, nonce })
    }

    proptest! {
        #[test]
        fn superblocks_are_read_back(
            counter in 0..=1_u64 << 60, leg in 0..3_usize, current in generations(), previous in generations(),
            entries in prop::collection::vec((any::<bool>(), generations(), generations(), any::<u64>()), 3..=MOST_LEGS),
            bit in 0..BLOCK * 8, age in 0..=1_u64 << 60, history in prop::collection::vec(generations(), 0..=MOST_HISTORY),
        ) {
            let entry = |(in_sync, a, b, left_age)| Entry { in_sync, left_at: [a, b], left_age };
            let entries = entries.into_iter().map(entry).collect();
            let made = Super {
                counter, uuid: [7; 16], leg, region: 1 << 20, size: 1 << 30, current, previous, entries, age, history, went_back: false,
            };
            let mut block = vec![0; BLOCK];
            made.encode(&mut block);
            prop_assert_eq!(Super::decode(&block), Some(made));
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Super::decode(&block), None);
            prop_assert_eq!(current.to_string().parse(), Ok(current));
        }

        #[test]
        fn blocks_of_the_bitmap_are_read_back_in_their_place_only(
            bits in prop::collection::vec(any::<u8>(), BITS_PER_BLOCK / 8), number in 0..9_usize, age in 0..=1_u64 << 60,
        ) {
            let mut block = vec![0; BLOCK];
            encode_bits(&mut block, &[3; 16], number, &bits, age);
            prop_assert_eq!(decode_bits(&block, &[3; 16], number), Some(bits));
            block[100] ^= 1;
            prop_assert_eq!(decode_bits(&block, &[3; 16], number), None);
            prop_assert_eq!(decode_age(&block, &[3; 16], number), age);
            prop_assert_eq!(decode_age(&block, &[3; 16], number + 1), 0);
            prop_assert_eq!(decode_age(&[0; BLOCK], &[3; 16], number), 0);
            block[100] ^= 1;
            prop_assert_eq!(decode_bits(&block, &[3; 16], number + 1), None);
            prop_assert_eq!(decode_bits(&block, &[4; 16], number), None);
        }

        #[test]
        fn everything_has_its_place_on_the_leg(leg in 0..1_u64 << 44, sector in 9..13_u32, region in 16..24_u32) {
            let (sector, region) = (1 << sector, 1 << region);
            if let Some(layout) = Layout::new(leg - leg % sector, sector, region) {
                let end = layout.bitmap + (layout.blocks * BLOCK) as u64;
                prop_assert!(end <= leg && layout.size % sector == 0 && layout.superblocks[0] >= layout.size);
                prop_assert!(layout.blocks as u64 * BITS_PER_BLOCK as u64 * region >= layout.size);
                let again = Layout::of(layout.size, region).expect("a leg shows that much");
                prop_assert_eq!(Layout::new(again.end(), sector, region).map(|own| own.superblocks), Some(again.superblocks));
                prop_assert_eq!(again.superblocks, layout.superblocks);
            }
        }
    }
}
