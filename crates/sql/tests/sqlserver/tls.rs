//! Encrypted connections of the SQL Server driver, against a scripted peer: every way of asking for them, in both versions of
//! the protocol, what is believed, and what is said otherwise.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::certificates::Certificates;
use crate::common::proxy::Proxy;
use crate::tds::tls::{self, Encrypts};
use crate::tds::{Asked, Cell, Column, Peer, Request, columns, connection, failed, finished, returned, row};
use fathom_job::{Address, Connection, Tls};
use fathom_runtime::monotonic;
use fathom_sql::database::Database;
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::{Error, ErrorKind};
use fathom_sql::session::Target;
use fathom_sql::value::Value;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// What a session asks that only wants to know how it is encrypted; a server that keeps every fact to itself.
fn answer(asked: &Asked) -> Option<Vec<u8>> {
    Some(match asked.request {
        Request::Batch => finished(None),
        _ if asked.holds("SELECT long") => {
            let letters = "x".repeat(60).leak();
            let rows: Vec<u8> = (0..2000).flat_map(|_| row(&[Cell::Text(letters)])).collect();
            [columns(&[Column::Text("t")]), rows, returned(2000)].concat()
        }
        _ => failed(297, "The user does not have permission to perform this action."),
    })
}

/// The peer's side of one version, with so many tickets after the handshake.
fn config(
    files: &Certificates,
    version: &'static SupportedProtocolVersion,
    tickets: usize,
) -> Arc<ServerConfig> {
    tls::config(&files.certificate(), &files.key(), version, tickets)
}

/// How it is reached, and as whom.
fn to(port: u16, host: &str, tls: Option<Tls>, tls_ca: Option<PathBuf>) -> Connection {
    let address = Address::Tcp(host.into(), port);
    Connection { address, tls, tls_ca, timeout_ns: Some(10_000_000_000), ..connection(port) }
}

/// What a session says of its encryption, after more has gone over than a record holds.
fn tried(to: &Connection) -> Result<String, Error> {
    let database = Sqlserver::new(to.clone());
    let mut session = database.connect()?;
    let answer = session.query("SELECT long", &[])?;
    assert_eq!(answer.len(), 2000);
    session.query(&format!("SELECT '{}' AS long", "y".repeat(100_000)), &[]).expect_err("it keeps that back");
    let facts = database.facts(&mut *session)?;
    Ok(facts["encryption"].clone())
}

#[test]
fn every_way_of_asking_is_encrypted_in_both_versions() {
    let files = Certificates::of("postgres");
    for (version, name, tickets) in [(&TLS12, "TLSv1.2", 0), (&TLS13, "TLSv1.3", 0), (&TLS13, "TLSv1.3", 4)] {
        for always in [false, true] {
            let config = config(&files, version, tickets);
            let encrypts = if always { Encrypts::Always(config) } else { Encrypts::Asked(config) };
            let peer = Peer::encrypted(encrypts, answer);
            let found =
                |host, tls, ca| tried(&to(peer.port, host, tls, ca)).map_err(|error| error.to_string());
            for tls in [None, Some(Tls::Prefer), Some(Tls::Require)] {
                assert_eq!(found("127.0.0.1", tls, None).as_deref(), Ok(name), "{tls:?}");
            }
            let authority = Some(files.authority());
            for tls in [None, Some(Tls::VerifyFull)] {
                assert_eq!(found("localhost", tls, authority.clone()).as_deref(), Ok(name), "{tls:?}");
            }
            if !always {
                assert_eq!(found("localhost", Some(Tls::Disable), None).as_deref(), Ok("none"));
            }
            peer.end();
        }
    }
}

#[test]
fn a_server_is_believed_as_far_as_was_asked_for() {
    let files = Certificates::of("postgres");
    let peer = Peer::encrypted(Encrypts::Always(config(&files, &TLS13, 2)), answer);
    let refused = |host, tls, ca, words: &str| {
        let error = tried(&to(peer.port, host, Some(tls), ca)).expect_err("it must not be believed");
        assert_eq!(error.kind(), ErrorKind::Untrusted, "{error}");
        let message = error.to_string();
        assert!(message.contains(words) && !message.contains("Config::"), "{message}");
    };
    let (authority, stranger) = (|| Some(files.authority()), || Some(files.stranger()));
    refused("localhost", Tls::VerifyFull, stranger(), "signed by none of the authorities");
    refused("localhost", Tls::VerifyFull, None, "signed by none of the authorities");
    refused("127.0.0.1", Tls::VerifyFull, authority(), "is not for \"127.0.0.1\"");
    refused("localhost", Tls::VerifyFull, Some(files.key()), "no certificate in it");
    refused("localhost", Tls::VerifyCa, authority(), "verify-full");
    refused("localhost", Tls::Disable, None, "takes encrypted connections only");
    peer.end();

    let late = tls::config(&files.expired(), &files.key(), &TLS12, 0);
    let peer = Peer::encrypted(Encrypts::Always(late), answer);
    let error = tried(&to(peer.port, "localhost", Some(Tls::VerifyFull), authority()));
    let error = error.expect_err("it has expired");
    assert_eq!(error.kind(), ErrorKind::Untrusted, "{error}");
    assert!(error.to_string().contains("the server's certificate expired 8 days ago"), "{error}");
    peer.end();
}

