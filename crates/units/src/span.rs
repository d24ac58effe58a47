//! Lengths of time: whole nanoseconds, up to 584 years.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{ErrorKind, QuantityName, UnitError};
use crate::number::{self, Excess};

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("min", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
const NOUN: QuantityName = QuantityName {
    expected: "a length of time",
    example: "250us",
    meant: &[
        ("", "s"),
        // In capitals.
        ("d", "d"),
        ("h", "h"),
        ("min", "min"),
        ("s", "s"),
        ("ms", "ms"),
        ("us", "us"),
        ("ns", "ns"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hr", "h"),
        ("hrs", "h"),
        ("hour", "h"),
        ("hours", "h"),
        ("day", "d"),
        ("days", "d"),
        ("msec", "ms"),
        ("millis", "ms"),
        ("milliseconds", "ms"),
        ("usec", "us"),
        ("micros", "us"),
        ("microseconds", "us"),
        ("nsec", "ns"),
        ("nanoseconds", "ns"),
    ],
};

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// This many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// This many microseconds, as far as 64 bits of nanoseconds reach.
    #[must_use]
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds.saturating_mul(1_000))
    }

    /// This many milliseconds, as far as 64 bits of nanoseconds reach.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000))
    }

    /// This many seconds, as far as 64 bits of nanoseconds reach.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(SECOND))
    }

    /// The nearest nanosecond; nothing for a number that is negative, not finite or too large.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Option<Self> {
        let rounded = (seconds * SECOND as f64).round();
        (0.0..u64::MAX as f64).contains(&rounded).then_some(Self(rounded as u64))
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for arithmetic.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Display for Span {
    /// Short: three significant digits, up to 2 min in seconds, up to 2 h in minutes, up to 2 d in hours.
    /// Exact: a whole number of the largest unit that divides the time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let (name, size) =
                UNITS.iter().find(|(_, size)| self.0.is_multiple_of(*size)).unwrap_or(&("ns", 1));
            return if self.0 == 0 { write!(f, "0s") } else { write!(f, "{}{name}", self.0 / size) };
        }
        let reached = |name: &str, size: u64| match name {
            "d" | "h" | "min" => self.0 >= 2 * size,
            // Rounding may carry: 999,999 ns are 1 ms, not 1,000 us.
            "s" | "ms" | "us" => self.0 as f64 >= size as f64 * 0.9995,
            _ => true,
        };
        let (name, size) = UNITS.iter().find(|(name, size)| reached(name, *size)).unwrap_or(&("ns", 1));
        write!(f, "{} {name}", number::rounded(self.0, *size))
    }
}

impl FromStr for Span {
    type Err = UnitError;

    /// Reads "1ms", "250us", "250µs", "5 s", "10min", "2h", "1d" or "0"; any other bare number is refused.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = |kind| UnitError::new(kind, text, NOUN);
        let (number, name) = number::split(text, NOUN)?;
        let name = match name {
            "µs" | "μs" => "us",
            "" if number.to_f64() == 0.0 => "ns",
            name => name,
        };
        let hint = match name {
            "" => "it has no unit",
            "m" | "M" => "say min (minutes) or ms (milliseconds)",
            "sec" | "secs" | "second" | "seconds" | "S" => "seconds are written s",
            _ => "the units are ns, us, ms, s, min, h, d",
        };
        let (_, size) =
            UNITS.iter().find(|(unit, _)| *unit == name).ok_or_else(|| fail(ErrorKind::UnknownUnit(hint)))?;
        number.times(*size, Excess::Refuse).map(Self).map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, nanoseconds) in [
            ("1ms", 1_000_000),
            ("250us", 250_000),
            ("250 µs", 250_000),
            ("81.6us", 81_600),
            ("5s", 5 * SECOND),
            ("10min", 600 * SECOND),
            ("2h", 7_200 * SECOND),
            ("1d", 86_400 * SECOND),
            ("7ns", 7),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Span::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn a_text_in_doubt_is_refused_with_a_hint() {
        for (text, hint) in [
            ("5", "it has no unit"),
            ("5m", "min (minutes) or ms"),
            ("5 seconds", "seconds are written s"),
            ("0.5ns", "finer than"),
            ("1000000d", "too large"),
            ("-1ms", "negative"),
            ("ms", "not a length of time"),
        ] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn people_see_three_digits_and_a_unit_of_the_right_size() {
        for (nanoseconds, short, exact) in [
            (0, "0 ns", "0s"),
            (999, "999 ns", "999ns"),
            (1_234, "1.23 us", "1234ns"),
            (999_999, "1 ms", "999999ns"),
            (12_500_000, "12.5 ms", "12500us"),
            (90 * SECOND, "90 s", "90s"),
            (600 * SECOND, "10 min", "10min"),
            (86_400 * SECOND, "24 h", "1d"),
            (u64::MAX, "213504 d", "18446744073709551615ns"),
        ] {
            assert_eq!(format!("{}", Span::from_nanos(nanoseconds)), short);
            assert_eq!(format!("{:#}", Span::from_nanos(nanoseconds)), exact);
        }
    }

    #[test]
    fn the_example_is_what_was_probably_meant() {
        for (text, example) in [
            ("30", "30s"),
            ("20S", "20s"),
            ("5 MS", "5ms"),
            ("5 m", "5min"),
            ("2 hours", "2h"),
            ("1.5sec", "1.5s"),
            ("soon", "250us"),
        ] {
            assert_eq!(text.parse::<Span>().unwrap_err().example, example, "{text}");
        }
    }

    #[test]
    fn seconds_that_are_no_time_are_refused() {
        assert_eq!(Span::from_secs_f64(0.001), Some(Span::from_millis(1)));
        assert!([-1.0, f64::NAN, f64::INFINITY, 1e30].iter().all(|n| Span::from_secs_f64(*n).is_none()));
        assert_eq!(Duration::from(Span::from_micros(3)), Duration::from_micros(3));
    }
}
