//! Copies whose target a device reads next, not this CPU.

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Copies bytes to where a device will read them, by stores that leave the caches alone (x86-64's non-temporal ones;
/// elsewhere it is an ordinary copy). An ordinary store first fetches the line that it writes to, and the lines of a buffer that a
/// device has read since are in no cache, or in that of the CPU that served it: that fetch is most of what the copy costs.
/// Reading what was copied is dear afterwards, so whatever else is wanted of it is to be taken from the source.
///
/// # Panics
/// If the lengths differ.
pub fn copy_past_cache(into: &mut [u8], from: &[u8]) {
    assert_eq!(into.len(), from.len(), "a copy of {} bytes into {}", from.len(), into.len());
    #[cfg(target_arch = "x86_64")]
    {
        let before = into.as_ptr().align_offset(LINE).min(into.len());
        let (into_before, into) = into.split_at_mut(before);
        let (from_before, from) = from.split_at(before);
        let (into_lines, into_after) = into.as_chunks_mut();
        let (from_lines, from_after) = from.as_chunks();
        into_before.copy_from_slice(from_before);
        copy_lines(into_lines, from_lines);
        into_after.copy_from_slice(from_after);
    }
    #[cfg(not(target_arch = "x86_64"))]
    into.copy_from_slice(from);
}

/// Copies whole lines. Those written to are aligned.
#[cfg(target_arch = "x86_64")]
fn copy_lines(into: &mut [[u8; LINE]], from: &[[u8; LINE]]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    for (into, from) in into.iter_mut().zip(from) {
        let (into, from) = (into.as_mut_ptr().cast::<__m128i>(), from.as_ptr().cast::<__m128i>());
        // SAFETY: four times 16 bytes are a line, and the line written to is aligned; every x86-64 has these instructions.
        unsafe {
            let parts = [0, 1, 2, 3].map(|part| _mm_loadu_si128(from.add(part)));
            (0..).zip(parts).for_each(|(part, bytes)| _mm_stream_si128(into.add(part), bytes));
        }
    }
    // SAFETY: every x86-64 has it. Before it, such stores keep no order, not even with later reads of the same bytes.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::copy_past_cache;

    proptest! {
        #[test]
        fn it_is_a_copy_wherever_it_begins(length in 0..3000_usize, to in 0..200_usize, from in 0..200_usize) {
            let source: Vec<u8> = (0..from + length).map(|index| (index * 7 % 251) as u8).collect();
            let mut target = vec![0xEE; to + length + 100];
            copy_past_cache(&mut target[to..to + length], &source[from..]);
            prop_assert_eq!(&target[to..to + length], &source[from..]);
            prop_assert!(target[..to].iter().chain(&target[to + length..]).all(|byte| *byte == 0xEE));
        }
    }

    #[test]
    #[should_panic(expected = "a copy of 3 bytes into 4")]
    fn it_does_not_copy_a_part() {
        copy_past_cache(&mut [0; 4], &[1; 3]);
    }
}
