//! `adapter`: a host bus adapter, physical or virtual, between a host and one of its disks.
//!
//! # What it does
//! Keeps at most `per_device` requests outstanding to the disk below and at most `per_adapter` to all disks of the same
//! adapter together; others wait, first come, first served, and that wait is waiting time. Requests above `max_transfer`
//! are split; the pieces go one after the other, as PVSCSI sends them (VMware vSphere blog, "PVSCSI and Large IO's",
//! 2014), or side by side. An adapter with several disks is several nodes with the same `shared` name.
//!
//! # Why
//! When a disk is slow although the array is idle, the queue is often in front of the adapter: outstanding I/O beyond the
//! limit waits in the guest, and latency measured there is mostly that wait.
//!
//! # Example
//! ```toml
//! [volumes.disk]
//! kind = "adapter"
//! backing = "lun"
//! shared = "scsi0"
//! per_device = 64
//! per_adapter = 256
//! max_transfer = "512KiB"
//! ```
//!
//! # Limits
//! Flushes and trims take slots like any other request. Interrupt coalescing and the CPU cost of a request are not
//! modelled.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use fathom_runtime::{Context, Nanos, Permit, Semaphore};
use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_units::Bytes;
use fathom_volume::{
    Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, NodeKind, Request, Result, Volume, manual,
};

use crate::side_by_side::side_by_side;

/// How the pieces of a split request are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// One after the other.
    Sequential,
    /// Side by side.
    Parallel,
}

impl Choice for Split {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("sequential", Self::Sequential), ("parallel", Self::Parallel)];
}

/// Settings of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the disk.
    pub backing: String,
    /// Requests outstanding to this disk.
    pub per_device: u32,
    /// Requests outstanding to all disks of the adapter; None for no limit.
    pub per_adapter: Option<u32>,
    /// Name of the adapter where several disks are on one.
    pub shared: Option<String>,
    /// Bytes; larger requests are split. None for no limit.
    pub max_transfer: Option<u32>,
    /// How the pieces are sent.
    pub split: Split,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "adapter",
    summary: "a host bus adapter: queue depth per device and per adapter, largest transfer",
    manual: manual!("adapter.rs"),
    keys: &[
        Key::required("backing", "volume", "The disk."),
        Key::required("per_device", "count, 1 to 65536", "Requests outstanding to this disk."),
        Key::optional(
            "per_adapter",
            "count, 1 to 65536",
            "unlimited",
            "Requests outstanding to all its disks.",
        ),
        Key::optional("shared", "name", "the node's own", "Which adapter, where several disks are on one."),
        Key::optional(
            "max_transfer",
            "size, a multiple of 4KiB",
            "what the disk takes",
            "Larger requests are split.",
        ),
        Key::optional("split", "`sequential` or `parallel`", "sequential", "How the pieces are sent."),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let backing = section.required::<VolumeName>("backing");
        let per_device = section.required_in::<u32>("per_device", 1..=65_536);
        let per_adapter = section.optional_in::<u32>("per_adapter", 1..=65_536);
        let shared = section.optional::<String>("shared");
        let largest = Bytes::new(u64::from(Geometry::UNLIMITED_TRANSFER));
        let max_transfer = section.optional_in::<Bytes>("max_transfer", Bytes::new(4096)..=largest);
        if let Some(bytes) = max_transfer.filter(|bytes| bytes.get() % 4096 != 0) {
            let message = format!("{} bytes are not a multiple of 4096", bytes.get());
            section.error_at("max_transfer", message, "every sector size must fit, for example 512KiB");
        }
        let split = section.or("split", Split::Sequential);
        if !section.is_clean() {
            return None;
        }
        Some(Self {
            backing: backing?.0,
            per_device: per_device?,
            per_adapter,
            shared,
            max_transfer: max_transfer.map(|bytes| bytes.get() as u32),
            split,
        })
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn build(&self, env: &Env, name: &str, children: Vec<Handle>) -> Result<Handle> {
        let [backing] = <[Handle; 1]>::try_from(children).expect("an adapter has one child");
        let queue = match (self.per_adapter, &self.shared) {
            (Some(depth), Some(shared)) => Some(shared_queue(env, shared, depth)?),
            (Some(depth), None) => Some(Semaphore::new(depth as usize)),
            (None, _) => None,
        };
        Handle::new(&env.context, name, KIND.name, Adapter::new(env, self, queue, backing))
    }
}

/// The queue of an adapter with several disks, all of which must state the same depth.
fn shared_queue(env: &Env, name: &str, depth: u32) -> Result<Semaphore> {
    let adapter: Rc<(u32, Semaphore)> = env.shared(name, || (depth, Semaphore::new(depth as usize)));
    if adapter.0 != depth {
        let message = format!(
            "adapter `{name}` has a depth of {} at one disk and {depth} at another; give all its disks the same per_adapter",
            adapter.0
        );
        return Err(Error::new(ErrorKind::Misuse, message).about("per_adapter"));
    }
    Ok(adapter.1.clone())
}

