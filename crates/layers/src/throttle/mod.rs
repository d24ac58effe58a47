//! `throttle`: limits on I/Os and bytes per second.
//!
//! # What it does
//! Lets requests through at no more than a rate of I/Os and a rate of bytes, first come, first served. A request of n
//! bytes counts as ceil(n / `quantum`) I/Os. With `merge`, waiting requests that continue each other count together as
//! one I/O, up to the quantum. A burst is a bucket of credits: it earns the sustained rate, every I/O (or byte) takes
//! one credit, and while it lasts the volume runs at the peak. Time in the throttle's queue is waiting time. A request
//! never waits if the limits allow it, and over a long run the rate is exact. Each of the two limits counts by itself: what
//! waits for bytes takes its I/Os meanwhile, so that small and large requests together reach both.
//!
//! Throttles with the same name after `shared` share one queue: the limits of a machine over all its volumes.
//!
//! # Why
//! Users see a cloud volume as such limits, and limits keep one tenant from taking all of a device. The same code
//! predicts the one and enforces the other.
//!
//! # Example
//! ```toml
//! [volumes.data]
//! kind = "throttle"
//! backing = "ssd"
//! iops = 300
//! iops_burst = { peak = 3000, credits = 5_400_000 }
//! throughput = "128MiB/s"
//! quantum = "256KiB"
//! merge = true
//!
//! [volumes.log]
//! kind = "throttle"
//! backing = "other"
//! iops = 18_750
//! throughput = "593.75MB/s"
//! shared = "r5d.4xlarge"
//! ```
//!
//! # Limits
//! Reads and writes count alike. Write-zeroes counts as one I/O without bytes; flushes and trims are free. A request
//! that is cancelled while it waits has used its credits. Vendors do not publish the window over which they hold their
//! limits; `slack` is that window.
//!
//! # Counters
//! `merged`: requests that cost no I/O; `io_credits`, `byte_credits`: what is left in the buckets.

mod bucket;
mod gate;
mod settings;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Nanos};
use fathom_volume::{Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Request, Result, Volume};

pub use gate::{Gate, GateRequest};
pub use settings::KIND;

/// A rate that can be sustained, per second: I/Os or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// What can be sustained.
    pub per_second: f64,
    /// What holds while credits last.
    pub burst: Option<Burst>,
}

impl Allowance {
    /// A rate without a burst.
    pub fn of(per_second: f64) -> Self {
        Self { per_second, burst: None }
    }
}

/// A bucket of credits; it earns the sustained rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// The rate while credits last, per second.
    pub per_second: f64,
    /// What the bucket holds: I/Os or bytes.
    pub credits: f64,
    /// What it holds at the start.
    pub initial: f64,
}

/// What a gate lets through.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// I/Os; None if they are not limited.
    pub iops: Option<Allowance>,
    /// Bytes; None if they are not limited.
    pub bytes: Option<Allowance>,
    /// Bytes of one I/O; None if every request is one.
    pub quantum: Option<u64>,
    /// Whether sequential requests that wait count together, up to the quantum.
    pub merge: bool,
    /// How long unused rate is kept, ns.
    pub slack: Nanos,
}

/// Settings of a throttle.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Name of the volume below.
    pub backing: String,
    /// What it lets through.
    pub limits: Limits,
    /// The gate it shares with other throttles; None for one of its own.
    pub shared: Option<String>,
}

/// A gate that several throttles may hold, with the settings it was made from.
struct Shared {
    limits: Limits,
    // Name of the throttle that made it.
    made_by: String,
    throttles: Cell<u64>,
    gate: RefCell<Gate>,
}

/// A live throttle.
pub struct Throttle {
    backing: Handle,
    geometry: Geometry,
    context: Context,
    shared: Rc<Shared>,
    // Tells its requests from those of other volumes at the same gate.
    volume: u64,
}

impl Throttle {
    /// Waits for the request's turn.
    #[inline]
    async fn turn(&self, kind: Kind, request: &Request) {
        let now = self.context.now();
        let ask = GateRequest { volume: self.volume, kind, offset: request.offset, length: request.length };
        let start = self.shared.gate.borrow_mut().admit(now, ask);
        if start > now {
            self.context.sleep_until(start).await;
            request.waited(self.context.now() - now);
        }
    }
}

impl Volume for Throttle {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.turn(Kind::Read, request).await;
        self.backing.read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.turn(Kind::Write, request).await;
        self.backing.write(request.part(request.offset, request.length), from).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.backing.flush(request.flush_for()).await
    }

    fn went_back(&self) -> bool {
        self.backing.went_back()
    }

    fn trims_to_zeroes(&self) -> bool {
        self.backing.trims_to_zeroes()
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.backing.trim(request.part(request.offset, request.length)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.turn(Kind::WriteZeroes, request).await;
        self.backing.write_zeroes(request.part(request.offset, request.length)).await
    }

    fn reopen(&self) {
        self.backing.reopen();
    }

    fn expect(&self, offset: u64, length: u64) {
        self.backing.expect(offset, length);
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let limits = &self.shared.limits;
        let stated = [("iops_limit", limits.iops), ("bytes_per_s_limit", limits.bytes)];
        let stated = stated.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
        let sustained = stated.clone().map(|(name, limit)| (name, limit.per_second.to_string()));
        let peaks = stated.filter_map(|(name, limit)| {
            let name = if name == "iops_limit" { "iops_peak" } else { "bytes_per_s_peak" };
            Some((name, limit.burst?.per_second.to_string()))
        });
        sustained.chain(peaks).collect()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let gate = self.shared.gate.borrow();
        let [operations, bytes] = gate.credits(self.context.now());
        let credits = [("io_credits", operations), ("byte_credits", bytes)];
        let credits = credits.into_iter().filter_map(|(name, left)| Some((name, left?)));
        std::iter::once(("merged", gate.merged())).chain(credits).collect()
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn gate(&self) -> Option<&str> {
        self.shared.as_deref()
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let [backing] = <[Handle; 1]>::try_from(children).expect("a throttle has one volume below");
        let make = || Shared {
            limits: self.limits.clone(),
            made_by: name.to_owned(),
            throttles: Cell::new(0),
            gate: RefCell::new(Gate::new(&self.limits)),
        };
        let shared = match &self.shared {
            Some(gate) => env.shared(gate, make),
            None => Rc::new(make()),
        };
        if shared.limits != self.limits {
            let gate = self.shared.as_deref().unwrap_or_default();
            let other = &shared.made_by;
            let message = format!(
                "volume `{name}` (throttle): it shares `{gate}` with `{other}`, and their limits differ; give both the \
                 same, or another name after `shared`"
            );
            return Err(Error::new(ErrorKind::Misuse, message).about("shared"));
        }
        let volume = shared.throttles.replace(shared.throttles.get() + 1);
        let geometry = backing.geometry().clone();
        let throttle = Throttle { backing, geometry, context: env.context.clone(), shared, volume };
        Handle::new(&env.context, name, KIND.name, throttle)
    }
}
