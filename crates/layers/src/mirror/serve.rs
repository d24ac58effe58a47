//! Reads and writes of an open mirror.

use std::ops::Range;
use std::rc::Rc;

use fathom_volume::{Buf, Error, ErrorKind, Request, Result};

use super::config::ReadPolicy;
use super::live::{Live, Standing};
use crate::change::Change;
use crate::share::ended;

impl Live {
    /// Writes to every leg that takes part:
    /// 1. wait for overlapping writes, so that all legs see them in one order;
    /// 2. note the regions on the legs, unless they are noted;
    /// 3. write; a leg that fails is dropped;
    /// 4. if a leg was dropped, the others know it before this is answered.
    ///
    /// # Errors
    /// If no leg in sync has done it.
    pub(super) async fn change(self: Rc<Self>, request: Request, change: Change) -> Result<()> {
        let range = request.offset..request.end();
        let lock = self.locks.lock(range.clone()).await;
        let regions = self.regions.borrow().of(&range);
        {
            let mut known = self.regions.borrow_mut();
            known.begin(regions.clone());
            if !self.settings.bitmap && known.dirty() < known.len() {
                known.mark_all();
            }
        }
        self.changed_if_first();
        let outcome = async {
            self.ensure(&regions).await?;
            self.wrote();
            let rebuilt = self.regions.borrow().reach_rebuilt(&regions);
            let takes = |leg: &usize| rebuilt || self.legs[*leg].standing.get() == Standing::InSync;
            let legs: Vec<usize> = self.attached().filter(takes).collect();
            let part = || request.part(request.offset, request.length).with_fua(request.fua);
            let bytes = change.bytes(&request);
            let answers =
                self.ask(legs.into_iter(), request.class, bytes, |leg| change.ask(leg, part())).await;
            self.lost(answers)
        };
        let outcome = outcome.await;
        self.regions.borrow_mut().end(regions);
        drop(lock);
        outcome?;
        self.settle().await
    }

    /// Writes to a range are about to come: the next write of the bitmap notes its regions as well.
    pub(super) fn expect(&self, range: &Range<u64>) {
        let mut regions = self.regions.borrow_mut();
        let expected = regions.of(range);
        regions.expect(expected);
        drop(regions);
        self.changed_if_first();
    }

    // The task that cleans sleeps while there is nothing to clean.
    fn changed_if_first(&self) {
        if self.regions.borrow().has_unwritten() {
            self.changed.notify();
        }
    }

    /// The leg for the next read, without those that failed it.
    fn leg_for_read(&self, failed: &[usize]) -> Option<usize> {
        let readable =
            |leg: &usize| self.legs[*leg].standing.get() == Standing::InSync && !failed.contains(leg);
        let count = self.legs.len();
        match self.settings.read {
            ReadPolicy::First => (0..count).find(readable),
            ReadPolicy::Balanced => {
                let first = self.turn.replace((self.turn.get() + 1) % count);
                let busy = |leg: &usize| self.legs[*leg].handle.statistics().outstanding();
                // Of equals the first in turn wins: min_by_key keeps the earliest.
                (0..count).map(|step| (first + step) % count).filter(readable).min_by_key(busy)
            }
        }
    }

    /// Reads from one leg; if that fails, from the next, and then mends the first.
    ///
    /// # Errors
    /// If no leg in sync can: the first leg's.
    pub(super) async fn read(&self, request: &Request, into: &Buf) -> Result<()> {
        let mut failed: Vec<usize> = Vec::new();
        let mut first: Option<Error> = None;
        while let Some(leg) = self.leg_for_read(&failed) {
            let answer = self.read_leg(leg, request, into).await;
            match answer {
                Ok(()) if failed.is_empty() => return Ok(()),
                Ok(()) => {
                    self.count(|counts| counts.failovers += 1);
                    self.mend(request, failed, leg).await;
                    return self.settle().await;
                }
                Err(error) if error.kind() == ErrorKind::Misuse => return Err(error),
                Err(error) => {
                    failed.push(leg);
                    first.get_or_insert(error);
                }
            }
        }
        Err(first.unwrap_or_else(|| {
            Error::new(ErrorKind::Gone, format!("mirror `{}` has no leg to read", self.name))
        }))
    }

    /// Reads from one leg in its turn.
    pub(super) async fn read_leg(&self, leg: usize, request: &Request, into: &Buf) -> Result<()> {
        let Self { legs, .. } = self;
        let pass = legs[leg].pass(request.class, request.length, false).await;
        let part = request.part(request.offset, request.length);
        let answer = legs[leg].handle.read(part, into.clone()).await;
        ended(pass, &answer);
        answer
    }

    /// Writes what a good leg holds over what others could not read. A leg that cannot take it either is dropped.
    async fn mend(&self, request: &Request, failed: Vec<usize>, good: usize) {
        let range = request.offset..request.end();
        let regions = self.regions.borrow().of(&range);
        let buf = self.pool.get(request.length as usize);
        let part = || request.part(request.offset, request.length);
        let _lock = self.locks.lock(range).await;
        self.regions.borrow_mut().begin(regions.clone());
        let ready = self.ensure(&regions).await.is_ok();
        // Read again: a newer write may have come between.
        if ready && self.read_leg(good, &part(), &buf).await.is_ok() {
            let still = failed.into_iter().filter(|leg| self.legs[*leg].standing.get() == Standing::InSync);
            let asked: Vec<usize> = still.collect();
            let count = asked.len() as u64;
            let answers = self
                .ask(asked.into_iter(), request.class, request.length, |leg| leg.write(part(), buf.clone()))
                .await;
            // The good leg was not asked, so one in sync remains.
            if matches!(self.lost(answers), Ok(false)) {
                self.count(|counts| counts.repairs += count);
            }
        }
        self.regions.borrow_mut().end(regions);
    }
}