#[test]
fn a_server_that_does_not_encrypt_is_refused_unless_that_will_do() {
    let peer = Peer::start(answer);
    for tls in [None, Some(Tls::Require), Some(Tls::VerifyFull)] {
        let error = tried(&to(peer.port, "127.0.0.1", tls, None)).expect_err("it does not encrypt");
        assert_eq!(error.kind(), ErrorKind::Untrusted, "{error}");
        assert!(error.to_string().contains("does not encrypt"), "{error}");
    }
    let found = tried(&to(peer.port, "127.0.0.1", Some(Tls::Prefer), None));
    assert_eq!(found.expect("it goes on in the clear"), "none");
    peer.end();
}

/// Long enough for what a busy machine answers.
const LIMIT: Duration = Duration::from_secs(2);

/// How long something takes that ends by itself, and why it did.
fn timed(work: impl FnOnce() -> Result<(), Error>) -> (Duration, Error) {
    let began = monotonic();
    let error = work().expect_err("nobody answers");
    (Duration::from_nanos(monotonic() - began), error)
}

fn was_the_timeout((took, error): (Duration, Error)) {
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains(&format!("{LIMIT:?}")), "{error}");
    assert!((LIMIT..20 * LIMIT).contains(&took), "{took:?}");
}

#[test]
fn a_peer_that_stands_still_ends_in_the_timeout() {
    // Before anything is said.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let patient = |port, tls| Connection {
        timeout_ns: Some(LIMIT.as_nanos() as u64),
        ..to(port, "127.0.0.1", tls, None)
    };
    for tls in [Tls::Disable, Tls::Prefer, Tls::Require] {
        let silent = Sqlserver::new(patient(port, Some(tls)));
        was_the_timeout(timed(|| silent.connect().map(drop)));
    }
    drop(listener);
    // In the middle of a session: a statement, a commit, a bulk copy whose rows nobody takes.
    let files = Certificates::of("postgres");
    for encrypts in [
        Encrypts::Never,
        Encrypts::Asked(config(&files, &TLS12, 0)),
        Encrypts::Asked(config(&files, &TLS13, 2)),
    ] {
        let tls = if matches!(encrypts, Encrypts::Never) { Tls::Disable } else { Tls::Require };
        // Held while a request is not to be answered.
        let held = Arc::new(std::sync::Mutex::new(()));
        let (asked_for, behind) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&held));
        let told = Arc::clone(&asked_for);
        let peer = Peer::encrypted(encrypts, move |asked| {
            if asked.holds("SET XACT_ABORT") || asked.holds("INSERT BULK") {
                return Some(finished(None));
            }
            if asked.holds("SELECT TOP 0") {
                return Some([columns(&[Column::Text("t")]), finished(Some(0))].concat());
            }
            told.fetch_add(1, Ordering::SeqCst);
            drop(behind.lock());
            None
        });
        let stays = held.lock().expect("nobody panicked with it");
        let database = Sqlserver::new(patient(peer.port, Some(tls)));
        {
            let mut session = database.connect().expect("it lets everybody in");
            was_the_timeout(timed(|| session.batch("CHECKPOINT")));
            let after = session.batch("CHECKPOINT").expect_err("its answer might come yet");
            assert_eq!(after.kind(), ErrorKind::Lost, "{after}");
            assert!(after.to_string().contains("abandoned after a timeout"), "{after}");
        }
        drop(stays);
        peer.end();
        assert_eq!(asked_for.load(Ordering::SeqCst), 1, "nothing was sent after it");
    }
}

#[test]
fn rows_that_nobody_takes_end_in_the_timeout() {
    let files = Certificates::of("postgres");
    for encrypts in [Encrypts::Never, Encrypts::Asked(config(&files, &TLS13, 2))] {
        let tls = if matches!(encrypts, Encrypts::Never) { Tls::Disable } else { Tls::Require };
        let peer = Peer::encrypted(encrypts, |asked| match asked.request {
            Request::Transaction => Some(crate::tds::transaction(8)),
            _ if asked.holds("SELECT TOP 0") => {
                Some([columns(&[Column::Text("t")]), finished(Some(0))].concat())
            }
            _ => Some(finished(None)),
        });
        let proxy = Proxy::to("127.0.0.1", peer.port);
        let wanted = Connection {
            timeout_ns: Some(LIMIT.as_nanos() as u64),
            ..to(proxy.port, "127.0.0.1", Some(tls), None)
        };
        let database = Sqlserver::new(wanted);
        let mut session = database.connect().expect("it lets everybody in");
        let mut bulk = session.bulk(&Target { table: "t", columns: &["t"] }).expect("begun");
        // More than the buffers of both sockets hold; the first part goes through.
        let wide = "z".repeat(100);
        (0..10_000).try_for_each(|_| bulk.row(&[Value::Text(&wide)])).expect("taken");
        proxy.stall(true);
        was_the_timeout(timed(|| {
            (0..200_000).try_for_each(|_| bulk.row(&[Value::Text(&wide)]))?;
            bulk.finish().map(drop)
        }));
        drop(session);
        drop(proxy);
        peer.end();
    }
}
