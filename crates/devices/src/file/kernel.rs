//! What the kernel tells about an open file: direct I/O alignment, sectors, queue, write cache.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// `BLKGETSIZE64` of linux/fs.h: `_IOR(0x12, 114, size_t)`; the libc crate lacks it.
const BLKGETSIZE64: u64 = 0x8008_1272;
/// `BLKROGET` of linux/fs.h: `_IO(0x12, 94)`.
const BLKROGET: u64 = 0x125e;
/// `BLKDISCARD` of linux/fs.h: `_IO(0x12, 119)`.
const BLKDISCARD: u64 = 0x1277;

/// A regular file or a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Regular,
    Block,
}

/// Facts of an open file. Sizes are bytes; None where the kernel does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    pub sort: Sort,
    /// Length of the file, or capacity of the device.
    pub size: u64,
    /// Alignment of memory and of offsets for direct I/O; zeroes if there is none.
    pub direct: Option<(u32, u32)>,
    pub logical_sector: Option<u32>,
    pub physical_sector: Option<u32>,
    pub optimal_transfer: Option<u32>,
    pub queue_depth: Option<u32>,
    /// Whether the device has a write cache that a power cut empties.
    pub write_cache: Option<bool>,
    pub atomic_write: Option<u32>,
}

/// Looks at an open file.
pub(super) fn facts(file: &File) -> io::Result<Facts> {
    let metadata = file.metadata()?;
    let sort = if metadata.file_type().is_block_device() { Sort::Block } else { Sort::Regular };
    let (size, device) = match sort {
        Sort::Block => (block_size(file)?, metadata.rdev()),
        Sort::Regular => (metadata.len(), metadata.dev()),
    };
    let extended = statx(file);
    let queue = |name: &str| queue_attribute(device, name);
    let number = |name: &str| queue(name).and_then(|text| text.parse().ok());
    let known = |number: &u32| *number > 0;
    Ok(Facts {
        sort,
        size,
        direct: extended.as_ref().and_then(|(direct, _)| *direct),
        logical_sector: match sort {
            Sort::Block => number("logical_block_size"),
            // A file's own unit of addressing is the direct I/O alignment, if any.
            Sort::Regular => None,
        },
        physical_sector: number("physical_block_size"),
        optimal_transfer: number("optimal_io_size").filter(known),
        queue_depth: number("nr_requests").filter(known),
        write_cache: queue("write_cache").map(|text| text == "write back"),
        atomic_write: extended.and_then(|(_, atomic)| atomic),
    })
}

fn block_size(file: &File) -> io::Result<u64> {
    let mut size = 0_u64;
    // SAFETY: BLKGETSIZE64 stores one u64.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut size) };
    if status == 0 { Ok(size) } else { Err(io::Error::last_os_error()) }
}

/// Length of a regular file as this machine knows it, without asking a server for it; None where the kernel does not say.
pub(super) fn length(file: &File) -> Option<u64> {
    // SAFETY: all-zero bytes are a valid statx structure.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    // SAFETY: an empty path with AT_EMPTY_PATH asks about the descriptor; the answer is a valid structure.
    let status =
        unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_SIZE, &raw mut answer) };
    (status == 0 && answer.stx_mask & libc::STATX_SIZE != 0).then_some(answer.stx_size)
}

/// Whether this is a block device that refuses writes.
pub(super) fn is_read_only(file: &File) -> bool {
    let mut answer = 0_i32;
    // SAFETY: BLKROGET stores one int; a regular file does not know it.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET, &raw mut answer) };
    status == 0 && answer != 0
}

/// Tells a block device that a range is no longer needed. Blocks while it lasts.
pub(super) fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two u64.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Alignments for direct I/O (kernel 6.1) and the largest atomic write (6.11), as far as known.
#[allow(clippy::type_complexity, reason = "two optional answers of one call")]
fn statx(file: &File) -> Option<(Option<(u32, u32)>, Option<u32>)> {
    // SAFETY: all-zero bytes are a valid statx structure.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_DIOALIGN | libc::STATX_WRITE_ATOMIC;
    // SAFETY: an empty path with AT_EMPTY_PATH asks about the descriptor; the answer is a valid structure.
    let status =
        unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, mask, &raw mut answer) };
    if status != 0 {
        return None;
    }
    let has = |bit: u32| answer.stx_mask & bit != 0;
    let direct = has(libc::STATX_DIOALIGN).then_some((answer.stx_dio_mem_align, answer.stx_dio_offset_align));
    let atomic = answer.stx_atomic_write_unit_max;
    Some((direct, (has(libc::STATX_WRITE_ATOMIC) && atomic > 0).then_some(atomic)))
}

/// An attribute of the request queue of a block device, or of the disk a partition lies on.
fn queue_attribute(device: u64, name: &str) -> Option<String> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    let base = format!("/sys/dev/block/{major}:{minor}");
    let read = |path: String| fs::read_to_string(path).ok();
    let text = read(format!("{base}/queue/{name}")).or_else(|| read(format!("{base}/../queue/{name}")))?;
    Some(text.trim().to_owned())
}
