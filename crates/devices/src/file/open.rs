//! Opening: creating what is not there, exclusive use, direct I/O or the stated fallback, and errors that say what to do.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use fathom_volume::{Error, ErrorKind, Geometry, Result};

use super::backing::below;
use super::kernel::{self, Facts, Sort};
use super::{Allocation, Config, Direct};

/// Bytes written at a time into a new file.
const FILL: usize = 1 << 20;
/// What is assumed of a kernel that does not tell: the least any device takes.
const USUAL_ALIGNMENT: u32 = 512;

/// A file, open and ours.
pub(super) struct Opened {
    pub file: File,
    /// The file below a loop device, locked.
    pub below: Option<File>,
    pub sort: Sort,
    pub geometry: Geometry,
    /// Alignment of memory for direct I/O, bytes; 1 through the page cache.
    pub memory_alignment: usize,
    /// Why the page cache is in between, if it is.
    pub buffered: Option<String>,
}

/// Why a file is not available.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not there, or not all of it, or its device is dead.
    Absent(Error),
    /// It is there, and the settings or its rights do not fit.
    Wrong(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Gone | ErrorKind::Io => Self::Absent(error),
            _ => Self::Wrong(error),
        }
    }
}

impl Refusal {
    /// What is told where nobody can go without the file.
    pub fn into_error(self) -> Error {
        let (Self::Absent(error) | Self::Wrong(error)) = self;
        error
    }
}

/// Whether to wait for a file that a program has which was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Usual,
    None,
}

fn fail(path: &str, error: &io::Error, doing: &str, remedy: &str) -> Error {
    let kind = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => ErrorKind::NoSpace,
        Some(libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM | libc::ESTALE) => ErrorKind::Gone,
        Some(libc::EIO) => ErrorKind::Io,
        _ => ErrorKind::Misuse,
    };
    let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
    Error::new(kind, format!("file `{path}`: {doing}: {error}{remedy}")).about("path")
}

fn misuse(path: &str, what: &str) -> Error {
    Error::new(ErrorKind::Misuse, format!("file `{path}`: {what}")).about("path")
}

/// Opens, creating the file if its size is given.
pub(super) fn open(config: &Config, patience: Patience) -> std::result::Result<Opened, Refusal> {
    let path = config.path.as_str();
    match fs::metadata(path) {
        Ok(metadata) => {
            let sort = metadata.file_type();
            if !sort.is_file() && !sort.is_block_device() {
                let what = if sort.is_dir() { "a directory" } else { "neither a file nor a block device" };
                return Err(
                    misuse(path, &format!("this is {what}; name a regular file or a block device")).into()
                );
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match config.size {
            Some(size) if config.create && !config.read_only => create(path, size, config.allocation)?,
            _ => return Err(Refusal::Absent(fail(path, &error, "cannot open", missing(config)))),
        },
        Err(error) => return Err(fail(path, &error, "cannot look at it", remedy(&error)).into()),
    }
    let (file, refused) = open_existing(config, patience)?;
    is_writable(config, &file)?;
    let facts = kernel::facts(&file).map_err(|error| fail(path, &error, "cannot ask for its size", ""))?;
    is_whole(config, &facts)?;
    lock(path, &file, config.read_only, patience)?;
    let below = match below(&file) {
        Some((below, is_whole)) => {
            // Devices over parts of one file share it.
            lock(path, &below, config.read_only || !is_whole, patience)?;
            Some(below)
        }
        None => None,
    };
    let buffered = direct_or_not(config, &file, &facts, refused)?;
    let memory_alignment = match (&buffered, facts.direct) {
        (Some(_), _) => 1,
        (None, Some((memory, _))) => memory as usize,
        (None, None) => USUAL_ALIGNMENT as usize,
    };
    let geometry = geometry(config, &facts, buffered.is_some())?;
    Ok(Opened { file, below, sort: facts.sort, geometry, memory_alignment, buffered })
}

/// What to do where a file is missing. Its file system may not be mounted: an empty file would be served in place of the data.
fn missing(config: &Config) -> &'static str {
    match (config.may_be_absent, config.create, config.size) {
        // Who goes on without it says how.
        (true, _, _) => "bring it back (is its file system mounted?)",
        (_, false, Some(_)) => {
            "bring it back (is its file system mounted?); for a new volume, or if what it held is lost, `fathomd --create` makes an \
             empty one"
        }
        (_, false, None) => {
            "check the path (is its file system mounted?); for a new volume, give a `size` and have `fathomd --create` make it"
        }
        (_, true, _) => "check the path, or give a `size` to have a file created",
    }
}

/// Whether a start would get a file for writing that is open for reading. It is opened as a start opens it, for a moment.
pub(super) fn try_for_writing(config: &Config) -> std::result::Result<(), Refusal> {
    let (file, _) = open_existing(config, Patience::Usual)?;
    Ok(is_writable(config, &file)?)
}

/// Refuses a block device that cannot be written: the kernel opens it, and fails every write.
fn is_writable(config: &Config, file: &File) -> Result<()> {
    if config.read_only || !kernel::is_read_only(file) {
        return Ok(());
    }
    let what = "this block device is read-only; make it writable (blockdev --setrw), or set read_only = true";
    Err(misuse(&config.path, what))
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES) => "run with the rights to it, or change its owner or mode",
        Some(libc::EPERM) => "run with the rights to it; `chattr -i` it if it is immutable (lsattr)",
        Some(libc::EROFS) => "its file system is read-only: remount it, or set read_only = true",
        Some(libc::EBUSY) => "it is mounted or in use: unmount it, or stop what uses it",
        Some(libc::ENOTDIR | libc::ENOENT) => "check the folders in the path",
        Some(libc::ENOSPC | libc::EDQUOT) => "free some space, or ask for less",
        Some(libc::EFBIG) => "the file system takes no file of that size",
        _ => "",
    }
}

