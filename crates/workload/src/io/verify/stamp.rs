//! What verify mode writes into each sector, and what a sector read back shows.
//!
//! Layout, little endian: 8 bytes of magic, 8 of the run's key, 8 of the offset on the volume, 4 of the generation, 4 of
//! the volume's tag; then words that differ from sector to sector; the last 4 bytes hold the CRC-32C of all before.

const MAGIC: [u8; 8] = *b"FATHOM\x00\x01";
const HEADER: usize = 32;
const SUM: usize = 4;

/// The writer: distinct from earlier runs and from other volumes of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Author {
    /// The same for all stamps of a run, different in other runs.
    pub key: u64,
    /// The volume.
    pub tag: u32,
}

/// What a sector holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A whole stamp of this run, for this volume and offset: its generation.
    Generation(u32),
    /// A whole stamp of this run that belongs to another place: offset, and whether it is of this volume.
    Elsewhere {
        /// Where it belongs, bytes.
        offset: u64,
        /// Whether on this volume.
        here: bool,
    },
    /// A whole stamp of another run.
    Foreign,
    /// Only zeroes.
    Zeroes,
    /// Neither zeroes nor a whole stamp.
    Broken,
}

/// Stamps a sector.
pub fn write(sector: &mut [u8], author: Author, offset: u64, generation: u32) {
    let body = sector.len() - SUM;
    sector[..8].copy_from_slice(&MAGIC);
    sector[8..16].copy_from_slice(&author.key.to_le_bytes());
    sector[16..24].copy_from_slice(&offset.to_le_bytes());
    sector[24..28].copy_from_slice(&generation.to_le_bytes());
    sector[28..HEADER].copy_from_slice(&author.tag.to_le_bytes());
    // A Weyl sequence: cheap, and no two sectors or generations alike.
    let mut word = author.key ^ offset.rotate_left(17) ^ (u64::from(generation) << 40);
    let mut chunks = sector[HEADER..body].chunks_exact_mut(8);
    for chunk in &mut chunks {
        word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    chunks.into_remainder().fill(0x5A);
    let sum = crc_fast::crc32_iscsi(&sector[..body]);
    sector[body..].copy_from_slice(&sum.to_le_bytes());
}

/// Reads a sector that should be stamped by `author` for `offset`.
pub fn read(sector: &[u8], author: Author, offset: u64) -> Found {
    let body = sector.len() - SUM;
    let word = |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_le_bytes(sector[at..at + 4].try_into().expect("four bytes"));
    if sector[..8] != MAGIC || crc_fast::crc32_iscsi(&sector[..body]) != half(body) {
        return if sector.iter().all(|byte| *byte == 0) { Found::Zeroes } else { Found::Broken };
    }
    if word(8) != author.key {
        return Found::Foreign;
    }
    let here = half(28) == author.tag;
    if here && word(16) == offset {
        Found::Generation(half(24))
    } else {
        Found::Elsewhere { offset: word(16), here }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Author, Found, read, write};

    const AUTHOR: Author = Author { key: 7, tag: 3 };

    fn stamped(length: usize, offset: u64, generation: u32) -> Vec<u8> {
        let mut sector = vec![0; length];
        write(&mut sector, AUTHOR, offset, generation);
        sector
    }

    #[test]
    fn a_stamp_tells_who_where_and_when() {
        for length in [512, 4096] {
            let sector = stamped(length, 8192, 5);
            assert_eq!(read(&sector, AUTHOR, 8192), Found::Generation(5));
            assert_eq!(read(&sector, AUTHOR, 0), Found::Elsewhere { offset: 8192, here: true });
            assert_eq!(
                read(&sector, Author { tag: 4, ..AUTHOR }, 8192),
                Found::Elsewhere { offset: 8192, here: false }
            );
            assert_eq!(read(&sector, Author { key: 8, ..AUTHOR }, 8192), Found::Foreign);
        }
        assert_eq!(read(&[0; 512], AUTHOR, 0), Found::Zeroes);
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(offset in 0_u64..1 << 40, generation: u32, bit in 0_usize..512 * 8) {
            let mut sector = stamped(512, offset * 512, generation);
            sector[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(read(&sector, AUTHOR, offset * 512), Found::Broken);
        }

        #[test]
        fn a_sector_torn_anywhere_between_two_generations_is_found(cut in 25_usize..511) {
            let (old, new) = (stamped(512, 0, 1), stamped(512, 0, 2));
            let torn = [&new[..cut], &old[cut..]].concat();
            prop_assert_eq!(read(&torn, AUTHOR, 0), Found::Broken);
        }
    }
}
