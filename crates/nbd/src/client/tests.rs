//! The client's side against the server's, byte by byte, and against bytes that nobody should send.

use proptest::prelude::*;

use super::{Answer, Chunk, Offered, Opening, ProtocolError, Question, SIZE, Step, decode};
use crate::{Command, Decoded, Export, Handshake, Progress, Security, reply};

fn export(name: &str) -> Export {
    Export {
        name: name.to_owned(),
        description: "a test".to_owned(),
        size: 1 << 30,
        block: 512,
        preferred: 4096,
        largest: 32 << 20,
        read_only: false,
        multi_connection: true,
    }
}

/// Lets both sides talk until the client knows; TLS itself is left out.
fn talk(opening: Opening, security: Security, exports: &[Export]) -> (Step, bool) {
    let (mut opening, mut server) = (opening, Handshake::new(security));
    let mut encrypted = false;
    for _ in 0..10 {
        let said = std::mem::take(&mut server.output);
        // One byte at a time: nothing may depend on how bytes are cut.
        let mut step = Step::More;
        for byte in said {
            assert_eq!(step, Step::More, "the server says more than was asked");
            step = opening.feed(&[byte]);
        }
        if step == Step::StartTls {
            (opening, server) = (opening.encrypted(), server.encrypted());
            encrypted = true;
        } else if step != Step::More {
            return (step, encrypted);
        }
        let said = std::mem::take(&mut opening.output);
        let progress = server.feed(&said, exports);
        assert!(!matches!(progress, Progress::Close(_)), "{progress:?}");
    }
    panic!("they talk for ever");
}

#[test]
fn an_export_is_opened_with_its_sizes_and_all_it_can() {
    let (step, encrypted) = talk(Opening::new("data", false), Security::Plain, &[export("data")]);
    let Step::Ready(offered) = step else { panic!("{step:?}") };
    let Offered { size, block, preferred, largest, structured, .. } = offered;
    assert_eq!((size, block, preferred, largest), (1 << 30, 512, 4096, 32 << 20));
    assert!(structured && !encrypted && !offered.is_read_only());
    assert!(offered.can_flush() && offered.can_fua() && offered.can_trim());
    assert!(offered.can_write_zeroes() && offered.can_multi_connection());
}

#[test]
fn tls_comes_first_and_each_side_s_wish_is_told() {
    let exports = [export("data")];
    let (step, encrypted) = talk(Opening::new("data", true), Security::TlsRequired, &exports);
    assert!(matches!(step, Step::Ready(_)) && encrypted, "{step:?}");
    for (wants, security, words) in
        [(false, Security::TlsRequired, "wants TLS"), (true, Security::Plain, "offers no TLS")]
    {
        let (step, _) = talk(Opening::new("data", wants), security, &exports);
        assert!(matches!(&step, Step::Refused(why) if why.contains(words)), "{step:?}");
    }
}

#[test]
fn who_asks_for_an_unknown_export_learns_which_there_are() {
    let exports = [export("data"), export("log")];
    let (step, _) = talk(Opening::new("dta", false), Security::Plain, &exports);
    let Step::Refused(why) = step else { panic!("{step:?}") };
    assert_eq!(why, "it has no export \"dta\"; it has \"data\", \"log\"");
}

#[test]
fn what_is_no_such_server_is_told() {
    let oldstyle =
        [0x4E42_444D_4147_4943_u64.to_be_bytes(), 0x0000_4202_8186_1253_u64.to_be_bytes()].concat();
    let newstyle =
        [0x4E42_444D_4147_4943_u64.to_be_bytes(), 0x4948_4156_454F_5054_u64.to_be_bytes()].concat();
    for (greeting, words) in [
        (b"SSH-2.0-OpenSSH_9.2p1 Debian".to_vec(), "no NBD server"),
        ([oldstyle, vec![0; 136]].concat(), "oldstyle"),
        ([newstyle, vec![0; 2]].concat(), "fixed newstyle"),
    ] {
        let step = Opening::new("", false).feed(&greeting);
        assert!(matches!(&step, Step::Refused(why) if why.contains(words)), "{step:?}");
    }
}

#[test]
fn the_server_reads_what_the_client_writes() {
    for (question, fua, command) in [
        (Question::Read, false, Command::Read { whole: false }),
        (Question::Write, true, Command::Write),
        (Question::Flush, false, Command::Flush),
        (Question::Trim, false, Command::Trim),
        (Question::WriteZeroes, true, Command::WriteZeroes { keep: false }),
        (Question::Disconnect, false, Command::Disconnect),
    ] {
        let bytes = question.encode(fua, 77, 8192, 512);
        assert_eq!(bytes.len(), SIZE);
        let Ok(Decoded::Request(request, _)) = crate::decode(&bytes) else { panic!("{question:?}") };
        assert_eq!((request.command, request.fua, request.cookie), (command, fua, 77));
        assert_eq!((request.offset, request.length), (8192, 512));
    }
}

#[test]
fn the_client_reads_what_the_server_writes() {
    let chunk = |cookie, last, chunk| Ok((Answer::Chunk { cookie, last, chunk }, 0));
    let told = |bytes: &[u8]| decode(bytes).map(|(answer, _)| (answer, 0));
    assert_eq!(decode(&reply::simple(5, 28)), Ok((Answer::Simple { cookie: 5, errno: 28 }, 16)));
    assert_eq!(told(&reply::done(5)), chunk(5, true, Chunk::Done));
    assert_eq!(told(&reply::data(5, 512, 4096)), chunk(5, true, Chunk::Data { offset: 512, length: 4096 }));
    let failed = reply::error(5, 5, "broken");
    assert_eq!(told(&failed), chunk(5, true, Chunk::Failed { errno: 5 }));
    assert_eq!(decode(&failed).map(|(_, size)| size), Ok(failed.len()));
    for end in 0..failed.len() {
        assert_eq!(decode(&failed[..end]), Ok((Answer::Incomplete, 0)));
    }
}

#[test]
fn chunks_nobody_asked_for_are_nonsense() {
    let status = reply::allocated(5, 1, 4096);
    assert_eq!(decode(&status), Err(ProtocolError::Chunk { kind: 5, length: 12 }));
    assert_eq!(decode(b"HTTP/1.1 400"), Err(ProtocolError::Magic(u32::from_be_bytes(*b"HTTP"))));
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), pick in 0..3_u8) {
        let mut bytes = bytes;
        let magic = [0x6744_6698_u32, 0x668E_33EF, 0][usize::from(pick)];
        if pick < 2 && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&magic.to_be_bytes());
        }
        if let Ok((_, size)) = decode(&bytes) {
            prop_assert!(size <= bytes.len());
        }
    }

    #[test]
    fn no_bytes_make_the_handshake_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), code in 0..12_u32, kind in any::<u32>(), few in 0..40_u32,
    ) {
        let greeting = [0x4E42_444D_4147_4943_u64.to_be_bytes(), 0x4948_4156_454F_5054_u64.to_be_bytes()].concat();
        let mut opening = Opening::new("data", code == 5);
        opening.feed(&greeting);
        opening.feed(&[0, 3]);
        for kind in [kind, 1, 3, 0x8000_0006, 2, 1] {
            let header = [&0x0003_E889_0455_65A9_u64.to_be_bytes()[..], &code.to_be_bytes(), &kind.to_be_bytes()].concat();
            opening.feed(&header);
            opening.feed(&few.to_be_bytes());
            if opening.feed(&bytes) != Step::More {
                break;
            }
        }
    }
}
