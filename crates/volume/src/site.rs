//! The site of a run: one executor, and the volumes on it.

use std::io;
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
pub enum NoRing {
    /// The kernel has none, or does not admit it.
    #[error(
        "io_uring is not available here ({0}); run in virtual time, or allow it: kernel 5.11 or newer, sysctl \
         kernel.io_uring_disabled=0, and in a container a seccomp profile that admits it"
    )]
    Refused(io::Error),
    /// It counts as locked memory, of which a user who is not root may have only so much (io_uring_setup(2), ENOMEM).
    #[error(
        "io_uring gets no memory here ({0}); raise the limit of locked memory to 1 MiB (`ulimit -l 1024`, or \
         LimitMEMLOCK=1M in the unit of systemd), or free memory"
    )]
    Memory(io::Error),
}

impl From<io::Error> for NoRing {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::OutOfMemory { Self::Memory(error) } else { Self::Refused(error) }
    }
}

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
        let runtime = Runtime::real(setup, seed)?;
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::NoRing;

    #[test]
    fn too_little_locked_memory_is_no_missing_io_uring() {
        // ENOMEM and EPERM.
        let told = [12, 1].map(|errno| NoRing::from(io::Error::from_raw_os_error(errno)).to_string());
        assert!(told[0].contains("LimitMEMLOCK") && !told[0].contains("seccomp"), "{}", told[0]);
        assert!(told[1].contains("seccomp") && !told[1].contains("LimitMEMLOCK"), "{}", told[1]);
    }
}
