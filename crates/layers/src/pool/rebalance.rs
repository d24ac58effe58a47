//! Moving extents from full members to emptier ones, beside the users.

use std::rc::Rc;

use fathom_runtime::{SECOND, until};
use fathom_volume::{Buf, Class, Request, Result};

use super::live::{Counts, Live};
use super::map::{Claim, PhysicalExtent};
use super::metadata::{Layout, PLACES_PER_BLOCK, encode_places};
use crate::change::Change;
use crate::codec::BLOCK;
use crate::tap::Carrier;

/// An extent to which no request goes.
struct Held<'a> {
    live: &'a Live,
    extent: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.live.traffic.borrow_mut().release(self.extent);
        self.live.changed.notify();
    }
}

impl Live {
    /// Starts the tasks that move extents, if there is anything to move.
    pub(super) fn start(self: &Rc<Self>) {
        if self.moves.get() {
            for _ in 0..self.settings.resync_depth {
                self.context.spawn(Rc::clone(self).rebalance());
            }
        }
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Moves one extent after the other until the members are equally full.
    async fn rebalance(self: Rc<Self>) {
        while self.moves.get() {
            let wait = self.changed.wait();
            let claim = self.map.borrow_mut().begin(&mut self.random.borrow_mut());
            let Some(claim) = claim else {
                if self.map.borrow().is_moving() {
                    // It may fail, and leave something to do.
                    wait.await;
                    continue;
                }
                self.moves.set(false);
                self.count(|counts| counts.left = 0);
                self.changed.notify();
                return;
            };
            if self.move_extent(claim).await {
                self.count(|counts| {
                    counts.moved += 1;
                    counts.left = counts.left.saturating_sub(1);
                });
                self.changed.notify();
            } else {
                self.count(|counts| counts.errors += 1);
                self.changed.notify();
                self.context.sleep(SECOND).await;
            }
        }
    }

    /// Lets no request to an extent begin, and waits for those under way.
    async fn hold(&self, extent: usize) -> Held<'_> {
        self.traffic.borrow_mut().hold(extent);
        let held = Held { live: self, extent };
        until(&self.changed, || self.traffic.borrow().is_quiet(extent).then_some(())).await;
        held
    }

    /// Moves an extent; false if it stays where it is.
    async fn move_extent(&self, claim: Claim) -> bool {
        let held = self.hold(claim.extent).await;
        self.traffic.borrow_mut().begin(claim.extent, claim.to);
        drop(held);
        if !self.copy(claim.extent).await {
            self.fail(claim.extent);
        }
        loop {
            let held = self.hold(claim.extent).await;
            if let Some(moved) = self.switch(claim).await {
                self.traffic.borrow_mut().end(claim.extent);
                let mut map = self.map.borrow_mut();
                if moved {
                    map.finish(claim)
                } else {
                    map.abandon(claim)
                }
                return moved;
            }
            drop(held);
            self.count(|counts| counts.errors += 1);
            self.context.sleep(SECOND).await;
        }
    }

    fn fail(&self, extent: usize) {
        self.traffic.borrow_mut().note(extent, |second| second.failed = true);
    }

    fn has_failed(&self, extent: usize) -> bool {
        self.traffic.borrow().second(extent).is_none_or(|second| second.failed)
    }

    /// Copies an extent to its second slot, piece by piece; false if that failed.
    async fn copy(&self, extent: usize) -> bool {
        let (start, shown) = (extent as u64 * self.layout.extent, self.layout.shown(extent));
        for within in (0..shown).step_by(self.settings.resync_io as usize) {
            if self.has_failed(extent) {
                return false;
            }
            let length = self.settings.resync_io.min(shown - within);
            self.pace(length).await;
            let offset = start + within;
            // Users' writes to this piece wait, or have ended: what is read is what is written.
            let _lock = self.locks.lock(offset..offset + length).await;
            let piece = Request::new(offset, length).on_behalf_of(Class::Resync);
            if self.tap.write(piece, self.pool.get(length as usize)).await.is_err() {
                return false;
            }
            self.traffic.borrow_mut().note(extent, |second| second.copied = within + length);
            self.count(|counts| counts.bytes += length);
        }
        true
    }

    /// Waits for a piece's turn by the limit.
    async fn pace(&self, length: u64) {
        let Some(limit) = self.settings.resync_limit else { return };
        let at = self.next_piece.get().max(self.context.now());
        self.next_piece.set(at + (length as f64 * 1e9 / limit) as u64);
        self.context.sleep_until(at).await;
    }

    /// Makes the second slot of a held extent count, unless something failed: whether it does now. None if nobody knows what
    /// the map on the first member says.
    async fn switch(&self, claim: Claim) -> Option<bool> {
        let flush = Request::flush().on_behalf_of(Class::Resync);
        if !self.has_failed(claim.extent) && self.members[claim.to.member].handle.flush(flush).await.is_err()
        {
            self.fail(claim.extent);
        }
        let failed = self.has_failed(claim.extent);
        let uncertain = self.traffic.borrow().second(claim.extent).is_some_and(|second| second.uncertain);
        if failed && !uncertain {
            return Some(false);
        }
        let place = if failed { claim.from } else { claim.to };
        if self.write_map(claim.extent, place).await.is_ok() {
            return Some(!failed);
        }
        self.traffic.borrow_mut().note(claim.extent, |second| second.uncertain = true);
        None
    }

    /// Writes the block of the map that has the extent, with this slot for it: the first copy, and then the second one, so that
    /// one of them is whole at any time.
    async fn write_map(&self, extent: usize, place: PhysicalExtent) -> Result<()> {
        let _turn = self.writing_map.acquire().await;
        let number = extent / PLACES_PER_BLOCK;
        let extents = self.layout.block_extents(number);
        let mut places = self.map.borrow().places()[extents.clone()].to_vec();
        places[extent - extents.start] = place;
        let version = {
            let mut versions = self.versions.borrow_mut();
            versions[number] += 1;
            versions[number]
        };
        let block = self.pool.get(BLOCK);
        block.with_mut(|bytes| {
            if !bytes.is_empty() {
                encode_places(bytes, &self.uuid, number, version, &places);
            }
        });
        for copy in [0, 1] {
            let at = Request::new(Layout::block_offset(number, copy), BLOCK as u64);
            let at = at.on_behalf_of(Class::Resync).with_fua(true);
            self.members[0].handle.write(at, block.clone()).await?;
        }
        Ok(())
    }
}

impl Carrier for Live {
    /// Copies a piece from the extent's slot to its second one.
    async fn carry(&self, piece: &Request, through: Buf) -> Result<()> {
        for part in self.layout.parts(piece.offset, piece.length, self.longest) {
            let first = self.map.borrow().place(part.extent);
            let second =
                self.traffic.borrow().second(part.extent).expect("an extent that moves has a second place");
            let buf = through.slice(part.range());
            self.read_place(first, part, piece, buf.clone()).await?;
            self.change_place(second.place, part, piece, &Change::Write(buf)).await?;
        }
        Ok(())
    }
}
