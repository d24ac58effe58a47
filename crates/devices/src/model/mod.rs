//! `model`: a device with the timing of a described one, in either clock.
//!
//! # What it does
//! Serves up to `servers` requests at once, first come, first served. The others wait, and that wait is reported apart
//! from service time. A request is answered some time after a server has started it:
//!
//! - `latency` (time): mean time of a request without bytes;
//! - `bandwidth` (bytes per second, unlimited): the rate at which a single request moves its bytes;
//! - `positioning` (time, 0s): added when a request does not begin where the one before it ended (heads); a write into
//!   the `volatile_cache` pays it when it is written back;
//! - `seek` (time, 0s): added likewise, and grows with the distance: the mean of seeks between any two places of the volume, or of
//!   the drive that the catalogue's volume is a part of. A tenth of it is paid for any move, the rest grows with the root of the
//!   distance (Ruemmler and Wilkes, An introduction to disk drive modeling, IEEE Computer 27(3), 1994);
//! - `queued_positioning` (0.01 to 1, 1): the share of `positioning` that is left where the device has 32 requests to choose
//!   the next one from (NCQ), and with fewer in proportion to a power of their number: 0.4 leaves 0.63 with 6;
//! - `turn` (time, 0s): of a rotating medium. A write that must be on the medium and begins where the one before it ended
//!   has missed its place unless it was there in time, and waits for it to come round. One that jumps to a part of a
//!   physical sector takes a turn more: the sector is read first;
//! - `work`, `work_bandwidth` (like `latency`, `bandwidth`): how long the server is busy, where that is longer. A drive
//!   takes a write into protected memory long before flash has it, and reads one large request from many dies.
//!   Where reads and writes both are busy longer, the servers do together what is left, in order of arrival.
//!
//! `servers / (work + length / work_bandwidth)` is the rate of the device when it is never idle.
//!
//! `distribution` is the distribution of latency, work and positioning; each keeps the mean: `{ kind = "constant" }`,
//! `{ kind = "exponential" }`, `{ kind = "log-normal", sigma = 0.5 }`,
//! `{ kind = "hyper-exponential", slow_share = 0.05, slow_factor = 20.0 }`, or measured,
//! `{ kind = "quantiles", points = [[0, 80], [0.5, 100], [0.99, 400], [1, 3000]] }`, of which only the ratios count.
//!
//! With a `volatile_cache`, writes are answered after their latency as soon as there is room, and written back by idle
//! servers. A flush writes everything back at once and waits for it. A full cache accepts writes at the rate of the
//! write-back. A write with FUA is answered when the server has done its work.
//!
//! # Why
//! It predicts a volume that is too large, too expensive, or not bought yet. In real time it sleeps until the modelled
//! instant, so that a laptop can behave like a cloud volume for a real database.
//!
//! # Data
//! With payload, bytes are kept in memory, or in the volume named by `data`. The time of that volume is hidden while it
//! is the faster one; `late` counts how often it was not. Without payload nothing is kept.
//!
//! # Example
//! ```toml
//! [volumes.array]
//! kind = "model"
//! size = "8TiB"
//! servers = 32
//! read = { latency = "4ms", bandwidth = "200MB/s" }
//! write = { latency = "300us", work = "5ms", bandwidth = "400MB/s", work_bandwidth = "100MB/s" }
//! distribution = { kind = "log-normal", sigma = 0.5 }
//! ```
//!
//! # Limits
//! First come, first served, also where `queued_positioning` shortens the mean as reordering does: what a drive overtakes
//! would wait longer. No merging, no hits in the device's own cache. A trim or
//! write-zeroes takes the time of a write without bytes. Transfer times are constant.

mod settings;
mod shape;
mod station;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};

use fathom_runtime::{Context, Nanos, Sleep};
use fathom_volume::{Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Request, Result, Volume};

pub use settings::KIND;
pub use shape::Shape;
use station::Station;

use crate::sparse::Sparse;

/// Time of one request as a function of its length. Times are ns, means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceTime {
    /// Until the answer to a request of no length.
    pub base: f64,
    /// Until the answer, further, for each byte.
    pub per_byte: f64,
    /// How long a request of no length keeps its server busy; at least until the answer.
    pub work: f64,
    /// How much longer for each byte.
    pub work_per_byte: f64,
    /// Further, for both, when the request does not start where the one before it ended.
    pub positioning: f64,
    /// Further, in that case: the mean of seeks between any two places of `span`.
    pub seek: f64,
    /// Bytes over which the heads move; 0 for those of the volume.
    pub span: f64,
    /// What is left of `positioning` with [`Self::QUEUE`] requests to choose the next one from; 1 for none of a choice.
    pub queued: f64,
    /// One turn of a rotating medium; 0 of others.
    pub turn: f64,
}

