//! An answer on its way to a client: a few bytes of protocol, and for a read the buffer the volume filled.

use std::io::IoSlice;

use fathom_nbd::reply;
use fathom_volume::Buf;

use crate::connection::account::Slot;

/// An answer.
pub struct Reply {
    head: Head,
    /// Bytes behind the head.
    data: Option<Buf>,
    // Given back when the answer is sent, or dropped with nobody to take it.
    _slot: Slot,
}

enum Head {
    Simple([u8; reply::SIMPLE]),
    Done([u8; reply::CHUNK]),
    Data([u8; reply::DATA]),
    Other(Vec<u8>),
    Sent,
}

impl Reply {
    /// All is well, and no data is asked for.
    pub fn done(cookie: u64, structured: bool, slot: Slot) -> Self {
        let head =
            if structured { Head::Done(reply::done(cookie)) } else { Head::Simple(reply::simple(cookie, 0)) };
        Self { head, data: None, _slot: slot }
    }

    /// What was read.
    pub fn data(cookie: u64, structured: bool, offset: u64, data: Buf, slot: Slot) -> Self {
        let length = data.len() as u32;
        Self::beginning(cookie, structured, offset, length, data, slot)
    }

    /// The first of what was read; [`Reply::rest`] follows, up to `length` bytes.
    pub fn beginning(cookie: u64, structured: bool, offset: u64, length: u32, data: Buf, slot: Slot) -> Self {
        let head = if structured {
            Head::Data(reply::data(cookie, offset, length))
        } else {
            Head::Simple(reply::simple(cookie, 0))
        };
        Self { head, data: Some(data), _slot: slot }
    }

    /// More of what was read.
    pub fn rest(data: Buf, slot: Slot) -> Self {
        Self { head: Head::Sent, data: Some(data), _slot: slot }
    }

    /// An error, `errno` as the protocol numbers it.
    pub fn error(cookie: u64, structured: bool, errno: u32, message: &str, slot: Slot) -> Self {
        let head = if structured {
            Head::Other(reply::error(cookie, errno, message))
        } else {
            Head::Simple(reply::simple(cookie, errno))
        };
        Self { head, data: None, _slot: slot }
    }

    /// One extent of allocated data.
    pub fn allocated(cookie: u64, context: u32, length: u32, slot: Slot) -> Self {
        Self { head: Head::Other(reply::allocated(cookie, context, length)), data: None, _slot: slot }
    }

    fn head(&self) -> &[u8] {
        match &self.head {
            Head::Simple(bytes) => bytes,
            Head::Done(bytes) => bytes,
            Head::Data(bytes) => bytes,
            Head::Other(bytes) => bytes,
            Head::Sent => &[],
        }
    }

    /// Bytes of the whole.
    pub fn len(&self) -> usize {
        self.head().len() + self.data.as_ref().map_or(0, Buf::len)
    }

    /// The pieces to be sent, in order.
    pub fn pieces(&self) -> [IoSlice<'_>; 2] {
        let data = self.data.as_ref().filter(|data| data.has_bytes()).map_or(&[][..], |data| {
            // SAFETY: the buffer lives as long as this reply, its memory is initialised, and its request is over, so
            // nobody writes to it: the worker gave away its only handle.
            unsafe { std::slice::from_raw_parts(data.as_ptr(), data.len()) }
        });
        [IoSlice::new(self.head()), IoSlice::new(data)]
    }
}
