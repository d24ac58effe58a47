//! From one value to one type: what each type accepts, and its error for anything else.

use std::str::FromStr;

use fathom_units::{Bytes, Iops, Percent, Rate, Span, UnitError};

use crate::suggest::did_you_mean;
use crate::value::{Data, Value};

/// What is wrong with a value, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do; empty if the message says it all.
    pub help: String,
}

impl Problem {
    /// A problem.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// A type that can be read from one value.
pub trait FromValue: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// If the value is of another kind or out of range.
    fn from_value(value: &Value) -> Result<Self, Problem>;

    /// The volume it refers to, if it does; a section collects them.
    fn reference(&self) -> Option<&str> {
        None
    }
}

/// A type with a closed list of words, written as a text.
pub trait Choice: Copy + 'static {
    /// The words, as written in settings, with their values.
    const CHOICES: &'static [(&'static str, Self)];
}

impl<T: Choice> FromValue for T {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        let words = || T::CHOICES.iter().map(|(word, _)| *word);
        let Data::Text(text) = &value.data else {
            let listed: Vec<String> = words().map(|word| format!("\"{word}\"")).collect();
            return Err(Problem::new(
                format!("expected a word, found {}", value.kind()),
                format!("one of {}", listed.join(", ")),
            ));
        };
        let found = T::CHOICES.iter().find(|(word, _)| word == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            Problem::new(format!("{value} is not one of its choices"), did_you_mean(text, "choices", words()))
        })
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        match value.data {
            Data::Boolean(value) => Ok(value),
            _ => Err(Problem::new(
                format!("expected true or false, found {}", value.kind()),
                "write true or false, without quotes",
            )),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        let text = value.as_text().ok_or_else(|| {
            Problem::new(format!("expected a text, found {}", value.kind()), "texts need double quotes")
        });
        text.map(str::to_owned)
    }
}

fn whole(value: &Value) -> Result<i64, Problem> {
    let wrong = |help: &str| Problem::new(format!("expected a whole number, found {}", value.kind()), help);
    match &value.data {
        Data::Integer(number) => Ok(*number),
        Data::Float(number) if number.fract() == 0.0 => Err(wrong("leave out the fraction and the exponent")),
        Data::Text(text) if text.parse::<i64>().is_ok() => Err(wrong("leave out the quotes")),
        _ => Err(wrong("write it like 1_000, without quotes")),
    }
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl FromValue for $number {
            fn from_value(value: &Value) -> Result<Self, Problem> {
                let number = whole(value)?;
                Self::try_from(number).map_err(|_| {
                    let range = if number < 0 { "it must not be negative".to_owned() } else { format!("at most {}", Self::MAX) };
                    Problem::new(format!("{number} is out of range"), range)
                })
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, u64, usize, i64);

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        match &value.data {
            Data::Integer(number) => Ok(*number as Self),
            Data::Float(number) if number.is_finite() => Ok(*number),
            Data::Float(_) => Err(Problem::new(format!("{value} is no measure"), "write a finite number")),
            Data::Text(text) if text.parse::<Self>().is_ok() => {
                Err(Problem::new("expected a number, found a text", "leave out the quotes"))
            }
            _ => Err(Problem::new(
                format!("expected a number, found {}", value.kind()),
                "write it like 0.7, without quotes",
            )),
        }
    }
}

/// A quantity with its unit: a text, or a bare number where the type alone gives the unit.
fn quantity<T: FromStr<Err = UnitError>>(value: &Value) -> Result<T, Problem> {
    let text = match &value.data {
        Data::Text(text) => text.clone(),
        Data::Integer(number) => number.to_string(),
        Data::Float(number) => format!("{number:?}"),
        _ => {
            // An unreadable text makes the type say what it expects.
            let expected = "?".parse::<T>().err();
            let (what, example) =
                expected.map_or(("a quantity", String::new()), |error| (error.expected, error.example));
            return Err(Problem::new(
                format!("expected {what}, found {}", value.kind()),
                format!("write it like \"{example}\""),
            ));
        }
    };
    text.parse().map_err(|error: UnitError| {
        let help = format!("write it like \"{}\"", error.example);
        let whole = error.to_string();
        let message = whole.strip_suffix(&help).map_or(whole.as_str(), |rest| rest.trim_end_matches("; "));
        Problem::new(message, help)
    })
}

macro_rules! quantities {
    ($($quantity:ty),*) => {$(
        impl FromValue for $quantity {
            fn from_value(value: &Value) -> Result<Self, Problem> {
                quantity(value)
            }
        }
    )*};
}

quantities!(Bytes, Iops, Percent, Rate, Span);

/// The name of a volume of these settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeName(pub String);

impl FromValue for VolumeName {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        match &value.data {
            Data::Text(name) if !name.is_empty() => Ok(Self(name.clone())),
            _ => Err(Problem::new(
                format!(
                    "expected the name of a volume, found {}",
                    if value.as_text().is_some() { "an empty text" } else { value.kind() }
                ),
                "write the name of a [volumes.NAME] table in double quotes",
            )),
        }
    }

    fn reference(&self) -> Option<&str> {
        Some(&self.0)
    }
}
