//! The daemon as a whole: builds the stack, opens its doors, lets clients in, drains and stops.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;

use fathom_runtime::{Context, MILLISECOND, Nanos, RingSetup, SECOND, Signal, seed_from_kernel};
use fathom_stack::{BuildError, Clock, Lifecycle, Site, Stack, WritebackStatus};
use fathom_wire::{Port, within};

use crate::cancel::cancel_everything;
use crate::connection::{Common, Connection, Entrance};
use crate::exports::{Exports, Served};
use crate::fuse::Front;
use crate::http;
use crate::listen::{self, UnixDoor};
use crate::notify::notify;
use crate::settings::{AtStop, Daemon as DaemonSettings, Settings, Tls};
use crate::signals::{Asked, Signals};
use crate::ublk::{self, Device};

/// How long to wait when there are no descriptors left for new clients.
const BREATH: Nanos = 100 * MILLISECOND;
/// How often the service manager is told that a stop is under way, and how much time it is asked for.
const STILL_STOPPING: Nanos = 5 * SECOND;

/// What the daemon does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Clients are served.
    Serving,
    /// The last answers go out, then everything is made durable.
    Draining,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}

/// What the daemon's tasks share.
pub struct Daemon {
    pub context: Context,
    pub settings: DaemonSettings,
    pub exports: Rc<Exports>,
    /// Every volume, each after those it stands on.
    pub volumes: Vec<fathom_volume::Handle>,
    /// Opening, draining and closing them.
    pub lifecycle: Lifecycle,
    pub phase: Cell<Phase>,
    /// The exports as files.
    pub fuse: RefCell<Option<Rc<Front>>>,
    pub connections: RefCell<BTreeMap<u64, Rc<Connection>>>,
    /// Block devices of this host that are served.
    pub devices: RefCell<Vec<Rc<Device>>>,
    /// Clients let in since the start.
    pub accepted: Cell<u64>,
    /// Clients turned away because there were too many.
    pub refused: Cell<u64>,
    gone: Signal,
    stop: Signal,
    stop_asked: Cell<bool>,
}

/// Runs the daemon until it is asked to stop. Relative paths of volumes begin in `directory`.
///
/// # Errors
/// A message that says what is in the way.
pub fn run(settings: Settings, directory: &Path) -> Result<(), String> {
    let site = site(directory, seed()?);
    // Wide entries carry FUSE's commands.
    let wide = settings.fuse.is_some();
    let setup = RingSetup { wide, busy_poll: settings.daemon.busy_poll, ..RingSetup::default() };
    let built = Stack::build_of_what_is_there(setup, &settings.volumes, &settings.roots(), &site);
    let stack = built.map_err(|error| words(&error))?;
    stack.runtime().block_on(live(settings, &stack)).map_err(|deadlock| deadlock.to_string())?
}

/// Makes what the settings describe, as far as it is not there: opens everything once and closes it.
///
/// # Errors
/// A message that says what is in the way.
pub fn create(settings: &Settings, directory: &Path) -> Result<(), String> {
    let built = Stack::build(&settings.volumes, &settings.roots(), &site(directory, seed()?));
    let stack = built.map_err(|error| words(&error))?;
    let lifecycle = stack.lifecycle();
    let made = stack.runtime().block_on(async {
        lifecycle.ready().await?;
        lifecycle.close().await
    });
    made.map_err(|deadlock| deadlock.to_string())?.map_err(|error| error.to_string())
}

fn seed() -> Result<u64, String> {
    let seed = seed_from_kernel().map_err(|error| format!("the kernel gives no random numbers: {error}"))?;
    tracing::info!(seed, "random numbers of this run");
    Ok(seed)
}

/// Where the daemon's volumes live. The seed decides what they call themselves: incarnations, legs, groups.
pub fn site(directory: &Path, seed: u64) -> Site {
    Site { clock: Clock::Real, seed, payload: true, directory: directory.to_owned() }
}

/// Why volumes could not be built.
pub fn words(error: &BuildError) -> String {
    match error {
        BuildError::Volume { diagnostic, .. } => diagnostic.to_string(),
        ring @ BuildError::Ring(_) => ring.to_string(),
    }
}

