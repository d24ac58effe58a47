//! Claims about the handshake.

use proptest::prelude::*;

use super::{Handshake, Progress, Security, Session};
use crate::export::Export;

const FLAGS: [u8; 4] = 3_u32.to_be_bytes();

fn exports() -> Vec<Export> {
    let export = |name: &str| Export {
        name: name.into(),
        description: "durability: cache".into(),
        size: 1 << 30,
        block: 512,
        preferred: 4096,
        largest: 32 << 20,
        read_only: false,
        multi_connection: true,
    };
    vec![export("data"), export("log")]
}

fn option(code: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x4948_4156_454F_5054_u64.to_be_bytes().to_vec();
    bytes.extend(code.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn go(code: u32, name: &str) -> Vec<u8> {
    let data = [&(name.len() as u32).to_be_bytes(), name.as_bytes(), &[0, 0]].concat();
    option(code, &data)
}

fn set_context(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(query.as_bytes());
    }
    option(10, &data)
}

/// The kinds of the option replies in what a server said after its greeting.
fn kinds(mut output: &[u8]) -> Vec<u32> {
    let mut kinds = Vec::new();
    while let Some(header) = output.get(..20) {
        kinds.push(u32::from_be_bytes(header[12..16].try_into().expect("four")));
        let length = u32::from_be_bytes(header[16..20].try_into().expect("four")) as usize;
        output = &output[20 + length..];
    }
    kinds
}

fn talk(bytes: &[u8]) -> (Progress, Vec<u32>) {
    let mut handshake = Handshake::new(Security::Plain);
    handshake.output.clear();
    let progress = handshake.feed(bytes, &exports());
    (progress, kinds(&handshake.output))
}

#[test]
fn a_modern_client_gets_structured_replies_and_the_allocation_context() {
    let bytes =
        [FLAGS.to_vec(), option(8, &[]), set_context("log", &["base:allocation"]), go(7, "log")].concat();
    let (progress, kinds) = talk(&bytes);
    assert_eq!(progress, Progress::Ready(Session { export: 1, structured: true, allocation: Some(1) }));
    // ACK; META_CONTEXT, ACK; four INFOs, ACK.
    assert_eq!(kinds, vec![1, 4, 1, 3, 3, 3, 3, 1]);
}

#[test]
fn a_context_chosen_for_another_export_does_not_count() {
    let bytes =
        [FLAGS.to_vec(), option(8, &[]), set_context("log", &["base:allocation"]), go(7, "data")].concat();
    assert_eq!(talk(&bytes).0, Progress::Ready(Session { export: 0, structured: true, allocation: None }));
}

#[test]
fn byte_by_byte_is_as_good_as_at_once_and_what_follows_is_kept() {
    let bytes = [FLAGS.to_vec(), option(3, &[]), go(7, "data")].concat();
    let mut handshake = Handshake::new(Security::Plain);
    let list = exports();
    let last = bytes.iter().map(|byte| handshake.feed(&[*byte], &list)).last().expect("bytes");
    assert!(matches!(last, Progress::Ready(_)));
    let mut handshake = Handshake::new(Security::Plain);
    assert!(matches!(handshake.feed(&[bytes, vec![9; 30]].concat(), &list), Progress::Ready(_)));
    assert_eq!(handshake.rest(), vec![9; 30]);
}

#[test]
fn an_unknown_export_is_an_error_and_the_handshake_goes_on() {
    let bytes = [FLAGS.to_vec(), go(7, "nothing"), go(7, "data")].concat();
    let (progress, kinds) = talk(&bytes);
    assert!(matches!(progress, Progress::Ready(_)));
    assert_eq!(kinds[0], 0x8000_0006);
}

#[test]
fn where_encryption_is_required_nothing_is_told_before_it() {
    let list = exports();
    let mut handshake = Handshake::new(Security::TlsRequired);
    handshake.output.clear();
    let asked = [FLAGS.to_vec(), option(3, &[]), go(7, "data"), go(6, "data")].concat();
    assert_eq!(handshake.feed(&asked, &list), Progress::More);
    assert_eq!(kinds(&handshake.output), vec![0x8000_0005; 3]);
    assert_eq!(handshake.feed(&option(5, &[]), &list), Progress::StartTls);
    let mut encrypted = handshake.encrypted();
    assert!(encrypted.output.is_empty());
    assert!(matches!(encrypted.feed(&go(7, "data"), &list), Progress::Ready(_)));

    let mut injected = Handshake::new(Security::TlsRequired);
    let asked = [FLAGS.to_vec(), option(5, &[]), option(3, &[])].concat();
    assert!(matches!(injected.feed(&asked, &list), Progress::Close(_)), "bytes in the clear behind STARTTLS");
}

#[test]
fn the_old_export_name_gets_its_124_zeroes_unless_they_were_declined() {
    let list = exports();
    for (flags, zeroes) in [(1_u32, 124), (3, 0)] {
        let mut handshake = Handshake::new(Security::Plain);
        handshake.output.clear();
        let asked = [flags.to_be_bytes().to_vec(), option(1, b"data")].concat();
        assert!(matches!(handshake.feed(&asked, &list), Progress::Ready(_)));
        assert_eq!(handshake.output.len(), 10 + zeroes);
    }
}

#[test]
fn options_that_are_too_large_or_too_many_end_the_connection() {
    let large = [option(7, &[])[..12].to_vec(), (1_u32 << 20).to_be_bytes().to_vec()].concat();
    assert!(matches!(talk(&[FLAGS.to_vec(), large].concat()).0, Progress::Close(_)));
    let many = [FLAGS.to_vec(), option(3, &[]).repeat(1001)].concat();
    assert!(matches!(talk(&many).0, Progress::Close(_)));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                (0_u32..12, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(code, data)| option(code, &data)),
            ],
            0..8,
        ),
        tls in any::<bool>(),
    ) {
        let mut handshake = Handshake::new(if tls { Security::TlsRequired } else { Security::Plain });
        let list = exports();
        let _ = handshake.feed(&FLAGS, &list);
        for piece in pieces {
            if handshake.feed(&piece, &list) != Progress::More {
                break;
            }
        }
    }
}
