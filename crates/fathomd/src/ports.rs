//! TCP addresses: whether a start could listen there.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use fathom_settings::Section;
use socket2::{Domain, Socket, Type};

use crate::listen::is_served;
use crate::settings::Daemon;

/// An address that a key of `[daemon]` may have.
fn example(key: &str) -> &'static str {
    if key == "metrics" { "127.0.0.1:9750" } else { "127.0.0.1:10809" }
}

/// Reports what is no address on any host.
pub fn check_address(section: &mut Section<'_>, key: &str, address: Option<&str>) {
    let is_one = |address: &str| {
        let parts = address.rsplit_once(':');
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    };
    if let Some(wrong) = address.filter(|address| !is_one(address)) {
        let message = format!("\"{}\" is not an address and a port", wrong.escape_debug());
        let help =
            format!("write an address of this host and a port of at most 65535, like \"{}\"", example(key));
        section.error_at(key, message, help);
    }
}

/// What would keep the daemon from listening: sentences that say what, where and what to do. An address that is in use is no
/// fault while a daemon serves the socket of these settings: it is the one that has it.
pub fn problems(daemon: &Daemon) -> Vec<String> {
    let tcp = daemon.tcp.as_ref().map(|tcp| ("tcp", tcp.address.as_str()));
    let metrics = daemon.metrics.as_deref().map(|address| ("metrics", address));
    let mut found = Vec::new();
    let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
    for (key, address) in tcp.into_iter().chain(metrics) {
        match free(address, &daemon.socket) {
            Ok(place) => {
                if let Some((other, _)) = taken.iter().find(|(_, other)| are_one(*other, place)) {
                    found.push(format!(
                        "[daemon] `{key}`: {address} is taken by `{other}`: choose another port for one of them"
                    ));
                }
                taken.push((key, place));
            }
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::AddrInUse => {
                        "another program listens there: stop it, or choose another port".to_owned()
                    }
                    ErrorKind::AddrNotAvailable => {
                        "this host has no such address: choose one that it has".to_owned()
                    }
                    ErrorKind::PermissionDenied => {
                        "run with the rights to that port, or choose one above 1023".to_owned()
                    }
                    _ => format!("write an address of this host and a port, like \"{}\"", example(key)),
                };
                found.push(format!("[daemon] `{key}`: cannot listen at {address}: {error}; {remedy}"));
            }
        }
    }
    found
}

/// The first place of an address at which a daemon can listen, or its own does.
fn free(address: &str, socket: &Path) -> io::Result<SocketAddr> {
    let mut told = io::Error::new(ErrorKind::InvalidInput, "it has no place");
    for place in address.to_socket_addrs()? {
        match look(place, socket) {
            Ok(()) => return Ok(place),
            Err(error) => told = error,
        }
    }
    Err(told)
}

/// Whether a daemon can listen at a place, or its own does.
fn look(place: SocketAddr, socket: &Path) -> io::Result<()> {
    /// What a killed daemon had stays taken until the kernel has taken its ring apart.
    const LOOKS: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(100);
    for _ in 1..LOOKS {
        match bind(place) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_served(socket) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AddrInUse => std::thread::park_timeout(PAUSE),
            done => return done,
        }
    }
    bind(place)
}

/// Takes an address for a moment, without listening there: a daemon that starts meanwhile is not kept from it.
fn bind(place: SocketAddr) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(place), Type::STREAM, None)?;
    // As the standard library does for listeners: the remains of ended connections do not count.
    socket.set_reuse_address(true)?;
    socket.bind(&place.into())
}

/// Whether two listeners would be in each other's way.
fn are_one(one: SocketAddr, other: SocketAddr) -> bool {
    // Every address of IPv6 takes those of IPv4 along.
    let covers = |whole: IpAddr, part: IpAddr| whole.is_unspecified() && (whole.is_ipv6() || part.is_ipv4());
    let (ip, of) = (one.ip(), other.ip());
    one.port() == other.port() && one.port() != 0 && (ip == of || covers(ip, of) || covers(of, ip))
}
