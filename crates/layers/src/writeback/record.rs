//! One record of the log: a group of writes that were waiting at the same time, one after the other in the total order.
//!
//! On the device: a header block, then the payload in whole blocks; a small payload stands in the header block itself.
//! The header tells position, incarnation and the checksum of the header before it, so that neither a record of an
//! earlier lap nor one left over from before a crash is ever taken for a live one.

use std::cell::{Cell, RefCell};

use crc_fast::crc32_iscsi;
use fathom_volume::{Buf, Pool, copy_past_cache};

use crate::codec::{BLOCK, Reader, Uuid, Writer, are_countable, checksums, seal};

const MAGIC: &[u8; 8] = b"FTHMWLOG";
/// Bytes of the header before its list of extents.
const FIXED: usize = 88;
/// Bytes of one extent in the header.
const EXTENT: usize = 16;
/// Sectors of the index and of extents on the device, in bytes.
pub const SECTOR: u64 = 512;
/// The most extents of one record.
pub const MOST_EXTENTS: usize = 120;
/// The most payload of one record, in bytes.
pub const MOST_PAYLOAD: u64 = 1 << 20;
/// The longest extent, in bytes: its sectors are a 32-bit field.
pub const LONGEST_EXTENT: u64 = (u32::MAX as u64) * SECTOR;

/// What an extent does to its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// New bytes.
    Write,
    /// Zeroes.
    Zero,
    /// Content given up.
    Trim,
}

impl Change {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Write => 1,
            Self::Zero => 2,
            Self::Trim => 3,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Write, Self::Zero, Self::Trim].into_iter().find(|change| change.code() == code)
    }
}

/// A range of one volume that a record changes. Offset and length are bytes, multiples of 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Index of the volume in its group.
    pub volume: u16,
    /// What happens to the range.
    pub change: Change,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl Extent {
    /// Bytes of payload it brings.
    pub fn payload(&self) -> u64 {
        if self.change == Change::Write { self.length } else { 0 }
    }

    pub(super) fn encode(&self, writer: &mut Writer<'_>) {
        let [low, high] = self.volume.to_le_bytes();
        writer.bytes(&[low, high, self.change.code(), 0]);
        writer.half((self.length / SECTOR) as u32).word(self.offset / SECTOR);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let [low, high, code, _] = reader.bytes::<4>();
        let length = u64::from(reader.half()) * SECTOR;
        let offset = reader.word().checked_mul(SECTOR)?;
        offset.checked_add(length)?;
        let change = Change::from_code(code)?;
        (length > 0).then_some(Self { volume: u16::from_le_bytes([low, high]), change, offset, length })
    }
}

/// Where the parts of a record stand, in bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The payload.
    pub payload_at: u64,
    /// The first block with a checksum in the record: the payload's, or the header itself.
    pub data_at: u64,
    /// All of it.
    pub total: u64,
}

impl Layout {
    /// The layout of a record with that many extents and bytes of payload.
    pub fn new(extents: usize, payload: u64) -> Self {
        let inline_at = (FIXED + EXTENT * extents).next_multiple_of(16) as u64;
        let block = BLOCK as u64;
        if inline_at + payload <= block {
            return Self { payload_at: inline_at, data_at: 0, total: block };
        }
        Self { payload_at: block, data_at: block, total: block + payload.next_multiple_of(block) }
    }
}

/// What a header tells beside its extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Of the group.
    pub uuid: Uuid,
    /// Counts the times the group was opened.
    pub incarnation: u64,
    /// Where in the log it stands; positions only grow.
    pub position: u64,
    /// Number of its first extent in the total order.
    pub first_seq: u64,
    /// Counts the flushes before it.
    pub epoch: u64,
    /// Everything before this position was flushed when the record was made.
    pub flushed: u64,
    /// Checksum of the header before it.
    pub previous: u32,
}

