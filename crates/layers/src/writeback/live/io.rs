//! Small helpers of the shell: transfers of any length, work side by side, waiting.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

pub use fathom_runtime::until;
use fathom_runtime::{Context, Nanos, Signal, first};
use fathom_volume::{Answer, Buf, Handle, Request, Result};

use crate::side_by_side::side_by_side;

/// Writes a buffer, in as many requests as the volume needs.
pub async fn write(volume: &Handle, offset: u64, from: &Buf, fua: bool) -> Result<()> {
    let part = |at: usize, buf: Buf| {
        volume.write(Request::new(offset + at as u64, buf.len() as u64).with_fua(fua), buf)
    };
    transfer(volume, from, part).await
}

/// As [`write`], on behalf of a request.
pub async fn write_for(request: &Request, volume: &Handle, offset: u64, from: &Buf) -> Result<()> {
    let part = |at: usize, buf: Buf| volume.write(request.part(offset + at as u64, buf.len() as u64), buf);
    transfer(volume, from, part).await
}

/// Fills a buffer, in as many requests as the volume needs.
pub async fn read(volume: &Handle, offset: u64, into: &Buf) -> Result<()> {
    let part = |at: usize, buf: Buf| volume.read(Request::new(offset + at as u64, buf.len() as u64), buf);
    transfer(volume, into, part).await
}

/// As [`read`], on behalf of a request.
pub async fn read_for(request: &Request, volume: &Handle, offset: u64, into: &Buf) -> Result<()> {
    let part = |at: usize, buf: Buf| volume.read(request.part(offset + at as u64, buf.len() as u64), buf);
    transfer(volume, into, part).await
}

async fn transfer<'a>(volume: &Handle, whole: &Buf, part: impl Fn(usize, Buf) -> Answer<'a>) -> Result<()> {
    let most = volume.geometry().max_transfer as usize;
    if whole.len() <= most {
        return part(0, whole.clone()).await;
    }
    let most = most - most % volume.geometry().physical_sector.min(volume.geometry().max_transfer) as usize;
    let parts =
        (0..whole.len()).step_by(most).map(|at| part(at, whole.slice(at..(at + most).min(whole.len()))));
    side_by_side(parts.collect()).await
}

/// Works on all items, at most `width` at once, and waits for all; the first error in the order of workers.
pub async fn at_once<T, F, W>(context: &Context, width: usize, items: Vec<T>, work: W) -> Result<()>
where
    T: 'static,
    F: Future<Output = Result<()>> + 'static,
    W: Fn(T) -> F + 'static,
{
    let workers = width.min(items.len());
    let shared = Rc::new((RefCell::new(items.into_iter()), work));
    let start = |_| {
        let shared = Rc::clone(&shared);
        context.spawn(async move {
            loop {
                let next = shared.0.borrow_mut().next();
                let Some(item) = next else { return Ok(()) };
                shared.1(item).await?;
            }
        })
    };
    let started: Vec<_> = (0..workers).map(start).collect();
    let mut result = Ok(());
    for worker in started {
        result = result.and(worker.await);
    }
    result
}

/// Waits for the signal, but not beyond an instant.
pub async fn signal_or(context: &Context, signal: impl Future<Output = ()>, at: Option<Nanos>) {
    match at {
        Some(at) => {
            first(signal, context.sleep_until(at)).await;
        }
        None => signal.await,
    }
}

/// A turn that one at a time has.
#[derive(Default)]
pub struct Turn {
    taken: Cell<bool>,
    given_back: Signal,
}

/// The turn of whoever holds this.
pub struct Taken<'a>(&'a Turn);

impl Turn {
    /// Waits for the turn.
    pub async fn take(&self) -> Taken<'_> {
        until(&self.given_back, || (!self.taken.get()).then(|| self.taken.set(true))).await;
        Taken(self)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.taken.set(false);
        self.0.given_back.notify();
    }
}
