//! One user: a stream of requests, a buffer, and how a request is carried out.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::Random;
use fathom_volume::{Answer, Buf, Handle, Kind, Pool, Request, Result};

use super::profile::Profile;
use super::source::{Operation, Source};

/// One user of a workload.
pub struct User {
    /// Where its requests come from.
    pub source: Source,
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
    pub fn give_buffer(&mut self, pool: &Pool, random: &mut Random) {
        let buffer = pool.get(self.largest);
        // Random bytes: a device that compresses or deduplicates must not look fast.
        buffer.with_mut(|bytes| random.fill(bytes));
        self.buffer = Some(buffer);
    }

    /// The user's volume of that number.
    pub fn volume(&self, index: usize) -> &Handle {
        self.source.volume(index)
    }

    /// The first `length` bytes of the user's buffer.
    #[inline]
    pub fn buffer(&self, length: u64) -> Buf {
        let buffer = self.buffer.as_ref().expect("a user is equipped before its first request");
        if length == buffer.len() as u64 { buffer.clone() } else { buffer.slice(0..length as usize) }
    }

    /// Carries a request out, with the flush that may follow it.
    pub async fn perform(&self, operation: &Operation) -> Result<()> {
        self.start(operation).await?;
        match self.flush_if_due(operation) {
            Some(flush) => flush.await,
            None => Ok(()),
        }
    }

    /// A request without the flush that may follow it.
    #[inline(always)]
    pub fn start(&self, operation: &Operation) -> Answer<'_> {
        let volume = self.volume(operation.volume);
        let request = Request::new(operation.offset, operation.length);
        match operation.kind {
            Kind::Read => volume.read(request, self.buffer(operation.length)),
            Kind::Write => volume.write(request.with_fua(self.fua), self.buffer(operation.length)),
            Kind::Trim => volume.trim(request),
            Kind::Flush | Kind::WriteZeroes => unreachable!("a stream holds reads, writes and trims"),
        }
    }

    /// The flush that is due after a request that succeeded.
    #[inline]
    pub fn flush_if_due(&self, operation: &Operation) -> Option<Answer<'_>> {
        if self.flush_every == 0 || operation.kind != Kind::Write {
            return None;
        }
        let unflushed = self.unflushed.get() + 1;
        if unflushed < self.flush_every {
            self.unflushed.set(unflushed);
            return None;
        }
        self.unflushed.set(0);
        Some(self.volume(operation.volume).flush(Request::flush()))
    }
}
