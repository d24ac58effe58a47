//! Peers that are no servers, or break off before anybody is in: every driver says so soon, and believes nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use fathom_job::{Address, Connection, DatabaseKind, Login, Tls};
use fathom_runtime::{Random, monotonic};
use fathom_sql::database::Known;
use fathom_sql::drivers::server;
use fathom_sql::error::ErrorKind;

/// What a peer does once it is reached.
#[derive(Debug, Clone, Copy)]
enum Peer {
    Closes,
    /// It sends bytes that mean nothing.
    Noise,
    /// It serves something else.
    Web,
    /// It says that a message of the greatest length follows.
    Huge,
    /// It goes away once the handshake of TLS has begun.
    BreaksOff,
}

/// Answers the driver's first connection.
fn answer(kind: DatabaseKind, peer: Peer, stream: &mut TcpStream) -> std::io::Result<()> {
    let mut asked = [0; 4096];
    match (peer, kind) {
        (Peer::Closes, _) => {}
        (Peer::Noise, _) => {
            let mut random = Random::new(14, "noise");
            let noise: Vec<u8> = (0..4096).map(|_| random.word() as u8).collect();
            stream.write_all(&noise)?;
        }
        (Peer::Web, _) => stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?,
        (Peer::Huge, DatabaseKind::Postgresql) => {
            let _ = stream.read(&mut asked)?;
            stream.write_all(b"R\x7f\xff\xff\xff")?;
        }
        (Peer::Huge, DatabaseKind::Sqlserver) => {
            let _ = stream.read(&mut asked)?;
            stream.write_all(&[4, 0, 0xff, 0xff, 0, 0, 1, 0])?;
        }
        (Peer::Huge, _) => stream.write_all(&[0xff, 0xff, 0xff, 0])?,
        (Peer::BreaksOff, _) => {
            // A server of MariaDB speaks first.
            if kind == DatabaseKind::Mariadb {
                stream.write_all(&crate::tls::greeting(true))?;
                let _ = stream.read(&mut asked[..36])?;
            } else {
                let _ = stream.read(&mut asked)?;
                stream.write_all(if kind == DatabaseKind::Postgresql { b"S" } else { &PRE_LOGIN })?;
            }
            let _ = stream.read(&mut asked)?;
        }
    }
    if !matches!(peer, Peer::Closes | Peer::BreaksOff) {
        // Until the driver has seen enough and goes away.
        while stream.read(&mut asked)? > 0 {}
    }
    Ok(())
}

const SERVERS: [DatabaseKind; 3] = [DatabaseKind::Postgresql, DatabaseKind::Mariadb, DatabaseKind::Sqlserver];

/// The answer to a pre-login, of version 16 with encryption: \[MS-TDS\] section 2.2.6.5.
const PRE_LOGIN: [u8; 26] =
    [4, 1, 0, 26, 0, 0, 1, 0, 0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 16, 0, 0, 0, 1];

/// A server of that kind on that port, without limits.
fn at(kind: DatabaseKind, port: u16) -> Connection {
    Connection {
        kind,
        address: Address::Tcp("127.0.0.1".into(), port),
        user: "fathom".into(),
        password: Some("secret".into()),
        database: "work".into(),
        tls: None,
        tls_ca: None,
        login: Login::default(),
        timeout_ns: None,
    }
}

/// A peer that never says a word ends a login, also where statements may take as long as they like.
#[test]
fn silence_ends_a_login_though_statements_have_no_limit() {
    std::thread::scope(|scope| {
        for kind in SERVERS {
            scope.spawn(move || {
                let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
                let port = silent.local_addr().expect("it is bound").port();
                let began = monotonic();
                let error = server(&at(kind, port))
                    .expect("it has a driver")
                    .connect()
                    .err()
                    .expect("nobody answers");
                let took = Duration::from_nanos(monotonic() - began);
                assert_eq!(error.kind(), ErrorKind::Timeout, "{kind:?}: {error}");
                assert!(took < 2 * Connection::LOGIN, "{kind:?}: {took:?}");
                assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
            });
        }
    });
}

/// What each of them comes to with each protocol.
pub fn are_told() {
    for kind in SERVERS {
        for peer in [Peer::Closes, Peer::Noise, Peer::Web, Peer::Huge, Peer::BreaksOff] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = listener.local_addr().expect("it is bound").port();
            let tls = if matches!(peer, Peer::Huge) { Tls::Disable } else { Tls::Require };
            let to = Connection { tls: Some(tls), timeout_ns: Some(2_000_000_000), ..at(kind, port) };
            let began = monotonic();
            let error = std::thread::scope(|scope| {
                scope.spawn(move || {
                    let (mut stream, _) = listener.accept().expect("the driver connects");
                    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it is open");
                    // The driver may break it off at any moment.
                    let _ = answer(kind, peer, &mut stream);
                });
                server(&to).expect("it has a driver").connect().err().expect("nobody lets it in")
            });
            let (took, said) = (Duration::from_nanos(monotonic() - began), error.to_string());
            let which = format!("{kind:?} {peer:?}: {said}");
            assert!(took < Duration::from_secs(19), "{took:?} {which}");
            let kinds = [ErrorKind::Lost, ErrorKind::Refused, ErrorKind::Untrusted, ErrorKind::Timeout];
            assert!(kinds.contains(&error.kind()), "{:?} {which}", error.kind());
            let names = [kind.dialect().title, &format!("127.0.0.1:{port}")].map(|name| said.contains(name));
            assert!(names == [true, true] && !said.contains('{'), "what and where, in words: {which}");
        }
    }
}
