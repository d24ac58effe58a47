//! Where things lie: on the tail of a backing volume, on a redo volume, on the cache device. All numbers are bytes.

use super::lines::LINE;
use super::record::MOST_EXTENTS;
use super::redo::{descriptor_length, footprint};
use super::superblock::CacheSuper;
use crate::codec::BLOCK;

const BLOCK_BYTES: u64 = BLOCK as u64;
/// The smallest redo ring.
pub const LEAST_RING: u64 = 64 << 10;
/// The redo ring unless it is set: this, or a sixteenth of the volume where that is less.
const USUAL_RING: u64 = 1 << 30;

/// Superblocks and redo ring of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginLayout {
    /// Bytes of the volume before all this: what users see of it.
    pub user: u64,
    /// The two superblocks.
    pub superblocks: [u64; 2],
    /// First byte of the redo ring.
    pub ring_start: u64,
    /// Bytes of the redo ring.
    pub ring_length: u64,
}

impl OriginLayout {
    /// Bytes of the volume that holds them, up to the last one that is used.
    pub fn end(&self) -> u64 {
        (self.superblocks[1] + BLOCK_BYTES).max(self.ring_start + self.ring_length)
    }
}

/// The size of a volume that shows that many bytes before a redo ring on its tail; None if none does.
pub fn size_that_shows(user: u64, ring: Option<u64>) -> Option<u64> {
    let with = |ring: u64| user + ring - ring % BLOCK_BYTES + 2 * BLOCK_BYTES;
    let shows = |size: &u64| {
        on_tail(*size, ring.unwrap_or_else(|| usual_ring(*size))).is_some_and(|layout| layout.user == user)
    };
    let mut size = with(ring.unwrap_or(LEAST_RING));
    // The usual ring grows with the volume, by a sixteenth: what is missing shrinks with every turn.
    for _ in 0..64 {
        if shows(&size) {
            return Some(size);
        }
        size = with(ring.unwrap_or_else(|| usual_ring(size)));
    }
    None
}

/// The redo ring's size on the tail of a volume of that size, unless it is set.
pub fn usual_ring(size: u64) -> u64 {
    let sixteenth = size / 16;
    let rounded = if sixteenth >= 1 << 20 {
        sixteenth - sixteenth % (1 << 20)
    } else {
        sixteenth - sixteenth % BLOCK_BYTES
    };
    rounded.clamp(LEAST_RING, USUAL_RING)
}

/// On the tail of a volume: ring, then superblocks, at its end. None if nothing would be left for users.
pub fn on_tail(size: u64, ring: u64) -> Option<OriginLayout> {
    let end = size - size % BLOCK_BYTES;
    let ring_length = ring - ring % BLOCK_BYTES;
    let user = end.checked_sub(2 * BLOCK_BYTES + ring_length).filter(|user| *user > 0)?;
    let superblocks = [end - 2 * BLOCK_BYTES, end - BLOCK_BYTES];
    Some(OriginLayout { user, superblocks, ring_start: user, ring_length })
}

/// On a volume of its own, all of it. None if it is too small.
pub fn on_own_volume(size: u64) -> Option<OriginLayout> {
    let end = size - size % BLOCK_BYTES;
    let ring_length = end.checked_sub(2 * BLOCK_BYTES).filter(|ring| *ring >= LEAST_RING)?;
    Some(OriginLayout { user: 0, superblocks: [0, BLOCK_BYTES], ring_start: 2 * BLOCK_BYTES, ring_length })
}

/// The size of a volume of its own for a redo ring of that length.
pub fn size_with_ring(ring: u64) -> u64 {
    ring + 2 * BLOCK_BYTES
}

/// Superblocks and log on a cache device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLayout {
    /// The two superblocks.
    pub superblocks: [u64; 2],
    /// First byte of the log.
    pub start: u64,
    /// Bytes of the log: whole segments.
    pub length: u64,
    /// Bytes of a segment.
    pub segment: u64,
    /// First byte of the read cache's lines.
    pub lines_at: u64,
    /// How many there are.
    pub lines: usize,
}

impl CacheLayout {
    /// Whether a log has this shape.
    pub fn is_of(&self, cache: &CacheSuper) -> bool {
        (self.start, self.length, self.segment) == (cache.start, cache.length, cache.segment)
    }

    /// Bytes of the device, up to the last one that is used.
    pub fn end(&self) -> u64 {
        self.lines_at + self.lines as u64 * LINE
    }
}

/// On a cache device of that size, of which the read cache takes so much at its end. None if fewer than four segments are
/// left for the log.
pub fn on_cache(size: u64, segment: u64, read_cache: u64) -> Option<CacheLayout> {
    let lines = read_cache / LINE;
    let end = size - size % BLOCK_BYTES;
    let lines_at = end.checked_sub(lines * LINE)?;
    let left = lines_at.checked_sub(2 * BLOCK_BYTES)?;
    let length = left - left % segment;
    (length >= 4 * segment).then_some(CacheLayout {
        superblocks: [0, BLOCK_BYTES],
        start: 2 * BLOCK_BYTES,
        length,
        segment,
        lines_at,
        lines: usize::try_from(lines).ok()?,
    })
}

/// What a batch may hold so that two of them fit into a redo ring, one being put in place while the next is written:
/// bytes of payload, extents.
pub fn batch_limits(ring: u64, most_payload: u64) -> (u64, usize) {
    let budget = ring / 2 - ring / 2 % BLOCK_BYTES;
    let payload = (budget * 5 / 8).min(most_payload);
    let payload = payload - payload % BLOCK_BYTES;
    let descriptor = budget - BLOCK_BYTES - payload;
    let extents = (descriptor - descriptor % BLOCK_BYTES).saturating_sub(descriptor_length(0, payload)) / 16;
    let extents = usize::try_from(extents).unwrap_or(usize::MAX).min(1 << 16);
    debug_assert!(footprint(descriptor_length(extents, payload), payload) <= budget);
    debug_assert!(extents >= 2 * MOST_EXTENTS);
    (payload, extents)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LEAST_RING, LINE, batch_limits, on_cache, on_tail, size_that_shows, usual_ring};
    use crate::writeback::record::MOST_EXTENTS;
    use crate::writeback::redo::{descriptor_length, footprint};

    proptest! {
        #[test]
        fn two_batches_fit_into_any_ring(ring in LEAST_RING..4_u64 << 30, most in 1_u64 << 20..1 << 30) {
            let ring = ring - ring % 4096;
            let (payload, extents) = batch_limits(ring, most);
            prop_assert!(payload >= 16 << 10 && extents >= 2 * MOST_EXTENTS);
            prop_assert!(2 * footprint(descriptor_length(extents, payload), payload) <= ring);
        }

        #[test]
        fn nothing_lies_over_anything(size in 1_u64 << 18..1 << 44) {
            let layout = on_tail(size, usual_ring(size)).expect("it is large enough");
            prop_assert!(layout.user > 0 && layout.ring_start == layout.user);
            prop_assert_eq!(layout.ring_start + layout.ring_length, layout.superblocks[0]);
            prop_assert!(layout.superblocks[1] + 4096 <= size);
            let again = size_that_shows(layout.user, None).and_then(|size| on_tail(size, usual_ring(size)));
            prop_assert_eq!(again.map(|again| again.user), Some(layout.user));
            let cache = on_cache(size, 16 << 10, size / 4).expect("it is large enough");
            prop_assert!(cache.start + cache.length <= cache.lines_at && cache.length.is_multiple_of(cache.segment));
            prop_assert!(cache.lines_at + cache.lines as u64 * LINE <= size);
        }
    }
}
