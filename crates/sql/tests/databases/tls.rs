//! Encrypted connections to real servers: what is believed, what is refused, and what is said then.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use crate::common::certificates::Certificates;
use crate::common::servers::Server;
use crate::conformance::conforms;
use fathom_job::{Address, Connection, DatabaseKind, Login, Tls};
use fathom_sql::database::Database;
use fathom_sql::drivers::server as server_of;
use fathom_sql::error::ErrorKind;

/// A port that nobody listens on now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// What a connection came to: how the server says it is encrypted, or why there is none.
fn tried(
    to: &Connection,
    host: &str,
    tls: Tls,
    tls_ca: Option<PathBuf>,
) -> Result<String, (ErrorKind, String)> {
    let Address::Tcp(_, port) = to.address else { panic!("encrypted by TCP only") };
    let address = Address::Tcp(host.into(), port);
    let to = Connection { address, tls: Some(tls), tls_ca, ..to.clone() };
    let database = server_of(&to).expect("it has a driver");
    let told = database.connect().and_then(|mut session| database.facts(&mut *session));
    let facts = told.map_err(|error| (error.kind(), error.to_string()))?;
    Ok(facts["encryption"].clone())
}

/// What every mode comes to on a server whose certificate is for `localhost`.
fn every_mode_checks_what_it_says(to: &Connection, files: &Certificates) {
    let refused = |host, tls, ca, words: &str| {
        let (kind, message) = tried(to, host, tls, ca).expect_err("it must not be believed");
        assert_eq!(kind, ErrorKind::Untrusted, "{message}");
        assert!(message.contains(words), "{message}");
    };
    let (authority, stranger) = (|| Some(files.authority()), || Some(files.stranger()));
    assert_eq!(tried(to, "localhost", Tls::Disable, None).as_deref(), Ok("none"));
    for unchecked in [Tls::Prefer, Tls::Require] {
        assert_eq!(tried(to, "127.0.0.1", unchecked, None).as_deref(), Ok("TLSv1.3"));
    }
    assert_eq!(tried(to, "localhost", Tls::VerifyFull, authority()).as_deref(), Ok("TLSv1.3"));
    refused("localhost", Tls::VerifyFull, stranger(), "signed by none of the authorities");
    refused("localhost", Tls::VerifyFull, None, "signed by none of the authorities");
    refused("127.0.0.1", Tls::VerifyFull, authority(), "is not for \"127.0.0.1\"");
    let missing = files.authority().with_extension("missing");
    refused("localhost", Tls::VerifyFull, Some(missing.clone()), &missing.display().to_string());
    refused("localhost", Tls::VerifyFull, Some(files.key()), "no certificate in it");
}

#[test]
fn postgresql_is_believed_as_far_as_was_asked_for() {
    let (files, port) = (Certificates::of("postgres"), free_port());
    let (certificate, key) = (files.certificate(), files.key());
    let mut server = Server::postgresql(&[
        "listen_addresses=127.0.0.1",
        &format!("port={port}"),
        "ssl=on",
        &format!("ssl_cert_file={}", certificate.display()),
        &format!("ssl_key_file={}", key.display()),
        "password_encryption=scram-sha-256",
    ]);
    server.connection.address = Address::Tcp("127.0.0.1".into(), port);
    server.connection.tls = Some(Tls::Disable);
    server.wait_for(crate::common::servers::answers);
    let to = &server.connection;
    every_mode_checks_what_it_says(to, &files);
    let checked = tried(to, "127.0.0.1", Tls::VerifyCa, Some(files.authority()));
    assert_eq!(checked.as_deref(), Ok("TLSv1.3"), "the chain is checked, the name is not");
    let stranger = tried(to, "127.0.0.1", Tls::VerifyCa, Some(files.stranger()));
    assert_eq!(stranger.map_err(|(kind, _)| kind), Err(ErrorKind::Untrusted));
    let encrypted = Connection { tls: Some(Tls::Require), ..to.clone() };
    let database = fathom_sql::drivers::postgresql::Postgresql::new(encrypted.clone());
    conforms(&database);

    // A password proved within: the proof is bound to the certificate, which the server checks.
    let mut session = database.connect().expect("the server is there");
    session.batch("CREATE ROLE proved LOGIN PASSWORD 'secret'").expect("made");
    let file = session.query("SHOW hba_file", &[]).expect("asked");
    let file = file.first().and_then(|row| row.text(0).map(str::to_owned)).expect("a path");
    let trusted = std::fs::read_to_string(&file).expect("it is there");
    let rule = "hostssl all proved 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(&file, format!("{rule}{trusted}")).expect("written");
    session.batch("SELECT pg_reload_conf()").expect("reloaded");
    let as_proved = |password: &str| {
        let (user, password) = ("proved".into(), Some(password.into()));
        tried(&Connection { user, password, ..encrypted.clone() }, "127.0.0.1", Tls::Require, None)
    };
    // The server reloads when it gets to it: until then everybody is let in.
    for _ in 0..2400 {
        if as_proved("wrong").is_err() {
            break;
        }
        session.batch("SELECT pg_sleep(0.05)").expect("waited");
    }
    assert_eq!(as_proved("wrong").map_err(|(kind, _)| kind), Err(ErrorKind::Authentication));
    assert_eq!(as_proved("secret").as_deref(), Ok("TLSv1.3"));

    std::fs::copy(files.expired(), &certificate).expect("replaced");
    session.batch("SELECT pg_reload_conf()").expect("reloaded");
    let tried = || {
        session.batch("SELECT pg_sleep(0.05)").expect("waited");
        tried(to, "localhost", Tls::VerifyFull, Some(files.authority()))
    };
    has_expired(tried);
}

