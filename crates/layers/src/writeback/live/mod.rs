//! An open group: its devices, what it knows, and the tasks that work for it.

mod alone;
mod close;
mod copies_apart;
mod create;
mod destage;
mod durable;
mod fetch;
mod found_log;
mod in_place;
pub(super) mod io;
mod legs;
mod marks;
mod member_marks;
mod misplaced;
mod older;
mod open;
mod opening;
mod other_moment;
mod owner;
mod pacing;
mod preconditions;
mod read;
mod read_cache;
mod redo_copy;
mod redo_ring;
mod refusals;
mod replay;
mod samples;
mod scan;
mod scrub;
mod sectors;
mod shape;
mod state;
mod superblocks;
mod task_group;
mod verify;
mod work;
mod write;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Signal};
use fathom_volume::{Error, ErrorKind, Handle, Pool, Result};

pub use alone::{Undrained, undrained};
pub use legs::{LegStatus, Standing};
pub use open::{foresee, most_payload, open};
pub use opening::{Member, Parts};
pub use state::Counts;
pub use verify::check;

use super::lines::Lines;
use super::loss::{Bounds, Loss};
use super::pace::Clock;
use super::plan::Limits;
use super::superblock::{CacheSuper, Life, OriginSuper};
use super::{Durability, Mode, Settings};
use crate::codec::{BLOCK, Uuid};
use crate::share::{Gate, Rules};
use destage::RingState;
use legs::Legs;
use member_marks::MemberMarks;
use redo_ring::RedoRing;
use state::State;

/// Doors to these backing volumes, and to the one with the redo ring.
fn gates(context: &Context, origins: &[Handle], ring: &Handle) -> (Vec<Gate>, Gate) {
    let rules = Rules::default();
    let gates: Vec<Gate> = origins.iter().map(|_| Gate::new(context, rules)).collect();
    let same = origins.iter().position(|origin| origin.name() == ring.name());
    let ring_gate = same.map_or_else(|| Gate::new(context, rules), |index| gates[index].clone());
    (gates, ring_gate)
}

/// An open group.
pub struct Live {
    pub(super) context: Context,
    pool: Pool,
    pub(super) name: String,
    pub(super) settings: Settings,
    origins: Rc<Vec<Handle>>,
    member_marks: MemberMarks,
    pub(super) legs: Legs,
    ring: RedoRing,
    /// When it was opened, ns.
    pub(super) opened_at: Nanos,
    /// The doors to the backing volumes, and to the redo ring's.
    pub(super) gates: Vec<Gate>,
    ring_gate: Gate,
    /// When the last batch began, and how long the log's device and the redo ring's had been busy until then, ns.
    seen_busy: Cell<[Nanos; 3]>,
    redo_clock: RefCell<Clock>,
    apply_clock: RefCell<Clock>,
    origin_at: [u64; 2],
    cache_at: [u64; 2],
    uuid: Uuid,
    incarnation: u64,
    life: Life,
    origin_super: RefCell<OriginSuper>,
    cache_super: Cell<CacheSuper>,
    /// Whose turn it is to write the cache devices' superblocks; whoever needs both turns takes this one first.
    cache_turn: io::Turn,
    /// Whose turn it is to write the backing side's superblock, which may take long: marks do not wait for it.
    origin_turn: io::Turn,
    ring_state: Cell<RingState>,
    /// The read cache's book, where its lines begin, and how many are being filled.
    lines: RefCell<Lines>,
    lines_at: u64,
    fills: Cell<usize>,
    pub(super) state: RefCell<State>,
    /// What an accepted loss cost.
    pub(super) loss: Option<Loss>,
    /// Bytes of payload that a record takes at most.
    most_payload: u64,
    batch_limits: Limits,
    dirty_limit: u64,
    /// Writes wait for a record.
    appended: Signal,
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
    /// Somebody waits for a batch.
    hurry: Signal,
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
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Ends all service: nothing succeeds until the group is reopened. The first reason counts.
    pub(super) fn fence(&self, why: &Error) {
        let acks = {
            let mut state = self.state.borrow_mut();
            let message = format!(
                "group `{}` is fenced: {why}. Nothing more is accepted; remove the cause and open the volume again",
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
        self.appended.notify();
        for signal in [
            &self.recorded,
            &self.room,
            &self.progressed,
            &self.committed,
            &self.apply_due,
            &self.hurry,
            &self.destage_due,
            &self.flush_due,
            &self.flushed,
        ] {
            signal.notify();
        }
    }

    /// What the cache can hold beyond the backing volumes at most, with what an incarnation before this one left over.
    fn bounds(&self, left_over: Bounds) -> Bounds {
        let longest_wait = self.settings.lag_max + super::pressure::STEP;
        let state = self.state.borrow();
        Bounds {
            // One write is let in whatever its length when nothing is dirty.
            bytes: (self.dirty_limit + self.most_payload + BLOCK as u64).max(state.dirty()),
            age: longest_wait.saturating_add(left_over.age),
        }
    }

    /// What it cost to continue without a cache, the last time that was accepted.
    pub(super) fn last_loss(&self) -> Option<Loss> {
        Some(self.origin_super.borrow().loss).filter(|loss| loss.incarnation != 0)
    }

    /// How long ago the oldest write was made that the backing volumes lack, ns.
    pub(super) fn lag(&self) -> Nanos {
        self.lag_of(&self.state.borrow())
    }

    fn lag_of(&self, state: &State) -> Nanos {
        state.oldest().map_or(0, |born| self.context.now() - born)
    }

    /// Starts the tasks that work for the group.
    fn start(self: &Rc<Self>) {
        for _ in 0..self.settings.log_depth {
            self.context.spawn(Rc::clone(self).write_records());
        }
        self.context.spawn(Rc::clone(self).serve_flushes());
        self.context.spawn(Rc::clone(self).commit_batches());
        self.context.spawn(Rc::clone(self).apply_batches());
        self.context.spawn(Rc::clone(self).keep_marks());
        self.context.spawn(Rc::clone(self).scrub());
        let end = self.state.borrow().space.head;
        self.context.spawn(Rc::clone(self).bring_back_legs(end));
    }
}
