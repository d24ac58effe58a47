//! A message of /dev/fuse, and one whose parts lie apart: decoded, or refused, without reading what is not there.
#![no_main]

use fathom_fuse::{HEADER, Init, Operation, ServerLimits, arguments, decode, negotiate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (header, body) = bytes.split_at(bytes.len().min(HEADER));
    if let Ok(request) = decode(header, body) {
        assert!(header.len() == HEADER);
        match request.operation {
            Operation::Lookup { name } => assert!(name.len() < body.len() && !name.contains(&0)),
            Operation::Write { length, .. } => assert_eq!(length as usize + 80, u32_at(header) as usize),
            _ => {}
        }
        let code = u32::from_ne_bytes(header[4..8].try_into().expect("four bytes"));
        assert!(body.len() >= arguments(code));
    }
    if let Ok(init) = Init::decode(body) {
        let _ = negotiate(&init, ServerLimits { largest: 1 << 20, background: 64, io_uring: init.offers_io_uring() });
    }
});

fn u32_at(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes[..4].try_into().expect("four bytes"))
}
