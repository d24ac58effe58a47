//! Files that are made. They get their name last, whole and locked: nobody meets half of one, and a killed creation leaves none.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fathom_volume::Result;

use super::Allocation;
use super::open::{fail, is_there, lock_now, remedy};

/// Bytes written at a time into a new file.
const FILL: usize = 1 << 20;

/// A file that is being made. Dropped before it is [placed](Self::place), it leaves nothing.
pub(super) struct New {
    path: String,
    pub file: File,
    /// Its name is there already: some file systems have no files without one.
    named: bool,
    placed: bool,
}

impl New {
    /// A file of that size, locked; None if somebody else has made one meanwhile.
    pub fn make(path: &str, size: u64, allocation: Allocation) -> Result<Option<Self>> {
        let Some(mut new) = Self::begin(path).map_err(|error| cannot(path, &error))? else {
            return Ok(None);
        };
        let filled = fill(&mut new.file, size, allocation);
        filled.map(|()| Some(new)).map_err(|error| {
            let doing = format!("cannot create it with {size} bytes");
            let too_large = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
            fail(path, &error, &doing, remedy(&error)).about(if too_large { "size" } else { "path" })
        })
    }

    fn begin(path: &str) -> io::Result<Option<Self>> {
        // Whoever may open it reads the volume, and could lock it.
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let unnamed = options.clone().custom_flags(libc::O_TMPFILE).open(folder(path));
        let (file, named) = match unnamed {
            Ok(file) => (file, false),
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) =>
            {
                match options.create_new(true).open(path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_there(path) => {
                        return Ok(None);
                    }
                    opened => (opened?, true),
                }
            }
            Err(error) => return Err(error),
        };
        if !lock_now(&file, libc::LOCK_EX)? {
            // Only one with a name can be somebody else's by now.
            return Ok(None);
        }
        Ok(Some(Self { path: path.to_owned(), file, named, placed: false }))
    }

    /// Gives it its name, durably; false if somebody else's file has that by now.
    pub fn place(mut self) -> Result<bool> {
        if !self.named {
            match link(&self.file, &self.path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_there(&self.path) => {
                    return Ok(false);
                }
                linked => linked.map_err(|error| cannot(&self.path, &error))?,
            }
            self.named = true;
        }
        let synced = File::open(folder(&self.path)).and_then(|folder| folder.sync_all());
        synced.map_err(|error| cannot(&self.path, &error))?;
        self.placed = true;
        Ok(true)
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if self.named && !self.placed {
            // It is ours, and locked. An error that led here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot(path: &str, error: &io::Error) -> fathom_volume::Error {
    fail(path, error, "cannot create it", remedy(error))
}

fn folder(path: &str) -> &Path {
    Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file without a name one that nothing has yet.
fn link(file: &File, path: &str) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(Path::new(path).as_os_str().as_bytes())?;
    // SAFETY: both texts live for the length of the call.
    let status = unsafe {
        libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
