//! Throughput: whole bytes per second.

use std::fmt;
use std::str::FromStr;

use crate::bytes;
use crate::error::{ErrorKind, QuantityName, UnitError};
use crate::number::{self, Excess};

/// A number of bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

const NOUN: QuantityName = QuantityName {
    expected: "a throughput in bytes per second",
    example: "125MiB/s",
    meant: &[
        ("kb/s", "kB/s"),
        ("kb", "kB/s"),
        ("kbps", "kB/s"),
        ("mb/s", "MB/s"),
        ("mb", "MB/s"),
        ("mbps", "MB/s"),
        ("gb/s", "GB/s"),
        ("gb", "GB/s"),
        ("gbps", "GB/s"),
        ("tb/s", "TB/s"),
        ("tb", "TB/s"),
        ("tbps", "TB/s"),
        ("kib/s", "KiB/s"),
        ("kib", "KiB/s"),
        ("kibps", "KiB/s"),
        ("mib/s", "MiB/s"),
        ("mib", "MiB/s"),
        ("mibps", "MiB/s"),
        ("gib/s", "GiB/s"),
        ("gib", "GiB/s"),
        ("gibps", "GiB/s"),
        ("tib/s", "TiB/s"),
        ("tib", "TiB/s"),
        ("tibps", "TiB/s"),
    ],
};

impl Rate {
    /// This many bytes per second.
    #[must_use]
    pub const fn new(bytes_per_second: u64) -> Self {
        Self(bytes_per_second)
    }

    /// This many MiB/s, as far as 64 bits reach.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// The nearest whole number of bytes per second; nothing for a number that is negative, not finite or too large.
    #[must_use]
    pub fn from_f64(bytes_per_second: f64) -> Option<Self> {
        let rounded = bytes_per_second.round();
        (0.0..u64::MAX as f64).contains(&rounded).then_some(Self(rounded as u64))
    }

    /// Bytes per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Bytes per second, for arithmetic.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bytes::write(f, self.0, "/s")
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Reads "125MiB/s" or "593.75 MB/s"; the "/s" may not be left out. Rounds to whole bytes per second.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = |kind| UnitError::new(kind, text, NOUN);
        let (number, unit) = number::split(text, NOUN)?;
        let size = match unit.strip_suffix("/s") {
            Some(size) => size.trim_end(),
            None if unit.ends_with("bps") || unit.ends_with("bit/s") => {
                return Err(fail(ErrorKind::UnknownUnit("that is bits; eight of them are a byte")));
            }
            None => return Err(fail(ErrorKind::UnknownUnit("a throughput ends in /s"))),
        };
        if size.is_empty() {
            return Err(fail(ErrorKind::UnknownUnit("a throughput is in bytes, such as MiB/s or B/s")));
        }
        bytes::unit(size).and_then(|size| number.times(size, Excess::Round)).map(Self).map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_figures_are_read_exactly() {
        assert_eq!("593.75MB/s".parse(), Ok(Rate::new(593_750_000)));
        assert_eq!("125MiB/s".parse(), Ok(Rate::mib(125)));
        assert_eq!("0.256 MiB/s".parse(), Ok(Rate::new(268_435)));
        assert_eq!("512 B/s".parse(), Ok(Rate::new(512)));
    }

    #[test]
    fn a_rate_needs_bytes_and_per_second() {
        for (text, hint) in [
            ("125MiB", "ends in /s"),
            ("125", "ends in /s"),
            ("125/s", "is in bytes"),
            ("4750Mbps", "that is bits"),
            ("4750Mb/s", "small b would be bits"),
            ("-1MB/s", "negative"),
            ("99999PB/s", "too large"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_that_are_no_rate_are_refused() {
        assert_eq!(Rate::from_f64(2.6), Some(Rate::new(3)));
        assert!([-1.0, f64::NAN, f64::INFINITY, 1e30].iter().all(|n| Rate::from_f64(*n).is_none()));
    }

    #[test]
    fn mib_and_mb_print_as_what_they_are() {
        assert_eq!(Rate::mib(125).to_string(), "125 MiB/s");
        assert_eq!(Rate::new(593_750_000).to_string(), "594 MB/s");
        assert_eq!(format!("{:#}", Rate::new(593_750_000)), "593.75MB/s");
    }
}
