//! What the users of an `io` workload do: plain data, read from settings and presets elsewhere.

use fathom_runtime::{Nanos, SECOND};

use fathom_job::draw::{Arrivals, Sizes};
use fathom_job::kind::{Demand, Request};

/// Which volumes a worker uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One: workers take the volumes by turns.
    One,
    /// All: each request draws its volume.
    All,
}

/// Where requests go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AddressPattern {
    /// Anywhere, all blocks alike.
    Random,
    /// One after the other, each worker through a region of its own.
    Sequential,
    /// One after the other, all workers of a volume from one place.
    SharedSequential,
    /// By Zipf's law with this exponent; popular blocks are scattered.
    Zipf(f64),
    /// A share of the requests to a share of the space, at its start; both from 0 to 1.
    HotSpot {
        /// Share of the requests that go to the hot space.
        requests: f64,
        /// Share of the space that is hot.
        space: f64,
    },
}

/// How long a user of a closed loop waits between the end of a request and the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Not at all.
    None,
    /// Always that long, ns.
    Constant(Nanos),
    /// Exponentially distributed with that mean, ns.
    Exponential(Nanos),
}

/// What makes requests start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: a user starts a request when the last one has ended and the think time is over.
    Closed(Think),
    /// Open loop: requests arrive whatever becomes of the others. Latency counts from the arrival.
    Open {
        /// Arrivals per second, all workers together.
        rate: f64,
        /// How they are spread around that rate.
        arrivals: Arrivals,
        /// Arrivals that may wait for a place; more are refused and counted.
        backlog: u32,
    },
}

/// What the users of a workload, or of one phase of it, do.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Groups of users; a group has its own sequential region.
    pub workers: u32,
    /// Users per worker: in a closed loop each has one request outstanding, in an open loop at most one.
    pub outstanding: u32,
    /// Which volumes a worker uses.
    pub spread: Spread,
    /// Share of reads, 0 to 1. What is neither read nor trim is a write.
    pub read: f64,
    /// Share of trims, 0 to 1.
    pub trim: f64,
    /// Sizes of reads.
    pub read_sizes: Sizes,
    /// Sizes of writes and trims.
    pub write_sizes: Sizes,
    /// Where requests go.
    pub places: AddressPattern,
    /// Offsets are multiples of this; None: of the smallest size.
    pub align: Option<u64>,
    /// First byte used.
    pub start: u64,
    /// Bytes used from there; None: to the end of the volume.
    pub length: Option<u64>,
    /// Where `length` is None: the most that is used, as a preset's area, which a smaller volume need not hold.
    pub most: Option<u64>,
    /// A flush after that many writes of a worker; 0: never.
    pub flush_every: u32,
    /// Writes carry the FUA flag: durable on completion.
    pub fua: bool,
    /// What makes requests start.
    pub pace: Pace,
}

impl Default for Profile {
    /// One user who reads 4 KiB at random.
    fn default() -> Self {
        Self {
            workers: 1,
            outstanding: 1,
            spread: Spread::One,
            read: 1.0,
            trim: 0.0,
            read_sizes: Sizes::fixed(4096),
            write_sizes: Sizes::fixed(4096),
            places: AddressPattern::Random,
            align: None,
            start: 0,
            length: None,
            most: None,
            flush_every: 0,
            fua: false,
            pace: Pace::Closed(Think::None),
        }
    }
}

impl Profile {
    /// Users of all workers together.
    pub fn users(&self) -> u32 {
        self.workers.saturating_mul(self.outstanding)
    }

    /// How much they ask for.
    pub fn demand(&self) -> Demand {
        match self.pace {
            Pace::Open { rate, .. } => Demand::Open(rate),
            Pace::Closed(think) => {
                Demand::Closed { users: self.users().into(), pauses: think != Think::None }
            }
        }
    }

