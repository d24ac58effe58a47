//! Whatever a client sends, in whatever pieces, the handshake neither panics nor reads what is not there; and the pieces
//! make no difference.
#![no_main]

use fathom_nbd::{Export, Handshake, Progress, Security};
use libfuzzer_sys::fuzz_target;

fn export(name: &str) -> Export {
    Export {
        name: name.to_owned(),
        description: "fuzzed".to_owned(),
        size: 1 << 30,
        block: 512,
        preferred: 4096,
        largest: 32 << 20,
        read_only: false,
        multi_connection: true,
    }
}

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (tls, piece, bytes) = input;
    let exports = [export("data"), export("log")];
    let security = if tls { Security::TlsRequired } else { Security::Plain };
    let mut whole = Handshake::new(security);
    let at_once = whole.feed(bytes, &exports);
    let mut pieces = Handshake::new(security);
    let mut last = Progress::More;
    for part in bytes.chunks(usize::from(piece).max(1)) {
        if last != Progress::More {
            break;
        }
        last = pieces.feed(part, &exports);
    }
    // After STARTTLS it counts what came in the same piece: that is the point of refusing it.
    if !tls {
        assert_eq!(at_once, last);
        assert_eq!(whole.output, pieces.output);
    }
});
