//! The bytes of a connection, in the clear or encrypted, whichever side opened it.
//!
//! TLS runs on the executor as a machine without sockets, as the protocol does: bytes of the socket in, bytes
//! in the clear out. Encryption costs about as much as serving the request, so a host that has another means of protection (a
//! Unix socket, WireGuard) is better off with it.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};

use fathom_runtime::Ring;
use rustls::Connection;

use crate::port::Port;

/// Plain bytes that are encrypted before they are sent: bounds what waits in memory.
const RECORDS: usize = 256 << 10;

/// The bytes of one connection.
pub struct Wire {
    port: Port,
    tls: Option<RefCell<Tls>>,
}

/// TLS without its socket.
struct Tls {
    connection: Connection,
    // Received and not decrypted yet: TLS takes no more than it can keep in the clear.
    sealed: Vec<u8>,
    taken: usize,
}

impl Tls {
    /// Bytes in the clear; `WouldBlock` if more must be received first.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.taken < self.sealed.len() => {}
                // A connection that was cut without a close_notify: what came before it counts.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            let mut rest = &self.sealed[self.taken..];
            self.taken += self.connection.read_tls(&mut rest)?;
            self.connection.process_new_packets().map_err(io::Error::other)?;
        }
    }

    /// What the socket gave; nothing at its end.
    fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sealed.drain(..self.taken);
        self.taken = 0;
        self.sealed.extend(bytes);
        if bytes.is_empty() {
            self.connection.read_tls(&mut io::empty())?;
        }
        Ok(())
    }
}

impl Wire {
    /// In the clear.
    pub fn plain(port: Port) -> Self {
        Self { port, tls: None }
    }

    /// The same connection, now encrypted: the TLS handshake is over when this returns.
    ///
    /// # Errors
    /// The other side's part of the handshake is wrong (no or a foreign certificate, no common protocol), or it has gone.
    pub async fn encrypt(self, mut tls: Connection) -> io::Result<Self> {
        tls.set_buffer_limit(None);
        let port = self.port;
        while tls.is_handshaking() {
            let fed = if tls.wants_write() { Ok(()) } else { feed(&mut tls, &port).await };
            // An alert says why: it is sent even where the handshake failed.
            let out = drain(&mut tls)?;
            port.write_all(&out).await?;
            fed?;
        }
        let out = drain(&mut tls)?;
        port.write_all(&out).await?;
        let tls = Tls { connection: tls, sealed: Vec::new(), taken: 0 };
        Ok(Self { port, tls: Some(RefCell::new(tls)) })
    }

    /// The same connection on another executor's ring.
    #[must_use]
    pub fn on(self, ring: &Ring) -> Self {
        Self { port: self.port.on(ring), ..self }
    }

    /// The socket.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Whether bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Reads at least one byte; 0 at the end.
    ///
    /// # Errors
    /// The kernel's, or bytes that are no TLS.
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else { return self.port.read(into).await };
        loop {
            let done = tls.borrow_mut().read(into);
            if !matches!(&done, Err(error) if error.kind() == ErrorKind::WouldBlock) {
                return done;
            }
            let mut bytes = [0; 32 << 10];
            let count = self.port.read(&mut bytes).await?;
            tls.borrow_mut().receive(&bytes[..count])?;
        }
    }

    /// Waits until there may be something to read.
    pub async fn readable(&self) {
        if let Some(tls) = &self.tls {
            let tls = &mut *tls.borrow_mut();
            let clear = tls.connection.process_new_packets();
            let waits = clear.map_or(true, |state| state.plaintext_bytes_to_read() > 0);
            if waits || tls.taken < tls.sealed.len() {
                return;
            }
        }
        self.port.readable().await;
    }

    /// Writes everything.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        if self.is_encrypted() {
            self.write_encrypted(std::iter::once(IoSlice::new(bytes))).await
        } else {
            self.port.write_all(bytes).await
        }
    }

    /// Writes everything, encrypted.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn write_encrypted<'a>(&self, pieces: impl Iterator<Item = IoSlice<'a>>) -> io::Result<()> {
        let Some(tls) = &self.tls else { return Err(ErrorKind::InvalidInput.into()) };
        let mut waiting = 0;
        for piece in pieces {
            for part in piece.chunks(RECORDS) {
                tls.borrow_mut().connection.writer().write_all(part)?;
                waiting += part.len();
                if waiting >= RECORDS {
                    let out = drain(&mut tls.borrow_mut().connection)?;
                    self.port.write_all(&out).await?;
                    waiting = 0;
                }
            }
        }
        let out = drain(&mut tls.borrow_mut().connection)?;
        self.port.write_all(&out).await
    }

    /// Sends TLS's close_notify, if the peer still reads.
    pub async fn close_notify(&self) {
        if let Some(tls) = &self.tls {
            tls.borrow_mut().connection.send_close_notify();
            let out = drain(&mut tls.borrow_mut().connection);
            if let Ok(out) = out {
                // Whether it arrives makes no difference: the connection ends here.
                let _ = self.port.try_write(&[IoSlice::new(&out)]);
            }
        }
    }
}

async fn feed(tls: &mut Connection, port: &Port) -> io::Result<()> {
    let mut bytes = [0; 16 << 10];
    let count = port.read(&mut bytes).await?;
    if count == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut rest = &bytes[..count];
    while !rest.is_empty() {
        tls.read_tls(&mut rest)?;
        tls.process_new_packets().map_err(io::Error::other)?;
    }
    Ok(())
}

/// Takes what TLS has to send.
fn drain(tls: &mut Connection) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut out)?;
    }
    Ok(out)
}
