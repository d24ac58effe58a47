//! PostgreSQL's protocol, version 3, on a blocking socket: messages out in one write, messages in from one buffer.
//!
//! Format: PostgreSQL documentation, "Frontend/Backend Protocol". What comes in is read in place, without a copy or an
//! allocation per message: of a short transaction's client time most is the two system calls.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use rustls::{ClientConnection, StreamOwned};

use crate::error::{Error, ErrorKind, Result, ending};

/// Longest message from the server that is believed: a row is 1 GiB at most.
const LONGEST: usize = 1 << 30;

/// What one read asks for.
const READ: usize = 16 << 10;

/// The socket, by its kind.
pub(super) enum Stream {
    /// A Unix socket.
    Unix(UnixStream),
    /// TCP.
    Tcp(TcpStream),
    /// TCP, encrypted.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// For reading and for writing: a peer that stops reading has stalled too.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let (read, written) = match self {
            Self::Unix(stream) => (stream.set_read_timeout(timeout), stream.set_write_timeout(timeout)),
            Self::Tcp(stream) => (stream.set_read_timeout(timeout), stream.set_write_timeout(timeout)),
            Self::Tls(stream) => {
                (stream.sock.set_read_timeout(timeout), stream.sock.set_write_timeout(timeout))
            }
        };
        read.and(written)
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

/// The kind of a message from the server.
pub(super) type Tag = u8;

/// A connection with what waits to go out and what has come in.
pub(super) struct Wire {
    stream: Stream,
    /// Messages to send with the next [`Wire::send`].
    pub out: BytesMut,
    incoming: Vec<u8>,
    /// What of `incoming` is not yet consumed.
    start: usize,
    end: usize,
    /// After a failure of the socket or the protocol nothing more is tried.
    broken: bool,
}

impl Wire {
    pub fn new(stream: Stream) -> Self {
        let incoming = vec![0; READ];
        Self { stream, out: BytesMut::with_capacity(READ), incoming, start: 0, end: 0, broken: false }
    }

    /// The server's certificate, of an encrypted connection.
    pub fn certificate(&self) -> Option<&[u8]> {
        let Stream::Tls(stream) = &self.stream else { return None };
        stream.conn.peer_certificates()?.first().map(|certificate| certificate.as_ref())
    }

    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        self.stream.set_timeout(timeout).map_err(|failed| lost(&failed))
    }

    /// Sends what waits in `out`.
    pub fn send(&mut self) -> Result<()> {
        self.usable()?;
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent.map_err(|failed| self.fail(lost(&failed)))
    }

    /// Sends these bytes, past `out`.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.usable()?;
        self.stream.write_all(bytes).map_err(|failed| lost(&failed)).map_err(|error| self.fail(error))
    }

    fn usable(&self) -> Result<()> {
        if self.broken {
            return Err(Error::new(ErrorKind::Lost, "PostgreSQL: the connection has failed before"));
        }
        Ok(())
    }

    fn fail(&mut self, error: Error) -> Error {
        self.broken = true;
        error
    }

    /// The next message that is not a notice or a changed parameter: its tag and its body.
    pub fn receive(&mut self) -> Result<(Tag, &[u8])> {
        loop {
            let (tag, length) = self.complete()?;
            let body = self.start + 5..self.start + 1 + length;
            self.start = body.end;
            // Notice, parameter status, notification.
            if !matches!(tag, b'N' | b'S' | b'A') {
                return Ok((tag, &self.incoming[body]));
            }
        }
    }

    /// Waits until a whole message is at `start`; its tag, and its length without the tag.
    fn complete(&mut self) -> Result<(Tag, usize)> {
        self.usable()?;
        loop {
            let available = self.end - self.start;
            let mut wanted = 5;
            if available >= 5 {
                let head = &self.incoming[self.start..self.start + 5];
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if !(4..=LONGEST).contains(&length) {
                    let message = format!("PostgreSQL: the server sent a message of {length} bytes");
                    return Err(self.fail(Error::new(ErrorKind::Lost, message)));
                }
                wanted = length + 1;
                if available >= wanted {
                    return Ok((head[0], length));
                }
            }
            self.fill(wanted)?;
        }
    }

    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.start > 0 {
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.incoming.len() < wanted {
            self.incoming.resize(wanted.next_power_of_two(), 0);
        }
        match self.stream.read(&mut self.incoming[self.end..]) {
            Ok(0) => {
                let message = "PostgreSQL: the server closed the connection";
                Err(self.fail(Error::new(ErrorKind::Lost, message)))
            }
            Ok(count) => {
                self.end += count;
                Ok(())
            }
            Err(failed) if failed.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(failed) => Err(self.fail(lost(&failed))),
        }
    }
}

