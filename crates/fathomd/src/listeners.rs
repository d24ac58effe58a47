//! The listening sockets. Each has its own limits, so that clients of one cannot take the slots of another.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use fathom_runtime::{MILLISECOND, Nanos, Ring};
use fathom_wire::Port;

use crate::connection::{ClientTransport, Common, Connection};
use crate::cut::{CountGuard, UndecidedPeers};
use crate::http;
use crate::listen::{self, Claim, UnixSocket};
use crate::settings::Daemon;
use crate::state::State;

/// How long to wait when there are no descriptors left for new clients.
const BREATH: Nanos = 100 * MILLISECOND;
/// Clients of one listener that have not chosen an export yet; a newcomer beyond that cuts off the one that has waited
/// longest.
pub const MOST_UNDECIDED: usize = 16;

/// The paths of the sockets in the file system, taken before any volume is opened: a start that cannot listen changes nothing.
pub struct Claims {
    socket: Claim,
    status: Option<Claim>,
}

impl Claims {
    /// Takes the paths of the settings.
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub fn take(daemon: &Daemon) -> Result<Self, String> {
        let says = |key: &str, told: String| format!("[daemon] `{key}`: {told}");
        let socket = Claim::take(&daemon.socket).map_err(|told| says("socket", told))?;
        let status = daemon.status.as_deref().map(Claim::take).transpose();
        Ok(Self { socket, status: status.map_err(|told| says("status", told))? })
    }
}

/// The listening sockets; those in the file system go when this is dropped.
pub struct Listeners {
    nbd: Vec<Rc<Port>>,
    unix: Vec<Rc<UnixSocket>>,
}

impl Listeners {
    /// Opens the sockets of the settings and accepts clients.
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub fn open(claims: Claims, state: &Rc<State>, ring: &Ring, common: &Rc<Common>) -> Result<Self, String> {
        let settings = &state.settings;
        let unix = Rc::new(UnixSocket::open(claims.socket, settings.socket_mode, ring)?);
        let mut listeners = Self { nbd: Vec::new(), unix: vec![Rc::clone(&unix)] };
        if let Some(claim) = claims.status {
            let listener = Rc::new(UnixSocket::open(claim, 0o600, ring)?);
            state.context.spawn(http::serve(Rc::clone(state), Rc::clone(&listener.port), http::Access::All));
            listeners.unix.push(listener);
        }
        if let Some(address) = &settings.metrics {
            let port = Rc::new(listen::tcp("metrics", address, ring)?);
            state.context.spawn(http::serve(Rc::clone(state), port, http::Access::Metrics));
        }
        let mut enter = |port: Rc<Port>, transport| {
            listeners.nbd.push(Rc::clone(&port));
            let listener = Listener {
                port,
                transport,
                undecided: UndecidedPeers::new(MOST_UNDECIDED),
                clients: Rc::default(),
            };
            state.context.spawn(listener.serve(Rc::clone(state), Rc::clone(common)));
        };
        enter(Rc::clone(&unix.port), ClientTransport::Unix);
        if let Some(tcp) = &settings.tcp {
            let transport =
                if tcp.tls.is_some() { ClientTransport::TcpTls } else { ClientTransport::TcpPlain };
            enter(Rc::new(listen::tcp("tcp", &tcp.address, ring)?), transport);
        }
        Ok(listeners)
    }

    /// Accepts no more clients: new ones are refused at once. Status and metrics continue.
    pub fn close(&self) {
        self.nbd.iter().for_each(|listener| listener.end());
    }
}

/// A listener for NBD clients.
struct Listener {
    port: Rc<Port>,
    transport: ClientTransport,
    undecided: Rc<UndecidedPeers>,
    // Those that have chosen an export.
    clients: Rc<Cell<usize>>,
}

impl Listener {
    /// Accepts clients until the daemon stops.
    async fn serve(self, state: Rc<State>, common: Rc<Common>) {
        while let Some(taken) = state.stop.unless(self.port.accept()).await {
            match taken.and_then(|taken| self.admit(&state, taken)) {
                Ok(Some(port)) => self.let_in(&state, &common, port),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot let a client in");
                    state.context.sleep(BREATH).await;
                }
            }
        }
    }

    /// The client's port, or None where its descriptor is needed for something else.
    fn admit(&self, state: &State, taken: OwnedFd) -> io::Result<Option<Port>> {
        if state.descriptors.are_short(&taken) {
            state.refused.set(state.refused.get() + 1);
            tracing::warn!(
                by = self.transport.name(),
                "hardly any descriptors left (LimitNOFILE=, ulimit -H -n): one client turned away"
            );
            return Ok(None);
        }
        Port::new(taken, self.port.ring()).map(Some)
    }

    fn let_in(&self, state: &Rc<State>, common: &Rc<Common>, port: Port) {
        let most = state.settings.most_clients;
        if self.clients.get() >= most {
            refuse_client(state, self.transport);
            return;
        }
        let id = state.accepted.get() + 1;
        state.accepted.set(id);
        let connection = Rc::new(Connection::new(id, self.transport, state.context.now()));
        let (presence, another_went) = self.undecided.enter(&connection.cut);
        if another_went {
            state.crowded_out.set(state.crowded_out.get() + 1);
        }
        let listed = state.list(&connection);
        let (state, common, clients) = (Rc::clone(state), Rc::clone(common), Rc::clone(&self.clients));
        let transport = self.transport;
        let place = {
            let state = Rc::clone(&state);
            move || {
                let place = CountGuard::one_of(&clients, most);
                if place.is_none() {
                    refuse_client(&state, transport);
                }
                place
            }
        };
        state.context.spawn(async move {
            let _listed = listed;
            connection.serve(common, port, presence, place).await;
        });
    }
}

fn refuse_client(state: &State, transport: ClientTransport) {
    state.refused.set(state.refused.get() + 1);
    let most_clients = state.settings.most_clients;
    tracing::warn!(by = transport.name(), most_clients, "too many clients: one turned away");
}
