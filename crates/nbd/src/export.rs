//! An export: what a server offers under a name.

use crate::constants::transmission;

/// An export, as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The name a client asks for; empty is the default export.
    pub name: String,
    /// A sentence for people.
    pub description: String,
    /// Bytes.
    pub size: u64,
    /// Offsets and lengths are multiples of this; a power of two.
    pub block: u32,
    /// Requests of this size are fast; a power of two.
    pub preferred: u32,
    /// The largest payload of a request.
    pub largest: u32,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether a flush on one connection covers writes completed on all others.
    pub multi_connection: bool,
}

impl Export {
    pub(crate) fn flags(&self, structured: bool) -> u16 {
        let mut flags = transmission::HAS_FLAGS | transmission::SEND_FLUSH | transmission::SEND_CACHE;
        if self.read_only {
            flags |= transmission::READ_ONLY;
        } else {
            flags |= transmission::SEND_FUA | transmission::SEND_TRIM | transmission::SEND_WRITE_ZEROES;
            // Zeroes that travel as a length are never slower than zeroes that travel as bytes.
            flags |= transmission::SEND_FAST_ZERO;
        }
        if self.multi_connection {
            flags |= transmission::CAN_MULTI_CONN;
        }
        if structured {
            flags |= transmission::SEND_DF;
        }
        flags
    }
}
