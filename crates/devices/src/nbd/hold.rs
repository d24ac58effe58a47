//! Keeps other programs of this machine away from an export: NBD has no lock. Who writes to one has a socket of an abstract name
//! (unix(7)), which the kernel gives to one process and takes back when that ends. Other hosts, other network namespaces and other
//! addresses of the same server are not seen.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crc_fast::{CrcAlgorithm, checksum};

use crate::patience::{Patience, until_free};

/// What this process has: its own settings are checked elsewhere, and requests of a volume may outlive it for a while.
static HELD: Mutex<BTreeMap<String, Weak<UnixListener>>> = Mutex::new(BTreeMap::new());

/// As long as this lives, no other process has the export.
pub struct Hold(#[expect(dead_code, reason = "the kernel looks at it")] Option<Arc<UnixListener>>);

impl Hold {
    /// Takes an export, which `at` names for everybody alike.
    ///
    /// # Errors
    /// Another process has it.
    pub fn take(at: &str, patience: Patience) -> Result<Self, String> {
        let name = name(at);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = held.get(&name).and_then(Weak::upgrade) {
            return Ok(Self(Some(own)));
        }
        let bound = until_free(patience, || match bind(&name) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                // A name is anybody's to take: nobody can keep root's daemon from its volumes with it.
                owner(&name).is_ok_and(|owner| !is_trusted(owner)).then_some(None)
            }
            // Where there are no such names nothing is kept away.
            bound => Some(bound.ok().map(Arc::new)),
        });
        let bound = bound.ok_or_else(|| {
            format!(
                "another program of this machine uses this export: stop it first (`ss -xlp | grep {name}` names it)"
            )
        })?;
        held.extend(bound.as_ref().map(|bound| (name, Arc::downgrade(bound))));
        Ok(Self(bound))
    }
}

fn bind(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// The same for the same export, of fewer bytes than a socket's name may have.
fn name(at: &str) -> String {
    let sum = |algorithm| checksum(algorithm, at.as_bytes());
    format!("fathom-nbd-{:016x}{:016x}", sum(CrcAlgorithm::Crc64Nvme), sum(CrcAlgorithm::Crc64Xz))
}

fn is_trusted(owner: libc::uid_t) -> bool {
    // SAFETY: no memory is touched.
    owner == 0 || owner == unsafe { libc::geteuid() }
}

/// The user who listens at an abstract name.
fn owner(name: &str) -> io::Result<libc::uid_t> {
    let sort = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: integers only.
    let socket = unsafe { libc::socket(libc::AF_UNIX, sort, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given it to us.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: zeroes are a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // An abstract name begins with a zero.
    for (to, byte) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = byte as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: the address is valid for that length, and longer.
    let status =
        unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length as libc::socklen_t) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroes are valid credentials.
    let mut found: libc::ucred = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes there.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(found.uid) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{Hold, Patience, bind, name, owner};

    #[test]
    fn an_export_has_one_user_at_a_time_on_a_machine() {
        let at = format!("127.0.0.1:10809 a test {}", std::process::id());
        let held = Hold::take(&at, Patience::Short).expect("nobody has it");
        // As another process would have it.
        let elsewhere = || bind(&name(&at));
        elsewhere().expect_err("it is ours");
        let shared = Hold::take(&at, Patience::Short).expect("it is ours");
        drop(held);
        elsewhere().expect_err("it is still ours");
        drop(shared);
        let other = elsewhere().expect("it was given back");
        // SAFETY: no memory is touched.
        assert_eq!(owner(&name(&at)).expect("somebody listens"), unsafe { libc::geteuid() });
        let refused = Hold::take(&at, Patience::Short).err().expect("another one has it");
        assert!(refused.contains("stop it first"), "{refused}");
        drop(other);
        let _again = Hold::take(&at, Patience::Short).expect("nobody has it");
    }

    #[test]
    fn names_differ_and_fit_a_socket() {
        assert_eq!(name("a"), name("a"));
        assert_ne!(name("a"), name("b"));
        assert!(name(&"x".repeat(5000)).len() < 100);
    }
}
