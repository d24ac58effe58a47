//! Decimal numbers of a text, read and printed with integers only, so that 593.75 MB/s is exactly 593,750,000 bytes.

use crate::error::{ErrorKind, QuantityName, UnitError};

/// Digits a number may have: 10^20 times the largest unit (2^60) still fits 128 bits.
const DIGITS_MAX: u32 = 20;

/// An unsigned decimal number: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    scale: u32,
}

/// What to do with the part of a number that is finer than one step of the quantity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    Refuse,
    Round,
}

/// Splits "1_000.5 MiB" into its number and its unit. Digits may have underscores between them; a sign, an exponent or a
/// comma may not: "1,5" means one thing in Berlin and another in Boston.
pub(crate) fn split(text: &str, noun: QuantityName) -> Result<(Decimal, &str), UnitError> {
    let malformed = || UnitError::new(ErrorKind::Malformed, text, noun);
    let trimmed = text.trim();
    if let Some(rest) = trimmed.strip_prefix(['-', '−']) {
        let kind = if rest.starts_with(|c: char| c.is_ascii_digit()) {
            ErrorKind::Negative
        } else {
            ErrorKind::Malformed
        };
        return Err(UnitError::new(kind, text, noun));
    }
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let bytes = number.as_bytes();
    let digit_at = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut decimal = Decimal { digits: 0, scale: 0 };
    let (mut count, mut point) = (0, false);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'_' | b'.' if i == 0 || !digit_at(i - 1) || !digit_at(i + 1) => return Err(malformed()),
            b'_' => {}
            b'.' if point => return Err(malformed()),
            b'.' => point = true,
            digit => {
                count += u32::from(count > 0 || *digit != b'0');
                if count > DIGITS_MAX || decimal.scale >= DIGITS_MAX {
                    let kind = if point { ErrorKind::TooFine } else { ErrorKind::TooLarge };
                    return Err(UnitError::new(kind, text, noun));
                }
                decimal.digits = decimal.digits * 10 + u128::from(digit - b'0');
                decimal.scale += u32::from(point);
            }
        }
    }
    if bytes.is_empty() {
        return Err(malformed());
    }
    Ok((decimal, unit.trim_start()))
}

impl Decimal {
    /// The number times `unit`, as a count of steps.
    pub(crate) fn times(self, unit: u64, excess: Excess) -> Result<u64, ErrorKind> {
        let product = self.digits * u128::from(unit);
        let divisor = 10u128.pow(self.scale);
        if excess == Excess::Refuse && !product.is_multiple_of(divisor) {
            return Err(ErrorKind::TooFine);
        }
        u64::try_from((product + divisor / 2) / divisor).map_err(|_| ErrorKind::TooLarge)
    }

    /// The nearest floating-point number.
    pub(crate) fn to_f64(self) -> f64 {
        // Through text, which rounds once; a division of two rounded numbers would round three times.
        exact(self.digits, 10u128.pow(self.scale)).parse().unwrap_or(f64::MAX)
    }
}

/// `value / unit` in full, for a `unit` that is a power of ten: exact(593_750_000, 1_000_000) is "593.75".
pub(crate) fn exact(value: u128, unit: u128) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{rest:0width$}").trim_end_matches('0').to_owned()
}

/// `value / unit` to three significant digits, without trailing zeros: 1.25, 12.5, 125, 0.3.
pub(crate) fn rounded(value: u64, unit: u64) -> String {
    let quotient = value as f64 / unit as f64;
    let decimals = if quotient >= 99.95 {
        0
    } else if quotient >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{quotient:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
