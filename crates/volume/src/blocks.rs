//! The memory of blocks: cut from chunks that the ring knows, or pieces of their own; kept by size for the next use.

use fathom_runtime::{Context, Ring};

use crate::memory::{map, map_huge, unmap};

/// Alignment of every block: enough for O_DIRECT on every sector size in use.
const ALIGNMENT: usize = 4096;
/// The smallest block, and up to where blocks are powers of two.
const SMALLEST: usize = 512;
const DOUBLED: usize = 16 << 10;
/// The largest block: 1 GiB.
const LARGEST: usize = 1 << 30;
/// How many sizes there are: six by doubling, then four for each power of two.
const CLASSES: usize = 6 + 4 * (LARGEST.trailing_zeros() - DOUBLED.trailing_zeros()) as usize;
/// Blocks up to this size are cut from chunks; larger ones are mapped, so that memory is used only for what is touched of
/// them.
const LARGEST_CUT: usize = 1 << 20;
/// Bytes of a chunk: two huge pages, which are zeroed and registered in less than a millisecond.
const CHUNK: usize = 4 << 20;

/// The size class of a block of that many bytes, and the bytes that it has.
///
/// # Panics
/// If it is more than 1 GiB.
pub(crate) fn class_of(length: usize) -> (usize, usize) {
    assert!(length <= LARGEST, "a buffer is at most 1 GiB, and {length} bytes were asked for");
    if length <= DOUBLED {
        let capacity = length.next_power_of_two().max(SMALLEST);
        return ((capacity / SMALLEST).trailing_zeros() as usize, capacity);
    }
    let power = (length - 1).ilog2();
    let step = 1 << (power - 2);
    let capacity = length.next_multiple_of(step);
    let quarter = capacity / step - 5;
    (6 + 4 * (power - DOUBLED.trailing_zeros()) as usize + quarter, capacity)
}

/// Memory of a block. Its bytes have values: all of it was zero once.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub start: *mut u8,
    /// The ring's index of the chunk that it is in, if the ring knows it.
    pub registered: Option<u16>,
    // Which chunk it was cut from; None if it has a mapping of its own.
    chunk: Option<u32>,
}

/// A piece for blocks, registered with the ring if that was possible: the kernel need not pin the pages of each request, and
/// gets them as few long segments.
struct Chunk {
    start: *mut u8,
    used: usize,
    // Blocks cut from it so far.
    blocks: usize,
    registered: Option<u16>,
}

/// What a pool has.
#[derive(Default)]
pub(crate) struct Blocks {
    ring: Option<Ring>,
    // None where one was given back.
    chunks: Vec<Option<Chunk>>,
    // Memory given back, by size class.
    free: Vec<Vec<Memory>>,
}

impl Blocks {
    /// With a ring, if the executor has one, and the first chunk for it.
    pub fn new(context: &Context) -> Self {
        let ring = context.ring().cloned();
        let mut blocks = Self { ring, free: (0..CLASSES).map(|_| Vec::new()).collect(), chunks: Vec::new() };
        if blocks.ring.is_some() {
            blocks.grow();
        }
        blocks
    }

    /// Memory for a block of a class with that capacity.
    #[inline]
    pub fn take(&mut self, class: usize, capacity: usize) -> Memory {
        match self.free[class].pop() {
            Some(memory) => memory,
            None => self.fresh(class, capacity),
        }
    }

    /// Takes memory back.
    #[inline]
    pub fn give_back(&mut self, class: usize, memory: Memory) {
        self.free[class].push(memory);
    }

    #[cold]
    fn fresh(&mut self, class: usize, capacity: usize) -> Memory {
        let memory = if capacity > LARGEST_CUT {
            map(capacity).map(|start| Memory { start, registered: None, chunk: None })
        } else {
            self.split(class, capacity).or_else(|| self.cut(capacity)).or_else(|| {
                self.grow();
                self.cut(capacity)
            })
        };
        memory.unwrap_or_else(|| panic!("out of memory for a buffer of {capacity} bytes"))
    }

    /// Takes a block from a larger one that nobody uses; the rest of it stays for others. Only whole pages are split.
    fn split(&mut self, class: usize, capacity: usize) -> Option<Memory> {
        if capacity < ALIGNMENT {
            return None;
        }
        let (largest, _) = class_of(LARGEST_CUT);
        let from = (class + 1..=largest).find(|larger| !self.free[*larger].is_empty())?;
        let whole = self.free[from].pop()?;
        let chunk = self.chunks[whole.chunk? as usize].as_mut()?;
        let (mut at, end) = (capacity, capacity_of(from));
        while at < end {
            let (rest, length) = largest_within(end - at);
            // SAFETY: at + length lies within the block.
            let start = unsafe { whole.start.add(at) };
            self.free[rest].push(Memory { start, ..whole });
            chunk.blocks += 1;
            at += length;
        }
        Some(whole)
    }

