//! Texts of a population: random letters and digits, and a share of repetition that sets how well a storage system can
//! compress them.

use fathom_runtime::Random;

use crate::population::between;

/// 64 signs, so that six random bits make one: letters, digits and two signs that no text format escapes. No space, so
/// that databases which pad or cut fixed-length texts return what was stored.
const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What the repeated part of a text says, over and over.
const PHRASE: &[u8; 64] = b"the-quick-brown-fox-jumps-over-the-lazy-dog_THE-QUICK-BROWN-FOX_";

/// Writes texts into a buffer that is reused from row to row.
#[derive(Debug, Clone)]
pub struct Texts {
    // Of 256: how much of a text is repeated.
    repeated: u32,
}

impl Texts {
    /// Texts of which that share (0 to 1) is the same everywhere; the rest is random, six bits to the byte.
    pub fn new(repeated: f64) -> Self {
        assert!((0.0..=1.0).contains(&repeated), "a share of {repeated} is not between 0 and 1");
        Self { repeated: (repeated * 256.0).round() as u32 }
    }

    /// A text of `low` to `high` signs, added to `out`.
    #[inline]
    pub fn text(&self, random: &mut Random, low: u32, high: u32, out: &mut Vec<u8>) {
        let length = if low == high { low } else { between(random, low, high) } as usize;
        self.exactly(random, length, out);
    }

    fn exactly(&self, random: &mut Random, length: usize, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + length, b'-');
        let repeated = (length * self.repeated as usize) / 256;
        let (varied, same) = out[begin..].split_at_mut(length - repeated);
        for signs in varied.chunks_mut(10) {
            let mut word = random.word();
            for sign in signs {
                *sign = SIGNS[(word & 63) as usize];
                word >>= 6;
            }
        }
        for signs in same.chunks_mut(PHRASE.len()) {
            signs.copy_from_slice(&PHRASE[..signs.len()]);
        }
    }
}

/// `length` digits, added to `out`.
pub fn digits(random: &mut Random, length: usize, out: &mut Vec<u8>) {
    for _ in 0..length {
        out.push(b'0' + random.below(10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;

    use super::{PHRASE, Texts};

    fn texts(repeated: f64, count: usize) -> Vec<Vec<u8>> {
        let (texts, mut random) = (Texts::new(repeated), Random::new(1, "texts"));
        let text = |_| {
            let mut out = Vec::new();
            texts.text(&mut random, 300, 500, &mut out);
            out
        };
        (0..count).map(text).collect()
    }

    #[test]
    fn every_length_and_sign_occurs_about_equally_often() {
        let texts = texts(0.0, 4000);
        let mut signs = [0_u64; 256];
        texts.iter().flatten().for_each(|sign| signs[*sign as usize] += 1);
        let all: u64 = signs.iter().sum();
        let seen: Vec<u64> = signs.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(seen.len(), 64);
        assert!(seen.iter().all(|count| (*count as f64 * 64.0 / all as f64 - 1.0).abs() < 0.03));
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&300), Some(&500)));
        let mean = lengths.iter().sum::<usize>() as f64 / 4000.0;
        assert!((mean - 400.0).abs() < 4.0, "{mean} signs in the mean");
    }

    #[test]
    fn the_repeated_share_of_a_text_is_the_same_everywhere() {
        for text in texts(0.5, 50) {
            let same = text.len() / 2;
            let tail = &text[text.len() - same..];
            assert_eq!(&tail[..64], &PHRASE[..]);
        }
        assert!(texts(1.0, 5).iter().all(|text| text.starts_with(PHRASE)));
    }
}
