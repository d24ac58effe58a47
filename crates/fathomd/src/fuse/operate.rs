//! Executes a request of either transport: an answer's payload, or an error number.

use std::ops::Range;

use fathom_fuse::{Fallocate, Operation, Request};
use fathom_volume::{Buf, Error, ErrorKind, Pool, Request as VolumeRequest};

use crate::exports::Served;
use crate::fuse::tree::{File, Tree};

/// What a request came to.
pub enum Done {
    /// The answer's payload was put into `data` and has that many bytes.
    Payload(usize),
    /// That many bytes were written. A layer may still hold `data`, so that nothing was put there.
    Written(u32),
}

/// Has a request done. `data` begins with the payload of a write, and has room for the payload of an answer.
///
/// # Errors
/// A positive error number.
pub async fn operate(tree: &Tree, pool: &Pool, request: &Request<'_>, data: &Buf) -> Result<Done, i32> {
    let node = request.node;
    match request.operation {
        Operation::Read { offset, length } => {
            let file = tree.file(node).ok_or(libc::EISDIR)?;
            read(&file.served, pool, offset, length, data).await.map(Done::Payload)
        }
        Operation::Write { offset, length } => {
            let file = tree.file(node).ok_or(libc::EISDIR)?;
            write(file, pool, offset, length, data).await?;
            Ok(Done::Written(length))
        }
        Operation::Fsync => {
            let served = &tree.file(node).ok_or(libc::EISDIR)?.served;
            served.volume.flush(VolumeRequest::flush()).await.map_err(|error| no(served, "flush", &error))?;
            Ok(Done::Payload(0))
        }
        Operation::Fallocate(wanted) => {
            fallocate(tree.file(node).ok_or(libc::EISDIR)?, pool, wanted).await?;
            Ok(Done::Payload(0))
        }
        _ => {
            let answer = tell(tree, request, data.len())?;
            data.slice(0..answer.len()).copy_from(&answer);
            Ok(Done::Payload(answer.len()))
        }
    }
}

/// What concerns names and attributes.
fn tell(tree: &Tree, request: &Request<'_>, room: usize) -> Result<Vec<u8>, i32> {
    let node = request.node;
    match request.operation {
        Operation::Lookup { name } => tree.look_up(node, name),
        Operation::GetAttr => tree.attr(node),
        Operation::SetAttr { valid, size } => tree.set_attr(node, valid, size),
        Operation::Open { flags } => tree.open(node, flags),
        Operation::OpenDir => tree.open_folder(node),
        Operation::ReadDir { offset, length } => tree.read_folder(node, offset, room.min(length as usize)),
        Operation::StatFs => Ok(tree.statfs()),
        // Everything written is with the volume already, and permissions are the kernel's to check.
        Operation::Release
        | Operation::ReleaseDir
        | Operation::Flush
        | Operation::FsyncDir
        | Operation::Access
        | Operation::Destroy
        | Operation::Forget
        | Operation::Interrupt { .. } => Ok(Vec::new()),
        Operation::ChangeFolder => Err(libc::EPERM),
        Operation::Other(_) => Err(libc::ENOSYS),
        Operation::Read { .. } | Operation::Write { .. } | Operation::Fsync | Operation::Fallocate(_) => {
            unreachable!("requests to a volume are not told about")
        }
    }
}

async fn read(served: &Served, pool: &Pool, offset: u64, length: u32, data: &Buf) -> Result<usize, i32> {
    let export = &served.export;
    let end = export.size.min(offset.saturating_add(u64::from(length)));
    if offset >= end {
        return Ok(0);
    }
    let count = (end - offset) as usize;
    let sector = u64::from(export.block);
    if (offset | end).is_multiple_of(sector) {
        let into = data.slice(0..count);
        served.read(offset, &into).await.map_err(|error| no(served, "read", &error))?;
        return Ok(count);
    }
    // Tools look at files by the byte: whole sectors are read around what they want.
    let (first, last) = (offset / sector * sector, end.next_multiple_of(sector));
    let whole = pool.get((last - first) as usize);
    served.read(first, &whole).await.map_err(|error| no(served, "read", &error))?;
    let at = (offset - first) as usize;
    data.slice(0..count).copy_from_buf(&whole.slice(at..at + count));
    Ok(count)
}

