//! The blocks that say what a device is: two copies each, written in turn, so that a torn write leaves the other.

use super::loss::{Bounds, Loss};
use super::record::SECTOR;
use super::redo::Pending;
use crate::codec::{BLOCK, Reader, Uuid, Writer, are_countable};

pub const CACHE_MAGIC: &[u8; 8] = b"FTHMWCHE";
pub const ORIGIN_MAGIC: &[u8; 8] = b"FTHMWORG";
pub const MEMBER_MAGIC: &[u8; 8] = b"FTHMWMEM";
/// The most volumes in one group: their entries fit into a superblock.
pub const MOST_MEMBERS: usize = 128;

/// The random name of an opening; 0 if not known.
pub type Life = u32;

/// What a cache device says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSuper {
    /// Counts the writes of superblocks; the higher of two copies counts.
    pub counter: u64,
    /// Of the group it belongs to.
    pub uuid: Uuid,
    /// Bumped when a loss is accepted.
    pub generation: u64,
    /// Bumped on every open.
    pub incarnation: u64,
    /// The incarnation that began this log: records of earlier ones are left over.
    pub base: u64,
    /// Whether it may hold what the backing volumes have not.
    pub dirty: bool,
    /// First byte of the ring.
    pub start: u64,
    /// Bytes of the ring.
    pub length: u64,
    /// Bytes of a segment.
    pub segment: u64,
    /// Position where a scan begins: everything before it is on the backing volumes.
    pub tail: u64,
    /// Checksum of the header before that position.
    pub chain: u32,
    /// Number of the first extent from there on.
    pub seq: u64,
    /// What the backing side names this device by.
    pub leg: u64,
    /// Every write up to this number was flushed when this was written; 0 if not known.
    pub flushed_seq: u64,
    /// Records of earlier incarnations prove nothing behind the end of the log: their loss was accepted.
    pub floor: u64,
    /// And from this position on they are none: what stood there was given up; 0 if nothing was.
    pub given_up_from: u64,
    /// Position where this log began, and the number of its first extent; 0 if not known.
    pub began: (u64, u64),
    /// Bytes of the redo ring's volume; 0 if not known.
    pub ring_volume: u64,
    /// The name of its incarnation.
    pub life: Life,
    /// What the backing side carried when that began.
    pub before: Life,
    /// What it carried when this log began.
    pub root: Life,
}

impl CacheSuper {
    /// The oldest incarnation whose record may be part of the log at this position. What was given up there is whole but for
    /// a payload, and nothing overwrites it before the first write after that.
    pub fn oldest_at(&self, position: u64) -> u64 {
        let is_given_up = self.given_up_from != 0 && position >= self.given_up_from;
        if is_given_up { self.base.max(self.floor) } else { self.base }
    }

    /// Into a block.
    pub fn encode(&self, block: &mut [u8]) {
        let mut writer = Writer::new(block, CACHE_MAGIC);
        writer.word(self.counter).bytes(&self.uuid).word(self.generation).word(self.incarnation);
        writer
            .word(self.base)
            .word(u64::from(self.dirty))
            .word(self.start)
            .word(self.length)
            .word(self.segment);
        writer.word(self.tail).word(u64::from(self.chain)).word(self.seq).word(self.leg);
        writer
            .word(self.flushed_seq)
            .word(self.floor)
            .word(self.began.0)
            .word(self.began.1)
            .word(self.ring_volume);
        writer.half(self.life).half(self.before).half(self.root).word(self.given_up_from);
        writer.seal();
    }

