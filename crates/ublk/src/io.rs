//! Requests: commands on `/dev/ublkcN` and the descriptors the driver shares.

use crate::{encoded, part};

/// Bytes of a [`Command`] in a submission entry.
pub const COMMAND_BYTES: usize = 16;
/// What a command that fetches ends with when the device is stopped or its server is to go: `-ENODEV`.
pub const ABORTED: i32 = -19;

const SECTOR: u64 = 512;

/// What is asked of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Ends when a request with this tag has arrived.
    Fetch,
    /// Answers the tag's request, then as [`Operation::Fetch`].
    CommitAndFetch,
}

impl Operation {
    /// The command's number in a submission entry.
    pub const fn code(self) -> u32 {
        let number = match self {
            Self::Fetch => 0x20,
            Self::CommitAndFetch => 0x21,
        };
        encoded(false, number, COMMAND_BYTES)
    }
}

/// `ublksrv_io_cmd`.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// The place of the request in its queue.
    pub tag: u16,
    /// The answer: bytes moved, or a negated errno. Of no meaning in a [`Operation::Fetch`].
    pub result: i32,
    /// Where the next request's data goes, or comes from: as many bytes as the device's largest transfer.
    pub buffer: u64,
}

impl Command {
    /// As the driver reads it; queue 0.
    pub fn bytes(&self) -> [u8; COMMAND_BYTES] {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[2..4].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.result.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.buffer.to_ne_bytes());
        bytes
    }
}

/// What a host wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes from the device into the buffer.
    Read,
    /// Bytes from the buffer to the device.
    Write,
    /// Everything answered before becomes durable.
    Flush,
    /// The range is needed no more.
    Trim,
    /// The range reads as zeroes.
    WriteZeroes,
    /// An operation that is not offered (write same, zones): to be refused.
    Other(u8),
}

/// What a host asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub kind: Kind,
    /// Where it begins, bytes.
    pub offset: u64,
    /// How long it is, bytes; for a transfer no more than the device's largest.
    pub length: u64,
    /// Durable before the answer.
    pub fua: bool,
}

/// `ublksrv_io_desc`: the request of one tag.
pub struct Descriptor;

impl Descriptor {
    /// Bytes of one; those of a queue follow each other, by tag.
    pub const BYTES: usize = 24;

    const FUA: u32 = 1 << 13;

    /// What the driver wrote.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Request {
        let word = u32::from_ne_bytes(part(bytes, 0));
        let kind = match word as u8 {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Flush,
            3 => Kind::Trim,
            5 => Kind::WriteZeroes,
            other => Kind::Other(other),
        };
        Request {
            kind,
            offset: u64::from_ne_bytes(part(bytes, 8)).saturating_mul(SECTOR),
            length: u64::from(u32::from_ne_bytes(part(bytes, 4))) * SECTOR,
            fua: word & Self::FUA != 0,
        }
    }
}

/// Bytes to map from `/dev/ublkcN` at offset 0 to see the descriptors of queue 0.
pub fn descriptors_bytes(depth: u16, page: usize) -> usize {
    (usize::from(depth) * Descriptor::BYTES).next_multiple_of(page)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Command, Descriptor, Kind, Operation, Request, descriptors_bytes};

    fn descriptor(word: u32, sectors: u32, start: u64) -> [u8; Descriptor::BYTES] {
        let mut bytes = [0; Descriptor::BYTES];
        bytes[0..4].copy_from_slice(&word.to_ne_bytes());
        bytes[4..8].copy_from_slice(&sectors.to_ne_bytes());
        bytes[8..16].copy_from_slice(&start.to_ne_bytes());
        bytes
    }

    #[test]
    fn requests_are_in_bytes() {
        let read = |word, sectors, start| Descriptor::read(&descriptor(word, sectors, start));
        let asked = |kind, offset, length, fua| Request { kind, offset, length, fua };
        assert_eq!(read(0, 16, 8), asked(Kind::Read, 4096, 8192, false));
        assert_eq!(read(1 | 1 << 13, 1, 0), asked(Kind::Write, 0, 512, true));
        assert_eq!(read(1 | 1 << 8, 1, 0), asked(Kind::Write, 0, 512, false));
        assert_eq!(read(2, 0, 0), asked(Kind::Flush, 0, 0, false));
        assert_eq!(read(3, 1 << 24, 2), asked(Kind::Trim, 1024, 1 << 33, false));
        assert_eq!(read(5, 8, 0), asked(Kind::WriteZeroes, 0, 4096, false));
        assert_eq!(read(4, 8, 0).kind, Kind::Other(4));
    }

    #[test]
    fn commands_lie_as_the_header_says() {
        assert_eq!(Operation::Fetch.code(), 0xc010_7520);
        assert_eq!(Operation::CommitAndFetch.code(), 0xc010_7521);
        let bytes = Command { tag: 258, result: -5, buffer: 0x7f00_0000_1000 }.bytes();
        assert_eq!(bytes[..4], [0, 0, 2, 1]);
        assert_eq!(bytes[4..8], (-5_i32).to_ne_bytes());
        assert_eq!(bytes[8..], 0x7f00_0000_1000_u64.to_ne_bytes());
    }

    #[test]
    fn descriptors_of_a_queue_fill_whole_pages() {
        assert_eq!(descriptors_bytes(128, 4096), 4096);
        assert_eq!(descriptors_bytes(171, 4096), 8192);
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_request(bytes in any::<[u8; Descriptor::BYTES]>()) {
            let _ = Descriptor::read(&bytes);
        }
    }
}
