//! Requests as bytes.

use crate::constants::{REQUEST_MAGIC, command, flag};

/// Bytes of a request before its payload.
pub const SIZE: usize = 28;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Read.
    Read,
    /// Write the bytes that follow.
    Write,
    /// Make durable.
    Flush,
    /// Give up the range.
    Trim,
    /// Make the range read as zeroes; it may be punched out.
    WriteZeroes,
    /// Say goodbye; not answered.
    Disconnect,
}

impl Question {
    /// The request's header. `fua` only goes with what writes.
    pub fn encode(self, fua: bool, cookie: u64, offset: u64, length: u32) -> [u8; SIZE] {
        let kind = match self {
            Self::Read => command::READ,
            Self::Write => command::WRITE,
            Self::Flush => command::FLUSH,
            Self::Trim => command::TRIM,
            Self::WriteZeroes => command::WRITE_ZEROES,
            Self::Disconnect => command::DISCONNECT,
        };
        let flags = if fua { flag::FUA } else { 0 };
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&kind.to_be_bytes());
        bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&offset.to_be_bytes());
        bytes[24..].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}