    /// What a request is: each kind, and all together. `before` is put in front of the kind.
    pub fn requests(&self, before: &str) -> Vec<(String, Request)> {
        let kinds = [("read", self.read, &self.read_sizes), ("write", self.write(), &self.write_sizes)];
        // Shares are sums of decimals: what is left of one may be a rounding error.
        let used: Vec<_> = kinds.into_iter().filter(|(_, share, _)| *share > 1e-9).collect();
        if used.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<_> = used
            .iter()
            .map(|(kind, _, sizes)| {
                let words = format!("a {kind} of {sizes}");
                (format!("{before}{kind}"), Request { words, unit: "bytes", size: Some(sizes.mean()) })
            })
            .collect();
        let each = used
            .iter()
            .map(|(kind, share, sizes)| format!("{} % {kind}s of {sizes}", (share * 1000.0).round() / 10.0));
        let words = match &found[..] {
            [(_, only)] if self.trim <= 0.0 => only.words.clone(),
            _ => format!("one of {}", each.collect::<Vec<_>>().join(" and ")),
        };
        let all: f64 = used.iter().map(|(_, share, _)| share).sum();
        let mean = used.iter().map(|(_, share, sizes)| share * sizes.mean()).sum::<f64>() / all;
        found.push((
            before.trim_end_matches('_').to_owned(),
            Request { words, unit: "bytes", size: Some(mean.round()) },
        ));
        found
    }

    /// Share of writes, 0 to 1.
    pub fn write(&self) -> f64 {
        (1.0 - self.read - self.trim).max(0.0)
    }

    /// What offsets are multiples of, bytes.
    pub fn unit(&self) -> u64 {
        self.align.unwrap_or_else(|| match (self.read > 0.0, self.read < 1.0) {
            (true, true) => self.read_sizes.smallest().min(self.write_sizes.smallest()),
            (true, false) => self.read_sizes.smallest(),
            _ => self.write_sizes.smallest(),
        })
    }

    /// The largest size in use, bytes.
    pub fn largest(&self) -> u64 {
        let read = if self.read > 0.0 { self.read_sizes.largest() } else { 0 };
        let write = if self.read < 1.0 { self.write_sizes.largest() } else { 0 };
        read.max(write)
    }
}

/// When the measured phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// After a span, ns.
    Time(Nanos),
    /// When that many requests, begun after the ramp, have ended. Flushes do not count.
    Requests(u64),
    /// When requests of that many bytes, begun after the ramp, have ended.
    Bytes(u64),
}

/// A stretch of the run with a profile of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its name; metrics of the phase begin with it.
    pub name: String,
    /// Its length, ns.
    pub duration: Nanos,
    /// What the users do in it.
    pub profile: Profile,
}

/// An `io` workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Names of the volumes it drives.
    pub volumes: Vec<String>,
    /// What the users do.
    pub profile: Profile,
    /// Runs before the measured phase, ns.
    pub ramp: Nanos,
    /// When the measured phase ends, if there are no phases.
    pub limit: Limit,
    /// Stretches that follow each other without a gap; if there are any, they are the measured phase.
    pub phases: Vec<Phase>,
    /// Length of a sample, ns; None: see [`fathom_job::sampler::default_interval`].
    pub interval: Option<Nanos>,
    /// Write the whole area once before the ramp.
    pub fill: bool,
    /// Stamp what is written and check what is read; at the end read back everything written.
    pub verify: bool,
}

impl Default for Config {
    /// The default profile for 30 s on no volume yet.
    fn default() -> Self {
        Self {
            volumes: Vec::new(),
            profile: Profile::default(),
            ramp: 0,
            limit: Limit::Time(30 * SECOND),
            phases: Vec::new(),
            interval: None,
            fill: false,
            verify: false,
        }
    }
}

impl Config {
    /// Length of the measured phase, ns, if it is known beforehand.
    pub fn measured(&self) -> Option<Nanos> {
        match self.limit {
            _ if !self.phases.is_empty() => {
                let sum = |sum: Nanos, phase: &Phase| sum.saturating_add(phase.duration);
                Some(self.phases.iter().fold(0, sum))
            }
            Limit::Time(span) => Some(span),
            Limit::Requests(_) | Limit::Bytes(_) => None,
        }
    }

    /// Whether requests arrive by a rate; then they do in every phase.
    pub fn is_open(&self) -> bool {
        self.profiles().any(|profile| matches!(profile.pace, Pace::Open { .. }))
    }

    /// Every profile that will run.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        let alone = self.phases.is_empty().then_some(&self.profile);
        self.phases.iter().map(|phase| &phase.profile).chain(alone)
    }
}
