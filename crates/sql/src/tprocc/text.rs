//! Texts specific to TPC-C: last names, states, and the word that a tenth of the items carry.

use fathom_runtime::Random;

use crate::text::Texts;

/// What a tenth of the items and stocks carry.
pub const ORIGINAL: &[u8] = b"ORIGINAL";

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A text of `low` to `high` signs, added to `out`; one in ten contains the word ORIGINAL (clauses 4.3.3.1,
/// `i_data`, `s_data`).
pub fn data(texts: &Texts, random: &mut Random, low: u32, high: u32, out: &mut Vec<u8>) {
    let begin = out.len();
    texts.text(random, low, high, out);
    if random.below(10) == 0 {
        let room = out.len() - begin - ORIGINAL.len();
        let at = begin + random.below(room as u64 + 1) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Two capital letters, added to `out`.
pub fn state(random: &mut Random, out: &mut Vec<u8>) {
    for _ in 0..2 {
        out.push(b'A' + random.below(26) as u8);
    }
}

/// The last name of a number below 1,000: three syllables (clause 4.3.2.3).
pub fn last_name(number: u32, out: &mut Vec<u8>) {
    for digit in [number / 100, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::{ORIGINAL, data, last_name};
    use crate::text::Texts;

    #[test]
    fn names_are_made_of_the_syllables_of_their_digits() {
        for (number, name) in [(0, "BARBARBAR"), (371, "PRICALLYOUGHT"), (999, "EINGEINGEING")] {
            let mut out = Vec::new();
            last_name(number, &mut out);
            assert_eq!(String::from_utf8(out).expect("plain letters"), name);
        }
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let (texts, mut random) = (Texts::new(0.0), Random::new(2, "original"));
        let mut original = 0;
        for _ in 0..20_000 {
            let mut out = Vec::new();
            data(&texts, &mut random, 26, 50, &mut out);
            assert!((26..=50).contains(&out.len()));
            original += i32::from(out.windows(ORIGINAL.len()).any(|part| part == ORIGINAL));
        }
        assert!((1880..2120).contains(&original), "{original} of 20,000");
    }
}
