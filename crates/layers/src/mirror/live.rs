//! An open mirror: its legs and their states, the metadata on them, and what happens when one fails.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Random, SECOND, Semaphore, Signal};
use fathom_volume::{Answer, Class, Error, ErrorKind, Handle, Pool, Request, Result};

use super::bitmap::Regions;
use super::config::Settings;
use super::joined::joined;
use super::membership::left;
use super::resync::Copying;
use super::superblock::{Entry, Generation, Layout, MOST_HISTORY, Super};
use crate::codec::BLOCK;
use crate::range_lock::RangeLock;
use crate::share::{Gate, Pass, ended};

/// State of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds everything that was answered.
    InSync,
    /// It is being rebuilt: it gets writes, and no reads.
    Rebuilding,
    /// It is not there.
    Away,
}

impl Standing {
    /// The word for people and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::InSync => "in-sync",
            Self::Rebuilding => "rebuilding",
            Self::Away => "away",
        }
    }
}

/// One leg.
pub struct Leg {
    /// The volume.
    pub handle: Handle,
    /// Its door, and whether requests pass it: while something is copied.
    pub gate: Gate,
    pub guarded: Cell<bool>,
    /// Its number in the mirror.
    pub number: usize,
    /// Its state.
    pub standing: Cell<Standing>,
    /// Whether every leg in sync has it in writing that this one is, too. Until then the others must not be left behind: one
    /// of them could open alone afterwards, because it knows this leg as one that lacks writes.
    pub confirmed: Cell<bool>,
    /// The generation that it carries for sure, unless it continued alone; a later one may have been tried.
    pub carries: Cell<Generation>,
    /// The age of the last block of the bitmap that it holds for sure.
    pub said: Cell<u64>,
    /// Why it was dropped, or is not there.
    pub why: RefCell<String>,
}

impl Leg {
    /// Waits for the turn of a request; None if there are no turns.
    pub async fn pass(&self, class: Class, bytes: u64, write: bool) -> Option<Pass> {
        if !self.guarded.get() {
            return None;
        }
        Some(self.gate.pass(class, bytes, write).await)
    }

    /// Whether it is in sync, and others may be left behind for it.
    pub fn counts(&self) -> bool {
        self.standing.get() == Standing::InSync && self.confirmed.get()
    }
}

/// What a mirror counts since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Writes of blocks of the bitmap.
    pub bitmap_writes: u64,
    /// Legs that were dropped.
    pub dropped: u64,
    /// Legs that came back into sync.
    pub rebuilt: u64,
    /// Old copies of legs that were put back in their places, and copied whole.
    pub old: u64,
    /// Bytes that a rebuild copied.
    pub resync_bytes: u64,
    /// Regions that could not be copied and are tried again.
    pub resync_errors: u64,
    /// Reads that another leg had to answer.
    pub failovers: u64,
    /// Of those, reads whose bytes were written back to the leg that failed.
    pub repairs: u64,
}

/// An open mirror.
pub struct Live {
    /// Where the rebuild is counted.
    pub(super) tap: Handle,
    pub(super) context: Context,
    pub(super) pool: Pool,
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) layout: Layout,
    pub(super) legs: Vec<Leg>,
    pub(super) regions: RefCell<Regions>,
    /// As it was written last, or is being written; its `leg` means nothing.
    pub(super) newest: RefCell<Super>,
    /// Changes of who takes part, and how many of them all legs know.
    pub(super) wanted: Cell<u64>,
    pub(super) known: Cell<u64>,
    changing: Semaphore,
    pub(super) saying: Semaphore,
    pub(super) cleaning: Semaphore,
    /// Counts the writes of blocks of the bitmap, and which was the last that all legs hold.
    pub(super) age: Cell<u64>,
    pub(super) said: Cell<u64>,
    /// The leg whose bitmap is written before the others'.
    pub(super) leader: Cell<Option<usize>>,
    /// Whether a write went to the legs since such a block was last written.
    pub(super) unmarked: Cell<bool>,
    /// Counts joins: what is written to the legs' bitmaps, or flushed, while one joins does not count for it.
    pub(super) joins: Cell<u64>,
    /// The planned end: nothing is copied and no leg is looked for any more.
    pub(super) closing: Cell<bool>,
    pub(super) locks: RangeLock,
    /// Something may have to be copied, cleaned, or looked for.
    pub(super) changed: Signal,
    pub(super) turn: Cell<usize>,
    pub(super) cursor: Cell<usize>,
    /// The region whose pieces are handed out.
    pub(super) copying: RefCell<Option<Rc<Copying>>>,
    /// Whether a task is bringing rebuilt legs back.
    pub(super) returning: Cell<bool>,
    pub(super) counts: Cell<Counts>,
    /// When how many bytes had been copied, a second apart.
    pub(super) progress: RefCell<VecDeque<(Nanos, u64)>>,
    pub(super) random: RefCell<Random>,
}

