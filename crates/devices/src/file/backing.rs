//! The file below a loop device, and loop devices over a file. A lock on the device keeps out who opens the device: not who
//! opens the file, nor who has a second device over it. So the file is locked, too.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use super::open::leads_to;

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: u64 = 0x4C05;
/// Words of `struct loop_info64`; the second is the inode's number.
const STATUS_WORDS: usize = 29;

/// Loop devices over loop devices are followed so far.
const DEEPEST: usize = 8;

/// The files below a loop device, from the top down, open, and whether it shows all of each: others may show other parts.
pub(super) fn below(device: &File) -> Vec<(File, bool)> {
    let mut found: Vec<(File, bool)> = Vec::new();
    while found.len() < DEEPEST {
        let (device, whole) = found.last().map_or((device, true), |(file, whole)| (file, *whole));
        let Some((file, all)) = one_below(device) else { break };
        found.push((file, whole && all));
    }
    found
}

/// The same without opening anything: paths as the kernel tells them.
#[must_use]
pub fn paths_below(device: u64) -> Vec<(PathBuf, bool)> {
    let (mut found, mut whole, mut next) = (Vec::new(), true, Some(device));
    while let Some((path, all, _)) = next.filter(|_| found.len() < DEEPEST).and_then(attached) {
        whole &= all;
        let there = fs::metadata(&path).ok().filter(|there| there.file_type().is_block_device());
        next = there.map(|there| there.rdev());
        found.push((path, whole));
    }
    found
}

/// What a loop device is attached to, whether it shows all of it, and whether it is a partition of one.
fn attached(device: u64) -> Option<(PathBuf, bool, bool)> {
    let at = PathBuf::from(format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device)));
    let is_partition = at.join("partition").exists();
    let facts = if is_partition { at.join("../loop") } else { at.join("loop") };
    let path = fs::read_to_string(facts.join("backing_file")).ok()?;
    let limits = ["offset", "sizelimit"].map(|name| fs::read_to_string(facts.join(name)).unwrap_or_default());
    let is_whole = !is_partition && limits.iter().all(|limit| limit.trim() == "0");
    Some((PathBuf::from(path.trim_end_matches('\n')), is_whole, is_partition))
}

/// A loop device over this file that somebody has alone: mounted, or in use. Whoever writes to the file writes below it.
pub(super) fn taken_above(file: &File) -> Option<PathBuf> {
    let over = |entry: &fs::DirEntry| {
        let path = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        leads_to(path.trim_end_matches('\n'), file).then(|| PathBuf::from("/dev").join(entry.file_name()))
    };
    let is_taken = |device: &PathBuf| {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(device);
        opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    };
    fs::read_dir("/sys/block").ok()?.flatten().filter_map(|entry| over(&entry)).find(is_taken)
}

fn one_below(device: &File) -> Option<(File, bool)> {
    let metadata = device.metadata().ok().filter(|found| found.file_type().is_block_device())?;
    let (path, is_whole, is_partition) = attached(metadata.rdev())?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
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
