//! A leg's superblocks, read by the format that docs/MIRROR.md describes and not by the layer's own types.

use fathom_layers::codec::{BLOCK, Reader};

use super::testbed::USER;

/// The name of a generation: its number, and what tells it from another of that number.
pub type Name = (u64, u64);

/// The newest whole superblock of a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Counts the writes of superblocks.
    pub count: u64,
    /// The generation that the leg carries.
    pub current: Name,
    /// Every generation that it names, of whichever leg.
    pub named: Vec<Name>,
}

/// The newest superblock of a leg; None if neither is whole.
pub fn superblock(leg: &[u8]) -> Option<Superblock> {
    let copies = [USER, USER + BLOCK].into_iter().filter_map(|at| read(&leg[at..at + BLOCK]));
    copies.max_by_key(|copy| copy.count)
}

fn read(block: &[u8]) -> Option<Superblock> {
    let mut block = Reader::new(block, b"FTHMMIRS")?;
    let count = block.word();
    // The mirror's name, the leg's number, regions and size.
    let _: [u8; 40] = block.bytes();
    let name = |block: &mut Reader<'_>| (block.word(), block.word());
    let current = name(&mut block);
    let mut named = vec![current, name(&mut block)];
    let legs = block.word();
    for _ in 0..legs {
        let _in_sync = block.word();
        named.extend([name(&mut block), name(&mut block)]);
    }
    // The age of the bitmap, and the least age of each leg's.
    for _ in 0..=legs {
        let _age = block.word();
    }
    let passed = block.word();
    named.extend((0..passed).map(|_| name(&mut block)));
    Some(Superblock { count, current, named })
}
