//! Opening: creating what is not there, exclusive use, direct I/O or the stated fallback, and errors that say what to do.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use fathom_volume::{Error, ErrorKind, Geometry, Result};

use super::backing::{Part, below, lock_part, taken_above};
use super::kernel::{self, Facts, Sort};
use super::new::New;
use super::{Config, Direct};
use crate::patience::{Patience, until_free};

/// What is assumed of a kernel that does not tell: the least any device takes.
const USUAL_ALIGNMENT: u32 = 512;
/// Why the page cache stays in between.
const NO_DIRECT: &str = "the file system has no direct I/O";

/// A file, open and ours.
pub(super) struct Opened {
    pub file: File,
    /// The files below a loop device, locked.
    pub below: Vec<File>,
    pub sort: Sort,
    pub geometry: Geometry,
    /// Alignment of memory for direct I/O, bytes; 1 through the page cache.
    pub memory_alignment: usize,
    /// Why the page cache is in between, if it is.
    pub buffered: Option<String>,
    /// Whether it was made just now.
    pub is_new: bool,
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

pub(super) fn fail(path: &str, error: &io::Error, doing: &str, remedy: &str) -> Error {
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

/// How often a file that is replaced or removed while it is opened is looked for.
const LOOKS: u32 = 5;

/// Opens, creating the file if its size is given.
pub(super) fn open(config: &Config, patience: Patience) -> std::result::Result<Opened, Refusal> {
    for _ in 0..LOOKS {
        if let Some(opened) = open_once(config, patience)? {
            return Ok(opened);
        }
    }
    Err(misuse(&config.path, "it is removed or replaced all the time: stop the program that does so").into())
}

/// None if another file is there by now.
fn open_once(config: &Config, patience: Patience) -> std::result::Result<Option<Opened>, Refusal> {
    let path = config.path.as_str();
    let mut new = None;
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
            Some(size) if config.create && !config.read_only => {
                new = New::make(path, size, config.allocation)?;
                if new.is_none() {
                    return Ok(None);
                }
            }
            _ => return Err(not_there(config, &error)),
        },
        Err(error) => return Err(fail(path, &error, "cannot look at it", remedy(&error)).into()),
    }
    let (file, refused) = match &new {
        Some(new) => past_the_page_cache(config, &new.file)?,
        None => open_existing(config, patience)?,
    };
    is_writable(config, &file)?;
    let facts = kernel::facts(&file).map_err(|error| fail(path, &error, "cannot ask for its size", ""))?;
    is_whole(config, &facts)?;
    lock(path, &file, config.read_only, patience)?;
    let below = below(&file);
    for (shown, part) in &below {
        lock_shown(path, shown, part, config.read_only, patience)?;
    }
    is_not_below(config, &file)?;
    let held = below.into_iter().map(|(file, _)| file).collect();
    if new.is_none() && facts.sort == Sort::Regular && !leads_to(path, &file) {
        // Whoever had it locked has removed it.
        return Ok(None);
    }
    let buffered = direct_or_not(config, &file, &facts, refused)?;
    let memory_alignment = match (&buffered, facts.direct) {
        (Some(_), _) => 1,
        (None, Some((memory, _))) => memory as usize,
        (None, None) => USUAL_ALIGNMENT as usize,
    };
    let geometry = geometry(config, &facts, buffered.is_some())?;
    let is_new = new.is_some();
    if new.map(New::place).transpose()? == Some(false) {
        return Ok(None);
    }
    Ok(Some(Opened { file, below: held, sort: facts.sort, geometry, memory_alignment, buffered, is_new }))
}

/// Whether anything is at a path.
pub(super) fn is_there(path: &str) -> bool {
    fs::metadata(path).is_ok()
}

/// Whether a path leads to this file.
pub(super) fn leads_to(path: &str, file: &File) -> bool {
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    let (found, own) = (fs::metadata(path).map(place), file.metadata().map(place));
    matches!((found, own), (Ok(found), Ok(own)) if found == own)
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
        (_, true, Some(_)) => {
            "check the path; what has `read_only = true` is not created: leave it out until the file is there"
        }
        (_, true, None) => "check the path, or give a `size` to have a file created",
    }
}

/// Whether a start would get a file for writing that is open for reading. It is opened as a start opens it, for a moment.
pub(super) fn try_for_writing(config: &Config) -> std::result::Result<(), Refusal> {
    match fs::metadata(&config.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(not_there(config, &error)),
        // Opening says what else is wrong.
        _ => {}
    }
    let (file, _) = open_existing(config, Patience::Usual)?;
    is_writable(config, &file)?;
    Ok(is_not_below(config, &file)?)
}

fn not_there(config: &Config, error: &io::Error) -> Refusal {
    Refusal::Absent(fail(&config.path, error, "cannot open", missing(config)))
}

