//! Whatever a server says in the handshake, in whatever pieces: it ends, and the pieces make no difference.
#![no_main]

use fathom_nbd::client::{Opening, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (tls, piece, bytes) = input;
    // What every server says first, so that chance begins behind it.
    let greeting = b"NBDMAGICIHAVEOPT\0\x03";
    let begin = || {
        let mut opening = Opening::new("data", tls);
        assert_eq!(opening.feed(greeting), Step::More);
        opening
    };
    let mut whole = begin();
    let at_once = whole.feed(bytes);
    let mut pieces = begin();
    let mut last = Step::More;
    for part in bytes.chunks(usize::from(piece).max(1)) {
        if last != Step::More {
            break;
        }
        last = pieces.feed(part);
    }
    assert_eq!(at_once, last);
    assert_eq!(whole.output, pieces.output);
    if let Step::Ready(offered) = last {
        assert!(offered.block.is_power_of_two() && offered.largest >= offered.block);
    }
});
