//! Verify mode: everything written is stamped, everything read is checked.
//!
//! A block is the alignment of the profile; each has a generation that grows with its writes. Two writes of a block are
//! never under way at once (a user that draws such a write draws again), so that what a block must hold is always
//! known: a read beside a write may find the old or the new generation, sector by sector, and nothing else.

pub mod ledger;
pub mod stamp;

use std::cell::RefCell;
use std::rc::Rc;

use fathom_runtime::Signal;
use fathom_volume::{Buf, Handle, Kind, Pool, Request};

use self::ledger::{Expected, Ledger};
use self::stamp::{Author, Found};
use super::source::{Operation, Source};
use super::user::User;
use fathom_job::outcome::{Failure, Reason};

/// How often a user draws again before it waits for a write to end.
const DRAWS: u32 = 32;

/// The largest request of the final check, bytes.
const SWEEP: u64 = 1 << 20;

/// The check of one volume.
struct Watch {
    volume: Handle,
    author: Author,
    sector: usize,
    ledger: RefCell<Ledger>,
}

/// The checks of a run.
pub struct Verifier {
    watches: Vec<Rc<Watch>>,
    block: u64,
    // A write or trim has ended.
    ended: Signal,
}

impl Verifier {
    /// Checks of these volumes, with blocks of that many bytes; all offsets and lengths are multiples of it. `key` is
    /// the run's.
    pub fn new(volumes: &[Handle], block: u64, key: u64) -> Rc<Self> {
        let watch = |volume: &Handle| {
            let tag = crc_fast::crc32_iscsi(volume.name().as_bytes());
            let sector = volume.geometry().logical_sector as usize;
            let ledger = RefCell::default();
            Rc::new(Watch { volume: volume.clone(), author: Author { key, tag }, sector, ledger })
        };
        Rc::new(Self { watches: volumes.iter().map(watch).collect(), block, ended: Signal::default() })
    }

    fn watch(&self, volume: &Handle) -> &Rc<Watch> {
        let found = self.watches.iter().find(|watch| watch.volume.name() == volume.name());
        found.expect("each volume of the workload is watched")
    }

    fn blocks(&self, operation: &Operation) -> std::ops::Range<u64> {
        operation.offset / self.block..(operation.offset + operation.length).div_ceil(self.block)
    }

    /// The next request of a user that does not write where a write is under way.
    pub async fn choose(&self, source: &mut Source) -> Operation {
        loop {
            for _ in 0..DRAWS {
                let operation = source.next();
                let ledger = self.watch(source.volume(operation.volume)).ledger.borrow();
                if operation.kind == Kind::Read || self.blocks(&operation).all(|block| ledger.is_free(block))
                {
                    return operation;
                }
            }
            self.ended.wait().await;
        }
    }

    /// Carries a request out, stamped or checked. Nothing may be awaited between [`Verifier::choose`] and this.
    ///
    /// # Errors
    /// The volume's, or [`Reason::Verification`].
    pub async fn perform(&self, user: &User, operation: &Operation) -> Result<(), Failure> {
        let watch = Rc::clone(self.watch(user.volume(operation.volume)));
        let blocks = self.blocks(operation);
        match operation.kind {
            Kind::Read => {
                let oldest: Vec<Option<u32>> =
                    blocks.map(|block| watch.ledger.borrow().oldest(block)).collect();
                user.perform(operation).await?;
                let buffer = user.buffer(operation.length);
                buffer.with(|bytes| self.check(&watch, operation.offset, bytes, &oldest))
            }
            Kind::Trim => {
                blocks.clone().for_each(|block| watch.ledger.borrow_mut().begin_trim(block));
                user.perform(operation).await?;
                blocks.for_each(|block| watch.ledger.borrow_mut().end_trim(block));
                self.ended.notify();
                Ok(())
            }
            _ => {
                self.stamp(&watch, operation.offset, &user.buffer(operation.length));
                user.perform(operation).await?;
                self.written(&watch, operation.offset, operation.length);
                Ok(())
            }
        }
    }

    /// A write outside the users' streams (the first filling), to be called around it.
    pub fn filling(&self, volume: &Handle, offset: u64, buffer: &Buf) {
        self.stamp(self.watch(volume), offset, buffer);
    }