/// A header read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its numbers.
    pub head: Head,
    /// In order.
    pub extents: Vec<Extent>,
    /// Of each block of the payload; of the header block itself if the payload stands there.
    pub checksums: Vec<u32>,
    /// Its own checksum.
    pub crc: u32,
    /// Where its parts stand.
    pub layout: Layout,
}

/// Builds a record with so many bytes of payload where it will be written from. The checksum of the header, and of each block
/// with payload.
fn build(
    record: &mut [u8],
    (layout, payload): (Layout, u64),
    head: &Head,
    extents: &[Extent],
    payloads: &[Option<Buf>],
) -> (u32, Vec<u32>) {
    let inline = layout.data_at == 0;
    let (into, blocks) = record.split_at_mut(BLOCK);
    let of_payload = if inline { Vec::new() } else { gather(blocks, payloads) };
    let mut block = [0; BLOCK];
    let mut writer = Writer::new(&mut block, MAGIC);
    writer.bytes(&head.uuid).word(head.incarnation).word(head.position).word(head.first_seq).word(head.epoch);
    writer.word(head.flushed).half(head.previous).half(payload as u32).half(extents.len() as u32);
    writer.half(of_payload.len() as u32);
    extents.iter().for_each(|extent| extent.encode(&mut writer));
    of_payload.iter().for_each(|crc| {
        writer.half(*crc);
    });
    if inline {
        let mut at = layout.payload_at as usize;
        for from in payloads.iter().flatten() {
            from.with(|from| block[at..at + from.len()].copy_from_slice(from));
            at += from.len();
        }
    }
    let crc = seal(&mut block);
    copy_past_cache(into, &block);
    (crc, if inline { vec![crc32_iscsi(&block)] } else { of_payload })
}

/// Copies payloads into whole blocks, one behind the other, and fills the last up with zeroes. The checksum of each block.
fn gather(blocks: &mut [u8], payloads: &[Option<Buf>]) -> Vec<u32> {
    let mut sums = Vec::with_capacity(blocks.len() / BLOCK);
    let mut at = 0_usize;
    for payload in payloads.iter().flatten() {
        payload.with(|payload| {
            // The rest of a block that an earlier payload began, whole blocks, the begin of another.
            let (rest, payload) = payload.split_at(payload.len().min(at.next_multiple_of(BLOCK) - at));
            let (whole, begin) = payload.split_at(payload.len() - payload.len() % BLOCK);
            blocks[at..at + rest.len()].copy_from_slice(rest);
            at += rest.len();
            if !rest.is_empty() && at.is_multiple_of(BLOCK) {
                sums.push(crc32_iscsi(&blocks[at - BLOCK..at]));
            }
            sums.extend(checksums(whole));
            copy_past_cache(&mut blocks[at..at + whole.len()], whole);
            at += whole.len();
            blocks[at..at + begin.len()].copy_from_slice(begin);
            at += begin.len();
        });
    }
    if !at.is_multiple_of(BLOCK) {
        blocks[at..].fill(0);
        sums.push(crc32_iscsi(&blocks[at - at % BLOCK..]));
    }
    sums
}

impl Header {
    /// Reads a header block; None if it is none, or damaged.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, MAGIC)?;
        let uuid = reader.bytes();
        let (incarnation, position, first_seq, epoch) =
            (reader.word(), reader.word(), reader.word(), reader.word());
        let flushed = reader.word();
        let (previous, payload) = (reader.half(), u64::from(reader.half()));
        let (count, of_payload) = (reader.half() as usize, reader.half() as usize);
        if count == 0 || count > MOST_EXTENTS || of_payload > (MOST_PAYLOAD as usize).div_ceil(BLOCK) {
            return None;
        }
        let extents: Vec<Extent> = (0..count).map(|_| Extent::decode(&mut reader)).collect::<Option<_>>()?;
        let layout = Layout::new(count, payload);
        let blocks = (layout.total - layout.data_at) as usize / BLOCK;
        let fits =
            extents.iter().try_fold(0_u64, |sum, extent| sum.checked_add(extent.payload())) == Some(payload);
        if !fits
            || of_payload != if layout.data_at == 0 { 0 } else { blocks }
            || of_payload * 4 > reader.left()
        {
            return None;
        }
        let mut checksums: Vec<u32> = (0..of_payload).map(|_| reader.half()).collect();
        if layout.data_at == 0 {
            checksums.push(crc32_iscsi(&block[..BLOCK]));
        }
        let head = Head { uuid, incarnation, position, first_seq, epoch, flushed, previous };
        let countable = are_countable(&[incarnation, position, first_seq, epoch, flushed]);
        countable.then_some(Self { head, extents, checksums, crc: reader.crc(), layout })
    }
}