/// Refuses a block device that cannot be written: the kernel opens it, and fails every write.
fn is_writable(config: &Config, file: &File) -> Result<()> {
    if config.read_only || !kernel::is_read_only(file) {
        return Ok(());
    }
    let what = "this block device is read-only; make it writable (blockdev --setrw), or set read_only = true";
    Err(misuse(&config.path, what))
}

/// Refuses a file of which a loop device that is in use shows bytes: what is written to it would be written below a mounted file
/// system.
fn is_not_below(config: &Config, file: &File) -> Result<()> {
    let Some(device) = Some(file).filter(|_| !config.read_only).and_then(taken_above) else { return Ok(()) };
    let is_file = file.metadata().is_ok_and(|there| there.is_file());
    let over = if is_file { "over it" } else { "over the same bytes" };
    let what = format!(
        "{} is a loop device {over} and is mounted or in use: unmount it, or stop what uses it",
        device.display()
    );
    Err(misuse(&config.path, &what))
}

pub(super) fn remedy(error: &io::Error) -> &'static str {
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
            with(0).map(|file| (file, Some(NO_DIRECT.to_owned()))).map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// A file that was just made, without the page cache if asked for; with it, and the reason, where that is refused. It shares the
/// lock.
fn past_the_page_cache(config: &Config, new: &File) -> Result<(File, Option<String>)> {
    let failed = |error: io::Error| fail(&config.path, &error, "cannot open", remedy(&error));
    let file = new.try_clone().map_err(failed)?;
    if config.direct == Direct::Off {
        return Ok((file, None));
    }
    match set_flags(&file, |flags| flags | libc::O_DIRECT) {
        Ok(()) => Ok((file, None)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok((file, Some(NO_DIRECT.to_owned()))),
        Err(error) => Err(failed(error)),
    }
}

/// Changes the flags of an open file.
fn set_flags(file: &File, change: impl FnOnce(i32) -> i32) -> io::Result<()> {
    // SAFETY: F_GETFL and F_SETFL take a descriptor and flags and touch no memory.
    let status = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, change(flags))
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// So often a process must be seen that has a block device open before it is believed to keep it.
const LOOKS_TO_BELIEVE: u32 = 10;

/// One user at a time; readers may share.
fn lock(path: &str, file: &File, shared: bool, patience: Patience) -> Result<()> {
    let mode = if shared { libc::LOCK_SH } else { libc::LOCK_EX };
    until_free(patience, || match lock_now(file, mode) {
        Ok(true) => Some(Ok(())),
        Ok(false) => is_kept_by_the_living(file).then(|| taken(path)),
        Err(error) => Some(Err(fail(path, &error, "cannot lock it", ""))),
    })
    .unwrap_or_else(|| taken(path))
}

/// What a loop device shows of a file, for one user at a time; readers may share. Devices over other parts of it share the file.
fn lock_shown(path: &str, file: &File, part: &Part, read_only: bool, patience: Patience) -> Result<()> {
    let is_whole = part.start == 0 && part.end == u64::MAX;
    lock(path, file, read_only || !is_whole, patience)?;
    if is_whole {
        return Ok(());
    }
    until_free(patience, || match lock_part(file, part, read_only) {
        Ok(true) => Some(Ok(())),
        Ok(false) => None,
        Err(error) => Some(Err(fail(path, &error, "cannot lock what it shows of a file", ""))),
    })
    .unwrap_or_else(|| taken(path))
}

fn taken(path: &str) -> Result<()> {
    Err(misuse(
        path,
        "another volume or program has it locked, or the file below it; stop that, or use another path",
    ))
}

/// Locks a file; false if another one has it.
pub(super) fn lock_now(file: &File, mode: i32) -> io::Result<bool> {
    // SAFETY: flock takes a descriptor and touches no memory.
    if unsafe { libc::flock(file.as_raw_fd(), mode | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EWOULDBLOCK) { Ok(false) } else { Err(error) }
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
    set_flags(file, |flags| flags & !libc::O_DIRECT)
        .map_err(|error| fail(&config.path, &error, "cannot turn direct I/O off", ""))?;
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
                "bring back what it held if something has made it shorter; if it was never in use (a creation that was interrupted), \
                 remove it and create it again; otherwise ask for less, or leave `size` out"
            }
            Sort::Block => "ask for less, or leave `size` out",
        };
        return Err(Refusal::Absent(misuse(&config.path, &format!("{what}; {remedy}")).about("size")));
    }
    if facts.size < 512 {
        let what = "it is empty, or has no size: it is no volume";
        let remedy = match (config.may_be_absent, config.create) {
            _ if facts.sort == Sort::Block => {
                "this is a device without a medium: attach what belongs to it (losetup for a loop device), or check the path"
            }
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
