//! Reads that the log cannot answer: from the read cache if the whole of it stands there, otherwise from the backing
//! volume; what is missed again and again is brought to the cache device in the background.

use std::ops::Range;
use std::rc::Rc;

use fathom_volume::{Buf, Class, Handle, Request, Result};

use crate::codec::{BLOCK, blocks_of, checksums};
use crate::writeback::lines::{Found, Key, LINE};

use super::{Live, io};

/// Lines filled at once.
const FILLS: usize = 4;

impl Live {
    /// Fills a buffer with bytes of a range that the log has nothing of.
    pub async fn read_below(
        self: &Rc<Self>,
        request: &Request,
        volume: u16,
        range: Range<u64>,
        into: &Buf,
    ) -> Result<()> {
        if self.read_cached(volume, &range, into).await {
            self.state.borrow_mut().counts.cached_reads += 1;
            return Ok(());
        }
        self.state.borrow_mut().counts.origin_reads += 1;
        self.note_miss(volume, &range);
        let place = usize::from(volume);
        let pass = self.gates[place].pass_for(request, false).await;
        io::read_for(request, &self.origins[place], range.start, into).await?;
        pass.end();
        Ok(())
    }

    /// True if all of it came from the read cache. Whatever goes wrong there, the backing volume has it too.
    async fn read_cached(&self, volume: u16, range: &Range<u64>, into: &Buf) -> bool {
        if self.lines.borrow().is_off() {
            return false;
        }
        let Some(device) = self.lines_device() else { return false };
        let parts: Option<Vec<(Found, Range<u64>)>> = {
            let (mut lines, gate) = (self.lines.borrow_mut(), &self.gates[usize::from(volume)]);
            let found = |(line, part): (u64, Range<u64>)| {
                Some((lines.find((volume, line), gate.cost(part.end - part.start))?, part))
            };
            parts(range).map(found).collect()
        };
        let Some(parts) = parts else { return false };
        for (found, part) in parts {
            let buf = into.slice((part.start - range.start) as usize..(part.end - range.start) as usize);
            if !self.read_line(&device, found, part.start % LINE, &buf).await {
                return false;
            }
        }
        true
    }

    async fn read_line(&self, device: &Handle, found: Found, within: u64, into: &Buf) -> bool {
        let outer = blocks_of(within..within + into.len() as u64);
        let blocks = self.pool.get((outer.end - outer.start) as usize);
        let at = self.line_at(found.slot) + outer.start;
        if io::read(device, at, &blocks).await.is_err() {
            self.lines.borrow_mut().forget(found);
            return false;
        }
        let first = (outer.start / BLOCK as u64) as usize;
        let whole = blocks.with(|bytes| self.lines.borrow().is_whole(found, first, checksums(bytes)));
        if whole {
            let from = (within - outer.start) as usize;
            into.copy_from_buf(&blocks.slice(from..from + into.len()));
        } else if self.lines.borrow_mut().forget(found) {
            self.state.borrow_mut().counts.checksum_errors += 1;
        }
        whole
    }

    fn line_at(&self, slot: usize) -> u64 {
        self.lines_at + slot as u64 * LINE
    }

    /// The device that the lines stand on: the first, as long as it counts. Lines are not worth two copies.
    fn lines_device(&self) -> Option<Handle> {
        let first = &self.legs.all()[0];
        let counts = self.legs.current().any(|leg| std::ptr::eq(leg, first));
        counts.then(|| first.volume.clone())
    }

    fn note_miss(self: &Rc<Self>, volume: u16, range: &Range<u64>) {
        if self.lines.borrow().is_off() || self.fills.get() >= FILLS {
            return;
        }
        let size = self.origins[usize::from(volume)].geometry().size;
        for (line, _) in parts(range) {
            let whole = line * LINE..(line + 1) * LINE;
            if whole.end > size || self.is_newer(volume, whole) {
                continue;
            }
            let slot = self.lines.borrow_mut().missed((volume, line));
            if let Some(slot) = slot {
                self.fills.set(self.fills.get() + 1);
                self.context.spawn(Rc::clone(self).fill((volume, line), slot));
            }
        }
    }

    /// Whether the log holds bytes of a range that are not on the backing volume yet, or whose old copy is being replaced. What is
    /// in place there may stand in the log for hours more.
    fn is_newer(&self, volume: u16, range: Range<u64>) -> bool {
        let state = self.state.borrow();
        let mut parts = state.index[usize::from(volume)].parts(range);
        parts.any(|(_, place)| place.is_some_and(|place| place.record.last_seq() > state.applied.seq))
    }

    /// Brings a line to its slot. A write that comes meanwhile makes it worthless, which the book sees to.
    async fn fill(self: Rc<Self>, (volume, line): Key, slot: Found) {
        let filled = self.try_fill(volume, line, slot).await;
        self.lines.borrow_mut().filled(slot, filled);
        self.fills.set(self.fills.get() - 1);
    }

    async fn try_fill(&self, volume: u16, line: u64, slot: Found) -> Option<Vec<u32>> {
        let device = self.lines_device()?;
        let buf = self.pool.get(LINE as usize);
        let filling = Request::new(line * LINE, LINE).on_behalf_of(Class::Fill);
        let place = usize::from(volume);
        let gate = &self.gates[place];
        gate.fills_pay(self.lines.borrow().pays(gate.cost(LINE)));
        let pass = gate.pass_for(&filling, false).await;
        io::read_for(&filling, &self.origins[place], line * LINE, &buf).await.ok()?;
        pass.end();
        let sums = buf.with(|bytes| checksums(bytes).collect::<Vec<u32>>());
        io::write(&device, self.line_at(slot.slot), &buf, false).await.ok()?;
        self.state.borrow_mut().counts.cached_lines += 1;
        Some(sums)
    }
}

/// A range in the lines it touches.
fn parts(range: &Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> + use<> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let part = at..((at / LINE + 1) * LINE).min(end);
        (at < end).then(|| {
            at = part.end;
            (part.start / LINE, part)
        })
    })
}
