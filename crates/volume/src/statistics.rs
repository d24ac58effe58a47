//! What a seam counts: requests, bytes, errors, sizes, latency, waiting time, outstanding I/O.

use std::cell::{Cell, RefCell};

use fathom_runtime::Nanos;
use hdrhistogram::Histogram;

use crate::recorder::Recorder;
use crate::request::Kind;

/// Sizes are counted exactly in steps of this many bytes, up to [`LARGEST_COUNTED`].
pub const SIZE_STEP: u64 = 512;
const LARGEST_COUNTED: u64 = 4 << 20;

/// Counters of one kind of request since the last reset.
#[derive(Debug, Clone)]
pub struct KindStatistics {
    /// Requests completed.
    pub count: u64,
    /// Bytes of completed requests.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Latency of completed requests, ns.
    pub latency: Histogram<u64>,
    /// Sum of latencies, ns; exact, where the histogram has three digits.
    pub latency_sum: u64,
    /// Waiting time of those completed requests that waited at all, ns.
    pub waiting: Histogram<u64>,
    /// Sum of waiting times, ns.
    pub waiting_sum: u64,
    /// Requests by size: entry i counts lengths in (512 (i - 1), 512 i]; the last also counts all larger ones.
    pub sizes: Vec<u64>,
}

/// The percentiles in results, with their names; the last ones need many requests.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

impl KindStatistics {
    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency_sum += other.latency_sum;
        self.waiting_sum += other.waiting_sum;
        self.latency += &other.latency;
        self.waiting += &other.waiting;
        add_sizes(&mut self.sizes, &other.sizes);
    }

    /// Mean latency in ns; None without completed requests.
    pub fn latency_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.latency_sum as f64 / self.count as f64)
    }

    /// Latency at a quantile in ns; None without completed requests.
    pub fn latency_at(&self, quantile: f64) -> Option<f64> {
        (self.count > 0).then(|| self.latency.value_at_quantile(quantile) as f64)
    }

    /// How many completed requests took at most each of these times, ns, to the width of the histogram's buckets. Each count begins
    /// at zero: a bucket that lies across a bound is in both of the spans beside it.
    pub fn within(&self, bounds: &[u64]) -> Vec<u64> {
        bounds.iter().map(|bound| self.latency.count_between(0, *bound)).collect()
    }

    /// Mean waiting time in ns, of all completed requests; None without any.
    pub fn waiting_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.waiting_sum as f64 / self.count as f64)
    }
}

fn add_sizes(own: &mut Vec<u64>, other: &[u64]) {
    if own.len() < other.len() {
        own.resize(other.len(), 0);
    }
    own.iter_mut().zip(other).for_each(|(own, theirs)| *own += theirs);
}

// What is counted while requests run: the same as KindStatistics, in the form that is fastest to write.
#[derive(Default)]
struct Counters {
    bytes: u64,
    errors: u64,
    latency: Recorder,
    latency_sum: u64,
    waiting: Recorder,
    waiting_sum: u64,
    sizes: Vec<u64>,
}

impl Counters {
    #[inline]
    fn record(&mut self, length: u64, latency: Nanos, waiting: Nanos) {
        self.bytes += length;
        self.latency_sum += latency;
        self.latency.record(latency);
        if waiting > 0 {
            self.waiting_sum += waiting;
            self.waiting.record(waiting);
        }
        let step = length.min(LARGEST_COUNTED).div_ceil(SIZE_STEP) as usize;
        match self.sizes.get_mut(step) {
            Some(count) => *count += 1,
            None => self.record_larger(step),
        }
    }

    #[cold]
    fn record_larger(&mut self, step: usize) {
        self.sizes.resize(step + 1, 0);
        self.sizes[step] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency_sum += other.latency_sum;
        self.waiting_sum += other.waiting_sum;
        self.latency.add(&other.latency);
        self.waiting.add(&other.waiting);
        add_sizes(&mut self.sizes, &other.sizes);
    }

    fn clear(&mut self) {
        (self.bytes, self.errors, self.latency_sum, self.waiting_sum) = (0, 0, 0, 0);
        self.latency.clear();
        self.waiting.clear();
        self.sizes.fill(0);
    }

    fn statistics(&self) -> KindStatistics {
        KindStatistics {
            count: self.latency.total(),
            bytes: self.bytes,
            errors: self.errors,
            latency: self.latency.histogram(),
            latency_sum: self.latency_sum,
            waiting: self.waiting.histogram(),
            waiting_sum: self.waiting_sum,
            sizes: self.sizes.clone(),
        }
    }
}