impl ServiceTime {
    /// Requests that a drive sorts at most: the depth of SATA's queue (NCQ).
    pub const QUEUE: usize = 32;

    /// A server that is busy until the answer: `base` ns, and the request's bytes at a rate in bytes per second.
    pub fn new(base: Nanos, bytes_per_second: Option<f64>) -> Self {
        let (base, per_byte) = (base as f64, bytes_per_second.map_or(0.0, |rate| 1e9 / rate));
        Self {
            base,
            per_byte,
            work: base,
            work_per_byte: per_byte,
            positioning: 0.0,
            seek: 0.0,
            span: 0.0,
            queued: 1.0,
            turn: 0.0,
        }
    }

    /// How long the heads move over so many bytes, ns.
    pub fn seek_over(&self, distance: u64) -> f64 {
        // The root of the distance of two places in a span, as a part of it, is 8/15 in the mean.
        const MEAN_ROOT: f64 = 8.0 / 15.0;
        const ANY_MOVE: f64 = 0.1;
        let part = (distance as f64 / self.span).min(1.0).sqrt();
        self.seek * (ANY_MOVE + (1.0 - ANY_MOVE) * part / MEAN_ROOT)
    }
}

/// How requests are served.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// Reads.
    pub read: ServiceTime,
    /// Writes.
    pub write: ServiceTime,
    /// A flush, beyond what it waits for; ns.
    pub flush: Nanos,
    /// Requests in service at once; at least 1.
    pub servers: u32,
    /// How base times scatter.
    pub shape: Shape,
    /// Bytes of write cache that a power cut empties; None if there is none.
    pub volatile_cache: Option<u64>,
}

/// Settings of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bytes it holds; None for the size of `data`.
    pub size: Option<u64>,
    /// Bytes; requests are multiples of it.
    pub logical_sector: u32,
    /// Bytes; a rotating medium writes no less.
    pub physical_sector: u32,
    /// Bytes; larger requests are refused, the layer above splits them.
    pub max_transfer: u32,
    /// Bytes; aligned writes up to this are never torn.
    pub atomic_write: u32,
    /// How long requests take.
    pub service: Service,
    /// The volume that keeps the bytes; None for memory.
    pub data: Option<String>,
    /// What whoever reads the results must know: what of it is assumed and how far that may be off, what it leaves out.
    pub facts: Vec<(&'static str, String)>,
}

impl Config {
    /// A model of that size with 512-byte sectors and no limit on transfers.
    pub fn new(size: u64, service: Service) -> Self {
        Self {
            size: Some(size),
            logical_sector: 512,
            physical_sector: 512,
            max_transfer: Geometry::UNLIMITED_TRANSFER,
            atomic_write: 512,
            service,
            data: None,
            facts: Vec::new(),
        }
    }

    fn geometry(&self, data: Option<&Geometry>) -> std::result::Result<Geometry, String> {
        let size = match (self.size, data) {
            (Some(size), Some(data)) if size > data.size => {
                return Err(format!(
                    "size is {size} bytes, and the volume that keeps its data holds {}; make it smaller or leave \
                     `size` out",
                    data.size
                ));
            }
            (Some(size), _) => size,
            (None, Some(data)) => data.size,
            (None, None) => return Err("a model needs `size`, or `data` to take its size from".to_owned()),
        };
        let below = |own: u32, of: fn(&Geometry) -> u32| data.map_or(own, |data| own.max(of(data)));
        Ok(Geometry {
            size,
            logical_sector: below(self.logical_sector, |data| data.logical_sector),
            physical_sector: below(self.physical_sector, |data| data.logical_sector),
            optimal_transfer: 0,
            max_transfer: self.max_transfer.min(data.map_or(u32::MAX, |data| data.max_transfer)),
            queue_depth: self.service.servers,
            volatile_cache: self.service.volatile_cache.is_some()
                || data.is_some_and(|data| data.volatile_cache),
            atomic_write: self.atomic_write.min(data.map_or(u32::MAX, |data| data.atomic_write)),
        })
    }
}

