//! A volatile cache: writes that were answered and have not gone below yet. They go in an order drawn from chance, except
//! that two to the same offset keep theirs.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::{Context, Random, Semaphore};
use fathom_volume::{Buf, Pool, Request, Result};

use super::below::Below;

/// A write or, without bytes, zeroes.
#[derive(Clone)]
struct HeldWrite {
    number: u64,
    range: Range<u64>,
    bytes: Option<Buf>,
}

impl HeldWrite {
    fn touches(&self, range: &Range<u64>) -> bool {
        self.range.start < range.end && range.start < self.range.end
    }
}

/// Which of the held writes go below.
#[derive(Debug, Clone)]
pub enum Leaving {
    /// All of them.
    All,
    /// Those that touch a range.
    Touching(Range<u64>),
    /// Any, until no more than so many are left.
    Above(usize),
}

/// The cache.
pub struct Volatile {
    below: Rc<Below>,
    pool: Pool,
    context: Context,
    // In the order in which they were answered.
    held: RefCell<Vec<HeldWrite>>,
    next: Cell<u64>,
    random: RefCell<Random>,
    turn: Semaphore,
}

impl Volatile {
    pub fn new(below: &Rc<Below>, pool: &Pool, context: &Context, random: Random) -> Rc<Self> {
        Rc::new(Self {
            below: Rc::clone(below),
            pool: pool.clone(),
            context: context.clone(),
            held: RefCell::default(),
            next: Cell::new(0),
            random: RefCell::new(random),
            turn: Semaphore::new(1),
        })
    }

    /// Holds a write, or zeroes.
    pub fn hold(&self, request: &Request, from: Option<&Buf>) {
        let bytes = from.map(|from| {
            let copy = self.pool.get(from.len());
            copy.copy_from_buf(from);
            copy
        });
        let number = self.next.replace(self.next.get() + 1);
        self.held.borrow_mut().push(HeldWrite { number, range: request.offset..request.end(), bytes });
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.held.borrow().len()
    }

    /// What a read of a range must show of them; to be taken before the read goes below.
    pub fn shown(&self, range: &Range<u64>) -> HeldWrites {
        HeldWrites(self.held.borrow().iter().filter(|held| held.touches(range)).cloned().collect())
    }

    /// The power is gone: each of them reached the media or did not. Those that did are yet to be written.
    pub fn lose(&self) {
        let mut random = self.random.borrow_mut();
        self.held.borrow_mut().retain(|_| random.chance(0.5));
    }

    /// Nothing of them reached the media.
    pub fn forget(&self) {
        self.held.borrow_mut().clear();
    }

    /// Sends writes below, one after the other. It continues even if nothing waits for it any more.
    pub async fn leave(self: &Rc<Self>, which: Leaving) -> Result<()> {
        if self.next_to_leave(&which, u64::MAX).is_none() {
            return Ok(());
        }
        let volatile = Rc::clone(self);
        self.context.spawn(async move { volatile.leave_now(which).await }).await
    }

    async fn leave_now(&self, which: Leaving) -> Result<()> {
        let _turn = self.turn.acquire().await;
        // Those that are held meanwhile may stay.
        let last = self.next.get();
        while let Some(held) = self.next_to_leave(&which, last) {
            let request = Request::new(held.range.start, held.range.end - held.range.start);
            match held.bytes {
                Some(bytes) => self.below.write(request, bytes).await?,
                None => self.below.write_zeroes(request).await?,
            }
            self.held.borrow_mut().retain(|other| other.number != held.number);
        }
        Ok(())
    }

    /// Of those with a smaller number than `last`.
    fn next_to_leave(&self, which: &Leaving, last: u64) -> Option<HeldWrite> {
        let held = self.held.borrow();
        let leaves = |one: &HeldWrite| match which {
            Leaving::All => true,
            Leaving::Touching(range) => one.touches(range),
            Leaving::Above(most) => held.len() > *most,
        };
        let chosen: Vec<usize> =
            (0..held.len()).filter(|index| held[*index].number < last && leaves(&held[*index])).collect();
        if chosen.is_empty() {
            return None;
        }
        let mut index = chosen[self.random.borrow_mut().below(chosen.len() as u64) as usize];
        // What was written to the same offset before it goes first.
        while let Some(earlier) = held[..index].iter().position(|other| other.touches(&held[index].range)) {
            index = earlier;
        }
        Some(held[index].clone())
    }
}

/// Held writes that a read has to show.
pub struct HeldWrites(Vec<HeldWrite>);

impl HeldWrites {
    /// Puts them over what the read found below.
    pub fn put_over(&self, start: u64, into: &Buf) {
        let range = start..start + into.len() as u64;
        for held in &self.0 {
            let from = held.range.start.max(range.start);
            let end = held.range.end.min(range.end);
            let part = into.slice((from - start) as usize..(end - start) as usize);
            match &held.bytes {
                Some(bytes) => part.copy_from_buf(
                    &bytes.slice((from - held.range.start) as usize..(end - held.range.start) as usize),
                ),
                None => part.with_mut(|bytes| bytes.fill(0)),
            }
        }
    }
}
