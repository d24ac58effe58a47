//! Mounting and unmounting.
//!
//! No call here may wait for this daemon's own answers on the executor's thread: paths below a mount of its own are
//! never looked at, and unmounting, which sends requests, happens on a thread of its own.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use fathom_runtime::Ring;
use fathom_wire::Port;

use crate::paths::{DEVICE, no_device};

/// The type under which mounts of this program are listed.
const TYPE: &str = "fuse.fathomd";

/// How long a daemon may take to say that it is there, ms.
const PATIENCE_MS: libc::c_int = 10_000;

/// Mounts a folder at a path and hands out the kernel's end of it. A mount that a killed daemon left there is taken away
/// before; the folder is made if it is not there.
///
/// # Errors
/// A sentence that says what is in the way and what to do.
pub fn mount(path: &Path) -> Result<(PathBuf, OwnedFd), String> {
    let says = |what: &str, error: &io::Error| format!("{what} {}: {error}", path.display());
    take_stale_away(path)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(says("cannot make the folder", &error));
        }
        _ => {}
    }
    // The kernel lists mounts by whole paths; below, the path must not be looked at any more.
    let place = fs::canonicalize(path).map_err(|error| says("cannot mount at", &error))?;
    let device = OpenOptions::new().read(true).write(true).open(DEVICE).map_err(|error| no_device(&error))?;
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions,allow_other",
        device.as_raw_fd(),
        // SAFETY: no memory is touched.
        unsafe { libc::geteuid() },
        // SAFETY: as above.
        unsafe { libc::getegid() },
    );
    let (target, options) = (c_string(place.as_os_str().as_bytes()), c_string(options.as_bytes()));
    let (source, kind) = (c_string(b"fathomd"), c_string(TYPE.as_bytes()));
    // SAFETY: all strings live for the length of the call.
    let status = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME,
            options.as_ptr().cast(),
        )
    };
    if status == 0 {
        return Ok((place, device.into()));
    }
    let error = io::Error::last_os_error();
    let remedy = if error.kind() == ErrorKind::PermissionDenied {
        "; mounting needs root (CAP_SYS_ADMIN): run fathomd as root, or leave [fuse] out and serve NBD"
    } else {
        ""
    };
    Err(format!("{}{remedy}", says("cannot mount at", &error)))
}

/// Takes mounts at a path away that nobody serves any more.
fn take_stale_away(path: &Path) -> Result<(), String> {
    // A killed daemon's connection ends when the kernel has taken the process apart: until then this waits.
    while is_mounted(path) && is_dead(path)? {
        detach(path).map_err(|error| {
            format!(
                "cannot remove the mount that a killed daemon left at {}: {error}; umount -l {0}",
                path.display()
            )
        })?;
        tracing::info!(mount = %path.display(), "removed the mount that a killed daemon left");
    }
    if is_mounted(path) {
        return Err(format!(
            "another fathomd serves {}: stop it first, or choose another `mount`",
            path.display()
        ));
    }
    Ok(())
}

/// Whether a daemon has mounted there, or had when it was killed. Nothing is asked of it: the kernel lists mounts, and finds the
/// folder below one by itself.
pub fn is_mounted(path: &Path) -> bool {
    let listed = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    mounts(&listed).any(|(at, kind)| at == place && kind == TYPE)
}

/// Whether nobody serves what is mounted there; one that does not answer is served by a daemon that hangs.
///
/// A process of its own asks: the kernel ends none of whose threads one waits for an answer, not even a killed one.
fn is_dead(path: &Path) -> Result<bool, String> {
    let target = c_string(path.as_os_str().as_bytes());
    // SAFETY: the child makes system calls alone, on memory that is its own, and ends.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot ask for the mount at {}: {}", path.display(), io::Error::last_os_error())),
        0 => {
            // Whoever reads what this program prints does not wait for the one that asks.
            // SAFETY: nothing of this process uses a descriptor after it.
            unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
            // SAFETY: it ends here, without what ends a program otherwise.
            unsafe { libc::_exit(i32::from(has_no_server(&target))) }
        }
        child => match answer_of(child) {
            Some(code) => Ok(code == 1),
            None => Err(format!(
                "the fathomd that serves {} does not answer: end it, or choose another `mount`",
                path.display()
            )),
        },
    }
}

/// What a child ended with; none if it does not end in time, which it does once it is answered.
fn answer_of(child: libc::pid_t) -> Option<i32> {
    // SAFETY: integers only.
    let ends = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
    let ends = RawFd::try_from(ends).ok().filter(|ends| *ends >= 0)?;
    // SAFETY: the kernel has just handed it out, and nobody else has it.
    let ends = unsafe { OwnedFd::from_raw_fd(ends) };
    let mut asked = libc::pollfd { fd: ends.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives for the length of the call.
    if unsafe { libc::poll(&raw mut asked, 1, PATIENCE_MS) } != 1 {
        return None;
    }
    let mut status = 0;
    // SAFETY: the status lives for the length of the call.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    (ended == child).then(|| libc::WEXITSTATUS(status))
}

/// Attributes may be known still; free space is asked for every time.
fn has_no_server(target: &CStr) -> bool {
    let mut told = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: both live for the length of the call, and what is told is not looked at.
    let status = unsafe { libc::statfs(target.as_ptr(), told.as_mut_ptr()) };
    // ECONNABORTED, ECANCELED, ECONNREFUSED: it died while it was asked, by one way or the other, or before it had agreed on the
    // protocol.
    let dead = [libc::ENOTCONN, libc::ECONNABORTED, libc::ECANCELED, libc::ECONNREFUSED];
    status != 0 && io::Error::last_os_error().raw_os_error().is_some_and(|errno| dead.contains(&errno))
}

/// Paths and types of what is mounted.
fn mounts(listed: &str) -> impl Iterator<Item = (PathBuf, &str)> {
    listed.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        Some((unescape(before.split(' ').nth(4)?), after.split(' ').next()?))
    })
}

/// The kernel writes blanks in paths as three octal digits.
fn unescape(word: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if *first == b'\\' => {
                bytes.push(code);
                rest = &more[3..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

/// Takes a mount out of the tree of files; who has files open there keeps them.
fn detach(path: &Path) -> io::Result<()> {
    let target = c_string(path.as_os_str().as_bytes());
    // SAFETY: the string lives for the length of the call.
    let status = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unmounts beside the executor, which must answer what the kernel asks meanwhile.
///
/// # Errors
/// The kernel's.
pub async fn unmount(path: PathBuf, ring: &Ring) -> io::Result<()> {
    // SAFETY: integers only.
    let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let done = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let told = Port::new(done.try_clone()?, ring)?;
    let thread = std::thread::Builder::new().name("unmount".to_owned()).spawn(move || {
        let result = detach(&path);
        // It wakes the executor; there is no other way it could fail than having been told already.
        let _ = io::Write::write(&mut &done, &1_u64.to_ne_bytes());
        result
    })?;
    told.readable().await;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that unmounts has panicked")))
}

fn c_string(bytes: &[u8]) -> CString {
    CString::new(bytes).expect("settings and the kernel give no zero bytes")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::mounts;

    #[test]
    fn mounts_are_found_by_whole_paths() {
        let listed = "36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 master:2 - fuse.fathomd fathomd rw,errors=x\n\
                      25 1 0:5 / / rw - ext4 /dev/vda rw\nnonsense\n";
        let found: Vec<_> = mounts(listed).collect();
        assert_eq!(found[0], (Path::new("/mnt/a b").to_owned(), "fuse.fathomd"));
        assert_eq!((found[1].1, found.len()), ("ext4", 2));
    }
}
