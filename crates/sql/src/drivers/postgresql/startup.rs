//! Connecting to PostgreSQL: the socket, the start-up message, and proving who we are (trust, password, MD5, SCRAM).

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use fathom_workload::{Address, Connection};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use super::wire::{Body, Stream, Wire, server_error};
use crate::error::{Error, ErrorKind, Result};

/// Connects and waits until the server is ready for statements.
pub(super) fn start(to: &Connection) -> Result<Wire> {
    let mut wire = Wire::new(reach(to).map_err(|failed| unreachable(&failed))?);
    let parameters = [
        ("user", to.user.as_str()),
        ("database", to.database.as_str()),
        ("application_name", "fathom"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO"),
    ];
    frontend::startup_message(parameters, &mut wire.out).map_err(unsendable)?;
    wire.send()?;
    authenticate(&mut wire, to)?;
    loop {
        match wire.receive()? {
            (b'Z', _) => return Ok(wire),
            (b'E', body) => return Err(server_error(body)),
            // Key data for cancel requests, which are never sent.
            _ => {}
        }
    }
}

fn reach(to: &Connection) -> io::Result<Stream> {
    match &to.address {
        Address::Socket(path) => UnixStream::connect(path).map(Stream::Unix),
        Address::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_nodelay(true)?;
            Ok(Stream::Tcp(stream))
        }
        Address::Directory(_) => {
            Err(io::Error::other("a PostgreSQL server is reached by a socket or a host"))
        }
    }
}

fn unreachable(failed: &io::Error) -> Error {
    let kind = match failed.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Refused,
    };
    Error::new(kind, format!("PostgreSQL: {failed}"))
}

/// A text with a zero byte in it.
pub(super) fn unsendable(failed: io::Error) -> Error {
    Error::new(ErrorKind::Other, format!("PostgreSQL: cannot be sent: {failed}"))
}

fn authenticate(wire: &mut Wire, to: &Connection) -> Result<()> {
    let password = || {
        let missing = || Error::new(ErrorKind::Authentication, "PostgreSQL: the server asks for a password");
        to.password.as_deref().ok_or_else(missing)
    };
    let mut scram: Option<ScramSha256> = None;
    let broken = |failed: io::Error| Error::new(ErrorKind::Authentication, format!("PostgreSQL: {failed}"));
    loop {
        let (tag, body) = wire.receive()?;
        if tag == b'E' {
            return Err(server_error(body));
        }
        if tag != b'R' {
            return Err(Error::new(ErrorKind::Lost, "PostgreSQL: this is no PostgreSQL server"));
        }
        let mut body = Body(body);
        match (body.u32()?, &mut scram) {
            (0, _) => return Ok(()),
            (3, _) => frontend::password_message(password()?.as_bytes(), &mut wire.out),
            (5, _) => {
                let salt = body.take(4)?.try_into().expect("four bytes were taken");
                let hash = md5_hash(to.user.as_bytes(), password()?.as_bytes(), salt);
                frontend::password_message(hash.as_bytes(), &mut wire.out)
            }
            (10, state @ None) => {
                let begun = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                let begun = state.insert(begun);
                frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut wire.out)
            }
            (11, Some(state)) => {
                state.update(body.0).map_err(broken)?;
                frontend::sasl_response(state.message(), &mut wire.out)
            }
            (12, Some(state)) => {
                state.finish(body.0).map_err(broken)?;
                continue;
            }
            (method, _) => {
                let message = format!(
                    "PostgreSQL: the server asks for authentication method {method}, which is not supported; \
                     let the user log in by password (scram-sha-256 or md5) or trust"
                );
                return Err(Error::new(ErrorKind::Authentication, message));
            }
        }
        .map_err(unsendable)?;
        wire.send()?;
    }
}