/// Opens without the page cache if asked for; with it, and the reason, where that is refused.
fn open_existing(config: &Config, patience: Patience) -> Result<(File, Option<String>)> {
    let path = Path::new(&config.path);
    let block = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let exclusive = if block && !config.read_only { libc::O_EXCL } else { 0 };
    let with = |flags: i32| {
        let mut options = OpenOptions::new();
        options.read(true).write(!config.read_only).custom_flags(flags | exclusive);
        let mut seen_open = 0;
        until_free(patience, || match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && !is_taken(path) => {
                // Once is no proof: device managers look into devices that were closed, and a child that a program
                // starts has its files for a moment.
                seen_open += u32::from(is_open(path));
                (seen_open == LOOKS_TO_BELIEVE).then_some(Err(error))
            }
            opened => Some(opened),
        })
        .unwrap_or_else(|| options.open(path))
    };
    let failed = |error: &io::Error| fail(&config.path, error, "cannot open", remedy(error));
    if config.direct == Direct::Off {
        return with(0).map(|file| (file, None)).map_err(|error| failed(&error));
    }
    match with(libc::O_DIRECT) {
        Ok(file) => Ok((file, None)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let why = "the file system has no direct I/O".to_owned();
            with(0).map(|file| (file, Some(why))).map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Tries again while there is no answer, for ten seconds: what a killed program had is taken until the kernel has taken its
/// ring apart, with the requests in it, and what a check looks at until the check has ended.
fn until_free<T>(patience: Patience, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    const LOOKS: u32 = 200;
    const PAUSE: Duration = Duration::from_millis(50);
    if patience == Patience::None {
        return attempt();
    }
    (0..LOOKS).find_map(|_| {
        let answer = attempt();
        if answer.is_none() {
            std::thread::park_timeout(PAUSE);
        }
        answer
    })
}

/// So often a process must be seen that has a block device open before it is believed to keep it.
const LOOKS_TO_BELIEVE: u32 = 10;

/// One user at a time; readers may share.
fn lock(path: &str, file: &File, shared: bool, patience: Patience) -> Result<()> {
    let mode = if shared { libc::LOCK_SH } else { libc::LOCK_EX };
    let taken = || {
        Err(misuse(
            path,
            "another volume or program has it locked, or the file below it; stop that, or use another path",
        ))
    };
    until_free(patience, || {
        // SAFETY: flock takes a descriptor and touches no memory.
        if unsafe { libc::flock(file.as_raw_fd(), mode | libc::LOCK_NB) } == 0 {
            return Some(Ok(()));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
            return Some(Err(fail(path, &error, "cannot lock it", "")));
        }
        is_kept_by_the_living(file).then(taken)
    })
    .unwrap_or_else(taken)
}

/// Entries of a folder, none where it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_device(path: &Path, number: u64) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device() && found.rdev() == number)
}

/// Whether a block device is mounted, part of another one or swapped to; true where it cannot be looked at.
fn is_taken(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    let number = metadata.rdev();
    let name = format!("{}:{}", libc::major(number), libc::minor(number));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_mounted = mounts.lines().any(|line| line.split(' ').nth(2) == Some(&name));
    let is_part = entries(&Path::new("/sys/dev/block").join(&name).join("holders")).next().is_some();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let mut swaps = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    is_mounted || is_part || swaps.any(|line| is_device(Path::new(line), number))
}

/// Whether a process that this one may look at has a block device open.
fn is_open(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    let open = entries(Path::new("/proc")).flat_map(|process| entries(&process.path().join("fd")));
    // By its name: to look at what is open on a file system that hangs would hang too.
    let mut places = open.filter_map(|open| fs::read_link(open.path()).ok());
    places.any(|place| place.starts_with("/dev") && is_device(&place, metadata.rdev()))
}

/// Whether a process that still runs keeps a lock on the file, as far as the kernel tells. Another one's shared lock is waited
/// for: `fathomd --check` has it, and ends by itself.
fn is_kept_by_the_living(file: &File) -> bool {
    let own = std::process::id().to_string();
    let Ok(metadata) = file.metadata() else { return true };
    let place = format!(":{}", metadata.ino());
    let listed = fs::read_to_string("/proc/locks").unwrap_or_default();
    // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131090 0 EOF"
    listed.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ours = words.get(1) == Some(&"FLOCK") && words.get(5).is_some_and(|at| at.ends_with(&place));
        let is_kept = words.get(3) != Some(&"READ") || words.get(4) == Some(&own.as_str());
        let state = |process: &&str| fs::read_to_string(format!("/proc/{process}/stat")).ok();
        is_ours && is_kept && words.get(4).and_then(state).is_some_and(|stat| !stat.contains(") Z "))
    })
}

