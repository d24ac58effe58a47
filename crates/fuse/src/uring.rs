//! FUSE over io_uring (Linux 6.14): where header, arguments and payload of an entry are, and the commands that register
//! an entry and that hand an answer over and ask for the next request.
//!
//! An entry has two pieces of memory: [`HEADERS`] bytes of headers, and the payload, which is as large as the largest
//! request. There is one queue per CPU, and requests come through none before each queue has an entry.

use crate::request::{u32_at, u64_at};

/// Bytes of an entry's headers.
pub const HEADERS: usize = 288;
/// Where the operation's arguments are; the request's or answer's header is at 0.
pub const ARGUMENTS: usize = 128;
/// Where the entry's own part is.
const OWN: usize = 256;

/// The command that registers an entry.
pub const REGISTER: u32 = 1;
/// The command that hands an answer over and asks for the next request.
pub const COMMIT_AND_FETCH: u32 = 2;

/// Bytes of a command.
pub const COMMAND: usize = 80;

/// The command's bytes, for the entry whose request has the id `commit` (0 to register) in the queue of a CPU.
pub fn command(commit: u64, queue: u16) -> [u8; COMMAND] {
    let mut bytes = [0; COMMAND];
    bytes[8..16].copy_from_slice(&commit.to_ne_bytes());
    bytes[16..18].copy_from_slice(&queue.to_ne_bytes());
    bytes
}

/// The id by which the request's answer is handed over, and the bytes of its payload.
#[inline]
pub fn incoming(headers: &[u8; HEADERS]) -> (u64, usize) {
    (u64_at(headers, OWN + 8), u32_at(headers, OWN + 16) as usize)
}

/// Writes an answer's headers over those of its request.
#[inline]
pub fn outgoing(headers: &mut [u8; HEADERS], unique: u64, errno: i32, payload: usize) {
    let head = crate::reply::header(unique, errno, payload);
    headers[..head.len()].copy_from_slice(&head);
    headers[OWN + 16..OWN + 20].copy_from_slice(&(payload as u32).to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::{ARGUMENTS, HEADERS, OWN, command, incoming, outgoing};

    #[test]
    fn an_answer_goes_where_its_request_came_from() {
        let mut headers = [0xAA; HEADERS];
        headers[OWN + 8..OWN + 16].copy_from_slice(&77_u64.to_ne_bytes());
        headers[OWN + 16..OWN + 20].copy_from_slice(&4096_u32.to_ne_bytes());
        assert_eq!(incoming(&headers), (77, 4096));
        outgoing(&mut headers, 5, 0, 8);
        assert_eq!(incoming(&headers), (77, 8), "the id stays");
        assert_eq!(headers[..4], 24_u32.to_ne_bytes());
        assert_eq!(headers[8..16], 5_u64.to_ne_bytes());
        assert!(headers[ARGUMENTS..OWN].iter().all(|byte| *byte == 0xAA));
    }

    #[test]
    fn a_command_names_its_request_and_its_queue() {
        let bytes = command(9, 3);
        assert_eq!((bytes[8], bytes[16], bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>()), (9, 3, 12));
    }
}