    /// The write of [`Verifier::filling`] has ended.
    pub fn filled(&self, volume: &Handle, offset: u64, length: u64) {
        self.written(self.watch(volume), offset, length);
    }

    fn stamp(&self, watch: &Watch, offset: u64, buffer: &Buf) {
        buffer.with_mut(|bytes| {
            for (index, block) in bytes.chunks_mut(self.block as usize).enumerate() {
                let generation = watch.ledger.borrow_mut().begin_write(offset / self.block + index as u64);
                for (number, sector) in block.chunks_mut(watch.sector).enumerate() {
                    let at = offset + index as u64 * self.block + (number * watch.sector) as u64;
                    stamp::write(sector, watch.author, at, generation);
                }
            }
        });
    }

    fn written(&self, watch: &Watch, offset: u64, length: u64) {
        for block in offset / self.block..(offset + length).div_ceil(self.block) {
            watch.ledger.borrow_mut().end_write(block);
        }
        self.ended.notify();
    }

    fn check(&self, watch: &Watch, offset: u64, bytes: &[u8], oldest: &[Option<u32>]) -> Result<(), Failure> {
        let ledger = watch.ledger.borrow();
        for (index, block) in bytes.chunks(self.block as usize).enumerate() {
            let Expected::Between(low, high) =
                ledger.expected(offset / self.block + index as u64, oldest[index])
            else {
                continue;
            };
            for (number, sector) in block.chunks(watch.sector).enumerate() {
                let at = offset + index as u64 * self.block + (number * watch.sector) as u64;
                let found = stamp::read(sector, watch.author, at);
                if !matches!(found, Found::Generation(generation) if (low..=high).contains(&generation)) {
                    return Err(failure(&watch.volume, at, found, low, high));
                }
            }
        }
        Ok(())
    }

    /// Reads back everything that was written, after all users have left. `told` hears how many bytes are done, and may
    /// stop it by an error.
    ///
    /// # Errors
    /// As [`Verifier::perform`].
    pub async fn sweep(
        &self,
        pool: &Pool,
        mut told: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut swept = 0;
        for watch in &self.watches {
            let most = SWEEP.min(u64::from(watch.volume.geometry().max_transfer)) / self.block * self.block;
            let buffer = pool.get(most.max(self.block) as usize);
            let known: Vec<u64> = watch.ledger.borrow().known().collect();
            let mut rest = &known[..];
            while let Some(&first) = rest.first() {
                let count = rest.iter().zip(first..).take_while(|(block, next)| **block == *next).count();
                let count = (count as u64).min(buffer.len() as u64 / self.block);
                let (offset, length) = (first * self.block, count * self.block);
                let part = buffer.slice(0..length as usize);
                watch.volume.read(Request::new(offset, length), part.clone()).await?;
                let oldest: Vec<Option<u32>> =
                    (first..first + count).map(|block| watch.ledger.borrow().oldest(block)).collect();
                part.with(|bytes| self.check(watch, offset, bytes, &oldest))?;
                rest = &rest[count as usize..];
                swept += length;
                told(swept)?;
            }
        }
        Ok(())
    }
}

fn failure(volume: &Handle, offset: u64, found: Found, low: u32, high: u32) -> Failure {
    let what = match found {
        Found::Generation(generation) if generation < low => {
            format!("holds generation {generation}, and {low} was written: a write was lost")
        }
        Found::Generation(generation) => {
            format!("holds generation {generation}, which was not written before {high}")
        }
        Found::Elsewhere { offset, here: true } => {
            format!("holds what was written to offset {offset}: a write went to the wrong place")
        }
        Found::Elsewhere { offset, here: false } => {
            format!(
                "holds what was written to offset {offset} of another volume: a write went to the wrong place"
            )
        }
        Found::Foreign => "holds what an earlier run wrote: a write was lost".to_owned(),
        Found::Zeroes => "holds zeroes: a write was lost, or the volume does not store data".to_owned(),
        Found::Broken => "holds neither what was written nor zeroes: it is corrupt".to_owned(),
    };
    Failure::new(Reason::Verification, format!("{volume:?}: the sector at offset {offset} {what}"))
}