    /// Out of a block; None if it is none, or damaged.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, CACHE_MAGIC)?;
        let found = Self {
            counter: reader.word(),
            uuid: reader.bytes(),
            generation: reader.word(),
            incarnation: reader.word(),
            base: reader.word(),
            dirty: reader.word() != 0,
            start: reader.word(),
            length: reader.word(),
            segment: reader.word(),
            tail: reader.word(),
            chain: reader.word() as u32,
            seq: reader.word(),
            leg: reader.word(),
            flushed_seq: reader.word(),
            floor: reader.word(),
            began: (reader.word(), reader.word()),
            ring_volume: reader.word(),
            life: reader.half(),
            before: reader.half(),
            root: reader.half(),
            given_up_from: reader.word(),
        };
        let Self { counter, generation, incarnation, base, start, length, segment, tail, seq, .. } = found;
        let (flushed_seq, began) = (found.flushed_seq, found.began);
        let numbers = [counter, generation, incarnation, base, start, length, tail, seq];
        let countable = are_countable(&numbers)
            && are_countable(&[
                flushed_seq,
                began.0,
                began.1,
                found.floor,
                found.ring_volume,
                found.given_up_from,
            ]);
        let block = BLOCK as u64;
        let shaped = segment >= block && segment.is_multiple_of(block) && length.is_multiple_of(segment);
        // Writes are counted from 1 on.
        (countable && shaped && length > 0 && seq > 0).then_some(found)
    }
}

/// One volume of a group, as the group's superblock knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberEntry {
    /// Bytes it shows.
    pub size: u64,
    /// Hash of its name in the settings.
    pub name: u64,
    /// Its mark says that this write was put in place on it, or a later one; 0 if not known.
    pub seq: u64,
    /// What its mark carried before the last opening was noted there.
    pub life: Life,
}

/// Samples that a superblock holds at most.
pub const MOST_SAMPLES: usize = 12;

/// A piece of what was put in place last: by its bytes a volume is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Index of the volume in its group.
    pub volume: u16,
    /// First byte.
    pub offset: u64,
    /// Bytes: at most a block.
    pub length: u64,
    /// Checksum of these bytes.
    pub crc: u32,
}

impl Sample {
    fn encode(&self, writer: &mut Writer<'_>) {
        let sectors = (self.length / SECTOR) as u32;
        writer.half(u32::from(self.volume) << 16 | sectors).half(self.crc).word(self.offset / SECTOR);
    }

    /// None if there is none.
    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (place, crc, sector) = (reader.half(), reader.half(), reader.word());
        let (volume, length) = ((place >> 16) as u16, u64::from(place & 0xFFFF) * SECTOR);
        let offset = sector.checked_mul(SECTOR)?;
        (length > 0 && length <= BLOCK as u64).then_some(Self { volume, offset, length, crc })
    }
}

/// What the place with the redo ring says of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginSuper {
    /// Counts the writes of superblocks; the higher of two copies counts.
    pub counter: u64,
    /// Of the group.
    pub uuid: Uuid,
    /// Bumped when a loss is accepted.
    pub generation: u64,
    /// The incarnation that holds writes in its cache; 0 if none does.
    pub owner: u64,
    /// The last incarnation there was.
    pub incarnation: u64,
    /// First byte of the redo ring.
    pub start: u64,
    /// Bytes of the redo ring.
    pub length: u64,
    /// Position of the first batch that may have to be applied again.
    pub position: u64,
    /// Its number.
    pub batch: u64,
    /// Checksum of the commit record before it.
    pub previous: u32,
    /// Number of the last extent before it.
    pub seq: u64,
    /// Epoch of that extent.
    pub epoch: u64,
    /// What the cache held beyond that.
    pub pending: Pending,
    /// What the owner's cache holds beyond that at most.
    pub bounds: Bounds,
    /// The last loss that was accepted.
    pub loss: Loss,
    /// The cache devices that have everything that was answered; 0 for none.
    pub legs: [u64; 2],
    /// The volumes of the group, sorted by name.
    pub members: Vec<MemberEntry>,
    /// Every write up to this number was flushed on the cache device when this was written; 0 if not known.
    pub flushed_seq: u64,
    /// Where in the log the backing volumes stand: behind the record of their last extent, and its header's checksum.
    pub log_end: u64,
    /// That checksum.
    pub log_crc: u32,
    /// The incarnation that began that log; 0 if not known.
    pub log_base: u64,
    /// The marks of all volumes say that this incarnation opened them, or a later one; 0 if not known.
    pub marked: u64,
    /// The name of the last incarnation.
    pub life: Life,
    /// What the volumes hold at least while an incarnation owns them.
    pub samples: Vec<Sample>,
}

