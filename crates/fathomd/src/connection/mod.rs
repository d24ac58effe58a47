//! One client's life: handshake, TLS if it is asked for, requests, and its end.

mod account;
mod client;
mod execute;
mod pace;
mod pieces;
mod read;
mod reply;
mod write;

use std::cell::RefCell;
use std::io;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use fathom_nbd::{Handshake, Progress, Security, Session};
use fathom_runtime::{Context, Nanos, SECOND, within};
use fathom_volume::Pool;
use fathom_wire::tls::{self, ServerConfig};
use fathom_wire::{Port, Wire};

use crate::cut::{Cancellation, CountGuard, UndecidedPeer};
use crate::exports::Exports;
use account::Account;
pub use account::Memory;
use client::Client;
use read::Departure;

/// A client that has not chosen an export by then wants something else. Who came by the Unix socket may be a person at a
/// prompt.
const HANDSHAKE_BY_UNIX: Nanos = 30 * SECOND;
/// As [`HANDSHAKE_BY_UNIX`], by TCP: room for a dozen round trips around the world, TLS among them.
const HANDSHAKE_BY_TCP: Nanos = 10 * SECOND;

/// What all connections share.
pub struct Common {
    pub context: Context,
    pub pool: Pool,
    pub exports: Rc<Exports>,
    /// For clients that come by TCP.
    pub tls: Option<Arc<ServerConfig>>,
    /// What all clients may have on their way.
    pub memory: Rc<Memory>,
    /// What the kernel keeps of one client's requests, and of its answers, bytes.
    pub socket_buffer: i32,
}

/// How a client connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTransport {
    /// The Unix socket.
    Unix,
    /// TCP, encrypted.
    TcpTls,
    /// TCP in the clear, because the operator allowed it.
    TcpPlain,
}

impl ClientTransport {
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::TcpTls => "tls",
            Self::TcpPlain => "tcp",
        }
    }
}

