//! Sizes, lengths and offsets: whole bytes.

use std::fmt;
use std::str::FromStr;

use crate::error::{ErrorKind, QuantityName, UnitError};
use crate::number::{self, Excess};

/// A number of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

pub(crate) const BINARY: [(&str, u64); 6] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];
pub(crate) const DECIMAL: [(&str, u64); 6] = [
    ("EB", 1_000_000_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];
const NOUN: QuantityName = QuantityName {
    expected: "a size in bytes",
    example: "64KiB",
    meant: &[
        ("kb", "kB"),
        ("mb", "MB"),
        ("gb", "GB"),
        ("tb", "TB"),
        ("pb", "PB"),
        ("eb", "EB"),
        ("kib", "KiB"),
        ("mib", "MiB"),
        ("gib", "GiB"),
        ("tib", "TiB"),
        ("pib", "PiB"),
        ("eib", "EiB"),
        ("k", "KiB"),
        ("m", "MiB"),
        ("g", "GiB"),
        ("t", "TiB"),
        ("b", "B"),
        ("byte", "B"),
        ("bytes", "B"),
    ],
};

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// This many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many KiB (1,024 bytes), as far as 64 bits reach.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// This many MiB, as far as 64 bits reach.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// This many GiB, as far as 64 bits reach.
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// This many TiB, as far as 64 bits reach.
    #[must_use]
    pub const fn tib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 40))
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The size in GiB, for rules such as "3 IOPS per GiB".
    #[must_use]
    pub fn as_gib(self) -> f64 {
        self.0 as f64 / (1u64 << 30) as f64
    }
}

/// The size of one unit of bytes; for an unknown unit, the error that says what may have been meant.
pub(crate) fn unit(name: &str) -> Result<u64, ErrorKind> {
    if matches!(name, "" | "B") {
        return Ok(1);
    }
    let known =
        BINARY.iter().chain(&DECIMAL).find(|(unit, _)| *unit == name || (name == "KB" && *unit == "kB"));
    if let Some((_, size)) = known {
        return Ok(*size);
    }
    Err(ErrorKind::UnknownUnit(match name {
        "k" | "K" | "M" | "G" | "T" | "P" | "E" => {
            "say which kind, binary (KiB, MiB, GiB, TiB) or decimal (kB, MB, GB, TB)"
        }
        _ if name.ends_with('b') => "bytes are written with a capital B; a small b would be bits",
        _ if BINARY.iter().any(|(unit, _)| unit.eq_ignore_ascii_case(name)) => {
            "binary units are written KiB, MiB, GiB, TiB"
        }
        _ if DECIMAL.iter().any(|(unit, _)| unit.eq_ignore_ascii_case(name)) => {
            "decimal units are written kB, MB, GB, TB"
        }
        _ => "the units are B, KiB, MiB, GiB, TiB, PiB, EiB and kB, MB, GB, TB, PB, EB",
    }))
}

/// Writes a count of bytes. Short: a whole number of binary units where that is exact and has at most four digits,
/// otherwise three significant digits of a decimal unit. Exact: every digit, in the unit that needs fewest.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, value: u64, suffix: &str) -> fmt::Result {
    if f.alternate() {
        return write!(f, "{}{suffix}", exact(value));
    }
    if let Some((name, count)) = whole_binary(value).filter(|(_, count)| *count < 10_000) {
        return write!(f, "{count} {name}{suffix}");
    }
    // Rounding may carry: 999,999 bytes are 1 MB, not 1,000 kB.
    match DECIMAL.iter().find(|(_, size)| value as f64 >= *size as f64 * 0.9995) {
        Some((name, size)) => write!(f, "{} {name}{suffix}", number::rounded(value, *size)),
        None => write!(f, "{value} B{suffix}"),
    }
}