/// Everything counted over a span.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Length of the span, ns.
    pub span: Nanos,
    /// By [`Kind::ALL`]; None for kinds that were never asked.
    pub kinds: [Option<KindStatistics>; 5],
    /// Mean number of requests outstanding over the span.
    pub outstanding_mean: f64,
    /// Most requests outstanding at once.
    pub outstanding_max: u64,
    /// Longest time in which requests were outstanding and none ended, ns; one that is not over counts until the end of the span.
    pub standstill: Nanos,
}

impl Snapshot {
    /// The counters of one kind.
    pub fn kind(&self, kind: Kind) -> Option<&KindStatistics> {
        self.kinds[kind as usize].as_ref()
    }
}

/// The counters of one seam, or of a workload that times its own requests. Only their owner writes them; anyone may
/// read.
///
/// There are two sets: of the current interval, and of the whole since [`Statistics::restart`].
#[derive(Default)]
pub struct Statistics {
    interval: RefCell<[Option<Box<Counters>>; 5]>,
    total: RefCell<[Option<Box<Counters>>; 5]>,
    outstanding: Cell<u64>,
    interval_use: Cell<OutstandingIntegral>,
    total_use: Cell<OutstandingIntegral>,
}

/// The longest time in which something was outstanding and nothing ended.
#[derive(Debug, Default, Clone, Copy)]
pub struct Standstill {
    // When something ended last, or began while nothing was outstanding.
    since: Nanos,
    longest: Nanos,
}

impl Standstill {
    /// From `now` on, whatever is outstanding.
    pub fn starting(now: Nanos) -> Self {
        Self { since: now, longest: 0 }
    }

    /// Something begins, besides so many outstanding.
    #[inline]
    pub fn begin(&mut self, now: Nanos, outstanding: u64) {
        if outstanding == 0 {
            self.since = now;
        }
    }

    /// Something ends.
    #[inline]
    pub fn end(&mut self, now: Nanos) {
        self.longest = self.longest.max(now.saturating_sub(self.since));
        self.since = now;
    }

    /// The longest until `now`, with so many outstanding.
    pub fn until(self, now: Nanos, outstanding: u64) -> Nanos {
        if outstanding == 0 { self.longest } else { self.longest.max(now.saturating_sub(self.since)) }
    }
}

// Outstanding requests over a span: the integral over time, the most, and the longest standstill.
#[derive(Default, Clone, Copy)]
struct OutstandingIntegral {
    since: Nanos,
    changed: Nanos,
    area: u128,
    max: u64,
    standstill: Standstill,
}

impl OutstandingIntegral {
    fn advance(&mut self, now: Nanos, outstanding: u64) {
        self.area += u128::from(outstanding) * u128::from(now - self.changed);
        self.changed = now;
    }
}

impl Statistics {
    /// A request begins; `now` never goes back.
    #[inline]
    pub fn begin(&self, now: Nanos) {
        let outstanding = self.outstanding.get();
        let mut usage = self.interval_use.get();
        usage.advance(now, outstanding);
        usage.max = usage.max.max(outstanding + 1);
        usage.standstill.begin(now, outstanding);
        self.interval_use.set(usage);
        self.outstanding.set(outstanding + 1);
    }

    /// A request that began ends, whatever came of it.
    #[inline]
    pub fn end(&self, now: Nanos) {
        let outstanding = self.outstanding.get();
        let mut usage = self.interval_use.get();
        usage.advance(now, outstanding);
        usage.standstill.end(now);
        self.interval_use.set(usage);
        self.outstanding.set(outstanding - 1);
    }

    /// Counts a completed request with its latency and the part of it that was waiting time, ns.
    #[inline(always)]
    pub fn completed(&self, kind: Kind, length: u64, latency: Nanos, waiting: Nanos) {
        let slot = &mut self.interval.borrow_mut()[kind as usize];
        slot.get_or_insert_default().record(length, latency, waiting);
    }

    /// Counts an operation that was timed elsewhere, from `start` to `end` in ns; calls come in the order of their ends.
    pub fn observe(&self, kind: Kind, length: u64, start: Nanos, end: Nanos) {
        self.begin(start);
        self.end(end);
        self.completed(kind, length, end - start, 0);
    }

    /// Counts a failed request.
    pub fn failed(&self, kind: Kind) {
        let slot = &mut self.interval.borrow_mut()[kind as usize];
        slot.get_or_insert_default().errors += 1;
    }

    /// Requests outstanding now.
    pub fn outstanding(&self) -> u64 {
        self.outstanding.get()
    }

    /// Forgets everything counted so far: the measured phase begins at `now`.
    pub fn restart(&self, now: Nanos) {
        self.interval.borrow_mut().iter_mut().flatten().for_each(|kind| kind.clear());
        self.total.borrow_mut().iter_mut().flatten().for_each(|kind| kind.clear());
        let usage = OutstandingIntegral {
            since: now,
            changed: now,
            area: 0,
            max: self.outstanding.get(),
            standstill: Standstill::starting(now),
        };
        self.interval_use.set(usage);
        self.total_use.set(usage);
    }

