//! A figure is a value with its source. The type makes a figure without a source impossible to load.

use fathom_units::{Bytes, Iops, Percent, Rate, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// `{ value = 16000, source = "guide", note = "…" }`; an assumed latency or shape may have `range = [low, high]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure<T> {
    pub value: T,
    pub source: Spanned<String>,
    pub note: Option<String>,
    /// What else is plausible where the value is assumed.
    pub range: Option<[T; 2]>,
}

impl<T: Copy> Figure<T> {
    /// The value, or an end of its range; the value where it has no range.
    pub(crate) fn at(&self, assumed: Assumed) -> T {
        match (assumed, self.range) {
            (Assumed::Low, Some([low, _])) => low,
            (Assumed::High, Some([_, high])) => high,
            _ => self.value,
        }
    }
}

impl<T: Copy + Quantity> Figure<T> {
    /// The figure among the assumptions of a model, if it has a range.
    pub(crate) fn assumption(&self, name: &'static str) -> Option<Assumption> {
        let [low, high] = self.range?;
        Some(Assumption { name, value: self.value.show(), low: low.show(), high: high.show() })
    }
}

/// Which value of a range is taken where a figure is assumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Assumed {
    /// The low end: fast, close to the mean, and with limits that let bursts through.
    Low,
    /// The value itself.
    #[default]
    Typical,
    /// The high end: slow, with a long tail.
    High,
}

/// An assumed figure with its plausible range, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// What is assumed: `assumed_read`, `assumed_write`, `assumed_shape` or `assumed_slack`.
    pub name: &'static str,
    /// The usual value.
    pub value: String,
    /// The low end of the range.
    pub low: String,
    /// The high end.
    pub high: String,
}

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// The vendor's own documentation or data sheet.
    Vendor,
    /// A publication with a method.
    Paper,
    /// A third party's page.
    Blog,
    /// Not published: an assumption, with its reason.
    Assumption,
}

/// One entry of `[[sources]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub id: Spanned<String>,
    pub title: String,
    pub kind: SourceKind,
    #[serde(rename = "where")]
    pub place: Option<String>,
    pub date: Option<String>,
    pub reason: Option<String>,
}

impl Source {
    /// What the entry lacks, if anything: a published source has an address and a date, a guess has a reason.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        match self.kind {
            SourceKind::Assumption if !given(&self.reason) => {
                Some("reason = \"why this value\"; an assumption without a reason is a made-up figure")
            }
            SourceKind::Assumption => None,
            _ if !given(&self.place) => Some("where = \"the address or the publication\""),
            _ if !self.date.as_deref().is_some_and(is_date) => {
                Some("date = \"2026-11\", when the source said so, or \"read 2026-11\" if it bears no date")
            }
            _ => None,
        }
    }
}

/// YYYY, YYYY-MM or YYYY-MM-DD; after "read " for a source that bears no date of its own.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.strip_prefix("read ").unwrap_or(text).split('-').collect();
    let number = |part: &str, digits: usize, most: u32| {
        part.len() == digits && part.parse().is_ok_and(|n: u32| (1..=most).contains(&n))
    };
    match parts[..] {
        [year] => number(year, 4, 9999),
        [year, month] => number(year, 4, 9999) && number(month, 2, 12),
        [year, month, day] => number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31),
        _ => false,
    }
}

/// One figure as text, for explanations and for checking its source.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub key: String,
    pub value: String,
    pub source: Spanned<String>,
    pub note: Option<String>,
    pub range: Option<(String, String)>,
}

/// Anything that holds figures and can list them all, each under its dotted key.
pub(crate) trait Figures {
    fn figures(&self, key: &str, lines: &mut Vec<Line>);
}

impl<T: Quantity> Figures for Figure<T> {
    fn figures(&self, key: &str, lines: &mut Vec<Line>) {
        let (source, note) = (self.source.clone(), self.note.clone());
        let range = self.range.as_ref().map(|[low, high]| (low.show(), high.show()));
        lines.push(Line { key: key.to_owned(), value: self.value.show(), source, note, range });
    }
}