/// Why the page cache stays in between; None if it does not.
fn direct_or_not(
    config: &Config,
    file: &File,
    facts: &Facts,
    refused: Option<String>,
) -> Result<Option<String>> {
    if config.direct == Direct::Off {
        return Ok(Some("direct = \"off\"".to_owned()));
    }
    let silent = facts.direct.is_some_and(|(_, offset)| offset == 0);
    let why =
        refused.or_else(|| silent.then(|| "the file system has no direct I/O for this file".to_owned()));
    let Some(why) = why else { return Ok(None) };
    if config.direct == Direct::Require {
        let remedy = "move the file to another file system, or set direct = \"prefer\"";
        return Err(misuse(&config.path, &format!("{why}; {remedy}")).about("direct"));
    }
    // SAFETY: F_GETFL and F_SETFL take a descriptor and flags and touch no memory.
    let cleared = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_DIRECT)
    };
    if cleared < 0 {
        return Err(fail(&config.path, &io::Error::last_os_error(), "cannot turn direct I/O off", ""));
    }
    Ok(Some(why))
}

/// Refuses a file that holds less than is asked for, or nothing.
fn is_whole(config: &Config, facts: &Facts) -> std::result::Result<(), Refusal> {
    let size = config.size.unwrap_or(0);
    if size > facts.size {
        let what = format!("it holds {} bytes, and {size} were asked for", facts.size);
        let remedy = match facts.sort {
            // Whoever has lost the end of a file must not be told to remove the rest.
            Sort::Regular => {
                "bring back what it held if something has made it shorter; otherwise ask for less, or leave `size` out"
            }
            Sort::Block => "ask for less, or leave `size` out",
        };
        return Err(Refusal::Absent(misuse(&config.path, &format!("{what}; {remedy}")).about("size")));
    }
    if facts.size < 512 {
        let what = "it is empty, or has no size: it is no volume";
        let remedy = match (config.may_be_absent, config.create) {
            (true, _) => "bring back what it held, or check the path",
            (_, true) => "check the path; for a new volume, remove it and give a `size` to have it created",
            (_, false) => {
                "check the path, or bring back what it held; for a new volume, remove it, give a `size` and have `fathomd --create` \
                 make it"
            }
        };
        return Err(Refusal::Absent(misuse(&config.path, &format!("{what}; {remedy}"))));
    }
    Ok(())
}

