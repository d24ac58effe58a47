//! Opening a connection without blocking.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use fathom_runtime::Ring;

use crate::port::Port;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP.
    Tcp(SocketAddr),
}

impl Address {
    /// Connects.
    ///
    /// # Errors
    /// The kernel's: nobody listens, no way there. Limits in time are the caller's.
    pub async fn connect(&self, ring: &Ring) -> io::Result<Port> {
        let (family, address, length) = self.address()?;
        let flags = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: integers only.
        let made = unsafe { libc::socket(family, flags, 0) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let port = Port::new(unsafe { OwnedFd::from_raw_fd(made) }, ring)?;
        // SAFETY: the address lives for the length of the call, and no more than it has is read.
        let status = unsafe { libc::connect(port.number(), (&raw const address).cast(), length) };
        if status < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
            port.writable().await;
            port.outcome()?;
        }
        if matches!(self, Self::Tcp(_)) {
            port.send_at_once();
        }
        Ok(port)
    }

    /// As the kernel wants it: family, address, bytes of it.
    fn address(&self) -> io::Result<(i32, libc::sockaddr_storage, libc::socklen_t)> {
        // SAFETY: all-zero bytes are a valid address of no family.
        let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let start = &raw mut address;
        let (family, length) = match self {
            Self::Unix(path) => {
                let bytes = path.as_os_str().as_bytes();
                // SAFETY: the storage is large and aligned enough for every kind of address.
                let unix = unsafe { &mut *start.cast::<libc::sockaddr_un>() };
                if bytes.len() >= unix.sun_path.len() {
                    let why = format!("a socket's path has fewer than {} bytes", unix.sun_path.len());
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
                }
                unix.sun_family = libc::AF_UNIX as libc::sa_family_t;
                for (to, from) in unix.sun_path.iter_mut().zip(bytes) {
                    *to = *from as libc::c_char;
                }
                (libc::AF_UNIX, size_of::<libc::sockaddr_un>())
            }
            Self::Tcp(SocketAddr::V4(address)) => {
                // SAFETY: as above.
                let four = unsafe { &mut *start.cast::<libc::sockaddr_in>() };
                four.sin_family = libc::AF_INET as libc::sa_family_t;
                four.sin_port = address.port().to_be();
                four.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                (libc::AF_INET, size_of::<libc::sockaddr_in>())
            }
            Self::Tcp(SocketAddr::V6(address)) => {
                // SAFETY: as above.
                let six = unsafe { &mut *start.cast::<libc::sockaddr_in6>() };
                six.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                six.sin6_port = address.port().to_be();
                six.sin6_addr.s6_addr = address.ip().octets();
                six.sin6_scope_id = address.scope_id();
                (libc::AF_INET6, size_of::<libc::sockaddr_in6>())
            }
        };
        Ok((family, address, length as libc::socklen_t))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use fathom_runtime::{RingSetup, Runtime};

    use super::Address;

    #[test]
    fn it_connects_to_who_listens_and_says_who_does_not() {
        let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
        let context = runtime.context();
        let ring = context.ring().expect("the real driver has one");
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let unix = Address::Unix(folder.path().join("socket"));
        let nobody = runtime.block_on(unix.connect(ring)).expect("it answers");
        assert_eq!(nobody.err().map(|error| error.kind()), Some(std::io::ErrorKind::NotFound));

        let door = UnixListener::bind(folder.path().join("socket")).expect("it can be bound");
        let port = runtime.block_on(unix.connect(ring)).expect("it answers").expect("somebody listens");
        runtime.block_on(port.write_all(b"hello")).expect("it answers").expect("there is room");
        let mut heard = [0; 5];
        door.accept().and_then(|(mut other, _)| other.read_exact(&mut heard)).expect("it was sent");
        assert_eq!(&heard, b"hello");

        let door = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let tcp = Address::Tcp(door.local_addr().expect("it is bound"));
        let port = runtime.block_on(tcp.connect(ring)).expect("it answers").expect("somebody listens");
        door.accept().and_then(|(mut other, _)| other.write_all(b"hello")).expect("it is connected");
        let count = runtime.block_on(port.read(&mut heard)).expect("it answers").expect("it reads");
        assert_eq!(count, 5);
        drop(door);
        let nobody = runtime.block_on(tcp.connect(ring)).expect("it answers");
        assert_eq!(nobody.err().map(|error| error.kind()), Some(std::io::ErrorKind::ConnectionRefused));
    }
}
