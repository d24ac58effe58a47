//! Buffers that travel by handle, and the pool they come from.
//!
//! A simulation that asks only for times runs *hollow*: buffers have a length and no bytes, and copying them costs
//! nothing. With payload, a buffer is a slice of a block that the pool takes back when the last handle is gone.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::Context;

use crate::blocks::{Blocks, Memory, class_of};

/// Bytes in flight: a handle on a slice of a block, or only a length. Cheap to clone and to slice.
#[derive(Clone)]
pub struct Buf {
    block: Option<Rc<Block>>,
    // Start within the block and length, 32 bits each, in one word: a value of two words travels in registers.
    range: u64,
}

struct Block {
    memory: Memory,
    // Positive: readers; -1: a writer. As RefCell, for all slices of the block together.
    borrows: Cell<isize>,
    class: usize,
    pool: Rc<Shared>,
}

struct Shared {
    hollow: bool,
    blocks: RefCell<Blocks>,
}

/// Where buffers come from. Cheap to clone; a pool belongs to one executor.
#[derive(Clone)]
pub struct Pool(Rc<Shared>);

impl Pool {
    /// A pool with bytes. In the real driver the ring knows its memory by number, which saves the kernel the pinning of
    /// pages on each request; where that is not allowed everything works, more slowly.
    pub fn new(context: &Context) -> Self {
        Self(Rc::new(Shared { hollow: false, blocks: RefCell::new(Blocks::new(context)) }))
    }

    /// A pool whose buffers have lengths only.
    pub fn hollow() -> Self {
        Self(Rc::new(Shared { hollow: true, blocks: RefCell::default() }))
    }

    /// Whether buffers have lengths only.
    pub fn is_hollow(&self) -> bool {
        self.0.hollow
    }

    /// A buffer of that many bytes, of unspecified content. At most 1 GiB.
    pub fn get(&self, length: usize) -> Buf {
        let short = u32::try_from(length).expect("a buffer is at most 1 GiB");
        if self.0.hollow || length == 0 {
            return Buf::at(None, 0, short);
        }
        let (class, capacity) = class_of(length);
        let memory = self.0.blocks.borrow_mut().take(class, capacity);
        let block = Block { memory, borrows: Cell::new(0), class, pool: Rc::clone(&self.0) };
        Buf::at(Some(Rc::new(block)), 0, short)
    }

    /// Returns memory of unused blocks to the kernel, save where a chunk of it has blocks in use. Returns the bytes given
    /// back.
    pub fn trim(&self) -> usize {
        self.0.blocks.borrow_mut().trim()
    }

    /// A buffer holding a copy of these bytes.
    pub fn copy_of(&self, bytes: &[u8]) -> Buf {
        let buf = self.get(bytes.len());
        buf.copy_from(bytes);
        buf
    }

    /// A buffer of zeroes.
    pub fn zeroes(&self, length: usize) -> Buf {
        let buf = self.get(length);
        buf.with_mut(|bytes| bytes.fill(0));
        buf
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.pool.blocks.borrow_mut().give_back(self.class, self.memory);
    }
}

impl Buf {
    fn at(block: Option<Rc<Block>>, start: u32, length: u32) -> Self {
        Self { block, range: (u64::from(start) << 32) | u64::from(length) }
    }

    #[inline]
    fn start(&self) -> usize {
        (self.range >> 32) as usize
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.range as u32 as usize
    }

    /// Whether its length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has bytes, not only a length.
    #[inline]
    pub fn has_bytes(&self) -> bool {
        self.block.is_some()
    }

    /// Whether other handles refer to the same block: a request on its way, or a layer that holds on to the bytes.
    pub fn is_shared(&self) -> bool {
        self.block.as_ref().is_some_and(|block| Rc::strong_count(block) > 1)
    }

    /// A part of it, over the same bytes.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "a slice {range:?} of a buffer of {} bytes",
            self.len()
        );
        let length = range.end - range.start;
        Self::at(self.block.clone(), (self.start() + range.start) as u32, length as u32)
    }

    /// Shows the bytes; an empty slice if it is hollow.
    ///
    /// # Panics
    /// If the block is being written through [`Buf::with_mut`] at the same time.
    pub fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let Some(block) = &self.block else { return read(&[]) };
        let _borrow = Borrow::shared(block);
        // SAFETY: the slice lies within the block (slices only shrink), the memory is initialised (mmap and
        // alloc_zeroed give zeroes), and the borrow count excludes a writer. Between requests the kernel leaves it be:
        // nobody may look at a buffer whose request is in flight.
        read(unsafe { std::slice::from_raw_parts(block.memory.start.add(self.start()), self.len()) })
    }

    /// Changes the bytes; an empty slice if it is hollow.
    ///
    /// # Panics
    /// If the block is being looked at or written at the same time.
    pub fn with_mut<T>(&self, change: impl FnOnce(&mut [u8]) -> T) -> T {
        let Some(block) = &self.block else { return change(&mut []) };
        let _borrow = Borrow::exclusive(block);
        // SAFETY: as in `with`, and the borrow count excludes everybody else.
        change(unsafe { std::slice::from_raw_parts_mut(block.memory.start.add(self.start()), self.len()) })
    }

    /// Copies bytes in. Both must have the same length; a hollow buffer takes nothing.
    pub fn copy_from(&self, bytes: &[u8]) {
        if self.has_bytes() {
            self.with_mut(|own| own.copy_from_slice(bytes));
        }
    }

    /// Copies the content of another buffer of the same length; nothing if either is hollow.
    pub fn copy_from_buf(&self, other: &Self) {
        if !self.has_bytes() || !other.has_bytes() {
            return;
        }
        let (Some(own), Some(theirs)) = (&self.block, &other.block) else { return };
        if Rc::ptr_eq(own, theirs) {
            let bytes = other.with(<[u8]>::to_vec);
            self.copy_from(&bytes);
        } else {
            other.with(|bytes| self.copy_from(bytes));
        }
    }

    /// The address of the first byte, for the kernel; null if hollow. Valid as long as this handle or a clone lives.
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.block {
            // SAFETY: the slice lies within the block.
            Some(block) => unsafe { block.memory.start.add(self.start()) },
            None => std::ptr::null_mut(),
        }
    }

    /// What keeps the bytes in place while the kernel works on them; None if hollow.
    pub fn keep(&self) -> Option<Rc<dyn Any>> {
        self.block.clone().map(|block| block as Rc<dyn Any>)
    }

    /// Whether no other handle on the same bytes lives, so that they can be reused.
    pub fn is_unique(&self) -> bool {
        self.block.as_ref().is_none_or(|block| Rc::strong_count(block) == 1)
    }

    /// The ring's index of the registered region this is in.
    pub fn registered(&self) -> Option<u16> {
        self.block.as_ref().and_then(|block| block.memory.registered)
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.has_bytes() { "bytes" } else { "hollow" };
        write!(f, "Buf({} {kind})", self.len())
    }
}

