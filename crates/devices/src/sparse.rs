//! Bytes of a large, mostly untouched range: what was never written takes no memory and reads as zeroes.

use std::ops::Range;

use crate::arena::{Arena, CHUNK, Chunk};

/// Chunks per leaf of the directory: a leaf spans 64 MiB, so that 8 TiB need a directory of 1 MiB.
const LEAF: usize = 1024;

/// A two-level table of chunks; offsets are bytes from 0.
#[derive(Default)]
pub struct Sparse {
    leaves: Vec<Option<Box<[Option<Chunk>]>>>,
    arena: Arena,
}

/// The parts of a byte range, one per chunk: chunk number, range within the chunk, range within the caller's buffer.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + done;
        let start = (at % CHUNK as u64) as usize;
        let count = (CHUNK - start).min(usize::try_from(length - done).unwrap_or(CHUNK));
        let from = done as usize;
        done += count as u64;
        Some(((at / CHUNK as u64) as usize, start..start + count, from..from + count))
    })
}

impl Sparse {
    /// Copies bytes out.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        for (chunk, within, part) in pieces(offset, into.len() as u64) {
            match self.chunk(chunk) {
                Some(bytes) => into[part].copy_from_slice(&bytes[within]),
                None => into[part].fill(0),
            }
        }
    }

    /// Copies bytes in.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        for (chunk, within, part) in pieces(offset, from.len() as u64) {
            self.chunk_mut(chunk)[within].copy_from_slice(&from[part]);
        }
    }

    /// Makes a range zeroes; whole chunks are given back, for the next ones that are touched.
    pub fn zero(&mut self, offset: u64, length: u64) {
        let end = (offset + length).min((self.leaves.len() * LEAF * CHUNK) as u64);
        for number in offset as usize / (LEAF * CHUNK)..self.leaves.len() {
            let start = (number * LEAF * CHUNK) as u64;
            let (from, to) = (offset.max(start), end.min(start + (LEAF * CHUNK) as u64));
            let Some(leaf) = &mut self.leaves[number] else { continue };
            for (chunk, within, _) in pieces(from, to.saturating_sub(from)) {
                let slot = &mut leaf[chunk % LEAF];
                if within.len() < CHUNK {
                    if let Some(chunk) = slot {
                        self.arena.bytes_mut(chunk)[within].fill(0);
                    }
                } else if let Some(chunk) = slot.take() {
                    self.arena.give_back(chunk);
                }
            }
        }
    }

    /// Bytes of memory the content takes.
    pub fn resident(&self) -> usize {
        self.arena.taken() * CHUNK
    }

    fn chunk(&self, chunk: usize) -> Option<&[u8]> {
        let chunk = self.leaves.get(chunk / LEAF)?.as_ref()?[chunk % LEAF].as_ref()?;
        Some(self.arena.bytes(chunk))
    }

    fn chunk_mut(&mut self, chunk: usize) -> &mut [u8] {
        let leaf = chunk / LEAF;
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        let leaf = self.leaves[leaf].get_or_insert_with(|| (0..LEAF).map(|_| None).collect());
        let chunk = leaf[chunk % LEAF].get_or_insert_with(|| self.arena.take());
        self.arena.bytes_mut(chunk)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Sparse;
    use crate::arena::CHUNK;

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, usize, u8),
        Zero(u64, usize),
    }

    const SPAN: usize = 5 * CHUNK;

    fn step() -> impl Strategy<Value = Step> {
        let range = || (0..SPAN as u64, 1..2 * CHUNK).prop_map(|(at, len)| (at, len.min(SPAN - at as usize)));
        prop_oneof![
            (range(), 1..=255_u8).prop_map(|((at, len), byte)| Step::Write(at, len, byte)),
            range().prop_map(|(at, len)| Step::Zero(at, len)),
        ]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_array_holds(steps in prop::collection::vec(step(), 1..20)) {
            let mut sparse = Sparse::default();
            let mut plain = vec![0_u8; SPAN];
            for step in steps {
                match step {
                    Step::Write(at, len, byte) => {
                        sparse.write(at, &vec![byte; len]);
                        plain[at as usize..][..len].fill(byte);
                    }
                    Step::Zero(at, len) => {
                        sparse.zero(at, len as u64);
                        plain[at as usize..][..len].fill(0);
                    }
                }
            }
            let mut read = vec![1; SPAN];
            sparse.read(0, &mut read);
            prop_assert!(read == plain);
        }
    }

    #[test]
    fn terabytes_cost_only_what_was_written() {
        let mut sparse = Sparse::default();
        sparse.write(8 << 40, &[7; 4096]);
        assert_eq!(sparse.resident(), CHUNK);
        let mut read = [0; 2];
        sparse.read((8 << 40) + 4095, &mut read);
        assert_eq!(read, [7, 0]);
        sparse.zero(0, 9 << 40);
        assert_eq!(sparse.resident(), 0);
    }
}
