//! Large pieces of memory, zeroed, of which only what is touched is used.

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

/// Gives a piece back.
///
/// # Safety
/// It came from [`map`] with this length, and is no longer used.
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

/// Gives a piece back.
///
/// # Safety
/// It came from [`map`] with this length, and is no longer used.
#[cfg(not(feature = "real"))]
pub(crate) unsafe fn unmap(memory: *mut u8, length: usize) {
    // SAFETY: as the caller vouches; the layout is that of `map`.
    unsafe { std::alloc::dealloc(memory, layout(length)) };
}

#[cfg(not(feature = "real"))]
fn layout(length: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(length, 4096).expect("a length below half of all addresses")
}