impl<F: Figures> Figures for Option<F> {
    fn figures(&self, key: &str, lines: &mut Vec<Line>) {
        if let Some(inner) = self {
            inner.figures(key, lines);
        }
    }
}

impl<F: Figures> Figures for Vec<F> {
    fn figures(&self, key: &str, lines: &mut Vec<Line>) {
        for (i, item) in self.iter().enumerate() {
            let key = if self.len() == 1 { key.to_owned() } else { format!("{key}[{i}]") };
            item.figures(&key, lines);
        }
    }
}

/// Lists the fields of a struct that hold figures.
macro_rules! figures {
    ($type:ident $(<$param:ident>)? : $($field:ident),+ $(,)?) => {
        impl $(<$param: $crate::figure::Quantity>)? $crate::figure::Figures for $type $(<$param>)? {
            fn figures(&self, key: &str, lines: &mut Vec<$crate::figure::Line>) {
                $(self.$field.figures(&format!("{key}.{}", stringify!($field)), lines);)+
            }
        }
    };
}
pub(crate) use figures;

/// A value that a figure can have.
pub(crate) trait Quantity {
    /// The value in full, with its unit.
    fn show(&self) -> String;
}

impl Quantity for Bytes {
    fn show(&self) -> String {
        spaced(&format!("{self:#}"))
    }
}

impl Quantity for Rate {
    /// Binary where it is a whole number of binary units, otherwise MB/s as vendors write it: 1,187.5 MB/s.
    fn show(&self) -> String {
        let short = self.to_string();
        if short.contains("iB") { short } else { format!("{} MB/s", grouped(self.as_f64() / 1e6)) }
    }
}

impl Quantity for Span {
    fn show(&self) -> String {
        let nanoseconds = self.as_nanos() as f64;
        match self.as_nanos() {
            1_000..1_000_000 => format!("{} us", nanoseconds / 1e3),
            1_000_000..1_000_000_000 => format!("{} ms", nanoseconds / 1e6),
            _ => spaced(&format!("{self:#}")),
        }
    }
}

impl Quantity for Percent {
    fn show(&self) -> String {
        format!("{self:#}")
    }
}

impl Quantity for Iops {
    fn show(&self) -> String {
        format!("{} IOPS", grouped(self.get()))
    }
}

impl Quantity for u32 {
    fn show(&self) -> String {
        grouped(f64::from(*self))
    }
}

impl Quantity for u64 {
    fn show(&self) -> String {
        grouped(*self as f64)
    }
}

impl Quantity for f64 {
    fn show(&self) -> String {
        grouped(*self)
    }
}

impl Quantity for bool {
    fn show(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

/// "16TiB" as "16 TiB".
fn spaced(text: &str) -> String {
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

/// A number with commas between groups of three digits: 12,288.
pub(crate) fn grouped(number: f64) -> String {
    let text = number.to_string();
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_for_reading() {
        for (number, text) in
            [(0.0, "0"), (100.0, "100"), (12288.0, "12,288"), (5.4e6, "5,400,000"), (1234.5, "1,234.5")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn values_are_shown_in_full_with_their_unit() {
        let rate = |text: &str| text.parse::<Rate>().unwrap().show();
        assert_eq!(
            (rate("1187.5MB/s"), rate("0.25MiB/s")),
            ("1,187.5 MB/s".to_owned(), "256 KiB/s".to_owned())
        );
        assert_eq!("300GB".parse::<Bytes>().unwrap().show(), "300 GB");
        let span = |text: &str| text.parse::<Span>().unwrap().show();
        assert_eq!(
            (span("81.6us"), span("8.33ms"), span("30min")),
            ("81.6 us".into(), "8.33 ms".into(), "30 min".into())
        );
    }

    #[test]
    fn dates_are_years_months_or_days() {
        assert!(["2026", "2026-11", "2026-11-30", "read 2026-11"].iter().all(|date| is_date(date)));
        assert!(
            ["", "26", "2026-13", "2026-11-32", "2026-11-3", "November 2026", "2026-11-30-1"]
                .iter()
                .all(|date| !is_date(date))
        );
    }
}
