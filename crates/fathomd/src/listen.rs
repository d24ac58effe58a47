//! Listening sockets.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use fathom_runtime::Ring;
use fathom_wire::Port;

/// The path of a Unix socket that is this process's alone, before anything listens there.
pub struct Claim {
    path: PathBuf,
    lock: File,
}

impl Claim {
    /// Takes a path, see [`is_free`].
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub fn take(path: &Path) -> Result<Self, String> {
        let lock = lock(path)?;
        is_free(path)?;
        Ok(Self { path: path.to_owned(), lock })
    }
}

/// A Unix socket in the file system, removed when this is dropped.
pub struct UnixSocket {
    pub port: Rc<Port>,
    path: PathBuf,
    // Held as long as the socket: a second daemon must not take the path over.
    _lock: File,
}

impl UnixSocket {
    /// Listens at a path with these permissions, in the place of a socket that a killed daemon left.
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub fn open(claim: Claim, mode: u32, ring: &Ring) -> Result<Self, String> {
        let Claim { path, lock } = claim;
        let says = |what: &str, error: io::Error| format!("{what} {}: {error}", path.display());
        // A recovery may have taken minutes since the path was taken.
        is_free(&path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(says("cannot remove the old socket", error));
            }
            _ => {}
        }
        // Until the mode is set nobody but the owner may connect.
        // SAFETY: umask touches no memory.
        let before = unsafe { libc::umask(0o177) };
        let bound = UnixListener::bind(&path);
        // SAFETY: as above.
        unsafe { libc::umask(before) };
        let listener = bound.map_err(|error| says("cannot listen at", error))?;
        fs::set_permissions(&path, Permissions::from_mode(mode))
            .map_err(|error| says("cannot set the permissions of", error))?;
        let port = Port::new(listener, ring).map_err(|error| says("cannot listen at", error))?;
        Ok(Self { port: Rc::new(port), path, _lock: lock })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // The lock file stays: removing it would let two daemons each hold a lock of the same name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a daemon may listen at a path. A socket that a killed daemon left may be replaced; one that somebody answers, and
/// a file that is no socket, are left alone.
///
/// # Errors
/// A sentence that says what is in the way.
pub fn is_free(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            Err(format!("{} exists and is not a socket: move it", path.display()))
        }
        Ok(_) if is_answered(path) => {
            Err(format!("another program listens at {}: stop it, or choose another path", path.display()))
        }
        _ => Ok(()),
    }
}

/// Whether a daemon has the lock beside this socket.
pub fn is_served(socket: &Path) -> bool {
    // A pipe in its place would wait for a writer.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(lock) = File::options().read(true).custom_flags(flags).open(lock_path(socket)) else {
        return false;
    };
    // SAFETY: integers only; the descriptor is ours, and its lock ends with it.
    let status = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
    status != 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// Refuses a socket whose lock a daemon has, and changes nothing: [`Claim::take`] makes sure of it.
///
/// # Errors
/// Which it is, and what to do.
pub fn is_nobody_s(socket: &Path) -> Result<(), String> {
    if is_served(socket) { Err(format!("[daemon] `socket`: {}", is_another_s(socket))) } else { Ok(()) }
}

/// Keeps daemons away from a socket as long as the result lives, where one has been; makes nothing.
///
/// # Errors
/// A daemon serves it, or nobody can tell.
pub fn keep_out(socket: &Path) -> Result<Option<File>, String> {
    let place = lock_path(socket);
    match File::open(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => take(opened.map_err(|error| cannot_lock(&place, &error))?, socket).map(Some),
    }
}

/// Whether somebody answers at a socket, and goes on answering: for a daemon that was killed a moment ago the kernel
/// does, until it has taken the dead process's ring apart.
fn is_answered(path: &Path) -> bool {
    const LOOKS: u32 = 30;
    const PAUSE: Duration = Duration::from_millis(100);
    for _ in 0..LOOKS {
        if UnixStream::connect(path).is_err() {
            return false;
        }
        std::thread::park_timeout(PAUSE);
    }
    true
}

/// Where the lock of a socket's path is.
pub fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Refuses what this process has not made as a lock: its permissions are somebody else's.
///
/// # Errors
/// What it is, and what to do.
pub fn is_a_lock(there: &Metadata) -> Result<(), &'static str> {
    // SAFETY: no memory is touched.
    let user = unsafe { libc::geteuid() };
    match there.file_type() {
        sort if sort.is_symlink() => Err("is a link: remove it"),
        sort if !sort.is_file() => Err("is no file: move it"),
        _ if there.nlink() != 1 => Err("has other names, too (hard links): remove it"),
        // Only the owner, and root, may set the permissions.
        _ if there.uid() != user => Err("is another user's: remove it if no daemon runs"),
        _ => Ok(()),
    }
}

/// An exclusive lock beside the socket's path.
fn lock(path: &Path) -> Result<File, String> {
    let place = lock_path(path);
    let says = |error: io::Error| cannot_lock(&place, &error);
    // Whoever may open it could lock it. Earlier versions left it open to everybody. In a folder of others it may be anything.
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(&place).map_err(says)?;
    is_a_lock(&file.metadata().map_err(says)?)
        .map_err(|why| format!("its lock {} {why}", place.display()))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(says)?;
    take(file, path)
}

/// The lock in this file, for the socket at `path`.
fn take(file: File, path: &Path) -> Result<File, String> {
    // SAFETY: integers only; the descriptor is ours.
    let status = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if status == 0 {
        return Ok(file);
    }
    let error = io::Error::last_os_error();
    Err(if error.kind() == io::ErrorKind::WouldBlock {
        is_another_s(path)
    } else {
        cannot_lock(&lock_path(path), &error)
    })
}

fn is_another_s(socket: &Path) -> String {
    // Another `socket` for the same volumes would leave nothing that keeps two programs from an export.
    format!(
        "another fathomd serves {}: stop it first; for other volumes, choose another `socket`",
        socket.display()
    )
}

fn cannot_lock(place: &Path, error: &io::Error) -> String {
    format!("cannot lock {}: {error}", place.display())
}

/// Listens at the TCP address of a key of `[daemon]`, and tells the log which one it is: a name has several, and port 0 is any.
///
/// # Errors
/// A sentence that says what is in the way.
pub fn tcp(key: &str, address: &str, ring: &Ring) -> Result<Port, String> {
    let says = |error: io::Error| format!("cannot listen at {address}: {error}");
    let listener = TcpListener::bind(address).map_err(says)?;
    let place = listener.local_addr().map_err(says)?;
    let port = Port::new(listener, ring).map_err(says)?;
    tracing::info!(key, address = %place, "listening");
    Ok(port)
}