/// What comes of a certificate that has expired, once the server shows it.
fn has_expired(mut tried: impl FnMut() -> Result<String, (ErrorKind, String)>) {
    let refused = (0..2400).find_map(|_| tried().err());
    let (kind, message) = refused.expect("it is shown within two minutes");
    assert_eq!(kind, ErrorKind::Untrusted, "{message}");
    assert!(message.contains("the server's certificate expired 8 days ago"), "{message}");
}

#[test]
fn mariadb_is_believed_as_far_as_was_asked_for() {
    let (files, port) = (Certificates::of("mysql"), free_port());
    let (certificate, key) = (files.certificate(), files.key());
    let mut server = Server::mariadb(&[
        "--skip-networking=0",
        "--bind-address=127.0.0.1",
        &format!("--port={port}"),
        &format!("--ssl-cert={}", certificate.display()),
        &format!("--ssl-key={}", key.display()),
    ]);
    let socket = server.connection.clone();
    server.connection.address = Address::Tcp("127.0.0.1".into(), port);
    server.connection.tls = Some(Tls::Disable);
    server.wait_for(crate::common::servers::answers);
    let to = &server.connection;
    every_mode_checks_what_it_says(to, &files);
    let (kind, message) =
        tried(to, "localhost", Tls::VerifyCa, Some(files.authority())).expect_err("it cannot be had");
    assert!(kind == ErrorKind::Untrusted && message.contains("verify-full"), "{message}");
    assert!(crate::common::servers::answers(&socket), "a Unix socket needs none of it");
    std::fs::copy(files.expired(), &certificate).expect("replaced");
    let database = server_of(&socket).expect("it has a driver");
    database.connect().expect("it answers").batch("FLUSH SSL").expect("reloaded");
    has_expired(|| tried(to, "localhost", Tls::VerifyFull, Some(files.authority())));
}

#[test]
fn a_peer_that_is_no_server_or_breaks_off_is_told() {
    crate::hostile::are_told();
}

/// What a MariaDB server says first: its version, and what it can (`CLIENT_SSL` if it encrypts).
pub fn greeting(encrypts: bool) -> Vec<u8> {
    let payload = [
        &b"\x0a10.11.0-MariaDB\0\x01\0\0\0"[..],
        // A challenge of 20 bytes in two pieces, capabilities, character set, status between them.
        &[7; 8],
        &[0, 0x00, if encrypts { 0x8a } else { 0x82 }, 33, 2, 0, 0x08, 0, 21],
        &[0; 10],
        &[7; 12],
        b"\0mysql_native_password\0",
    ]
    .concat();
    [&[payload.len() as u8, 0, 0, 0][..], &payload].concat()
}

/// Answers so many connections as a server that does not encrypt, and lets nobody in: why the driver failed, and what it
/// said last.
fn unencrypted(kind: DatabaseKind, tls: Tls, connections: usize) -> (ErrorKind, String, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let to = Connection {
        kind,
        address: Address::Tcp("127.0.0.1".into(), port),
        user: "fathom".into(),
        password: None,
        database: "work".into(),
        tls: Some(tls),
        tls_ca: None,
        login: Login::default(),
        timeout_ns: None,
    };
    let converse = move || {
        let (mut stream, _) = listener.accept().expect("the driver connects");
        if kind == DatabaseKind::Mariadb {
            stream.write_all(&greeting(false)).expect("greeted");
        } else {
            let mut asked = [0; 8];
            stream.read_exact(&mut asked).expect("it asks for encryption first");
            assert_eq!(asked, [0, 0, 0, 8, 4, 210, 22, 47]);
            stream.write_all(b"N").expect("answered");
        }
        let mut said = vec![0; 256];
        // A driver that goes away at once may take the connection with it.
        let length = stream.read(&mut said).unwrap_or(0);
        said.truncate(length);
        said
    };
    std::thread::scope(|scope| {
        let peer = scope.spawn(move || (0..connections).fold(Vec::new(), |_, _| converse()));
        let error = server_of(&to).expect("it has a driver").connect().err().expect("nobody lets it in");
        (error.kind(), error.to_string(), peer.join().expect("the peer is content"))
    })
}

#[test]
fn a_server_that_does_not_encrypt_is_refused_unless_that_will_do() {
    for kind in [DatabaseKind::Postgresql, DatabaseKind::Mariadb] {
        let (refused, message, said) = unencrypted(kind, Tls::Require, 1);
        assert!(refused == ErrorKind::Untrusted && message.contains("does not encrypt"), "{message}");
        assert!(!said.windows(6).any(|window| window == b"fathom"), "nothing was sent in the clear");
        // MariaDB's driver calls again.
        let connections = if kind == DatabaseKind::Mariadb { 2 } else { 1 };
        let (lost, message, said) = unencrypted(kind, Tls::Prefer, connections);
        assert!(matches!(lost, ErrorKind::Lost | ErrorKind::Refused), "{message}");
        assert!(said.windows(6).any(|window| window == b"fathom"), "it went on in the clear");
    }
}