/// A volume that went back to an earlier moment is no news to look for: replicas may be ahead of it now.
fn tell_loss(group: &str, status: &WritebackStatus) {
    if let Some(loss) = &status.loss {
        tracing::warn!(
            group,
            lost_incarnation = loss.incarnation,
            least_bytes = loss.pending.bytes,
            most_bytes = loss.bounds.bytes,
            "loss of the cache accepted: {loss}. Replicas may be ahead of these volumes: rebuild them or begin a new timeline"
        );
    }
}

async fn live(settings: Settings, stack: &Stack) -> Result<(), String> {
    let context = stack.context().clone();
    let ring = context.ring().ok_or("the daemon runs on the real clock only")?.clone();
    let signals = Signals::new(&ring).map_err(|error| format!("cannot listen to signals: {error}"))?;
    let served = settings.exports.iter().map(|export| {
        let volume = stack.get(&export.volume).ok_or_else(|| format!("no volume `{}`", export.volume))?;
        Ok(Served::new(&context, export, volume.clone()))
    });
    let exports = Rc::new(Exports::new(served.collect::<Result<_, String>>()?));
    let tcp = settings.daemon.tcp.as_ref();
    let common = Rc::new(Common {
        context: context.clone(),
        pool: stack.pool().clone(),
        exports: Rc::clone(&exports),
        tls: tcp.and_then(|tcp| tcp.tls.as_ref()).map(Tls::server).transpose()?,
    });
    let daemon = Rc::new(Daemon {
        context: context.clone(),
        exports,
        volumes: stack.nodes().to_vec(),
        lifecycle: stack.lifecycle(),
        phase: Cell::new(Phase::Serving),
        fuse: RefCell::default(),
        connections: RefCell::default(),
        devices: RefCell::default(),
        accepted: Cell::new(0),
        refused: Cell::new(0),
        gone: Signal::default(),
        stop: Signal::default(),
        stop_asked: Cell::new(false),
        settings: settings.daemon,
    });
    daemon.lifecycle.ready().await.map_err(|error| error.to_string())?;
    daemon.lifecycle.groups().for_each(|(name, status)| tell_loss(name, &status));
    let doors = daemon.open_doors(&ring, &common)?;
    if let Some(fuse) = &settings.fuse {
        let front = Front::open(&context, &common.pool, &common.exports, fuse).await?;
        tracing::info!(mount = %front.place().display(), transport = front.transport.get().name(), "mounted");
        *daemon.fuse.borrow_mut() = Some(front);
    }
    context.spawn(Rc::clone(&daemon).listen_to_signals(signals));
    match ublk::open(&context, stack.pool(), daemon.exports.all()).await {
        Ok(devices) => *daemon.devices.borrow_mut() = devices,
        Err(why) => {
            daemon.unmount(0).await;
            drop(doors);
            cancel_everything(&ring).await;
            return Err(why);
        }
    }
    notify("READY=1\nSTATUS=serving");
    tracing::info!(socket = %daemon.settings.socket.display(), exports = daemon.exports.all().len(), "serving");
    daemon.stop_asked().await;
    let result = daemon.stop(doors).await;
    if !daemon.devices.borrow().is_empty() {
        // The driver keeps the commands that fetch requests until this process ends, and the ring waits for them: the
        // devices are left to the next start, which is what was asked for.
        std::process::exit(i32::from(result.is_err()));
    }
    cancel_everything(&ring).await;
    result
}

/// What clients come in by. Held while they may.
struct Doors {
    nbd: Vec<Rc<Port>>,
    _unix: Vec<Rc<UnixDoor>>,
}

impl Daemon {
    fn open_doors(
        self: &Rc<Self>,
        ring: &fathom_runtime::Ring,
        common: &Rc<Common>,
    ) -> Result<Doors, String> {
        let settings = &self.settings;
        let unix = Rc::new(UnixDoor::open(&settings.socket, settings.socket_mode, ring)?);
        let mut doors = Doors { nbd: Vec::new(), _unix: vec![Rc::clone(&unix)] };
        if let Some(path) = &settings.status {
            let door = Rc::new(UnixDoor::open(path, 0o600, ring)?);
            self.context.spawn(http::serve(Rc::clone(self), Rc::clone(&door.port), http::May::Command));
            doors._unix.push(door);
        }
        if let Some(address) = &settings.metrics {
            let port = Rc::new(listen::tcp(address, ring)?);
            self.context.spawn(http::serve(Rc::clone(self), port, http::May::Look));
        }
        let mut enter = |port: Rc<Port>, entrance| {
            self.context.spawn(Rc::clone(self).let_in(Rc::clone(&port), entrance, Rc::clone(common)));
            doors.nbd.push(port);
        };
        enter(Rc::clone(&unix.port), Entrance::Unix);
        if let Some(tcp) = &settings.tcp {
            let entrance = if tcp.tls.is_some() { Entrance::TcpTls } else { Entrance::TcpPlain };
            enter(Rc::new(listen::tcp(&tcp.address, ring)?), entrance);
        }
        Ok(doors)
    }

