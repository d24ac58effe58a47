//! The memory of blocks: a region that the ring knows from the start, and pieces of their own, kept by size for the next use.

use fathom_runtime::{Context, Ring};

use crate::memory::{map, unmap};

/// Alignment of every block: enough for O_DIRECT on every sector size in use.
const ALIGNMENT: usize = 4096;
/// The smallest block, and up to where blocks are powers of two.
const SMALLEST: usize = 512;
const DOUBLED: usize = 16 << 10;
/// The largest block: 1 GiB.
const LARGEST: usize = 1 << 30;
/// How many sizes there are: six by doubling, then four for each power of two.
const CLASSES: usize = 6 + 4 * (LARGEST.trailing_zeros() - DOUBLED.trailing_zeros()) as usize;
/// Blocks up to this size are carved from the region while it lasts.
const LARGEST_CARVED: usize = 1 << 20;
/// Pieces of their own from this size on are mapped: memory is used only for what is touched of them, and nobody writes
/// zeroes over what the kernel gave as zeroes.
const MAPPED: usize = 32 << 10;

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
    /// The ring's index of the registered region that it is in.
    pub registered: Option<u16>,
    // Carved blocks belong to the region and are freed with it.
    carved: bool,
}

/// A piece for blocks that was registered with the ring, if that was possible.
struct Region {
    start: *mut u8,
    length: usize,
    used: usize,
    registered: Option<u16>,
}

/// What a pool has.
pub(crate) struct Blocks {
    ring: Option<Ring>,
    region: Region,
    // Memory given back, by size class.
    free: Vec<Vec<Memory>>,
}

impl Blocks {
    /// With a region of that many bytes.
    pub fn new(context: &Context, region_bytes: usize) -> Self {
        let mut blocks = Self::none();
        blocks.ring = context.ring().cloned();
        if region_bytes > 0
            && let Some(start) = map(region_bytes)
        {
            // SAFETY: the region stays mapped until it is dropped, which unregisters it first.
            let register = |ring: &Ring| unsafe { ring.register_buffer(start, region_bytes) };
            let registered = blocks.ring.as_ref().and_then(register);
            blocks.region = Region { start, length: region_bytes, used: 0, registered };
        }
        blocks
    }

    /// Nothing yet, and nothing registered.
    pub fn none() -> Self {
        Self {
            ring: None,
            region: Region { start: std::ptr::null_mut(), length: 0, used: 0, registered: None },
            free: (0..CLASSES).map(|_| Vec::new()).collect(),
        }
    }

    /// Memory for a block of a class with that capacity.
    #[inline]
    pub fn take(&mut self, class: usize, capacity: usize) -> Memory {
        match self.free[class].pop() {
            Some(memory) => memory,
            None => self.fresh(capacity),
        }
    }

    /// Takes memory back.
    #[inline]
    pub fn give_back(&mut self, class: usize, memory: Memory) {
        self.free[class].push(memory);
    }

    #[cold]
    fn fresh(&mut self, capacity: usize) -> Memory {
        let at = self.region.used.next_multiple_of(ALIGNMENT.min(capacity));
        if capacity <= LARGEST_CARVED && at + capacity <= self.region.length {
            self.region.used = at + capacity;
            // SAFETY: at + capacity lies within the region.
            let start = unsafe { self.region.start.add(at) };
            return Memory { start, registered: self.region.registered, carved: true };
        }
        let start = if capacity >= MAPPED {
            map(capacity).unwrap_or(std::ptr::null_mut())
        } else {
            // SAFETY: the layout has a non-zero size and a power-of-two alignment.
            unsafe { std::alloc::alloc_zeroed(layout(capacity)) }
        };
        assert!(!start.is_null(), "out of memory for a buffer of {capacity} bytes");
        Memory { start, registered: None, carved: false }
    }

    /// Frees unused blocks outside of the region; returns their bytes.
    pub fn trim(&mut self) -> usize {
        let mut freed = 0;
        for (class, spares) in self.free.iter_mut().enumerate() {
            let capacity = capacity_of(class);
            spares.retain(|spare| {
                if !spare.carved {
                    freed += capacity;
                    // SAFETY: taken like this in `fresh`, and a spare block is used by nobody.
                    unsafe {
                        if capacity >= MAPPED {
                            unmap(spare.start, capacity);
                        } else {
                            std::alloc::dealloc(spare.start, layout(capacity));
                        }
                    }
                }
                spare.carved
            });
            spares.shrink_to_fit();
        }
        freed
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.trim();
        if let Some((ring, index)) = self.ring.as_ref().zip(self.region.registered) {
            ring.unregister_buffer(index);
        }
        if self.region.length > 0 {
            // SAFETY: mapped in `new` with this length; every block carved from it is gone, for blocks hold the pool.
            unsafe { unmap(self.region.start, self.region.length) };
        }
    }
}

/// Bytes of the blocks of a class.
fn capacity_of(class: usize) -> usize {
    match class.checked_sub(6) {
        None => SMALLEST << class,
        Some(above) => (DOUBLED << (above / 4)) / 4 * (above % 4 + 5),
    }
}

fn layout(capacity: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(capacity, ALIGNMENT).expect("an alignment that is a power of two")
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
