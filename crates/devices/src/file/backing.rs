//! The file below a loop device, and loop devices over a file. A lock on the device keeps out who opens the device: not who
//! opens the file, nor who has a second device over it. So what a device shows of the file is locked, too.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: u64 = 0x4C05;
/// Words of `struct loop_info64`: the numbers of the file system, of the inode and, if it is one, of the device come first.
const STATUS_WORDS: usize = 29;
/// Unit of a partition's place and size in sysfs, bytes.
const SECTOR: u64 = 512;

/// Loop devices over loop devices are followed so far.
const DEEPEST: usize = 8;

/// Bytes of a file or device; the end of one that shows all of it is [`u64::MAX`].
pub type Part = Range<u64>;

const ALL: Part = 0..u64::MAX;

/// A file or device, whichever name led to it.
#[derive(PartialEq, Eq)]
enum Identity {
    /// Numbers of the file system and of the file in it.
    File(u64, u64),
    Device(u64),
}

impl Identity {
    fn of(there: &fs::Metadata) -> Self {
        if there.file_type().is_block_device() {
            Self::Device(there.rdev())
        } else {
            Self::File(there.dev(), there.ino())
        }
    }
}

/// What a loop device is attached to.
struct Attached {
    path: PathBuf,
    part: Part,
    /// The loop device itself, where a partition of one was asked about.
    device: u64,
}

/// What is below a loop device, from the top down, and what it shows of each: `look` says what to keep of one that is attached,
/// and which device that is, if it is one.
fn walk<T>(device: u64, look: impl Fn(Attached) -> Option<(T, Option<u64>)>) -> Vec<(T, Part)> {
    let (mut found, mut shown, mut next) = (Vec::new(), ALL, Some(device));
    while let Some(attached) = next.filter(|_| found.len() < DEEPEST).and_then(attached) {
        shown = within(&attached.part, &shown);
        let Some((kept, deeper)) = look(attached) else { break };
        found.push((kept, shown.clone()));
        next = deeper;
    }
    found
}

/// The files below a loop device, open, and what it shows of each: others may show other parts. They are open for writing where
/// that is possible.
pub(super) fn below(device: &File) -> Vec<(File, Part)> {
    let number_of = |file: &File| file.metadata().ok().and_then(|there| number(&there));
    let look = |attached: Attached| {
        let file = open(&attached)?;
        let deeper = number_of(&file);
        Some((file, deeper))
    };
    number_of(device).map(|device| walk(device, look)).unwrap_or_default()
}

/// The same without opening anything: paths as the kernel tells them.
#[must_use]
pub fn paths_below(device: u64) -> Vec<(PathBuf, Part)> {
    walk(device, |attached| {
        let deeper = fs::metadata(&attached.path).ok().and_then(|there| number(&there));
        Some((attached.path, deeper))
    })
}

/// Whether two parts of one file have bytes in common.
fn overlap(one: &Part, other: &Part) -> bool {
    one.start < other.end && other.start < one.end
}

/// A loop device that shows bytes of this file, or of what is below it, and that somebody has alone: mounted, or in use.
/// Whoever writes to the file writes below it.
pub(super) fn taken_above(file: &File) -> Option<PathBuf> {
    let there = file.metadata().ok()?;
    let own = number(&there);
    let below = own.map(shown_by).unwrap_or_default();
    let ours: Vec<(Identity, Part)> = std::iter::once((Identity::of(&there), ALL)).chain(below).collect();
    // The kernel itself keeps the users of a disk and of its partitions apart.
    let disk = own.and_then(attached).map(|found| found.device);
    let is_above = |number: &u64| {
        let itself = Identity::Device(*number);
        disk != Some(*number)
            && !ours.iter().any(|(own, _)| *own == itself)
            && shown_by(*number)
                .iter()
                .any(|(other, part)| ours.iter().any(|(own, shown)| own == other && overlap(shown, part)))
    };
    let is_taken = |device: &PathBuf| {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(device);
        opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    };
    let place = |entry: fs::DirEntry| {
        let device = PathBuf::from("/dev").join(entry.file_name());
        let there = fs::metadata(&device).ok().filter(|_| entry.path().join("loop/backing_file").exists())?;
        number(&there).filter(is_above).map(|_| device)
    };
    fs::read_dir("/sys/block").ok()?.flatten().filter_map(place).find(is_taken)
}

