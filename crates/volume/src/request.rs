//! A request to a volume.

use std::cell::Cell;

use fathom_runtime::Nanos;

/// The five things a volume can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Read bytes.
    Read,
    /// Write bytes, durable on completion if FUA (force unit access) is set.
    Write,
    /// Make everything completed so far durable.
    Flush,
    /// Tell that a range's content is no longer needed.
    Trim,
    /// Make a range read as zeroes.
    WriteZeroes,
}

impl Kind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Trim, Self::WriteZeroes];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Trim => "trim",
            Self::WriteZeroes => "write_zeroes",
        }
    }
}

/// On whose behalf a request is made; a scheduler distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Class {
    /// A user waits for it.
    #[default]
    Foreground,
    /// A rebuild of a copy, or extents that move to another volume.
    Resync,
    /// What a cache holds is brought to the volume behind it.
    Destage,
    /// What is there is read and compared with its checksums.
    Scrub,
    /// What is read often is brought to a faster device.
    Fill,
}

impl Class {
    /// All classes, in the order of their discriminants.
    pub const ALL: [Self; 5] = [Self::Foreground, Self::Resync, Self::Destage, Self::Scrub, Self::Fill];

    /// The name used in status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Foreground => "users",
            Self::Resync => "resync",
            Self::Destage => "destage",
            Self::Scrub => "scrub",
            Self::Fill => "fill",
        }
    }
}

/// What a request says beside its range; small enough for a register.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    fua: bool,
    class: Class,
}

/// One request, as a layer or device sees it. The seam has checked range, alignment and flags.
#[derive(Debug)]
pub struct Request {
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub length: u64,
    /// Force unit access: durable on completion. Only ever set on writes and write-zeroes.
    pub fua: bool,
    /// On whose behalf.
    pub class: Class,
    waited: Cell<Nanos>,
}

impl Request {
    /// A request for a range.
    #[inline]
    pub fn new(offset: u64, length: u64) -> Self {
        Self { offset, length, fua: false, class: Class::Foreground, waited: Cell::new(0) }
    }

    /// A flush.
    pub fn flush() -> Self {
        Self::new(0, 0)
    }

    /// The same with force unit access.
    #[must_use]
    #[inline]
    pub fn with_fua(mut self, fua: bool) -> Self {
        self.fua = fua;
        self
    }

    /// The same on behalf of another class.
    #[must_use]
    #[inline]
    pub fn on_behalf_of(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// A request for another range that serves this one: same class, same FUA flag.
    #[must_use]
    #[inline]
    pub fn part(&self, offset: u64, length: u64) -> Self {
        Self { offset, length, fua: self.fua, class: self.class, waited: Cell::new(0) }
    }

    /// A flush that serves this request.
    #[must_use]
    #[inline]
    pub fn flush_for(&self) -> Self {
        Self { offset: 0, length: 0, fua: false, class: self.class, waited: Cell::new(0) }
    }

    /// What it says beside its range.
    #[inline]
    pub(crate) fn marks(&self) -> Marks {
        Marks { fua: self.fua, class: self.class }
    }

    /// A request that has not waited yet.
    #[inline]
    pub(crate) fn marked(offset: u64, length: u64, Marks { fua, class }: Marks) -> Self {
        Self { offset, length, fua, class, waited: Cell::new(0) }
    }

    /// Reports that this request waited, in ns: in a queue, for a token, for a free slot. What
    /// is left of its latency is service time. Of parts that wait side by side, the longest counts.
    #[inline]
    pub fn waited(&self, span: Nanos) {
        self.waited.set(self.waited.get().max(span));
    }

    /// How long it waited, in ns.
    #[inline]
    pub fn waiting(&self) -> Nanos {
        self.waited.get()
    }

    /// The first byte after the range.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}
