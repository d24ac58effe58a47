//! Reading the log back: from its tail record by record along the chain of checksums, to the first break. What lies
//! before the last known flush must be there; behind it the log ends where a record is not whole. A power cut may keep a
//! write that no flush covers and drop the one before it, so a record behind the break proves nothing by being there: it
//! proves a loss if it says that more had been flushed when it was made than is left before the break.

use std::rc::Rc;

use fathom_volume::{Buf, Handle, Pool, Result};

use crate::codec::BLOCK;
use crate::side_by_side::side_by_side;
use crate::writeback::record::{Header, Record};
use crate::writeback::space::Space;
use crate::writeback::superblock::CacheSuper;

use super::io;
use super::state::Point;

/// The longest stretch of the log read ahead, in bytes, and the requests it is read in.
const LONGEST_STRETCH: u64 = 4 << 20;
const REQUEST: usize = 256 << 10;
/// How far behind a break every block is looked at, in bytes: to the end of the next segment, and no further than this.
const LONGEST_LOOK: u64 = 256 << 20;
/// Of how many segments behind that the first block is looked at, where every segment in use has a record.
const MOST_SEGMENTS: usize = 16 << 10;
/// How many of those are read at once.
const WIDTH: usize = 64;

/// Header blocks, read a stretch at a time: what lies between them is read too, which costs less than waiting for each.
struct Window<'a> {
    pool: &'a Pool,
    cache: &'a Handle,
    space: &'a Space,
    start: u64,
    stretch: Buf,
    next_length: u64,
    /// The first block of the segment ahead, which is asked for after every record, and where it stands.
    ahead: Option<(u64, Buf)>,
}

impl<'a> Window<'a> {
    fn new(pool: &'a Pool, cache: &'a Handle, space: &'a Space) -> Self {
        Self { pool, cache, space, start: 0, stretch: pool.get(0), next_length: 16 << 10, ahead: None }
    }

    /// The block at a position.
    async fn block(&mut self, position: u64) -> Result<Buf> {
        let block = BLOCK as u64;
        if position < self.start || position + block > self.start + self.stretch.len() as u64 {
            let lap = self.space.free_before + self.space.length;
            let ring = self.space.length - position % self.space.length;
            let length = self.next_length.min(lap - position).min(ring);
            self.stretch = read_stretch(self.pool, self.cache, self.space.physical(position), length).await?;
            self.start = position;
            self.next_length = (2 * self.next_length).min(LONGEST_STRETCH);
        }
        let from = (position - self.start) as usize;
        Ok(self.stretch.slice(from..from + BLOCK))
    }

    /// The first block of the next segment; the window stays where it is.
    async fn block_ahead(&mut self, position: u64) -> Result<Buf> {
        if let Some((_, block)) = self.ahead.as_ref().filter(|(at, _)| *at == position) {
            return Ok(block.clone());
        }
        let block = self.pool.get(BLOCK);
        io::read(self.cache, self.space.physical(position), &block).await?;
        self.ahead = Some((position, block.clone()));
        Ok(block)
    }
}

/// Reads so many bytes from there in requests side by side.
async fn read_stretch(pool: &Pool, cache: &Handle, at: u64, length: u64) -> Result<Buf> {
    let stretch = pool.get(length as usize);
    let parts = (0..length as usize).step_by(REQUEST).map(|from| {
        let part = stretch.slice(from..(from + REQUEST).min(length as usize));
        Box::pin(async move { io::read(cache, at + from as u64, &part).await })
    });
    side_by_side(parts.collect()).await?;
    Ok(stretch)
}

/// What the log holds.
pub struct Scanned {
    /// Records from the tail on, oldest first.
    pub records: Vec<Rc<Record>>,
    /// The end of the log.
    pub end: Point,
    /// Every write up to this number was flushed, as a later record says; 0 if none says so.
    pub known: u64,
    /// The last incarnation that wrote a record of it.
    pub newest: u64,
}

/// The live log by its headers.
pub struct Headers {
    /// Oldest first.
    pub headers: Vec<Header>,
    /// The end of the log, if every payload is whole.
    pub end: Point,
    /// Everything before this position was flushed: it must be there.
    pub flushed: u64,
}

