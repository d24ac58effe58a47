//! The fixed newstyle handshake as a machine that is fed bytes and says what to send.

use crate::constants::{FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, IHAVEOPT, NBDMAGIC, answer, option};
use crate::export::Export;
use crate::options::{ALLOCATION, ALLOCATION_ID, name_of, put, put_infos, queries_of};
use crate::request::{be32, be64};

/// Option data beyond this is refused: a name has 4,096 bytes at most.
const LARGEST_OPTION: u32 = 64 << 10;
/// A client that sends more options than this wants something else than an export.
const MOST_OPTIONS: u32 = 1000;

/// Whether the connection must be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// No encryption is offered (a Unix socket).
    Plain,
    /// Encryption is required and not yet in place.
    TlsRequired,
    /// The connection is encrypted.
    Encrypted,
}

/// What a finished handshake agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Index of the export in the list the handshake was given.
    pub export: usize,
    /// Whether replies are structured.
    pub structured: bool,
    /// The number of `base:allocation`, if the client asked for it.
    pub allocation: Option<u32>,
}

/// How far a handshake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// Send the replies so far in the clear, then begin TLS; the handshake continues with a new
    /// [`Handshake::encrypted`].
    StartTls,
    /// Requests follow.
    Ready(Session),
    /// The client is done, or does not speak the protocol: send what is pending and close. The reason, for the log.
    Close(&'static str),
}

/// One client's handshake.
#[derive(Debug)]
pub struct Handshake {
    security: Security,
    flags_seen: bool,
    no_zeroes: bool,
    structured: bool,
    // For which export `base:allocation` was chosen; it counts only for the export that is then opened.
    chosen: Option<usize>,
    options: u32,
    input: Vec<u8>,
    /// Bytes to be sent; the caller takes them.
    pub output: Vec<u8>,
}

impl Handshake {
    /// A new connection: the greeting is ready to be sent.
    pub fn new(security: Security) -> Self {
        let mut output = NBDMAGIC.to_be_bytes().to_vec();
        output.extend(IHAVEOPT.to_be_bytes());
        output.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Self {
            security,
            flags_seen: false,
            no_zeroes: false,
            structured: false,
            chosen: None,
            options: 0,
            input: Vec::new(),
            output,
        }
    }

    /// The handshake after STARTTLS: the greeting is over, all that was negotiated before is forgotten
    /// (specification, "TLS").
    pub fn encrypted(self) -> Self {
        let mut fresh = Self::new(Security::Encrypted);
        fresh.output.clear();
        fresh.flags_seen = true;
        fresh.no_zeroes = self.no_zeroes;
        fresh
    }

    /// Takes bytes in and goes as far as they reach.
    pub fn feed(&mut self, bytes: &[u8], exports: &[Export]) -> Progress {
        self.input.extend(bytes);
        loop {
            let Some(progress) = self.step(exports) else { return Progress::More };
            if progress != Progress::More {
                return progress;
            }
        }
    }

    /// Bytes that came after the handshake's end: the first requests.
    pub fn rest(self) -> Vec<u8> {
        self.input
    }

    /// One step; None if it needs more bytes.
    fn step(&mut self, exports: &[Export]) -> Option<Progress> {
        if !self.flags_seen {
            let flags = be32(self.input.get(..4)?, 0);
            self.input.drain(..4);
            self.flags_seen = true;
            self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
            let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
            let fixed = flags & u32::from(FLAG_FIXED_NEWSTYLE) != 0 && flags & !known == 0;
            return Some(if fixed {
                Progress::More
            } else {
                Progress::Close("client flags of another protocol")
            });
        }
        let header = self.input.get(..16)?;
        if be64(header, 0) != IHAVEOPT {
            return Some(Progress::Close("an option without its magic number"));
        }
        let (code, length) = (be32(header, 8), be32(header, 12));
        if length > LARGEST_OPTION {
            put(&mut self.output, code, answer::TOO_BIG, b"option too large");
            return Some(Progress::Close("an option larger than any name"));
        }
        let end = 16 + length as usize;
        let data = self.input.get(16..end)?.to_vec();
        self.input.drain(..end);
        self.options += 1;
        if self.options > MOST_OPTIONS {
            return Some(Progress::Close("too many options"));
        }
        Some(self.answer(code, &data, exports))
    }