/// One disk's way through an adapter.
pub struct Adapter {
    backing: Handle,
    geometry: Geometry,
    context: Context,
    device: Semaphore,
    adapter: Option<Semaphore>,
    // What it lets through at once; the geometry states less where the device works on less.
    depth: u32,
    // Bytes of the longest request that is not split.
    largest: u64,
    split: Split,
}

/// A request's slots, given back when it is answered.
struct Places {
    _device: Permit,
    _adapter: Option<Permit>,
}

impl Adapter {
    fn new(env: &Env, config: &Config, adapter: Option<Semaphore>, backing: Handle) -> Self {
        let below = backing.geometry();
        let largest = config.max_transfer.unwrap_or(Geometry::UNLIMITED_TRANSFER).min(below.max_transfer);
        let largest = largest - largest % below.logical_sector;
        let depth = config.per_device.min(config.per_adapter.unwrap_or(u32::MAX));
        let behind = if below.queue_depth == 0 { u32::MAX } else { below.queue_depth };
        let geometry = Geometry {
            // What is too large for the adapter is split here, so the host need not.
            max_transfer: Geometry::UNLIMITED_TRANSFER,
            queue_depth: behind.min(depth),
            optimal_transfer: below.optimal_transfer.min(largest),
            atomic_write: below.atomic_write.min(largest),
            ..below.clone()
        };
        Self {
            geometry,
            context: env.context.clone(),
            device: Semaphore::new(config.per_device as usize),
            adapter,
            depth,
            largest: u64::from(largest),
            split: config.split,
            backing,
        }
    }

    /// A slot at the device and one at the adapter, if neither has a queue.
    #[inline]
    fn at_once(&self) -> Option<Places> {
        let device = self.device.try_acquire()?;
        let adapter = match &self.adapter {
            Some(adapter) => Some(adapter.try_acquire()?),
            None => None,
        };
        Some(Places { _device: device, _adapter: adapter })
    }

    /// A slot at the device and then one at the adapter. The wait is waiting time, after `before` ns of it.
    #[inline]
    async fn places(&self, request: &Request, before: Nanos) -> Places {
        if let Some(places) = self.at_once() {
            return places;
        }
        let asked = self.context.now();
        let device = self.device.acquire().await;
        let adapter = match &self.adapter {
            Some(adapter) => Some(adapter.acquire().await),
            None => None,
        };
        request.waited(before + (self.context.now() - asked));
        Places { _device: device, _adapter: adapter }
    }

    /// A read or write that is too long, in pieces. Apart from the usual way, whose future it would double.
    #[cold]
    fn in_pieces<'a>(
        &'a self,
        kind: Kind,
        request: &'a Request,
        buf: Buf,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
        let piece = move |at: u64| {
            let length = self.largest.min(request.length - at);
            let part = request.part(request.offset + at, length);
            (part, buf.slice(at as usize..(at + length) as usize))
        };
        let send = move |part: Request, buf: Buf| match kind {
            Kind::Write => self.backing.write(part, buf),
            _ => self.backing.read(part, buf),
        };
        let starts = (0..request.length).step_by(self.largest as usize);
        Box::pin(async move {
            match self.split {
                Split::Sequential => {
                    for at in starts {
                        let (part, buf) = piece(at);
                        let _places = self.places(request, request.waiting()).await;
                        send(part, buf).await?;
                    }
                    Ok(())
                }
                Split::Parallel => {
                    let one = |at| {
                        let (part, buf) = piece(at);
                        Box::pin(async {
                            let _places = self.places(request, 0).await;
                            send(part, buf).await
                        })
                    };
                    side_by_side(starts.map(one).collect()).await
                }
            }
        })
    }
}

impl Volume for Adapter {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        if request.length > self.largest {
            return self.in_pieces(Kind::Read, request, into).await;
        }
        let _places = self.places(request, 0).await;
        self.backing.read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        if request.length > self.largest {
            return self.in_pieces(Kind::Write, request, from).await;
        }
        let _places = self.places(request, 0).await;
        self.backing.write(request.part(request.offset, request.length), from).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        let _places = self.places(request, 0).await;
        self.backing.flush(request.flush_for()).await
    }

    fn went_back(&self) -> bool {
        self.backing.went_back()
    }

    fn trims_to_zeroes(&self) -> bool {
        self.backing.trims_to_zeroes()
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        let _places = self.places(request, 0).await;
        self.backing.trim(request.part(request.offset, request.length)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        let _places = self.places(request, 0).await;
        self.backing.write_zeroes(request.part(request.offset, request.length)).await
    }

    fn reopen(&self) {
        self.backing.reopen();
    }

    fn expect(&self, offset: u64, length: u64) {
        self.backing.expect(offset, length);
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("outstanding_limit", self.depth.to_string())]
    }
}

#[cfg(test)]
#[path = "adapter/tests.rs"]
mod tests;
