//! Notifications to systemd: ready, stopping, still stopping (sd_notify(3): datagrams to `$NOTIFY_SOCKET`).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Tells the service manager, if there is one. That it does not listen is no reason to stop.
pub fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let Some(path) = path.to_str() else { return };
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(|_| ()));
    if let Err(error) = sent {
        tracing::debug!(%error, "the service manager does not listen");
    }
}
