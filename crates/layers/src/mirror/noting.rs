//! The legs' bitmaps: a region is marked before a write, cleared when the legs are equal; and their age.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use fathom_volume::{Class, Request, Result};

use super::joined::joined;
use super::live::{Live, Standing};
use super::superblock::encode_bits;
use crate::codec::BLOCK;

impl Live {
    /// Waits until the legs' metadata says that these regions may differ.
    ///
    /// # Errors
    /// If no leg in sync can be written.
    pub(super) async fn ensure(&self, regions: &Range<usize>) -> Result<()> {
        while !self.regions.borrow().are_durable(regions) {
            let _turn = self.saying.acquire().await;
            if !self.regions.borrow().are_durable(regions) {
                let own = self.regions.borrow_mut().take_unwritten_of(regions);
                self.say_blocks(own).await?;
            }
        }
        Ok(())
    }

    /// Writes what the legs' bitmaps do not say yet.
    ///
    /// # Errors
    /// As [`Live::ensure`].
    pub(super) async fn say(&self) -> Result<()> {
        loop {
            // A large mirror has hundreds of blocks: a write that waits for one is not to wait for all.
            let _turn = self.saying.acquire().await;
            let Some(block) = self.regions.borrow_mut().take_one_unwritten() else { return Ok(()) };
            self.say_blocks(BTreeSet::from([block])).await?;
        }
    }

    async fn say_blocks(&self, blocks: BTreeSet<usize>) -> Result<()> {
        let (joins, uuid) = (self.joins.get(), self.newest.borrow().uuid);
        if !blocks.is_empty() {
            self.unmarked.set(false);
        }
        for block in &blocks {
            let bits = self.regions.borrow().block(*block);
            let buf = self.pool.get(BLOCK);
            let age = self.age.get() + 1;
            self.age.set(age);
            buf.with_mut(|bytes| {
                if !bytes.is_empty() {
                    encode_bits(bytes, &uuid, *block, &bits, age);
                }
            });
            let at = self.layout.bitmap + (*block * BLOCK) as u64;
            let request = || Request::new(at, BLOCK as u64).with_fua(true);
            let ask = |leg: usize| (leg, self.legs[leg].handle.write(request(), buf.clone()));
            let (first, others): (Vec<usize>, Vec<usize>) =
                self.attached().partition(|leg| self.leader.get() == Some(*leg));
            let mut answers = joined(first.into_iter().map(ask).collect()).await;
            answers.extend(joined(others.into_iter().map(ask).collect()).await);
            self.count(|counts| counts.bitmap_writes += 1);
            for (leg, _) in answers.iter().filter(|(_, answer)| answer.is_ok()) {
                self.legs[*leg].said.set(age);
            }
            if let Err(error) = self.lost(answers) {
                self.regions.borrow_mut().put_back(blocks);
                return Err(error);
            }
            if self.joins.get() != joins {
                // A leg joined that may not have got this.
                self.regions.borrow_mut().put_back(blocks);
                return Ok(());
            }
            self.regions.borrow_mut().said(*block, &bits);
            self.said.set(age);
        }
        Ok(())
    }

    /// Flushes every leg that takes part; one that fails is dropped, because what it has lost is unknown.
    ///
    /// # Errors
    /// If no leg in sync could be flushed.
    pub(super) async fn flush_legs(&self, class: Class) -> Result<bool> {
        let request = || Request::flush().on_behalf_of(class);
        let asked = self.attached().map(|leg| (leg, self.legs[leg].handle.flush(request())));
        let answers = joined(asked.collect()).await;
        self.lost(answers)
    }

    /// Flushes what was answered before.
    ///
    /// # Errors
    /// As [`Live::flush_legs`].
    pub(super) async fn flush(&self, class: Class) -> Result<()> {
        self.flush_legs(class).await?;
        self.settle().await
    }

    /// Makes the regions that are equal on all legs clean, and says so on them: after it, a crash costs nothing.
    ///
    /// # Errors
    /// As [`Live::flush`].
    pub(super) async fn rest(&self) -> Result<()> {
        let turn = self.cleaning.acquire().await;
        // What was written up to now counts as idle once it is flushed.
        self.regions.borrow_mut().idle();
        self.clean_idle().await?;
        drop(turn);
        self.settle().await
    }

    /// Whether a leg is away, which will want to know what it lacks.
    fn degraded(&self) -> bool {
        self.standing(Standing::Away).next().is_some()
    }

    /// Cleans what was idle since the last cleaning.
    ///
    /// # Errors
    /// As [`Live::flush`].
    async fn clean(&self) -> Result<()> {
        let _turn = self.cleaning.acquire().await;
        self.clean_idle().await
    }

    // Only one at a time: each cleaning begins a new one.
    async fn clean_idle(&self) -> Result<()> {
        let idle = self.regions.borrow_mut().idle();
        if idle.is_empty() || self.degraded() {
            return Ok(());
        }
        let joins = self.joins.get();
        let dropped = self.flush_legs(Class::Resync).await?;
        // Who was dropped and came back meanwhile, blank perhaps, has got copies that this flush does not cover.
        let returned = self.joins.get() != joins;
        if dropped || self.degraded() || returned {
            return self.settle().await;
        }
        self.regions.borrow_mut().flushed(&idle);
        self.say().await?;
        self.settle().await
    }

    /// A write goes to the legs whose region is noted already: a copy of a leg from before it must not be taken for the leg.
    pub(super) fn wrote(&self) {
        if !self.unmarked.replace(true) {
            self.changed.notify();
        }
    }

    /// Whether something was written since the bitmaps got their age, and there are legs to distinguish by it.
    fn is_unmarked(&self) -> bool {
        self.unmarked.get() && self.attached().nth(1).is_some()
    }

    /// Raises the age of the legs' bitmaps, whose bits stay.
    ///
    /// # Errors
    /// As [`Live::ensure`].
    async fn mark(&self) -> Result<()> {
        self.regions.borrow_mut().put_back([0]);
        self.say().await?;
        self.settle().await
    }

    /// Cleans regions that were not written for a while; where none is to be cleaned, raises the bitmaps' age.
    pub(super) async fn keep_clean(self: Rc<Self>) {
        loop {
            let wait = self.changed.wait();
            let cleans = self.regions.borrow().dirty() > 0 && !self.degraded() && self.settings.bitmap;
            if !cleans && !self.is_unmarked() {
                wait.await;
                continue;
            }
            self.context.sleep(self.settings.clean_after).await;
            if self.closing.get() {
                return;
            }
            // An error has dropped a leg, or is that of the last one, which its users see for themselves.
            if cleans {
                let _ = self.clean().await;
            }
            if self.is_unmarked() {
                let _ = self.mark().await;
            }
        }
    }

    /// The planned end: at rest, in a generation of its own. A copy of a leg from before is not taken for the leg.
    ///
    /// # Errors
    /// As [`Live::flush`].
    pub(super) async fn close(&self) -> Result<()> {
        self.closing.set(true);
        // A copy under way ends first: what lies below is closed next, and a leg that refuses a copy would be dropped.
        drop(self.locks.lock(0..self.layout.size).await);
        self.rest().await?;
        self.wanted.set(self.wanted.get() + 1);
        self.settle().await
    }
}
