//! Requests, read from header and arguments.

use std::fmt;

use crate::abi::opcode;
use crate::{HEADER, WRITE_HEAD};

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// To be sent back with the answer.
    pub unique: u64,
    /// The node it is about.
    pub node: u64,
    /// What is asked.
    pub operation: Operation<'a>,
}

/// What a FALLOCATE wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fallocate {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// As fallocate(2) has it.
    pub mode: u32,
}

/// What is asked. Handles are not read: this server gives out none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Find a name in a folder.
    Lookup {
        /// The name, in bytes.
        name: &'a [u8],
    },
    /// The kernel forgets nodes; not answered.
    Forget,
    /// Tell about the node.
    GetAttr,
    /// Change the node's attributes.
    SetAttr {
        /// Which of them, see [`crate::set_attr`].
        valid: u32,
        /// The size it is to have.
        size: u64,
    },
    /// Open a file.
    Open {
        /// As open(2) has them.
        flags: u32,
    },
    /// Read from a file.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Write to a file; the payload is separate.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Tell about the file system.
    StatFs,
    /// The last user of an open file has gone.
    Release,
    /// Make durable what was written.
    Fsync,
    /// A descriptor was closed.
    Flush,
    /// Open a folder.
    OpenDir,
    /// Read a folder.
    ReadDir {
        /// Where to continue.
        offset: u64,
        /// Bytes there is room for.
        length: u32,
    },
    /// A folder was closed.
    ReleaseDir,
    /// Make a folder durable.
    FsyncDir,
    /// May the caller?
    Access,
    /// A caller no longer wants to wait; not answered.
    Interrupt {
        /// The request it waits for.
        unique: u64,
    },
    /// The file system was unmounted.
    Destroy,
    /// Punch, zero or reserve a range.
    Fallocate(Fallocate),
    /// Add, remove or rename something in a folder.
    ChangeFolder,
    /// Something this crate has no words for.
    Other(u32),
}

impl Operation<'_> {
    /// Whether it is answered.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Forget | Self::Interrupt { .. } | Self::Other(opcode::BATCH_FORGET))
    }
}

/// Bytes that are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// Fewer bytes than the operation has.
    Short {
        /// The operation's number; 0 if not even the header is there.
        opcode: u32,
        /// Bytes there are.
        bytes: usize,
    },
    /// A write whose length is not that of its payload.
    Payload {
        /// Bytes to write.
        length: u32,
        /// Bytes of the message.
        message: u32,
    },
    /// A name without its end.
    Name,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { opcode, bytes } => {
                write!(f, "a request of {bytes} bytes is too short for operation {opcode}")
            }
            Self::Payload { length, message } => {
                write!(f, "a write of {length} bytes in a message of {message}")
            }
            Self::Name => write!(f, "a name without its end"),
        }
    }
}

impl std::error::Error for Violation {}

/// Bytes of fixed arguments that an operation has behind its header.
pub fn arguments(operation: u32) -> usize {
    match operation {
        opcode::SETATTR => 88,
        opcode::READ | opcode::WRITE | opcode::READDIR => 40,
        opcode::FALLOCATE => 32,
        opcode::RELEASE | opcode::RELEASEDIR | opcode::FLUSH => 24,
        opcode::GETATTR | opcode::FSYNC | opcode::FSYNCDIR | opcode::INIT => 16,
        opcode::FORGET
        | opcode::OPEN
        | opcode::OPENDIR
        | opcode::ACCESS
        | opcode::INTERRUPT
        | opcode::BATCH_FORGET => 8,
        _ => 0,
    }
}

/// Reads a request: its header and what follows it; of a write, without the payload.
///
/// # Errors
/// [`Violation`]; what the kernel sends has none.
#[inline]
pub fn decode<'a>(header: &[u8], body: &'a [u8]) -> Result<Request<'a>, Violation> {
    if header.len() < HEADER {
        return Err(Violation::Short { opcode: 0, bytes: header.len() });
    }
    let operation = u32_at(header, 4);
    if body.len() < arguments(operation) {
        return Err(Violation::Short { opcode: operation, bytes: header.len() + body.len() });
    }
    let operation = match operation {
        opcode::READ => Operation::Read { offset: u64_at(body, 8), length: u32_at(body, 16) },
        opcode::WRITE => {
            let (length, message) = (u32_at(body, 16), u32_at(header, 0));
            if u64::from(length) + WRITE_HEAD as u64 != u64::from(message) {
                return Err(Violation::Payload { length, message });
            }
            Operation::Write { offset: u64_at(body, 8), length }
        }
        other => seldom(other, body)?,
    };
    Ok(Request { unique: u64_at(header, 8), node: u64_at(header, 16), operation })
}

