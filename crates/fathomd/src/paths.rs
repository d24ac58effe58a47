//! Paths of sockets and of the mount: what would keep the daemon from listening or mounting there.

use std::ffi::CString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use fathom_settings::Section;
use fathom_stack::{canonical, folder};

use crate::fuse::is_mounted;
use crate::listen::{is_a_lock, is_free, is_served, lock_path};

/// Bytes of a Unix socket's path at most: `sun_path` has 108, and one ends the text.
const LONGEST_SOCKET: usize = 107;
/// Where the kernel's FUSE is.
pub const DEVICE: &str = "/dev/fuse";

/// Reports what is wrong with the sockets of `[daemon]` whatever the file system holds.
pub fn check_sockets(section: &mut Section<'_>, socket: Option<&Path>, status: Option<&Path>) {
    for (key, path) in [("socket", socket), ("status", status)] {
        let length = path.map_or(0, |path| path.as_os_str().len());
        if length > LONGEST_SOCKET {
            section.error_at(
                key,
                format!("a path of {length} bytes, and a Unix socket's has {LONGEST_SOCKET} at most"),
                "choose a shorter path, such as /run/fathomd/NAME.sock",
            );
        }
        if path.is_some_and(|path| path.file_name().is_none() || has_zero(path)) {
            section.error_at(key, "this is no path of a file", "name a file in a folder that exists");
        }
    }
    if let (Some(socket), Some(status)) = (socket, status) {
        if socket == status {
            section.error_at(
                "status",
                "this is the path of `socket`, too: NBD clients and the status need a socket each",
                "choose another path for one of them",
            );
        } else if lock_path(socket) == status || lock_path(status) == socket {
            section.error_at("status", "one socket's path is the other one's lock", "choose another path");
        }
    }
}

/// The kernel takes no path with a zero byte.
fn has_zero(path: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&0)
}

/// Reports a mount that the kernel would not take, and sockets that it would hide.
pub fn check_mount(section: &mut Section<'_>, mount: &Path, sockets: &[Option<&Path>]) {
    if mount.as_os_str().is_empty() || has_zero(mount) {
        section.error_at("mount", "this is no path of a folder", "name a folder");
    } else if let Some(hidden) = sockets.iter().flatten().find(|socket| socket.starts_with(mount)) {
        section.error_at(
            "mount",
            format!("the mount would hide the socket {}", hidden.display()),
            "mount at a folder that holds nothing else",
        );
    }
}

/// What a start would meet at these paths: sentences that say what, where and what to do. Nothing is opened or made. A socket
/// that is served is no fault while a daemon has its lock: it is the one of these settings.
pub fn problems(socket: &Path, status: Option<&Path>, mounted: Option<&Path>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let sockets = [("socket", Some(socket)), ("status", status)];
    for (key, path) in sockets {
        let Some(path) = path else { continue };
        let is_free = || if is_served(path) { Ok(()) } else { is_free(path) };
        let told = folder_of(path).and_then(|()| lock_of(path)).and_then(|()| is_free()).err();
        found.extend(told.map(|told| format!("[daemon] `{key}`: {told}")));
    }
    if let Some(status) = status
        && found.is_empty()
        && canonical(status) == canonical(socket)
    {
        found.push(format!(
            "[daemon] `status`: {} and {} are one file: choose another path for one of them",
            status.display(),
            socket.display()
        ));
    }
    // What a daemon serves is looked at by its leave only: one that hangs does not answer.
    if let Some(mounted) = mounted.filter(|mounted| !is_mounted(mounted)) {
        let told = mount(mounted).err().or_else(|| device().err());
        found.extend(told.map(|told| format!("[fuse] `mount`: {told}")));
    }
    found
}

/// The lock of a socket: a file that can be written, or nothing yet.
fn lock_of(socket: &Path) -> Result<(), String> {
    let place = lock_path(socket);
    let says = |what: &str| format!("its lock {} {what}", place.display());
    match fs::symlink_metadata(&place) {
        Ok(there) => {
            is_a_lock(&there).map_err(says)?;
            may(&place, libc::W_OK)
                .map_err(|error| says(&format!("cannot be written: {error}; see to its rights")))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(says(&format!("cannot be looked at: {error}")))
        }
        Err(_) => Ok(()),
    }
}

/// Whether this process may do that with what is at a path.
fn may(path: &Path, access: i32) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the text lives for the length of the call.
    let status = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), access, libc::AT_EACCESS) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// File systems in which the kernel alone makes files, whatever their rights say to root: `linux/magic.h`.
const KERNELS: [i64; 5] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
];

/// Whether a folder is in one of these.
fn is_the_kernel_s(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    let mut told = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: both live for the length of the call.
    let status = unsafe { libc::statfs(path.as_ptr(), told.as_mut_ptr()) };
    // SAFETY: the kernel has filled it in.
    status == 0 && KERNELS.contains(&unsafe { told.assume_init() }.f_type)
}

/// The folder in which something is to be made.
fn folder_of(path: &Path) -> Result<(), String> {
    let folder = folder(path);
    let says = |what: &str| format!("{}: the folder {} {what}", path.display(), folder.display());
    match fs::metadata(folder) {
        Ok(there) if there.is_dir() && is_the_kernel_s(folder) => {
            Err(says("is the kernel's, and nothing can be made in it: choose another path"))
        }
        Ok(there) if there.is_dir() => may(folder, libc::W_OK | libc::X_OK).map_err(|error| {
            says(&format!("cannot be written: {error}; choose another path, or see to its rights"))
        }),
        Ok(_) => Err(says("is no folder: choose another path")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(says("does not exist: make it (systemd does with RuntimeDirectory=), or choose another path"))
        }
        Err(error) => Err(format!("{}: choose another path, or see to its rights", says(&error.to_string()))),
    }
}

/// Where a mount is to be: an empty folder, or nothing in a folder.
fn mount(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() && has_entries(path) => Err(format!(
            "{} is not empty, and a mount would hide what is in it: empty it, or choose another path",
            path.display()
        )),
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is no folder: name one, or a path where none is yet", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(path).is_ok() => Err(
            format!("{} is a link to nothing: remove it, or make the folder that it names", path.display()),
        ),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            folder_of(path)
        }
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EACCES | libc::ELOOP | libc::ENAMETOOLONG)) =>
        {
            Err(format!("{} cannot be looked at: {error}; choose another path", path.display()))
        }
        // A mount that a killed daemon left: the start takes it away.
        Err(_) => Ok(()),
    }
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn device() -> Result<(), String> {
    match fs::metadata(DEVICE) {
        Ok(there) if there.file_type().is_char_device() => {
            may(Path::new(DEVICE), libc::R_OK | libc::W_OK).map_err(|error| no_device(&error))
        }
        Ok(_) => Err(no_device(&io::Error::other("this is no character device"))),
        Err(error) => Err(no_device(&error)),
    }
}

/// What to do where FUSE is missing.
pub fn no_device(error: &io::Error) -> String {
    format!(
        "cannot open {DEVICE}: {error}; load the kernel's module `fuse`, and in a container pass the device in"
    )
}