    fn answer(&mut self, code: u32, data: &[u8], exports: &[Export]) -> Progress {
        let needs_tls =
            self.security == Security::TlsRequired && !matches!(code, option::STARTTLS | option::ABORT);
        if needs_tls {
            if code == option::EXPORT_NAME {
                return Progress::Close("an export asked for without the required encryption");
            }
            return self.reply(code, answer::TLS_REQUIRED, b"this server wants TLS first");
        }
        match code {
            option::EXPORT_NAME => self.export_name(data, exports),
            option::ABORT => {
                self.reply(code, answer::ACK, &[]);
                Progress::Close("the client left")
            }
            option::LIST if data.is_empty() => {
                for export in exports {
                    let name = export.name.as_bytes();
                    let entry = [&(name.len() as u32).to_be_bytes(), name].concat();
                    put(&mut self.output, code, answer::SERVER, &entry);
                }
                self.reply(code, answer::ACK, &[])
            }
            option::STARTTLS if self.security == Security::TlsRequired && data.is_empty() => {
                self.reply(code, answer::ACK, &[]);
                // Whatever was sent in the clear behind STARTTLS could be an attacker's (CVE-2021-3716 in nbdkit).
                if self.input.is_empty() {
                    Progress::StartTls
                } else {
                    Progress::Close("bytes in the clear after STARTTLS")
                }
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                self.reply(code, answer::ACK, &[])
            }
            option::INFO | option::GO => self.info_or_go(code, data, exports),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta_context(code, data, exports),
            option::LIST | option::STRUCTURED_REPLY | option::STARTTLS if !data.is_empty() => {
                self.reply(code, answer::INVALID, b"this option takes no data")
            }
            _ => self.reply(code, answer::UNSUPPORTED, b"option not supported"),
        }
    }

    fn reply(&mut self, code: u32, kind: u32, data: &[u8]) -> Progress {
        put(&mut self.output, code, kind, data);
        Progress::More
    }

    fn session(&self, export: usize) -> Progress {
        let allocation = (self.chosen == Some(export) && self.structured).then_some(ALLOCATION_ID);
        Progress::Ready(Session { export, structured: self.structured, allocation })
    }

    fn export_name(&mut self, data: &[u8], exports: &[Export]) -> Progress {
        let found = std::str::from_utf8(data).ok().and_then(|name| find(exports, name));
        // This option has no error reply: closing is the only no.
        let Some(index) = found else { return Progress::Close("an unknown export asked for by EXPORT_NAME") };
        let export = &exports[index];
        self.output.extend(export.size.to_be_bytes());
        self.output.extend(export.flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            self.output.extend([0; 124]);
        }
        self.session(index)
    }

    fn info_or_go(&mut self, code: u32, data: &[u8], exports: &[Export]) -> Progress {
        let Some(name) = name_of(data) else {
            return self.reply(code, answer::INVALID, b"malformed request for an export");
        };
        let Some(index) = find(exports, name) else {
            return self.reply(code, answer::UNKNOWN, b"no export of that name");
        };
        put_infos(&mut self.output, code, &exports[index], self.structured);
        if code == option::GO { self.session(index) } else { Progress::More }
    }

    fn meta_context(&mut self, code: u32, data: &[u8], exports: &[Export]) -> Progress {
        let listing = code == option::LIST_META_CONTEXT;
        if !listing {
            // Whatever comes of this one, an earlier choice is forgotten.
            self.chosen = None;
        }
        if !self.structured {
            return self.reply(code, answer::INVALID, b"structured replies must be negotiated first");
        }
        let Some((name, queries)) = queries_of(data) else {
            return self.reply(code, answer::INVALID, b"malformed query");
        };
        let Some(index) = find(exports, name) else {
            return self.reply(code, answer::UNKNOWN, b"no export of that name");
        };
        let wanted = queries.iter().any(|query| *query == ALLOCATION || (listing && *query == "base:"))
            || (listing && queries.is_empty());
        if !listing {
            self.chosen = wanted.then_some(index);
        }
        if wanted {
            let id = if listing { 0 } else { ALLOCATION_ID };
            let context = [&id.to_be_bytes(), ALLOCATION.as_bytes()].concat();
            put(&mut self.output, code, answer::META_CONTEXT, &context);
        }
        self.reply(code, answer::ACK, &[])
    }
}

fn find(exports: &[Export], name: &str) -> Option<usize> {
    let named = exports.iter().position(|export| export.name == name);
    // The empty name asks for the default export: the only one there is.
    named.or_else(|| (name.is_empty() && exports.len() == 1).then_some(0))
}

#[cfg(test)]
mod tests;
