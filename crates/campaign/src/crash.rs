//! What the disks hold when the power is cut after some event: what is durable, and of the rest what a policy keeps.

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
    /// Each sector reached the media or did not.
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

struct Pending {
    event: usize,
    disk: usize,
    offset: usize,
    bytes: Rc<[u8]>,
    fua: bool,
    written: Option<usize>,
}

/// Follows a trace, event by event.
pub struct Media {
    durable: Image,
    pending: Vec<Pending>,
    next: usize,
}

impl Media {
    /// Disks that begin with this content.
    pub fn new(image: &Image) -> Self {
        Self { durable: image.clone(), pending: Vec::new(), next: 0 }
    }

    /// Goes on to the next event of the trace; false if it makes no difference to the media.
    pub fn step(&mut self, trace: &[Event]) -> bool {
        let number = self.next;
        self.next += 1;
        match &trace[number] {
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
                let found = self.pending.iter_mut().find(|write| write.event == *arrived);
                // A newer write may have taken its place already.
                let Some(write) = found else { return false };
                write.written = Some(number);
                if write.fua {
                    self.settle(|write| write.event == *arrived);
                }
            }
            Event::Flushed(arrived) => {
                let Event::Flush { disk } = &trace[*arrived] else {
                    unreachable!("a flush is answered once it arrived")
                };
                self.settle(|write| {
                    write.disk == *disk && write.written.is_some_and(|written| written < *arrived)
                });
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
            // Earlier writes to the same place cannot come back.
            self.pending.retain(|other| {
                other.event > write.event
                    || other.disk != write.disk
                    || other.offset < write.offset
                    || other.offset + other.bytes.len() > write.offset + write.bytes.len()
            });
        }
    }

    /// The disks after a power cut now.
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
                }
            }
        }
        image
    }
}
