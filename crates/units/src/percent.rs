//! Percentages: shares, margins, mixes.

use std::fmt;
use std::str::FromStr;

use crate::error::{ErrorKind, QuantityName, UnitError};
use crate::number;

/// A share from 0 to 100 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Percent(f64);

const NOUN: QuantityName = QuantityName {
    expected: "a percentage from 0 to 100",
    example: "2%",
    meant: &[("", "%"), ("percent", "%"), ("pct", "%")],
};

impl Percent {
    /// This many per cent; nothing outside 0 to 100.
    #[must_use]
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self(percent))
    }

    /// The share as a number from 0 to 1.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }

    /// The share as a number from 0 to 100.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Percent {
    /// Short: at most two decimals. Exact: every digit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if f.alternate() { self.0 } else { (self.0 * 100.0).round() / 100.0 };
        write!(f, "{shown}%")
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    /// Reads "2%" or "0.5 %". A bare number is refused: "0.02" and "2" could mean the same.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = |kind| UnitError::new(kind, text, NOUN);
        let (number, unit) = number::split(text, NOUN)?;
        match unit {
            "%" => Self::new(number.to_f64()).ok_or_else(|| fail(ErrorKind::TooLarge)),
            "" => Err(bare(number.to_f64(), fail(ErrorKind::UnknownUnit("the % is missing")))),
            _ => Err(fail(ErrorKind::UnknownUnit("the unit is %"))),
        }
    }
}

/// The error for a number without its sign. One up to 1 was probably meant as a fraction.
fn bare(number: f64, error: UnitError) -> UnitError {
    let meant = Some(number).filter(|number| *number > 0.0 && *number <= 1.0).and_then(|fraction| {
        // Steps of a millionth: 0.07 x 100 is not quite 7.
        Percent::new((fraction * 1e8).round() / 1e6)
    });
    match meant {
        Some(percent) => UnitError { example: format!("{percent:#}"), ..error },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign() {
        assert_eq!("2%".parse::<Percent>().unwrap().fraction(), 0.02);
        assert_eq!("99.9 %".parse::<Percent>().unwrap().get(), 99.9);
        for (text, hint) in
            [("2", "% is missing"), ("101%", "too large"), ("-1%", "negative"), ("2 parts", "the unit is %")]
        {
            let error = text.parse::<Percent>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
        assert!([-1.0, 100.1, f64::NAN].iter().all(|n| Percent::new(*n).is_none()));
    }

    #[test]
    fn a_fraction_is_shown_as_the_percentage_it_was_meant_to_be() {
        for (text, meant) in
            [("0.02", "\"2%\""), ("0.07", "\"7%\""), ("1", "\"100%\""), ("20", "\"20%\""), ("0", "\"0%\"")]
        {
            let error = text.parse::<Percent>().unwrap_err().to_string();
            assert!(error.ends_with(meant), "{error}");
        }
    }

    #[test]
    fn people_see_two_decimals() {
        assert_eq!("2%".parse::<Percent>().unwrap().to_string(), "2%");
        assert_eq!("33.3333%".parse::<Percent>().unwrap().to_string(), "33.33%");
        assert_eq!(format!("{:#}", "33.3333%".parse::<Percent>().unwrap()), "33.3333%");
    }
}
