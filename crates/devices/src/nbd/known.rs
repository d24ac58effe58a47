//! What a server is known to hold: some of what was written and flushed last. A server that comes back with an older copy of
//! its content, or with another's, does not hold it.

use std::collections::VecDeque;
use std::ops::Range;

/// So many pieces are kept at most: those that were written last, each place once, so that writing the same few places over and
/// over does not make others forgotten.
const MOST: usize = 64;
/// Of each write so many bytes at most, or a sector if that is larger.
const PIECE: u64 = 128 << 10;

/// A piece of what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub offset: u64,
    pub length: u32,
    pub checksum: u32,
}

impl Piece {
    /// A write, or how a large one begins.
    pub fn of(offset: u64, bytes: &[u8], sector: u32) -> Self {
        let length = bytes.len().min(PIECE.max(u64::from(sector)) as usize);
        Self { offset, length: length as u32, checksum: crc_fast::crc32_iscsi(&bytes[..length]) }
    }

    /// Whether it is there.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        crc_fast::crc32_iscsi(bytes) == self.checksum
    }

    fn meets(&self, range: &Range<u64>) -> bool {
        meet(&(self.offset..self.offset + u64::from(self.length)), range)
    }
}

/// Whether two ranges have a byte in common.
pub fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Pieces of the last writes, and of those that a flush has covered.
#[derive(Debug, Default)]
pub struct Known {
    /// With the number of the change.
    answered: VecDeque<(u64, Piece)>,
    durable: VecDeque<Piece>,
}

impl Known {
    /// A write was answered, as this change; one with FUA is durable.
    pub fn wrote(&mut self, change: Option<u64>, piece: Piece) {
        match change {
            Some(change) => push(&mut self.answered, (change, piece)),
            None => push(&mut self.durable, piece),
        }
    }

    /// A range is about to be anything.
    pub fn changes(&mut self, range: &Range<u64>) {
        self.answered.retain(|(_, piece)| !piece.meets(range));
        self.durable.retain(|piece| !piece.meets(range));
    }

    /// A flush has covered so many changes.
    pub fn flushed(&mut self, changes: u64) {
        let covered = self.answered.partition_point(|(change, _)| *change <= changes);
        self.answered.drain(..covered).for_each(|(_, piece)| push(&mut self.durable, piece));
    }

    /// What the server must hold.
    pub fn durable(&self) -> Vec<Piece> {
        self.durable.iter().cloned().collect()
    }
}

fn push<T>(pieces: &mut VecDeque<T>, piece: T) {
    if pieces.len() == MOST {
        pieces.pop_front();
    }
    pieces.push_back(piece);
}

#[cfg(test)]
mod tests {
    use super::{Known, MOST, Piece};

    fn piece(offset: u64) -> Piece {
        Piece::of(offset, &[offset as u8; 4096], 512)
    }

    #[test]
    fn what_a_flush_covers_and_nothing_has_touched_since_is_known() {
        let mut known = Known::default();
        let last = MOST as u64 + 4;
        (1..=last).for_each(|change| known.wrote(Some(change), piece(change * 8192)));
        known.flushed(last - 1);
        let offsets =
            |known: &Known| known.durable().iter().map(|piece| piece.offset / 8192).collect::<Vec<_>>();
        assert_eq!(offsets(&known), (5..last).collect::<Vec<_>>(), "the last that were answered");
        known.changes(&(7 * 8192 + 4095..7 * 8192 + 4096));
        known.changes(&(8 * 8192 + 4096..9 * 8192));
        known.wrote(None, piece(0));
        let kept: Vec<u64> = (5..last).filter(|place| *place != 7).chain([0]).collect();
        assert_eq!(offsets(&known), kept, "the places that were changed since are not known");
        known.changes(&(0..u64::MAX));
        known.flushed(last);
        assert!(known.durable().is_empty());
        (0..2 * MOST as u64).for_each(|at| known.wrote(None, piece(at * 8192)));
        assert_eq!(known.durable().len(), MOST);
    }

    #[test]
    fn a_piece_is_told_from_other_bytes() {
        let piece = Piece::of(0, &[7; 8192], 512);
        let mut other = [7; 8192];
        assert!(piece.is_in(&other));
        other[8191] = 0;
        assert!(!piece.is_in(&other), "an end that differs");
        assert_eq!(Piece::of(0, &[7; 512], 512).length, 512);
        assert_eq!(Piece::of(0, &[7; 1 << 20], 16_384).length, 128 << 10);
    }
}
