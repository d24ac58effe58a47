//! A disk with a write cache that the power can fail under.

use std::collections::VecDeque;

use crate::chance::Chance;

use super::image::Image;

/// The most writes in a disk's cache: then the oldest half becomes durable.
const MOST_PENDING: usize = 4096;

/// How many writes are remembered.
const MOST_REMEMBERED: usize = 4096;

/// A write that no flush has covered.
#[derive(Debug)]
struct Pending {
    offset: u64,
    length: u64,
    /// None for zeroes.
    data: Option<Box<[u8]>>,
    /// Written through: it survives every cut.
    through: bool,
}

impl Pending {
    fn put(&self, image: &mut Image, from: u64, to: u64) {
        match &self.data {
            Some(data) => image.write(self.offset + from, &data[from as usize..to as usize]),
            None => image.zero(self.offset + from, to - from),
        }
    }
}

/// What a power cut makes of the writes that no flush has covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// None of them is there.
    Drop,
    /// All of them are.
    Keep,
    /// Those before one moment are there.
    Prefix,
    /// Each by chance, so that later ones are there without earlier ones.
    Reorder,
    /// Each sector by chance.
    Tear,
}

/// All of them.
pub const CUTS: [Cut; 5] = [Cut::Drop, Cut::Keep, Cut::Prefix, Cut::Reorder, Cut::Tear];

/// A disk with a write cache.
#[derive(Debug)]
pub struct Volatile {
    visible: Image,
    durable: Image,
    pending: Vec<Pending>,
    /// Where data was written last, in the order of writes.
    written: VecDeque<(u64, u64)>,
    /// A flush is answered and does nothing: the control.
    lies: bool,
}

impl Volatile {
    pub fn new(size: u64, lies: bool) -> Self {
        let image = Image::new(size);
        Self { visible: image.clone(), durable: image, pending: Vec::new(), written: VecDeque::new(), lies }
    }

    /// What readers see.
    pub fn visible(&self) -> &Image {
        &self.visible
    }

    /// Offsets and lengths of the last writes of data, the latest at the end.
    pub fn written(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.written.iter().copied()
    }

    /// Replaces the content; all of it is durable.
    pub fn replace(&mut self, image: Image) {
        self.durable = image.clone();
        self.visible = image;
        self.pending.clear();
    }

    /// Writes; `None` are zeroes.
    pub fn write(&mut self, offset: u64, length: u64, data: Option<&[u8]>, through: bool) {
        match data {
            Some(data) => {
                self.visible.write(offset, data);
                if self.written.len() == MOST_REMEMBERED {
                    self.written.pop_front();
                }
                self.written.push_back((offset, length));
            }
            None => self.visible.zero(offset, length),
        }
        let through = through && !self.lies;
        self.pending.push(Pending { offset, length, data: data.map(Into::into), through });
        if self.pending.len() > MOST_PENDING && !self.lies {
            for old in self.pending.drain(..MOST_PENDING / 2) {
                old.put(&mut self.durable, 0, old.length);
            }
        }
    }

    /// Makes everything durable.
    pub fn flush(&mut self) {
        if self.lies {
            return;
        }
        for done in self.pending.drain(..) {
            self.durable.adopt(&self.visible, done.offset, done.length);
        }
    }

    /// A flush failed, and no later one covers what it should have covered; what was written through is durable as it was.
    pub fn forget(&mut self) {
        for old in self.pending.drain(..).filter(|old| old.through) {
            old.put(&mut self.durable, 0, old.length);
        }
    }

    /// The power fails.
    pub fn cut(&mut self, cut: Cut, sector: u64, chance: &mut Chance) {
        let moment = chance.index(self.pending.len() + 1);
        for (number, write) in self.pending.drain(..).enumerate() {
            let whole = match cut {
                Cut::Drop => false,
                Cut::Keep => true,
                Cut::Prefix => number < moment,
                Cut::Reorder | Cut::Tear => chance.one_in(2),
            };
            if write.through || whole && cut != Cut::Tear {
                write.put(&mut self.durable, 0, write.length);
            } else if cut == Cut::Tear {
                for at in (0..write.length).step_by(sector as usize) {
                    if chance.one_in(2) {
                        write.put(&mut self.durable, at, (at + sector).min(write.length));
                    }
                }
            }
        }
        self.visible = self.durable.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::{CUTS, Cut, Volatile};
    use crate::chance::Chance;

    fn byte(disk: &Volatile, at: u64) -> u8 {
        let mut bytes = [0];
        disk.visible().read(at, &mut bytes);
        bytes[0]
    }

    #[test]
    fn what_was_flushed_survives_every_cut() {
        for seed in 0..200 {
            let mut chance = Chance::new(seed, 0);
            let mut disk = Volatile::new(1 << 16, false);
            disk.write(0, 8192, Some(&[1; 8192]), false);
            disk.flush();
            disk.write(8192, 4096, Some(&[2; 4096]), true);
            disk.write(16384, 4096, Some(&[3; 4096]), false);
            disk.cut(chance.pick(&CUTS), 512, &mut chance);
            assert_eq!((byte(&disk, 0), byte(&disk, 8191), byte(&disk, 8192)), (1, 1, 2), "seed {seed}");
        }
    }

    #[test]
    fn an_older_write_never_covers_one_that_was_written_through() {
        for seed in 0..200 {
            let mut chance = Chance::new(seed, 1);
            let mut disk = Volatile::new(1 << 16, false);
            disk.write(0, 4096, Some(&[1; 4096]), false);
            disk.write(0, 4096, Some(&[2; 4096]), true);
            disk.cut(chance.pick(&CUTS), 512, &mut chance);
            assert_eq!(byte(&disk, 0), 2, "seed {seed}");
        }
    }

    #[test]
    fn what_a_failed_flush_forgot_is_covered_by_no_later_one() {
        let mut disk = Volatile::new(1 << 16, false);
        disk.write(0, 4096, Some(&[1; 4096]), false);
        disk.write(4096, 4096, Some(&[2; 4096]), true);
        disk.forget();
        assert_eq!((byte(&disk, 0), byte(&disk, 4096)), (1, 2), "readers see both");
        disk.flush();
        disk.cut(Cut::Keep, 512, &mut Chance::new(1, 3));
        assert_eq!((byte(&disk, 0), byte(&disk, 4096)), (0, 2));
    }

    #[test]
    fn what_was_not_flushed_is_dropped_and_a_flush_that_lies_keeps_nothing() {
        for lies in [false, true] {
            let mut chance = Chance::new(1, 2);
            let mut disk = Volatile::new(1 << 16, lies);
            disk.write(0, 4096, Some(&[1; 4096]), false);
            disk.flush();
            disk.write(0, 4096, Some(&[2; 4096]), false);
            disk.cut(Cut::Drop, 512, &mut chance);
            assert_eq!(byte(&disk, 0), u8::from(!lies));
        }
    }
}
