//! The file below a loop device. A lock on the device keeps out who opens the device: not who opens the file, nor who has a
//! second device over it. So the file is locked, too.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: u64 = 0x4C05;
/// Words of `struct loop_info64`; the second is the inode's number.
const STATUS_WORDS: usize = 29;

/// The file below a loop device, open, and whether the device shows all of it: others may show other parts.
pub(super) fn below(device: &File) -> Option<(File, bool)> {
    let metadata = device.metadata().ok().filter(|found| found.file_type().is_block_device())?;
    let number = metadata.rdev();
    let at = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    let at = PathBuf::from(at);
    let is_partition = at.join("partition").exists();
    let facts = if is_partition { at.join("../loop") } else { at.join("loop") };
    let path = fs::read_to_string(facts.join("backing_file")).ok()?;
    let limits = ["offset", "sizelimit"].map(|name| fs::read_to_string(facts.join(name)).unwrap_or_default());
    let is_whole = !is_partition && limits.iter().all(|limit| limit.trim() == "0");
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(Path::new(path.trim_end_matches('\n')))
        .ok()?;
    // The name may lead elsewhere by now, or in this mount namespace.
    let is_it = is_partition || inode_below(device)? == file.metadata().ok()?.ino();
    is_it.then_some((file, is_whole))
}

fn inode_below(device: &File) -> Option<u64> {
    let mut status = [0_u64; STATUS_WORDS];
    // SAFETY: LOOP_GET_STATUS64 stores one `struct loop_info64` of 232 bytes.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, status.as_mut_ptr()) };
    (answer == 0).then_some(status[1])
}
