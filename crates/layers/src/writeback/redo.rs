//! The redo ring: batches on their way to the backing volumes. A batch stands in the ring as commit block, descriptor
//! (extents and checksums) and payload; it counts from the moment its commit block is durable, which is written last.

use super::record::{Change, Extent, SECTOR};
use crate::codec::{BLOCK, Reader, Uuid, Writer, are_countable};

const MAGIC: &[u8; 8] = b"FTHMWRDO";
/// Bytes of one extent in a descriptor.
const EXTENT: usize = 16;

/// What the cache held beyond a point of the log: what a loss of the cache would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending {
    /// Bytes of the log.
    pub bytes: u64,
    /// Flushes that were answered.
    pub epochs: u64,
    /// Age of the oldest write among them, ns.
    pub age: u64,
}

impl Pending {
    pub(super) fn encode(&self, writer: &mut Writer<'_>) {
        writer.word(self.bytes).word(self.epochs).word(self.age);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Self {
        Self { bytes: reader.word(), epochs: reader.word(), age: reader.word() }
    }
}

/// The commit block of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// Of the group.
    pub uuid: Uuid,
    /// Which made it.
    pub incarnation: u64,
    /// Counts batches.
    pub batch: u64,
    /// Where in the ring it stands; positions only grow.
    pub position: u64,
    /// Bytes of the descriptor, without padding.
    pub descriptor: u64,
    /// Bytes of the payload, without padding.
    pub payload: u64,
    /// Number of its first extent in the total order of the log.
    pub first_seq: u64,
    /// Number of its last.
    pub last_seq: u64,
    /// Epoch of its last.
    pub last_epoch: u64,
    /// What the cache held beyond it at this moment.
    pub pending: Pending,
    /// Checksum of the descriptor.
    pub descriptor_crc: u32,
    /// Checksum of the commit block before this one.
    pub previous: u32,
    /// Every write up to this number was flushed on the cache device when this was made; 0 if not known.
    pub flushed_seq: u64,
    /// Position of the log behind its last extent's record.
    pub log_end: u64,
    /// Checksum of that record's header.
    pub log_crc: u32,
}

impl Commit {
    /// Into a block; its checksum.
    pub fn encode(&self, block: &mut [u8]) -> u32 {
        let mut writer = Writer::new(block, MAGIC);
        writer.bytes(&self.uuid).word(self.incarnation).word(self.batch).word(self.position);
        writer
            .word(self.descriptor)
            .word(self.payload)
            .word(self.first_seq)
            .word(self.last_seq)
            .word(self.last_epoch);
        self.pending.encode(&mut writer);
        writer.half(self.descriptor_crc).half(self.previous);
        writer.word(self.flushed_seq).word(self.log_end).half(self.log_crc);
        writer.seal()
    }

    /// Out of a block, with its checksum; None if it is none, or damaged.
    pub fn decode(block: &[u8]) -> Option<(Self, u32)> {
        let mut reader = Reader::new(block, MAGIC)?;
        let commit = Self {
            uuid: reader.bytes(),
            incarnation: reader.word(),
            batch: reader.word(),
            position: reader.word(),
            descriptor: reader.word(),
            payload: reader.word(),
            first_seq: reader.word(),
            last_seq: reader.word(),
            last_epoch: reader.word(),
            pending: Pending::decode(&mut reader),
            descriptor_crc: reader.half(),
            previous: reader.half(),
            flushed_seq: reader.word(),
            log_end: reader.word(),
            log_crc: reader.half(),
        };
        let Self {
            incarnation, batch, position, descriptor, payload, first_seq, last_seq, last_epoch, ..
        } = commit;
        let numbers = [incarnation, batch, position, descriptor, payload, first_seq, last_seq, last_epoch];
        let countable = are_countable(&numbers) && are_countable(&[commit.flushed_seq, commit.log_end]);
        countable.then_some((commit, reader.crc()))
    }

    /// Bytes it takes in the ring.
    pub fn total(&self) -> u64 {
        footprint(self.descriptor, self.payload)
    }

    /// Position of the payload.
    pub fn payload_at(&self) -> u64 {
        payload_at(self.position, self.descriptor)
    }
}

/// Where the payload begins of a batch at that position, with a descriptor of that many bytes.
pub fn payload_at(position: u64, descriptor: u64) -> u64 {
    position + BLOCK as u64 + descriptor.next_multiple_of(BLOCK as u64)
}

