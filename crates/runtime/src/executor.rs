//! The executor: runs tasks until a future is done, by one of two drivers.

use std::future::Future;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

#[cfg(feature = "real")]
use crate::Ring;
use crate::RingSetup;
#[cfg(feature = "real")]
use crate::busy::BusyPoll;
#[cfg(feature = "real")]
use crate::clock::monotonic;
use crate::context::Context;
use crate::inner::{Deadlock, Driver, Inner, POLLS_PER_RING_ENTRY};
use crate::tasks::{Running, main_waker};

/// An executor on this thread. Not `Send`: its tasks, timers and buffers never leave the thread.
pub struct Runtime {
    inner: Rc<Inner>,
}

impl Runtime {
    /// An executor in virtual time: the clock jumps to the next timer whenever nothing is ready.
    pub fn virtual_time(seed: u64) -> Self {
        Self::new(Driver::Virtual, seed)
    }

    /// An executor on the monotonic clock with one io_uring.
    ///
    /// # Errors
    /// The kernel's error when a ring cannot be created (too old a kernel, io_uring disabled by sysctl or seccomp).
    #[cfg(feature = "real")]
    pub fn real(setup: RingSetup, seed: u64) -> std::io::Result<Self> {
        // The default slack of 50 us would be added to each modelled latency.
        // SAFETY: PR_SET_TIMERSLACK takes an integer and touches no memory.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        let ring = Ring::new(setup)?;
        let busy = if setup.busy_poll { BusyPoll::measured(&ring) } else { BusyPoll::default() };
        Ok(Self::new(Driver::Real { ring, start: monotonic(), busy }, seed))
    }

    /// The real driver is not in this build.
    ///
    /// # Errors
    /// Always, as unsupported.
    #[cfg(not(feature = "real"))]
    pub fn real(_: RingSetup, _: u64) -> std::io::Result<Self> {
        let why = "this build has no real driver: it was made without the feature `real`";
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why))
    }

    fn new(driver: Driver, seed: u64) -> Self {
        Self { inner: Rc::new(Inner::new(driver, seed)) }
    }

    /// What tasks are handed: clock, sleep, spawn, randomness.
    pub fn context(&self) -> Context {
        Context::new(Rc::clone(&self.inner))
    }

    /// Runs a future, and every spawned task beside it, until the future is done. Tasks that are not done stay and go
    /// on at the next call.
    ///
    /// # Errors
    /// [`Deadlock`] when nothing can ever wake the future again.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Deadlock> {
        let _running = Running::enter(&self.inner.tasks);
        let inner = &self.inner;
        let main_woken = inner.tasks.main_woken();
        let mut future = std::pin::pin!(future);
        let waker = main_waker();
        inner.invalidate_clock();
        main_woken.set(true);
        let mut polls = POLLS_PER_RING_ENTRY;
        loop {
            if main_woken.replace(false) {
                inner.spend(&mut polls);
                if let Poll::Ready(output) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
                    return Ok(output);
                }
            }
            let idle = inner.run_ready(&mut polls) && !main_woken.get();
            if idle {
                inner.park()?;
            } else if polls == 0 {
                inner.serve_ring();
            } else {
                continue;
            }
            polls = POLLS_PER_RING_ENTRY;
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Tasks hold contexts, which hold the executor: take the tasks out first, or the cycle never ends. Their
        // destructors may wake each other.
        let _running = Running::enter(&self.inner.tasks);
        drop(self.inner.tasks.take_all());
    }
}