impl OriginSuper {
    /// Into a block.
    pub fn encode(&self, block: &mut [u8]) {
        assert!(self.members.len() <= MOST_MEMBERS, "a group has at most {MOST_MEMBERS} volumes");
        let mut writer = Writer::new(block, ORIGIN_MAGIC);
        writer
            .word(self.counter)
            .bytes(&self.uuid)
            .word(self.generation)
            .word(self.owner)
            .word(self.incarnation);
        writer.word(self.start).word(self.length).word(self.position).word(self.batch);
        writer.word(u64::from(self.previous)).word(self.seq).word(self.epoch);
        self.pending.encode(&mut writer);
        self.bounds.encode(&mut writer);
        self.loss.encode(&mut writer);
        writer.word(self.legs[0]).word(self.legs[1]);
        writer.word(self.members.len() as u64);
        for member in &self.members {
            writer.word(member.size).word(member.name);
        }
        writer.word(self.flushed_seq).word(self.log_end).word(u64::from(self.log_crc)).word(self.log_base);
        writer.word(self.loss.writes).word(self.marked);
        for member in &self.members {
            writer.word(member.seq);
        }
        writer.half(self.life);
        for member in &self.members {
            writer.half(member.life);
        }
        let none = Sample { volume: 0, offset: 0, length: 0, crc: 0 };
        let samples = self.samples.iter().chain(std::iter::repeat(&none));
        samples.take(MOST_SAMPLES).for_each(|sample| sample.encode(&mut writer));
        writer.word(self.loss.parts_up_to.unwrap_or(0));
        writer.seal();
    }

    /// Out of a block; None if it is none, or damaged.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, ORIGIN_MAGIC)?;
        let mut found = Self {
            counter: reader.word(),
            uuid: reader.bytes(),
            generation: reader.word(),
            owner: reader.word(),
            incarnation: reader.word(),
            start: reader.word(),
            length: reader.word(),
            position: reader.word(),
            batch: reader.word(),
            previous: reader.word() as u32,
            seq: reader.word(),
            epoch: reader.word(),
            pending: Pending::decode(&mut reader),
            bounds: Bounds::decode(&mut reader),
            loss: Loss::decode(&mut reader),
            legs: [reader.word(), reader.word()],
            members: Vec::new(),
            flushed_seq: 0,
            log_end: 0,
            log_crc: 0,
            log_base: 0,
            marked: 0,
            life: 0,
            samples: Vec::new(),
        };
        let count = usize::try_from(reader.word()).ok().filter(|count| *count <= MOST_MEMBERS)?;
        let entry = |_| MemberEntry { size: reader.word(), name: reader.word(), seq: 0, life: 0 };
        found.members = (0..count).map(entry).collect();
        found.flushed_seq = reader.word();
        found.log_end = reader.word();
        found.log_crc = reader.word() as u32;
        found.log_base = reader.word();
        found.loss.writes = reader.word();
        found.marked = reader.word();
        found.members.iter_mut().for_each(|member| member.seq = reader.word());
        found.life = reader.half();
        found.members.iter_mut().for_each(|member| member.life = reader.half());
        found.samples = (0..MOST_SAMPLES).filter_map(|_| Sample::decode(&mut reader)).collect();
        found.loss.parts_up_to = Some(reader.word()).filter(|last| *last != 0);
        let Self { counter, generation, owner, incarnation, position, batch, seq, epoch, .. } = found;
        let later = [found.flushed_seq, found.log_end, found.log_base, found.loss.writes, found.marked];
        if !are_countable(&later) {
            return None;
        }
        let numbers = [counter, generation, owner, incarnation, position, batch, seq, epoch];
        let sizes = found.members.iter().all(|member| are_countable(&[member.size, member.seq]));
        (sizes && are_countable(&[found.start, found.length]) && are_countable(&numbers)).then_some(found)
    }
}