fn geometry(config: &Config, facts: &Facts, buffered: bool) -> Result<Geometry> {
    let sector = |size: u32| if size.is_power_of_two() && size >= 512 { size } else { 512 };
    let logical_sector = match (facts.logical_sector, facts.direct) {
        (Some(size), _) => sector(size),
        (None, Some((_, offset))) if !buffered => sector(offset),
        _ => 512,
    };
    let whole = facts.size / u64::from(logical_sector) * u64::from(logical_sector);
    let size = config.size.unwrap_or(whole);
    if size == 0 || !size.is_multiple_of(u64::from(logical_sector)) {
        let what = format!("a size of {size} bytes is no multiple of its sector of {logical_sector}");
        return Err(misuse(&config.path, &format!("{what}; round it")).about("size"));
    }
    let physical = facts.physical_sector.map_or(logical_sector, sector);
    // A file's own changes (its length, its extents) are volatile whatever the device promises.
    let durable = facts.sort == Sort::Block && !buffered && facts.write_cache == Some(false);
    Ok(Geometry {
        size,
        logical_sector,
        physical_sector: physical.max(logical_sector),
        optimal_transfer: facts.optimal_transfer.unwrap_or(0),
        max_transfer: Geometry::UNLIMITED_TRANSFER,
        queue_depth: facts.queue_depth.unwrap_or(0),
        volatile_cache: !durable,
        atomic_write: facts.atomic_write.filter(|_| !buffered).unwrap_or(0).max(logical_sector),
    })
}

/// Makes a file of that size; leaves none behind if that fails.
fn create(path: &str, size: u64, allocation: Allocation) -> Result<()> {
    let failed = |error: &io::Error| fail(path, error, "cannot create it", remedy(error));
    // Whoever may open it reads the volume, and could lock it.
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(path).map_err(|error| failed(&error))?;
    let made = fill(&mut file, size, allocation).and_then(|()| sync_folder(Path::new(path)));
    made.map_err(|error| {
        // The first error is the one to tell.
        let _ = fs::remove_file(path);
        let doing = format!("cannot create it with {size} bytes");
        let too_large = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
        fail(path, &error, &doing, remedy(&error)).about(if too_large { "size" } else { "path" })
    })
}

fn fill(file: &mut File, size: u64, allocation: Allocation) -> io::Result<()> {
    match allocation {
        Allocation::Sparse => file.set_len(size)?,
        Allocation::Reserved => {
            let length = i64::try_from(size).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
            // SAFETY: fallocate takes a descriptor and numbers and touches no memory.
            if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Allocation::Written => {
            let zeroes = vec![0; FILL];
            let mut left = size;
            while left > 0 {
                let count = left.min(FILL as u64);
                file.write_all(&zeroes[..count as usize])?;
                left -= count;
            }
        }
    }
    file.sync_all()?;
    // Nobody needs its zeroes in memory; and the kernel has them in large pieces, in which small writes are dear. It may
    // keep them nevertheless.
    // SAFETY: posix_fadvise takes a descriptor and numbers and touches no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Ok(())
}

/// Makes a new name durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
