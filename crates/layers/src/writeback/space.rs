//! Where records go: positions that only grow, on a ring of segments. A record never crosses a segment, and space is
//! taken again only when what stood there can be found nowhere better (invariant I5).

/// The log's space. All numbers are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// First byte of the ring on the device.
    pub start: u64,
    /// Bytes of the ring: a whole number of segments.
    pub length: u64,
    /// Bytes of a segment.
    pub segment: u64,
    /// Position where the next record goes, unless it would cross a segment.
    pub head: u64,
    /// Records before this position may be written over.
    pub free_before: u64,
    /// Records from this position on are being copied: they stay even if they are free.
    pub pinned: Option<u64>,
}

impl Space {
    /// Where on the device a position lies.
    pub fn physical(&self, position: u64) -> u64 {
        self.start + position % self.length
    }

    /// Where a record of that many bytes would go.
    pub fn place(&self, total: u64) -> u64 {
        assert!(total <= self.segment, "a record fits into a segment");
        let within = self.head % self.segment;
        if within + total > self.segment { self.next_segment(self.head) } else { self.head }
    }

    /// The first position of the segment after the one that holds this position.
    pub fn next_segment(&self, position: u64) -> u64 {
        position - position % self.segment + self.segment
    }

    /// Where else a record that follows this position may be: at the beginning of the next segment, if it did not fit here.
    pub fn segment_behind(&self, position: u64) -> Option<u64> {
        (!position.is_multiple_of(self.segment)).then(|| self.next_segment(position))
    }

    /// Whether a record of that many bytes at that position leaves alone what must stay.
    pub fn has_room(&self, position: u64, total: u64) -> bool {
        let free_before = self.pinned.map_or(self.free_before, |pinned| pinned.min(self.free_before));
        position + total <= free_before + self.length
    }

    /// Takes space: the next record goes behind this one.
    pub fn take(&mut self, position: u64, total: u64) {
        assert!(position >= self.head && self.has_room(position, total), "I5: the space is free");
        self.head = position + total;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Space;

    proptest! {
        #[test]
        fn records_cross_no_segment_and_cover_nothing_that_must_stay(
            totals in prop::collection::vec(1..=16_u64, 1..200), keep in 1..8_usize,
        ) {
            let mut space = Space { start: 100, length: 64, segment: 16, head: 0, free_before: 0, pinned: None };
            let mut live: Vec<(u64, u64)> = Vec::new();
            for total in totals {
                let at = space.place(total);
                prop_assert_eq!(at / 16, (at + total - 1) / 16);
                while !space.has_room(at, total) || live.len() >= keep {
                    let gone = live.remove(0);
                    space.free_before = gone.0 + gone.1;
                }
                for byte in at..at + total {
                    let physical = space.physical(byte);
                    prop_assert!((100..164).contains(&physical));
                    for (start, length) in &live {
                        prop_assert!((*start..start + length).all(|other| space.physical(other) != physical));
                    }
                }
                space.take(at, total);
                live.push((at, total));
            }
        }
    }
}
