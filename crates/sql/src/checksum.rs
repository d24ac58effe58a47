//! A checksum of a database's contents, over logical values and therefore the same on every database.
//!
//! The hash of a row covers its table and every field; a checksum adds up the hashes of rows, so that it depends neither
//! on their order nor on how they were split into parts. 64 bits: two loads that differ by chance agree once in 1.8e19.

use crate::population::Field;

/// The sum over some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u64,
    rows: u64,
}

impl Checksum {
    /// Of a sum and a number of rows, as [`Self::sum`] and [`Self::rows`] gave them.
    pub fn of(sum: u64, rows: u64) -> Self {
        Self { sum, rows }
    }

    /// Adds a row of the table of that number.
    #[inline]
    pub fn add(&mut self, table: u64, row: &[Field<'_>]) {
        let hash = row.iter().fold(mix(table + 1, SECRETS[0]), |hash, field| match field {
            Field::Null => mix(hash ^ 1, SECRETS[1]),
            // Only text and number are distinguished: a database may keep cents as a whole number.
            Field::Int(number) | Field::Cents(number) | Field::Rate(number) | Field::Time(number) => {
                mix(hash ^ *number as u64, SECRETS[2])
            }
            Field::Text(text) => bytes(hash, text),
        });
        self.merge(Self { sum: hash, rows: 1 });
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.rows += other.rows;
    }

    /// Rows added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x} of {} rows", self.sum, self.rows)
    }
}

/// Odd constants with about as many ones as zeros, as multipliers of [`mix`].
const SECRETS: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB];

/// The two halves of a product, folded: the mixing step of wyhash (Wang Yi, public domain).
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ SECRETS[3]) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline]
fn bytes(mut hash: u64, text: &[u8]) -> u64 {
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        hash = mix(hash ^ word, SECRETS[2]);
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(hash ^ u64::from_le_bytes(last) ^ ((text.len() as u64) << 57), SECRETS[0])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Checksum, Field};

    fn of(rows: &[Vec<u8>]) -> Checksum {
        let mut sum = Checksum::default();
        rows.iter().for_each(|text| sum.add(0, &[Field::Int(1), Field::Text(text)]));
        sum
    }

    proptest! {
        #[test]
        fn neither_order_nor_splitting_changes_a_checksum(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            at in 0_usize..20,
        ) {
            let mut reversed = rows.clone();
            reversed.reverse();
            prop_assert_eq!(of(&rows), of(&reversed));
            let (left, right) = rows.split_at(at.min(rows.len()));
            let mut both = of(left);
            both.merge(of(right));
            prop_assert_eq!(of(&rows), both);
        }

        #[test]
        fn a_changed_byte_changes_the_checksum(
            text in prop::collection::vec(any::<u8>(), 1..40), at in 0_usize..40, flip in 1_u8..,
        ) {
            let mut changed = text.clone();
            changed[at % text.len()] ^= flip;
            prop_assert_ne!(of(&[text]), of(&[changed]));
        }
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let sum = |table, fields: &[Field<'_>]| {
            let mut sum = Checksum::default();
            sum.add(table, fields);
            sum
        };
        let rows = [
            sum(0, &[Field::Text(b"ab"), Field::Text(b"c")]),
            sum(0, &[Field::Text(b"a"), Field::Text(b"bc")]),
            sum(0, &[Field::Text(b""), Field::Null]),
            sum(0, &[Field::Null, Field::Text(b"")]),
            sum(0, &[Field::Int(0), Field::Null]),
            sum(1, &[Field::Int(0), Field::Null]),
            sum(0, &[Field::Text(b"\0")]),
            sum(0, &[Field::Text(b"")]),
        ];
        for (index, one) in rows.iter().enumerate() {
            assert!(rows[..index].iter().all(|other| other != one), "row {index}");
        }
    }
}
