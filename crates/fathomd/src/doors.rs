//! What clients come in by. Every door has its own limits, so that nobody who comes by one of them takes the places of those
//! who come by another.

use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;

use fathom_runtime::{MILLISECOND, Nanos, Ring};
use fathom_wire::Port;

use crate::connection::{Common, Connection, Entrance};
use crate::cut::{Counted, Crowd};
use crate::http;
use crate::listen::{self, UnixDoor};
use crate::state::State;

/// How long to wait when there are no descriptors left for new clients.
const BREATH: Nanos = 100 * MILLISECOND;
/// Clients of one door that have not chosen an export yet; a newcomer beyond that cuts off the one that has been there
/// longest.
pub const MOST_UNDECIDED: usize = 16;

/// The listening sockets; those in the file system go when this is dropped.
pub struct Doors {
    nbd: Vec<Rc<Port>>,
    unix: Vec<Rc<UnixDoor>>,
}

impl Doors {
    /// Opens what the settings name and lets clients in.
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub fn open(state: &Rc<State>, ring: &Ring, common: &Rc<Common>) -> Result<Self, String> {
        let settings = &state.settings;
        let unix = Rc::new(UnixDoor::open(&settings.socket, settings.socket_mode, ring)?);
        let mut doors = Self { nbd: Vec::new(), unix: vec![Rc::clone(&unix)] };
        if let Some(path) = &settings.status {
            let door = Rc::new(UnixDoor::open(path, 0o600, ring)?);
            state.context.spawn(http::serve(Rc::clone(state), Rc::clone(&door.port), http::Access::All));
            doors.unix.push(door);
        }
        if let Some(address) = &settings.metrics {
            let port = Rc::new(listen::tcp(address, ring)?);
            state.context.spawn(http::serve(Rc::clone(state), port, http::Access::Metrics));
        }
        let mut enter = |port: Rc<Port>, entrance| {
            doors.nbd.push(Rc::clone(&port));
            let door = Door { port, entrance, undecided: Crowd::new(MOST_UNDECIDED), clients: Rc::default() };
            state.context.spawn(door.serve(Rc::clone(state), Rc::clone(common)));
        };
        enter(Rc::clone(&unix.port), Entrance::Unix);
        if let Some(tcp) = &settings.tcp {
            let entrance = if tcp.tls.is_some() { Entrance::TcpTls } else { Entrance::TcpPlain };
            enter(Rc::new(listen::tcp(&tcp.address, ring)?), entrance);
        }
        Ok(doors)
    }

    /// No more clients: who tries is refused at once. Status and metrics go on.
    pub fn close(&self) {
        self.nbd.iter().for_each(|door| door.end());
    }
}

/// One door for NBD clients.
struct Door {
    port: Rc<Port>,
    entrance: Entrance,
    undecided: Rc<Crowd>,
    // Those that have chosen an export.
    clients: Rc<Cell<usize>>,
}

impl Door {
    /// Lets clients in until the daemon stops.
    async fn serve(self, state: Rc<State>, common: Rc<Common>) {
        while let Some(taken) = state.stop.unless(self.port.accept()).await {
            match taken.and_then(|taken| Port::new(taken, self.port.ring())) {
                Ok(port) => self.let_in(&state, &common, port),
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot let a client in");
                    state.context.sleep(BREATH).await;
                }
            }
        }
    }

    fn let_in(&self, state: &Rc<State>, common: &Rc<Common>, port: Port) {
        let most = state.settings.most_clients;
        if self.clients.get() >= most {
            turn_away(state, self.entrance);
            return;
        }
        let id = state.accepted.get() + 1;
        state.accepted.set(id);
        let connection = Rc::new(Connection::new(id, self.entrance, state.context.now()));
        let (presence, another_went) = self.undecided.enter(&connection.cut);
        if another_went {
            state.crowded_out.set(state.crowded_out.get() + 1);
        }
        let listed = state.list(&connection);
        let (state, common, clients) = (Rc::clone(state), Rc::clone(common), Rc::clone(&self.clients));
        let entrance = self.entrance;
        let place = {
            let state = Rc::clone(&state);
            move || {
                let place = Counted::one_of(&clients, most);
                if place.is_none() {
                    turn_away(&state, entrance);
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

fn turn_away(state: &State, entrance: Entrance) {
    state.refused.set(state.refused.get() + 1);
    let most_clients = state.settings.most_clients;
    tracing::warn!(by = entrance.name(), most_clients, "too many clients: one turned away");
}
