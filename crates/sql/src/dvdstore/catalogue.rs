//! Facts about each product without asking the database: title, actor and price, by number and seed. A shopper searches
//! for titles and actors that exist.
//!
//! The original takes its words from films. These are made of syllables: a thousand of six letters, none of which a full-text
//! index leaves out.

use fathom_runtime::Random;

/// Words there are.
pub const WORDS: u32 = 1000;
/// First names of actors, and last names.
pub const NAMES: u32 = 200;

const FIRST: [&str; 10] = ["BA", "CE", "DI", "FO", "GU", "HA", "JE", "KI", "LO", "MU"];
const MIDDLE: [&str; 10] = ["NA", "PE", "RI", "SO", "TU", "VA", "WE", "XI", "YO", "ZU"];
const LAST: [&str; 10] = ["RA", "LE", "MI", "NO", "DU", "TA", "SE", "GI", "BO", "KU"];

/// The word of that number, below [`WORDS`].
pub fn word(number: u32) -> [&'static str; 3] {
    let digit = |power: u32| (number / power % 10) as usize;
    [FIRST[digit(100)], MIDDLE[digit(10)], LAST[digit(1)]]
}

/// The products of a seed.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue {
    seed: u64,
}

impl Catalogue {
    /// Of that seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    fn stream(self, product: u32, what: &str) -> Random {
        Random::new(self.seed ^ u64::from(product).wrapping_mul(0x9E37_79B9_7F4A_7C15), what)
    }

    /// Price of a product, cents: 9.99, 10.99, ... or 29.99.
    pub fn cents(self, product: u32) -> i64 {
        999 + 100 * self.stream(product, "dvd-store/price").below(21) as i64
    }

    /// The two words of a product's title, by number.
    pub fn title(self, product: u32) -> [u32; 2] {
        [product / WORDS % WORDS, product % WORDS]
    }

    /// The two names of a product's actor, as numbers of words.
    pub fn actor(self, product: u32) -> [u32; 2] {
        let mut random = self.stream(product, "dvd-store/actor");
        let mut name = || random.below(u64::from(NAMES)) as u32;
        let first = name();
        [first, WORDS / 2 + name()]
    }
}

/// Words with a space between them, added to `out`.
pub fn spell(words: &[u32], out: &mut Vec<u8>) {
    for (place, number) in words.iter().enumerate() {
        if place > 0 {
            out.push(b' ');
        }
        word(*number).iter().for_each(|syllable| out.extend_from_slice(syllable.as_bytes()));
    }
}

/// Words with a space between them.
pub fn spelt(words: &[u32]) -> String {
    let mut out = Vec::with_capacity(16);
    spell(words, &mut out);
    String::from_utf8(out).expect("syllables are ASCII")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Catalogue, WORDS, spelt, word};

    #[test]
    fn every_word_is_another_one_of_six_letters() {
        let words: BTreeSet<String> = (0..WORDS).map(|number| word(number).concat()).collect();
        assert_eq!(words.len(), WORDS as usize);
        assert!(words.iter().all(|word| word.len() == 6));
    }

    #[test]
    fn titles_differ_up_to_a_million_products() {
        let titles: BTreeSet<[u32; 2]> =
            (1..=50_000).map(|product| Catalogue::new(1).title(product)).collect();
        assert_eq!(titles.len(), 50_000);
        assert_eq!(spelt(&Catalogue::new(1).title(12_345)), "BAPEMI FOTUTA");
    }

    #[test]
    fn prices_and_actors_keep_their_bounds_and_follow_the_seed() {
        let catalogue = Catalogue::new(7);
        let prices: BTreeSet<i64> = (1..=2000).map(|product| catalogue.cents(product)).collect();
        assert_eq!((prices.first(), prices.last(), prices.len()), (Some(&999), Some(&2999), 21));
        assert!((1..=2000).all(|product| {
            let [first, last] = catalogue.actor(product);
            first < 200 && (500..700).contains(&last)
        }));
        let other = Catalogue::new(8);
        assert!((1..=100).any(|product| other.actor(product) != catalogue.actor(product)));
    }
}