/// A write follows every earlier one that touches the same sectors: of what a layer makes of requests that overlap, the
/// legs of a mirror might keep different halves, and sectors that are written in part must be read in between.
async fn write(file: &File, pool: &Pool, offset: u64, length: u32, data: &Buf) -> Result<(), i32> {
    let served = &file.served;
    check(served, offset, u64::from(length))?;
    let bytes = offset..offset + u64::from(length);
    let sectors = sectors(served, &bytes);
    let _changing = file.changing.lock(sectors.clone()).await;
    let whole = if sectors == bytes {
        data.slice(0..length as usize)
    } else {
        // A large request from memory that is not aligned comes in pieces of odd lengths.
        let (whole, part) = around(served, pool, &bytes).await?;
        part.copy_from_buf(&data.slice(0..length as usize));
        whole
    };
    served.write(sectors.start, &whole, false).await.map_err(|error| no(served, "write", &error))
}

/// The sectors that these bytes touch.
fn sectors(served: &Served, bytes: &Range<u64>) -> Range<u64> {
    let sector = u64::from(served.export.block);
    bytes.start / sector * sector..bytes.end.next_multiple_of(sector)
}

/// A buffer for the sectors that these bytes touch, of which the first and the last are read; and the part of it that is theirs.
async fn around(served: &Served, pool: &Pool, bytes: &Range<u64>) -> Result<(Buf, Buf), i32> {
    let (sector, Range { start: first, end: last }) =
        (u64::from(served.export.block), sectors(served, bytes));
    let whole = pool.get((last - first) as usize);
    let other = last - sector;
    for edge in [first].into_iter().chain((other > first).then_some(other)) {
        let at = (edge - first) as usize;
        let into = whole.slice(at..at + sector as usize);
        served.read(edge, &into).await.map_err(|error| no(served, "read", &error))?;
    }
    let part = whole.slice((bytes.start - first) as usize..(bytes.end - first) as usize);
    Ok((whole, part))
}

/// Punching and zeroing both end in zeroes, as a file's reader expects; a trim promises less. Sectors that are zeroed in part are
/// written.
async fn fallocate(file: &File, pool: &Pool, wanted: Fallocate) -> Result<(), i32> {
    const KEEP_SIZE: u32 = libc::FALLOC_FL_KEEP_SIZE as u32;
    const PUNCH_HOLE: u32 = libc::FALLOC_FL_PUNCH_HOLE as u32;
    const ZERO_RANGE: u32 = libc::FALLOC_FL_ZERO_RANGE as u32;
    let Fallocate { offset, length, mode } = wanted;
    let served = &file.served;
    check(served, offset, length)?;
    match mode & !KEEP_SIZE {
        // Everything is there already.
        0 => Ok(()),
        PUNCH_HOLE | ZERO_RANGE => {
            let (sector, end) = (u64::from(served.export.block), offset + length);
            let _changing = file.changing.lock(sectors(served, &(offset..end))).await;
            let (first, last) = (offset.next_multiple_of(sector), end / sector * sector);
            if first >= last {
                return zero_in_part(served, pool, offset..end).await;
            }
            zero_in_part(served, pool, offset..first).await?;
            zero_in_part(served, pool, last..end).await?;
            let done = served.volume.write_zeroes(VolumeRequest::new(first, last - first)).await;
            done.map_err(|error| no(served, "write zeroes", &error))
        }
        _ => Err(libc::EOPNOTSUPP),
    }
}

/// Zeroes bytes within one or two sectors, of which the rest stays.
async fn zero_in_part(served: &Served, pool: &Pool, bytes: Range<u64>) -> Result<(), i32> {
    if bytes.is_empty() {
        return Ok(());
    }
    let (whole, part) = around(served, pool, &bytes).await?;
    part.with_mut(|bytes| bytes.fill(0));
    let first = sectors(served, &bytes).start;
    served.write(first, &whole, false).await.map_err(|error| no(served, "write", &error))
}

/// Whether a change lies within the file and is allowed.
fn check(served: &Served, offset: u64, length: u64) -> Result<(), i32> {
    let export = &served.export;
    if export.read_only {
        return Err(libc::EROFS);
    }
    if offset.checked_add(length).is_none_or(|end| end > export.size) {
        return Err(libc::ENOSPC);
    }
    if length == 0 { Err(libc::EINVAL) } else { Ok(()) }
}

fn no(served: &Served, what: &str, error: &Error) -> i32 {
    // A wrong request is its sender's business, not the operator's.
    if error.kind() != ErrorKind::Misuse {
        served.complain(what, error);
    }
    error.kind().errno()
}
