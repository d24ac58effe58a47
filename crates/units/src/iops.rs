//! Counts per second: I/O operations, arrivals, transactions.

use std::fmt;
use std::str::FromStr;

use crate::error::{ErrorKind, QuantityName, UnitError};
use crate::number;

/// Events per second: finite, from 0 to 10^15.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Iops(f64);

const NOUN: QuantityName = QuantityName {
    expected: "a count per second",
    example: "3000/s",
    meant: &[("", "/s"), ("iops", "/s"), ("io/s", "/s"), ("ps", "/s"), ("/sec", "/s")],
};
const LARGEST: f64 = 1e15;

impl Iops {
    /// This many events per second; nothing if the number is negative, not finite or above 10^15.
    #[must_use]
    pub fn new(per_second: f64) -> Option<Self> {
        (0.0..=LARGEST).contains(&per_second).then_some(Self(per_second))
    }

    /// Events per second.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Iops {
    /// Short: three significant digits below 100, whole above. Exact: every digit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = match self.0 {
            _ if f.alternate() => return write!(f, "{}/s", self.0),
            n if n >= 99.95 => 1.0,
            n if n >= 9.995 => 10.0,
            _ => 100.0,
        };
        write!(f, "{}/s", (self.0 * scale).round() / scale)
    }
}

impl FromStr for Iops {
    type Err = UnitError;

    /// Reads "3000", "3_000/s", "3000 IOPS" or "0.5/s".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = |kind| UnitError::new(kind, text, NOUN);
        let (number, unit) = number::split(text, NOUN)?;
        match unit {
            "" | "/s" | "IOPS" => Self::new(number.to_f64()).ok_or_else(|| fail(ErrorKind::TooLarge)),
            "k" | "K" | "M" => {
                Err(fail(ErrorKind::UnknownUnit("write the zeros, underscores may group them")))
            }
            _ => Err(fail(ErrorKind::UnknownUnit("the unit is /s"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_or_without_per_second() {
        for text in ["3000", "3_000/s", "3000 IOPS", "3000.0 /s"] {
            assert_eq!(text.parse::<Iops>().unwrap().get(), 3000.0);
        }
        assert_eq!("0.5/s".parse::<Iops>().unwrap().get(), 0.5);
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for (text, hint) in [
            ("3k", "write the zeros"),
            ("3MiB/s", "the unit is /s"),
            ("-3", "negative"),
            ("1_0000000000000000", "too large"),
            ("inf", "not a count"),
        ] {
            let error = text.parse::<Iops>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
        assert!([-1.0, f64::NAN, f64::INFINITY].iter().all(|n| Iops::new(*n).is_none()));
    }

    #[test]
    fn people_see_three_digits() {
        assert_eq!("12288".parse::<Iops>().unwrap().to_string(), "12288/s");
        assert_eq!("1234.56".parse::<Iops>().unwrap().to_string(), "1235/s");
        assert_eq!("0.125".parse::<Iops>().unwrap().to_string(), "0.13/s");
        assert_eq!(format!("{:#}", "1234.56".parse::<Iops>().unwrap()), "1234.56/s");
    }
}
