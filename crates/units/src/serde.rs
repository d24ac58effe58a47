//! The units in settings: read from text, or from a bare integer where the type alone gives the unit; written as text
//! in the exact form, so that people and this crate can read it.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::{Bytes, Iops, Percent, Rate, Span, UnitError};

/// Reads a text with `FromStr`; passes a bare number on as its text, so that both meet the same rules.
struct TextOrNumber<T> {
    expected: &'static str,
    quantity: PhantomData<T>,
}

impl<T: FromStr<Err = UnitError>> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! as_text {
    ($($quantity:ty: $expected:literal),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextOrNumber { expected: $expected, quantity: PhantomData })
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&format_args!("{self:#}"))
            }
        }
    )*};
}

as_text!(
    Bytes: "a size such as \"64KiB\" or a number of bytes",
    Iops: "a count per second such as 3000 or \"3000/s\"",
    Percent: "a percentage such as \"2%\"",
    Rate: "a throughput such as \"125MiB/s\"",
    Span: "a length of time such as \"250us\""
);
