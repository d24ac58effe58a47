//! The redo ring on its device: positions that only grow, transfers that may wrap around its end.

use std::rc::Rc;

use fathom_runtime::Context;
use fathom_volume::{Buf, Class, Handle, Request, Result};

use crate::writeback::record::{Change, Extent};

use super::io;

/// A batch's payload is kept and written in buffers of this size: the largest transfer that cloud volumes count as one.
pub const CHUNK: usize = 256 << 10;

/// Where the redo ring lies.
#[derive(Clone)]
pub struct RedoRing {
    pub volume: Handle,
    /// First byte on the volume.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

impl RedoRing {
    fn parts(&self, position: u64, length: usize) -> Vec<(u64, std::ops::Range<usize>)> {
        let within = position % self.length;
        let first = length.min((self.length - within) as usize);
        let mut parts = vec![(self.start + within, 0..first)];
        if first < length {
            parts.push((self.start, first..length));
        }
        parts
    }

    /// Writes at a position.
    pub async fn write(&self, position: u64, from: &Buf, fua: bool) -> Result<()> {
        for (at, part) in self.parts(position, from.len()) {
            io::write(&self.volume, at, &from.slice(part), fua).await?;
        }
        Ok(())
    }

    /// Several requests are about to write from a position on.
    pub fn expect(&self, position: u64, length: u64) {
        for (at, part) in self.parts(position, length as usize) {
            self.volume.expect(at, part.len() as u64);
        }
    }

    /// Writes at a position, on behalf of destaging.
    pub async fn destage(&self, position: u64, from: &Buf) -> Result<()> {
        for (at, part) in self.parts(position, from.len()) {
            io::write_for(&destaging(), &self.volume, at, &from.slice(part)).await?;
        }
        Ok(())
    }

    /// Reads at a position.
    pub async fn read(&self, position: u64, into: &Buf) -> Result<()> {
        for (at, part) in self.parts(position, into.len()) {
            io::read(&self.volume, at, &into.slice(part)).await?;
        }
        Ok(())
    }
}

fn destaging() -> Request {
    Request::new(0, 0).on_behalf_of(Class::Destage)
}

/// One request to a backing volume.
pub enum InPlace {
    Write(u16, u64, Buf),
    Zero(u16, u64, u64),
}

impl InPlace {
    /// The index of its volume in the group.
    pub fn volume(&self) -> usize {
        match self {
            Self::Write(volume, ..) | Self::Zero(volume, ..) => usize::from(*volume),
        }
    }

    /// Bytes that it carries.
    pub fn payload(&self) -> u64 {
        match self {
            Self::Write(_, _, buf) => buf.len() as u64,
            Self::Zero(..) => 0,
        }
    }

    /// Has the volume do it.
    pub async fn put(&self, origins: &[Handle]) -> Result<()> {
        let volume = &origins[self.volume()];
        match self {
            Self::Write(_, offset, buf) => io::write_for(&destaging(), volume, *offset, buf).await,
            Self::Zero(_, offset, length) => volume.write_zeroes(destaging().part(*offset, *length)).await,
        }
    }
}

/// Puts a batch in place at once, as an open does.
pub async fn put_in_place(
    context: &Context,
    origins: &Rc<Vec<Handle>>,
    width: usize,
    extents: &[Extent],
    chunks: &[Buf],
) -> Result<()> {
    let requests = requests(extents, chunks);
    let origins = Rc::clone(origins);
    io::at_once(context, width, requests, move |request| {
        let origins = Rc::clone(&origins);
        async move { request.put(&origins).await }
    })
    .await
}

/// The requests that put a batch in place: its extents lie sorted, their payload in the same order in the chunks, so that
/// neighbours make one request.
pub fn requests(extents: &[Extent], chunks: &[Buf]) -> Vec<InPlace> {
    let mut requests: Vec<InPlace> = Vec::with_capacity(extents.len());
    // The run of writes that is being gathered: volume, offset, and its range of the payload.
    let mut run: Option<(u16, u64, std::ops::Range<usize>)> = None;
    let mut payload = 0;
    let close = |run: Option<(u16, u64, std::ops::Range<usize>)>, requests: &mut Vec<InPlace>| {
        if let Some((volume, offset, range)) = run {
            let within = range.start % CHUNK;
            let buf = chunks[range.start / CHUNK].slice(within..within + range.len());
            requests.push(InPlace::Write(volume, offset, buf));
        }
    };
    for extent in extents {
        match extent.change {
            Change::Write => {
                let (mut offset, end) = (extent.offset, extent.offset + extent.length);
                while offset < end {
                    let length = (end - offset).min((CHUNK - payload % CHUNK) as u64);
                    let joins = run.as_ref().is_some_and(|(volume, start, range)| {
                        *volume == extent.volume
                            && start + range.len() as u64 == offset
                            && payload % CHUNK != 0
                    });
                    if !joins {
                        close(run.take(), &mut requests);
                        run = Some((extent.volume, offset, payload..payload));
                    }
                    payload += length as usize;
                    offset += length;
                    run.iter_mut().for_each(|(_, _, range)| range.end = payload);
                }
            }
            // A trimmed range reads as zeroes while the log knows of it, so it must go on doing so afterwards: what a
            // trim leaves behind is the device's choice, and the backing volume shows an exact moment of the log.
            Change::Zero | Change::Trim => {
                requests.push(InPlace::Zero(extent.volume, extent.offset, extent.length))
            }
        }
    }
    close(run, &mut requests);
    requests
}

/// Buffers for that many bytes of payload.
pub fn chunks(pool: &fathom_volume::Pool, payload: u64) -> Vec<Buf> {
    let payload = payload.next_multiple_of(4096) as usize;
    (0..payload).step_by(CHUNK).map(|at| pool.get(CHUNK.min(payload - at))).collect()
}

#[cfg(test)]
mod tests {
    use fathom_volume::Pool;
    use proptest::prelude::*;

    use super::{CHUNK, Change, Extent, InPlace, chunks, requests};

    proptest! {
        #[test]
        fn each_byte_is_written_once_and_neighbours_together(
            steps in prop::collection::vec((0..3_u64, 1..1500_u64, 0..5_u8), 1..40),
        ) {
            let (mut offset, mut payload, mut extents) = (0, 0, Vec::new());
            for (gap, sectors, kind) in steps {
                offset += gap * 512;
                let change = if kind == 0 { Change::Zero } else { Change::Write };
                let extent = Extent { volume: 0, change, offset, length: sectors * 512 };
                payload += extent.payload();
                offset += extent.length;
                extents.push(extent);
            }
            let found = requests(&extents, &chunks(&Pool::hollow(), payload));
            let mut written: Vec<(u64, u64)> = found.iter().map(|request| match request {
                InPlace::Write(_, offset, buf) => (*offset, buf.len() as u64),
                InPlace::Zero(_, offset, length) => (*offset, *length),
            }).collect();
            prop_assert!(found.iter().all(|request| !matches!(request, InPlace::Write(_, _, buf) if buf.len() > CHUNK)));
            written.sort_unstable();
            let mut expected: Vec<(u64, u64)> = extents.iter().map(|extent| (extent.offset, extent.length)).collect();
            let join = |list: &mut Vec<(u64, u64)>| {
                let mut joined: Vec<(u64, u64)> = Vec::new();
                for (offset, length) in list.drain(..) {
                    match joined.last_mut() {
                        Some((start, sum)) if *start + *sum == offset => *sum += length,
                        _ => joined.push((offset, length)),
                    }
                }
                *list = joined;
            };
            join(&mut written);
            join(&mut expected);
            prop_assert_eq!(written, expected);
        }
    }
}
