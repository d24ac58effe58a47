//! Rows of an answer, kept flat so that a million queries of a session need only a handful of allocations.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;

#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Decimal(i64, u8),
    Time(i64),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

/// What one statement answered: its rows, and how many rows it changed. Reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Rows inserted, updated or deleted; for a query, rows returned. A call of a procedure counts as its database says.
    pub affected: u64,
    width: usize,
    cells: Vec<Cell>,
    bytes: Vec<u8>,
    /// The text that was asked, of an answer that was asked for once; for messages.
    asked: Option<Box<str>>,
}

/// One row of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    answer: &'a Answer,
    first: usize,
}

impl Answer {
    /// An empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, keeps the memory. For drivers.
    pub fn clear(&mut self) {
        self.affected = 0;
        self.width = 0;
        self.cells.clear();
        self.bytes.clear();
    }

    /// Keeps the text that was asked, for messages.
    pub(crate) fn asked_for(&mut self, text: &str) {
        let line = text.lines().find(|line| !line.trim_start().starts_with("--")).unwrap_or(text);
        let short: String = line.chars().take(100).collect();
        self.asked = Some(short.into());
    }

    /// How many values each following row has. For drivers: before the first value.
    pub fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Adds the next value of the row under way. For drivers.
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Int(value) => Cell::Int(value),
            Value::Float(value) => Cell::Float(value),
            Value::Decimal { units, scale } => Cell::Decimal(units, scale),
            Value::Time(micros) => Cell::Time(micros),
            Value::Text(text) => Cell::Text(self.keep(text.as_bytes())),
            Value::Bytes(bytes) => Cell::Bytes(self.keep(bytes)),
            Value::Ints(_) => Cell::Text(self.keep(value.to_string().as_bytes())),
        };
        self.cells.push(cell);
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(|row| Row { answer: self, first: row * self.width })
    }

    /// The first row.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if there is none.
    pub fn first(&self) -> Result<Row<'_>> {
        let none = || Error::new(ErrorKind::Other, "the answer holds no row where one was expected");
        self.rows().next().ok_or_else(none)
    }
}

impl<'a> Row<'a> {
    /// The value of that column, from 0.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if the row has fewer columns.
    pub fn get(&self, column: usize) -> Result<Value<'a>> {
        if column >= self.answer.width {
            let message = format!("the answer has {} columns and no number {column}", self.answer.width);
            return Err(Error::new(ErrorKind::Other, message));
        }
        Ok(match &self.answer.cells[self.first + column] {
            Cell::Null => Value::Null,
            Cell::Int(value) => Value::Int(*value),
            Cell::Float(value) => Value::Float(*value),
            Cell::Decimal(units, scale) => Value::Decimal { units: *units, scale: *scale },
            Cell::Time(micros) => Value::Time(*micros),
            Cell::Text(range) => match std::str::from_utf8(&self.answer.bytes[range.clone()]) {
                Ok(text) => Value::Text(text),
                Err(_) => Value::Bytes(&self.answer.bytes[range.clone()]),
            },
            Cell::Bytes(range) => Value::Bytes(&self.answer.bytes[range.clone()]),
        })
    }

    /// Values in the row.
    pub fn width(&self) -> usize {
        self.answer.width
    }

    /// A value that could not be read, with where it stood.
    fn wrong(&self, column: usize, error: &Error) -> Error {
        let of = self.answer.asked.as_deref().map(|text| format!(" to `{text}`")).unwrap_or_default();
        Error::new(error.kind(), format!("{error}: column {} of the answer{of}", column + 1))
    }

    /// The whole number in that column.
    ///
    /// # Errors
    /// See [`Value::int`].
    pub fn int(&self, column: usize) -> Result<i64> {
        self.get(column)?.int().map_err(|error| self.wrong(column, &error))
    }

    /// The exact fraction in that column, in units of 10^-`scale`.
    ///
    /// # Errors
    /// See [`Value::decimal`].
    pub fn decimal(&self, column: usize, scale: u8) -> Result<i64> {
        self.get(column)?.decimal(scale).map_err(|error| self.wrong(column, &error))
    }

    /// The number in that column.
    ///
    /// # Errors
    /// See [`Value::float`].
    pub fn float(&self, column: usize) -> Result<f64> {
        self.get(column)?.float().map_err(|error| self.wrong(column, &error))
    }

    /// The text in that column.
    ///
    /// # Errors
    /// See [`Value::text`].
    pub fn text(&self, column: usize) -> Result<&'a str> {
        self.get(column)?.text().map_err(|error| self.wrong(column, &error))
    }

    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = Value<'a>> {
        let row = *self;
        (0..self.answer.width).map(move |column| row.get(column).expect("the column is within the row"))
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;
    use crate::value::Value;

    #[test]
    fn rows_come_back_as_they_were_pushed() {
        let mut answer = Answer::new();
        answer.set_width(2);
        let values = [Value::Int(1), Value::Text("one"), Value::Null, Value::Bytes(&[1, 2])];
        values.into_iter().for_each(|value| answer.push(value));
        let read: Vec<Vec<Value<'_>>> = answer.rows().map(|row| row.values().collect()).collect();
        assert_eq!(read, vec![values[..2].to_vec(), values[2..].to_vec()]);
        assert!(answer.first().expect("a row").get(2).is_err());
        answer.clear();
        assert!(answer.is_empty() && answer.first().is_err());
    }
}
