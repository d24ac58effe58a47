//! Requests of an open pool.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Random, Semaphore, Signal, until};
use fathom_volume::{Buf, Handle, Pool, Request, Result};

use super::config::Settings;
use super::map::{Map, PhysicalExtent};
use super::metadata::{Layout, Part};
use super::open::NOT_WRITTEN;
use super::parts::Parts;
use super::traffic::Traffic;
use crate::change::Change;
use crate::codec::Uuid;
use crate::range_lock::RangeLock;
use crate::share::{Gate, ended};
use crate::side_by_side::side_by_side;

/// One member.
pub struct Member {
    /// The volume.
    pub handle: Handle,
    /// Its door: requests pass it while extents move.
    pub gate: Gate,
}

/// What a pool counts since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Extents that have moved.
    pub moved: u64,
    /// Extents that are left to move.
    pub left: u64,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Moves that were given up, and tries to write the map that failed.
    pub errors: u64,
}

/// An open pool.
pub struct Live {
    pub(super) context: Context,
    pub(super) pool: Pool,
    pub(super) settings: Settings,
    pub(super) layout: Layout,
    pub(super) members: Vec<Member>,
    /// Bytes of the longest request that every member takes.
    pub(super) longest: u64,
    /// Where the moves are counted.
    pub(super) tap: Handle,
    pub(super) uuid: Uuid,
    pub(super) map: RefCell<Map>,
    /// By block of the map: the latest version that was given to the first member.
    pub(super) versions: RefCell<Vec<u64>>,
    pub(super) writing_map: Semaphore,
    /// Of a pool for reading that a start would make: what is blank from then on.
    will_be_blank: Vec<Range<u64>>,
    /// Whether extents move. It never becomes true again: members are added only when the pool is reopened.
    pub(super) moves: Cell<bool>,
    pub(super) traffic: RefCell<Traffic>,
    pub(super) locks: RangeLock,
    /// An extent is quiet or released, or a move has ended.
    pub(super) changed: Signal,
    pub(super) counts: Cell<Counts>,
    pub(super) random: RefCell<Random>,
    /// When the next piece may go, by `resync_limit`.
    pub(super) next_piece: Cell<Nanos>,
}

/// A request under way to an extent.
struct RequestGuard<'a> {
    live: &'a Live,
    extent: usize,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if self.live.traffic.borrow_mut().leave(self.extent) {
            self.live.changed.notify();
        }
    }
}

impl Live {
    pub(super) fn new(parts: Parts, uuid: Uuid, map: Map, versions: Vec<u64>) -> Self {
        let gate = || Gate::new(&parts.context, parts.settings.rules);
        let members = parts.members.into_iter().map(|handle| Member { handle, gate: gate() }).collect();
        let left = if parts.settings.rebalance && !parts.for_reading { map.moves_left() } else { 0 };
        let is_to_be_made = versions.first() == Some(&NOT_WRITTEN);
        let extents = if left > 0 { parts.layout.extents } else { 0 };
        Self {
            random: RefCell::new(parts.context.random(&format!("pool {}", parts.name))),
            context: parts.context,
            pool: parts.pool,
            settings: parts.settings,
            layout: parts.layout,
            members,
            longest: parts.longest,
            tap: parts.tap,
            uuid,
            map: RefCell::new(map),
            versions: RefCell::new(versions),
            writing_map: Semaphore::new(1),
            will_be_blank: if is_to_be_made { parts.layout.ends().to_vec() } else { Vec::new() },
            moves: Cell::new(left > 0),
            traffic: RefCell::new(Traffic::new(extents)),
            locks: RangeLock::default(),
            changed: Signal::default(),
            counts: Cell::new(Counts { left, ..Counts::default() }),
            next_piece: Cell::new(0),
        }
    }

    /// Whether a start would make it.
    pub(super) fn is_to_be_made(&self) -> bool {
        !self.will_be_blank.is_empty()
    }

    /// Bytes that are left to move.
    pub(super) fn left_bytes(&self) -> u64 {
        (self.counts.get().left * self.layout.extent).min(self.layout.size)
    }

    /// The one part of a request that takes no more, or all.
    fn parts(&self, request: &Request, longest: u64) -> std::result::Result<Part, Vec<Part>> {
        let mut parts = self.layout.parts(request.offset, request.length, longest);
        let first = parts.next();
        first
            .filter(|part| part.length == request.length)
            .ok_or_else(|| first.into_iter().chain(parts).collect())
    }

