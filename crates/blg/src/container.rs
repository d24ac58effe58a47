//! The event trace file: buffers of equal size, and the events in them.

use std::io::{self, Read, Seek, SeekFrom};

use crate::bytes::Bytes;
use crate::fault::Fault;
use crate::zone::Zone;

/// Bytes before the first event of a buffer.
const BUFFER_HEADER: usize = 0x48;
/// Bytes before the payload of an event that names its provider.
const EVENT_HEADER: usize = 48;
/// What the first buffer holds: the session's description.
const TYPE_HEADER: u16 = 4;
const TYPE_EVENTS: u16 = 0;
/// Header types of events that name their provider, for 32-bit and 64-bit systems.
const FULL_HEADERS: [u8; 2] = [0x0a, 0x14];
/// Header types whose size is at byte 4: system, compact and performance events.
const SHORT_HEADERS: [u8; 6] = [0x01, 0x02, 0x03, 0x04, 0x10, 0x11];
/// Header types of manifest events, whose size is at byte 0.
const MANIFEST_HEADERS: [u8; 2] = [0x12, 0x13];
const MARKER: u8 = 0xc0;
/// The provider of performance logs: 933f3bb3-943e-490d-9ced-3cbb14c14479.
const PDH: [u8; 16] =
    [0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79];
/// A provider that differs in so few bits is ours, damaged.
const DAMAGED_BITS: u32 = 8;
const MODE_CIRCULAR: u32 = 0x2;
/// EVENT_TRACE_COMPRESSED_MODE.
const MODE_COMPRESSED: u32 = 0x0400_0000;
const RECORD_VERSION: u16 = 60;
const LEAST_BUFFER: usize = 1 << 10;
const MOST_BUFFER: usize = 16 << 20;

/// What the log says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Windows build that wrote it: 6000 is Vista, 9200 Windows 8 and Server 2012, 17763 Server 2019.
    pub build: u32,
    /// Processors of that machine.
    pub processors: u32,
    /// Events and buffers that Windows says it lost.
    pub events_lost: u32,
    /// See `events_lost`.
    pub buffers_lost: u32,
    /// Whether the oldest samples were written over.
    pub circular: bool,
    /// Minutes to add to local time for UTC, outside of daylight saving.
    pub bias_minutes: i32,
    /// Events of other providers, which were passed over.
    pub foreign_events: u64,
}

/// One event of the performance log's provider.
pub(crate) struct Event<'a> {
    /// What record it is part of: 0x20 to 0x24.
    pub(crate) kind: u8,
    /// When, a FILETIME in local time.
    pub(crate) time: i64,
    pub(crate) payload: Bytes<'a>,
}

/// The file, read buffer by buffer.
pub(crate) struct Container<R> {
    file: R,
    size: usize,
    /// File offsets of the buffers with events, in the order they were written.
    buffers: Vec<u64>,
    next: usize,
    buffer: Vec<u8>,
    /// Where in `buffer` the next event is, and where the last one ends.
    at: usize,
    end: usize,
    pub(crate) facts: Facts,
    pub(crate) zone: Zone,
}

/// Whether a file that begins like this is an event trace file; at least 104 bytes are needed to say so.
pub fn recognise(head: &[u8]) -> bool {
    let bytes = Bytes::of_file(head, 0);
    header_buffer(&bytes).is_ok() && bytes.u8(BUFFER_HEADER + 3).is_ok_and(|flags| flags & MARKER == MARKER)
}

/// Size of a buffer, from the first one's header.
fn header_buffer(bytes: &Bytes<'_>) -> Result<usize, Fault> {
    let size = bytes.length(0)?;
    if !(LEAST_BUFFER..=MOST_BUFFER).contains(&size) || !size.is_multiple_of(LEAST_BUFFER) {
        return Err(bytes.fault(0, "no event trace file begins like this (buffer size)"));
    }
    if bytes.u16(0x36)? != TYPE_HEADER {
        return Err(bytes.fault(0x36, "no event trace file begins like this (type of the first buffer)"));
    }
    Ok(size)
}

impl<R: Read + Seek> Container<R> {
    pub(crate) fn open(mut file: R) -> Result<Container<R>, Fault> {
        let length = file.seek(SeekFrom::End(0)).map_err(|error| unreadable(0, &error))?;
        let mut head = vec![0; length.min(BUFFER_HEADER as u64) as usize];
        read_at(&mut file, 0, &mut head)?;
        let size = header_buffer(&Bytes::of_file(&head, 0))?;
        if !length.is_multiple_of(size as u64) {
            let whole = length - length % size as u64;
            let what = format!("the file is cut: {} bytes of a buffer of {size}", length - whole);
            return Err(Fault::new(whole, what));
        }
        let mut first = vec![0; size];
        read_at(&mut file, 0, &mut first)?;
        let (facts, zone) = session(&Bytes::of_file(&first, 0))?;
        let mut container =
            Container { file, size, buffers: Vec::new(), next: 0, buffer: first, at: 0, end: 0, facts, zone };
        container.order(length)?;
        Ok(container)
    }

