//! The first request: which protocol, how large, how many.

use std::fmt;

use crate::abi::init_flag;
use crate::request::{Violation, u32_at};

/// The newest protocol this crate knows: 7.45 (Linux 6.18).
const MINOR: u32 = 45;
const MAJOR: u32 = 7;
/// The oldest it works with: `max_pages` (Linux 4.20).
pub const OLDEST_MINOR: u32 = 28;
/// Bytes of a page as `max_pages` counts them. The kernel's pages may be larger: then it takes less at once.
const PAGE: u32 = 4096;
/// Bytes of the answer.
const ANSWER: usize = 64;

/// What the kernel says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init {
    /// First number of the protocol.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Bytes it would read ahead.
    pub max_readahead: u32,
    /// What it can do.
    flags: u64,
}

impl Init {
    /// Reads the arguments of INIT.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(body: &[u8]) -> Result<Self, Violation> {
        if body.len() < 16 {
            return Err(Violation::Short { opcode: crate::opcode::INIT, bytes: crate::HEADER + body.len() });
        }
        let low = u64::from(u32_at(body, 12));
        let extended = low & init_flag::INIT_EXT != 0 && body.len() >= 20;
        let high = if extended { u64::from(u32_at(body, 16)) } else { 0 };
        let flags = low | (high << 32);
        Ok(Self { major: u32_at(body, 0), minor: u32_at(body, 4), max_readahead: u32_at(body, 8), flags })
    }

    /// Whether the kernel sends requests through io_uring if asked to.
    pub fn offers_io_uring(&self) -> bool {
        self.flags & init_flag::OVER_IO_URING != 0
    }
}

/// What the server offers the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Largest request in bytes; a multiple of 4 KiB.
    pub largest: u32,
    /// Requests on their way before the kernel holds further ones back.
    pub background: u16,
    /// Requests through io_uring.
    pub io_uring: bool,
}

/// What was negotiated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// The payload of the answer.
    pub answer: Vec<u8>,
    /// Requests come through io_uring as soon as its entries are registered.
    pub io_uring: bool,
    /// The kernel speaks a later protocol: it asks again with ours.
    pub again: bool,
}

/// A kernel too old for this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld(u32, u32);

impl fmt::Display for TooOld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the kernel speaks FUSE {}.{}; {MAJOR}.{OLDEST_MINOR} (Linux 4.20) is the oldest served",
            self.0, self.1
        )
    }
}

impl std::error::Error for TooOld {}

/// Answers the first request.
///
/// # Errors
/// The kernel is too old.
pub fn negotiate(init: &Init, limits: ServerLimits) -> Result<Negotiated, TooOld> {
    if init.major > MAJOR {
        let mut answer = vec![0; ANSWER];
        answer[0..4].copy_from_slice(&MAJOR.to_ne_bytes());
        return Ok(Negotiated { answer, io_uring: false, again: true });
    }
    let wanted = init_flag::ASYNC_READ
        | init_flag::BIG_WRITES
        | init_flag::ASYNC_DIO
        | init_flag::PARALLEL_DIROPS
        | init_flag::MAX_PAGES
        | init_flag::INIT_EXT
        | if limits.io_uring { init_flag::OVER_IO_URING } else { 0 };
    let flags = wanted & init.flags;
    if init.major < MAJOR || init.minor < OLDEST_MINOR || flags & init_flag::MAX_PAGES == 0 {
        return Err(TooOld(init.major, init.minor));
    }
    // Both halves: where the kernel knows only one, the upper one is zero in `flags` too.
    let (low, high) = (flags as u32, (flags >> 32) as u32);
    let pages = (limits.largest / PAGE) as u16;
    let congestion = limits.background / 4 * 3;
    let mut answer = Vec::with_capacity(ANSWER);
    for word in [MAJOR, MINOR.min(init.minor), init.max_readahead, low] {
        answer.extend(word.to_ne_bytes());
    }
    answer.extend(limits.background.to_ne_bytes());
    answer.extend(congestion.to_ne_bytes());
    // Largest write; granularity of times in ns.
    answer.extend(limits.largest.to_ne_bytes());
    answer.extend(1_u32.to_ne_bytes());
    answer.extend(pages.to_ne_bytes());
    answer.extend(0_u16.to_ne_bytes());
    answer.extend(high.to_ne_bytes());
    answer.resize(ANSWER, 0);
    Ok(Negotiated { answer, io_uring: flags & init_flag::OVER_IO_URING != 0, again: false })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Init, ServerLimits, negotiate};

    const WISH: ServerLimits = ServerLimits { largest: 1 << 20, background: 64, io_uring: true };

    fn body(major: u32, minor: u32, flags: u64) -> Vec<u8> {
        let words = [major, minor, 1 << 17, flags as u32, (flags >> 32) as u32];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.resize(64, 0);
        bytes
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    #[test]
    fn a_megabyte_is_256_pages() {
        let init = Init::decode(&body(7, 45, u64::MAX)).expect("whole");
        assert!(init.offers_io_uring());
        let agreed = negotiate(&init, WISH).expect("new enough");
        let answer = &agreed.answer;
        assert!(agreed.io_uring && !agreed.again);
        assert_eq!((word(answer, 0), word(answer, 4), word(answer, 20)), (7, 45, 1 << 20));
        assert_eq!((answer[28], answer[29], answer.len()), (0, 1, 64), "256 pages");
    }

    #[test]
    fn what_the_kernel_does_not_offer_is_not_taken() {
        let without = Init::decode(&body(7, 36, 1 << 22)).expect("whole");
        let agreed = negotiate(&without, WISH).expect("new enough");
        assert!(!agreed.io_uring);
        assert_eq!((word(&agreed.answer, 4), word(&agreed.answer, 12)), (36, 1 << 22));
        let shy = Init::decode(&body(7, 45, u64::MAX)).expect("whole");
        assert!(!negotiate(&shy, ServerLimits { io_uring: false, ..WISH }).expect("new enough").io_uring);
    }

    #[test]
    fn a_later_protocol_is_asked_for_ours_and_an_old_one_is_refused() {
        let later =
            negotiate(&Init::decode(&body(8, 0, 0)).expect("whole"), WISH).expect("it will ask again");
        assert!(later.again);
        assert_eq!(word(&later.answer, 0), 7);
        let old = negotiate(&Init::decode(&body(7, 27, u64::MAX)).expect("whole"), WISH);
        assert!(old.expect_err("too old").to_string().contains("7.27"));
    }

    proptest! {
        #[test]
        fn nothing_is_taken_that_was_not_offered(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let Ok(init) = Init::decode(&bytes) else { return Ok(()) };
            if let Ok(agreed) = negotiate(&init, WISH)
                && !agreed.again
            {
                let taken = u64::from(word(&agreed.answer, 12)) | u64::from(word(&agreed.answer, 32)) << 32;
                prop_assert_eq!(taken & !init.flags, 0);
            }
        }
    }
}
