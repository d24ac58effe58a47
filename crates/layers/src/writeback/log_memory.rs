//! Where records lie in memory: on their way to the device, and until a batch has them.
//!
//! Records come in all sizes. In buffers of their own, memory that one size has given back is no use to another, and most
//! of what a busy log takes would be touched for the first time, which costs as much as all else that is done for a write.
//! Here records that stay lie one behind the other in large pieces: they go in the order in which they came, so a piece is
//! soon free as a whole, for records of whatever size. A record that does not stay takes a buffer that is warm from the
//! last one.

use std::cell::{Cell, RefCell};

use fathom_volume::{Buf, Pool};

/// Bytes of a piece: two of the longest records.
const PIECE: usize = 2 << 20;

/// Memory of records.
pub struct LogMemory {
    pool: Pool,
    most: u64,
    kept: Cell<u64>,
    piece: RefCell<Option<Buf>>,
    used: Cell<usize>,
}

impl LogMemory {
    /// Memory from a pool, of which so many bytes are kept at most.
    pub fn new(pool: &Pool, most: u64) -> Self {
        Self { pool: pool.clone(), most, kept: Cell::new(0), piece: RefCell::default(), used: Cell::new(0) }
    }

    /// A buffer for a record of that length, and whether it may be kept.
    pub fn get(&self, length: usize) -> (Buf, bool) {
        let kept = self.kept.get() + length as u64;
        if kept > self.most || length > PIECE {
            return (self.pool.get(length), false);
        }
        self.kept.set(kept);
        let mut piece = self.piece.borrow_mut();
        let fits = |piece: &Buf| self.used.get() + length <= piece.len();
        if !piece.as_ref().is_some_and(fits) {
            // The last one goes back first, if nothing in it stays.
            *piece = None;
            *piece = Some(self.pool.get(PIECE));
            self.used.set(0);
        }
        let whole = piece.as_ref().expect("just seen");
        let at = self.used.replace(self.used.get() + length);
        (whole.slice(at..at + length), true)
    }

    /// A record of that length is kept no longer.
    pub fn give_back(&self, length: u64) {
        let kept = self.kept.get();
        assert!(length <= kept, "what is given back was kept");
        self.kept.set(kept - length);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use fathom_runtime::Runtime;
    use fathom_volume::Pool;
    use proptest::prelude::*;

    use super::{LogMemory, PIECE};

    proptest! {
        /// Records that stay and go in order never share bytes, and all that was ever used is what may be kept, and two pieces.
        #[test]
        fn records_that_stay_are_apart_and_take_no_more_than_they_may(
            lengths in prop::collection::vec(1..40_usize, 1..400), most in 1..4_u64,
        ) {
            let pool = Pool::new(&Runtime::virtual_time(1).context(), 0);
            let most = most * PIECE as u64;
            let memory = LogMemory::new(&pool, most);
            let mut kept: VecDeque<(fathom_volume::Buf, u8)> = VecDeque::new();
            let mut sum = 0;
            for (number, length) in lengths.into_iter().enumerate() {
                let (length, mark) = (length * 16384, number as u8);
                let (buf, stays) = memory.get(length);
                prop_assert_eq!((buf.len(), buf.as_ptr().addr() % 4096), (length, 0));
                prop_assert_eq!(stays, sum + length as u64 <= most);
                // Its ends are what another one would touch.
                buf.with_mut(|bytes| (bytes[0], bytes[length - 1]) = (mark, mark));
                if stays {
                    sum += length as u64;
                    kept.push_back((buf, mark));
                } else if let Some((oldest, mark)) = kept.pop_front() {
                    oldest.with(|bytes| assert_eq!((bytes[0], bytes[bytes.len() - 1]), (mark, mark)));
                    sum -= oldest.len() as u64;
                    memory.give_back(oldest.len() as u64);
                }
            }
            drop((kept, memory));
            // Each piece has less than the longest record left over at its end.
            let pieces = most.div_ceil((PIECE - 40 * 16384) as u64) + 2;
            // And one buffer of each size for those that do not stay.
            let others = 5 << 20;
            prop_assert!(pool.trim() as u64 <= pieces * PIECE as u64 + others);
        }
    }
}
