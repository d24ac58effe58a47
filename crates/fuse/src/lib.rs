//! The FUSE protocol, server side, without descriptors: bytes in, requests out; replies in, bytes out.
//!
//! Source: the kernel's interface as `linux/fuse.h` describes it, protocol 7.28 (Linux 4.20) to 7.45. Implemented: what a
//! folder of files of fixed size needs. Both transports are served: messages of `/dev/fuse`, where header, arguments and
//! payload stand one behind the other, and the entries of FUSE over io_uring ([`uring`]), where they are separate.
//!
//! [`negotiate`] answers the first request, [`decode`] reads all others, [`reply`] writes answers.

mod abi;
mod init;
pub mod reply;
mod request;
pub mod uring;

pub use abi::{opcode, open_flag, set_attr};
pub use init::{Init, Negotiated, OLDEST_MINOR, ServerLimits, negotiate};
pub use request::{Fallocate, Operation, Request, Violation, arguments, decode};

/// Bytes of a request's header.
pub const HEADER: usize = 40;
/// Bytes before the payload of a write: header and arguments.
pub const WRITE_HEAD: usize = HEADER + 40;
/// The folder's node.
pub const ROOT: u64 = 1;
