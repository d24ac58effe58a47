//! The cache devices of a group: one, or two that hold the same log (durability `cache-mirrored`).
//!
//! A leg is its own small thing here and not a `mirror` below the cache, because the group has what a mirror must keep
//! for itself: a place outside of the legs that says which of them count (the superblock on the backing side), an order
//! (the chain of records) that tells equal legs from different ones, and data that is short-lived, so that a leg comes
//! back by a copy of the dirty log instead of a map of regions.
//!
//! The rule: the superblock on the backing side names the legs that count. A leg that missed a write is struck out there,
//! durably, before that write is answered; so whatever was answered is on every leg that is named, and of a leg that is
//! not named nothing is read but what it had when it was last named. A leg that returns takes part in all writes from the
//! open on, is brought the dirty log in the background, and is named when it has all of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_volume::{Buf, Class, Error, ErrorKind, Handle, Request, Result};

use crate::codec::BLOCK;
use crate::share::Gate;
use crate::side_by_side::side_by_side;
use crate::writeback::superblock::CacheSuper;

use super::superblocks::write;
use super::{Live, io};

/// Bytes copied to a returning leg at a time.
const COPY: u64 = 1 << 20;

/// What a leg is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has all of the log, and the backing side names it.
    Current,
    /// It takes part in writes and lacks older ones: nothing is read from it but what it had when the group was opened.
    Returning,
    /// It missed writes, or failed: it is left alone until the next open.
    Behind,
}

impl Standing {
    /// The word for it in status and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Returning => "returning",
            Self::Behind => "behind",
        }
    }
}

/// What a group tells of one of its cache devices.
#[derive(Debug, Clone)]
pub struct LegStatus {
    /// The name of its volume.
    pub name: String,
    /// What it is good for.
    pub standing: Standing,
    /// Why it is behind; empty unless it is.
    pub why: String,
}

/// One cache device.
pub struct Leg {
    pub volume: Handle,
    /// The door to it: scrubs and copies wait there for users.
    pub gate: Gate,
    /// What the backing side names it by; a new one each time it begins to count.
    pub id: Cell<u64>,
    pub standing: Cell<Standing>,
    /// Why it is behind; empty unless it is.
    pub why: RefCell<String>,
    /// Position before which it had the same log as the others when the group was opened.
    pub same_before: u64,
}

impl Leg {
    /// Leaves it alone from here on; false if it was behind before, whose reason stands.
    fn fall_behind(&self, why: &Error) -> bool {
        let falls = self.standing.replace(Standing::Behind) != Standing::Behind;
        if falls {
            self.why.replace(why.to_string());
        }
        falls
    }

    /// Fills a buffer, when it is the turn of that class.
    pub async fn read(&self, class: Class, at: u64, into: &Buf) -> Result<()> {
        let pass = self.gate.pass(class, into.len() as u64, false).await;
        io::read(&self.volume, at, into).await?;
        pass.end();
        Ok(())
    }
}

/// The cache devices of an open group.
pub struct Legs(Vec<Leg>);

impl Legs {
    pub fn new(legs: Vec<Leg>) -> Self {
        Self(legs)
    }

    pub fn all(&self) -> &[Leg] {
        &self.0
    }

    fn that_are(&self, chosen: impl Fn(Standing) -> bool) -> impl Iterator<Item = &Leg> {
        self.0.iter().filter(move |leg| chosen(leg.standing.get()))
    }

    /// Those that count.
    pub fn current(&self) -> impl Iterator<Item = &Leg> {
        self.that_are(|standing| standing == Standing::Current)
    }

    /// Those that count, as the backing side names them.
    pub fn ids(&self) -> [u64; 2] {
        let mut ids = [0; 2];
        self.current().zip(&mut ids).for_each(|(leg, id)| *id = leg.id.get());
        ids
    }

    /// Where to read what ends at a position from, best first, by place: the legs take turns, segment by segment.
    pub fn to_read(&self, turn: u64, end: u64) -> Vec<usize> {
        let has_it = |leg: &usize| match self.0[*leg].standing.get() {
            Standing::Current => true,
            Standing::Returning => end <= self.0[*leg].same_before,
            Standing::Behind => false,
        };
        let mut found: Vec<usize> = (0..self.0.len()).filter(has_it).collect();
        if !found.is_empty() {
            let first = turn % found.len() as u64;
            found.rotate_left(first as usize);
        }
        found
    }

    /// The name of the first, for messages.
    pub fn name(&self) -> &str {
        self.0[0].volume.name()
    }