/// What a failed system call on the socket means.
pub(super) fn lost(failed: &io::Error) -> Error {
    let (kind, what) = match failed.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            (ErrorKind::Timeout, "no answer came in time".to_owned())
        }
        _ => (ErrorKind::Lost, format!("the connection was lost: {}", ending(failed))),
    };
    Error::new(kind, format!("PostgreSQL: {what}"))
}

/// Reads a message's body piece by piece. What ends too early is a protocol error, never a panic.
pub(super) struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (piece, rest) = self.0.split_at_checked(count).ok_or_else(torn)?;
        self.0 = rest;
        Ok(piece)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("so many were taken"))
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Text up to a zero byte.
    pub fn text(&mut self) -> Result<String> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(torn)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }
}

/// A message that is shorter than it says.
pub(super) fn torn() -> Error {
    Error::new(ErrorKind::Lost, "PostgreSQL: the server's message ends too early")
}

/// An `ErrorResponse` as ours.
pub(super) fn server_error(body: &[u8]) -> Error {
    let (mut code, mut message, mut detail) = (String::new(), String::new(), String::new());
    let mut body = Body(body);
    while let Ok([field]) = body.array::<1>() {
        if field == 0 {
            break;
        }
        let Ok(text) = body.text() else { break };
        match field {
            b'C' => code = text,
            b'M' => message = text,
            b'D' => detail = format!(" ({text})"),
            _ => {}
        }
    }
    Error::new(kind_of(&code), format!("PostgreSQL: {message}{detail}")).with_code(code)
}

/// Classes of SQLSTATE: PostgreSQL documentation, appendix A.
fn kind_of(code: &str) -> ErrorKind {
    match code {
        "40001" | "40P01" | "55P03" => ErrorKind::Conflict,
        "42501" => ErrorKind::Permission,
        // Cancelled by statement_timeout; sent away by lock or idle timeouts.
        "57014" | "25P03" | "57P05" => ErrorKind::Timeout,
        "57P01" | "57P02" => ErrorKind::Lost,
        "53300" => ErrorKind::Crowded,
        "57P03" | "3D000" => ErrorKind::Refused,
        "XX001" | "XX002" => ErrorKind::Corrupt,
        _ => match code.get(..2) {
            Some("28") => ErrorKind::Authentication,
            Some("22" | "23") => ErrorKind::Constraint,
            Some("53" | "54") => ErrorKind::Full,
            Some("08") => ErrorKind::Lost,
            _ => ErrorKind::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Stream, Wire, kind_of, server_error};
    use crate::error::ErrorKind;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
        let long = vec![7; 40_000];
        let mut sent = vec![b'N', 0, 0, 0, 5, 1, b'Z', 0, 0, 0, 5, b'I', b'D'];
        sent.extend(40_004_u32.to_be_bytes());
        sent.extend(&long);
        let writer = std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                for piece in sent.chunks(7) {
                    there.write_all(piece).expect("written");
                }
            });
            let mut wire = Wire::new(Stream::Unix(here));
            assert_eq!(wire.receive().expect("ready"), (b'Z', &b"I"[..]));
            let (tag, body) = wire.receive().expect("a row");
            assert_eq!((tag, body == long), (b'D', true));
            assert_eq!(wire.receive().expect_err("the end").kind(), ErrorKind::Lost);
            assert!(wire.is_broken());
            writer.join()
        });
        assert!(writer.is_ok());
    }

    #[test]
    fn an_absurd_length_breaks_the_connection() {
        let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
        there.write_all(&[b'Z', 0, 0, 0, 3]).expect("written");
        let mut wire = Wire::new(Stream::Unix(here));
        assert!(wire.receive().is_err() && wire.is_broken());
    }

    #[test]
    fn a_body_that_ends_early_is_an_error() {
        assert!(Body(&[0]).u16().is_err());
        assert!(Body(b"no end").text().is_err());
        assert_eq!(Body(&[0xFF, 0xFE]).i16().ok(), Some(-2));
    }

    #[test]
    fn an_error_keeps_code_and_detail() {
        let error = server_error(b"SERROR\0C40P01\0Mdeadlock detected\0Dtwo wait\0\0");
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("40P01")));
        assert_eq!(error.to_string(), "PostgreSQL: deadlock detected (two wait)");
        assert_eq!(kind_of("23505"), ErrorKind::Constraint);
        assert_eq!(kind_of("53100"), ErrorKind::Full);
        assert_eq!(kind_of("53300"), ErrorKind::Crowded);
        assert_eq!(kind_of("28P01"), ErrorKind::Authentication);
        assert_eq!(kind_of(""), ErrorKind::Other);
    }
}
