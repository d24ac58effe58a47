//! What a device can do, learned from its own completions: what a request costs it, and how much fills it.

use fathom_runtime::Nanos;

/// What a request costs, in parts of a small request ([`SMALL`] parts are one).
pub type Cost = u64;

/// The cost of a request that moves next to nothing.
pub const SMALL: Cost = 1024;

/// Figures from the settings, used instead of what is learned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stated {
    /// I/Os per second; one is counted for every started 256 KiB.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub throughput: Option<f64>,
    /// Device time on its way that fills the device, ns.
    pub window: Option<Nanos>,
}

/// An I/O is counted for every started piece of this many bytes.
const QUANTUM: u64 = 256 << 10;
/// Bytes that cost as much as the request that moves them, until something else is known.
const USUAL: f64 = 65_536.0;
/// Completions of one sample of the device's pace: at least, and at most.
const SAMPLE: [u32; 2] = [16, 128];
/// What is kept of earlier samples.
const KEPT: f64 = 0.98;
/// How much the usual ratio counts beside what was seen: as much as the samples scatter around what is known, and between
/// these bounds. Next to nothing, but it decides where all requests are alike.
const PRIOR: [f64; 2] = [1e-4, 2.0];
/// What is taken of the ratio of samples that differ.
const LEARNED: f64 = 0.05;
/// What is taken of a sample's scatter.
const SCATTER: f64 = 0.05;
/// The device is busy from this part of the window on: it holds some more than what fills the device.
const BUSY: f64 = 0.75;
/// A window holds at least so much, and at most.
const LEAST: f64 = (2 * SMALL) as f64;
const MOST: f64 = (512 * SMALL) as f64;
/// A request that is this many times as slow as one on an idle device has queued: with users about, and without.
const PATIENCE: [f64; 2] = [1.5, 3.0];
/// Step of the tracked median, relative.
const STEP: f64 = 0.03;
const SIZES: usize = 12;

/// A completed request.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Whether it wrote.
    pub write: bool,
    /// Its bytes.
    pub bytes: u64,
    /// What it was taken to cost.
    pub cost: Cost,
    /// What was on its way to the device when it was sent, without it.
    pub before: Cost,
    /// Send to completion, ns.
    pub latency: Nanos,
}

/// A sample of the device's pace while it was full.
#[derive(Debug, Default, Clone, Copy)]
struct PaceSample {
    begun: Nanos,
    count: u32,
    bytes: f64,
}

/// What is known of a device.
#[derive(Debug)]
pub struct Device {
    stated: Stated,
    /// By direction and size: the median latency on an idle device, ns; 0 if not known.
    idle: [[f64; SIZES]; 2],
    window: f64,
    sample: Option<PaceSample>,
    /// Sums of n n, n x, x x, n t, x t over the samples; x is bytes in units of [`USUAL`].
    sums: [f64; 5],
    /// Device time of a request and of [`USUAL`] bytes, ns; 0 if not known.
    per_io: f64,
    per_usual: f64,
    /// What [`USUAL`] bytes cost beside a request, as samples that told have shown it.
    ratio: f64,
    /// Mean square of what the samples took beyond what was known, ns squared.
    scatter: Option<f64>,
}

impl Device {
    /// Nothing is known but what is stated.
    pub fn new(stated: Stated) -> Self {
        Self {
            stated,
            idle: [[0.0; SIZES]; 2],
            window: 4.0 * SMALL as f64,
            sample: None,
            sums: [0.0; 5],
            per_io: 0.0,
            per_usual: 0.0,
            ratio: 1.0,
            scatter: None,
        }
    }

    fn states(&self) -> bool {
        self.stated.iops.is_some() || self.stated.throughput.is_some()
    }

    /// Device time of a small request, ns; 0 if not known.
    pub fn small(&self) -> f64 {
        if self.states() {
            let by_bytes = self.stated.throughput.map_or(0.0, |throughput| 4096e9 / throughput);
            return self.stated.iops.map_or(0.0, |iops| 1e9 / iops).max(by_bytes);
        }
        if self.per_io > 0.0 {
            return self.per_io;
        }
        // By Little's law: what fills the device passes it within the latency of an idle one.
        let idle = self.idle.iter().flatten().copied().filter(|idle| *idle > 0.0).fold(f64::MAX, f64::min);
        if idle < f64::MAX { idle * SMALL as f64 / self.window } else { 0.0 }
    }

    /// Device time of a cost, ns; 0 if not known.
    pub fn time(&self, cost: Cost) -> f64 {
        cost as f64 / SMALL as f64 * self.small()
    }

