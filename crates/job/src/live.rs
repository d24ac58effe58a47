//! Live figures of a run: its last interval as one line of text.

use std::fmt::Write as _;

use fathom_runtime::SECOND;
use fathom_volume::Snapshot;

/// What is counted, and per how many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Requests per second.
    Iops,
    /// Transactions per minute.
    PerMinute,
}

/// The last interval of a run. It is formatted only when it is shown, and once: histograms are large, and a
/// simulation cuts thousands of intervals between two ticks.
pub struct Live {
    rate: Rate,
    last: Option<Snapshot>,
    words: String,
}

impl Live {
    /// Nothing was seen yet.
    pub fn new(rate: Rate) -> Self {
        Self { rate, last: None, words: String::new() }
    }

    /// An interval is over.
    pub fn saw(&mut self, interval: Snapshot) {
        self.last = Some(interval);
    }

    /// The figures of the last interval; empty before its end.
    pub fn words(&mut self) -> &str {
        if let Some(last) = self.last.take() {
            self.words = figures(&last, self.rate);
        }
        &self.words
    }
}

/// Rate, mean latency and p99 of all kinds of requests, mean number outstanding and, where there are any, errors.
fn figures(seen: &Snapshot, rate: Rate) -> String {
    let kinds = || seen.kinds.iter().flatten();
    let (count, errors): (u64, u64) =
        (kinds().map(|kind| kind.count).sum(), kinds().map(|kind| kind.errors).sum());
    let per_second = count as f64 * SECOND as f64 / seen.span.max(1) as f64;
    let mut words = match rate {
        Rate::Iops => format!("{} IOPS", grouped(per_second)),
        Rate::PerMinute => format!("{} transactions/min", grouped(per_second * 60.0)),
    };
    if count > 0 {
        let sum: u64 = kinds().map(|kind| kind.latency_sum).sum();
        let mut latency = kinds().filter(|kind| kind.count > 0).map(|kind| &kind.latency);
        let mut all = latency.next().expect("some kind has requests").clone();
        latency.for_each(|other| all += other);
        let (mean, p99) = (sum as f64 / count as f64, all.value_at_quantile(0.99) as f64);
        let _ = write!(words, ", mean {}, p99 {}", latency_words(mean), latency_words(p99));
    }
    let _ = write!(words, ", {} outstanding", short(seen.outstanding_mean));
    if errors > 0 {
        let _ = write!(words, ", {} error{}", grouped(errors as f64), if errors == 1 { "" } else { "s" });
    }
    words
}

/// In milliseconds; what is shorter than a tenth of one in microseconds.
fn latency_words(ns: f64) -> String {
    if ns < 1e5 { format!("{} us", short(ns / 1e3)) } else { format!("{} ms", short(ns / 1e6)) }
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

    use super::{Live, Rate, grouped};

    fn words(statistics: &Statistics, now: u64, rate: Rate) -> String {
        let mut live = Live::new(rate);
        live.saw(statistics.interval(now));
        live.words().to_owned()
    }

    #[test]
    fn an_interval_in_words() {
        let statistics = Statistics::default();
        statistics.restart(0);
        for _ in 0..1_470 {
            statistics.completed(Kind::Read, 8_192, 400_000, 0);
        }
        for _ in 0..30 {
            statistics.completed(Kind::Write, 8_192, 12_000_000, 0);
        }
        // p99 is over reads and writes together: 2 % of all are slow.
        let said = "3,000 IOPS, mean 0.632 ms, p99 12 ms, 0 outstanding";
        assert_eq!(words(&statistics, SECOND / 2, Rate::Iops), said);
        statistics.completed(Kind::Read, 0, 1_250, 0);
        let said = "1 IOPS, mean 1.25 us, p99 1.25 us, 0 outstanding";
        assert_eq!(words(&statistics, SECOND * 3 / 2, Rate::Iops), said);
        statistics.completed(Kind::Write, 0, 150_000_000, 0);
        let said = "60 transactions/min, mean 150 ms, p99 150 ms, 0 outstanding";
        assert_eq!(words(&statistics, SECOND * 5 / 2, Rate::PerMinute), said);
    }

    #[test]
    fn errors_are_told_and_an_idle_interval_has_no_latency() {
        let statistics = Statistics::default();
        statistics.restart(0);
        statistics.failed(Kind::Write);
        assert_eq!(words(&statistics, SECOND, Rate::Iops), "0 IOPS, 0 outstanding, 1 error");
    }

    #[test]
    fn nothing_is_said_before_the_first_interval_ends_and_the_last_words_stay() {
        let statistics = Statistics::default();
        statistics.restart(0);
        let mut live = Live::new(Rate::Iops);
        assert_eq!(live.words(), "");
        live.saw(statistics.interval(SECOND));
        assert_eq!(live.words(), "0 IOPS, 0 outstanding");
        assert_eq!(live.words(), "0 IOPS, 0 outstanding");
    }

    #[test]
    fn thousands_are_kept_apart() {
        assert_eq!([0.0, 999.4, 1000.0, 1_234_567.0].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
