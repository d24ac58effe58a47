//! Option data and option replies of the handshake.

use crate::constants::{OPTION_REPLY_MAGIC, answer, info};
use crate::export::Export;
use crate::request::be32;

/// The only meta context there is, and its number on every connection.
pub(crate) const ALLOCATION: &str = "base:allocation";
pub(crate) const ALLOCATION_ID: u32 = 1;

/// Appends the reply to an option.
pub(crate) fn put(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

/// Appends the answer to INFO and GO about an export.
pub(crate) fn put_infos(out: &mut Vec<u8>, option: u32, export: &Export, structured: bool) {
    let with = |kind: u16, rest: &[u8]| [&kind.to_be_bytes(), rest].concat();
    let sizes = [export.size.to_be_bytes().as_slice(), &export.flags(structured).to_be_bytes()].concat();
    put(out, option, answer::INFO, &with(info::EXPORT, &sizes));
    put(out, option, answer::INFO, &with(info::NAME, export.name.as_bytes()));
    if !export.description.is_empty() {
        put(out, option, answer::INFO, &with(info::DESCRIPTION, export.description.as_bytes()));
    }
    let blocks = [export.block, export.preferred, export.largest].map(u32::to_be_bytes).concat();
    put(out, option, answer::INFO, &with(info::BLOCK_SIZE, &blocks));
    put(out, option, answer::ACK, &[]);
}

/// Takes a string with a length before it off the front.
fn text<'a>(data: &mut &'a [u8]) -> Option<&'a str> {
    let length = be32(data.get(..4)?, 0) as usize;
    let bytes = data.get(4..4 + length)?;
    *data = &data[4 + length..];
    std::str::from_utf8(bytes).ok()
}

/// The name in the data of INFO or GO; None if the data contradicts itself.
pub(crate) fn name_of(data: &[u8]) -> Option<&str> {
    let mut rest = data;
    let name = text(&mut rest)?;
    let count = usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
    (rest.len() == 2 + 2 * count).then_some(name)
}

/// The export's name and the queries of a meta context option; None if the data contradicts itself.
pub(crate) fn queries_of(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut rest = data;
    let name = text(&mut rest)?;
    let count = be32(rest.get(..4)?, 0);
    rest = &rest[4..];
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(text(&mut rest)?);
    }
    rest.is_empty().then_some((name, queries))
}
