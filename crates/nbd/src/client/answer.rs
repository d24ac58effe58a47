//! Answers of the transmission phase, cut out of a receive buffer. Data itself is not copied.

use std::fmt;

use crate::constants::{SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};
use crate::reply;
use crate::request::{LARGEST_PAYLOAD, be32, be64};

/// The longest chunk without data: the numbers of an error, and its message, whose length has 16 bits.
pub const LONGEST_CHUNK: usize = 6 + (1 << 16) + 8;

/// What a buffer begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Too few bytes to decide.
    Incomplete,
    /// A simple answer; behind a read without error its data follow.
    Simple {
        /// Of the request.
        cookie: u64,
        /// 0 if all is well.
        errno: u32,
    },
    /// One chunk of a structured answer.
    Chunk {
        /// Of the request.
        cookie: u64,
        /// Whether no more chunks follow.
        last: bool,
        /// Its content.
        chunk: Chunk,
    },
}

/// The content of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    /// Nothing more.
    Done,
    /// That many bytes of data follow, for that offset.
    Data {
        /// Their offset on the export.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// That many zeroes are at that offset.
    Hole {
        /// Their offset on the export.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// The request, or a part of it, failed.
    Failed {
        /// As the protocol numbers it; never 0.
        errno: u32,
    },
}

/// The server violates the protocol; the connection is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolError {
    /// An answer begins with no known number.
    Magic(u32),
    /// A chunk of a kind that was not asked for, or of a length that its kind cannot have.
    Chunk {
        /// Its kind.
        kind: u16,
        /// Its bytes.
        length: u32,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(found) => write!(f, "an answer begins with {found:#010x}"),
            Self::Chunk { kind, length } => {
                write!(f, "a chunk of kind {kind:#06x} with {length} bytes, which was not requested")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}

/// Looks at the first answer of a buffer, and how many bytes of it are not data.
///
/// # Errors
/// When what follows can no longer be understood.
pub fn decode(bytes: &[u8]) -> Result<(Answer, usize), ProtocolError> {
    let incomplete = Ok((Answer::Incomplete, 0));
    if bytes.len() < 4 {
        return incomplete;
    }
    match be32(bytes, 0) {
        SIMPLE_REPLY_MAGIC if bytes.len() < reply::SIMPLE => incomplete,
        SIMPLE_REPLY_MAGIC => {
            let answer = Answer::Simple { cookie: be64(bytes, 8), errno: be32(bytes, 4) };
            Ok((answer, reply::SIMPLE))
        }
        STRUCTURED_REPLY_MAGIC if bytes.len() < reply::CHUNK => incomplete,
        STRUCTURED_REPLY_MAGIC => structured(bytes),
        magic => Err(ProtocolError::Magic(magic)),
    }
}

fn structured(bytes: &[u8]) -> Result<(Answer, usize), ProtocolError> {
    let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (flags, kind, cookie, length) = (number(4), number(6), be64(bytes, 8), be32(bytes, 16));
    let wrong = Err(ProtocolError::Chunk { kind, length });
    let body = &bytes[reply::CHUNK..];
    let (chunk, size) = match kind {
        chunk::NONE if length == 0 => (Chunk::Done, 0),
        chunk::OFFSET_DATA if length > 8 && length - 8 <= LARGEST_PAYLOAD => {
            if body.len() < 8 {
                return Ok((Answer::Incomplete, 0));
            }
            (Chunk::Data { offset: be64(body, 0), length: length - 8 }, 8)
        }
        chunk::OFFSET_HOLE if length == 12 => {
            if body.len() < 12 {
                return Ok((Answer::Incomplete, 0));
            }
            (Chunk::Hole { offset: be64(body, 0), length: be32(body, 8) }, 12)
        }
        kind if kind & chunk::FAILED != 0 && (6..=LONGEST_CHUNK).contains(&(length as usize)) => {
            if body.len() < length as usize {
                return Ok((Answer::Incomplete, 0));
            }
            let errno = be32(body, 0);
            if errno == 0 {
                return wrong;
            }
            (Chunk::Failed { errno }, length as usize)
        }
        _ => return wrong,
    };
    let last = flags & chunk::DONE != 0;
    Ok((Answer::Chunk { cookie, last, chunk }, reply::CHUNK + size))
}