/// A record that the log holds, as the layer thinks of it.
#[derive(Debug)]
pub struct Record {
    /// Position of its first byte.
    pub position: u64,
    /// Position after its last byte.
    pub end: u64,
    /// Position of the first block with a checksum.
    pub data: u64,
    /// Position of the payload.
    pub payload: u64,
    /// Of each block from `data` on.
    pub checksums: Box<[u32]>,
    /// In order.
    pub extents: Box<[Extent]>,
    /// Number of its first extent in the total order.
    pub first_seq: u64,
    /// Counts the flushes before it.
    pub epoch: u64,
    /// Its own header's checksum.
    pub crc: u32,
    /// When it was made, ns.
    pub born: u64,
    /// Its bytes from `data` on: until the device has them, or until a batch has, if memory allows.
    pub bytes: RefCell<Option<Buf>>,
    /// Whether the device has it.
    pub done: Cell<bool>,
    /// Work that it adds to what is to be put in place, as far as can be told.
    pub work: Cell<i64>,
}

impl Record {
    /// Of a header found on the device.
    pub fn found(header: &Header, born: u64) -> Self {
        let Header { head, extents, checksums, crc, layout } = header;
        Self {
            position: head.position,
            end: head.position + layout.total,
            data: head.position + layout.data_at,
            payload: head.position + layout.payload_at,
            checksums: checksums.clone().into(),
            extents: extents.clone().into(),
            first_seq: head.first_seq,
            epoch: head.epoch,
            crc: *crc,
            born,
            bytes: RefCell::new(None),
            done: Cell::new(true),
            work: Cell::new(0),
        }
    }

    /// Number of its last extent in the total order.
    pub fn last_seq(&self) -> u64 {
        self.first_seq + self.extents.len() as u64 - 1
    }

    /// Memory that its bytes count for, at least what they take: a power of two.
    pub fn memory(&self) -> u64 {
        (self.end - self.position).next_power_of_two()
    }

    /// The checksum of the block of its payload that begins at a position, if one does.
    pub fn checksum_at(&self, position: u64) -> Option<u32> {
        let from = position - self.data;
        let block = from.is_multiple_of(BLOCK as u64).then_some(from / BLOCK as u64)?;
        self.checksums.get(block as usize).copied()
    }

    /// Each extent with its number in the total order and the position of its payload.
    pub fn placed(&self) -> impl Iterator<Item = (u64, &Extent, u64)> {
        let mut at = self.payload;
        self.extents.iter().zip(self.first_seq..).map(move |(extent, seq)| {
            let position = at;
            at += extent.payload();
            (seq, extent, position)
        })
    }

    /// Checks all of it, as it was read from a device.
    pub fn is_whole_on_device(&self, bytes: &[u8]) -> bool {
        Header::decode(&bytes[..BLOCK]).is_some_and(|header| header.crc == self.crc)
            && self.is_whole(self.data, &bytes[(self.data - self.position) as usize..])
    }

    /// Checks whole blocks that were read from position `from` on.
    pub fn is_whole(&self, from: u64, bytes: &[u8]) -> bool {
        let first = ((from - self.data) / BLOCK as u64) as usize;
        checksums(bytes).zip(&self.checksums[first..]).all(|(found, expected)| found == *expected)
    }
}