    /// Waits until the extent is not held; then it is not held before the guard is dropped. None where nothing moves.
    async fn under_way(&self, extent: usize) -> Option<RequestGuard<'_>> {
        if !self.moves.get() {
            return None;
        }
        until(&self.changed, || self.traffic.borrow_mut().enter(extent).then_some(())).await;
        Some(RequestGuard { live: self, extent })
    }

    /// Reads from where the extents are.
    ///
    /// # Errors
    /// The first that a member gives.
    pub(super) async fn read(&self, request: &Request, into: &Buf) -> Result<()> {
        self.read_extents(request, into).await?;
        for blank in &self.will_be_blank {
            let (from, to) = (blank.start.max(request.offset), blank.end.min(request.end()));
            if from < to {
                let part = into.slice((from - request.offset) as usize..(to - request.offset) as usize);
                part.with_mut(|bytes| bytes.fill(0));
            }
        }
        Ok(())
    }

    async fn read_extents(&self, request: &Request, into: &Buf) -> Result<()> {
        let parts = match self.parts(request, self.longest) {
            Ok(part) => return self.read_part(request, part, into.clone()).await,
            Err(parts) => parts,
        };
        let reads =
            parts.into_iter().map(|part| Box::pin(self.read_part(request, part, into.slice(part.range()))));
        side_by_side(reads.collect()).await
    }

    async fn read_part(&self, request: &Request, part: Part, into: Buf) -> Result<()> {
        let _under_way = self.under_way(part.extent).await;
        let place = self.map.borrow().place(part.extent);
        self.read_place(place, part, request, into).await
    }

    /// Reads part of an extent from a slot, in its turn.
    pub(super) async fn read_place(
        &self,
        place: PhysicalExtent,
        part: Part,
        request: &Request,
        into: Buf,
    ) -> Result<()> {
        let member = &self.members[place.member];
        let own = || request.part(self.layout.offset(place, part.within), part.length);
        if !self.moves.get() {
            return member.handle.read(own(), into).await;
        }
        let pass = member.gate.pass(request.class, part.length, false).await;
        let answer = member.handle.read(own(), into).await;
        ended(Some(pass), &answer);
        answer
    }

    /// Writes, trims or zeroes.
    ///
    /// # Errors
    /// The first that a member gives.
    pub(super) async fn change(self: Rc<Self>, request: &Request, change: Change) -> Result<()> {
        if !self.moves.get() {
            return self.change_parts(request, &change).await;
        }
        // A task of its own: a request that is given up half-way must still reach both slots of an extent, and no slot
        // may be given away while a write to it is on its way.
        let own = request.part(request.offset, request.length);
        let context = self.context.clone();
        context.spawn(async move { self.change_parts(&own, &change).await }).await
    }

    async fn change_parts(&self, request: &Request, change: &Change) -> Result<()> {
        let longest = if matches!(change, Change::Write(_)) { self.longest } else { u64::MAX };
        let parts = match self.parts(request, longest) {
            Ok(part) => return self.change_part(request, part, change.clone()).await,
            Err(parts) => parts,
        };
        let changes = parts
            .into_iter()
            .map(|part| Box::pin(self.change_part(request, part, change.part(part.range()))));
        side_by_side(changes.collect()).await
    }

    async fn change_part(&self, request: &Request, part: Part, change: Change) -> Result<()> {
        let _under_way = self.under_way(part.extent).await;
        let first = self.map.borrow().place(part.extent);
        if !self.moves.get() || !self.traffic.borrow().has_second(part.extent) {
            return self.change_place(first, part, request, &change).await;
        }
        let start = part.extent as u64 * self.layout.extent + part.within;
        // The copy of this range waits, or has ended; and both slots see overlapping writes in one order.
        let _lock = self.locks.lock(start..start + part.length).await;
        let second = self.traffic.borrow().second(part.extent).filter(|second| second.takes(part.within));
        let Some(second) = second else { return self.change_place(first, part, request, &change).await };
        let to = |place| Box::pin(self.change_place(place, part, request, &change));
        let answers = fathom_runtime::join(vec![to(first), to(second.place)]).await;
        if answers.iter().any(|(_, answer)| answer.is_err()) {
            self.traffic.borrow_mut().note(part.extent, |second| second.failed = true);
        }
        let counts = |place: usize| place == 0 || second.uncertain;
        answers.into_iter().filter(|(place, _)| counts(*place)).try_for_each(|(_, answer)| answer)
    }

    /// Changes part of an extent at a slot, in its turn.
    pub(super) async fn change_place(
        &self,
        place: PhysicalExtent,
        part: Part,
        request: &Request,
        change: &Change,
    ) -> Result<()> {
        let member = &self.members[place.member];
        let own = || request.part(self.layout.offset(place, part.within), part.length);
        if !self.moves.get() {
            return change.ask(&member.handle, own()).await;
        }
        let pass = member.gate.pass(request.class, change.bytes(&own()), true).await;
        let answer = change.ask(&member.handle, own()).await;
        ended(Some(pass), &answer);
        answer
    }

    /// Flushes every member.
    ///
    /// # Errors
    /// The first that a member gives.
    pub(super) async fn flush(&self, request: &Request) -> Result<()> {
        side_by_side(self.members.iter().map(|member| member.handle.flush(request.flush_for())).collect())
            .await
    }
}