fn seldom(operation: u32, body: &[u8]) -> Result<Operation<'_>, Violation> {
    Ok(match operation {
        opcode::LOOKUP => {
            let end = body.iter().position(|byte| *byte == 0).ok_or(Violation::Name)?;
            Operation::Lookup { name: &body[..end] }
        }
        opcode::FORGET => Operation::Forget,
        opcode::GETATTR => Operation::GetAttr,
        opcode::SETATTR => Operation::SetAttr { valid: u32_at(body, 0), size: u64_at(body, 16) },
        opcode::OPEN => Operation::Open { flags: u32_at(body, 0) },
        opcode::STATFS => Operation::StatFs,
        opcode::RELEASE => Operation::Release,
        opcode::FSYNC => Operation::Fsync,
        opcode::FLUSH => Operation::Flush,
        opcode::OPENDIR => Operation::OpenDir,
        opcode::READDIR => Operation::ReadDir { offset: u64_at(body, 8), length: u32_at(body, 16) },
        opcode::RELEASEDIR => Operation::ReleaseDir,
        opcode::FSYNCDIR => Operation::FsyncDir,
        opcode::ACCESS => Operation::Access,
        opcode::INTERRUPT => Operation::Interrupt { unique: u64_at(body, 0) },
        opcode::DESTROY => Operation::Destroy,
        opcode::FALLOCATE => Operation::Fallocate(Fallocate {
            offset: u64_at(body, 8),
            length: u64_at(body, 16),
            mode: u32_at(body, 24),
        }),
        other if opcode::CHANGE_FOLDER.contains(&other) => Operation::ChangeFolder,
        other => Operation::Other(other),
    })
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Fallocate, Operation, Violation, arguments, decode};
    use crate::abi::opcode;
    use crate::{HEADER, WRITE_HEAD};

    fn header(operation: u32, length: u32) -> Vec<u8> {
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(operation.to_ne_bytes());
        bytes.extend(77_u64.to_ne_bytes());
        bytes.extend(2_u64.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes
    }

    fn io(offset: u64, length: u32) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend(offset.to_ne_bytes());
        bytes.extend(length.to_ne_bytes());
        bytes.resize(40, 0);
        bytes
    }

    #[test]
    fn a_read_tells_its_range_and_whom_to_answer() {
        let body = io(8192, 4096);
        let request = decode(&header(opcode::READ, 80), &body).expect("a whole request");
        assert_eq!((request.unique, request.node), (77, 2));
        assert_eq!(request.operation, Operation::Read { offset: 8192, length: 4096 });
    }

    #[test]
    fn a_write_must_be_as_long_as_its_payload() {
        let message = WRITE_HEAD as u32 + 512;
        let body = io(0, 512);
        let request = decode(&header(opcode::WRITE, message), &body).expect("a whole request");
        assert_eq!(request.operation, Operation::Write { offset: 0, length: 512 });
        for (length, message) in [(513, message), (u32::MAX, 79)] {
            let body = io(0, length);
            let wrong = decode(&header(opcode::WRITE, message), &body);
            assert_eq!(wrong, Err(Violation::Payload { length, message }));
        }
    }

    #[test]
    fn names_end_and_ranges_are_whole() {
        let request = decode(&header(opcode::LOOKUP, 45), b"data\0").expect("a whole request");
        assert_eq!(request.operation, Operation::Lookup { name: b"data" });
        assert_eq!(decode(&header(opcode::LOOKUP, 44), b"data"), Err(Violation::Name));
        let mut body = io(4096, 0);
        body[16..24].copy_from_slice(&(1_u64 << 40).to_ne_bytes());
        body[24..28].copy_from_slice(&3_u32.to_ne_bytes());
        let request = decode(&header(opcode::FALLOCATE, 72), &body[..32]).expect("a whole request");
        let wanted = Fallocate { offset: 4096, length: 1 << 40, mode: 3 };
        assert_eq!(request.operation, Operation::Fallocate(wanted));
    }

    proptest! {
        /// Whatever the bytes: an answer or a refusal, and never more read than there is.
        #[test]
        fn no_bytes_make_it_panic(
            operation in prop_oneof![0..60_u32, any::<u32>()],
            length in any::<u32>(),
            body in proptest::collection::vec(any::<u8>(), 0..120),
            cut in 0..=HEADER,
        ) {
            let header = header(operation, length);
            let decoded = decode(&header, &body);
            if body.len() < arguments(operation) {
                let short = Violation::Short { opcode: operation, bytes: HEADER + body.len() };
                prop_assert_eq!(decoded, Err(short));
            } else if operation != opcode::WRITE && operation != opcode::LOOKUP {
                prop_assert!(decoded.is_ok());
            }
            prop_assert_eq!(decode(&header[..cut], &body).is_ok(), cut == HEADER && decoded.is_ok());
        }
    }
}
