//! Connecting to PostgreSQL: the socket, encryption, the start-up message, and authentication (trust, password, MD5,
//! SCRAM).

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use fathom_job::{Address, Connection, Tls};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;
use rustls::{ClientConnection, StreamOwned};

use super::binding::end_point;
use super::wire::{self, Body, Stream, Wire, server_error};
use crate::error::{Error, ErrorKind, Result};
use crate::tls;

/// Connects and waits until the server is ready for statements.
pub(super) fn start(to: &Connection) -> Result<Wire> {
    let mut wire = Wire::new(reach(to)?);
    wire.set_timeout(Some(to.login_timeout()))?;
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
            (b'Z', _) => {
                wire.set_timeout(to.timeout())?;
                return Ok(wire);
            }
            (b'E', body) => return Err(server_error(body)),
            // Key data for cancel requests, which are never sent.
            _ => {}
        }
    }
}

fn reach(to: &Connection) -> Result<Stream> {
    let unreachable = |failed| unreachable(&failed);
    match &to.address {
        Address::Socket(path) => UnixStream::connect(path).map(Stream::Unix).map_err(unreachable),
        Address::Tcp(host, port) => {
            let stream = connected(host, *port, to.login_timeout()).map_err(unreachable)?;
            stream.set_nodelay(true).map_err(unreachable)?;
            stream.set_read_timeout(Some(to.login_timeout())).map_err(unreachable)?;
            match to.tls() {
                Tls::Disable => Ok(Stream::Tcp(stream)),
                mode => encrypt(stream, host, mode, to),
            }
        }
        Address::Directory(_) => {
            let message = "PostgreSQL: a server is reached by a socket or a host";
            Err(Error::new(ErrorKind::Refused, message))
        }
    }
}

/// The first address of that name that answers.
fn connected(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(refused) => failed = refused,
        }
    }
    Err(failed)
}

/// What answers there speaks another protocol.
fn not_postgresql() -> Error {
    Error::new(ErrorKind::Refused, "PostgreSQL: the peer is not a PostgreSQL server")
}

/// Asks for encryption, and continues without it if the settings allow that.
fn encrypt(mut stream: TcpStream, host: &str, mode: Tls, to: &Connection) -> Result<Stream> {
    // Before anything is sent: a mistake in the settings is found without the server.
    let (config, name) = (tls::client(mode, to.tls_ca.as_deref())?, tls::name(host)?);
    let lost = |failed: io::Error| match tls::words(&failed, host) {
        Some(words) => Error::new(ErrorKind::Untrusted, format!("PostgreSQL: {words}")),
        None => wire::lost(&failed),
    };
    let mut asked = BytesMut::new();
    frontend::ssl_request(&mut asked);
    stream.write_all(&asked).map_err(lost)?;
    // One byte and no more: what follows it must come encrypted.
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(lost)?;
    match (answer[0], mode) {
        (b'S', _) => {}
        (b'N', Tls::Prefer) => return Ok(Stream::Tcp(stream)),
        (b'N', _) => {
            let message = "PostgreSQL: the server does not encrypt; set `ssl = on` there";
            return Err(Error::new(ErrorKind::Untrusted, message));
        }
        _ => return Err(not_postgresql()),
    }
    let mut connection = ClientConnection::new(config, name)
        .map_err(|failed| Error::new(ErrorKind::Untrusted, format!("PostgreSQL: {failed}")))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(lost)?;
    }
    Ok(Stream::Tls(Box::new(StreamOwned::new(connection, stream))))
}

fn unreachable(failed: &io::Error) -> Error {
    let kind = match failed.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ErrorKind::Timeout,
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
    let end_point = wire.certificate().and_then(end_point);
    let broken = |failed: io::Error| Error::new(ErrorKind::Authentication, format!("PostgreSQL: {failed}"));
    loop {
        let (tag, body) = wire.receive()?;
        if tag == b'E' {
            return Err(server_error(body));
        }
        if tag != b'R' {
            return Err(not_postgresql());
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
                // A list of names, each with a zero byte behind it.
                let offers = |name: &str| body.0.split(|byte| *byte == 0).any(|one| one == name.as_bytes());
                let (name, binding) = match end_point.clone() {
                    Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
                        (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))
                    }
                    Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
                    None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
                };
                let begun = state.insert(ScramSha256::new(password()?.as_bytes(), binding));
                frontend::sasl_initial_response(name, begun.message(), &mut wire.out)
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