    /// Cuts a block from the first chunk with room for it.
    fn cut(&mut self, capacity: usize) -> Option<Memory> {
        let place = |chunk: &Chunk| chunk.used.next_multiple_of(ALIGNMENT.min(capacity));
        let fits =
            |chunk: &Option<Chunk>| chunk.as_ref().is_some_and(|chunk| place(chunk) + capacity <= CHUNK);
        let index = self.chunks.iter().position(fits)?;
        let chunk = self.chunks[index].as_mut()?;
        let at = place(chunk);
        chunk.used = at + capacity;
        chunk.blocks += 1;
        // SAFETY: at + capacity lies within the chunk.
        let start = unsafe { chunk.start.add(at) };
        Some(Memory { start, registered: chunk.registered, chunk: Some(index as u32) })
    }

    fn grow(&mut self) {
        // Without a ring little of it is touched, and huge pages would be zeroed for nothing.
        let mapped = if self.ring.is_some() { map_huge(CHUNK) } else { map(CHUNK) };
        let Some(start) = mapped else { return };
        // SAFETY: the chunk stays mapped until it is given back, which unregisters it first.
        let register = |ring: &Ring| unsafe { ring.register_buffer(start, CHUNK) };
        let registered = self.ring.as_ref().and_then(register);
        let chunk = Some(Chunk { start, used: 0, blocks: 0, registered });
        match self.chunks.iter().position(Option::is_none) {
            Some(index) => self.chunks[index] = chunk,
            None => self.chunks.push(chunk),
        }
    }

    /// Frees unused blocks with mappings of their own, and chunks without a block in use; returns their bytes.
    pub fn trim(&mut self) -> usize {
        let mut freed = 0;
        let mut unused = vec![0; self.chunks.len()];
        for (class, spares) in self.free.iter_mut().enumerate() {
            let capacity = capacity_of(class);
            spares.retain(|spare| match spare.chunk {
                Some(chunk) => {
                    unused[chunk as usize] += 1;
                    true
                }
                None => {
                    freed += capacity;
                    // SAFETY: mapped in `fresh` with this length, and a spare block is used by nobody.
                    unsafe { unmap(spare.start, capacity) };
                    false
                }
            });
        }
        for (slot, unused) in self.chunks.iter_mut().zip(unused) {
            if let Some(chunk) = slot.take_if(|chunk| chunk.blocks == unused) {
                freed += CHUNK;
                if let Some((ring, index)) = self.ring.as_ref().zip(chunk.registered) {
                    ring.unregister_buffer(index);
                }
                // SAFETY: mapped in `grow` with this length, and no block of it is in use.
                unsafe { unmap(chunk.start, CHUNK) };
            }
        }
        let chunks = &self.chunks;
        for spares in &mut self.free {
            spares.retain(|spare| spare.chunk.is_none_or(|chunk| chunks[chunk as usize].is_some()));
            spares.shrink_to_fit();
        }
        freed
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Blocks hold the pool: none is in use.
        self.trim();
    }
}

/// The largest class of whole pages whose blocks have no more bytes than that, and their bytes.
fn largest_within(bytes: usize) -> (usize, usize) {
    let (class, capacity) = class_of(bytes);
    if capacity <= bytes { (class, capacity) } else { (class - 1, capacity_of(class - 1)) }
}

/// Bytes of the blocks of a class.
fn capacity_of(class: usize) -> usize {
    match class.checked_sub(6) {
        None => SMALLEST << class,
        Some(above) => (DOUBLED << (above / 4)) / 4 * (above % 4 + 5),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CLASSES, LARGEST, capacity_of, class_of};

    proptest! {
        #[test]
        fn a_block_has_room_and_wastes_little(length in 1_usize..=LARGEST) {
            let (class, capacity) = class_of(length);
            prop_assert!(class < CLASSES && capacity == capacity_of(class) && capacity >= length);
            let most = if length <= 16 << 10 { (2 * length).max(512) } else { length + length / 4 };
            prop_assert!(capacity <= most, "{capacity} bytes for {length}");
            prop_assert_eq!(class_of(capacity), (class, capacity));
        }
    }

    #[test]
    fn classes_grow_and_are_aligned() {
        assert_eq!(class_of(LARGEST), (CLASSES - 1, LARGEST));
        for class in 1..CLASSES {
            assert!(capacity_of(class - 1) < capacity_of(class));
            assert_eq!(capacity_of(class) % capacity_of(class).min(4096), 0);
        }
    }
}
