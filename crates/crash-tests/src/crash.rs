//! What the disks hold when the power is cut after some event: what is durable, and of the rest what a policy keeps. And
//! what they hold when only the process dies: everything that was answered, some of it not durable yet.

use std::rc::Rc;

use fathom_runtime::Random;

use crate::disk::Event;

/// A power-fail unit, in bytes: a write may stop between two of them.
const SECTOR: usize = 512;

/// What becomes of writes that no flush covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// They are gone.
    DropAll,
    /// They all reached the media, even those that were not answered.
    KeepAll,
    /// Each sector reached the media or did not; one that was being written may hold neither the old nor the new bytes.
    Random,
    /// The latest ones reached the media, the earlier ones did not.
    Reverse,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::DropAll, Self::KeepAll, Self::Random, Self::Reverse];
}

/// The content of all disks.
pub type Image = Vec<Vec<u8>>;

#[derive(Clone)]
struct Pending {
    // Counted over all traces that were followed.
    event: usize,
    disk: usize,
    offset: usize,
    bytes: Rc<[u8]>,
    fua: bool,
    written: Option<usize>,
}

/// Follows a trace, event by event.
#[derive(Clone)]
pub struct Media {
    durable: Image,
    pending: Vec<Pending>,
    next: usize,
    // Events of earlier traces: those of the present one are counted from here on.
    base: usize,
    // Whether no sector is ever left half-written: blank disks that no group has opened yet, where half a superblock would
    // be refused as a device in use.
    blank: bool,
}

impl Media {
    /// Disks that begin with this content.
    pub fn new(image: &Image) -> Self {
        let blank = image.iter().flatten().all(|byte| *byte == 0);
        Self { durable: image.clone(), pending: Vec::new(), next: 0, base: 0, blank }
    }

    /// The same on disks that write a sector as a whole or not at all: what has no checksums of its own relies on that.
    #[must_use]
    pub fn with_whole_sectors(mut self) -> Self {
        self.blank = true;
        self
    }

    /// Follows a whole trace.
    pub fn follow(&mut self, trace: &[Event]) {
        while self.next - self.base < trace.len() {
            self.step(trace);
        }
    }

    /// The disks after the process has died here and the power has stayed on: what was answered is there, durable or not;
    /// of what was under way each request has arrived or has not. A new trace begins.
    pub fn killed(&self, random: &mut Random) -> Self {
        let mut after = self.clone();
        after.pending.retain_mut(|write| {
            let arrived = write.written.is_some() || random.chance(0.5);
            write.written = write.written.or(Some(self.next));
            arrived
        });
        after.next += 1;
        after.base = after.next;
        after
    }

    /// What the disks show while they have power.
    pub fn shown(&self) -> Image {
        self.cut(Policy::KeepAll, &mut Random::new(0, "nothing is drawn"))
    }

    /// Goes on to the next event of the trace; false if it makes no difference to the media.
    pub fn step(&mut self, trace: &[Event]) -> bool {
        let number = self.next;
        self.next += 1;
        match &trace[number - self.base] {
            Event::Write { disk, offset, bytes, fua } => {
                let bytes = Rc::clone(bytes);
                self.pending.push(Pending {
                    event: number,
                    disk: *disk,
                    offset: *offset,
                    bytes,
                    fua: *fua,
                    written: None,
                });
            }
            Event::Written(arrived) => {
                let arrived = *arrived + self.base;
                let found = self.pending.iter_mut().find(|write| write.event == arrived);
                // A newer write may have taken its place already.
                let Some(write) = found else { return false };
                write.written = Some(number);
                if write.fua {
                    self.settle(|write| write.event == arrived);
                }
            }
            Event::Flushed(arrived) => {
                let Event::Flush { disk } = &trace[*arrived] else {
                    unreachable!("a flush is answered once it arrived")
                };
                let arrived = *arrived + self.base;
                self.settle(|write| {
                    write.disk == *disk && write.written.is_some_and(|written| written < arrived)
                });
            }
            Event::Forgotten { disk } => {
                self.pending.retain(|write| write.disk != *disk || write.written.is_none());
            }
            Event::Opened => {
                self.blank = false;
                return false;
            }
            _ => return false,
        }
        true
    }

    fn settle(&mut self, chosen: impl Fn(&Pending) -> bool) {
        let (settled, kept) = std::mem::take(&mut self.pending).into_iter().partition(chosen);
        self.pending = kept;
        let settled: Vec<Pending> = settled;
        for write in &settled {
            self.durable[write.disk][write.offset..write.offset + write.bytes.len()]
                .copy_from_slice(&write.bytes);
            // Earlier writes to the same place cannot come back; of one that reaches further, only the rest can.
            self.pending.retain_mut(|other| {
                let (begin, end) = (write.offset, write.offset + write.bytes.len());
                let (first, last) = (other.offset.max(begin), (other.offset + other.bytes.len()).min(end));
                if other.event > write.event || other.disk != write.disk || first >= last {
                    return true;
                }
                let mut bytes = other.bytes.to_vec();
                bytes[first - other.offset..last - other.offset]
                    .copy_from_slice(&write.bytes[first - begin..last - begin]);
                other.bytes = bytes.into();
                last - first < other.bytes.len()
            });
        }
    }

    /// The disks after a power cut at each chosen event of a trace that changes them, under every policy in turn.
    pub fn cuts(
        image: &Image,
        trace: &[Event],
        chosen: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = (usize, Image)> {
        let mut media = Self::new(image);
        (0..trace.len()).filter_map(move |event| {
            let policy = Policy::ALL[event % Policy::ALL.len()];
            let cut =
                |media: &Self| media.cut(policy, &mut Random::new(event as u64, "a cut while it opens"));
            (media.step(trace) && chosen(event)).then(|| (event, cut(&media)))
        })
    }

    /// The disks after a power cut now, for a new trace.
    pub fn after_cut(&self, policy: Policy, random: &mut Random) -> Self {
        Self { blank: self.blank, ..Self::new(&self.cut(policy, random)) }
    }

    /// What they hold after a power cut now.
    pub fn cut(&self, policy: Policy, random: &mut Random) -> Image {
        let mut image = self.durable.clone();
        let from = match policy {
            Policy::Reverse if !self.pending.is_empty() => random.below(self.pending.len() as u64) as usize,
            _ => 0,
        };
        for (index, write) in self.pending.iter().enumerate() {
            match policy {
                Policy::DropAll => {}
                Policy::Reverse if index < from => {}
                Policy::KeepAll | Policy::Reverse => {
                    image[write.disk][write.offset..write.offset + write.bytes.len()]
                        .copy_from_slice(&write.bytes);
                }
                Policy::Random => {
                    // A write is kept or lost as a whole half of the time, torn the other half.
                    let torn = random.chance(0.5);
                    let whole = random.chance(0.5);
                    for (sector, bytes) in write.bytes.chunks(SECTOR).enumerate() {
                        if if torn { random.chance(0.5) } else { whole } {
                            let at = write.offset + sector * SECTOR;
                            image[write.disk][at..at + bytes.len()].copy_from_slice(bytes);
                        }
                    }
                    // The sector under the head when the power went.
                    if torn && write.written.is_none() && !self.blank && random.chance(0.5) {
                        let sector = random.below(write.bytes.len().div_ceil(SECTOR) as u64) as usize;
                        let at = write.offset + sector * SECTOR;
                        let end = (at + SECTOR).min(write.offset + write.bytes.len());
                        random.fill(&mut image[write.disk][at..end]);
                    }
                }
            }
        }
        image
    }
}
