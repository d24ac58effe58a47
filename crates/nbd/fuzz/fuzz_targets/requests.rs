//! A stream of requests: every step goes forward by what was decoded, and a prefix of a request is never judged otherwise
//! than the whole.
#![no_main]

use fathom_nbd::{Decoded, LARGEST_PAYLOAD, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    loop {
        let payload = match decode(rest) {
            Ok(Decoded::Request(_, payload)) => {
                assert!(payload.len() <= LARGEST_PAYLOAD as usize);
                payload
            }
            // One that is refused may have any length: it is skipped.
            Ok(Decoded::Refused { payload, .. }) => payload,
            Ok(Decoded::Incomplete) => {
                assert!(rest.len() < 28);
                return;
            }
            Err(_) => return,
        };
        assert_eq!(payload.start, 28);
        assert_eq!(decode(&rest[..28]), decode(rest));
        rest = &rest[payload.end.min(rest.len())..];
    }
});