fn exact(value: u64) -> String {
    let decimal = match DECIMAL.iter().find(|(_, size)| value >= *size) {
        Some((name, size)) => format!("{}{name}", number::exact(value.into(), (*size).into())),
        None => format!("{value}B"),
    };
    let binary = whole_binary(value).map(|(name, count)| format!("{count}{name}"));
    binary.filter(|text| text.len() <= decimal.len()).unwrap_or(decimal)
}

/// The largest binary unit that divides the value, and how often.
fn whole_binary(value: u64) -> Option<(&'static str, u64)> {
    let (name, size) = BINARY.iter().find(|(_, size)| value != 0 && value.is_multiple_of(*size))?;
    Some((name, value / size))
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, "")
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads "4KiB", "1 MB", "1.5GiB" or a bare count of bytes. The result must be a whole number of bytes.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, name) = number::split(text, NOUN)?;
        let steps = unit(name).and_then(|size| number.times(size, Excess::Refuse));
        steps.map(Self).map_err(|kind| UnitError::new(kind, text, NOUN))
    }
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_are_kept_apart() {
        assert_eq!("4KiB".parse(), Ok(Bytes::new(4096)));
        assert_eq!("4kB".parse(), Ok(Bytes::new(4000)));
        assert_eq!("4KB".parse(), Ok(Bytes::new(4000)));
        assert_eq!("1 MB".parse(), Ok(Bytes::new(1_000_000)));
        assert_eq!("1.5GiB".parse(), Ok(Bytes::mib(1536)));
        assert_eq!("16_384".parse(), Ok(Bytes::kib(16)));
        assert_eq!("4TiB".parse(), Ok(Bytes::tib(4)));
    }

    #[test]
    fn the_example_is_what_was_probably_meant() {
        for (text, example) in
            [("1Tb", "1TB"), ("4K", "4KiB"), ("1_000 bytes", "1_000B"), ("4 parsecs", "64KiB")]
        {
            assert_eq!(text.parse::<Bytes>().unwrap_err().example, example, "{text}");
        }
    }

    #[test]
    fn a_text_in_doubt_is_refused_with_a_hint() {
        for (text, hint) in [
            ("4K", "binary (KiB"),
            ("4kb", "small b would be bits"),
            ("4kiB", "binary units are written KiB"),
            ("4 parsecs", "the units are"),
            ("-4KiB", "negative"),
            ("0.5B", "finer than"),
            ("16EiB", "too large"),
            ("99999999999999999999999", "too large"),
            ("1,000", "the units are"),
            ("KiB", "not a size"),
            ("", "not a size"),
            ("1__0", "not a size"),
            ("1.", "not a size"),
            ("-", "not a size"),
            ("NaN", "not a size"),
        ] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
            assert!(error.contains("write it like \""), "{error}");
        }
    }

    #[test]
    fn people_see_binary_when_exact_and_three_digits_otherwise() {
        for (bytes, short, exact) in [
            (0, "0 B", "0B"),
            (512, "512 B", "512B"),
            (4096, "4 KiB", "4KiB"),
            (1_048_576 + 4096, "1028 KiB", "1028KiB"),
            (1_000_000, "1 MB", "1MB"),
            (999_999, "1 MB", "999.999kB"),
            (300_000_000_000, "300 GB", "300GB"),
            (999, "999 B", "999B"),
            (4 << 40, "4 TiB", "4TiB"),
            (u64::MAX, "18.4 EB", "18.446744073709551615EB"),
        ] {
            assert_eq!(format!("{}", Bytes::new(bytes)), short);
            assert_eq!(format!("{:#}", Bytes::new(bytes)), exact);
        }
    }

    #[test]
    fn what_is_read_is_shown_short_and_escaped() {
        let error = format!("1{}\n", "x".repeat(500)).parse::<Bytes>().unwrap_err();
        assert_eq!(error.read.chars().count(), 61);
        assert!("4\u{1b}[31m".parse::<Bytes>().unwrap_err().read.contains("\\u{1b}"));
    }
}
