//! What a device holds: blocks that copies share until one of them changes.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a block; sizes of images are multiples of it.
pub const BLOCK: usize = 4096;

type Block = Option<Arc<[u8; BLOCK]>>;

/// The content of a device. A copy costs a pointer per block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    blocks: Vec<Block>,
}

impl Image {
    /// Zeroes.
    pub fn new(size: u64) -> Self {
        Self { blocks: vec![None; size as usize / BLOCK] }
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        (self.blocks.len() * BLOCK) as u64
    }

    /// The first bytes of it, or zeroes behind its end.
    pub fn resize(&mut self, size: u64) {
        self.blocks.resize(size as usize / BLOCK, None);
    }

    /// Calls with each block that a range touches: its number, and where in it and in the range the common bytes lie.
    fn parts(offset: u64, length: u64, mut each: impl FnMut(usize, std::ops::Range<usize>, usize)) {
        let (mut at, end) = (offset, offset + length);
        while at < end {
            let within = (at % BLOCK as u64) as usize;
            let count = (BLOCK - within).min((end - at) as usize);
            each((at / BLOCK as u64) as usize, within..within + count, (at - offset) as usize);
            at += count as u64;
        }
    }

    /// Reads.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        Self::parts(offset, into.len() as u64, |number, within, at| {
            let target = &mut into[at..at + within.len()];
            match &self.blocks[number] {
                Some(block) => target.copy_from_slice(&block[within]),
                None => target.fill(0),
            }
        });
    }

    /// Writes.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        Self::parts(offset, from.len() as u64, |number, within, at| {
            let block = self.blocks[number].get_or_insert_with(|| Arc::new([0; BLOCK]));
            let count = within.len();
            Arc::make_mut(block)[within].copy_from_slice(&from[at..at + count]);
        });
    }

    /// Writes zeroes.
    pub fn zero(&mut self, offset: u64, length: u64) {
        Self::parts(offset, length, |number, within, _| {
            if within.len() == BLOCK {
                self.blocks[number] = None;
            } else if let Some(block) = &mut self.blocks[number] {
                Arc::make_mut(block)[within].fill(0);
            }
        });
    }

    /// Takes over what another image of the same size has in the blocks of a range.
    pub fn adopt(&mut self, from: &Self, offset: u64, length: u64) {
        Self::parts(offset, length, |number, _, _| self.blocks[number].clone_from(&from.blocks[number]));
    }

    /// The blocks that were written.
    pub fn written(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.blocks.len()).filter(|number| self.blocks[*number].is_some()).map(|number| number as u64)
    }

    /// The blocks that are not what they were in an earlier image.
    pub fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = u64> + 'a {
        let both = self.blocks.iter().zip(&before.blocks);
        (0..).zip(both).filter(|(_, (now, before))| now != before).map(|(number, _)| number)
    }

    /// Whether an image of the same size holds something else from `offset` on.
    pub fn differs(&self, other: &Self, offset: u64) -> bool {
        let from = offset as usize / BLOCK;
        let filled = |block: &Block| block.as_ref().is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0));
        let both = self.blocks[from..].iter().zip(&other.blocks[from..]);
        both.into_iter().any(|(one, other)| one != other && (filled(one) || filled(other)))
    }

    /// From a file.
    pub fn load(path: &Path) -> io::Result<Self> {
        let file = std::fs::File::open(path)?;
        let mut image = Self::new(file.metadata()?.len());
        let mut bytes = [0; BLOCK];
        for number in 0..image.blocks.len() {
            file.read_exact_at(&mut bytes, (number * BLOCK) as u64)?;
            if bytes.iter().any(|byte| *byte != 0) {
                image.blocks[number] = Some(Arc::new(bytes));
            }
        }
        Ok(image)
    }

    /// Into a sparse file.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let file = std::fs::File::create(path)?;
        file.set_len(self.size())?;
        for (number, block) in self.blocks.iter().enumerate() {
            if let Some(block) = block {
                file.write_all_at(&block[..], (number * BLOCK) as u64)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Image};

    #[test]
    fn images_differ_where_bytes_do_and_not_where_zeroes_were_written() {
        let mut image = Image::new(1 << 16);
        let before = image.clone();
        image.write(0, &[0; BLOCK]);
        assert!(!image.differs(&before, 0));
        image.write(BLOCK as u64, &[1]);
        assert!(image.differs(&before, 0) && !image.differs(&before, 2 * BLOCK as u64));
    }
}
