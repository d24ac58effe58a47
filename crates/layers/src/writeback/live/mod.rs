//! An open group: its devices, what it knows, and the tasks that work for it.

mod append;
mod close;
mod destage;
mod durable;
pub(super) mod io;
mod look;
mod open;
mod redo_ring;
mod replay;
mod scan;
mod state;
mod superblocks;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Signal};
use fathom_volume::{Error, ErrorKind, Handle, Pool, Result};

pub use open::{Loss, Member, Parts, most_payload, open};
pub use state::Counts;

use super::codec::Uuid;
use super::mutation::{Mutation, mutated};
use super::plan::Limits;
use super::superblock::{CacheSuper, OriginSuper};
use super::{Durability, Mode, Settings};
use destage::RingState;
use io::Bell;
use redo_ring::RedoRing;
use state::State;

/// An open group.
pub struct Live {
    pub(super) context: Context,
    pool: Pool,
    pub(super) name: String,
    pub(super) settings: Settings,
    origins: Rc<Vec<Handle>>,
    cache: Handle,
    ring: RedoRing,
    origin_at: [u64; 2],
    cache_at: [u64; 2],
    uuid: Uuid,
    incarnation: u64,
    origin_super: RefCell<OriginSuper>,
    cache_super: Cell<CacheSuper>,
    ring_state: Cell<RingState>,
    pub(super) state: RefCell<State>,
    /// What an accepted loss cost.
    pub(super) loss: Option<Loss>,
    /// Bytes of payload that a record takes at most.
    most_payload: u64,
    batch_limits: Limits,
    dirty_limit: u64,
    least_dirty_limit: u64,
    destage_from: u64,
    /// Writes wait for a record.
    appended: Bell,
    /// A record reached the device.
    recorded: Signal,
    /// Space of the log was given back.
    room: Signal,
    /// A batch is in place.
    progressed: Signal,
    /// A batch is committed.
    committed: Signal,
    /// A batch waits to be put in place.
    apply_due: Signal,
    /// It may be time for a batch.
    destage_due: Signal,
    /// A flush is wanted.
    flush_due: Signal,
    /// A flush is done.
    flushed: Signal,
}

impl Live {
    /// The fence, if there is one.
    fn check_open(&self, state: &State) -> Result<()> {
        match &state.fence {
            Some(error) if !mutated(Mutation::FenceIgnored) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Ends all service: nothing succeeds until the group is opened anew. The first reason counts.
    pub(super) fn fence(&self, why: &Error) {
        let acks = {
            let mut state = self.state.borrow_mut();
            let message = format!(
                "group `{}` is fenced: {why}. Nothing more is accepted; mend the cause and open the volume anew",
                self.name
            );
            state.fence.get_or_insert(Error::new(ErrorKind::Fenced, message));
            let mut acks: Vec<_> =
                state.in_flight.iter_mut().flat_map(|flight| std::mem::take(&mut flight.acks)).collect();
            acks.extend(state.waiting.drain(..).map(|waiting| waiting.ack));
            acks
        };
        let fenced = self.state.borrow().fence.clone().expect("just set");
        acks.iter().for_each(|ack| ack.give(Err(fenced.clone())));
        self.appended.ring_all();
        for signal in [
            &self.recorded,
            &self.room,
            &self.progressed,
            &self.committed,
            &self.apply_due,
            &self.destage_due,
            &self.flush_due,
            &self.flushed,
        ] {
            signal.notify();
        }
    }

    /// How long ago the oldest write was made that the backing volumes lack, ns.
    pub(super) fn lag(&self) -> Nanos {
        self.state.borrow().oldest().map_or(0, |born| self.context.now() - born)
    }

    /// Starts the tasks that work for the group.
    fn start(self: &Rc<Self>) {
        for _ in 0..self.settings.log_depth {
            self.context.spawn(Rc::clone(self).write_records());
        }
        self.context.spawn(Rc::clone(self).serve_flushes());
        self.context.spawn(Rc::clone(self).commit_batches());
        self.context.spawn(Rc::clone(self).apply_batches());
    }
}
