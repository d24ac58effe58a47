//! What the daemon's parts share, and what it is asked to do.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_runtime::{Context, Signal};
use fathom_stack::Lifecycle;
use fathom_volume::Handle;

use crate::connection::Connection;
use crate::cut::Cancellation;
use crate::descriptors::Descriptors;
use crate::exports::Exports;
use crate::fuse::Mount;
use crate::names::Names;
use crate::settings::Daemon as Settings;
use crate::ublk::Device;

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
pub struct State {
    pub context: Context,
    pub settings: Settings,
    pub exports: Rc<Exports>,
    /// Every volume, each after the volumes below it.
    pub volumes: Vec<Handle>,
    /// Opening, draining and closing them.
    pub lifecycle: Lifecycle,
    /// The files that they stand on.
    pub names: Rc<Names>,
    pub phase: Cell<Phase>,
    /// How many may be open.
    pub descriptors: Descriptors,
    /// The exports as files.
    pub fuse: RefCell<Option<Rc<Mount>>>,
    pub connections: RefCell<BTreeMap<u64, Rc<Connection>>>,
    /// Block devices of this host that are served.
    pub devices: RefCell<Vec<Rc<Device>>>,
    /// Clients let in since the start.
    pub accepted: Cell<u64>,
    /// Clients turned away because there were too many.
    pub refused: Cell<u64>,
    /// Clients cut off before they had chosen an export because others came.
    pub crowded_out: Cell<u64>,
    /// A connection has ended.
    pub gone: Signal,
    /// The daemon is to drain and stop.
    pub stop: Cancellation,
    /// Clients are not to be waited for any longer.
    pub hurry: Cancellation,
    /// What was answered before the stop is durable.
    pub durable: Cell<bool>,
}

impl State {
    /// Asks the daemon to drain and stop.
    pub fn ask_to_stop(&self, by: &str) {
        if !self.stop.is_said() {
            tracing::info!(by, "stopping");
            self.stop.say();
        }
    }

    /// A connection that is listed as long as the result lives.
    pub fn list(self: &Rc<Self>, connection: &Rc<Connection>) -> Listed {
        self.connections.borrow_mut().insert(connection.id, Rc::clone(connection));
        Listed { state: Rc::clone(self), id: connection.id }
    }

    /// The connections there are now.
    pub fn connections(&self) -> Vec<Rc<Connection>> {
        self.connections.borrow().values().cloned().collect()
    }
}

/// An entry in the list of connections; dropping it takes it out.
#[must_use = "dropping it takes the connection out of the list"]
pub struct Listed {
    state: Rc<State>,
    id: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.state.connections.borrow_mut().remove(&self.id);
        self.state.gone.notify();
    }
}