/// What the tail of a volume says that is not the first of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberMark {
    /// Of the group.
    pub uuid: Uuid,
    /// Hash of its name in the settings.
    pub name: u64,
    /// Counts the writes of marks; the higher of two copies counts.
    pub counter: u64,
    /// The incarnation that opened it last; 0 if not known.
    pub opened: u64,
    /// Number of the last write that was put in place on it; 0 if not known.
    pub seq: u64,
    /// The name of the incarnation that opened it last.
    pub life: Life,
}

impl MemberMark {
    /// Into a block.
    pub fn encode(&self, block: &mut [u8]) {
        let mut writer = Writer::new(block, MEMBER_MAGIC);
        writer.bytes(&self.uuid).word(self.name).word(self.counter).word(self.opened).word(self.seq);
        writer.half(self.life);
        writer.seal();
    }

    /// Out of a block; None if it is none, or damaged.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(block, MEMBER_MAGIC)?;
        let (uuid, name) = (reader.bytes(), reader.word());
        let (counter, opened, seq) = (reader.word(), reader.word(), reader.word());
        let found = Self { uuid, name, counter, opened, seq, life: reader.half() };
        are_countable(&[found.counter, found.opened, found.seq]).then_some(found)
    }
}

/// The hash of a volume's name that superblocks hold: FNV-1a (Fowler, Noll, Vo), 64 bits.
pub fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        Bounds, CacheSuper, Loss, MOST_MEMBERS, MOST_SAMPLES, MemberEntry, MemberMark, OriginSuper, Sample,
    };
    use crate::codec::BLOCK;
    use crate::writeback::redo::Pending;

    proptest! {
        #[test]
        fn superblocks_are_read_back(words in prop::array::uniform12(0..=1_u64 << 60), dirty: bool, members in 0..=MOST_MEMBERS) {
            let [counter, generation, incarnation, start, length, segment, tail, chain, seq, position, batch, epoch] = words;
            let segment = (1 + segment % 4096) * BLOCK as u64;
            let length = (1 + length % 4096) * segment;
            let seq = seq.max(1);
            let (mut block, uuid) = (vec![0; BLOCK], [9; 16]);
            let chain = chain as u32;
            let cache = CacheSuper { counter, uuid, generation, incarnation, base: batch, dirty, start, length, segment, tail, chain, seq, leg: epoch, flushed_seq: seq, floor: batch, given_up_from: length, began: (tail, seq), ring_volume: start, life: chain, before: !chain, root: chain / 2 };
            cache.encode(&mut block);
            prop_assert_eq!(CacheSuper::decode(&block), Some(cache));
            prop_assert_eq!(OriginSuper::decode(&block), None);
            let members: Vec<_> = (0..members as u64).map(|name| MemberEntry { size: start ^ name, name, seq: seq ^ name, life: chain ^ name as u32 }).collect();
            let pending = Pending { bytes: tail, epochs: segment, age: seq };
            let bounds = Bounds { bytes: start, age: position };
            let parts_up_to = Some(tail).filter(|last| *last != 0);
            let loss = Loss { incarnation: epoch, seq: batch, epoch: seq, pending, bounds, writes: tail, parts_up_to };
            let sample = |index: usize| Sample { volume: index as u16 * 9, offset: seq / 512 * 512, length: 512 * (1 + index as u64 % 8), crc: chain };
            let samples = (0..members.len() % (MOST_SAMPLES + 1)).map(sample).collect();
            let origin = OriginSuper {
                counter, uuid, generation, owner: incarnation, incarnation, start, length, position, batch, previous: chain,
                seq, epoch, pending, bounds, loss, legs: [start, tail], members,
                flushed_seq: seq, log_end: tail, log_crc: chain, log_base: batch, marked: epoch, life: !chain, samples,
            };
            origin.encode(&mut block);
            prop_assert_eq!(OriginSuper::decode(&block), Some(origin));
            let mark = MemberMark { uuid, name: seq, counter, opened: incarnation, seq: tail, life: chain };
            mark.encode(&mut block);
            prop_assert_eq!(MemberMark::decode(&block), Some(mark));
        }
    }
}
