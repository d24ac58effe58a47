//! What a server sends a client that waits for answers: every step goes forward, and a prefix is incomplete or says the same.
#![no_main]

use fathom_nbd::client::{Answer, Chunk, LONGEST_CHUNK, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    loop {
        let (answer, size) = match decode(rest) {
            Ok((Answer::Incomplete, _)) => {
                assert!(rest.len() < LONGEST_CHUNK + 32);
                return;
            }
            Ok(found) => found,
            Err(_) => return,
        };
        assert!(size > 0 && size <= rest.len());
        assert_eq!(decode(&rest[..size]), Ok((answer, size)));
        assert_eq!(decode(&rest[..size - 1]).map(|(answer, _)| answer), Ok(Answer::Incomplete));
        let data = match answer {
            Answer::Chunk { chunk: Chunk::Data { length, .. }, .. } => length as usize,
            _ => 0,
        };
        rest = &rest[(size + data).min(rest.len())..];
    }
});
