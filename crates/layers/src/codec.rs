//! Fields of the blocks that are written to devices: little-endian, at fixed offsets, sealed by a CRC32C.

use std::ops::Range;

use crc_fast::{CrcAlgorithm, Digest, crc32_iscsi};

/// Everything on the cache device and in the redo ring is a multiple of this, in bytes.
pub const BLOCK: usize = 4096;

/// The whole blocks that hold a range of bytes.
pub fn blocks_of(range: Range<u64>) -> Range<u64> {
    let block = BLOCK as u64;
    range.start - range.start % block..range.end.next_multiple_of(block)
}

/// Position of a sealed block's checksum.
const CRC_AT: usize = 8;
/// Where the fields of a sealed block begin: after magic, checksum and version.
const FIELDS_AT: usize = 16;

/// The version of everything this layer writes: 3 to 5 added fields behind those of 2, which read as zero, "not known", in
/// blocks of an earlier version. An earlier Fathom would drop them.
const VERSION: u32 = 5;
/// The oldest version that is read.
const OLDEST: u32 = 2;

/// More than anything that is counted or measured here has ever come to: what counts on from below it has room.
const MOST_COUNTED: u64 = 1 << 60;

/// Whether all of these are plausible counts; if not, they were never written.
pub fn are_countable(numbers: &[u64]) -> bool {
    numbers.iter().all(|number| *number <= MOST_COUNTED)
}

/// Names a consistency group; drawn when it is created.
pub type Uuid = [u8; 16];

/// Puts fields into a block, one after the other.
pub struct Writer<'a> {
    block: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Begins a block of that kind; what is not written stays zero.
    pub fn new(block: &'a mut [u8], magic: &[u8; 8]) -> Self {
        block[..BLOCK].fill(0);
        block[..8].copy_from_slice(magic);
        block[CRC_AT + 4..CRC_AT + 8].copy_from_slice(&VERSION.to_le_bytes());
        Self { block, at: FIELDS_AT }
    }

    /// A field of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.block[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self
    }

    /// A 64-bit field.
    pub fn word(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// A 32-bit field.
    pub fn half(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Seals the block; the checksum.
    pub fn seal(self) -> u32 {
        seal(self.block)
    }
}

/// Puts the checksum into a block whose other bytes are in place.
pub fn seal(block: &mut [u8]) -> u32 {
    let crc = crc_of(&block[..BLOCK]);
    block[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    crc
}

fn crc_of(block: &[u8]) -> u32 {
    checksum_of([&block[..CRC_AT], &[0; 4], &block[CRC_AT + 4..]])
}

/// The checksum of these bytes, one after the other.
pub fn checksum_of<const N: usize>(parts: [&[u8]; N]) -> u32 {
    let mut crc = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| crc.update(part));
    crc.finalize() as u32
}

/// Takes fields out of a block, one after the other. Past the end every field reads as zero.
pub struct Reader<'a> {
    block: &'a [u8],
    at: usize,
    crc: u32,
}

impl<'a> Reader<'a> {
    /// A block of that kind; None if it is another, of another version, or damaged.
    pub fn new(block: &'a [u8], magic: &[u8; 8]) -> Option<Self> {
        let block = block.get(..BLOCK)?;
        if &block[..8] != magic {
            return None;
        }
        let mut reader = Self { block, at: CRC_AT, crc: 0 };
        reader.crc = reader.half();
        let version = reader.half();
        ((OLDEST..=VERSION).contains(&version) && reader.crc == crc_of(block)).then_some(reader)
    }

    /// Whether this is a whole block of that kind that another version wrote.
    pub fn is_other_version(block: &[u8], magic: &[u8; 8]) -> bool {
        let mut reader = Reader { block, at: CRC_AT, crc: 0 };
        let (crc, version) = (reader.half(), reader.half());
        block.starts_with(magic) && !(OLDEST..=VERSION).contains(&version) && crc == crc_of(&block[..BLOCK])
    }

    /// The block's checksum.
    pub fn crc(&self) -> u32 {
        self.crc
    }

    /// A field of bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(found) = self.block.get(self.at..self.at + N) {
            bytes.copy_from_slice(found);
        }
        self.at += N;
        bytes
    }

    /// A 64-bit field.
    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A 32-bit field.
    pub fn half(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// How many bytes of the block are left.
    pub fn left(&self) -> usize {
        BLOCK.saturating_sub(self.at)
    }
}

/// The checksum of each block of a payload; the last may be shorter.
pub fn checksums(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks(BLOCK).map(crc32_iscsi)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, Reader, Writer};

    proptest! {
        #[test]
        fn a_block_with_any_bit_flipped_is_refused(word in any::<u64>(), half in any::<u32>(), bit in 0..BLOCK * 8) {
            let mut block = vec![0xAA; BLOCK];
            let mut writer = Writer::new(&mut block, b"FTHMTEST");
            writer.word(word).half(half);
            let crc = writer.seal();
            let mut reader = Reader::new(&block, b"FTHMTEST").expect("it is whole");
            prop_assert_eq!((reader.crc(), reader.word(), reader.half()), (crc, word, half));
            prop_assert!(Reader::new(&block, b"FTHMOTHR").is_none());
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Reader::new(&block, b"FTHMTEST").is_none());
        }
    }
}
