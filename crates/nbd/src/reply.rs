//! Replies of the transmission phase, as bytes. Data itself is not copied: a header says what follows it.

use crate::constants::{SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};

/// Bytes of a simple reply.
pub const SIMPLE: usize = 16;
/// Bytes of a structured chunk's header.
pub const CHUNK: usize = 20;
/// Bytes before the data of a structured read.
pub const DATA: usize = CHUNK + 8;

/// An error as the protocol numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    /// Not permitted (a write to a read-only export).
    Permission = 1,
    /// Input/output error.
    InputOutput = 5,
    /// The request is wrong.
    Invalid = 22,
    /// No space left.
    NoSpace = 28,
    /// The server is going away.
    Shutdown = 108,
}

/// A simple reply; for a read without error the data follows.
pub fn simple(cookie: u64, errno: u32) -> [u8; SIMPLE] {
    let mut bytes = [0; SIMPLE];
    bytes[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&errno.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

fn structured(kind: u16, cookie: u64, length: u32) -> [u8; CHUNK] {
    let mut bytes = [0; CHUNK];
    bytes[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&chunk::DONE.to_be_bytes());
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The structured reply to a read, in one chunk; `length` bytes of data follow.
pub fn data(cookie: u64, offset: u64, length: u32) -> [u8; DATA] {
    let mut bytes = [0; DATA];
    bytes[..CHUNK].copy_from_slice(&structured(chunk::OFFSET_DATA, cookie, length + 8));
    bytes[CHUNK..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// The structured reply that says only that all is well.
pub fn done(cookie: u64) -> [u8; CHUNK] {
    structured(chunk::NONE, cookie, 0)
}

/// A structured error with a message for people.
pub fn error(cookie: u64, errno: u32, message: &str) -> Vec<u8> {
    // The length field has 16 bits; a reader shows one line anyway.
    let message = &message.as_bytes()[..message.len().min(512)];
    let mut bytes = structured(chunk::ERROR, cookie, 6 + message.len() as u32).to_vec();
    bytes.extend(errno.to_be_bytes());
    bytes.extend((message.len() as u16).to_be_bytes());
    bytes.extend(message);
    bytes
}

/// The answer to a block status request: one extent of that many bytes, all of it allocated data.
pub fn allocated(cookie: u64, context: u32, length: u32) -> Vec<u8> {
    let mut bytes = structured(chunk::BLOCK_STATUS, cookie, 12).to_vec();
    bytes.extend(context.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes
}