/// The log's space as a superblock describes it.
pub fn space_of(superblock: &CacheSuper) -> Space {
    Space {
        start: superblock.start,
        length: superblock.length,
        segment: superblock.segment,
        head: superblock.tail,
        free_before: superblock.tail,
        pinned: None,
    }
}

/// Where a scan begins.
pub fn begin(superblock: &CacheSuper) -> Point {
    Point { end: superblock.tail, seq: superblock.seq - 1, crc: superblock.chain, epoch: 0 }
}

/// Follows the chain of headers from the tail on.
pub async fn scan_headers(pool: &Pool, cache: &Handle, superblock: &CacheSuper) -> Result<Headers> {
    let space = space_of(superblock);
    let (mut headers, mut end, mut flushed) = (Vec::new(), begin(superblock), 0);
    let mut window = Window::new(pool, cache, &space);
    while let Some(header) = next(&mut window, superblock, &space, end).await? {
        end = Point {
            end: header.head.position + header.layout.total,
            seq: header.head.first_seq + header.extents.len() as u64 - 1,
            crc: header.crc,
            epoch: header.head.epoch,
        };
        flushed = flushed.max(header.head.flushed);
        headers.push(header);
    }
    Ok(Headers { headers, end, flushed })
}

/// Scans the log that a superblock describes. Whatever is found must be durable already. Payloads that a flush vouches for
/// are believed unread, unless every one is to be `verified`.
pub async fn scan(
    pool: &Pool,
    cache: &Handle,
    superblock: &CacheSuper,
    now: u64,
    verified: bool,
) -> Result<Scanned> {
    let space = space_of(superblock);
    let Headers { headers, end, flushed } = scan_headers(pool, cache, superblock).await?;
    let mut known = known_behind(pool, cache, superblock, end).await?;
    let newest = headers.iter().map(|header| header.head.incarnation).max().unwrap_or(0);
    let found = headers.iter().map(|header| Rc::new(Record::found(header, now)));
    let mut records: Vec<Rc<Record>> = found.collect();
    let sure = records.partition_point(|record| record.end <= flushed);
    let from = if verified { 0 } else { sure };
    let whole = from + whole_payloads(pool, cache, &space, &records[from..]).await?;
    if let Some(last) = sure.checked_sub(1).filter(|last| whole <= *last) {
        known = known.max(records[last].last_seq());
    }
    records.truncate(whole);
    let end = records.last().map_or_else(|| begin(superblock), |record| Point::after(record));
    Ok(Scanned { records, end, known, newest })
}

/// The record that follows a point: right behind it, or at the beginning of the next segment.
async fn next(
    window: &mut Window<'_>,
    superblock: &CacheSuper,
    space: &Space,
    after: Point,
) -> Result<Option<Header>> {
    let behind = after.end;
    let candidates = [Some(behind), space.segment_behind(behind)];
    // A crash may leave a record behind that was not whole, right where the log ended; if the next one did not fit there,
    // both follow the same predecessor, and the later incarnation's is the live one.
    let mut found: Option<Header> = None;
    for position in candidates.into_iter().flatten() {
        // A log that has gone around would meet its own tail.
        if position + BLOCK as u64 > space.free_before + space.length {
            continue;
        }
        let block = match position == behind {
            true => window.block(position).await?,
            false => window.block_ahead(position).await?,
        };
        let header = block.with(Header::decode).filter(|header| {
            let head = &header.head;
            head.uuid == superblock.uuid
                && head.position == position
                && head.previous == after.crc
                && head.first_seq == after.seq + 1
                && head.incarnation >= superblock.oldest_at(position)
                && header.layout.total <= space.segment - position % space.segment
        });
        if let Some(mut header) = header {
            header.head.position = position;
            let newer =
                found.as_ref().is_none_or(|other: &Header| header.head.incarnation > other.head.incarnation);
            if newer {
                found = Some(header);
            }
        }
    }
    Ok(found)
}

