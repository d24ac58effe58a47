//! Whether a file is still what was opened: what a failed flush has dropped and what was cut off its end are gone, and no later
//! request may pass over that.

use fathom_volume::{Error, ErrorKind, Kind, Request, Result};

use super::File;
use crate::file::kernel::{self, Sort};

/// Why everything fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// What was to become durable may be lost. Who knows what that was can write it again after a reopen.
    Unflushed,
    /// It ended there, and everything behind that was lost: later writes would fill the gap with zeroes.
    CutShort(u64),
}

impl File {
    #[inline]
    pub(super) fn check(&self, kind: Kind) -> Result<()> {
        if self.fenced.get().is_some() || (self.read_only && kind != Kind::Read) {
            self.refuse(kind)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn refuse(&self, kind: Kind) -> Result<()> {
        let (error, why) = match self.why_fenced() {
            Some(why) => (ErrorKind::Fenced, why),
            None => (ErrorKind::Misuse, "it is read_only".to_owned()),
        };
        Err(Error::new(error, format!("file `{}`: {}: {why}", self.path, kind.name())))
    }

    /// Why every request fails, if it does.
    pub(super) fn why_fenced(&self) -> Option<String> {
        self.fenced.get().map(|fence| match fence {
            Fence::Unflushed => {
                "a flush or a write with FUA failed, and what was written before may be lost; reopen the volume".to_owned()
            }
            Fence::CutShort(at) => self.gone_behind(at),
        })
    }

    fn gone_behind(&self, at: u64) -> String {
        format!(
            "it ended at byte {at} of {}: something made it shorter, and what it held behind that is gone. Bring back what it held and \
             restart",
            self.geometry.size
        )
    }

    /// Nothing is served from a file any more that ends too early.
    pub(super) fn cut_short(&self, at: u64) -> Error {
        self.fenced.set(Some(Fence::CutShort(at)));
        Error::new(ErrorKind::Io, format!("file `{}`: {}", self.path, self.gone_behind(at)))
    }

    /// Whether nobody has made the file shorter. A write beyond its end makes it longer again, with zeroes before that: so it is
    /// looked at when writes become durable, and before one that ends where the file should.
    pub(super) fn is_whole(&self) -> Result<()> {
        let length = if self.sort == Sort::Regular { kernel::length(&self.file) } else { None };
        let short = length.filter(|length| *length < self.geometry.size);
        short.map_or(Ok(()), |length| Err(self.cut_short(length)))
    }

    /// Fences the file if what failed was to make things durable: the kernel may have dropped what it could not write, and
    /// would call the next flush good.
    pub(super) fn mistrust(&self, errno: i32, kind: Kind, request: &Request) {
        // Past the page cache, space is found before anything is written: such a write has not come to its flush.
        let full = matches!(errno, libc::ENOSPC | libc::EDQUOT);
        let durable = kind == Kind::Flush || kind == Kind::Write && self.is_synchronous(request) && !full;
        if durable && self.fenced.get().is_none() {
            self.fenced.set(Some(Fence::Unflushed));
        }
    }

    /// Trusts it again, unless a part of it is gone.
    pub(super) fn trust(&self) {
        if self.fenced.get() == Some(Fence::Unflushed) {
            self.fenced.set(None);
        }
    }

    pub(super) fn failure(&self, errno: i32, kind: Kind, request: &Request) -> Error {
        let Request { offset, length, .. } = request;
        let what = match kind {
            Kind::Flush => "flush".to_owned(),
            _ => format!("{} of {length} bytes at offset {offset}", kind.name()),
        };
        let remedy = match (errno, self.sort) {
            (libc::ENOSPC | libc::EDQUOT, Sort::Regular) => {
                " (free some space, or create the file with allocation = \"reserved\")"
            }
            // The kernel's word for what lies behind a device's end, and for a thin volume whose pool is full.
            (libc::ENOSPC, Sort::Block) => {
                " (the device has become shorter than it was, or the pool below it is full: give it its size back, or space)"
            }
            _ => "",
        };
        Error::from_errno(errno, &format!("file `{}`: {what}{remedy}", self.path))
    }
}
