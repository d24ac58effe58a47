//! What every loaded table is made of: relations of columns, rows of logical values that are the same on every database, and
//! the uniform draw they come from.

use fathom_runtime::Random;

/// One logical value, the same on every database whatever its column type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// An amount of money, in hundredths.
    Cents(i64),
    /// A tax or a discount, in ten-thousandths.
    Rate(i64),
    /// A moment, seconds since 1970, UTC.
    Time(i64),
    /// A text, in ASCII.
    Text(&'a [u8]),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// [`Field::Int`].
    Int,
    /// [`Field::Cents`].
    Cents,
    /// [`Field::Rate`].
    Rate,
    /// [`Field::Time`].
    Time,
    /// [`Field::Text`].
    Text,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the database.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// A column of that name and kind.
pub const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// A table of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    /// Its index among the workload's tables, which a checksum covers.
    pub number: u64,
    /// Its name in the database.
    pub name: &'static str,
    /// Its columns, in the order of the fields of a row.
    pub columns: &'static [Column],
}

impl Relation {
    /// `SELECT` of every column, without a condition.
    pub fn select(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        format!("SELECT {} FROM {}", columns.join(", "), self.name)
    }
}

/// Receives rows one by one; an error stops whoever makes them.
pub type Sink<'s, E> = dyn FnMut(&[Field<'_>]) -> Result<(), E> + 's;

/// A buffer of texts of one row, reused from row to row: texts are written one after the other and taken out by index.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Forgets the texts, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds what is written.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The text that was added as the `index`-th, from 0.
    pub fn get(&self, index: usize) -> Field<'_> {
        let begin = if index == 0 { 0 } else { self.ends[index - 1] };
        Field::Text(&self.bytes[begin..self.ends[index]])
    }
}

/// A uniform integer in `low..=high`.
#[inline]
pub fn between(random: &mut Random, low: u32, high: u32) -> u32 {
    low + random.below(u64::from(high - low) + 1) as u32
}
