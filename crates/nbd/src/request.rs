//! Requests of the transmission phase, cut out of a receive buffer.

use std::fmt;

use crate::constants::{REQUEST_MAGIC, command, flag};

/// Bytes of a request before its payload.
pub const HEADER: usize = 28;
/// The largest payload and the largest read; what every client must expect (specification, "Block size constraints").
pub const LARGEST_PAYLOAD: u32 = 32 << 20;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Read; `whole` asks for a single chunk.
    Read {
        /// The answer must not be cut into several chunks.
        whole: bool,
    },
    /// Write the payload.
    Write,
    /// Make durable.
    Flush,
    /// Give up the range.
    Trim,
    /// Make the range read as zeroes; `keep` asks that it stays allocated.
    WriteZeroes {
        /// Not to be punched out.
        keep: bool,
    },
    /// Read ahead.
    Cache,
    /// Tell what is allocated; `one` asks for a single extent.
    BlockStatus {
        /// One extent is enough.
        one: bool,
    },
    /// Say goodbye; not answered.
    Disconnect,
}

/// A request without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub command: Command,
    /// Whether it must be durable before the answer.
    pub fua: bool,
    /// To be sent back with the answer.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// What a buffer begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// A whole header: the request, and where its payload is in the buffer. The payload may not be there yet: the range
    /// says how long the buffer must grow.
    Request(Request, std::ops::Range<usize>),
    /// A whole header of a request that this server refuses, with the errno; its payload, if any, is to be skipped.
    Refused {
        /// To be sent back with the error.
        cookie: u64,
        /// The protocol's error number.
        errno: u32,
        /// Where the payload is, to be skipped.
        payload: std::ops::Range<usize>,
    },
    /// Too few bytes for a header.
    Incomplete,
}

/// The client does not speak the protocol; the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// The request does not begin with its magic number.
    Magic(u32),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(found) => {
                write!(f, "a request begins with {found:#010x} instead of {REQUEST_MAGIC:#010x}")
            }
        }
    }
}

impl std::error::Error for Violation {}

/// EINVAL as the protocol numbers it.
const INVALID: u32 = 22;
/// EOVERFLOW as the protocol numbers it.
const OVERFLOW: u32 = 75;

/// Looks at the first request of a buffer.
///
/// # Errors
/// [`Violation`] when what follows can no longer be understood.
pub fn decode(bytes: &[u8]) -> Result<Decoded, Violation> {
    if bytes.len() < HEADER {
        return Ok(Decoded::Incomplete);
    }
    let magic = be32(bytes, 0);
    if magic != REQUEST_MAGIC {
        return Err(Violation::Magic(magic));
    }
    let (flags, kind) = (be16(bytes, 4), be16(bytes, 6));
    let (cookie, offset, length) = (be64(bytes, 8), be64(bytes, 16), be32(bytes, 24));
    let carried = if kind == command::WRITE { length } else { 0 };
    let payload = HEADER..HEADER + carried as usize;
    let refused = |errno| Ok(Decoded::Refused { cookie, errno, payload: payload.clone() });
    // The payload is read and thrown away: a client that knows no limits learns of this one by an error.
    if carried > LARGEST_PAYLOAD {
        return refused(INVALID);
    }
    let fua = flags & flag::FUA != 0;
    let (command, allowed) = match kind {
        command::READ => (Command::Read { whole: flags & flag::DF != 0 }, flag::DF),
        command::WRITE => (Command::Write, 0),
        command::DISCONNECT => (Command::Disconnect, 0),
        command::FLUSH => (Command::Flush, 0),
        command::TRIM => (Command::Trim, 0),
        command::CACHE => (Command::Cache, 0),
        command::WRITE_ZEROES => {
            let keep = flags & flag::NO_HOLE != 0;
            (Command::WriteZeroes { keep }, flag::NO_HOLE | flag::FAST_ZERO)
        }
        command::BLOCK_STATUS => (Command::BlockStatus { one: flags & flag::REQ_ONE != 0 }, flag::REQ_ONE),
        _ => return refused(INVALID),
    };
    // FUA goes with every command; it means something where something is written (specification, "Command flags").
    if flags & !(allowed | flag::FUA) != 0 {
        return refused(INVALID);
    }
    if kind == command::READ && length > LARGEST_PAYLOAD {
        return refused(OVERFLOW);
    }
    Ok(Decoded::Request(Request { command, fua, cookie, offset, length }, payload))
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Command, Decoded, HEADER, LARGEST_PAYLOAD, Violation, decode};

    fn header(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
        let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes
    }

    #[test]
    fn a_write_tells_where_its_payload_lies() {
        let bytes = header(1, 1, 7, 4096, 512);
        let Ok(Decoded::Request(request, payload)) = decode(&bytes) else { panic!("a whole header") };
        assert_eq!((request.command, request.fua, request.cookie), (Command::Write, true, 7));
        assert_eq!((request.offset, request.length, payload), (4096, 512, HEADER..HEADER + 512));
    }

    #[test]
    fn flags_a_command_does_not_have_are_refused_and_the_payload_skipped() {
        let decoded = decode(&header(2, 1, 9, 0, 4096)).expect("understood");
        assert_eq!(decoded, Decoded::Refused { cookie: 9, errno: 22, payload: HEADER..HEADER + 4096 });
        let decoded = decode(&header(0, 99, 9, 0, 4096)).expect("understood");
        assert_eq!(decoded, Decoded::Refused { cookie: 9, errno: 22, payload: HEADER..HEADER });
    }

    #[test]
    fn a_payload_that_is_too_large_is_refused_and_skipped() {
        for length in [LARGEST_PAYLOAD + 1, u32::MAX] {
            let payload = HEADER..HEADER + length as usize;
            let refused = Decoded::Refused { cookie: 9, errno: 22, payload };
            assert_eq!(decode(&header(0, 1, 9, 0, length)), Ok(refused));
        }
    }

    #[test]
    fn what_cannot_be_skipped_ends_the_connection() {
        assert_eq!(decode(&[0; HEADER]), Err(Violation::Magic(0)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), fix in any::<bool>()) {
            let mut bytes = bytes;
            if fix && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&0x2560_9513_u32.to_be_bytes());
            }
            if let Ok(Decoded::Request(_, payload) | Decoded::Refused { payload, .. }) = decode(&bytes) {
                prop_assert!(payload.start == HEADER && payload.end <= HEADER + u32::MAX as usize);
            }
            if let Ok(Decoded::Request(_, payload)) = decode(&bytes) {
                prop_assert!(payload.end <= HEADER + LARGEST_PAYLOAD as usize);
            }
        }

        #[test]
        fn fewer_bytes_than_a_header_are_never_judged(length in 0..HEADER, byte in any::<u8>()) {
            prop_assert_eq!(decode(&vec![byte; length]), Ok(Decoded::Incomplete));
        }
    }
}
