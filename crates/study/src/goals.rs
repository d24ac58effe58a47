//! `[goals]`: limits that metrics have to keep, such as `latency_p99_ms = "< 5ms"`.

use fathom_settings::{Path, Place, Problem, Section};

use crate::study::expected;

const HELP: &str = "write a comparison and a number, such as \"< 5ms\" or \">= 3000\"";

/// Longest first: `<=` begins with `<`.
const COMPARISONS: &[&str] = &["<=", ">=", "<", ">"];

/// Units that a limit may have, by the end of its metric's name; the first end that fits holds. A bare number is in the
/// metric's own unit. `python/fathom/goals.py` converts them.
const UNITS: &[(&str, &[&str])] = &[
    ("mb_per_s", &["MB/s", "MiB/s", "GB/s"]),
    ("_per_second", &["/s"]),
    ("iops", &["/s", "IOPS"]),
    ("_percent", &["%"]),
    ("_ms", &["us", "ms", "s"]),
    ("_mb", &["MB"]),
    ("_s", &["ms", "s", "min"]),
];

/// Reads `[goals]`: name, path and place of every metric; judged later, where the metrics of the workload are known.
pub(crate) fn read(root: &mut Section<'_>) -> Vec<(String, Path, Place)> {
    let Some(mut section) = root.section("goals") else { return Vec::new() };
    let mut metrics = Vec::new();
    for entry in section.entries() {
        let path = section.path().join(&entry.key);
        let problem = match entry.value.as_text() {
            Some(text) => check(&entry.key, text).err(),
            None => Some(expected("a text", &entry.value, HELP)),
        };
        if let Some(problem) = problem {
            section.refuse(entry.value.place, &path, problem);
        }
        metrics.push((entry.key.clone(), path, entry.place));
    }
    if metrics.is_empty() {
        section
            .error("it has no goal", "add one, such as latency_p99_ms = \"< 5ms\", or leave the table out");
    }
    let _ = section.finish();
    metrics
}

fn check(metric: &str, text: &str) -> Result<(), Problem> {
    let said = text.escape_debug();
    let limit = COMPARISONS.iter().find_map(|comparison| text.trim().strip_prefix(comparison));
    let Some(limit) = limit else {
        return Err(Problem::new(format!("\"{said}\" does not begin with <, <=, > or >="), HELP));
    };
    let limit = limit.trim();
    let end = limit.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(limit.len());
    let (number, unit) = (&limit[..end], limit[end..].trim());
    if !number.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(Problem::new(format!("\"{said}\" has no number"), HELP));
    }
    let units = UNITS.iter().find(|(name, _)| metric.ends_with(name)).map_or(&[][..], |(_, units)| units);
    if unit.is_empty() || units.contains(&unit) {
        return Ok(());
    }
    let help = match units {
        [] => format!("`{metric}` is a bare number"),
        _ => format!("units of `{metric}`: {}", units.join(", ")),
    };
    Err(Problem::new(format!("the unit \"{}\" does not fit", unit.escape_debug()), help))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_limit_is_a_comparison_a_number_and_a_unit_that_fits() {
        for (metric, limit) in [
            ("latency_p99_ms", "< 5ms"),
            ("latency_p99_ms", "<=250us"),
            ("iops", ">= 3000"),
            ("iops", "> 3000/s"),
            ("write_mb_per_s", "> 1.5GB/s"),
            ("planned_stop_s", "< 2min"),
            ("errors", "<= 0"),
        ] {
            assert!(check(metric, limit).is_ok(), "{metric} {limit}");
        }
        for (metric, limit) in [
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
            assert!(check(metric, limit).is_err(), "{metric} {limit}");
        }
    }
}
