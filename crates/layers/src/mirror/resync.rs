//! Rebuilding legs: workers copy dirty regions from a leg in sync, beside the users; a missing leg is looked for.
//!
//! Workers take the pieces of one region after the other, in the order of their offsets, so that a disk with heads reads and
//! writes in one direction.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::SECOND;
use fathom_volume::{Buf, Class, Error, ErrorKind, Request, Result};

use super::bitmap::Claim;
use super::live::{Leg, Live, Standing};
use super::membership::Found;
use super::open::read_leg;
use super::superblock::Generation;
use super::unused::in_use;
use crate::head::Look;
use crate::tap::Carrier;

/// A region that is being copied.
pub(super) struct Copying {
    claim: Claim,
    /// Where the next piece begins, and where the region ends.
    next: Cell<u64>,
    end: u64,
    /// Pieces under way.
    left: Cell<usize>,
    failed: Cell<bool>,
}

impl Copying {
    /// A piece is over; whether the region is.
    fn ends(&self, failed: bool) -> bool {
        if failed {
            self.failed.set(true);
            self.next.set(self.end);
        }
        self.left.set(self.left.get() - 1);
        self.left.get() == 0 && self.next.get() >= self.end
    }
}

impl Live {
    /// Starts the tasks that work for the mirror.
    pub(super) fn start(self: &Rc<Self>) {
        for _ in 0..self.settings.resync_depth {
            self.context.spawn(Rc::clone(self).rebuild());
        }
        self.context.spawn(Rc::clone(self).keep_clean());
        if self.settings.retry > 0 {
            self.context.spawn(Rc::clone(self).retry_absent_legs());
        }
    }

    /// Copies one piece after the other; the end of the last one brings the legs back into sync.
    async fn rebuild(self: Rc<Self>) {
        loop {
            let wait = self.changed.wait();
            if self.closing.get() || !self.rebuilding() {
                wait.await;
                continue;
            }
            let Some((copying, piece)) = self.next_piece() else {
                let last = self.regions.borrow().left() == 0 && !self.returning.replace(true);
                if last {
                    self.bring_back().await;
                    self.returning.set(false);
                    self.changed.notify();
                } else {
                    wait.await;
                }
                continue;
            };
            let length = piece.end - piece.start;
            let failed = self.copy_piece(piece.start, length).await.is_err();
            if !failed {
                self.copied(length);
            }
            if copying.ends(failed) {
                if copying.failed.get() {
                    self.regions.borrow_mut().not_copied(&copying.claim);
                    self.count(|counts| counts.resync_errors += 1);
                } else {
                    self.regions.borrow_mut().copied(&copying.claim);
                    self.changed.notify();
                }
            }
            if failed {
                self.context.sleep(SECOND).await;
            }
        }
    }

    /// The next piece of the region that is being copied, or the first of the next region.
    fn next_piece(&self) -> Option<(Rc<Copying>, Range<u64>)> {
        let mut current = self.copying.borrow_mut();
        let mut regions = self.regions.borrow_mut();
        // Of a region that has to be copied again, for a leg that came meanwhile, the rest is not needed.
        let goes_on =
            |copying: &&Rc<Copying>| copying.next.get() < copying.end && regions.is_held(&copying.claim);
        let copying = match current.as_ref().filter(goes_on) {
            Some(copying) => Rc::clone(copying),
            None => {
                *current = None;
                let claim = regions.take_todo(self.cursor.get())?;
                self.cursor.set(claim.region + 1);
                let start = claim.region as u64 * self.settings.region;
                let end = (start + self.settings.region).min(self.layout.size);
                let (next, left, failed) = (Cell::new(start), Cell::default(), Cell::default());
                Rc::clone(current.insert(Rc::new(Copying { claim, next, end, left, failed })))
            }
        };
        let start = copying.next.get();
        let piece = start..(start + self.piece_length()).min(copying.end);
        copying.next.set(piece.end);
        copying.left.set(copying.left.get() + 1);
        Some((copying, piece))
    }

    /// Bytes that are copied at once.
    fn piece_length(&self) -> u64 {
        let most =
            self.legs.iter().map(|leg| u64::from(leg.handle.geometry().max_transfer)).min().unwrap_or(0);
        let step = self.settings.resync_io.min(most);
        (step - step % 4096).max(4096.min(most))
    }

    async fn copy_piece(&self, offset: u64, length: u64) -> Result<()> {
        let range = offset..offset + length;
        // Users' writes to this piece wait, or have ended: what is read is what is written.
        let _lock = self.locks.lock(range).await;
        if self.closing.get() {
            return Err(Error::new(ErrorKind::Fenced, "the mirror is closed"));
        }
        let buf = self.pool.get(length as usize);
        self.tap.write(Request::new(offset, length).on_behalf_of(Class::Resync), buf).await
    }

    /// Nothing is left to copy: the rebuilt legs are flushed and trusted again.
    async fn bring_back(&self) {
        let legs: Vec<usize> = self.standing(Standing::Rebuilding).collect();
        let joins = self.joins.get();
        if self.flush_legs(Class::Resync).await.is_err() {
            self.context.sleep(SECOND).await;
            return;
        }
        // While they were flushed, another may have come, or one may have gone, and be there again.
        let left = self.regions.borrow().left() > 0;
        let returned = self.joins.get() != joins;
        if left || returned {
            return;
        }
        let back: Vec<&Leg> = legs
            .into_iter()
            .map(|leg| &self.legs[leg])
            .filter(|leg| leg.standing.get() == Standing::Rebuilding)
            .collect();
        if !back.is_empty() {
            back.iter().for_each(|leg| leg.standing.set(Standing::InSync));
            self.count(|counts| counts.rebuilt += back.len() as u64);
            self.wanted.set(self.wanted.get() + 1);
            self.guard();
            self.changed.notify();
        }
        // Whoever is answered next waits for this.
        let _ = self.settle().await;
    }

