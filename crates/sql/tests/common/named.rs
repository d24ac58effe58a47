//! A server of somebody's own, named by an environment variable: `KIND://USER:PASSWORD@HOST:PORT?tls=MODE&tls_ca=FILE`;
//! `sqlserver://@HOST:PORT?login=windows` by a Kerberos ticket.

use fathom_job::{Address, Connection, DatabaseKind, Login, Tls};
use fathom_sql::drivers;

/// The server that the variable names; None without it, and said so.
pub fn named(variable: &str, kind: DatabaseKind, database: &str, port: u16) -> Option<Connection> {
    let Ok(url) = std::env::var(variable) else {
        eprintln!("not tested: {variable} names no server");
        return None;
    };
    let wrong = format!("{variable} is {}://USER:PASSWORD@HOST:PORT?tls=MODE&tls_ca=FILE", kind.name());
    let read = |text: Option<&'_ str>| text.map(str::to_owned).unwrap_or_else(|| panic!("{wrong}"));
    let rest = read(url.strip_prefix(&format!("{}://", kind.name())));
    let (rest, options) = rest.split_once('?').unwrap_or((&rest, ""));
    let Some((login, place)) = rest.rsplit_once('@') else { panic!("{wrong}") };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let place = place.trim_end_matches('/');
    let (host, port) = match place.rsplit_once(':') {
        Some((host, digits)) => (host, digits.parse().unwrap_or_else(|_| panic!("{wrong}"))),
        None => (place, port),
    };
    let option = |name: &str| {
        let mut pairs = options.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let tls = option("tls").map(|word| match word {
        "disable" => Tls::Disable,
        "prefer" => Tls::Prefer,
        "require" => Tls::Require,
        "verify-full" => Tls::VerifyFull,
        other => panic!("{wrong}; {other} is no way to encrypt"),
    });
    Some(Connection {
        kind,
        address: Address::Tcp(host.into(), port),
        user: user.into(),
        password: Some(password.into()).filter(|password: &String| !password.is_empty()),
        database: database.into(),
        tls,
        tls_ca: option("tls_ca").map(Into::into),
        login: if option("login") == Some("windows") { Login::Windows } else { Login::Password },
        timeout_ns: Some(120_000_000_000),
    })
}

/// Runs on an empty database of the server, made anew, which is dropped afterwards if all went well.
pub fn on_its_own(server: &Connection, name: &str, test: impl FnOnce(Connection)) {
    let database = drivers::server(server).expect("it has a driver");
    let mut session = database.connect().expect("the server lets us in");
    let name = format!("fathom_test_{name}");
    session.batch(&format!("DROP DATABASE IF EXISTS {name}")).expect("dropped");
    session.batch(&format!("CREATE DATABASE {name}")).expect("the login may create databases");
    test(Connection { database: name.clone(), ..server.clone() });
    // A server may notice a moment later that the sessions have gone.
    let dropped = (0..100).any(|_| {
        let done = session.batch(&format!("DROP DATABASE {name}")).is_ok();
        if !done {
            super::servers::pause();
        }
        done
    });
    assert!(dropped, "{name} cannot be dropped");
}
