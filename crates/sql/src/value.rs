//! Values that go into statements and come out of answers, the same for every database.
//!
//! | value | PostgreSQL | MariaDB | SQLite | SQL Server |
//! |---|---|---|---|---|
//! | `Int` | smallint, integer, bigint | any integer | integer | int, bigint |
//! | `Decimal` | numeric | decimal | **integer of the smallest unit** | decimal, money |
//! | `Float` | double precision | double | real | float |
//! | `Text` | text, varchar, char | varchar, char, text | text | nvarchar, varchar |
//! | `Bytes` | bytea | varbinary, blob | blob | varbinary |
//! | `Time` | timestamp | datetime(6) | integer, us | datetime2 |
//! | `Ints` | integer array | JSON text | JSON text | JSON text |
//!
//! SQLite has no exact fractions: columns of money hold whole cents there, so that sums are exact on every database.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// One value, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL's NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A fraction that need not be exact.
    Float(f64),
    /// An exact fraction: `units` / 10^`scale`.
    Decimal {
        /// The number without its point.
        units: i64,
        /// Digits behind the point, at most 18.
        scale: u8,
    },
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A moment without a time zone, us since 1970-01-01 00:00:00.
    Time(i64),
    /// A list of whole numbers, for statements that work on sets. A parameter only, never part of an answer.
    Ints(&'a [i64]),
}

impl Value<'_> {
    /// Money with two digits behind the point.
    pub const fn cents(units: i64) -> Self {
        Self::Decimal { units, scale: 2 }
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a fraction",
            Self::Decimal { .. } => "an exact fraction",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "a time",
            Self::Ints(_) => "a list",
        }
    }

    fn is_not(&self, wanted: &str) -> Error {
        Error::new(ErrorKind::Other, format!("the answer holds {} where {wanted} was expected", self.kind()))
    }

    /// The whole number.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is anything else, an exact fraction with a rest included.
    pub fn int(&self) -> Result<i64, Error> {
        match *self {
            Self::Int(value) => Ok(value),
            Self::Decimal { .. } => self.decimal(0),
            _ => Err(self.is_not("a whole number")),
        }
    }

    /// The exact fraction in units of 10^-`scale`. A whole number counts as units already, as SQLite keeps them.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is anything else, or does not fit that scale.
    pub fn decimal(&self, wanted: u8) -> Result<i64, Error> {
        match *self {
            Self::Int(units) => Ok(units),
            Self::Decimal { units, scale } => {
                let power = 10_i64.checked_pow(u32::from(scale.abs_diff(wanted)));
                let fitting = power.and_then(|power| match scale <= wanted {
                    true => units.checked_mul(power),
                    false => (units % power == 0).then_some(units / power),
                });
                fitting.ok_or_else(|| {
                    let message = format!("{self} does not fit {wanted} digits behind the point");
                    Error::new(ErrorKind::Other, message)
                })
            }
            _ => Err(self.is_not("an exact fraction")),
        }
    }

    /// The fraction, as near as a double comes.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is no number.
    pub fn float(&self) -> Result<f64, Error> {
        match *self {
            Self::Float(value) => Ok(value),
            Self::Int(value) => Ok(value as f64),
            Self::Decimal { units, scale } => Ok(units as f64 / 10_f64.powi(i32::from(scale))),
            _ => Err(self.is_not("a number")),
        }
    }

    /// The time, us since 1970-01-01 00:00:00.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is none. A whole number counts, as SQLite keeps them.
    pub fn time(&self) -> Result<i64, Error> {
        match *self {
            Self::Time(value) | Self::Int(value) => Ok(value),
            _ => Err(self.is_not("a time")),
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'a> Value<'a> {
    /// The text.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is anything else.
    pub fn text(&self) -> Result<&'a str, Error> {
        match *self {
            Self::Text(value) => Ok(value),
            _ => Err(self.is_not("text")),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] if it is anything else.
    pub fn bytes(&self) -> Result<&'a [u8], Error> {
        match *self {
            Self::Bytes(value) => Ok(value),
            Self::Text(value) => Ok(value.as_bytes()),
            _ => Err(self.is_not("bytes")),
        }
    }
}

/// A decimal with its point; a list as JSON; everything else as people write it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("NULL"),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Decimal { units, scale: 0 } => units.fmt(f),
            Self::Decimal { units, scale } => {
                let sign = if units < 0 { "-" } else { "" };
                let power = 10_u64.pow(u32::from(scale));
                let (whole, rest) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
                write!(f, "{sign}{whole}.{rest:0width$}", width = usize::from(scale))
            }
            Self::Text(value) => f.write_str(value),
            Self::Bytes(value) => value.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Time(micros) => crate::calendar::DateTime::of_micros(micros).fmt(f),
            Self::Ints(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Reads an exact fraction as databases write it: `-123.45`.
pub(crate) fn parse_decimal(text: &str) -> Option<Value<'static>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let units = digits.parse().ok()?;
    Some(Value::Decimal { units, scale: u8::try_from(fraction.len()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Value, parse_decimal};

    #[test]
    fn a_decimal_prints_and_reads_with_its_point() {
        for (units, scale, text) in
            [(-5, 2, "-0.05"), (12_345, 2, "123.45"), (7, 0, "7"), (i64::MIN, 0, "-9223372036854775808")]
        {
            let value = Value::Decimal { units, scale };
            assert_eq!(value.to_string(), text);
            assert_eq!(parse_decimal(text), Some(value));
        }
        assert_eq!(parse_decimal("1.2.3"), None);
    }

    #[test]
    fn a_decimal_changes_its_scale_only_without_loss() {
        let value = Value::Decimal { units: 1230, scale: 3 };
        assert_eq!(value.decimal(2).ok(), Some(123));
        assert_eq!(value.decimal(4).ok(), Some(12_300));
        assert!(value.decimal(1).is_err());
        assert!(Value::Decimal { units: i64::MAX, scale: 0 }.decimal(2).is_err());
        assert_eq!(Value::Int(77).decimal(2).ok(), Some(77), "SQLite keeps whole units");
    }

    #[test]
    fn a_list_prints_as_json() {
        assert_eq!(Value::Ints(&[]).to_string(), "[]");
        assert_eq!(Value::Ints(&[3, -1]).to_string(), "[3,-1]");
    }
}