    /// Ends the interval at `now`: returns what it counted and begins the next.
    pub fn interval(&self, now: Nanos) -> Snapshot {
        let outstanding = self.outstanding.get();
        let mut usage = self.interval_use.get();
        usage.advance(now, outstanding);
        let mut total_use = self.total_use.get();
        total_use.area += usage.area;
        total_use.max = total_use.max.max(usage.max);
        let standstill = usage.standstill.until(now, outstanding);
        total_use.standstill.longest = total_use.standstill.longest.max(standstill);
        self.total_use.set(total_use);
        // A standstill goes on over the end of an interval.
        let standing = Standstill { longest: 0, ..usage.standstill };
        self.interval_use.set(OutstandingIntegral {
            since: now,
            changed: now,
            area: 0,
            max: outstanding,
            standstill: standing,
        });

        let mut intervals = self.interval.borrow_mut();
        let mut totals = self.total.borrow_mut();
        let kinds = std::array::from_fn(|index| {
            let interval = intervals[index].as_mut()?;
            let snapshot = interval.statistics();
            totals[index].get_or_insert_default().add(interval);
            interval.clear();
            Some(snapshot)
        });
        snapshot_of(kinds, usage, standstill, now)
    }

    /// Everything counted since the restart, up to the end of the last interval.
    pub fn total(&self, now: Nanos) -> Snapshot {
        self.interval(now);
        let kinds = self.total.borrow().each_ref().map(|kind| kind.as_deref().map(Counters::statistics));
        let usage = self.total_use.get();
        snapshot_of(kinds, usage, usage.standstill.longest, now)
    }
}

fn snapshot_of(
    kinds: [Option<KindStatistics>; 5],
    usage: OutstandingIntegral,
    standstill: Nanos,
    now: Nanos,
) -> Snapshot {
    let span = now - usage.since;
    let outstanding_mean = if span == 0 { 0.0 } else { usage.area as f64 / span as f64 };
    Snapshot { span, kinds, outstanding_mean, outstanding_max: usage.max, standstill }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Statistics};

    #[test]
    fn intervals_add_up_to_the_total_and_outstanding_is_weighted_by_time() {
        let statistics = Statistics::default();
        statistics.restart(100);
        statistics.begin(100);
        statistics.begin(150);
        statistics.end(200);
        statistics.completed(Kind::Write, 4096, 50, 10);
        let first = statistics.interval(200);
        assert_eq!(first.outstanding_max, 2);
        assert!((first.outstanding_mean - 1.5).abs() < 1e-9);
        statistics.end(300);
        statistics.completed(Kind::Write, 512, 200, 0);
        let total = statistics.total(300);
        let writes = total.kind(Kind::Write).expect("writes were counted");
        assert_eq!((writes.count, writes.bytes, writes.latency_sum, writes.waiting_sum), (2, 4608, 250, 10));
        assert_eq!((writes.sizes[1], writes.sizes[8]), (1, 1));
        assert!((total.outstanding_mean - 1.25).abs() < 1e-9);
        assert!(total.kind(Kind::Read).is_none());
    }

    #[test]
    fn no_request_counts_twice_within_bounds() {
        let bounds = [1_000, 100_000, 5_000_000];
        for bound in bounds {
            let statistics = Statistics::default();
            statistics.completed(Kind::Read, 512, bound + 1, 0);
            let total = statistics.total(1);
            let found = total.kind(Kind::Read).expect("one was counted").within(&bounds);
            assert!(found.is_sorted() && found.iter().all(|count| *count <= 1), "{bound}: {found:?}");
        }
    }

    #[test]
    fn a_standstill_needs_something_outstanding_and_goes_on_over_intervals() {
        let statistics = Statistics::default();
        statistics.restart(0);
        // Idle until 100, busy until 130, idle until 500, then two requests of which one never ends.
        statistics.begin(100);
        statistics.end(130);
        assert_eq!(statistics.interval(400).standstill, 30);
        statistics.begin(500);
        statistics.begin(510);
        statistics.end(520);
        assert_eq!(statistics.interval(600).standstill, 80, "from the last end on, which is not over");
        assert_eq!(statistics.interval(700).standstill, 180, "it began before this interval");
        assert_eq!(statistics.total(800).standstill, 280);
        statistics.restart(900);
        assert_eq!(statistics.total(950).standstill, 50, "what was before the restart does not count");
    }

    #[test]
    fn a_restart_forgets_the_ramp() {
        let statistics = Statistics::default();
        statistics.begin(0);
        statistics.end(10);
        statistics.completed(Kind::Read, 512, 10, 0);
        statistics.restart(50);
        assert_eq!(statistics.total(60).kind(Kind::Read).expect("the kind is known").count, 0);
    }
}