    /// Does something on every leg that takes part in writes; those that failed, with why.
    async fn on_each<'a, F: Future<Output = Result<()>>>(
        &'a self,
        act: impl Fn(&'a Leg) -> F,
    ) -> Vec<(&'a Leg, Error)> {
        let failed = RefCell::new(Vec::new());
        let acts = self.that_are(|standing| standing != Standing::Behind).map(|leg| {
            let (answer, failed) = (act(leg), &failed);
            Box::pin(async move {
                if let Err(error) = answer.await {
                    failed.borrow_mut().push((leg, error));
                }
                Ok(())
            })
        });
        let _ = side_by_side(acts.collect()).await;
        failed.into_inner()
    }
}

impl Live {
    /// Writes to the log on every leg; when it returns, each leg that counts has it.
    pub async fn write_log(&self, at: u64, buf: &Buf) -> Result<()> {
        let failed = self.legs.on_each(|leg| async move {
            let pass = leg.gate.user(buf.len() as u64, true);
            io::write(&leg.volume, at, buf, false).await?;
            pass.end();
            Ok(())
        });
        self.without(failed.await).await
    }

    /// Flushes every leg.
    pub async fn flush_legs(&self) -> Result<()> {
        let failed = self.legs.on_each(|leg| leg.volume.flush(Request::flush()));
        self.without(failed.await).await
    }

    /// Goes on without legs that failed, if one is left that counts; returns when the backing side says so.
    async fn without(&self, failed: Vec<(&Leg, Error)>) -> Result<()> {
        if failed.is_empty() {
            return Ok(());
        }
        self.leave_behind(&failed)?;
        // Even if another failure is about to say the same: this answer waits until it stands.
        self.name_legs().await
    }

    /// Leaves legs out that failed; the first error if none would be left that counts.
    fn leave_behind(&self, failed: &[(&Leg, Error)]) -> Result<()> {
        let is_failed = |leg: &Leg| failed.iter().any(|(other, _)| std::ptr::eq(*other, leg));
        if self.legs.current().all(is_failed) {
            return Err(failed[0].1.clone());
        }
        for (leg, error) in failed {
            self.state.borrow_mut().counts.legs_lost += u64::from(leg.fall_behind(error));
        }
        Ok(())
    }

    /// Has the backing side name the legs that count now.
    async fn name_legs(&self) -> Result<()> {
        let _turn = self.origin_turn.take().await;
        let ids = self.legs.ids();
        if self.origin_super.borrow().legs == ids {
            return Ok(());
        }
        let mut origin = self.origin_super.borrow().clone();
        origin.legs = ids;
        self.write_origin_super(origin).await
    }