    /// Looks at every buffer's header and puts them into the order they were written in.
    fn order(&mut self, length: u64) -> Result<(), Fault> {
        let mut found = Vec::new();
        let mut head = [0; BUFFER_HEADER];
        for offset in (self.size as u64..length).step_by(self.size) {
            read_at(&mut self.file, offset, &mut head)?;
            let bytes = Bytes::of_file(&head, offset);
            if head.iter().all(|byte| *byte == 0) && self.facts.circular {
                continue; // A circular file is made at its full size.
            }
            if bytes.length(0)? != self.size {
                return Err(bytes
                    .fault(0, format!("a buffer of {} bytes among those of {}", bytes.u32(0)?, self.size)));
            }
            let filled = bytes.length(0x30)?;
            if !(BUFFER_HEADER..=self.size).contains(&filled) {
                return Err(bytes.fault(0x30, format!("{filled} bytes are said to be used of {}", self.size)));
            }
            let kind = bytes.u16(0x36)?;
            if kind != TYPE_EVENTS {
                return Err(bytes.fault(0x36, format!("a buffer of type {kind} is not understood")));
            }
            found.push((bytes.u64(0x18)?, offset));
        }
        if self.facts.circular {
            found.sort_unstable();
        }
        for pair in found.windows(2) {
            if pair[1].0 != pair[0].0 + 1 {
                let what = format!("buffer {} follows buffer {}: buffers are missing", pair[1].0, pair[0].0);
                return Err(Fault::new(pair[1].1 + 0x18, what));
            }
        }
        self.buffers = found.into_iter().map(|(_, offset)| offset).collect();
        Ok(())
    }

    /// The next event of the performance log; None at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
        loop {
            if self.at + 8 > self.end || self.buffer[self.at..self.at + 8] == [0xff; 8] {
                if !self.next_buffer()? {
                    return Ok(None);
                }
                continue;
            }
            let offset = self.buffers[self.next - 1];
            let (at, end) = (self.at, self.end);
            let (size, ours) = {
                let rest = Bytes::of_file(&self.buffer[at..end], offset + at as u64);
                let size = event_size(&rest)?;
                (size, is_ours(&rest, size)?)
            };
            self.at = at + size.next_multiple_of(8);
            if ours {
                let event = Bytes::of_file(&self.buffer[at..at + size], offset + at as u64);
                if event.u16(6)? != RECORD_VERSION {
                    let what = format!("records of version {} are not understood", event.u16(6)?);
                    return Err(event.fault(6, what));
                }
                let (kind, time) = (event.u8(4)?, event.i64(16)?);
                return Ok(Some(Event {
                    kind,
                    time,
                    payload: event.part(EVENT_HEADER, size - EVENT_HEADER)?,
                }));
            }
            self.facts.foreign_events += 1;
        }
    }

    fn next_buffer(&mut self) -> Result<bool, Fault> {
        let Some(offset) = self.buffers.get(self.next).copied() else { return Ok(false) };
        read_at(&mut self.file, offset, &mut self.buffer)?;
        self.next += 1;
        self.at = BUFFER_HEADER;
        self.end = Bytes::of_file(&self.buffer, offset).length(0x30)?;
        Ok(true)
    }
}

fn event_size(rest: &Bytes<'_>) -> Result<usize, Fault> {
    let kind = rest.u8(2)?;
    let flags = rest.u8(3)?;
    if flags & MARKER != MARKER {
        return Err(rest.fault(3, format!("no event begins here (flags {flags:#04x})")));
    }
    let size = match kind {
        kind if FULL_HEADERS.contains(&kind) || MANIFEST_HEADERS.contains(&kind) => usize::from(rest.u16(0)?),
        kind if SHORT_HEADERS.contains(&kind) => usize::from(rest.u16(4)?),
        other => return Err(rest.fault(2, format!("an event of header type {other:#04x} is not understood"))),
    };
    if size < 8 || size > rest.len() {
        return Err(rest.fault(0, format!("an event of {size} bytes where {} are left", rest.len())));
    }
    Ok(size)
}

/// Whether an event is the performance log's.
fn is_ours(rest: &Bytes<'_>, size: usize) -> Result<bool, Fault> {
    if !FULL_HEADERS.contains(&rest.u8(2)?) || size < EVENT_HEADER {
        return Ok(false);
    }
    let provider = rest.part(24, 16)?;
    let differing: u32 = provider.raw().iter().zip(PDH).map(|(is, should)| (is ^ should).count_ones()).sum();
    match differing {
        0 => Ok(true),
        1..=DAMAGED_BITS => Err(provider.fault(0, "the provider of this event is damaged")),
        _ => Ok(false),
    }
}

/// Facts and time zone of the first buffer's event.
fn session(first: &Bytes<'_>) -> Result<(Facts, Zone), Fault> {
    let size = usize::from(first.u16(BUFFER_HEADER + 4)?);
    let header = first.part(BUFFER_HEADER, size)?;
    let about = header.part(32, size.saturating_sub(32))?;
    let mode = about.u32(0x20)?;
    if mode & MODE_COMPRESSED != 0 {
        return Err(about.fault(0x20, "the log is compressed"));
    }
    let names = match about.u32(0x2c)? {
        4 => 8,
        8 => 16,
        other => return Err(about.fault(0x2c, format!("pointers of {other} bytes do not exist"))),
    };
    let zone_at: usize = 0x38 + names;
    let zone = Zone::read(&about.part(zone_at, Zone::SIZE)?)?;
    let times_at = (zone_at + Zone::SIZE).next_multiple_of(8);
    let facts = Facts {
        build: about.u32(8)?,
        processors: about.u32(0xc)?,
        events_lost: about.u32(0x30)?,
        buffers_lost: about.u32(times_at + 28)?,
        circular: mode & MODE_CIRCULAR != 0,
        bias_minutes: zone.standard,
        foreign_events: 0,
    };
    Ok((facts, zone))
}

fn read_at<R: Read + Seek>(file: &mut R, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.read_exact(into))
        .map_err(|error| unreadable(offset, &error))
}

fn unreadable(offset: u64, error: &io::Error) -> Fault {
    Fault::new(offset, format!("cannot read: {error}"))
}
