//! What changes a volume's content, as one value that can go to several volumes.

use std::ops::Range;

use fathom_volume::{Answer, Buf, Handle, Request};

/// What is written.
#[derive(Clone)]
pub(crate) enum Change {
    /// These bytes.
    Write(Buf),
    /// Nothing in particular.
    Trim,
    /// Zeroes.
    Zeroes,
}

impl Change {
    /// Asks a volume for it.
    pub fn ask<'a>(&self, volume: &'a Handle, request: Request) -> Answer<'a> {
        match self {
            Self::Write(buf) => volume.write(request, buf.clone()),
            Self::Trim => volume.trim(request),
            Self::Zeroes => volume.write_zeroes(request),
        }
    }

    /// Bytes that a request for it moves.
    pub fn bytes(&self, request: &Request) -> u64 {
        match self {
            Self::Write(_) => request.length,
            Self::Trim | Self::Zeroes => 0,
        }
    }

    /// Part of it; the range is in bytes of its request.
    pub fn part(&self, range: Range<usize>) -> Self {
        match self {
            Self::Write(buf) => Self::Write(buf.slice(range)),
            other => other.clone(),
        }
    }
}
