//! The fixed newstyle handshake of a client, as a machine that is fed bytes and says what to send.

use crate::constants::{
    FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, IHAVEOPT, NBDMAGIC, OPTION_REPLY_MAGIC, answer, info, option,
    transmission,
};
use crate::request::{LARGEST_PAYLOAD, be32, be64};

/// Option replies beyond this are no handshake: the longest holds a name and a description of 4,096 bytes each.
const LARGEST_REPLY: u32 = 64 << 10;
/// More replies than this to one option are no handshake.
const MOST_REPLIES: usize = 10_000;
/// Most export names listed in an error about an unknown one.
const MOST_NAMES: usize = 10;
/// What an oldstyle server says where the others say [`IHAVEOPT`].
const OLDSTYLE: u64 = 0x0000_4202_8186_1253;

/// What a server offers under the name that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Bytes.
    pub size: u64,
    /// Offsets and lengths must be multiples of this.
    pub block: u32,
    /// Requests of this size and place need no reading first.
    pub preferred: u32,
    /// The largest payload of a request.
    pub largest: u32,
    /// Whether answers may come in chunks.
    pub structured: bool,
    flags: u16,
}

impl Offered {
    fn can(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether it takes every request that the other one took.
    pub fn covers(&self, other: &Self) -> bool {
        let wanted =
            other.flags & !(transmission::READ_ONLY | transmission::SEND_DF | transmission::CAN_MULTI_CONN);
        self.flags & wanted == wanted && self.largest >= other.largest && self.block <= other.block
    }

    /// Whether writes are refused.
    pub fn is_read_only(&self) -> bool {
        self.can(transmission::READ_ONLY)
    }

    /// Whether it supports flush.
    pub fn can_flush(&self) -> bool {
        self.can(transmission::SEND_FLUSH)
    }

    /// Whether a write can ask to be durable.
    pub fn can_fua(&self) -> bool {
        self.can(transmission::SEND_FUA)
    }

    /// Whether ranges can be given up.
    pub fn can_trim(&self) -> bool {
        self.can(transmission::SEND_TRIM)
    }

    /// Whether zeroes can travel as a length.
    pub fn can_write_zeroes(&self) -> bool {
        self.can(transmission::SEND_WRITE_ZEROES)
    }

    /// Whether a flush on one connection covers what was completed on the others.
    pub fn can_multi_connection(&self) -> bool {
        self.can(transmission::CAN_MULTI_CONN)
    }
}

/// How far a handshake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// TLS begins; the handshake continues with [`Opening::encrypted`].
    StartTls,
    /// Requests may be sent.
    Ready(Offered),
    /// The server does not offer what is asked for: why, and what to do.
    Refused(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    Tls,
    Structured,
    Go,
    List,
}

/// One handshake.
#[derive(Debug)]
pub struct Opening {
    export: String,
    wants_tls: bool,
    stage: Stage,
    structured: bool,
    // The contents of INFO replies.
    size_and_flags: Option<(u64, u16)>,
    sizes: Option<[u32; 3]>,
    names: Vec<String>,
    replies: usize,
    input: Vec<u8>,
    /// Bytes to be sent; the caller takes them.
    pub output: Vec<u8>,
}

impl Opening {
    /// A new connection: the server speaks first.
    pub fn new(export: &str, wants_tls: bool) -> Self {
        Self {
            export: export.to_owned(),
            wants_tls,
            stage: Stage::Greeting,
            structured: false,
            size_and_flags: None,
            sizes: None,
            names: Vec::new(),
            replies: 0,
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    /// The handshake after STARTTLS.
    #[must_use]
    pub fn encrypted(self) -> Self {
        let mut fresh = Self::new(&self.export, false);
        fresh.ask(Stage::Structured);
        fresh
    }

    /// Takes bytes in and goes as far as they reach.
    pub fn feed(&mut self, bytes: &[u8]) -> Step {
        self.input.extend(bytes);
        loop {
            match self.step() {
                None => return Step::More,
                Some(Step::More) => {}
                Some(step) => return step,
            }
        }
    }

    /// Bytes that came behind the handshake. There are none if the server speaks the protocol: it has not been asked yet.
    pub fn rest(self) -> Vec<u8> {
        self.input
    }

    /// One step; None if it needs more bytes.
    fn step(&mut self) -> Option<Step> {
        if self.stage == Stage::Greeting {
            return self.greeting();
        }
        let header = self.input.get(..20)?;
        let (magic, code, kind, length) =
            (be64(header, 0), be32(header, 8), be32(header, 12), be32(header, 16));
        if magic != OPTION_REPLY_MAGIC || code != self.stage.option() {
            return refused("it answers with something that is no NBD handshake");
        }
        self.replies += 1;
        if length > LARGEST_REPLY || self.replies > MOST_REPLIES {
            return refused("its answers in the handshake are too long");
        }
        let end = 20 + length as usize;
        let data = self.input.get(20..end)?.to_vec();
        self.input.drain(..end);
        Some(self.take_reply(kind, &data))
    }

    fn greeting(&mut self) -> Option<Step> {
        let bytes = self.input.get(..18)?;
        if be64(bytes, 0) != NBDMAGIC {
            return refused("what answers there is no NBD server");
        }
        if be64(bytes, 8) == OLDSTYLE {
            return refused("it speaks the oldstyle handshake; use a server of this decade");
        }
        let flags = u16::from_be_bytes([bytes[16], bytes[17]]);
        if be64(bytes, 8) != IHAVEOPT || flags & FLAG_FIXED_NEWSTYLE == 0 {
            return refused("it does not speak the fixed newstyle handshake; use a server that does");
        }
        self.input.drain(..18);
        let known = FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES;
        self.output.extend(u32::from(flags & known).to_be_bytes());
        self.ask(if self.wants_tls { Stage::Tls } else { Stage::Structured });
        Some(Step::More)
    }

    /// Sends an option and waits for its replies.
    fn ask(&mut self, stage: Stage) {
        self.stage = stage;
        self.replies = 0;
        let mut data = Vec::new();
        if stage == Stage::Go {
            data.extend((self.export.len() as u32).to_be_bytes());
            data.extend(self.export.as_bytes());
            data.extend(1_u16.to_be_bytes());
            data.extend(info::BLOCK_SIZE.to_be_bytes());
        }
        self.output.extend(IHAVEOPT.to_be_bytes());
        self.output.extend(stage.option().to_be_bytes());
        self.output.extend((data.len() as u32).to_be_bytes());
        self.output.extend(data);
    }

    /// Takes one reply.
    fn take_reply(&mut self, kind: u32, data: &[u8]) -> Step {
        match (self.stage, kind) {
            (_, answer::TLS_REQUIRED) => {
                Step::Refused("it wants TLS: write the address with nbds".to_owned())
            }
            (_, answer::SHUTDOWN) => Step::Refused("it is shutting down".to_owned()),
            (Stage::Tls, answer::ACK) => Step::StartTls,
            (Stage::Tls, _) => Step::Refused(
                "it offers no TLS: write the address with nbd if the way there is protected otherwise"
                    .to_owned(),
            ),
            (Stage::Structured, kind) => {
                self.structured = kind == answer::ACK;
                self.ask(Stage::Go);
                Step::More
            }
            (Stage::Go, answer::INFO) => self.learn(data),
            (Stage::Go, answer::ACK) => self.agreed(),
            (Stage::Go, answer::UNKNOWN) => {
                self.ask(Stage::List);
                Step::More
            }
            (Stage::Go, answer::UNSUPPORTED) => Step::Refused(
                "it knows no NBD_OPT_GO; use a server that does (nbd 3.15, qemu 2.10, nbdkit)".to_owned(),
            ),
            (Stage::Go, kind) => {
                let said = String::from_utf8_lossy(data);
                Step::Refused(format!("it refuses the export (reply {kind:#010x}): {}", said.escape_debug()))
            }
            (Stage::List, answer::SERVER) => {
                let length = data.get(..4).map_or(0, |bytes| be32(bytes, 0) as usize);
                let name = data.get(4..).and_then(|rest| rest.get(..length)).unwrap_or_default();
                self.names.push(format!("\"{}\"", String::from_utf8_lossy(name).escape_debug()));
                Step::More
            }
            (Stage::List, kind) => self.unknown(kind),
            (Stage::Greeting, _) => Step::Refused("it answers before it is asked".to_owned()),
        }
    }

    fn learn(&mut self, data: &[u8]) -> Step {
        let Some(kind) = data.get(..2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]])) else {
            return Step::Refused("it reports nothing about the export".to_owned());
        };
        let rest = &data[2..];
        match kind {
            info::EXPORT if rest.len() == 10 => {
                self.size_and_flags = Some((be64(rest, 0), u16::from_be_bytes([rest[8], rest[9]])));
            }
            info::BLOCK_SIZE if rest.len() == 12 => {
                self.sizes = Some([be32(rest, 0), be32(rest, 4), be32(rest, 8)]);
            }
            info::EXPORT | info::BLOCK_SIZE => {
                return Step::Refused("its description of the export has a wrong length".to_owned());
            }
            _ => {}
        }
        Step::More
    }

