//! Large pieces of memory, zeroed, of which only what is touched is used.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Zeroed memory that the kernel may give one huge page for.
pub struct HugePage(NonNull<u8>);

impl HugePage {
    /// How large it is.
    pub const BYTES: usize = HUGE;

    /// A new one. Ends the process where there is no memory, as every allocation does.
    pub fn zeroed() -> Self {
        let memory = map_huge(HUGE).and_then(NonNull::new);
        Self(memory.unwrap_or_else(|| handle_alloc_error(layout(HUGE))))
    }

    /// What it holds.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with this length, and nobody else refers to it.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), HUGE) }
    }

    /// What it holds, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr(), HUGE) }
    }
}

impl Drop for HugePage {
    fn drop(&mut self) {
        // SAFETY: mapped with this length.
        unsafe { unmap(self.0.as_ptr(), HUGE) };
    }
}

fn layout(length: usize) -> Layout {
    Layout::from_size_align(length, 4096).expect("a length below half of all addresses")
}

/// A mapping of its own; None where there is no memory.
#[cfg(feature = "real")]
pub(crate) fn map(length: usize) -> Option<*mut u8> {
    // SAFETY: an anonymous private mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}

/// The same in huge pages where the system has them to spare; the length is a multiple of theirs.
#[cfg(feature = "real")]
pub(crate) fn map_huge(length: usize) -> Option<*mut u8> {
    // Kernels before 6.7 begin a mapping anywhere: what lies outside of whole huge pages is cut off again.
    let mapped = map(length + HUGE)?;
    let before = mapped.addr().next_multiple_of(HUGE) - mapped.addr();
    // SAFETY: all of it lies within what was just mapped.
    unsafe {
        let memory = mapped.add(before);
        if before > 0 {
            unmap(mapped, before);
        }
        if before < HUGE {
            unmap(memory.add(length), HUGE - before);
        }
        // What a kernel does not know or allow it refuses, and leaves the mapping as it is.
        libc::madvise(memory.cast(), length, libc::MADV_HUGEPAGE);
        Some(memory)
    }
}

/// Gives a piece back.
///
/// # Safety
/// It came from [`map`] or [`map_huge`] with this length, and is no longer used.
#[cfg(feature = "real")]
pub(crate) unsafe fn unmap(memory: *mut u8, length: usize) {
    // SAFETY: as the caller vouches.
    unsafe { libc::munmap(memory.cast(), length) };
}

/// The allocator's, which leaves untouched pages of large pieces alone on every system.
#[cfg(not(feature = "real"))]
pub(crate) fn map(length: usize) -> Option<*mut u8> {
    // SAFETY: the length is never 0.
    let memory = unsafe { std::alloc::alloc_zeroed(layout(length)) };
    (!memory.is_null()).then_some(memory)
}

/// As [`map`].
#[cfg(not(feature = "real"))]
pub(crate) fn map_huge(length: usize) -> Option<*mut u8> {
    map(length)
}

/// Gives a piece back.
///
/// # Safety
/// It came from [`map`] with this length, and is no longer used.
#[cfg(not(feature = "real"))]
pub(crate) unsafe fn unmap(memory: *mut u8, length: usize) {
    // SAFETY: as the caller vouches; the layout is that of `map`.
    unsafe { std::alloc::dealloc(memory, layout(length)) };
}
