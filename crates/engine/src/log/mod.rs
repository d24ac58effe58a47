//! The log manager of a database, after SQL Server: records are packed into log blocks, blocks are written in order of
//! their making and durably, a commit waits until its block and all before it are hardened.
//!
//! The rules are in [`core`], the figures in [`Settings`]; this file carries the writes out.

pub mod core;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Signal, Watermark};
use fathom_volume::{Buf, Error, Handle, Pool, Request, Result};

pub use self::core::{Core, Settings};

/// A log on a volume. Its writes carry the FUA flag: SQL Server opens its files with FILE_FLAG_WRITE_THROUGH (Microsoft,
/// SQL Server storage guide).
pub struct Log {
    core: RefCell<Core>,
    volume: Handle,
    context: Context,
    // The bytes of every write: their content does not matter.
    bytes: Buf,
    // A write has ended: there may be room for more.
    changed: Signal,
    // Blocks hardened, counted from the log's begin.
    hardened: Watermark,
    failure: RefCell<Option<Error>>,
    writes: Cell<u64>,
}

impl Log {
    /// An empty log on this volume.
    pub fn new(context: &Context, pool: &Pool, volume: &Handle, settings: Settings) -> Rc<Self> {
        let bytes = pool.zeroes(settings.block_max as usize);
        Rc::new(Self {
            core: RefCell::new(Core::new(settings)),
            volume: volume.clone(),
            context: context.clone(),
            bytes,
            changed: Signal::default(),
            hardened: Watermark::default(),
            failure: RefCell::default(),
            writes: Cell::new(0),
        })
    }

    /// Adds a record of that many bytes; waits while every log buffer is in use (the wait LOGBUFFER).
    ///
    /// # Errors
    /// If an earlier write failed: the database would be offline.
    pub async fn append(self: &Rc<Self>, bytes: u64) -> Result<()> {
        while !self.core.borrow().has_room() {
            self.check()?;
            self.changed.wait().await;
        }
        self.core.borrow_mut().append(bytes);
        self.pump();
        Ok(())
    }

    /// Waits until everything added so far is hardened (the wait WRITELOG).
    ///
    /// # Errors
    /// If a write failed: what was added may be lost.
    pub async fn commit(self: &Rc<Self>) -> Result<()> {
        let block = self.core.borrow_mut().commit();
        self.pump();
        if self.core.borrow().is_hardened(block) {
            return Ok(());
        }
        self.check()?;
        if self.hardened.reach(block + 1).await { Ok(()) } else { self.check() }
    }

    /// Writes that have ended.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    fn check(&self) -> Result<()> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// Starts every write that may start now.
    fn pump(self: &Rc<Self>) {
        loop {
            let Some(write) = self.core.borrow_mut().next_write() else { return };
            let log = Rc::clone(self);
            self.context.spawn(async move {
                let bytes = log.bytes.slice(0..write.length as usize);
                let request = Request::new(write.offset, write.length).with_fua(true);
                match log.volume.write(request, bytes).await {
                    Ok(()) => {
                        log.core.borrow_mut().ended(write.block);
                        log.writes.set(log.writes.get() + 1);
                        log.pump();
                        let hardened = log.core.borrow().hardened();
                        log.hardened.advance(hardened);
                    }
                    // Nothing after this block can ever be hardened.
                    Err(error) => {
                        log.failure.borrow_mut().get_or_insert(error);
                        log.hardened.close();
                    }
                }
                log.changed.notify();
            });
        }
    }
}

#[cfg(test)]
mod tests;
