//! One user: a stream of requests, a buffer, and how a request is carried out.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::Random;
use fathom_volume::{Buf, Handle, Kind, Pool, Request, Result};

use super::profile::Profile;
use super::source::{Operation, Source};

/// One user of a workload.
pub struct User {
    /// Where its requests come from.
    pub source: Source,
    volumes: Vec<Handle>,
    // Used again for each request.
    buffer: Option<Buf>,
    largest: usize,
    fua: bool,
    flush_every: u32,
    // Writes since the last flush, of all users of the worker.
    unflushed: Rc<Cell<u32>>,
}

impl User {
    /// The users of one worker.
    pub fn of_worker(profile: &Profile, sources: Vec<Source>) -> Vec<Self> {
        let unflushed = Rc::new(Cell::new(0));
        let user = |source: Source| Self {
            volumes: source.volumes(),
            source,
            buffer: None,
            largest: profile.largest() as usize,
            fua: profile.fua,
            flush_every: profile.flush_every,
            unflushed: Rc::clone(&unflushed),
        };
        sources.into_iter().map(user).collect()
    }

    /// Gives the user its buffer; to be called once, before its first request.
    pub fn equip(&mut self, pool: &Pool, random: &mut Random) {
        let buffer = pool.get(self.largest);
        // Random bytes: a device that compresses or deduplicates must not look fast.
        buffer.with_mut(|bytes| random.fill(bytes));
        self.buffer = Some(buffer);
    }

    /// The user's volume of that number.
    pub fn volume(&self, index: usize) -> &Handle {
        &self.volumes[index]
    }

    /// The first `length` bytes of the user's buffer.
    #[inline]
    pub fn buffer(&self, length: u64) -> Buf {
        let buffer = self.buffer.as_ref().expect("a user is equipped before its first request");
        if length == buffer.len() as u64 { buffer.clone() } else { buffer.slice(0..length as usize) }
    }

    /// Carries a request out, with the flush that may follow it.
    #[inline]
    pub async fn perform(&self, operation: &Operation) -> Result<()> {
        let volume = &self.volumes[operation.volume];
        let request = Request::new(operation.offset, operation.length);
        match operation.kind {
            Kind::Read => volume.read(request, self.buffer(operation.length)).await,
            Kind::Write => {
                volume.write(request.with_fua(self.fua), self.buffer(operation.length)).await?;
                self.flush_if_due(volume).await
            }
            Kind::Trim => volume.trim(request).await,
            Kind::Flush | Kind::WriteZeroes => unreachable!("a stream holds reads, writes and trims"),
        }
    }

    #[inline]
    async fn flush_if_due(&self, volume: &Handle) -> Result<()> {
        if self.flush_every == 0 {
            return Ok(());
        }
        let unflushed = self.unflushed.get() + 1;
        if unflushed < self.flush_every {
            self.unflushed.set(unflushed);
            return Ok(());
        }
        self.unflushed.set(0);
        volume.flush(Request::flush()).await
    }
}