/// Up to which write the records behind a log that breaks at `end` say that it had been flushed; 0 if none says more than
/// is there. Looks at every block to the end of the next segment, and at the first one of every segment of the lap after
/// that.
pub async fn known_behind(pool: &Pool, cache: &Handle, superblock: &CacheSuper, end: Point) -> Result<u64> {
    let space = space_of(superblock);
    let lap = space.free_before + space.length;
    let near = space.next_segment(space.next_segment(end.end)).min(end.end + LONGEST_LOOK).min(lap);
    let mut behind = Vec::new();
    let mut see = |block: &[u8], at: u64| {
        let found = Header::decode(block).filter(|Header { head, .. }| {
            head.uuid == superblock.uuid
                && head.position == at
                && head.incarnation >= superblock.base.max(superblock.floor)
        });
        behind.extend(found);
    };
    let mut position = end.end;
    while position < near {
        let to_end = space.length - position % space.length;
        let length = LONGEST_STRETCH.min(near - position).min(to_end);
        let blocks = read_stretch(pool, cache, space.physical(position), length).await?;
        blocks.with(|bytes| {
            bytes.chunks(BLOCK).zip((position..).step_by(BLOCK)).for_each(|(block, at)| see(block, at));
        });
        position += length;
    }
    let first = if near.is_multiple_of(space.segment) { near } else { space.next_segment(near) };
    let far: Vec<u64> = (first..lap.saturating_sub(BLOCK as u64 - 1))
        .step_by(space.segment as usize)
        .take(MOST_SEGMENTS)
        .collect();
    for positions in far.chunks(WIDTH) {
        let blocks = pool.get(positions.len() * BLOCK);
        let reads = positions.iter().enumerate().map(|(index, position)| {
            let part = blocks.slice(index * BLOCK..(index + 1) * BLOCK);
            let at = space.physical(*position);
            Box::pin(async move { io::read(cache, at, &part).await })
        });
        side_by_side(reads.collect()).await?;
        blocks.with(|bytes| bytes.chunks(BLOCK).zip(positions).for_each(|(block, at)| see(block, *at)));
    }
    let flushed = behind.iter().map(|header| header.head.flushed).max().unwrap_or(0);
    if flushed <= end.end {
        return Ok(0);
    }
    let covered = behind.iter().filter(|header| header.head.position + header.layout.total <= flushed);
    let last = |header: &Header| header.head.first_seq + header.extents.len() as u64 - 1;
    Ok(covered.map(last).max().unwrap_or(0).max(end.seq + 1))
}

/// How many of the records, oldest first, have payloads that are what their headers say: up to the first that has not.
/// Reads a stretch of a segment at a time, as records one by one would take a device's latency each.
async fn whole_payloads(pool: &Pool, cache: &Handle, space: &Space, records: &[Rc<Record>]) -> Result<usize> {
    let mut checked = 0;
    while let Some(first) = records.get(checked) {
        let start = first.position;
        let near = |record: &&Rc<Record>| {
            record.position / space.segment == start / space.segment && record.end - start <= LONGEST_STRETCH
        };
        let group = &records[checked..checked + records[checked..].iter().take_while(near).count().max(1)];
        let length = group[group.len() - 1].end - start;
        let stretch = read_stretch(pool, cache, space.physical(start), length).await?;
        let is_whole = |record: &&Rc<Record>| {
            // A payload within the header block was checked with it.
            let payload = || stretch.slice((record.data - start) as usize..(record.end - start) as usize);
            record.data == record.position || payload().with(|bytes| record.is_whole(record.data, bytes))
        };
        let whole = group.iter().take_while(is_whole).count();
        checked += whole;
        if whole < group.len() {
            break;
        }
    }
    Ok(checked)
}

/// Whether a record's payload is what its header says.
pub async fn payload_is_whole(pool: &Pool, cache: &Handle, space: &Space, record: &Record) -> Result<bool> {
    // A payload within the header block was checked with it.
    if record.data == record.position {
        return Ok(true);
    }
    let payload = pool.get((record.end - record.data) as usize);
    io::read(cache, space.physical(record.data), &payload).await?;
    Ok(payload.with(|bytes| record.is_whole(record.data, bytes)))
}