    /// Tries every now and then to take back the legs that are gone.
    async fn retry_absent_legs(self: Rc<Self>) {
        loop {
            let wait = self.changed.wait();
            if self.standing(Standing::Away).next().is_none() {
                wait.await;
                continue;
            }
            self.context.sleep(self.settings.retry).await;
            if self.closing.get() {
                return;
            }
            let away: Vec<usize> = self.standing(Standing::Away).collect();
            for leg in away {
                self.take_back(leg).await;
            }
        }
    }

    /// Takes a leg back that carries the generation at which it was left, or a blank one in its place.
    async fn take_back(&self, leg: usize) {
        // Whatever it has lost is in regions whose bits are set, for bits are cleared after a flush of every leg.
        self.legs[leg].handle.reopen();
        let found = read_leg(&self.pool, &self.legs[leg].handle, &self.layout).await;
        // The others may not have recorded yet that it was dropped; then the next pass takes it.
        if self.known.get() < self.wanted.get() {
            return;
        }
        let old = match self.look_at_returning(leg, &found).await {
            Ok(old) => old,
            Err(why) => {
                // One that is still gone keeps the reason for which it went.
                if let Some(why) = why.filter(|why| *self.legs[leg].why.borrow() != *why) {
                    self.legs[leg].why.replace(why);
                    self.changed.notify();
                }
                return;
            }
        };
        {
            let mut regions = self.regions.borrow_mut();
            let mut newest = self.newest.borrow_mut();
            match &found {
                Found::Leg(found) => {
                    newest.counter = newest.counter.max(found.counter);
                    self.age.set(self.age.get().max(found.age));
                    self.legs[leg].carries.set(found.current);
                }
                _ => self.legs[leg].carries.set(Generation::default()),
            }
            if old {
                regions.mark_all();
                self.count(|counts| counts.old += u64::from(matches!(found, Found::Leg(_))));
            }
            regions.copy_dirty();
            regions.say_all_again();
        }
        self.joins.set(self.joins.get() + 1);
        self.legs[leg].standing.set(Standing::Rebuilding);
        self.wanted.set(self.wanted.get() + 1);
        self.guard();
        // The bitmap first: a leg that takes part says what may differ.
        if self.say().await.is_ok() && self.settle().await.is_ok() {
            self.changed.notify();
        }
    }

    /// Whether what is in a leg's place lacks more than the bitmap says; why it is not the leg, if that is known.
    async fn look_at_returning(
        &self,
        leg: usize,
        found: &Found,
    ) -> std::result::Result<bool, Option<String>> {
        let told = |why: &str| Err(Some(format!("what is there {why}; see docs/MIRROR.md")));
        let found = match found {
            Found::Leg(found) => found,
            Found::Blank if self.is_unused(leg).await => return Ok(true),
            Found::Blank => return told("has no superblock and holds something: \"What counts as blank\""),
            Found::Foreign { .. } => {
                return told("is no leg of a mirror: another volume, or one of another size");
            }
            Found::OtherVersion => return told("was written by another version of Fathom"),
            Found::Missing(_) => return Err(None),
        };
        let (newest, number) = (self.newest.borrow(), self.legs[leg].number);
        if found.uuid != newest.uuid {
            return told("is a leg of another mirror");
        }
        if found.leg != number {
            return told("is a copy of another leg of this mirror");
        }
        let ours = found.current == newest.current || found.current == newest.previous;
        let in_turn = ours || newest.entries[number].left_at.contains(&found.current);
        if !in_turn && !newest.history.contains(&found.current) {
            return told("went on without this mirror: a restart asks which of them is to stay");
        }
        // A copy of the leg from earlier lacks what no bit says.
        Ok(!in_turn || found.age < self.legs[leg].said.get())
    }

    /// Whether a volume without superblocks that is in a leg's place holds nothing that a rebuild would write over.
    async fn is_unused(&self, leg: usize) -> bool {
        // A simulated one holds what its run wrote.
        self.context.is_virtual()
            || in_use(&self.pool, &self.legs[leg].handle, &self.layout, Look::Ends)
                .await
                .is_ok_and(|at| at.is_none())
    }
}

impl Carrier for Live {
    /// Reads a piece from a leg in sync and writes it to those being rebuilt.
    async fn carry(&self, piece: &Request, buf: Buf) -> Result<()> {
        let length = piece.length;
        let request = || piece.part(piece.offset, length);
        let mut outcome = Err(Error::new(ErrorKind::Gone, "no leg is in sync"));
        let sources: Vec<usize> = self.standing(Standing::InSync).collect();
        for source in sources {
            outcome = self.read_leg(source, &request(), &buf).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome?;
        let legs: Vec<usize> = self.standing(Standing::Rebuilding).collect();
        let answers =
            self.ask(legs.into_iter(), Class::Resync, length, |leg| leg.write(request(), buf.clone())).await;
        if self.lost(answers)? {
            self.settle().await?;
        }
        Ok(())
    }
}
