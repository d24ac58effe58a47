//! Any text is read or refused, never a panic; what is printed is read back.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use fathom_units::{Bytes, Iops, Percent, Rate, Span, UnitError};
use proptest::prelude::*;

fn exact_form_reads_back<T>(value: T) -> Result<(), TestCaseError>
where
    T: Display + Debug + PartialEq + FromStr<Err = UnitError>,
{
    let exact = format!("{value:#}");
    prop_assert_eq!(&exact.parse::<T>().unwrap(), &value, "exact form {}", exact);
    Ok(())
}

/// The short form keeps three significant digits, or two decimals where that is more.
fn short_form_is_near(short: f64, value: f64) -> Result<(), TestCaseError> {
    prop_assert!((short - value).abs() <= f64::max(0.005 * value, 0.005), "{} for {}", short, value);
    Ok(())
}

fn reads_or_refuses(text: &str) {
    for error in [
        text.parse::<Bytes>().err(),
        text.parse::<Span>().err(),
        text.parse::<Rate>().err(),
        text.parse::<Iops>().err(),
        text.parse::<Percent>().err(),
    ]
    .into_iter()
    .flatten()
    {
        let message = error.to_string();
        assert!(message.contains(&error.example) && !message.chars().any(char::is_control), "{message}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        reads_or_refuses(&text);
    }

    #[test]
    fn no_text_that_looks_like_a_quantity_panics(text in "[-+]?[0-9_.]{0,45} ?[a-zA-Zµ%/]{0,5}") {
        reads_or_refuses(&text);
    }

    #[test]
    fn whole_quantities_print_and_read(exponent in 0u32..64, low in any::<u64>()) {
        let value = low >> exponent;
        let (bytes, rate, span) = (Bytes::new(value), Rate::new(value), Span::from_nanos(value));
        exact_form_reads_back(bytes)?;
        exact_form_reads_back(rate)?;
        exact_form_reads_back(span)?;
        // Rounded up, the largest values would no longer fit.
        if value < u64::MAX / 2 {
            short_form_is_near(bytes.to_string().parse::<Bytes>().unwrap().get() as f64, value as f64)?;
            short_form_is_near(rate.to_string().parse::<Rate>().unwrap().as_f64(), value as f64)?;
            short_form_is_near(span.to_string().parse::<Span>().unwrap().as_nanos() as f64, value as f64)?;
        }
    }

    #[test]
    fn whole_binary_units_print_as_such(count in 1u64..1000, power in 1u32..5) {
        let unit = ["KiB", "MiB", "GiB", "TiB"][power as usize - 1];
        let value = Bytes::new(count << (10 * power));
        prop_assert_eq!(value.to_string(), format!("{count} {unit}"));
    }

    #[test]
    fn counts_and_percentages_print_and_read(count in 0u64..1_000_000_000_000_000, share in 0u32..=100_000_000) {
        let count = Iops::new(count as f64 / 1000.0).unwrap();
        exact_form_reads_back(count)?;
        short_form_is_near(count.to_string().parse::<Iops>().unwrap().get(), count.get())?;
        let share = Percent::new(f64::from(share) / 1e6).unwrap();
        exact_form_reads_back(share)?;
        short_form_is_near(share.to_string().parse::<Percent>().unwrap().get(), share.get())?;
    }
}

#[cfg(feature = "serde")]
mod serde {
    use super::*;

    #[test]
    fn text_and_bare_integers_are_read_text_is_written() {
        assert_eq!(serde_json::from_str::<Bytes>("4096").unwrap(), Bytes::kib(4));
        assert_eq!(serde_json::from_str::<Bytes>("\"4KiB\"").unwrap(), Bytes::kib(4));
        assert_eq!(serde_json::from_str::<Iops>("3000").unwrap().get(), 3000.0);
        assert_eq!(serde_json::to_string(&Rate::new(593_750_000)).unwrap(), "\"593.75MB/s\"");
        for text in ["-1", "true", "null", "\"4K\""] {
            assert!(serde_json::from_str::<Bytes>(text).is_err(), "{text}");
        }
        // A number alone does not say its unit.
        assert!(serde_json::from_str::<Span>("5").is_err());
        assert!(serde_json::from_str::<Rate>("5").is_err());
        assert!(serde_json::from_str::<Percent>("5").is_err());
    }
}