/// Bytes in the ring of a batch with a descriptor and a payload of that many bytes.
pub fn footprint(descriptor: u64, payload: u64) -> u64 {
    let block = BLOCK as u64;
    block + descriptor.next_multiple_of(block) + payload.next_multiple_of(block)
}

/// Bytes of a descriptor.
pub fn descriptor_length(extents: usize, payload: u64) -> u64 {
    8 + (extents * EXTENT) as u64 + payload.div_ceil(BLOCK as u64) * 4
}

/// A descriptor: what goes where, and the checksum of each block of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Sorted by volume and offset; none overlap.
    pub extents: Vec<Extent>,
    /// Of each block of the payload.
    pub checksums: Vec<u32>,
}

impl Descriptor {
    /// Into bytes, [`descriptor_length`] many.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.extents.len() * EXTENT + self.checksums.len() * 4);
        bytes.extend_from_slice(&(self.extents.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.checksums.len() as u32).to_le_bytes());
        for extent in &self.extents {
            bytes.extend_from_slice(&extent.volume.to_le_bytes());
            bytes.extend_from_slice(&[extent.change.code(), 0]);
            bytes.extend_from_slice(&((extent.length / SECTOR) as u32).to_le_bytes());
            bytes.extend_from_slice(&(extent.offset / SECTOR).to_le_bytes());
        }
        self.checksums.iter().for_each(|crc| bytes.extend_from_slice(&crc.to_le_bytes()));
        bytes
    }

    /// Out of bytes whose checksum was right; None if they are no descriptor all the same.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (extents, checksums) = (half(0)? as usize, half(4)? as usize);
        let fits = extents.checked_mul(EXTENT)?.checked_add(checksums.checked_mul(4)?)?.checked_add(8)?;
        if fits != bytes.len() {
            return None;
        }
        let extent = |index: usize| {
            let at = 8 + index * EXTENT;
            let volume = u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
            let change = Change::from_code(*bytes.get(at + 2)?)?;
            let length = u64::from(half(at + 4)?) * SECTOR;
            let offset =
                u64::from_le_bytes(bytes.get(at + 8..at + 16)?.try_into().ok()?).checked_mul(SECTOR)?;
            offset.checked_add(length)?;
            Some(Extent { volume, change, offset, length })
        };
        Some(Self {
            extents: (0..extents).map(extent).collect::<Option<_>>()?,
            checksums: (0..checksums)
                .map(|index| half(8 + extents * EXTENT + index * 4))
                .collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Commit, Descriptor, Pending, descriptor_length, footprint};
    use crate::codec::BLOCK;
    use crate::writeback::record::{Change, Extent};

    proptest! {
        #[test]
        fn commits_and_descriptors_are_read_back(words in prop::array::uniform8(0..1_u64 << 50), count in 0..50_usize) {
            let [incarnation, batch, position, descriptor, payload, first_seq, last_seq, last_epoch] = words;
            let commit = Commit {
                uuid: [4; 16], incarnation, batch, position, descriptor, payload, first_seq, last_seq, last_epoch,
                pending: Pending { bytes: 1, epochs: 2, age: 3 }, descriptor_crc: 4, previous: 5,
                flushed_seq: 6, log_end: 7, log_crc: 8,
            };
            let mut block = vec![0; BLOCK];
            let crc = commit.encode(&mut block);
            prop_assert_eq!(Commit::decode(&block), Some((commit, crc)));
            prop_assert_eq!(commit.total(), footprint(descriptor, payload));
            let extents: Vec<_> = (0..count as u64)
                .map(|index| Extent { volume: 1, change: Change::Write, offset: index * 4096, length: 1024 })
                .collect();
            let descriptor = Descriptor { extents, checksums: (0..count.div_ceil(4) as u32).collect() };
            let bytes = descriptor.encode();
            prop_assert_eq!(bytes.len() as u64, descriptor_length(count, count as u64 * 1024));
            prop_assert_eq!(Descriptor::decode(&bytes), Some(descriptor));
        }

        #[test]
        fn no_bytes_make_decoding_fail_badly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let decoded = Descriptor::decode(&bytes);
            prop_assert!(decoded.is_none_or(|descriptor| descriptor.encode().len() == bytes.len()));
        }
    }
}
