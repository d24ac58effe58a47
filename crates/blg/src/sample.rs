//! One sample: a block for each entry of the list.

use crate::bytes::Bytes;
use crate::fault::Fault;
use crate::formula::{Point, Raw};
use crate::list::{Entry, Layout};
use crate::perfdata;

const SIGNATURE: u16 = 0x4c42;
const WHOLE: u16 = 0x0003;
const ONE: u16 = 0x0103;
const MANY: u16 = 0x0203;
const OBJECT: u16 = 0x0503;
const HEADER: usize = 8;
/// Bytes before the instances of a counter with many.
const MANY_HEADER: usize = 24;
const INSTANCE: usize = 24;

/// What one entry yielded.
pub(crate) enum Reading {
    /// Values of counters: FILETIME (local) and points; none where Windows had no data.
    Counters(i64, Vec<Point>),
    Object(perfdata::Block),
}

/// The readings of a sample, one for each entry, in the list's order.
pub(crate) fn read(record: &Bytes<'_>, entries: &[Entry]) -> Result<Vec<Reading>, Fault> {
    let whole = block(record, 0, WHOLE)?;
    if whole.len() + HEADER != record.len() {
        let what = format!("a sample of {} bytes in a record of {}", whole.len() + HEADER, record.len());
        return Err(record.fault(4, what));
    }
    let mut readings = Vec::with_capacity(entries.len());
    let mut at = 0;
    for (position, entry) in entries.iter().enumerate() {
        let kind = match entry.layout {
            Layout::One => ONE,
            Layout::Many => MANY,
            Layout::Object => OBJECT,
        };
        let body = block(&whole, at, kind)?;
        at += HEADER + body.len();
        readings.push(match entry.layout {
            Layout::One => one(&body, entry, position as u32)?,
            Layout::Many => many(&body, entry, position as u32)?,
            Layout::Object => Reading::Object(perfdata::read(&body)?),
        });
    }
    if at != whole.len() {
        return Err(whole.fault(at, "more in a sample than the list of counters has"));
    }
    Ok(readings)
}

fn block<'a>(bytes: &Bytes<'a>, at: usize, kind: u16) -> Result<Bytes<'a>, Fault> {
    if bytes.u16(at)? != SIGNATURE {
        return Err(bytes.fault(at, "no block of a sample begins here"));
    }
    let (is, size) = (bytes.u16(at + 2)?, bytes.length(at + 4)?);
    if is != kind {
        return Err(bytes.fault(at + 2, format!("a block of type {is:#06x} where {kind:#06x} is due")));
    }
    if size < HEADER {
        return Err(bytes.fault(at + 4, format!("a block of {size} bytes is too short")));
    }
    bytes.part(at + HEADER, size - HEADER)
}

fn point(entry: &Entry, position: u32, instance: String, raw: (u64, u64)) -> Point {
    Point {
        position,
        name: 0,
        code: entry.counter_type,
        instance,
        instance_number: 0,
        raw: Raw { first: raw.0, second: raw.1, frequency: entry.time_base as f64 },
    }
}

fn one(body: &Bytes<'_>, entry: &Entry, position: u32) -> Result<Reading, Fault> {
    let points = match has_data(body.u32(0)?) {
        true => vec![point(entry, position, entry.instance.clone(), (body.u64(16)?, body.u64(24)?))],
        false => Vec::new(),
    };
    Ok(Reading::Counters(body.i64(4)?, points))
}

fn many(body: &Bytes<'_>, entry: &Entry, position: u32) -> Result<Reading, Fault> {
    let (size, count, status) = (body.length(0)?, body.length(4)?, body.u32(8)? | body.u32(12)?);
    if size != body.len() || count > (size.saturating_sub(MANY_HEADER)) / INSTANCE {
        return Err(body.fault(0, format!("{count} instances in {size} bytes")));
    }
    let time = body.i64(16)?;
    if !has_data(status) {
        return Ok(Reading::Counters(time, Vec::new()));
    }
    let points = (0..count).map(|number| {
        let at = MANY_HEADER + number * INSTANCE;
        let name = body.text(body.length(at)?)?;
        Ok(point(entry, position, name, (body.u64(at + 8)?, body.u64(at + 16)?)))
    });
    Ok(Reading::Counters(time, points.collect::<Result<_, Fault>>()?))
}

/// PDH_CSTATUS_VALID_DATA and PDH_CSTATUS_NEW_DATA; any other status is a sample without data.
fn has_data(status: u32) -> bool {
    status <= 1
}
