//! Disks of our own under the daemon: served over NBD, with a write cache that a power cut drops, keeps, tears, reorders.

mod fault;
pub mod image;
pub mod power;
mod server;
mod volatile;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::chance::Chance;
pub use fault::{Failing, Fault};
pub use image::{BLOCK, Image};
pub use power::Power;
pub use volatile::{CUTS, Cut, Volatile};

/// A disk, and who is connected.
#[derive(Debug)]
struct State {
    disk: Volatile,
    /// How it fails; None: it works.
    fault: Option<Fault>,
    connections: usize,
    online: bool,
}

/// What the threads of a disk share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// A connection has ended.
    ended: Condvar,
    power: Arc<Power>,
    socket: PathBuf,
    sector: u32,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A disk served at a Unix socket until this is dropped.
#[derive(Debug)]
pub struct Disk {
    shared: Arc<Shared>,
}

impl Disk {
    /// Serves a blank disk.
    pub fn new(
        socket: &Path,
        size: u64,
        sector: u32,
        power: &Arc<Power>,
        lies: bool,
    ) -> std::io::Result<Self> {
        let state = State { disk: Volatile::new(size, lies), fault: None, connections: 0, online: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            ended: Condvar::new(),
            power: power.clone(),
            socket: socket.to_owned(),
            sector,
        });
        let disk = Self { shared };
        disk.attach()?;
        Ok(disk)
    }

    /// Listens (again).
    pub fn attach(&self) -> std::io::Result<()> {
        if std::mem::replace(&mut self.shared.state().online, true) {
            return Ok(());
        }
        server::listen(&self.shared)
    }

    /// Listens no more.
    pub fn detach(&self) {
        if std::mem::replace(&mut self.shared.state().online, false) {
            server::wake(&self.shared);
        }
    }

    /// Sets how it fails from now on; None: it works.
    pub fn fail(&self, fault: Option<Fault>) {
        self.shared.state().fault = fault;
    }

    /// Waits until nobody is connected: everything that was sent has been done.
    pub fn settle(&self) {
        let mut state = self.shared.state();
        while state.connections > 0 {
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What readers see now.
    pub fn image(&self) -> Image {
        self.shared.state().disk.visible().clone()
    }

    /// Where data was written last, in the order of writes.
    pub fn written(&self) -> Vec<(u64, u64)> {
        self.shared.state().disk.written().collect()
    }

    /// What readers see of all these disks at one moment.
    pub fn images(disks: &[&Self]) -> Vec<Image> {
        // Each thread that serves holds one of them at a time.
        let states: Vec<_> = disks.iter().map(|disk| disk.shared.state()).collect();
        states.iter().map(|state| state.disk.visible().clone()).collect()
    }

    /// Replaces its content.
    pub fn replace(&self, image: Image) {
        self.shared.state().disk.replace(image);
    }

    /// Applies a power cut to the writes that no flush has covered.
    pub fn cut(&self, cut: Cut, chance: &mut Chance) {
        let sector = u64::from(self.shared.sector);
        self.shared.state().disk.cut(cut, sector, chance);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.detach();
    }
}