struct Borrow<'a>(&'a Block);

impl<'a> Borrow<'a> {
    fn shared(block: &'a Block) -> Self {
        assert!(block.borrows.get() >= 0, "a buffer is looked at while it is being written");
        block.borrows.set(block.borrows.get() + 1);
        Self(block)
    }

    fn exclusive(block: &'a Block) -> Self {
        assert!(block.borrows.get() == 0, "a buffer is written while it is in use");
        block.borrows.set(-1);
        Self(block)
    }
}

impl Drop for Borrow<'_> {
    fn drop(&mut self) {
        let borrows = self.0.borrows.get();
        self.0.borrows.set(if borrows < 0 { 0 } else { borrows - 1 });
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Runtime;

    use super::Pool;

    #[test]
    fn a_slice_shares_the_bytes_and_a_copy_does_not() {
        let runtime = Runtime::virtual_time(0);
        let pool = Pool::new(&runtime.context());
        let whole = pool.copy_of(&[1; 1024]);
        let part = whole.slice(512..1024);
        part.copy_from(&[2; 512]);
        whole.with(|bytes| assert_eq!((bytes[511], bytes[512]), (1, 2)));
        let copy = pool.get(512);
        copy.copy_from_buf(&part);
        part.copy_from(&[3; 512]);
        copy.with(|bytes| assert_eq!(bytes, [2; 512]));
    }

    #[test]
    fn every_buffer_is_aligned_for_direct_io_from_its_sector_size_up() {
        let pool = Pool::new(&Runtime::virtual_time(0).context());
        let sizes = [512_usize, 4096, 512, 8192, 1 << 20, 1 << 21];
        let bufs: Vec<_> = sizes.iter().map(|size| pool.get(*size)).collect();
        for (buf, size) in bufs.iter().zip(sizes) {
            assert_eq!(buf.as_ptr().addr() % size.min(4096), 0, "a buffer of {size} bytes");
        }
    }

    #[test]
    fn a_hollow_buffer_has_a_length_and_takes_copies_of_nothing() {
        let pool = Pool::hollow();
        let buf = pool.get(8192);
        assert_eq!((buf.len(), buf.has_bytes()), (8192, false));
        buf.slice(0..512).copy_from(&[1; 512]);
        buf.with(|bytes| assert!(bytes.is_empty()));
    }

    #[test]
    fn a_trim_gives_back_what_nobody_uses() {
        let pool = Pool::new(&Runtime::virtual_time(0).context());
        let kept = [1 << 12, 1 << 21].map(|size| pool.copy_of(&vec![7; size]));
        drop([4096, 8192, 1 << 21, 1 << 22].map(|size| pool.zeroes(size)));
        // A block of the chunk is in use.
        assert_eq!(pool.trim(), (1 << 21) + (1 << 22));
        assert_eq!(pool.trim(), 0);
        kept.iter().for_each(|buf| buf.with(|bytes| assert!(bytes.iter().all(|byte| *byte == 7))));
        drop(kept);
        assert_eq!(pool.trim(), (1 << 21) + (4 << 20));
        assert_eq!(pool.trim(), 0);
        assert_eq!([1 << 12, 1 << 22].map(|size| pool.zeroes(size).len()), [1 << 12, 1 << 22]);
    }

    #[test]
    fn blocks_of_many_sizes_do_not_overlap() {
        let pool = Pool::new(&Runtime::virtual_time(0).context());
        for round in 0..2_u8 {
            let sizes = (0..400_usize).map(|index| 512 + index * 2617 % (1 << 20));
            let bufs: Vec<_> = sizes
                .enumerate()
                .map(|(index, size)| pool.copy_of(&vec![index as u8 ^ round; size]))
                .collect();
            for (index, buf) in bufs.iter().enumerate() {
                buf.with(|bytes| assert!(bytes.iter().all(|byte| *byte == index as u8 ^ round)));
            }
        }
    }

    #[test]
    #[should_panic(expected = "a buffer is written while it is in use")]
    fn writing_what_is_being_looked_at_is_refused() {
        let pool = Pool::new(&Runtime::virtual_time(0).context());
        let buf = pool.zeroes(512);
        let alias = buf.clone();
        buf.with(|_| alias.copy_from(&[1; 512]));
    }
}