    /// Writes the superblock of every leg that counts. The caller has the turn.
    pub async fn write_leg_supers(&self, next: &CacheSuper) -> Result<()> {
        let mut failed = Vec::new();
        for leg in self.legs.current() {
            if let Err(error) = self.write_leg_super(leg, *next).await {
                failed.push((leg, error));
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        self.leave_behind(&failed)?;
        let _turn = self.origin_turn.take().await;
        let mut origin = self.origin_super.borrow().clone();
        origin.legs = self.legs.ids();
        self.write_origin_super(origin).await
    }

    async fn write_leg_super(&self, leg: &Leg, next: CacheSuper) -> Result<()> {
        let next = CacheSuper { leg: leg.id.get(), ..next };
        write(&self.pool, &leg.volume, self.cache_at, next.counter, |bytes| next.encode(bytes)).await
    }

    /// Says on returning legs whose they are, before a record is written there: of one that was blank, a power cut would leave records
    /// that nothing tells from foreign data. Their numbers are not among those that count.
    pub async fn claim_returning(&self) {
        let _turn = self.cache_turn.take().await;
        let next = self.cache_super.get();
        for leg in self.legs.that_are(|standing| standing == Standing::Returning) {
            if let Err(error) = self.write_leg_super(leg, next).await {
                leg.fall_behind(&error);
            }
        }
    }

    /// Cuts off what a returning leg holds behind the end of the log, before anything is written there: a record that only
    /// this leg had when the power failed follows the same chain, and would be found again once the leg counts.
    pub async fn cut_off_returning(&self) {
        let ends: Vec<u64> = {
            let space = self.state.borrow().space;
            let ends = [Some(space.head), space.segment_behind(space.head)];
            ends.into_iter()
                .flatten()
                .filter(|at| space.has_room(*at, BLOCK as u64))
                .map(|at| space.physical(at))
                .collect()
        };
        for leg in self.legs.that_are(|standing| standing == Standing::Returning) {
            for at in &ends {
                let zeroes = self.pool.get(BLOCK);
                zeroes.with_mut(|bytes| bytes.fill(0));
                if let Err(error) = io::write(&leg.volume, *at, &zeroes, false).await {
                    leg.fall_behind(&error);
                }
            }
        }
    }

    /// Brings returning legs the dirty log, and lets them count. Records from position `end` on they get as they are made.
    pub async fn bring_back_legs(self: Rc<Self>, end: u64) {
        for index in 0..self.legs.all().len() {
            let leg = &self.legs.all()[index];
            if leg.standing.get() != Standing::Returning {
                continue;
            }
            let copied = self.copy_log(leg, end).await;
            self.state.borrow_mut().space.pinned = None;
            self.room.notify();
            // A leg that fails while it is copied to is behind.
            if let Err(error) = copied {
                leg.fall_behind(&error);
            } else if let Err(error) = self.let_count(leg).await {
                // What the backing side says of the leg is not known: no write may be answered that it might miss.
                self.fence(&error.at("counting a cache device"));
            }
        }
    }

    /// Copies what is dirty and was written before the leg took part in writes. Space that is being copied is not given
    /// to new records: the copy would otherwise lie over them.
    async fn copy_log(&self, leg: &Leg, end: u64) -> Result<()> {
        // From where an open would scan: what the superblock does not know to be in place yet is in the log too.
        let mut position = self.cache_super.get().tail.max(leg.same_before);
        while position < end {
            let (from, length) = {
                let mut state = self.state.borrow_mut();
                self.check_open(&state)?;
                position = position.max(self.cache_super.get().tail);
                state.copying = end.saturating_sub(position);
                if position >= end {
                    break;
                }
                state.space.pinned = Some(position);
                let to_end = state.space.length - position % state.space.length;
                (state.space.physical(position), COPY.min(end - position).min(to_end))
            };
            let buf = self.pool.get(length as usize);
            let mut answer = Err(Error::new(ErrorKind::Gone, "no cache device counts"));
            for source in self.legs.to_read(0, u64::MAX) {
                answer = self.legs.all()[source].read(Class::Resync, from, &buf).await;
                if answer.is_ok() {
                    break;
                }
            }
            answer?;
            let pass = leg.gate.pass(Class::Resync, length, true).await;
            io::write(&leg.volume, from, &buf, false).await?;
            pass.end();
            position += length;
            self.room.notify();
        }
        self.state.borrow_mut().copying = 0;
        leg.volume.flush(Request::flush()).await
    }

    /// From here on the leg counts: its superblocks first, then the backing side, whose errors are returned.
    async fn let_count(&self, leg: &Leg) -> Result<()> {
        let _turn = self.cache_turn.take().await;
        // Whatever the leg's superblocks said before, both copies are written over.
        let next = self.cache_super.get();
        for older in [1, 0] {
            let counter = next.counter - older;
            if let Err(error) = self.write_leg_super(leg, CacheSuper { counter, ..next }).await {
                leg.fall_behind(&error);
            }
        }
        // It may have missed a write meanwhile.
        if leg.standing.get() != Standing::Returning {
            return Ok(());
        }
        leg.standing.set(Standing::Current);
        let _turn = self.origin_turn.take().await;
        let mut origin = self.origin_super.borrow().clone();
        origin.legs = self.legs.ids();
        self.write_origin_super(origin).await
    }

    /// Writes bytes that one leg gave whole over what others hold at that position of the log. Nobody waits for it: a
    /// repair that is not made, because another one or a copy is under way, is made when the damage is met again.
    pub async fn repair(self: Rc<Self>, position: u64, whole: Buf, damaged: Vec<usize>) {
        let at = {
            let mut state = self.state.borrow_mut();
            let is_gone = state.kept.front().is_none_or(|oldest| position < oldest.position);
            if is_gone || state.space.pinned.is_some() {
                return;
            }
            // Otherwise the repair could lie over a new record.
            state.space.pinned = Some(position);
            state.counts.repaired_bytes += damaged.len() as u64 * whole.len() as u64;
            state.space.physical(position)
        };
        let mut failed = Vec::new();
        for leg in damaged {
            let leg = &self.legs.all()[leg];
            if let Err(error) = io::write(&leg.volume, at, &whole, false).await {
                failed.push((leg, error));
            }
        }
        self.state.borrow_mut().space.pinned = None;
        self.room.notify();
        if let Err(error) = self.without(failed).await {
            self.fence(&error.at("repairing a cache device"));
        }
    }

    /// What each leg is good for: one counts when the backing side says so, not before.
    pub fn leg_states(&self) -> Vec<LegStatus> {
        let named = self.origin_super.borrow().legs;
        let status = |leg: &Leg| LegStatus {
            name: leg.volume.name().to_owned(),
            standing: match leg.standing.get() {
                Standing::Current if !named.contains(&leg.id.get()) => Standing::Returning,
                standing => standing,
            },
            why: leg.why.borrow().clone(),
        };
        self.legs.all().iter().map(status).collect()
    }
}

/// A leg's number, of which 0 means none.
pub fn new_id(mut random: fathom_runtime::Random) -> u64 {
    random.word() | 1
}

const _: () = assert!(COPY.is_multiple_of(BLOCK as u64));
