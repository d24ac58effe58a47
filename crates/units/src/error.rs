//! The one error of the crate: what was read, what was expected, an example.

use std::fmt;

/// Why a text is not the quantity it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not a number followed by a unit.
    Malformed,
    /// A number below zero.
    Negative,
    /// A number, but followed by a unit this quantity does not have. The text says what may have been meant.
    UnknownUnit(&'static str),
    /// Larger than the quantity can hold.
    TooLarge,
    /// Finer than the quantity's smallest step (a byte, a nanosecond).
    TooFine,
}

/// A text that could not be read as a quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong with it.
    pub kind: ErrorKind,
    /// What was read, shortened to 60 characters, control characters escaped.
    pub read: String,
    /// What was expected, as a noun: "a size".
    pub expected: &'static str,
    /// A text that would have been read: the one that was probably meant, where that is known.
    pub example: String,
}

/// What a quantity is called in errors, and one good text for it.
#[derive(Clone, Copy)]
pub(crate) struct QuantityName {
    pub expected: &'static str,
    pub example: &'static str,
    /// What people write for its units, in lower case, with the unit they mean.
    pub meant: &'static [(&'static str, &'static str)],
}

impl QuantityName {
    /// The text with the unit that was probably meant; the usual example where that is unknown.
    fn example_for(&self, text: &str) -> String {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim().to_lowercase();
        match self.meant.iter().find(|(written, _)| *written == unit) {
            Some((_, meant)) if !number.is_empty() => format!("{number}{meant}"),
            _ => self.example.to_owned(),
        }
    }
}

impl UnitError {
    pub(crate) fn new(kind: ErrorKind, read: &str, noun: QuantityName) -> Self {
        let mut shown: String = read.chars().take(60).flat_map(char::escape_debug).collect();
        if read.chars().nth(60).is_some() {
            shown.push('…');
        }
        let example = match kind {
            ErrorKind::UnknownUnit(_) => noun.example_for(read),
            _ => noun.example.to_owned(),
        };
        Self { kind, read: shown, expected: noun.expected, example }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, read, expected, example } = self;
        match kind {
            ErrorKind::Malformed => write!(f, "\"{read}\" is not {expected}")?,
            ErrorKind::Negative => write!(f, "\"{read}\" is negative, expected {expected}")?,
            ErrorKind::UnknownUnit(hint) => write!(f, "\"{read}\" is not {expected}: {hint}")?,
            ErrorKind::TooLarge => write!(f, "\"{read}\" is too large for {expected}")?,
            ErrorKind::TooFine => write!(f, "\"{read}\" is finer than {expected} can be")?,
        }
        write!(f, "; write it like \"{example}\"")
    }
}

impl std::error::Error for UnitError {}
