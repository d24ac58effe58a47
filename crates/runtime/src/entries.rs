//! The io_uring itself, with submission entries of 64 bytes or of 128: commands to FUSE and to ublk need the wide ones,
//! everything else is a little cheaper with narrow ones.

use std::io;

use io_uring::squeue::{Entry, Entry128};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, Submitter};

use crate::RingSetup;

/// A ring of one of the two widths.
pub(crate) enum Entries {
    Narrow(IoUring),
    Wide(IoUring<Entry128>),
}

/// An entry of either width.
pub trait AnyEntry {
    /// The same under a user data of the ring's choice.
    #[doc(hidden)]
    #[must_use]
    fn marked(self, user_data: u64) -> Self;

    /// Queues it; false if the queue is full.
    ///
    /// # Safety
    /// What the entry points to stays in place until its completion.
    #[doc(hidden)]
    unsafe fn queue(&self, entries: &mut Queue<'_>) -> bool;
}

/// Where entries are queued.
#[doc(hidden)]
pub struct Queue<'a>(pub(crate) &'a mut Entries);

impl AnyEntry for Entry {
    #[inline]
    fn marked(self, user_data: u64) -> Self {
        self.user_data(user_data)
    }

    #[inline]
    unsafe fn queue(&self, entries: &mut Queue<'_>) -> bool {
        match entries.0 {
            // SAFETY: by contract.
            Entries::Narrow(ring) => unsafe { ring.submission().push(self) }.is_ok(),
            // SAFETY: by contract.
            Entries::Wide(ring) => unsafe { ring.submission().push(&self.clone().into()) }.is_ok(),
        }
    }
}

impl AnyEntry for Entry128 {
    fn marked(self, user_data: u64) -> Self {
        self.user_data(user_data)
    }

    unsafe fn queue(&self, entries: &mut Queue<'_>) -> bool {
        match entries.0 {
            Entries::Narrow(_) => panic!("a wide entry needs a ring that was set up as wide"),
            // SAFETY: by contract.
            Entries::Wide(ring) => unsafe { ring.submission().push(self) }.is_ok(),
        }
    }
}

impl Entries {
    /// Completions are reaped by this thread only and only when it asks (kernel 6.1); older kernels get a plain ring, and
    /// those that know no wide entries (before 5.19) a narrow one.
    pub fn new(setup: RingSetup) -> io::Result<Self> {
        let completions = setup.entries * 4;
        if setup.wide {
            let ring = IoUring::<Entry128>::builder()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_cqsize(completions)
                .build(setup.entries)
                .or_else(|_| IoUring::<Entry128>::builder().setup_cqsize(completions).build(setup.entries));
            if let Ok(ring) = ring {
                return Ok(Self::Wide(ring));
            }
        }
        IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(completions)
            .build(setup.entries)
            .or_else(|_| IoUring::builder().setup_cqsize(completions).build(setup.entries))
            .map(Self::Narrow)
    }

    pub fn is_wide(&self) -> bool {
        matches!(self, Self::Wide(_))
    }

    #[inline]
    pub fn submitter(&self) -> Submitter<'_> {
        match self {
            Self::Narrow(ring) => ring.submitter(),
            Self::Wide(ring) => ring.submitter(),
        }
    }

    #[inline]
    pub fn completion(&mut self) -> CompletionQueue<'_> {
        match self {
            Self::Narrow(ring) => ring.completion(),
            Self::Wide(ring) => ring.completion(),
        }
    }

    /// Entries that the kernel has not been handed yet.
    #[inline]
    pub fn waiting(&mut self) -> usize {
        match self {
            Self::Narrow(ring) => ring.submission().len(),
            Self::Wide(ring) => ring.submission().len(),
        }
    }

    /// Hands over what waits, and waits for one completion: for ever, or for a span.
    #[inline]
    pub fn wait(&self, span: Option<Timespec>) -> io::Result<usize> {
        match span {
            None => self.submitter().submit_and_wait(1),
            Some(span) => self.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&span)),
        }
    }
}