    /// Lets clients in by one door.
    async fn let_in(self: Rc<Self>, door: Rc<Port>, entrance: Entrance, common: Rc<Common>) {
        loop {
            let taken = door.accept().await;
            if self.phase.get() != Phase::Serving {
                return;
            }
            let port = match taken.and_then(|taken| Port::new(taken, door.ring())) {
                Ok(port) => port,
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot let a client in");
                    self.context.sleep(BREATH).await;
                    continue;
                }
            };
            if self.connections.borrow().len() >= self.settings.most_clients {
                self.refused.set(self.refused.get() + 1);
                tracing::warn!(
                    most_clients = self.settings.most_clients,
                    "too many clients: one turned away"
                );
                continue;
            }
            let id = self.accepted.get() + 1;
            self.accepted.set(id);
            let connection = Rc::new(Connection::new(id, entrance, self.context.now()));
            self.connections.borrow_mut().insert(id, Rc::clone(&connection));
            let (daemon, common) = (Rc::clone(&self), Rc::clone(&common));
            self.context.spawn(async move {
                connection.serve(common, port).await;
                daemon.connections.borrow_mut().remove(&id);
                daemon.gone.notify();
            });
        }
    }

    async fn listen_to_signals(self: Rc<Self>, signals: Signals) {
        loop {
            match signals.next().await {
                Ok(Asked::Stop) => self.ask_to_stop("signal"),
                Ok(Asked::Reload) => {
                    tracing::warn!("SIGHUP: settings are read at the start only; restart to apply changes");
                }
                Err(error) => {
                    tracing::error!(%error, "cannot listen to signals any more");
                    return;
                }
            }
        }
    }

    /// Asks the daemon to drain and stop.
    pub fn ask_to_stop(&self, by: &str) {
        if !self.stop_asked.replace(true) {
            tracing::info!(by, "stopping");
            self.stop.notify();
        }
    }

    async fn stop_asked(&self) {
        while !self.stop_asked.get() {
            self.stop.wait().await;
        }
    }

    /// Answers what clients have sent, makes everything durable, and says how that went.
    async fn stop(self: &Rc<Self>, doors: Doors) -> Result<(), String> {
        self.phase.set(Phase::Draining);
        notify("STOPPING=1\nSTATUS=draining");
        let beside = Rc::clone(self);
        self.context.spawn(async move {
            loop {
                notify("EXTEND_TIMEOUT_USEC=30000000");
                beside.context.sleep(STILL_STOPPING).await;
            }
        });
        doors.nbd.iter().for_each(|door| door.end());
        let connections = || self.connections.borrow().values().cloned().collect::<Vec<_>>();
        connections().iter().for_each(|connection| connection.stop_reading());
        if within(&self.context, self.settings.client_patience, self.all_gone()).await.is_none() {
            tracing::warn!(
                clients = connections().len(),
                "clients that do not fetch their answers are cut off"
            );
            connections().iter().for_each(|connection| connection.end());
            self.all_gone().await;
        }
        self.unmount(self.settings.client_patience).await;
        let closed = match self.settings.at_stop {
            AtStop::Drain => {
                ublk::close(&self.devices.take()).await;
                self.lifecycle.close().await
            }
            AtStop::Keep => self.lifecycle.flush().await,
        };
        let result = closed.map_err(|error| error.to_string());
        match &result {
            Ok(()) => tracing::info!("everything acknowledged is durable; stopped"),
            Err(error) => tracing::error!(error, "stopped, and not everything is durable"),
        }
        drop(doors);
        result
    }

    /// Takes the files away; who has one open is served that much longer, in ns.
    async fn unmount(&self, patience: Nanos) {
        let front = self.fuse.take();
        if let Some(front) = front {
            front.close(patience).await;
        }
    }

    async fn all_gone(&self) {
        while !self.connections.borrow().is_empty() {
            self.gone.wait().await;
        }
    }
}
