//! The way of a read: each part comes from the newest of log and backing volume (invariant I8).

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;

use fathom_volume::{Buf, Class, Error, ErrorKind, Request, Result};

use crate::codec::blocks_of;
use crate::side_by_side::side_by_side;
use crate::writeback::plan::Location;
use crate::writeback::record::{Change, Record};

use super::Live;

/// One part of a read.
type Part<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Whether a read from the log still holds when it is done.
enum Found {
    Whole,
    /// The place was taken again meanwhile, or dropped from the index: look it up again.
    Moved,
}

impl Live {
    /// Fills a buffer with the newest bytes of a range of one volume.
    pub async fn read(self: &Rc<Self>, request: &Request, volume: u16, into: &Buf) -> Result<()> {
        let range = request.offset..request.end();
        if !self.state.borrow().index[usize::from(volume)].touches(range.clone()) {
            self.check_open(&self.state.borrow())?;
            return self.read_below(request, volume, range, into).await;
        }
        loop {
            let moved = self.read_parts(request, volume, range.clone(), into).await?;
            if !moved {
                return Ok(());
            }
        }
    }

    /// True if something moved meanwhile.
    async fn read_parts(
        self: &Rc<Self>,
        request: &Request,
        volume: u16,
        range: Range<u64>,
        into: &Buf,
    ) -> Result<bool> {
        let moved = std::cell::Cell::new(false);
        let mut answers: Vec<Part<'_>> = Vec::new();
        {
            let mut state = self.state.borrow_mut();
            self.check_open(&state)?;
            let state = &mut *state;
            for (part, place) in state.index[usize::from(volume)].parts(range.clone()) {
                let buf = into.slice((part.start - range.start) as usize..(part.end - range.start) as usize);
                match place {
                    None => answers
                        .push(Box::pin(async move { self.read_below(request, volume, part, &buf).await })),
                    Some(place) if place.change != Change::Write => buf.with_mut(|bytes| bytes.fill(0)),
                    Some(place) if copy_from_memory(&place, &buf) => state.counts.log_reads += 1,
                    Some(place) => {
                        state.counts.log_reads += 1;
                        let moved = &moved;
                        answers.push(Box::pin(async move {
                            if let Found::Moved =
                                self.read_log(Class::Foreground, &place.record, place.position, &buf).await?
                            {
                                moved.set(true);
                            }
                            Ok(())
                        }));
                    }
                }
            }
        }
        side_by_side(answers).await?;
        Ok(moved.get())
    }

    /// Reads bytes of a record's payload and checks them, whole blocks at a time.
    async fn read_log(
        self: &Rc<Self>,
        class: Class,
        record: &Rc<Record>,
        position: u64,
        into: &Buf,
    ) -> Result<Found> {
        let inner = position..position + into.len() as u64;
        let outer = blocks_of(inner.clone());
        let whole = outer == inner;
        let blocks = if whole { into.clone() } else { self.pool.get((outer.end - outer.start) as usize) };
        let (at, turn) = {
            let space = self.state.borrow().space;
            (space.physical(outer.start), outer.start / space.segment)
        };
        let (mut damaged, mut failed) = (0, None);
        let (mut found, mut without) = (false, Vec::new());
        for leg in self.legs.to_read(turn, outer.end) {
            if let Err(error) = self.legs.all()[leg].read(class, at, &blocks).await {
                failed = Some(error);
                without.push(leg);
                continue;
            }
            if self.state.borrow().kept.front().is_none_or(|oldest| record.position < oldest.position) {
                return Ok(Found::Moved);
            }
            found = !blocks.has_bytes() || blocks.with(|bytes| record.is_whole(outer.start, bytes));
            if found {
                break;
            }
            damaged += 1;
            without.push(leg);
        }
        self.state.borrow_mut().counts.checksum_errors += damaged;
        match failed {
            _ if found => {}
            Some(error) if damaged == 0 => return Err(error),
            None if damaged == 0 => return Err(Error::new(ErrorKind::Gone, "no cache device counts")),
            _ => return self.damaged(record),
        }
        if !without.is_empty() {
            // The reader's buffer is the reader's when it has its answer.
            let copy = self.pool.get(blocks.len());
            copy.copy_from_buf(&blocks);
            drop(self.context.spawn(Rc::clone(self).repair(outer.start, copy, without)));
        }
        if !whole {
            let from = (position - outer.start) as usize;
            into.copy_from_buf(&blocks.slice(from..from + into.len()));
        }
        Ok(Found::Whole)
    }

    /// Bytes of the log that a batch needs and memory has not: they are dirty, so they cannot have moved.
    pub async fn read_dirty(self: &Rc<Self>, class: Class, place: &Location, into: &Buf) -> Result<()> {
        match self.read_log(class, &place.record, place.position, into).await? {
            Found::Whole => Ok(()),
            Found::Moved => {
                Err(Error::new(ErrorKind::Corrupt, "dirty bytes have moved: this is a defect of the cache"))
            }
        }
    }

    /// A record's bytes are not what was written: the backing volume has clean ones; nothing has dirty ones.
    fn damaged(&self, record: &Rc<Record>) -> Result<Found> {
        let mut state = self.state.borrow_mut();
        if record.last_seq() > state.applied.seq {
            let at = state.space.physical(record.position);
            drop(state);
            let error = Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the cache device `{}` returned other bytes than were written, in the record at byte {at}, and the \
                     backing volume does not have them yet; if the device cannot be brought back as it was, \
                     `accept_loss = {}` continues with what was written before them",
                    self.legs.name(),
                    self.incarnation
                ),
            );
            self.fence(&error);
            return Err(error);
        }
        for extent in &record.extents {
            let range = extent.offset..extent.offset + extent.length;
            state.index[usize::from(extent.volume)].clear(range, |place| Rc::ptr_eq(&place.record, record));
        }
        Ok(Found::Moved)
    }
}

/// Takes bytes from a record that memory still has: it is on its way to the device, or waits for its batch.
pub fn copy_from_memory(place: &Location, into: &Buf) -> bool {
    let bytes = place.record.bytes.borrow();
    let Some(bytes) = &*bytes else { return false };
    let from = (place.position - place.record.data) as usize;
    into.copy_from_buf(&bytes.slice(from..from + into.len()));
    true
}
