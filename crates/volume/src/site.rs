//! The site of a run: one executor, and the volumes on it.

use std::path::{Path, PathBuf};

use fathom_runtime::{Context, RingSetup, Runtime};

use crate::buffer::Pool;

/// One executor with the memory of its requests. Stacks of volumes are its tenants; there may be several, or none.
pub struct Site {
    // Dropped before the executor that its buffers belong to.
    pool: Pool,
    directory: PathBuf,
    runtime: Runtime,
}

/// The real driver is not available.
#[derive(Debug, thiserror::Error)]
#[error(
    "io_uring is not available here ({0}); run in virtual time, or allow it: kernel 5.11 or newer, sysctl \
     kernel.io_uring_disabled=0, and in a container a seccomp profile that admits it"
)]
pub struct NoRing(std::io::Error);

impl Site {
    /// A site in virtual time, with a seed for everything random. Without payload buffers hold no bytes; only their lengths
    /// travel.
    pub fn virtual_time(seed: u64, payload: bool) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let pool = if payload { Pool::new(&runtime.context()) } else { Pool::hollow() };
        Self { pool, directory: PathBuf::new(), runtime }
    }

    /// A site on the monotonic clock, with a ring that is set up as its user needs it.
    ///
    /// # Errors
    /// This system has no io_uring, or does not admit it.
    pub fn real(setup: RingSetup, seed: u64) -> Result<Self, NoRing> {
        let runtime = Runtime::real(setup, seed).map_err(NoRing)?;
        let pool = Pool::new(&runtime.context());
        Ok(Self { pool, directory: PathBuf::new(), runtime })
    }

    /// The same with relative paths of settings that begin in `directory`; without, in the working directory.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.directory = directory.to_owned();
        self
    }

    /// Where relative paths of settings begin.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The executor.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Clock, sleep, spawn, randomness.
    pub fn context(&self) -> Context {
        self.runtime.context()
    }

    /// Where buffers come from; hollow in a simulation without payload.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}
