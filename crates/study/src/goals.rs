//! `[goals]`: limits on metrics, such as `latency_p99_ms = "< 5ms"`.

use fathom_settings::{Path, Position, Problem, Section};
use serde_json::{Value, json};

use crate::reading::expected;

const HELP: &str = "write a comparison and a number, such as \"< 5ms\" or \">= 3000\"";

/// Longest first: `<=` begins with `<`.
const COMPARISONS: &[&str] = &["<=", ">=", "<", ">"];

/// Units that a limit may have, each with what one of it is in the metric's own unit, by the end of the metric's name; the
/// first end that fits holds. A bare number is in the metric's own unit.
const UNITS: &[(&str, &[(&str, f64)])] = &[
    ("mb_per_s", &[("MB/s", 1.0), ("MiB/s", 1.048_576), ("GB/s", 1e3)]),
    ("_per_second", &[("/s", 1.0)]),
    ("iops", &[("/s", 1.0), ("IOPS", 1.0)]),
    ("_percent", &[("%", 1.0)]),
    ("_ms", &[("us", 1e-3), ("ms", 1.0), ("s", 1e3)]),
    ("_mb", &[("MB", 1.0)]),
    ("_s", &[("ms", 1e-3), ("s", 1.0), ("min", 60.0)]),
];

/// The goals; their metrics are judged later, where those of the workload are known.
#[derive(Debug, Default)]
pub(crate) struct Goals {
    /// Name, path and place of every metric.
    pub metrics: Vec<(String, Path, Position)>,
    /// Metric, comparison, limit in the metric's own unit, and the text as written.
    pub json: Vec<Value>,
}

/// Reads `[goals]`.
pub(crate) fn read(root: &mut Section<'_>) -> Goals {
    let Some(mut section) = root.section("goals") else { return Goals::default() };
    let Goals { mut metrics, json: mut goals } = Goals::default();
    for entry in section.entries() {
        let path = section.path().join(&entry.key);
        let read = match entry.value.as_text() {
            Some(text) => limit(&entry.key, text).map(|found| (text.trim(), found)),
            None => Err(expected("a text", &entry.value, HELP)),
        };
        match read {
            Ok((text, (comparison, limit))) => goals
                .push(json!({ "metric": entry.key, "comparison": comparison, "limit": limit, "text": text })),
            Err(problem) => section.refuse(entry.value.position, &path, problem),
        }
        metrics.push((entry.key.clone(), path, entry.position));
    }
    if metrics.is_empty() {
        section
            .error("it has no goal", "add one, such as latency_p99_ms = \"< 5ms\", or leave the table out");
    }
    let _ = section.finish();
    Goals { metrics, json: goals }
}

/// Comparison and limit, in the metric's own unit.
fn limit(metric: &str, text: &str) -> Result<(&'static str, f64), Problem> {
    let said = text.escape_debug();
    let mut split = COMPARISONS.iter().filter_map(|word| Some((*word, text.trim().strip_prefix(word)?)));
    let Some((comparison, limit)) = split.next() else {
        return Err(Problem::new(format!("\"{said}\" does not begin with <, <=, > or >="), HELP));
    };
    let limit = limit.trim();
    if limit.starts_with('-') {
        return Err(Problem::new(format!("\"{said}\" has a limit below zero"), HELP));
    }
    let end = limit.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(limit.len());
    let (number, unit) = (&limit[..end], limit[end..].trim());
    let Some(number) = number.parse::<f64>().ok().filter(|number| number.is_finite()) else {
        return Err(Problem::new(format!("\"{said}\" has no number"), HELP));
    };
    let units = UNITS.iter().find(|(name, _)| metric.ends_with(name)).map_or(&[][..], |(_, units)| units);
    if unit.is_empty() {
        return Ok((comparison, number));
    }
    if let Some((_, factor)) = units.iter().find(|(known, _)| *known == unit) {
        return Ok((comparison, number * factor));
    }
    let known: Vec<&str> = units.iter().map(|(known, _)| *known).collect();
    let help = match &known[..] {
        [] => format!("`{metric}` is a bare number"),
        _ => format!("units of `{metric}`: {}", known.join(", ")),
    };
    Err(Problem::new(format!("the unit \"{}\" does not fit", unit.escape_debug()), help))
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn a_limit_below_zero_is_told_as_such() {
        assert!(
            limit("latency_p99_ms", "< -5ms").expect_err("it is negative").message.contains("below zero")
        );
    }

    #[test]
    fn a_limit_is_a_comparison_a_number_and_a_unit_that_fits() {
        for (metric, text, comparison, number) in [
            ("latency_p99_ms", "< 5ms", "<", 5.0),
            ("latency_p99_ms", "<=250us", "<=", 0.25),
            ("iops", ">= 3000", ">=", 3000.0),
            ("iops", "> 3000/s", ">", 3000.0),
            ("write_mb_per_s", "> 1.5GB/s", ">", 1500.0),
            ("mb_per_s", ">100 MiB/s", ">", 104.8576),
            ("planned_stop_s", "< 2min", "<", 120.0),
            ("errors", "<= 0", "<=", 0.0),
        ] {
            let (found, value) = limit(metric, text).expect(text);
            assert_eq!(found, comparison, "{metric} {text}");
            assert!((value - number).abs() < 1e-9, "{metric} {text}: {value}");
        }
        for (metric, text) in [
            ("latency_p99_ms", "5ms"),
            ("latency_p99_ms", "= 5ms"),
            ("latency_p99_ms", "< ms"),
            ("latency_p99_ms", "< -1ms"),
            ("latency_p99_ms", "< 1.2.3ms"),
            ("latency_p99_ms", "< 5MB/s"),
            ("errors", "< 5ms"),
            ("iops", ">= 3k"),
            ("iops", ""),
        ] {
            assert!(limit(metric, text).is_err(), "{metric} {text}");
        }
    }
}
