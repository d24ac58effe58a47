//! Sockets and other descriptors on the executor: they are ready, or a task waits through the ring until they are.
//!
//! Waiting is a poll by the ring, moving bytes an ordinary call that never blocks: no buffer is ever in the kernel's
//! hands unobserved, so that a client can be dropped at any moment. One poll serves many requests and one call
//! sends many answers, which is what the cost hangs on.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use fathom_runtime::{MILLISECOND, Nanos, Ring};

/// How often room is looked for in a connection that is closed on one side. Its buffer holds megabytes.
const HALF_CLOSED: Nanos = 5 * MILLISECOND;

/// A descriptor that does not block: a socket, a signal descriptor, a pipe.
pub struct Port {
    // Read and write on a `File` are read(2) and writev(2), whatever the descriptor is.
    file: File,
    ring: Ring,
}

impl Port {
    /// Takes a descriptor over and makes it non-blocking.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(descriptor: impl Into<OwnedFd>, ring: &Ring) -> io::Result<Self> {
        let file = File::from(descriptor.into());
        // SAFETY: fcntl with integers touches no memory; the descriptor is ours.
        let done = unsafe {
            let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
            libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { file, ring: ring.clone() }) }
    }

    /// The descriptor's number.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// The ring it waits on.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The same descriptor on another executor's ring. Nobody may be waiting on it.
    #[must_use]
    pub fn on(self, ring: &Ring) -> Self {
        Self { ring: ring.clone(), ..self }
    }

    /// Waits until there is something to read, or the other side has gone.
    pub async fn readable(&self) {
        self.ready(libc::POLLIN).await;
    }

    /// Waits until there is room to write, or the other side has gone.
    pub async fn writable(&self) {
        let looked_for = libc::POLLOUT | libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
        if self.ready(libc::POLLOUT).await & looked_for == 0 {
            // Where nothing more can be read, a poll by the ring ends at once with POLLRDHUP, whatever was asked for
            // (IO_POLL_UNMASK in the kernel's io_uring/poll.c): room is looked for now and then instead.
            self.ring.pause(HALF_CLOSED).await;
        }
    }

    /// What it is ready for. Errors show in the call that follows.
    async fn ready(&self, events: i16) -> i16 {
        self.ring.ready(self.number(), events).await
    }

    /// Reads what is there; `WouldBlock` if nothing is, 0 at the end.
    ///
    /// # Errors
    /// The kernel's.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        retry(|| (&self.file).read(into))
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// The kernel's; `WouldBlock` if there is no room.
    pub fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        retry(|| match parts {
            [whole] => (&self.file).write(whole),
            _ => (&self.file).write_vectored(parts),
        })
    }

    /// Reads at least one byte; 0 at the end.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.try_read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable().await,
                done => return done,
            }
        }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_write(&[IoSlice::new(bytes)]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable().await,
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                done => bytes = &bytes[done?..],
            }
        }
        Ok(())
    }

    /// Takes the next client of a listening socket.
    ///
    /// # Errors
    /// The kernel's: too many open files, no memory; `InvalidInput` once the socket was ended.
    pub async fn accept(&self) -> io::Result<OwnedFd> {
        loop {
            // SAFETY: without an address to fill in, accept4 touches no memory of ours.
            let taken = unsafe {
                libc::accept4(
                    self.number(),
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                    libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                )
            };
            if taken >= 0 {
                // SAFETY: a fresh descriptor that nobody else owns.
                return Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(taken) });
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                ErrorKind::WouldBlock => {
                    let ready = self.ready(libc::POLLIN).await;
                    // A Unix socket that was ended is always ready and never has a client.
                    if ready & libc::POLLHUP != 0 {
                        return Err(ErrorKind::InvalidInput.into());
                    }
                }
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return Err(error),
            }
        }
    }

    /// No more is taken in: what has arrived can still be read, and answers can still be sent.
    pub fn stop_reading(&self) {
        self.shut(libc::SHUT_RD);
    }

    /// Nothing more will be sent: the other side reads to the end of what was. What it still says can be read.
    pub fn stop_writing(&self) {
        self.shut(libc::SHUT_WR);
    }

    /// Ends the connection; whoever waits for it is woken.
    pub fn end(&self) {
        self.shut(libc::SHUT_RDWR);
    }

    fn shut(&self, how: i32) {
        // SAFETY: integers only. It fails only where the other side has gone already.
        unsafe { libc::shutdown(self.number(), how) };
    }

    /// Lets the kernel keep that many bytes in each direction, as far as its limits allow.
    pub fn set_buffers(&self, bytes: i32) {
        let pairs = [(libc::SO_SNDBUF, libc::SO_SNDBUFFORCE), (libc::SO_RCVBUF, libc::SO_RCVBUFFORCE)];
        for (plain, force) in pairs {
            // More than the limit is for the administrator only; others get the limit.
            if !self.set(libc::SOL_SOCKET, force, bytes) {
                self.set(libc::SOL_SOCKET, plain, bytes);
            }
        }
    }

    /// Bytes sent that the other side has not taken yet, with what the kernel needs to keep them: of a Unix socket those its
    /// reader has not read (unix(7)), of TCP those the other host has not acknowledged (tcp(7)). 0 where unknown.
    pub fn unread(&self) -> usize {
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ, which has this name and number for terminals, writes one integer, which lives here.
        let status = unsafe { libc::ioctl(self.number(), libc::TIOCOUTQ, &raw mut bytes) };
        if status == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
    }

    /// Sends small answers at once (TCP).
    pub fn send_at_once(&self) {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    }

    /// What became of a connection that was begun and is writable now.
    ///
    /// # Errors
    /// Why it could not be made.
    pub(crate) fn outcome(&self) -> io::Result<()> {
        let (mut errno, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: both live for the length of the call, and the size is that of the value.
        let status = unsafe {
            libc::getsockopt(
                self.number(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut errno).cast(),
                &raw mut length,
            )
        };
        match (status, errno) {
            (0, 0) => Ok(()),
            (0, errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn set(&self, level: i32, option: i32, value: i32) -> bool {
        // SAFETY: `value` lives for the length of the call, and its size is given.
        let status = unsafe {
            libc::setsockopt(
                self.number(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<i32>() as libc::socklen_t,
            )
        };
        status == 0
    }
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use fathom_runtime::{RingSetup, Runtime};

    use super::Port;

    #[test]
    fn what_the_other_side_has_not_read_is_known() {
        let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let ring = runtime.context().ring().expect("a real executor has a ring").clone();
        let port = Port::new(ours, &ring).expect("a socket");
        assert_eq!(port.unread(), 0);
        assert_eq!(port.try_write(&[std::io::IoSlice::new(&[7; 100])]).expect("there is room"), 100);
        assert!(port.unread() >= 100, "with what the kernel needs to keep them");
        theirs.read_exact(&mut [0; 100]).expect("what was sent");
        assert_eq!(port.unread(), 0);
    }
}
