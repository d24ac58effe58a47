//! PostgreSQL and MariaDB, encrypted, over a network that is slow, stands still or breaks: right reasons in the stated time, and
//! never an answer that is not the asked-for one.

mod common;
#[allow(dead_code, reason = "the servers are not killed here")]
mod order_entry;
#[allow(dead_code, reason = "the servers are not killed here")]
mod shop;

use std::net::TcpListener;
use std::time::Duration;

use common::certificates::Certificates;
use common::proxy::Proxy;
use common::servers::{Server, answers};
use fathom_runtime::monotonic;
use fathom_sql::drivers;
use fathom_sql::error::{Error, ErrorKind};
use fathom_sql::session::Target;
use fathom_sql::value::Value;
use fathom_workload::{Address, Connection, DatabaseKind, Tls};

/// A server that lets nobody in without encryption, and how it is reached through a proxy.
fn encrypted(kind: DatabaseKind, files: &Certificates) -> (Server, Proxy, Connection) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let (certificate, key) = (files.certificate(), files.key());
    let file = |name: &str, path: &std::path::Path| format!("{name}={}", path.display());
    let mut server = match kind {
        DatabaseKind::Postgresql => Server::postgresql(&[
            "listen_addresses=127.0.0.1",
            &format!("port={port}"),
            "ssl=on",
            &file("ssl_cert_file", &certificate),
            &file("ssl_key_file", &key),
        ]),
        _ => Server::mariadb(&[
            "--skip-networking=0",
            "--bind-address=127.0.0.1",
            &format!("--port={port}"),
            "--require-secure-transport=1",
            &file("--ssl-cert", &certificate),
            &file("--ssl-key", &key),
        ]),
    };
    server.connection.address = Address::Tcp("localhost".into(), port);
    server.connection.tls = Some(Tls::VerifyFull);
    server.connection.tls_ca = Some(files.authority());
    server.wait_for(answers);
    for name in ["orders", "shop"] {
        let database = drivers::server(&server.connection).expect("it has a driver");
        let made = format!("CREATE DATABASE {name}");
        database.connect().expect("it answers").batch(&made).expect("made");
    }
    let proxy = Proxy::to(port);
    let through = Connection {
        address: Address::Tcp("localhost".into(), proxy.port),
        timeout_ns: Some(20_000_000_000),
        ..server.connection.clone()
    };
    (server, proxy, through)
}

fn files(kind: DatabaseKind) -> Certificates {
    Certificates::of(if kind == DatabaseKind::Postgresql { "postgres" } else { "mysql" })
}

fn works(kind: DatabaseKind) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    proxy.delay(Duration::from_micros(100));
    let within = |name: &str| {
        let to = Connection { database: name.into(), ..to.clone() };
        drivers::server(&to).expect("it has a driver")
    };
    order_entry::works(&*within("orders"));
    shop::works(&*within("shop"));
}

#[test]
fn postgresql_works_encrypted_over_a_slow_network() {
    works(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_works_encrypted_over_a_slow_network() {
    works(DatabaseKind::Mariadb);
}

fn timed(work: impl FnOnce() -> Result<(), Error>) -> (Duration, Error) {
    let began = monotonic();
    let error = work().expect_err("nothing comes through");
    (Duration::from_nanos(monotonic() - began), error)
}

fn was_the_timeout((took, error): (Duration, Error)) {
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!((Duration::from_millis(400)..Duration::from_secs(10)).contains(&took), "{took:?}: {error}");
}

fn stands_still(kind: DatabaseKind) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    let to = Connection { timeout_ns: Some(500_000_000), ..to };
    let database = drivers::server(&to).expect("it has a driver");
    proxy.stall(true);
    was_the_timeout(timed(|| database.connect().map(drop)));
    proxy.stall(false);
    let mut session = database.connect().expect("it answers");
    session.query("SELECT 1", &[]).expect("answered");
    proxy.stall(true);
    was_the_timeout(timed(|| session.query("SELECT 2", &[]).map(drop)));
    proxy.stall(false);
    // The answer to that comes now, and must not be taken for another's.
    let late = session.query("SELECT 1", &[]).expect_err("the connection was given up");
    assert_eq!(late.kind(), ErrorKind::Lost, "{late}");
    let mut session = database.connect().expect("a new one");
    session.batch("CREATE TABLE filled (t varchar(200))").expect("made");
    let mut bulk = session.bulk(&Target { table: "filled", columns: &["t"] }).expect("begun");
    let wide = "z".repeat(190);
    proxy.stall(true);
    was_the_timeout(timed(|| {
        (0..300_000).try_for_each(|_| bulk.row(&[Value::Text(&wide)]))?;
        bulk.finish().map(drop)
    }));
    proxy.stall(false);
    let mut session = database.connect().expect("a new one");
    let count = session.query("SELECT count(*) FROM filled", &[]).expect("counted");
    assert_eq!(count.first().and_then(|row| row.int(0)).expect("a number"), 0, "nothing of it is kept");
}

#[test]
fn postgresql_that_stands_still_ends_in_the_timeout() {
    stands_still(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_that_stands_still_ends_in_the_timeout() {
    stands_still(DatabaseKind::Mariadb);
}

fn breaks(kind: DatabaseKind) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    let database = drivers::server(&to).expect("it has a driver");
    let wide = "w".repeat(100_000);
    for bytes in [0, 1, 4, 5, 6, 30, 1_000, 20_000, 99_000] {
        let mut session = database.connect().expect("it answers");
        session.query("SELECT 1", &[]).expect("answered");
        proxy.cut_after(Some(bytes));
        let lost = session.query(&format!("SELECT '{wide}'"), &[]).expect_err("it breaks");
        assert_eq!(lost.kind(), ErrorKind::Lost, "after {bytes} bytes: {lost}");
        proxy.cut_after(None);
    }
    // Wherever a login breaks, it says that it did.
    for bytes in [0, 1, 2, 10, 100, 500] {
        proxy.cut_after(Some(bytes));
        let broken = database.connect().err().expect("it breaks");
        let kinds = [ErrorKind::Lost, ErrorKind::Refused, ErrorKind::Untrusted];
        assert!(kinds.contains(&broken.kind()), "after {bytes} bytes: {:?} {broken}", broken.kind());
        proxy.cut_after(None);
    }
}

#[test]
fn postgresql_that_breaks_is_lost() {
    breaks(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_that_breaks_is_lost() {
    breaks(DatabaseKind::Mariadb);
}
