//! The NBD protocol without sockets. The server's side: bytes in, requests out; replies in, bytes out. The client's side is
//! in [`client`].
//!
//! Source: the NBD protocol specification (`doc/proto.md` of the NetworkBlockDevice project). Implemented: the fixed
//! newstyle handshake with INFO, GO, EXPORT_NAME, LIST, STARTTLS, STRUCTURED_REPLY and the meta context
//! `base:allocation`; in transmission read, write, disconnect, flush, trim, cache, write-zeroes and block status, with
//! simple and structured replies. Not implemented: oldstyle handshake, resize, extended headers.
//!
//! [`Handshake`] is fed until it yields a [`Session`]; [`decode`] then cuts requests out of a receive buffer, and
//! [`reply`] writes answers. Nothing here allocates per request.

pub mod client;
mod constants;
mod export;
mod handshake;
mod options;
pub mod reply;
mod request;

pub use export::Export;
pub use handshake::{Handshake, Progress, Security, Session};
pub use reply::Failure;
pub use request::{Command, Decoded, LARGEST_PAYLOAD, Request, Violation, decode};
