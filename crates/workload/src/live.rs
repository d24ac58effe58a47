//! What a person sees of a run while it goes on: the figures of its last interval, in a line of words.

use std::fmt::Write as _;

use fathom_runtime::SECOND;
use fathom_volume::Snapshot;

/// What is counted, and per how many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Requests per second.
    Iops,
    /// Rows per second.
    Rows,
    /// Transactions per minute.
    PerMinute,
}

/// Rate, mean latency, mean number outstanding and, where there are any, errors.
pub fn figures(seen: &Snapshot, rate: Rate) -> String {
    let kinds = || seen.kinds.iter().flatten();
    let (count, errors): (u64, u64) =
        (kinds().map(|kind| kind.count).sum(), kinds().map(|kind| kind.errors).sum());
    let per_second = count as f64 * SECOND as f64 / seen.span.max(1) as f64;
    let mut words = match rate {
        Rate::Iops => format!("{} IOPS", grouped(per_second)),
        Rate::Rows => format!("{} rows/s", grouped(per_second)),
        Rate::PerMinute => format!("{} transactions/min", grouped(per_second * 60.0)),
    };
    if count > 0 {
        let sum: u64 = kinds().map(|kind| kind.latency_sum).sum();
        let _ = write!(words, ", {} ms", short(sum as f64 / count as f64 / 1e6));
    }
    let _ = write!(words, ", {} outstanding", short(seen.outstanding_mean));
    if errors > 0 {
        let _ = write!(words, ", {} error{}", grouped(errors as f64), if errors == 1 { "" } else { "s" });
    }
    words
}

/// A whole number with a comma between thousands.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits, or all before the point.
fn short(number: f64) -> String {
    let digits = match number {
        n if n < 1.0 => 3,
        n if n < 10.0 => 2,
        n if n < 100.0 => 1,
        _ => return grouped(number),
    };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;
    use fathom_volume::{Kind, Statistics};

    use super::{Rate, figures, grouped};

    #[test]
    fn an_interval_in_words() {
        let statistics = Statistics::default();
        statistics.restart(0);
        for _ in 0..1_500 {
            statistics.completed(Kind::Read, 8_192, 420_000, 0);
        }
        let seen = statistics.interval(SECOND / 2);
        assert_eq!(figures(&seen, Rate::Iops), "3,000 IOPS, 0.42 ms, 0 outstanding");
        assert_eq!(figures(&seen, Rate::PerMinute), "180,000 transactions/min, 0.42 ms, 0 outstanding");
    }

    #[test]
    fn errors_are_told_and_an_idle_interval_has_no_latency() {
        let statistics = Statistics::default();
        statistics.restart(0);
        statistics.failed(Kind::Write);
        assert_eq!(figures(&statistics.interval(SECOND), Rate::Rows), "0 rows/s, 0 outstanding, 1 error");
    }

    #[test]
    fn thousands_are_kept_apart() {
        assert_eq!([0.0, 999.4, 1000.0, 1_234_567.0].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