    fn agreed(&mut self) -> Step {
        let Some((size, flags)) = self.size_and_flags else {
            return Step::Refused("it does not report the export's size".to_owned());
        };
        // The defaults where a server reports nothing (specification, "Block size constraints").
        let [block, preferred, largest] = self.sizes.unwrap_or([1, 4096, LARGEST_PAYLOAD]);
        let sound = block.is_power_of_two()
            && preferred.is_power_of_two()
            && (1..=64 << 10).contains(&block)
            && preferred >= block
            && largest >= block;
        if !sound {
            return Step::Refused(format!(
                "its block sizes ({block}, {preferred}, {largest}) contradict each other"
            ));
        }
        let largest = largest.min(LARGEST_PAYLOAD);
        // Without this flag the others mean nothing.
        let flags = if flags & transmission::HAS_FLAGS == 0 { 0 } else { flags };
        Step::Ready(Offered { size, block, preferred, largest, structured: self.structured, flags })
    }

    fn unknown(&self, kind: u32) -> Step {
        let asked = self.export.escape_debug();
        Step::Refused(match (kind, &self.names[..]) {
            (answer::ACK, []) => format!("it has no export \"{asked}\", nor any other"),
            (answer::ACK, names) => {
                let more = if names.len() > MOST_NAMES { ", …" } else { "" };
                let names = names[..names.len().min(MOST_NAMES)].join(", ");
                format!("it has no export \"{asked}\"; it has {names}{more}")
            }
            _ => format!("it has no export \"{asked}\""),
        })
    }
}

impl Stage {
    fn option(self) -> u32 {
        match self {
            Self::Greeting => 0,
            Self::Tls => option::STARTTLS,
            Self::Structured => option::STRUCTURED_REPLY,
            Self::Go => option::GO,
            Self::List => option::LIST,
        }
    }
}

fn refused(why: &str) -> Option<Step> {
    Some(Step::Refused(why.to_owned()))
}