    /// What a request of so many bytes costs, at least 1.
    pub fn cost(&self, bytes: u64) -> Cost {
        let small = SMALL as f64;
        let cost = if self.states() {
            let pieces = bytes.div_ceil(QUANTUM).max(1) as f64;
            let by_count = self.stated.iops.map_or(0.0, |iops| pieces * 1e9 / iops);
            let by_bytes = self.stated.throughput.map_or(0.0, |throughput| bytes as f64 * 1e9 / throughput);
            small * by_count.max(by_bytes) / self.small()
        } else {
            let ratio = if self.per_io > 0.0 { self.per_usual / self.per_io } else { self.ratio };
            small * (1.0 + ratio * bytes as f64 / USUAL)
        };
        (cost as Cost).max(1)
    }

    /// What may be on its way before the device counts as full.
    pub fn window(&self) -> Cost {
        match self.stated.window {
            Some(window) if self.small() > 0.0 => {
                let stated = window as f64 * SMALL as f64 / self.small();
                (if self.states() { stated } else { stated.min(self.window) }) as Cost
            }
            _ => self.window as Cost,
        }
    }

    /// Learns from a request; `left` is what is still on its way, and `mixed` whether that is of users and background work.
    pub fn learn(&mut self, done: Done, left: Cost, mixed: bool, users_about: bool, now: Nanos) {
        self.learn_window(done, users_about);
        self.learn_cost(done, left, mixed, now);
    }

    /// The window grows while what fills it does not queue, and shrinks while it does. What was sent beyond it, or long
    /// before it was full, says nothing about it.
    fn learn_window(&mut self, done: Done, users_about: bool) {
        let size = (done.bytes.max(4096).ilog2() as usize - 12).min(SIZES - 1);
        let idle = &mut self.idle[usize::from(done.write)][size];
        let latency = (done.latency as f64).max(1.0);
        if done.before == 0 || (done.before + done.cost) as f64 <= self.window / 4.0 {
            *idle = match *idle {
                0.0 => latency,
                known if latency > known => known * (1.0 + STEP),
                known => known / (1.0 + STEP),
            };
        }
        let fills = (done.before as f64) < self.window && (done.before + done.cost) as f64 >= self.window;
        if *idle > 0.0 && fills && done.before > 0 {
            let step = done.cost.max(SMALL) as f64 / 8.0;
            let queued = latency > *idle * PATIENCE[usize::from(!users_about)];
            let next = if queued { self.window - step } else { self.window + step };
            self.window = next.clamp(LEAST, MOST);
        } else if *idle > 0.0 && fills && latency <= *idle * PATIENCE[0] {
            // One alone that fills it by its size.
            self.window = (self.window + SMALL as f64 / 8.0).min(MOST);
        }
    }

    /// While the device is full, its time passes with what it completes: least squares over samples of some completions,
    /// for one request's time is often charged to the next. A sample ends while requests of one kind are on their way: a
    /// large one whose time is in this sample, and whose completion is in the next, makes large ones look cheap.
    fn learn_cost(&mut self, done: Done, left: Cost, mixed: bool, now: Nanos) {
        // A device that has nothing left was or will be idle: the time that passes is not all its own.
        let full = left > 0 && (left + done.cost) as f64 >= BUSY * self.window;
        match &mut self.sample {
            Some(sample) => {
                sample.count += 1;
                sample.bytes += done.bytes as f64 / USUAL;
                if sample.count >= SAMPLE[usize::from(mixed)] {
                    let sample = *sample;
                    self.take(sample, now);
                    self.sample = full.then(|| PaceSample { begun: now, ..PaceSample::default() });
                } else if !full {
                    self.sample = None;
                }
            }
            None if full => self.sample = Some(PaceSample { begun: now, ..PaceSample::default() }),
            None => {}
        }
    }