/// A record made of these extents with their payloads: a buffer to write, and what is known of it. `head.position` is
/// where it will stand.
pub fn make(
    pool: &Pool,
    head: &Head,
    extents: Vec<Extent>,
    payloads: &[Option<Buf>],
    born: u64,
) -> (Buf, Record) {
    let payload: u64 = extents.iter().map(Extent::payload).sum();
    let layout = Layout::new(extents.len(), payload);
    let buf = pool.get(layout.total as usize);
    let (crc, checksums) = buf.with_mut(|bytes| match bytes {
        [] => (0, Vec::new()),
        bytes => build(bytes, (layout, payload), head, &extents, payloads),
    });
    let record = Record {
        position: head.position,
        end: head.position + layout.total,
        data: head.position + layout.data_at,
        payload: head.position + layout.payload_at,
        checksums: checksums.into(),
        extents: extents.into(),
        first_seq: head.first_seq,
        epoch: head.epoch,
        crc,
        born,
        bytes: RefCell::new(Some(buf.slice(layout.data_at as usize..layout.total as usize))),
        done: Cell::new(false),
        work: Cell::new(0),
    };
    (buf, record)
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Runtime;
    use fathom_volume::Pool;
    use proptest::prelude::*;

    use super::{BLOCK, Change, Extent, Head, Header, Record, make};

    fn extent() -> impl Strategy<Value = Extent> {
        (0..3_u16, 0..3_u8, 0..1_u64 << 40, 1..40_u64).prop_map(|(volume, code, sector, sectors)| Extent {
            volume,
            change: Change::from_code(code + 1).expect("three codes"),
            offset: sector * 512,
            length: sectors * 512,
        })
    }

    proptest! {
        #[test]
        fn what_is_made_is_read_back(extents in prop::collection::vec(extent(), 1..20), position in 0..1_u64 << 40) {
            let runtime = Runtime::virtual_time(1);
            let pool = Pool::new(&runtime.context());
            let payloads: Vec<_> = extents.iter().enumerate().map(|(index, extent)| {
                (extent.change == Change::Write).then(|| pool.copy_of(&vec![index as u8 + 1; extent.length as usize]))
            }).collect();
            let head = Head {
                uuid: [7; 16], incarnation: 3, position: position * BLOCK as u64, first_seq: 9, epoch: 2, flushed: 1, previous: 5,
            };
            let (buf, record) = make(&pool, &head, extents.clone(), &payloads, 0);
            buf.with(|bytes| {
                let header = Header::decode(bytes).expect("it is whole");
                assert_eq!((header.head, &header.extents), (head, &extents));
                let found = Record::found(&header, 0);
                assert_eq!((found.end, found.data, found.payload), (record.end, record.data, record.payload));
                let data = (found.data - found.position) as usize;
                assert!(found.is_whole(found.data, &bytes[data..]));
                for (seq, extent, at) in found.placed().filter(|(_, extent, _)| extent.change == Change::Write) {
                    let from = (at - found.position) as usize;
                    let expected = (seq - 9) as u8 + 1;
                    assert!(bytes[from..from + extent.length as usize].iter().all(|byte| *byte == expected));
                }
            });
        }

        #[test]
        fn a_flipped_bit_in_header_or_payload_is_seen(bit in 0..3 * BLOCK * 8) {
            let runtime = Runtime::virtual_time(1);
            let pool = Pool::new(&runtime.context());
            let extents = vec![Extent { volume: 0, change: Change::Write, offset: 0, length: 2 * BLOCK as u64 }];
            let head = Head { uuid: [7; 16], incarnation: 3, position: 0, first_seq: 9, epoch: 2, flushed: 1, previous: 5 };
            let (buf, record) = make(&pool, &head, extents, &[Some(pool.copy_of(&[3; 2 * BLOCK]))], 0);
            buf.with_mut(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            let whole = buf.with(|bytes| Header::decode(bytes).is_some() && record.is_whole(record.data, &bytes[BLOCK..]));
            prop_assert!(!whole);
        }
    }
}
