//! PostgreSQL and MariaDB, encrypted, over a network that is slow, stands still or breaks: right reasons in the stated time, and
//! never an answer that is not the asked-for one.

mod common;
#[allow(dead_code, reason = "the servers are not killed here")]
mod order_entry;
mod outage;
#[allow(dead_code, reason = "the servers are not killed here")]
mod shop;

use std::net::TcpListener;
use std::time::Duration;

use common::certificates::Certificates;
use common::proxy::{Link, Proxy};
use common::servers::{Server, answers};
use fathom_job::{Address, Connection, DatabaseKind, Tls};
use fathom_sql::database::Database;
use fathom_sql::drivers;
use fathom_sql::settings::Interface;

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
    let proxy = Proxy::to("127.0.0.1", port);
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

/// Encrypted, over such a network: a server, and two empty databases of it.
fn over(kind: DatabaseKind, link: Link, test: impl FnOnce(&(dyn Database + Sync), &(dyn Database + Sync))) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    let to = Connection { timeout_ns: Some(120_000_000_000), ..to };
    proxy.is(link);
    let within = |name: &str| {
        let to = Connection { database: name.into(), ..to.clone() };
        drivers::server(&to).expect("it has a driver")
    };
    test(&*within("orders"), &*within("shop"));
}

fn works(kind: DatabaseKind) {
    over(kind, SLOW, |orders, store| {
        order_entry::works(orders);
        shop::works(store);
    });
}

/// Without users side by side: theirs is a test of seconds, in which little gets there and back.
fn works_from_afar(kind: DatabaseKind) {
    over(kind, FAR, |orders, store| {
        order_entry::loads(orders);
        shop::the_load_is_consistent_and_the_same_everywhere(store);
        for interface in [Interface::Procedures, Interface::Statements] {
            order_entry::every_transaction_does_what_the_clauses_say(orders, interface);
            shop::every_operation_does_what_it_says(store, interface);
        }
    });
}

/// As slow as a test of every build can be.
const SLOW: Link = Link {
    delay: Duration::from_micros(100),
    jitter: Duration::from_micros(100),
    bytes_per_second: 50_000_000,
    lost_per_million: 0,
};

/// A line to another continent: a round trip of 40 to 50 ms, 10 Mbit/s, one segment of a hundred lost.
const FAR: Link = Link {
    delay: Duration::from_millis(20),
    jitter: Duration::from_millis(5),
    bytes_per_second: 1_250_000,
    lost_per_million: 10_000,
};

#[test]
fn postgresql_works_encrypted_over_a_slow_network() {
    works(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_works_encrypted_over_a_slow_network() {
    works(DatabaseKind::Mariadb);
}

#[test]
#[ignore = "minutes: make slow-network"]
fn postgresql_works_encrypted_over_a_line_to_another_continent() {
    works_from_afar(DatabaseKind::Postgresql);
}

#[test]
#[ignore = "minutes: make slow-network"]
fn mariadb_works_encrypted_over_a_line_to_another_continent() {
    works_from_afar(DatabaseKind::Mariadb);
}

fn stands_still(kind: DatabaseKind) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    outage::stands_still(&proxy, &to);
}

fn breaks(kind: DatabaseKind) {
    let files = files(kind);
    let (_server, proxy, to) = encrypted(kind, &files);
    outage::breaks(&proxy, &to);
}

#[test]
fn postgresql_that_stands_still_ends_in_the_timeout() {
    stands_still(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_that_stands_still_ends_in_the_timeout() {
    stands_still(DatabaseKind::Mariadb);
}

#[test]
fn postgresql_that_breaks_is_lost() {
    breaks(DatabaseKind::Postgresql);
}

#[test]
fn mariadb_that_breaks_is_lost() {
    breaks(DatabaseKind::Mariadb);
}
