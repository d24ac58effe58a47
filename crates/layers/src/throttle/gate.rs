//! The decisions of a throttle: when each request may start. Knows no task; first come, first served.

use fathom_runtime::Nanos;
use fathom_volume::Kind;

use super::Limits;
use super::bucket::Meter;

/// How many sequential streams are followed at once when small requests are merged.
const STREAMS: usize = 16;

/// A request at the gate.
#[derive(Debug, Clone, Copy)]
pub struct GateRequest {
    /// Which volume it is for: ranges of different volumes have nothing to do with each other.
    pub volume: u64,
    /// Its kind.
    pub kind: Kind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// Requests that continue each other while they wait count as one I/O.
#[derive(Debug, Clone, Copy)]
struct Tail {
    volume: u64,
    kind: Kind,
    end: u64,
    // Bytes of the stream so far; how far into an I/O they reach decides what the next bytes cost.
    length: u64,
    // When its last request starts.
    start: Nanos,
}

/// Limits at work.
#[derive(Debug)]
pub struct Gate {
    iops: Option<Meter>,
    bytes: Option<Meter>,
    quantum: u64,
    tails: Option<Vec<Tail>>,
    oldest: usize,
    last: Nanos,
    merged: u64,
}

impl Gate {
    /// A gate with its buckets as the limits say.
    pub fn new(limits: &Limits) -> Self {
        let meter = |allowance: &super::Allowance| Meter::new(allowance, limits.slack);
        Self {
            iops: limits.iops.as_ref().map(meter),
            bytes: limits.bytes.as_ref().map(meter),
            quantum: limits.quantum.unwrap_or(u64::MAX),
            tails: limits.merge.then(|| Vec::with_capacity(STREAMS)),
            oldest: 0,
            last: 0,
            merged: 0,
        }
    }

    /// Lets a request that arrives at `now` through: the instant at which it starts, not before those that came earlier.
    #[inline]
    pub fn admit(&mut self, now: Nanos, ask: GateRequest) -> Nanos {
        let (operations, follows) = self.operations(now, ask);
        let bytes = if ask.kind == Kind::WriteZeroes { 0 } else { ask.length };
        let mut start = now.max(self.last);
        // Each limit counts by itself: a request that waits for bytes takes its I/Os when they allow it, or small and large
        // requests together would reach neither limit.
        for (meter, cost) in [(&mut self.iops, operations), (&mut self.bytes, bytes)] {
            if let Some(meter) = meter.as_mut().filter(|_| cost > 0) {
                start = start.max(meter.take(now, cost));
            }
        }
        self.last = start;
        if self.tails.is_some() {
            self.remember(follows, ask, start);
        }
        start
    }

    /// What the request costs in I/Os, and the stream it continues.
    #[inline]
    fn operations(&mut self, now: Nanos, ask: GateRequest) -> (u64, Option<usize>) {
        let alone = ask.length.div_ceil(self.quantum).max(1);
        let Some(tails) = &self.tails else { return (alone, None) };
        // Only what still waits can be merged with: a request that has started is gone.
        let follows = tails.iter().position(|tail| {
            tail.end == ask.offset && tail.start >= now && tail.kind == ask.kind && tail.volume == ask.volume
        });
        let Some(index) = follows else { return (alone, None) };
        let before = tails[index].length;
        let further = (before + ask.length).div_ceil(self.quantum) - before.div_ceil(self.quantum);
        self.merged += u64::from(further == 0);
        (further, follows)
    }

    fn remember(&mut self, follows: Option<usize>, ask: GateRequest, start: Nanos) {
        let Some(tails) = &mut self.tails else { return };
        let before = follows.map_or(0, |index| tails[index].length);
        let GateRequest { volume, kind, offset, length } = ask;
        let tail = Tail { volume, kind, end: offset + length, length: before + length, start };
        match follows {
            Some(index) => tails[index] = tail,
            None if tails.len() < STREAMS => tails.push(tail),
            None => {
                tails[self.oldest] = tail;
                self.oldest = (self.oldest + 1) % STREAMS;
            }
        }
    }

    /// Requests that cost no I/O of their own because they continued one that waited.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// Credits left, of I/Os and of bytes, once everything let through has started; None without a burst.
    pub fn credits(&self, now: Nanos) -> [Option<u64>; 2] {
        let at = now.max(self.last);
        [&self.iops, &self.bytes].map(|meter| meter.as_ref().and_then(|meter| meter.credits(at)))
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MILLISECOND, SECOND};
    use fathom_volume::Kind;
    use proptest::prelude::*;

    use super::super::{Allowance, Burst, Limits};
    use super::{Gate, GateRequest};

    const KIB: u64 = 1 << 10;

    fn ask(offset: u64, length: u64) -> GateRequest {
        GateRequest { volume: 0, kind: Kind::Read, offset, length }
    }

    /// Starts of requests that all arrive at 0.
    fn starts(limits: &Limits, asks: impl IntoIterator<Item = GateRequest>) -> Vec<u64> {
        let mut gate = Gate::new(limits);
        asks.into_iter().map(|ask| gate.admit(0, ask)).collect()
    }

    fn limits(iops: f64, bytes: f64) -> Limits {
        Limits { iops: Some(Allowance::of(iops)), bytes: Some(Allowance::of(bytes)), ..Limits::default() }
    }