/// Locks a part of a file for as long as it is open (`F_OFD_SETLK` of fcntl(2)); false if another one has it, or some of it.
pub(super) fn lock_part(file: &File, part: &Part, shared: bool) -> io::Result<bool> {
    // Nobody writes to what cannot be opened for writing, and a lock for writers needs a file that is.
    let kind = if shared || !is_open_for_writing(file) { libc::F_RDLCK } else { libc::F_WRLCK };
    // No file is longer than the kernel can say; 0 is all that there is.
    let last = i64::MAX as u64;
    let length = if part.end > last { 0 } else { part.end.saturating_sub(part.start) };
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: part.start.min(last) as i64,
        l_len: length as i64,
        l_pid: 0,
    };
    // SAFETY: F_OFD_SETLK reads one `struct flock`.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) { Ok(false) } else { Err(error) }
}

fn is_open_for_writing(file: &File) -> bool {
    // SAFETY: F_GETFL takes a descriptor and touches no memory.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// What a device shows of what it is attached to, where `shown` is what is shown of the device.
fn within(part: &Part, shown: &Part) -> Part {
    let at = |offset: u64| part.start.saturating_add(offset).min(part.end);
    at(shown.start)..at(shown.end)
}

/// The same by what the kernel has open: names may lead elsewhere by now, or to nothing.
fn shown_by(device: u64) -> Vec<(Identity, Part)> {
    walk(device, |attached| {
        let named = || fs::metadata(&attached.path).ok().map(|there| Identity::of(&there));
        let identity = node(attached.device).and_then(|node| status(&node)).or_else(named)?;
        let deeper = match identity {
            Identity::Device(number) => Some(number),
            Identity::File(..) => None,
        };
        Some((identity, deeper))
    })
}

fn number(there: &fs::Metadata) -> Option<u64> {
    there.file_type().is_block_device().then(|| there.rdev())
}

fn attached(device: u64) -> Option<Attached> {
    let at = in_sysfs(device);
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let is_partition = at.join("partition").exists();
    let disk = if is_partition { at.join("..") } else { at.clone() };
    let path = fs::read_to_string(disk.join("loop/backing_file")).ok()?;
    let start = number(disk.join("loop/offset")).unwrap_or(0);
    let limit = number(disk.join("loop/sizelimit")).filter(|limit| *limit > 0);
    let mut part = start..limit.map_or(u64::MAX, |limit| start.saturating_add(limit));
    let mut itself = device;
    if is_partition {
        let [begin, length] =
            ["start", "size"].map(|name| number(at.join(name)).map(|sectors| sectors * SECTOR));
        part = within(&part, &(begin?..begin?.saturating_add(length?)));
        let told = fs::read_to_string(disk.join("dev")).ok()?;
        let (major, minor) = told.trim().split_once(':')?;
        itself = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    }
    Some(Attached { path: PathBuf::from(path.trim_end_matches('\n')), part, device: itself })
}

fn in_sysfs(device: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device)))
}

/// A loop device, open to be asked.
fn node(device: u64) -> Option<File> {
    let name = in_sysfs(device).canonicalize().ok()?;
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(Path::new("/dev").join(name.file_name()?))
        .ok()
}

/// What a device is attached to, open.
fn open(attached: &Attached) -> Option<File> {
    let with = |write: bool| {
        OpenOptions::new().read(true).write(write).custom_flags(libc::O_NONBLOCK).open(&attached.path)
    };
    let file = with(true).or_else(|_| with(false)).ok()?;
    // The name may lead elsewhere by now, or in this mount namespace. Who may not ask the device believes the name.
    let known = node(attached.device).and_then(|node| status(&node));
    let is_it = known.is_none_or(|known| file.metadata().is_ok_and(|there| Identity::of(&there) == known));
    is_it.then_some(file)
}

/// What a loop device has open.
fn status(device: &File) -> Option<Identity> {
    let mut status = [0_u64; STATUS_WORDS];
    // SAFETY: LOOP_GET_STATUS64 stores one `struct loop_info64` of 232 bytes.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, status.as_mut_ptr()) };
    let [system, inode, device, ..] = status;
    let identity = if device == 0 { Identity::File(system, inode) } else { Identity::Device(device) };
    (answer == 0).then_some(identity)
}
