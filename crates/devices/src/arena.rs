//! Memory for the chunks of a [`crate::sparse::Sparse`].
//!
//! The first chunks are taken one by one, so that a small volume costs what it holds. Who holds more gets chunks from
//! huge pages: copying from memory that is in no cache is mostly waiting for page tables and for the descriptors of pages,
//! and one huge page stands for 512 others.

use fathom_volume::HugePage;

/// Bytes of a chunk.
pub const CHUNK: usize = 64 << 10;
/// Chunks of a huge page, and as many come one by one before the first.
const PER_PAGE: usize = HugePage::BYTES / CHUNK;

/// A chunk of an arena.
pub enum Chunk {
    /// With memory of its own.
    Own(Box<[u8; CHUNK]>),
    /// The place among those of all huge pages.
    Placed(usize),
}

/// Where chunks come from.
#[derive(Default)]
pub struct Arena {
    pages: Vec<HugePage>,
    // Places that were given back.
    spare: Vec<usize>,
    // Places that were ever taken.
    placed: usize,
    taken: usize,
}

impl Arena {
    /// A chunk of zeroes.
    pub fn take(&mut self) -> Chunk {
        self.taken += 1;
        if self.pages.is_empty() && self.taken <= PER_PAGE {
            let zeroes = vec![0; CHUNK].into_boxed_slice();
            return Chunk::Own(zeroes.try_into().expect("it has this length"));
        }
        if let Some(place) = self.spare.pop() {
            self.placed_mut(place).fill(0);
            return Chunk::Placed(place);
        }
        if self.placed == self.pages.len() * PER_PAGE {
            self.pages.push(HugePage::zeroed());
        }
        self.placed += 1;
        Chunk::Placed(self.placed - 1)
    }

    /// Takes a chunk back.
    pub fn give_back(&mut self, chunk: Chunk) {
        self.taken -= 1;
        if let Chunk::Placed(place) = chunk {
            self.spare.push(place);
        }
    }

    /// Chunks that are taken.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The bytes of a chunk.
    #[inline]
    pub fn bytes<'a>(&'a self, chunk: &'a Chunk) -> &'a [u8] {
        match chunk {
            Chunk::Own(bytes) => bytes.as_slice(),
            Chunk::Placed(place) => {
                let at = place % PER_PAGE * CHUNK;
                &self.pages[place / PER_PAGE].bytes()[at..at + CHUNK]
            }
        }
    }

    /// The bytes of a chunk, to be changed.
    #[inline]
    pub fn bytes_mut<'a>(&'a mut self, chunk: &'a mut Chunk) -> &'a mut [u8] {
        match chunk {
            Chunk::Own(bytes) => bytes.as_mut_slice(),
            Chunk::Placed(place) => self.placed_mut(*place),
        }
    }

    fn placed_mut(&mut self, place: usize) -> &mut [u8] {
        let at = place % PER_PAGE * CHUNK;
        &mut self.pages[place / PER_PAGE].bytes_mut()[at..at + CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Chunk, PER_PAGE};

    #[test]
    fn chunks_are_zeroes_and_apart_even_when_taken_again() {
        let mut arena = Arena::default();
        let mut chunks: Vec<Chunk> = (0..3 * PER_PAGE).map(|_| arena.take()).collect();
        for (number, chunk) in chunks.iter_mut().enumerate() {
            let bytes = arena.bytes_mut(chunk);
            assert!(bytes.iter().all(|byte| *byte == 0), "chunk {number}");
            bytes.fill(number as u8 + 1);
        }
        for (number, chunk) in chunks.iter().enumerate() {
            assert!(arena.bytes(chunk).iter().all(|byte| *byte == number as u8 + 1), "chunk {number}");
        }
        for chunk in chunks.drain(..) {
            arena.give_back(chunk);
        }
        assert_eq!(arena.taken(), 0);
        let pages = arena.pages.len();
        for _ in 0..2 * PER_PAGE {
            let chunk = arena.take();
            assert!(arena.bytes(&chunk).iter().all(|byte| *byte == 0));
        }
        assert_eq!(arena.pages.len(), pages, "what was given back comes first");
    }

    #[test]
    fn few_chunks_take_no_huge_page() {
        let mut arena = Arena::default();
        for _ in 0..PER_PAGE {
            assert!(matches!(arena.take(), Chunk::Own(_)));
        }
        assert!(arena.pages.is_empty() && matches!(arena.take(), Chunk::Placed(0)));
    }
}
