//! One device of a stack: a disk of our own or a plain file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, Image, Power};

/// What a device is to its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The log, one of one or two.
    Cache,
    /// What is behind a cache.
    Backing,
    /// The redo ring on a device of its own.
    Ring,
    /// A leg of a mirror.
    Leg,
    /// A member of a stripe or a pool.
    Member,
}

/// Where a device's content is.
#[derive(Debug)]
enum Store {
    Served(Disk),
    File(PathBuf),
}

/// What makes a disk of ours.
#[derive(Debug, Clone, Copy)]
pub struct DiskOptions<'a> {
    /// Bytes of a sector.
    pub sector: u32,
    pub power: &'a Arc<Power>,
    /// Whether its flushes do nothing.
    pub lies: bool,
}

/// One device.
#[derive(Debug)]
pub struct Device {
    pub name: String,
    pub role: Role,
    store: Store,
    /// Bytes.
    pub size: u64,
}

impl Device {
    /// A blank one: a file in this folder, or a disk that is served there.
    pub fn new(
        folder: &Path,
        name: String,
        role: Role,
        size: u64,
        disk: Option<DiskOptions<'_>>,
    ) -> std::io::Result<Self> {
        let store = if let Some(DiskOptions { sector, power, lies }) = disk {
            Store::Served(Disk::new(&folder.join(format!("{name}.sock")), size, sector, power, lies)?)
        } else {
            let path = folder.join(&name);
            Image::new(size).save(&path)?;
            Store::File(path)
        };
        Ok(Self { name, role, store, size })
    }

    /// Where data was written last, in the order of writes; nothing if that is not known.
    pub fn written(&self) -> Vec<(u64, u64)> {
        self.disk().map_or_else(Vec::new, Disk::written)
    }

    /// What it holds.
    pub fn image(&self) -> Result<Image, String> {
        match &self.store {
            Store::Served(disk) => Ok(disk.image()),
            Store::File(path) => {
                let away = path.with_extension("away");
                let path = if away.exists() { &away } else { path };
                Image::load(path).map_err(|error| format!("{}: {error}", path.display()))
            }
        }
    }

    /// Holds something else.
    pub fn replace(&self, image: &Image) -> Result<(), String> {
        match &self.store {
            Store::Served(disk) => {
                disk.replace(image.clone());
                Ok(())
            }
            Store::File(path) => image.save(path).map_err(|error| format!("{}: {error}", path.display())),
        }
    }

    /// Is not there.
    pub fn detach(&self) {
        match &self.store {
            Store::Served(disk) => disk.detach(),
            Store::File(path) => {
                let _ = std::fs::rename(path, path.with_extension("away"));
            }
        }
    }

    /// Is there (again).
    pub fn attach(&self) -> Result<(), String> {
        match &self.store {
            Store::Served(disk) => disk.attach().map_err(|error| error.to_string()),
            Store::File(path) => {
                let _ = std::fs::rename(path.with_extension("away"), path);
                Ok(())
            }
        }
    }

    /// The disk, if it is one of ours.
    pub fn disk(&self) -> Option<&Disk> {
        match &self.store {
            Store::Served(disk) => Some(disk),
            Store::File(_) => None,
        }
    }
}
