//! Records: the payloads of events, joined where one record needed several.

use std::io::{Read, Seek};

use crate::bytes::Bytes;
use crate::container::Container;
use crate::fault::Fault;

/// Bytes before a part: the log's identity, number of the part, number of parts.
const PART_HEADER: usize = 24;
const IDENTITY: usize = 16;
/// A record of more bytes than this is damage: some 10,000 instances of a hundred counters.
const MOST: usize = 256 << 20;

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What is logged.
    List,
    /// One sample.
    Sample,
    /// Explanations for tools, not needed to read values.
    Catalogue,
    /// Names by index.
    Names,
}

/// The record last read.
#[derive(Default)]
pub(crate) struct Joined {
    data: Vec<u8>,
    offset: u64,
    /// When the record was written: FILETIME, local.
    pub(crate) time: i64,
    identity: Option<[u8; IDENTITY]>,
}

impl Joined {
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        Bytes::of_record(&self.data, self.offset)
    }

    /// The next whole record; None at the end of the log.
    pub(crate) fn next<R: Read + Seek>(
        &mut self,
        container: &mut Container<R>,
    ) -> Result<Option<Kind>, Fault> {
        self.data.clear();
        let circular = container.facts.circular;
        let mut begun: Option<(u8, u32)> = None;
        let mut done = 0;
        while let Some(event) = container.next()? {
            let payload = event.payload;
            let identity: [u8; IDENTITY] =
                payload.part(0, IDENTITY)?.raw().try_into().expect("sixteen bytes");
            if *self.identity.get_or_insert(identity) != identity {
                return Err(payload.fault(0, "a record of another log"));
            }
            let (part, parts) = (payload.u32(16)?, payload.u32(20)?);
            if begun.is_none() && part > 1 && circular {
                continue; // Its beginning was written over.
            }
            if part == 0
                || part > parts
                || part != done + 1
                || begun.is_some_and(|one| one != (event.kind, parts))
            {
                let what =
                    format!("part {part} of {parts} where part {} is due: a record is not whole", done + 1);
                return Err(payload.fault(16, what));
            }
            if begun.is_none() {
                (self.offset, self.time) = (payload.fault(0, "").offset, event.time);
            } else if event.time != self.time {
                return Err(payload.fault(16, "the parts of a record differ in time"));
            }
            self.data.extend_from_slice(payload.part(PART_HEADER, payload.len() - PART_HEADER)?.raw());
            if self.data.len() > MOST {
                return Err(payload.fault(20, format!("a record of more than {MOST} bytes")));
            }
            (begun, done) = (Some((event.kind, parts)), part);
            if part == parts {
                return kind(event.kind).map(Some).ok_or_else(|| {
                    payload.fault(0, format!("a record of type {:#04x} is not understood", event.kind))
                });
            }
        }
        match begun {
            None => Ok(None),
            Some((_, parts)) => Err(Fault::new(
                self.offset,
                format!("the log ends after part {done} of {parts} of this record"),
            )),
        }
    }
}

fn kind(byte: u8) -> Option<Kind> {
    match byte {
        0x20 => Some(Kind::List),
        0x22 => Some(Kind::Sample),
        0x23 => Some(Kind::Catalogue),
        0x24 => Some(Kind::Names),
        _ => None,
    }
}