    fn take(&mut self, sample: PaceSample, now: Nanos) {
        let (n, x, t) = (f64::from(sample.count), sample.bytes, now.saturating_sub(sample.begun) as f64);
        if self.per_io > 0.0 {
            let square = (t - self.per_io * n - self.per_usual * x).powi(2);
            let before = self.scatter.unwrap_or(square);
            self.scatter = Some(before + SCATTER * (square - before));
        }
        for (sum, new) in self.sums.iter_mut().zip([n * n, n * x, x * x, n * t, x * t]) {
            *sum = *sum * KEPT + new;
        }
        let [nn, nx, xx, nt, xt] = self.sums;
        let unit = nt / (nn + nx).max(1.0);
        let [least, most] = PRIOR;
        let prior =
            self.scatter.map_or(most, |scatter| (scatter / (unit * unit).max(1.0)).clamp(least, most));
        let (a11, a12, a22) = (nn + prior * self.ratio * self.ratio, nx - prior * self.ratio, xx + prior);
        let determinant = a11 * a22 - a12 * a12;
        if determinant <= 0.0 {
            return;
        }
        let per_io = (nt * a22 - xt * a12) / determinant;
        let per_usual = (xt * a11 - nt * a12) / determinant;
        // Neither is free: where the fit says so, the other one takes the rest.
        let floor = 0.05 * unit;
        if per_io < floor {
            (self.per_io, self.per_usual) = (floor, ((xt - floor * nx) / xx.max(1e-9)).max(0.0));
        } else if per_usual < 0.0 {
            (self.per_io, self.per_usual) = (nt / nn, 0.0);
        } else {
            (self.per_io, self.per_usual) = (per_io, per_usual);
        }
        // Requests that are all alike tell nothing of the ratio: what others have told before counts then.
        let told = 1.0 - nx * nx / (nn * xx).max(1e-9);
        self.ratio += LEARNED * told * (self.per_usual / self.per_io - self.ratio);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::{Device, Done, SMALL, Stated};

    /// A device that does one request after the other in `io + bytes * byte` ns, each seen `latency` later, fed by one who
    /// keeps it full.
    fn feed(device: &mut Device, io: u64, per_kib: u64, latency: u64, sizes: &[u64], requests: usize) {
        let (mut now, mut free, mut on_way) = (0_u64, 0_u64, 0_u64);
        let mut queue: VecDeque<(u64, Done, u64)> = VecDeque::new();
        for index in 0..requests {
            while on_way >= device.window() && !queue.is_empty() {
                let (ends, done, sent) = queue.pop_front().expect("it is not empty");
                now = now.max(ends);
                on_way -= done.cost;
                device.learn(Done { latency: now - sent, ..done }, on_way, false, true, now);
            }
            let bytes = sizes[index % sizes.len()];
            let cost = device.cost(bytes);
            free = free.max(now) + io + bytes / 1024 * per_kib;
            let done = Done { write: false, bytes, cost, before: on_way, latency: 0 };
            queue.push_back((free + latency, done, now));
            on_way += cost;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever the device's speed and latency, the window comes to fill it, and not to much more.
        #[test]
        fn the_window_fills_the_device_and_little_more(io in 5_000..500_000_u64, fits in 2..64_u64) {
            let mut device = Device::new(Stated::default());
            let latency = io * fits;
            feed(&mut device, io, 0, latency, &[8192], 20_000);
            let window = device.window() as f64 / device.cost(8192) as f64;
            let filled = (latency + io) as f64 / io as f64;
            prop_assert!(window >= 0.9 * filled.min(512.0 / 1.2), "{window} requests, {filled} fill it");
            prop_assert!(window <= 2.0 * filled + 3.0, "{window} requests, {filled} fill it");
        }
    }

    #[test]
    fn the_cost_of_bytes_is_learned() {
        // 333 us a request and 2 ms for 256 KiB: a cloud volume of 3,000 IOPS and 125 MiB/s.
        let mut device = Device::new(Stated::default());
        let mut sizes = vec![8192; 40];
        sizes.extend([262_144; 8]);
        feed(&mut device, 280_000, 6_700, 1_000_000, &sizes, 20_000);
        let ratio = device.cost(262_144) as f64 / device.cost(8192) as f64;
        let truth = (280.0 + 256.0 * 6.7) / (280.0 + 8.0 * 6.7);
        assert!((ratio / truth - 1.0).abs() < 0.1, "{ratio} instead of {truth}");
        assert!((device.small() / 280_000.0 - 1.0).abs() < 0.1, "{} ns", device.small());
    }

    #[test]
    fn what_bytes_cost_is_kept_while_all_requests_are_alike() {
        // A volume that counts requests and not bytes: without pages and large requests beside each other nothing shows it.
        let mut device = Device::new(Stated::default());
        let sizes = [[8192; 40].as_slice(), &[262_144; 8]].concat();
        feed(&mut device, 62_500, 0, 500_000, &sizes, 20_000);
        assert!(device.cost(262_144) < 2 * SMALL, "{} parts", device.cost(262_144));
        feed(&mut device, 62_500, 0, 500_000, &[8192], 20_000);
        assert!(device.cost(262_144) < 2 * SMALL, "{} parts", device.cost(262_144));
    }

    #[test]
    fn what_is_stated_counts() {
        let stated = Stated { iops: Some(1000.0), throughput: Some(64e6), window: Some(4_000_000) };
        let mut device = Device::new(stated);
        feed(&mut device, 5_000, 0, 100_000, &[8192], 1000);
        assert_eq!((device.cost(8192), device.cost(128_000)), (SMALL, 2 * SMALL));
        assert_eq!(device.window(), 4 * SMALL);
    }
}
