//! Damage to what a device holds: zeroes, flipped bits, garbage.

use crate::chance::Chance;
use crate::disk::{BLOCK, Image};

/// A cache's superblocks end here (docs/WRITEBACK.md).
const LOG: u64 = 8192;
/// A hole in the log that no look-ahead of a few MiB reaches over.
const WIDE: u64 = 4 << 20;

/// So many random bytes.
pub fn garbage(length: u64, chance: &mut Chance) -> Vec<u8> {
    (0..length).map(|_| chance.word() as u8).collect()
}

/// A range behind `from`, of any size, that begins somewhere, in a block that was written, or in one of the `recent` ones; of
/// those it may reach to the last.
pub fn hole(image: &Image, from: u64, recent: &[u64], chance: &mut Chance) -> (u64, u64) {
    let block = BLOCK as u64;
    let size = image.size();
    if !recent.is_empty() && chance.one_in(3) {
        let last = recent[recent.len() - 1] + 1;
        let first = recent[recent.len() - chance.scale(recent.len() as u64) as usize];
        return (first * block, (last - first) * block);
    }
    let written: Vec<u64> = image.written().filter(|number| number * block >= from).collect();
    let written = if !recent.is_empty() && chance.one_in(2) { recent } else { &written[..] };
    let at = if written.is_empty() || chance.one_in(3) {
        chance.range(from / block, size / block)
    } else {
        written[chance.index(written.len())]
    } * block;
    let length =
        if chance.one_in(3) { chance.scale(size / 512) * 512 } else { chance.scale(size / block) * block };
    let at = if chance.one_in(4) { at + chance.below(8) * 512 } else { at };
    (at, length.min(size - at))
}

/// Flips bits in up to four bytes that were written; where.
pub fn flip(image: &mut Image, from: u64, recent: &[u64], chance: &mut Chance) -> Vec<u64> {
    let block = BLOCK as u64;
    let written: Vec<u64> = image.written().filter(|number| number * block >= from).collect();
    let written = if !recent.is_empty() && chance.one_in(2) { recent.to_vec() } else { written };
    if written.is_empty() {
        return Vec::new();
    }
    (0..chance.range(1, 5))
        .map(|_| {
            let at = written[chance.index(written.len())] * block + chance.below(block);
            let mut byte = [0];
            image.read(at, &mut byte);
            image.write(at, &[byte[0] ^ 1 << chance.below(8)]);
            at
        })
        .collect()
}

/// Runs of the last writes to a log, in the order in which they were `written`: its end, or a part before it, of some
/// writes or of 4 MiB and more; and how many writes follow it.
pub fn last_writes(written: &[(u64, u64)], size: u64, chance: &mut Chance) -> (Vec<(u64, u64)>, usize) {
    let log: Vec<(u64, u64)> =
        written.iter().copied().filter(|(at, length)| *at >= LOG && at + length <= size).collect();
    if log.is_empty() {
        return (Vec::new(), 0);
    }
    let kept = if chance.one_in(2) { 0 } else { chance.scale(log.len() as u64) as usize };
    let rest = &log[..log.len() - kept];
    let wide =
        |count: usize| rest[rest.len() - count..].iter().map(|(_, length)| length).sum::<u64>() >= WIDE;
    let most = rest.len() as u64;
    let few = if most == 0 { 0 } else { chance.scale(most) as usize };
    let count = (few..=rest.len()).find(|count| wide(*count)).filter(|_| chance.one_in(2)).unwrap_or(few);
    (rest[rest.len() - count..].to_vec(), kept)
}

#[cfg(test)]
mod tests {
    use super::{LOG, WIDE, last_writes};
    use crate::chance::Chance;

    #[test]
    fn runs_of_the_last_writes_end_the_log_or_leave_some_and_are_often_wide() {
        const LENGTH: u64 = 512 << 10;
        // A superblock between every two writes to the log.
        let of_log = |number| (LOG + number * LENGTH, LENGTH);
        let written: Vec<_> =
            (0..40).flat_map(|number| [of_log(number), (4096 * (number % 2), 4096)]).collect();
        let log: Vec<_> = (0..40).map(of_log).collect();
        let (mut ends, mut wide_before_the_end) = (0, 0);
        for seed in 0..200 {
            let (holes, kept) = last_writes(&written, 64 << 20, &mut Chance::new(seed, 0));
            assert!(
                holes.is_empty() || log.windows(holes.len()).any(|run| run == holes),
                "seed {seed}: {holes:?}"
            );
            let to_the_end = holes.last() == log.last();
            assert!(holes.is_empty() || to_the_end == (kept == 0), "seed {seed}: {holes:?}, {kept}");
            let wide = holes.iter().map(|(_, length)| length).sum::<u64>() >= WIDE;
            ends += u64::from(to_the_end);
            wide_before_the_end += u64::from(wide && !to_the_end);
        }
        assert!(ends > 60 && wide_before_the_end > 40, "{ends}, {wide_before_the_end}");
    }
}