impl Service {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A sentence that names the parameter and its bounds.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.servers == 0 {
            return Err("servers is 0; at least one request must be served at a time".to_owned());
        }
        for (kind, time) in [("read", &self.read), ("write", &self.write)] {
            let parts = [
                time.base,
                time.per_byte,
                time.work,
                time.work_per_byte,
                time.positioning,
                time.seek,
                time.turn,
            ];
            if !parts.iter().all(|part| part.is_finite() && *part >= 0.0) {
                return Err(format!("the {kind} time has a negative or endless part"));
            }
            if !(0.01..=1.0).contains(&time.queued) {
                return Err(format!(
                    "the {kind}'s queued_positioning is {}; it is a share from 0.01 to 1",
                    time.queued
                ));
            }
        }
        self.shape.check()
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        self.data.iter().cloned().collect()
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let data = children.into_iter().next();
        Handle::new(&env.context, name, KIND.name, Model::new(&env.context, name, self, data)?)
    }
}

enum Data {
    Memory(RefCell<Sparse>),
    Volume(Handle),
}

/// A modelled device.
pub struct Model {
    geometry: Geometry,
    context: Context,
    station: RefCell<Station>,
    data: Data,
    // Requests that the volume behind answered later than the model would.
    late: Cell<u64>,
    facts: Vec<(&'static str, String)>,
}

impl Model {
    /// A model; its randomness is fixed by the executor's seed and `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Misuse`] when the settings contradict each other or the volume behind is too small.
    pub fn new(context: &Context, name: &str, config: &Config, data: Option<Handle>) -> Result<Self> {
        let misuse = |problem| Error::new(ErrorKind::Misuse, format!("model `{name}`: {problem}"));
        config.service.check().map_err(misuse)?;
        let geometry = config.geometry(data.as_ref().map(Handle::geometry)).map_err(misuse)?;
        let mut service = config.service.clone();
        for time in [&mut service.read, &mut service.write] {
            time.span = if time.span > 0.0 { time.span } else { geometry.size as f64 };
        }
        Ok(Self {
            geometry,
            context: context.clone(),
            station: RefCell::new(Station::new(service, config.physical_sector, context.random(name))),
            data: data.map_or_else(|| Data::Memory(RefCell::default()), Data::Volume),
            late: Cell::new(0),
            facts: config.facts.clone(),
        })
    }

    // The instant of the answer; also reports the wait.
    #[inline]
    fn ask(&self, request: &Request, kind: Kind) -> Nanos {
        let answer = self.station.borrow_mut().ask(self.context.now(), kind, request);
        request.waited(answer.waited);
        answer.at
    }

    // Until the instant of the answer.
    fn until(&self, at: Nanos) -> Sleep<'_> {
        if let Data::Volume(_) = self.data
            && self.context.now() > at
        {
            self.late.set(self.late.get() + 1);
        }
        self.context.sleep_until(at)
    }
}

impl Volume for Model {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn reopen(&self) {
        if let Data::Volume(data) = &self.data {
            data.reopen();
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.facts.clone()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("late", self.late.get())]
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        let at = self.ask(request, Kind::Read);
        match &self.data {
            Data::Memory(_) if !into.has_bytes() => {}
            Data::Memory(bytes) => into.with_mut(|into| bytes.borrow().read(request.offset, into)),
            Data::Volume(data) => data.read(request.part(request.offset, request.length), into).await?,
        }
        self.until(at).await;
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let at = self.ask(request, Kind::Write);
        match &self.data {
            Data::Memory(_) if !from.has_bytes() => {}
            Data::Memory(bytes) => from.with(|from| bytes.borrow_mut().write(request.offset, from)),
            Data::Volume(data) => data.write(request.part(request.offset, request.length), from).await?,
        }
        self.until(at).await;
        Ok(())
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        let at = self.ask(request, Kind::Flush);
        if let Data::Volume(data) = &self.data {
            data.flush(request.flush_for()).await?;
        }
        self.until(at).await;
        Ok(())
    }

    fn trims_to_zeroes(&self) -> bool {
        match &self.data {
            Data::Memory(_) => true,
            Data::Volume(data) => data.trims_to_zeroes(),
        }
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        let at = self.ask(request, Kind::Trim);
        match &self.data {
            Data::Memory(bytes) => bytes.borrow_mut().zero(request.offset, request.length),
            Data::Volume(data) => data.trim(request.part(request.offset, request.length)).await?,
        }
        self.until(at).await;
        Ok(())
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        let at = self.ask(request, Kind::WriteZeroes);
        match &self.data {
            Data::Memory(bytes) => bytes.borrow_mut().zero(request.offset, request.length),
            Data::Volume(data) => data.write_zeroes(request.part(request.offset, request.length)).await?,
        }
        self.until(at).await;
        Ok(())
    }
}
