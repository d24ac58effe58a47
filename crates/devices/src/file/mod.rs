//! `file`: a file or block device of this machine, through io_uring.
//!
//! # What it does
//! Reads and writes a regular file or a block device by io_uring, bypassing the page cache (O_DIRECT), with registered
//! files and buffers where the kernel offers them. A flush is fdatasync, a write with FUA is a synchronous write, a
//! trim punches a hole, write-zeroes lets the file system zero the range. Sectors, alignment, queue depth and write
//! cache are those the kernel reports. Short transfers are completed, interrupted ones repeated.
//!
//! A path that does not exist is created if `size` is given. `allocation` says how: `sparse` takes space when it is
//! first written; `reserved` takes it at once (writes still convert it the first time); `written` fills it with zeroes,
//! so that later writes only overwrite, like a database's files after a while. The file gets its name once it is whole.
//!
//! # Why
//! Real storage to measure, cache, stripe and serve.
//!
//! # Safety
//! A block device is opened exclusively, a file is locked, also one below a loop device: two programs, or two volumes of one
//! program, cannot use the same one. With `read_only` the lock is shared: other readers are let in, and
//! a writer waits for them 10 s long and is then refused. After a failed flush or write with FUA everything fails until the volume is opened
//! again, because the kernel may have dropped what it could not write, and would report the next flush as good. A `mirror`
//! that takes its leg back opens it again: it copies all regions that were written since all legs were flushed. A disk
//! without space for a write has lost nothing.
//!
//! A file that something made shorter while it was open fails everything until the next start, also after a reopen: what it held is
//! gone, and later writes would make it longer again, with zeroes in the gap. A read behind its end, a flush, a write with FUA and a
//! write to its end notice that. Reads that come before any of these may show such zeroes.
//!
//! # When it is not there
//! A file or device that does not exist, returns an I/O error or is shorter than `size` is an error, with two
//! exceptions: the leg of a `mirror` and one of two cache devices of a `writeback`. Those are built without it, and
//! decide by their own rules. A mirror looks for it every `retry`. Without `size`, the size of the others applies
//! meanwhile. A directory in its place, missing rights, a lock that another program holds and a read-only file system
//! are errors here too, because a device that exists must not be left behind by mistake.
//!
//! # Example
//! ```toml
//! [volumes.nvme]
//! kind = "file"
//! path = "/dev/nvme1n1"
//!
//! [volumes.scratch]
//! kind = "file"
//! path = "scratch.img"
//! size = "8GiB"
//! allocation = "written"
//! ```
//!
//! # Limits
//! Only in real time. Where a file system does not support direct I/O, `direct = "prefer"` goes through the page cache
//! and the run's facts say so (`direct_io`). A trim of a block device whose driver has no asynchronous trim blocks the
//! executor while it lasts. An existing file is never made larger or shorter. A server of volumes creates no file at
//! its start; `fathomd --create` does.

mod absent;
mod backing;
mod kernel;
mod live;
mod new;
mod open;
#[cfg(test)]
mod tests;

use std::path::Path;

use fathom_settings::{Choice, Key, Section};
use fathom_volume::{Blueprint, Env, Handle, NamedFile, NodeKind, Result, manual};

pub use backing::paths_below;
pub use live::File;
use open::{Opened, Refusal, is_there, open};

use crate::patience::Patience;
use crate::{memory, sectors};

/// How a new file gets its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// When it is first written.
    Sparse,
    /// At once, unwritten.
    Reserved,
    /// At once, filled with zeroes.
    Written,
}

impl Choice for Allocation {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("sparse", Self::Sparse), ("reserved", Self::Reserved), ("written", Self::Written)];
}

/// Whether the page cache is passed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// Yes, where the file system can.
    Prefer,
    /// Yes, or not at all.
    Require,
    /// No.
    Off,
}

impl Choice for Direct {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("prefer", Self::Prefer), ("require", Self::Require), ("off", Self::Off)];
}

