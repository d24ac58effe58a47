//! Login by a Kerberos ticket: a realm of the test's own, and a scripted peer that accepts tickets by the system's GSSAPI library.
//! Built with the feature `windows-login` only; `make test-windows-login` runs it.

mod common;
mod tds;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use common::certificates::Certificates;
use common::servers::{pause, succeed};
use fathom_job::{Address, Connection, Login, Tls};
use fathom_sql::database::Database;
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::{Error, ErrorKind};
use libgssapi::context::{SecurityContext, ServerCtx};
use rustls::version::{TLS12, TLS13};
use tds::tls::{self, Encrypts};
use tds::{Accept, Peer, connection, finished, numbers};

const REALM: &str = "FATHOM.TEST";

/// A key distribution centre, and what its clients are told.
struct Realm {
    directory: tempfile::TempDir,
    centre: Child,
}

impl Realm {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let path = directory.path().display();
        let clients = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n \
             dns_canonicalize_hostname = false\n udp_preference_limit = 1\n\
             [realms]\n {REALM} = {{\n kdc = 127.0.0.1:{port}\n }}\n"
        );
        let centre = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\n {REALM} = {{\n database_name = {path}/principal\n key_stash_file = {path}/stash\n \
             acl_file = {path}/acl\n }}\n[logging]\n kdc = FILE:{path}/log\n"
        );
        std::fs::write(directory.path().join("krb5.conf"), clients).expect("written");
        std::fs::write(directory.path().join("kdc.conf"), centre).expect("written");
        let within = |program: &str| within(directory.path(), program);
        succeed(within("kdb5_util").args(["create", "-s", "-P", "master", "-r", REALM]));
        succeed(within("kadmin.local").args(["-q", "addprinc -pw secret bench"]));
        let mut centre = within("krb5kdc");
        centre.arg("-n").stdout(Stdio::null()).stderr(Stdio::null());
        let centre = centre.spawn().expect("krb5kdc: apt-get install krb5-kdc krb5-admin-server krb5-user");
        Self { directory, centre }
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.centre.kill();
        let _ = self.centre.wait();
    }
}

/// A program that knows the realm of that directory.
fn within(directory: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    let file = |name: &str| directory.join(name);
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    command.env("KRB5_CONFIG", file("krb5.conf")).env("KRB5_KDC_PROFILE", file("kdc.conf"));
    command.env("KRB5CCNAME", format!("FILE:{}", file("tickets").display()));
    command.env("KRB5_KTNAME", format!("FILE:{}", file("keys").display()));
    command
}

/// A ticket for `bench`.
fn ticket(directory: &Path) {
    // The centre may take a moment to listen.
    let got = (0..600).any(|_| {
        let script = "echo secret | kinit bench";
        let got = within(directory, "sh").args(["-c", script]).output().expect("krb5-user is installed");
        if !got.status.success() {
            pause();
        }
        got.status.success()
    });
    assert!(got, "the centre gives no ticket");
}

/// The library reads its surroundings from the environment of its process: the test runs in one of its own.
#[test]
fn a_ticket_lets_in_and_nothing_else_does() {
    let realm = Realm::new();
    let mut inner =
        within(realm.directory.path(), &std::env::current_exe().expect("it runs").display().to_string());
    inner.args(["--exact", "within_the_realm", "--ignored", "--nocapture"]);
    inner.env("FATHOM_TEST_REALM", realm.directory.path());
    let ended = inner.output().expect("it runs");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

/// How the peer is reached, by whom the ticket is for.
fn to(port: u16, tls: Tls) -> Connection {
    let address = Address::Tcp("localhost".into(), port);
    let (user, password, login) = (String::new(), None, Login::Windows);
    Connection { address, user, password, login, tls: Some(tls), ..connection(port) }
}

fn refused(port: u16) -> Error {
    Sqlserver::new(to(port, Tls::Disable)).connect().err().expect("it must not be let in")
}

#[test]
#[ignore = "started by the other one, within its realm"]
fn within_the_realm() {
    let directory = std::env::var_os("FATHOM_TEST_REALM").expect("the other test names it");
    let directory = Path::new(&directory);
    let files = Certificates::of("root");
    let came = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&came);
    let accept: Accept = Arc::new(move |token| {
        let mut context = ServerCtx::new(None);
        let proof = context.step(token, None).ok()?;
        let who = context.source_name().ok()?.to_string();
        seen.lock().expect("nobody panicked").push(who);
        Some(proof.map(|proof| proof.to_vec()).unwrap_or_default())
    });
    let config = |version| tls::config(&files.certificate(), &files.key(), version, 2);
    for (encrypts, tls) in [
        (Encrypts::Never, Tls::Disable),
        (Encrypts::Always(config(&TLS12)), Tls::Require),
        (Encrypts::Always(config(&TLS13)), Tls::Require),
    ] {
        let peer = Peer::accepting(encrypts, Some(Arc::clone(&accept)), |asked| {
            Some(if asked.holds("SELECT 42") { numbers(&[42]) } else { finished(None) })
        });
        let unknown = refused_for(&peer, directory, tls);
        assert_eq!(unknown.kind(), ErrorKind::Authentication, "{unknown}");
        let service = format!("MSSQLSvc/localhost:{}", peer.port);
        for query in [
            format!("addprinc -randkey {service}"),
            format!("ktadd -k {}/keys {service}", directory.display()),
        ] {
            succeed(within(directory, "kadmin.local").args(["-q", &query]));
        }
        let database = Sqlserver::new(to(peer.port, tls));
        let mut session = database.connect().expect("the ticket lets it in");
        let answer = session.query("SELECT 42", &[]).expect("answered");
        assert_eq!(answer.first().and_then(|row| row.int(0)).expect("a number"), 42);
        drop(session);
        peer.end();
    }
    let expected = vec![format!("bench@{REALM}"); 3];
    assert_eq!(*came.lock().expect("nobody panicked"), expected);

    let peer = Peer::accepting(Encrypts::Never, Some(Arc::new(|_| None)), |_| None);
    let service = format!("addprinc -randkey MSSQLSvc/localhost:{}", peer.port);
    succeed(within(directory, "kadmin.local").args(["-q", &service]));
    let untrusted = refused(peer.port);
    assert_eq!(
        (untrusted.kind(), untrusted.code()),
        (ErrorKind::Authentication, Some("18452")),
        "{untrusted}"
    );
    succeed(&mut within(directory, "kdestroy"));
    let without = refused(peer.port);
    assert_eq!(without.kind(), ErrorKind::Authentication, "{without}");
    assert!(without.to_string().contains("kinit"), "{without}");
    peer.end();
}

/// With a ticket, of a server that the realm does not know.
fn refused_for(peer: &Peer, directory: &Path, tls: Tls) -> Error {
    ticket(directory);
    let unknown = Sqlserver::new(to(peer.port, tls)).connect().err().expect("the realm does not know it");
    assert!(unknown.to_string().contains("Windows login"), "{unknown}");
    unknown
}
