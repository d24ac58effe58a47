//! What each block of a volume should hold: the generation written last, and whether a write is under way.

/// Blocks per piece of the table; a piece is made when one of its blocks is first written.
const PIECE: u64 = 4096;

/// A write is under way.
const BUSY: u32 = 1 << 31;
/// The content is not known: trimmed.
const UNKNOWN: u32 = 1 << 30;
const GENERATION: u32 = UNKNOWN - 1;

/// Generations a read may find in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything: never written, or trimmed.
    Anything,
    /// Any generation of this range, both ends included.
    Between(u32, u32),
}

/// The table. At most one write per block is under way at a time: ask [`Ledger::is_free`] before a write.
#[derive(Debug, Default)]
pub struct Ledger {
    pieces: Vec<Option<Box<[u32; PIECE as usize]>>>,
}

impl Ledger {
    fn get(&self, block: u64) -> u32 {
        let piece = self.pieces.get((block / PIECE) as usize);
        piece.and_then(Option::as_ref).map_or(0, |piece| piece[(block % PIECE) as usize])
    }

    fn entry(&mut self, block: u64) -> &mut u32 {
        let piece = (block / PIECE) as usize;
        if piece >= self.pieces.len() {
            self.pieces.resize_with(piece + 1, || None);
        }
        &mut self.pieces[piece].get_or_insert_with(|| Box::new([0; PIECE as usize]))[(block % PIECE) as usize]
    }

    /// Whether no write of the block is under way.
    pub fn is_free(&self, block: u64) -> bool {
        self.get(block) & BUSY == 0
    }

    /// A write of the block begins: its generation.
    pub fn begin_write(&mut self, block: u64) -> u32 {
        let entry = self.entry(block);
        assert!(*entry & BUSY == 0, "two writes of block {block} at once");
        let generation = (*entry & GENERATION) % (GENERATION - 1) + 1;
        *entry = generation | BUSY | (*entry & UNKNOWN);
        generation
    }

    /// The write of the block has ended.
    pub fn end_write(&mut self, block: u64) {
        *self.entry(block) &= GENERATION;
    }

    /// A trim of the block begins: until the next write it may hold anything.
    pub fn begin_trim(&mut self, block: u64) {
        let entry = self.entry(block);
        assert!(*entry & BUSY == 0, "a trim of block {block} during a write");
        *entry |= BUSY | UNKNOWN;
    }

    /// The trim has ended.
    pub fn end_trim(&mut self, block: u64) {
        *self.entry(block) &= !BUSY;
    }

    /// The oldest generation a read that begins now may find; None: anything.
    pub fn oldest(&self, block: u64) -> Option<u32> {
        let entry = self.get(block);
        let durable =
            if entry & BUSY == 0 { entry & GENERATION } else { (entry & GENERATION).saturating_sub(1) };
        (entry & UNKNOWN == 0 && durable > 0).then_some(durable)
    }

    /// What a read that ends now may have found, if the oldest it might find was `oldest` when it began.
    pub fn expected(&self, block: u64, oldest: Option<u32>) -> Expected {
        let entry = self.get(block);
        match oldest {
            Some(oldest) if entry & UNKNOWN == 0 => Expected::Between(oldest, entry & GENERATION),
            _ => Expected::Anything,
        }
    }

    /// Blocks whose content is known, in order.
    pub fn known(&self) -> impl Iterator<Item = u64> + '_ {
        let of_piece = |(number, piece): (usize, &Option<Box<[u32; PIECE as usize]>>)| {
            let first = number as u64 * PIECE;
            let blocks = piece.iter().flat_map(|piece| piece.iter().enumerate());
            blocks
                .filter(|(_, entry)| **entry != 0 && **entry & (UNKNOWN | BUSY) == 0)
                .map(move |(index, _)| first + index as u64)
                .collect::<Vec<_>>()
        };
        self.pieces.iter().enumerate().flat_map(of_piece)
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, Ledger};

    #[test]
    fn a_read_beside_a_write_may_find_either_generation() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.expected(9, ledger.oldest(9)), Expected::Anything);
        ledger.begin_write(9);
        assert_eq!(ledger.oldest(9), None, "before its first write has ended a block may hold anything");
        ledger.end_write(9);
        let before = ledger.oldest(9);
        assert_eq!(ledger.expected(9, before), Expected::Between(1, 1));
        assert_eq!(ledger.begin_write(9), 2);
        let beside = ledger.oldest(9);
        assert_eq!(ledger.expected(9, before), Expected::Between(1, 2));
        ledger.end_write(9);
        assert_eq!(ledger.expected(9, beside), Expected::Between(1, 2));
        assert_eq!(ledger.expected(9, ledger.oldest(9)), Expected::Between(2, 2));
    }

    #[test]
    fn a_trimmed_block_holds_anything_until_it_is_written() {
        let mut ledger = Ledger::default();
        ledger.begin_write(70_000);
        ledger.end_write(70_000);
        let before = ledger.oldest(70_000);
        ledger.begin_trim(70_000);
        assert!(!ledger.is_free(70_000));
        assert_eq!(ledger.expected(70_000, before), Expected::Anything);
        ledger.end_trim(70_000);
        assert_eq!((ledger.known().count(), ledger.oldest(70_000)), (0, None));
        assert_eq!(ledger.begin_write(70_000), 2);
        ledger.end_write(70_000);
        assert_eq!(ledger.known().collect::<Vec<_>>(), [70_000]);
        assert_eq!(ledger.expected(70_000, ledger.oldest(70_000)), Expected::Between(2, 2));
    }

    #[test]
    #[should_panic(expected = "two writes of block 3 at once")]
    fn two_writes_of_a_block_at_once_are_the_callers_mistake() {
        let mut ledger = Ledger::default();
        ledger.begin_write(3);
        ledger.begin_write(3);
    }
}