/// Settings of a file volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file or block device; a relative path begins in the environment's directory.
    pub path: String,
    /// Bytes of it to use, and to create it with; None for all there is.
    pub size: Option<u64>,
    /// How a new file gets its space.
    pub allocation: Allocation,
    /// Whether the page cache is passed by.
    pub direct: Direct,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether a missing file is made if its size is given. No key: who opens the volume decides.
    pub create: bool,
    /// Whether who opens the volume can go on without it. No key either.
    pub may_be_absent: bool,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "file",
    summary: "a file or block device of this machine, through io_uring",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required("path", "path", "The file or block device; relative to the run's directory."),
        Key::optional(
            "size",
            "size",
            "all there is",
            "Bytes of it to use; a file that is not there is created.",
        ),
        Key::optional(
            "allocation",
            "`sparse`, `reserved` or `written`",
            "sparse",
            "How a new file gets its space.",
        ),
        Key::optional(
            "direct",
            "`prefer`, `require` or `off`",
            "prefer",
            "Whether the page cache is passed by.",
        ),
        Key::optional("read_only", "true or false", "false", "Whether writes are refused."),
    ],
    outside: true,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// All of an existing file or block device, past the page cache where possible.
    pub fn of_path(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            size: None,
            allocation: Allocation::Sparse,
            direct: Direct::Prefer,
            read_only: false,
            create: true,
            may_be_absent: false,
        }
    }

    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let path = section.required::<String>("path").filter(|path| {
            let usable = !path.is_empty() && !path.contains('\0');
            if !usable {
                section.error_at("path", "this is no path", "name a file or a block device");
            }
            usable
        });
        let size = sectors::optional_size(section, 512);
        let allocation = section.or("allocation", Allocation::Sparse);
        let direct = section.or("direct", Direct::Prefer);
        let read_only = section.or("read_only", false);
        section.is_clean().then_some(Self {
            path: path?,
            size,
            allocation,
            direct,
            read_only,
            create: true,
            may_be_absent: false,
        })
    }

    fn at(&self, path: &Path) -> Self {
        Self { path: path.to_string_lossy().into_owned(), ..self.clone() }
    }
}

/// A volume of an open file.
fn served(env: &Env, name: &str, config: &Config, opened: Opened) -> Result<Handle> {
    if opened.is_new {
        env.made(name, Path::new(&config.path), &opened.file);
    }
    Handle::new(&env.context, name, KIND.name, File::of(&env.context, &env.pool, config, opened)?)
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        Vec::new()
    }

    fn stand_in(&self) -> Option<Box<dyn Blueprint>> {
        Some(Box::new(memory::Config::of_size(self.size?)))
    }

    fn file(&self) -> Option<NamedFile<'_>> {
        Some(NamedFile { path: &self.path, read_only: self.read_only })
    }

    fn build(&self, env: &Env, name: &str, _: Vec<Handle>) -> Result<Handle> {
        let (create, may_be_absent) = (self.create && env.may_create(), env.may_be_absent());
        let wanted = Self { create, may_be_absent, ..self.at(&env.path(&self.path)) };
        let config = Self { read_only: self.read_only || env.is_for_reading(), ..wanted.clone() };
        if let Some(blank) = self.stand_in().filter(|_| env.takes_new_for_blank() && self.create)
            && !is_there(&wanted.path)
        {
            return blank.build(env, name, Vec::new());
        }
        let handle = if env.may_be_absent() {
            absent::build(env, name, config)?
        } else {
            File::can_be(&env.context, &env.pool, &config)?;
            match open(&config, Patience::Usual).map_err(Refusal::into_error) {
                Ok(opened) => served(env, name, &config, opened)?,
                // It is there, and no start takes it. A check says so, and looks at the other volumes.
                Err(error) if env.is_for_reading() && error.key() == Some("size") => {
                    env.refuse(name, KIND.name, error.clone());
                    return absent::stand_in(env, name, config, error);
                }
                Err(error) => return Err(error),
            }
        };
        if env.is_for_reading() && !self.read_only {
            match open::try_for_writing(&wanted) {
                Err(Refusal::Absent(_)) if env.may_be_absent() => {}
                Err(refusal) => env.refuse(name, KIND.name, refusal.into_error()),
                Ok(()) => {}
            }
        }
        Ok(handle)
    }
}