    #[test]
    fn the_tighter_of_both_limits_holds() {
        // 1,000 IOPS and 8 MB/s: 8,000 bytes take 1 ms by both, 16,000 bytes 2 ms by bytes.
        let asks = [ask(0, 800), ask(0, 16_000), ask(0, 800), ask(0, 800)];
        let starts: [u64; 4] = starts(&limits(1000.0, 8e6), asks).try_into().expect("four are four");
        // To the nanosecond that a bucket keeps above its size.
        assert_eq!(starts.map(|at| (at + 500) / 1000), [0, 1000, 2100, 3000]);
    }

    #[test]
    fn a_mix_of_sizes_that_both_limits_allow_is_let_through() {
        // 3,000 IOPS and 125 MiB/s; 2,000 small and 240 large requests a second use 75 % and 60 % of them.
        let mut gate = Gate::new(&limits(3000.0, 131_072_000.0));
        let (mut longest, mut at) = (0, 0);
        for index in 0..20_000_u64 {
            at += SECOND / 2240;
            let length = if index % 9 == 0 { 256 * KIB } else { 8 * KIB };
            longest = longest.max(gate.admit(at, ask(0, length)) - at);
        }
        assert!(longest < 10 * MILLISECOND, "{longest}");
    }

    #[test]
    fn a_large_request_counts_once_per_quantum() {
        let limits = Limits { bytes: None, quantum: Some(256 * KIB), ..limits(1000.0, 1.0) };
        let asks = [ask(0, 256 * KIB), ask(0, 257 * KIB), ask(0, 1024 * KIB), ask(0, 512)];
        let expected = [0, 1, 3, 7].map(|ms| ms * MILLISECOND);
        assert_eq!(starts(&limits, asks), expected);
    }

    #[test]
    fn sequential_requests_that_wait_are_one_io_up_to_the_quantum() {
        let limits = Limits { bytes: None, quantum: Some(32 * KIB), merge: true, ..limits(1000.0, 1.0) };
        let sequential = |offset: u64| (0..8).map(move |index| ask(offset + index * 8 * KIB, 8 * KIB));
        let expected: Vec<u64> = [0, 0, 0, 0, 1, 1, 1, 1].map(|ms| ms * MILLISECOND).to_vec();
        assert_eq!(starts(&limits, sequential(0)), expected);
        // Two streams at once, each four requests of one I/O; another kind or another volume continues nothing.
        let both = sequential(0).zip(sequential(1 << 30)).take(4).flat_map(|(a, b)| [a, b]);
        assert_eq!(starts(&limits, both), [0, 1, 1, 1, 1, 1, 1, 1].map(|ms| ms * MILLISECOND));
        let other = [
            ask(0, 4096),
            GateRequest { kind: Kind::Write, ..ask(4096, 4096) },
            GateRequest { volume: 1, ..ask(4096, 4096) },
        ];
        assert_eq!(starts(&limits, other), [0, MILLISECOND, 2 * MILLISECOND]);
        // One at a time there is nothing to merge with.
        let mut gate = Gate::new(&limits);
        let alone: Vec<u64> = (0..4).map(|index| gate.admit(index * 1000, ask(index * 4096, 4096))).collect();
        assert_eq!(alone, [0, MILLISECOND, MILLISECOND, MILLISECOND]);
        assert_eq!(gate.merged(), 2);
    }

    #[test]
    fn a_gp2_volume_of_100_gib_bursts_for_2000_s_and_refills_in_18000() {
        let burst = Burst { per_second: 3000.0, credits: 5.4e6, initial: 5.4e6 };
        let iops = Allowance { per_second: 300.0, burst: Some(burst) };
        let mut gate = Gate::new(&Limits { iops: Some(iops), ..Limits::default() });
        let mut by_second = vec![0_u32; 2100];
        loop {
            let second = (gate.admit(0, ask(0, 8192)) / SECOND) as usize;
            if second >= by_second.len() {
                break;
            }
            by_second[second] += 1;
        }
        assert!(by_second[..1999].iter().all(|count| *count == 3000), "3,000 a second while credits last");
        assert!(
            by_second[2001..].iter().all(|count| (299..=301).contains(count)),
            "{:?}",
            &by_second[1999..2005]
        );
        let spent = 2100 * SECOND;
        assert_eq!(gate.credits(spent)[0], Some(0));
        let refilled = gate.credits(spent + 18_000 * SECOND)[0].expect("there is a burst");
        assert!((5_399_000..=5_400_000).contains(&refilled), "{refilled}");
        assert_eq!(gate.credits(1 << 60)[0], Some(5_400_000), "the bucket has a size");
    }

    proptest! {
        #[test]
        fn nobody_overtakes_and_nobody_starts_before_arriving(
            arrivals in prop::collection::vec((0..3_000_000_u64, 0..64_u64, 1..300_u64), 1..60),
            merge in any::<bool>(), slack in 0..10_000_000_u64,
        ) {
            let limits = Limits { quantum: Some(64 * KIB), merge, slack, ..limits(1000.0, 50e6) };
            let mut gate = Gate::new(&limits);
            let (mut now, mut last) = (0, 0);
            for (gap, slot, sectors) in arrivals {
                now += gap;
                let start = gate.admit(now, ask(slot * 4096, sectors * 512));
                prop_assert!(start >= now && start >= last);
                last = start;
            }
        }
    }
}