impl Live {
    pub(super) fn new(
        (context, pool, name, tap): (Context, Pool, String, Handle),
        settings: Settings,
        layout: Layout,
        legs: Vec<Leg>,
        regions: Regions,
        newest: Super,
    ) -> Self {
        let random = RefCell::new(context.random(&format!("mirror {name}")));
        let age = newest.age;
        Self {
            tap,
            random,
            context,
            pool,
            name,
            settings,
            layout,
            legs,
            regions: RefCell::new(regions),
            newest: RefCell::new(newest),
            wanted: Cell::new(1),
            known: Cell::new(0),
            changing: Semaphore::new(1),
            saying: Semaphore::new(1),
            cleaning: Semaphore::new(1),
            age: Cell::new(age),
            said: Cell::new(age),
            leader: Cell::new(None),
            unmarked: Cell::new(false),
            joins: Cell::new(0),
            closing: Cell::new(false),
            locks: RangeLock::default(),
            changed: Signal::default(),
            turn: Cell::new(0),
            cursor: Cell::new(0),
            copying: RefCell::default(),
            returning: Cell::new(false),
            counts: Cell::new(Counts::default()),
            progress: RefCell::default(),
        }
    }

    /// Changes the counters.
    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Legs in that state.
    pub(super) fn standing(&self, standing: Standing) -> impl Iterator<Item = usize> + '_ {
        (0..self.legs.len()).filter(move |leg| self.legs[*leg].standing.get() == standing)
    }

    /// Legs that take part.
    pub(super) fn attached(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.legs.len()).filter(|leg| self.legs[*leg].standing.get() != Standing::Away)
    }

    /// Whether all legs that take part hold the same after a trim; what changes meanwhile is copied to those that are away.
    pub(super) fn trims_to_zeroes(&self) -> bool {
        self.attached().all(|leg| self.legs[leg].handle.trims_to_zeroes())
    }

    /// Whether a leg is being rebuilt.
    pub(super) fn rebuilding(&self) -> bool {
        self.standing(Standing::Rebuilding).next().is_some()
    }

    /// Asks these legs, side by side, each in its turn.
    pub(super) async fn ask<'a>(
        &'a self,
        legs: impl Iterator<Item = usize>,
        class: Class,
        bytes: u64,
        ask: impl Fn(&'a Handle) -> Answer<'a>,
    ) -> Vec<(usize, Result<()>)> {
        if !self.guarded() {
            return joined(legs.map(|leg| (leg, ask(&self.legs[leg].handle))).collect()).await;
        }
        let ask = &ask;
        let through = legs.map(|leg| {
            let asked = async move {
                let pass = self.legs[leg].pass(class, bytes, true).await;
                let answer = ask(&self.legs[leg].handle).await;
                ended(pass, &answer);
                answer
            };
            (leg, Box::pin(asked))
        });
        joined(through.collect()).await
    }

    fn guarded(&self) -> bool {
        self.legs.iter().any(|leg| leg.guarded.get())
    }

    /// Legs queue by class exactly while something is being copied.
    pub(super) fn guard(&self) {
        let guarded = self.rebuilding() && self.regions.borrow().left() > 0;
        self.legs.iter().for_each(|leg| leg.guarded.set(guarded));
    }

    /// Drops the legs that failed, as long as one stays that did not; whether any was dropped. What was asked must not be
    /// answered before [`Live::settle`].
    ///
    /// # Errors
    /// If no confirmed leg in sync is left that did it. The first of them stays: it is all there is.
    pub(super) fn lost(&self, answers: Vec<(usize, Result<()>)>) -> Result<bool> {
        let mut failed: Vec<(usize, Error)> =
            answers.into_iter().filter_map(|(leg, answer)| answer.err().map(|error| (leg, error))).collect();
        if failed.is_empty() {
            return Ok(false);
        }
        failed.sort_by_key(|(leg, _)| *leg);
        if let Some((_, error)) = failed.iter().find(|(_, error)| error.kind() == ErrorKind::Misuse) {
            return Err(error.clone());
        }
        let kept = |leg: usize| self.legs[leg].counts() && failed.iter().all(|(lost, _)| *lost != leg);
        let others = (0..self.legs.len()).any(kept);
        let last = failed.iter().position(|(leg, _)| self.legs[*leg].counts());
        let refusal = if others { None } else { last.map(|index| failed.remove(index).1) };
        let mut dropped = false;
        for (leg, why) in &failed {
            self.legs[*leg].confirmed.set(false);
            // Of requests that fail together the first says why.
            if self.legs[*leg].standing.replace(Standing::Away) != Standing::Away {
                self.legs[*leg].why.replace(why.to_string());
                dropped = true;
            }
        }
        if dropped {
            self.count(|counts| counts.dropped += failed.len() as u64);
            self.wanted.set(self.wanted.get() + 1);
            if !self.rebuilding() {
                self.regions.borrow_mut().copy_nothing();
            }
            self.guard();
            self.changed.notify();
        }
        refusal.map_or(Ok(dropped), Err)
    }

    /// Waits until every leg that takes part knows who takes part: each change begins a generation.
    ///
    /// # Errors
    /// If no leg can be written.
    pub(super) async fn settle(&self) -> Result<()> {
        while self.known.get() < self.wanted.get() {
            let _turn = self.changing.acquire().await;
            let goal = self.wanted.get();
            if self.known.get() >= goal {
                continue;
            }
            let next = self.next_generation();
            let answers = self.write_superblocks(&next).await;
            for (leg, _) in answers.iter().filter(|(_, answer)| answer.is_ok()) {
                self.legs[*leg].carries.set(next.current);
            }
            if !self.lost(answers)? {
                self.known.set(goal);
                // All that take part have it now.
                let in_sync = self.legs.iter().filter(|leg| next.entries[leg.number].in_sync);
                in_sync.for_each(|leg| leg.confirmed.set(leg.standing.get() == Standing::InSync));
            }
        }
        Ok(())
    }

    /// The superblock of the generation that begins now.
    fn next_generation(&self) -> Super {
        let mut newest = self.newest.borrow_mut();
        let current = newest.current;
        let next = self.name_generation(&newest);
        for leg in &self.legs {
            let entry = &mut newest.entries[leg.number];
            // Until its superblock is written, a leg that takes part carries what it carried before. One that is away
            // carries what was said when it last took part.
            match leg.standing.get() {
                Standing::InSync => *entry = Entry { in_sync: true, ..left(next, leg.carries.get()) },
                Standing::Rebuilding => *entry = left(next, leg.carries.get()),
                Standing::Away => entry.in_sync = false,
            }
            entry.left_age = leg.said.get();
        }
        newest.counter += 1;
        newest.age = self.said.get();
        if current.number > 0 {
            newest.history.insert(0, current);
            newest.history.truncate(MOST_HISTORY);
        }
        newest.previous = current;
        newest.current = next;
        newest.clone()
    }

    // Two sets of legs that continue without each other never choose the same name, even from the same chance.
    fn name_generation(&self, newest: &Super) -> Generation {
        let who = self.standing(Standing::InSync).fold(0_u64, |who, leg| who | (1 << self.legs[leg].number));
        let drawn = self.random.borrow_mut().word();
        let mixed = [newest.current.nonce, who, self.context.now(), drawn]
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, word| {
                (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
            });
        Generation { number: newest.current.number + 1, nonce: mixed }
    }

    async fn write_superblocks(&self, next: &Super) -> Vec<(usize, Result<()>)> {
        let block_of = |leg: usize| {
            let block = self.pool.get(BLOCK);
            block.with_mut(|bytes| {
                if !bytes.is_empty() {
                    Super { leg: self.legs[leg].number, ..next.clone() }.encode(bytes);
                }
            });
            block
        };
        let copy = next.counter as usize % 2;
        let request = || Request::new(self.layout.superblocks[copy], BLOCK as u64).with_fua(true);
        let asked = self.attached().map(|leg| (leg, self.legs[leg].handle.write(request(), block_of(leg))));
        joined(asked.collect()).await
    }

    /// Notes that so many bytes were copied.
    pub(super) fn copied(&self, bytes: u64) {
        self.count(|counts| counts.resync_bytes += bytes);
        let (now, total) = (self.context.now(), self.counts.get().resync_bytes);
        let mut progress = self.progress.borrow_mut();
        if progress.back().is_none_or(|(at, _)| now >= at + SECOND) {
            progress.push_back((now, total));
            if progress.len() > 11 {
                progress.pop_front();
            }
        }
    }
}
