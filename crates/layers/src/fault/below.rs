//! The volume below, with a memory of what it held at a certain instant: so that an old copy of it can come back.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fathom_runtime::{Context, Nanos, Semaphore};
use fathom_volume::{Buf, Handle, Pool, Request, Result};

/// When the contents of a volume are taken, and when they are back. ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Return {
    /// The contents of this instant
    pub from: Nanos,
    /// are what the volume holds from this instant on.
    pub until: Nanos,
}

/// The volume below.
pub struct Below {
    handle: Handle,
    pool: Pool,
    context: Context,
    past: Option<OldSectors>,
}

/// What was written over since `due.from`, by sector.
struct OldSectors {
    due: Return,
    sectors: RefCell<BTreeMap<u64, Box<[u8]>>>,
    // One at a time takes sectors or puts them back.
    turn: Semaphore,
    done: Cell<bool>,
}

impl Below {
    /// Above a volume. Without payload it takes the same time.
    pub fn new(handle: Handle, pool: &Pool, context: &Context, due: Option<Return>) -> Self {
        let past = due.map(|due| OldSectors {
            due,
            sectors: RefCell::default(),
            turn: Semaphore::new(1),
            done: Cell::new(false),
        });
        Self { handle, pool: pool.clone(), context: context.clone(), past }
    }

    /// Whether old contents have come back.
    pub fn has_returned(&self) -> bool {
        self.past.as_ref().is_some_and(|past| past.done.get())
    }

    /// Puts the old contents back if it is time; true if this call did it.
    pub async fn catch_up(&self) -> Result<bool> {
        let Some(past) = self.past.as_ref().filter(|past| !past.done.get()) else { return Ok(false) };
        if self.context.now() < past.due.until {
            return Ok(false);
        }
        let _turn = past.turn.acquire().await;
        if past.done.get() {
            return Ok(false);
        }
        loop {
            let next = past.sectors.borrow().first_key_value().map(|(at, bytes)| (*at, bytes.clone()));
            let Some((offset, bytes)) = next else { break };
            let sector = self.pool.get(self.handle.geometry().logical_sector as usize);
            sector.copy_from(&bytes);
            self.handle.write(Request::new(offset, sector.len() as u64), sector).await?;
            past.sectors.borrow_mut().remove(&offset);
        }
        self.handle.flush(Request::flush()).await?;
        past.done.set(true);
        Ok(true)
    }

    /// Keeps what a range holds before it is written over.
    async fn keep(&self, request: &Request) -> Result<()> {
        let Some(past) = self.past.as_ref().filter(|past| !past.done.get()) else { return Ok(()) };
        if self.context.now() < past.due.from {
            return Ok(());
        }
        let _turn = past.turn.acquire().await;
        let sector = u64::from(self.handle.geometry().logical_sector);
        let is_new = |at: &u64| !past.sectors.borrow().contains_key(at);
        if past.done.get() || !(request.offset..request.end()).step_by(sector as usize).any(|at| is_new(&at))
        {
            return Ok(());
        }
        let held = self.pool.get(request.length as usize);
        self.handle
            .read(Request::new(request.offset, request.length).on_behalf_of(request.class), held.clone())
            .await?;
        let mut sectors = past.sectors.borrow_mut();
        for at in (0..request.length).step_by(sector as usize) {
            let part = held.slice(at as usize..(at + sector) as usize);
            sectors.entry(request.offset + at).or_insert_with(|| part.with(|bytes| bytes.into()));
        }
        Ok(())
    }

    pub async fn read(&self, request: Request, into: Buf) -> Result<()> {
        self.handle.read(request, into).await
    }

    pub async fn write(&self, request: Request, from: Buf) -> Result<()> {
        self.keep(&request).await?;
        self.handle.write(request, from).await
    }

    pub async fn flush(&self, request: Request) -> Result<()> {
        self.handle.flush(request).await
    }

    pub async fn trim(&self, request: Request) -> Result<()> {
        self.keep(&request).await?;
        self.handle.trim(request).await
    }

    pub fn went_back(&self) -> bool {
        self.handle.went_back()
    }

    pub fn reopen(&self) {
        self.handle.reopen();
    }

    pub async fn write_zeroes(&self, request: Request) -> Result<()> {
        self.keep(&request).await?;
        self.handle.write_zeroes(request).await
    }
}