/// Whether the client is gone, as opposed to having sent what is wrong.
fn has_left(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// A connection, as the daemon and the status see it.
pub struct Connection {
    pub id: u64,
    pub transport: ClientTransport,
    pub since: Nanos,
    /// The export, once chosen.
    pub export: RefCell<Option<String>>,
    /// Ends the handshake. Said when the daemon stops, or others want the slot.
    pub cut: Cancellation,
    wire: RefCell<Weak<Wire>>,
    account: RefCell<Weak<Account>>,
}

impl Connection {
    pub fn new(id: u64, transport: ClientTransport, since: Nanos) -> Self {
        Self {
            id,
            transport,
            since,
            export: RefCell::default(),
            cut: Cancellation::default(),
            wire: RefCell::default(),
            account: RefCell::default(),
        }
    }

    /// Requests on their way.
    pub fn outstanding(&self) -> usize {
        self.account.borrow().upgrade().map_or(0, |account| account.outstanding())
    }

    /// Takes no more requests; those that have arrived are answered. Who has not chosen an export has none.
    pub fn stop_reading(&self) {
        self.cut.say();
        if let Some(wire) = self.wire.borrow().upgrade() {
            wire.port().stop_reading();
        }
    }

    /// Cuts the client off.
    pub fn end(&self) {
        self.cut.say();
        if let Some(wire) = self.wire.borrow().upgrade() {
            wire.port().end();
        }
    }

    /// Serves the client until it leaves. After the handshake it is no longer undecided, and takes a slot among the
    /// clients of its listener, if one is free.
    pub async fn serve(
        self: Rc<Self>,
        common: Rc<Common>,
        port: Port,
        presence: UndecidedPeer,
        slot: impl FnOnce() -> Option<CountGuard>,
    ) {
        let id = self.id;
        port.set_buffers(common.socket_buffer);
        let mut patience = HANDSHAKE_BY_UNIX;
        if self.transport != ClientTransport::Unix {
            port.send_at_once();
            patience = HANDSHAKE_BY_TCP;
        }
        let handshake = within(&common.context, patience, self.shake_hands(&common, port));
        let agreed = self.cut.unless(handshake).await;
        drop(presence);
        match agreed {
            None => tracing::debug!(client = id, "cut off before it chose an export"),
            Some(Some(Ok(Some((session, wire, rest))))) => {
                let Some(_slot) = slot() else { return };
                self.transmit(&common, session, wire, &rest).await;
            }
            Some(Some(Ok(None))) => {}
            // A monitor that checks whether somebody listens: nothing went wrong.
            Some(Some(Err(error))) if has_left(&error) => {
                tracing::debug!(client = id, %error, "left during the handshake");
            }
            Some(Some(Err(error))) => tracing::info!(client = id, %error, "handshake failed"),
            Some(None) => tracing::info!(client = id, "handshake took too long"),
        }
    }

    /// The session agreed on, the connection, and the bytes that came behind the handshake; None if the client left.
    async fn shake_hands(&self, common: &Common, port: Port) -> io::Result<Option<(Session, Wire, Vec<u8>)>> {
        let security =
            if self.transport == ClientTransport::TcpTls { Security::TlsRequired } else { Security::Plain };
        let mut handshake = Handshake::new(security);
        let mut wire = Wire::plain(port);
        let mut bytes = [0; 4096];
        loop {
            let said = std::mem::take(&mut handshake.output);
            wire.write_all(&said).await?;
            let count = wire.read(&mut bytes).await?;
            if count == 0 {
                return Ok(None);
            }
            let progress = handshake.feed(&bytes[..count], common.exports.offered());
            let said = std::mem::take(&mut handshake.output);
            match progress {
                Progress::More => handshake.output = said,
                Progress::Ready(session) => {
                    wire.write_all(&said).await?;
                    return Ok(Some((session, wire, handshake.rest())));
                }
                Progress::StartTls => {
                    wire.write_all(&said).await?;
                    let Some(config) = &common.tls else {
                        return Err(io::Error::other("TLS without a certificate"));
                    };
                    wire = wire.encrypt(tls::accept(config)?).await?;
                    handshake = handshake.encrypted();
                }
                Progress::Close(why) => {
                    tracing::debug!(client = self.id, why, "handshake ended");
                    // The client may have gone already: it is not needed any more.
                    let _ = wire.write_all(&said).await;
                    wire.close_notify().await;
                    return Ok(None);
                }
            }
        }
    }

    async fn transmit(&self, common: &Common, session: Session, wire: Wire, rest: &[u8]) {
        let wire = Rc::new(wire);
        *self.wire.borrow_mut() = Rc::downgrade(&wire);
        let served = Rc::clone(common.exports.at(session.export));
        *self.export.borrow_mut() = Some(served.export.name.clone());
        tracing::info!(client = self.id, export = served.export.name, "connected");
        let context = common.context.clone();
        let client = Client::new(
            context,
            common.pool.clone(),
            served,
            session.structured,
            session.allocation,
            &common.memory,
        );
        let client = Rc::new(client);
        *self.account.borrow_mut() = Rc::downgrade(&client.account);
        let writer = common.context.spawn(write::run(Rc::clone(&client), Rc::clone(&wire)));
        let left = read::run(&client, &wire, rest).await;
        // What was taken in is done and answered, however the client left.
        client.account.settled().await;
        client.close();
        writer.await;
        wire.close_notify().await;
        let export = client.served.export.name.as_str();
        match left {
            Departure::Politely | Departure::Silently => {
                tracing::info!(client = self.id, export, ?left, "left")
            }
            Departure::Halfway => {
                tracing::warn!(client = self.id, export, "cut off within a request, which was not done");
            }
            Departure::Nonsense(violation) => {
                tracing::warn!(client = self.id, export, %violation, "cut off: not the NBD protocol");
            }
            Departure::Failed(error) => tracing::warn!(client = self.id, export, %error, "connection failed"),
        }
    }
}
