//! Vendors' formulas as data: "3 IOPS per GiB, at least 100, at most 16,000" and tables by size, evaluated by one
//! function.

use fathom_units::{Bytes, Iops, Rate};
use serde::Deserialize;

use crate::figure::{Figure, Quantity, figures};

/// One row: under its conditions, `base + per_gib * GiB + per_iops * IOPS`, then raised to `min`, then cut to `max`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule<T> {
    /// Applies to volumes up to this size.
    pub size_up_to: Option<Figure<Bytes>>,
    /// Applies to volumes with up to this many IOPS.
    pub iops_up_to: Option<Figure<Iops>>,
    pub base: Option<Figure<T>>,
    pub per_gib: Option<Figure<T>>,
    pub per_iops: Option<Figure<T>>,
    pub min: Option<Figure<T>>,
    pub max: Option<Figure<T>>,
}

figures!(Rule<T>: size_up_to, iops_up_to, base, per_gib, per_iops, min, max);

/// A quantity that rules compute.
pub(crate) trait Amount: Quantity {
    /// Whether rules for it may refer to the volume's IOPS.
    const FOLLOWS_IOPS: bool;

    fn amount(&self) -> f64;
    fn show_amount(amount: f64) -> String;
}

impl Amount for Iops {
    const FOLLOWS_IOPS: bool = false;

    fn amount(&self) -> f64 {
        self.get()
    }

    fn show_amount(amount: f64) -> String {
        Self::new(amount.floor()).map_or_else(|| amount.to_string(), |iops| iops.show())
    }
}

impl Amount for Rate {
    const FOLLOWS_IOPS: bool = true;

    fn amount(&self) -> f64 {
        self.as_f64()
    }

    fn show_amount(amount: f64) -> String {
        Self::from_f64(amount).map_or_else(|| amount.to_string(), |rate| rate.to_string())
    }
}

/// What the first row that applies gives, per second; nothing if there is no row. `iops` is what the volume has.
pub(crate) fn evaluate<T: Amount>(rows: &[Rule<T>], size: Bytes, iops: f64) -> Option<f64> {
    let row = rows.iter().find(|row| {
        row.size_up_to.as_ref().is_none_or(|bound| size <= bound.value)
            && row.iops_up_to.as_ref().is_none_or(|bound| iops <= bound.value.get())
    })?;
    let amount = |figure: &Option<Figure<T>>| figure.as_ref().map(|figure| figure.value.amount());
    let term = |figure: &Option<Figure<T>>, factor: f64| amount(figure).unwrap_or(0.0) * factor;
    let sum = term(&row.base, 1.0) + term(&row.per_gib, size.as_gib()) + term(&row.per_iops, iops);
    Some(sum.max(amount(&row.min).unwrap_or(0.0)).min(amount(&row.max).unwrap_or(f64::INFINITY)))
}

/// What is wrong with a table of rules, if anything.
pub(crate) fn problem<T: Amount>(rows: &[Rule<T>]) -> Option<&'static str> {
    let last = rows.last()?;
    if last.size_up_to.is_some() || last.iops_up_to.is_some() {
        return Some("the last row must apply to every size: leave size_up_to and iops_up_to out of it");
    }
    for row in rows {
        if row.base.is_none() && row.per_gib.is_none() && row.per_iops.is_none() {
            return Some("a row needs base, per_gib or per_iops");
        }
        if !T::FOLLOWS_IOPS && (row.per_iops.is_some() || row.iops_up_to.is_some()) {
            return Some("per_iops and iops_up_to are for throughput: IOPS can not follow from themselves");
        }
        let (min, max) = (row.min.as_ref(), row.max.as_ref());
        if min.zip(max).is_some_and(|(min, max)| min.value.amount() > max.value.amount()) {
            return Some("min is above max");
        }
    }
    None
}

/// The rules as sentences.
pub(crate) fn in_words<T: Amount>(rows: &[Rule<T>]) -> String {
    let sentence = |row: &Rule<T>| {
        let mut parts = Vec::new();
        let mut add = |figure: &Option<Figure<T>>, text: &dyn Fn(String) -> String| {
            parts.extend(figure.as_ref().map(|figure| text(figure.value.show())));
        };
        add(&row.base, &|value| value);
        add(&row.per_gib, &|value| format!("{value} per GiB"));
        add(&row.per_iops, &|value| format!("{value} per IOPS"));
        let mut text = parts.join(" plus ");
        let clamps = [("at least", &row.min), ("at most", &row.max)];
        for (word, figure) in clamps.iter().filter_map(|(word, figure)| Some((word, figure.as_ref()?))) {
            text += &format!(", {word} {}", figure.value.show());
        }
        match (&row.size_up_to, &row.iops_up_to) {
            (Some(size), _) => format!("up to {}: {text}", size.value.show()),
            (None, Some(iops)) => format!("up to {}: {text}", iops.value.show()),
            (None, None) if rows.len() > 1 => format!("above: {text}"),
            (None, None) => text,
        }
    };
    rows.iter().map(sentence).collect::<Vec<_>>().join("; ")
}
