//! What a log holds: one entry per counter, a counter of many instances, or a whole object.

use crate::bytes::Bytes;
use crate::fault::Fault;

const PREFIX: usize = 8;
/// Bytes of an entry before its texts.
const ENTRY: usize = 52;
const NONE: u32 = u32::MAX;
const MANY: u32 = 0x1;
const OBJECT: u32 = 0x10;

/// How an entry's samples are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One value.
    One,
    /// A value for each instance.
    Many,
    /// Every counter and instance of an object.
    Object,
}

/// One thing that is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) layout: Layout,
    /// winperf.h's PERF_COUNTER types; of no meaning for objects.
    pub(crate) counter_type: u32,
    /// Ticks a second of the second raw value.
    pub(crate) time_base: i64,
    pub(crate) machine: String,
    pub(crate) object: String,
    /// "parent/instance#index" as paths have it; empty where there is none.
    pub(crate) instance: String,
    pub(crate) counter: String,
}

/// Every entry of the list, in the order in which samples follow it.
pub(crate) fn read(record: &Bytes<'_>) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    let mut at = PREFIX;
    while at < record.len() {
        let length = record.length(at)?;
        if length < ENTRY {
            return Err(record.fault(at, format!("an entry of {length} bytes is too short")));
        }
        entries.push(entry(&record.part(at, length)?)?);
        at += length;
    }
    if entries.is_empty() {
        return Err(record.fault(0, "the list of counters is empty"));
    }
    Ok(entries)
}

fn entry(bytes: &Bytes<'_>) -> Result<Entry, Fault> {
    let texts = bytes.part(ENTRY, bytes.len() - ENTRY)?;
    let text = |field: usize| -> Result<String, Fault> {
        match bytes.u32(28 + 4 * field)? {
            NONE => Ok(String::new()),
            at => texts.text(at as usize),
        }
    };
    let layout = match bytes.u32(4)? {
        0 => Layout::One,
        MANY => Layout::Many,
        OBJECT => Layout::Object,
        other => return Err(bytes.fault(4, format!("entries with flags {other:#x} are not understood"))),
    };
    let (parent, name, index) = (text(3)?, text(2)?, bytes.u32(28 + 16)?);
    let mut instance = if parent.is_empty() { name } else { format!("{parent}/{name}") };
    if layout == Layout::One && index != 0 && index != NONE {
        instance = format!("{instance}#{index}");
    }
    let machine = text(0)?;
    if !machine.starts_with(r"\\") {
        return Err(bytes.fault(28, "a counter without a machine"));
    }
    let time_base = bytes.i64(16)?;
    if layout != Layout::Object && time_base < 0 {
        return Err(bytes.fault(16, format!("a time base of {time_base} ticks a second")));
    }
    Ok(Entry {
        layout,
        counter_type: bytes.u32(12)?,
        time_base,
        machine,
        object: text(1)?,
        instance,
        counter: text(5)?,
    })
}
