//! A model resolved with its size and settings: plain numbers for the throttle, the adapter and the
//! model device. Nothing here refers back to the catalogue.

use fathom_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::figure::{Assumption, Quantity};

/// One volume or drive, ready to be modelled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolved {
    /// The model's name, as asked for.
    pub name: String,
    /// Its capacity.
    pub size: Bytes,
    /// What it is allowed to do per second.
    pub limits: Limits,
    /// How long one request takes when nothing limits it.
    pub service: Service,
    /// Its sectors.
    pub geometry: Sectors,
    /// Whose further limits it shares with other volumes, in words: "all EBS volumes of the instance".
    pub shared_with: Option<String>,
    /// What of its service times is assumed, with the plausible ranges.
    pub assumptions: Vec<Assumption>,
    /// What the model leaves out, or where it is wrong; sentences.
    pub caveats: Vec<String>,
}

/// Caps on a volume. `None` means the vendor states none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    /// I/O operations per second that can be sustained, counted in units of `quantum`.
    pub iops: Option<f64>,
    /// Bytes per second that can be sustained.
    pub bytes_per_s: Option<f64>,
    /// Operations above `iops` for a while.
    pub burst: Option<Burst>,
    /// Bytes above `bytes_per_s` for a while.
    pub throughput_burst: Option<Burst>,
    /// A request counts as one operation per started `quantum`.
    pub quantum: Bytes,
    /// Whether small sequential requests are counted together, up to `quantum`.
    pub merge_sequential: bool,
    /// How often the vendor says the limits are reached.
    pub compliance: Option<Compliance>,
}

/// A bucket of credits: it earns `earn_per_s` all the time and each operation (or byte) takes one out, so that a
/// volume runs at `peak_per_s` while the bucket lasts and at `earn_per_s` when it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Burst {
    /// Operations (or bytes) per second while credits last.
    pub peak_per_s: f64,
    /// Credits the bucket holds: operations, or bytes.
    pub bucket: f64,
    /// Credits earned per second; equals the sustained limit.
    pub earn_per_s: f64,
    /// Credits in the bucket of a new volume.
    pub initial: f64,
}

/// "At least `share_of_limit` of the limit, `share_of_time` of the time."
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compliance {
    /// From 0 to 1.
    pub share_of_limit: f64,
    /// From 0 to 1.
    pub share_of_time: f64,
}

/// How requests are served: `servers` at once, each as long as its [`ServiceTime`] says, the rest wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    /// Reads.
    pub read: ServiceTime,
    /// Writes.
    pub write: ServiceTime,
    /// A flush, beyond the writes it waits for.
    pub flush: Span,
    /// Requests in service at once.
    pub servers: u32,
    /// How service times vary about their mean.
    pub distribution: Distribution,
    /// What a request pays that does not start where the one before it ended; drives with heads only.
    pub positioning: Option<Positioning>,
    /// Size of a write cache that a power cut empties; `None` if there is none.
    pub volatile_cache: Option<Bytes>,
    /// The largest single request the device takes.
    pub max_transfer: Option<Bytes>,
    /// Aligned writes up to this size are never torn.
    pub atomic_write_unit: Option<Bytes>,
}

/// Time of one request as a function of its length.
///
/// The requester waits `base + length / bytes_per_s`. The server may be busy longer: a drive reads a large request
/// from many dies at once, and takes a write into protected memory long before flash has it. `work + length /
/// work_bytes_per_s` is what the request leaves to do, such that `servers` of them without a pause reach exactly the
/// published IOPS and throughput. For cloud volumes both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServiceTime {
    /// Mean time until the answer, for a request of no length.
    pub base: Span,
    /// Rate at which one request on its own moves its bytes.
    pub bytes_per_s: f64,
    /// Mean work of a request of no length.
    pub work: Span,
    /// Rate at which one server works off bytes; never more than `bytes_per_s`.
    pub work_bytes_per_s: f64,
}

impl ServiceTime {
    /// Mean time until the requester has its answer, for a request of that length.
    #[must_use]
    pub fn latency(&self, length: Bytes) -> Span {
        add(self.base, length, self.bytes_per_s)
    }

    /// Mean time a server is busy with a request of that length; never less than the latency.
    #[must_use]
    pub fn busy(&self, length: Bytes) -> Span {
        add(self.work, length, self.work_bytes_per_s).max(self.latency(length))
    }
}

fn add(base: Span, length: Bytes, bytes_per_s: f64) -> Span {
    let moving = Span::from_secs_f64(length.get() as f64 / bytes_per_s).unwrap_or(Span::from_nanos(u64::MAX));
    Span::from_nanos(base.as_nanos().saturating_add(moving.as_nanos()))
}

/// Extra time of a request on another track, mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Positioning {
    /// Average read seek plus half a turn.
    pub read: Span,
    /// Average write seek plus half a turn.
    pub write: Span,
    /// The part of `read` that is the seek: what depends on how far the heads move.
    pub read_seek: Span,
    /// The same of `write`.
    pub write_seek: Span,
    /// Bytes of the whole drive, of which a smaller volume is a part: the average seek is one between any two places there.
    pub span: Bytes,
    /// A whole turn.
    pub turn: Span,
    /// What is left of the read's and the write's where the drive has 32 requests to choose the next one from; 1 for a drive
    /// that serves them in the order of their arrival.
    pub queued: f64,
}

/// The shape of service times. Every one has the stated mean, so that changing the shape alone leaves throughput alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the mean.
    Constant,
    /// Memoryless.
    Exponential,
    /// A long right tail.
    LogNormal {
        /// Standard deviation of the logarithm; 0.5 puts the 99th percentile at 2.8 times the mean.
        sigma: f64,
    },
    /// Two exponentials: most requests fast, a few slow.
    HyperExponential {
        /// Share of slow requests, from 0 to 1.
        slow_share: f64,
        /// Mean of the slow ones over mean of the fast ones.
        slow_factor: f64,
    },
}

impl Distribution {
    /// The mean of what a factor of mean 1 lies above `bound`, and 0 where it does not.
    pub(crate) fn mean_above(self, bound: f64) -> f64 {
        match self {
            Self::Constant => (1.0 - bound).max(0.0),
            Self::Exponential => (-bound).exp(),
            Self::LogNormal { sigma } if sigma == 0.0 || bound <= 0.0 => (1.0 - bound).max(0.0),
            Self::LogNormal { sigma } => {
                let at = (0.5 * sigma * sigma - bound.ln()) / sigma;
                (normal_below(at) - bound * normal_below(at - sigma)).max(0.0)
            }
            Self::HyperExponential { slow_share, slow_factor } => {
                let fast = 1.0 / (1.0 - slow_share + slow_share * slow_factor);
                let above = |mean: f64| mean * (-bound / mean).exp();
                (1.0 - slow_share) * above(fast) + slow_share * above(fast * slow_factor)
            }
        }
    }
}

/// Distribution function of the standard normal; error below 1e-7 (Abramowitz and Stegun, 26.2.17).
fn normal_below(at: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * at.abs());
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let tail = series.iter().fold(0.0, |sum, term| (sum + term) * t);
    let beyond = tail * (-0.5 * at * at).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if at < 0.0 { beyond } else { 1.0 - beyond }
}

/// Sector sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sectors {
    /// The unit of addressing.
    pub logical_sector: Bytes,
    /// The unit the device writes without reading first.
    pub physical_sector: Bytes,
}

/// Depths and sizes of a virtual host bus adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdapterLimits {
    /// The adapter's name.
    pub name: String,
    /// Outstanding requests of one disk; `None` if the vendor states none.
    pub per_device: Option<Depth>,
    /// Outstanding requests of all disks of one adapter.
    pub per_adapter: Option<Depth>,
    /// Requests above this are split; `None` if nothing is split.
    pub max_transfer: Option<Bytes>,
    /// Disks one adapter takes.
    pub devices_per_adapter: u32,
    /// Adapters of this kind one machine takes.
    pub adapters_per_host: u32,
    /// Pages of the request ring, where the adapter has one.
    pub ring_pages: Option<Depth>,
}

/// A depth as delivered and as far as it can be raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// Without any setting.
    pub default: u32,
    /// The most that can be set.
    pub max: u32,
}

/// Caps of a machine that all its cloud volumes share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstanceLimits {
    /// The instance's name.
    pub name: String,
    /// Operations per second that can be sustained, in requests of `iops_at`.
    pub iops: f64,
    /// Bytes per second that can be sustained, in requests of `throughput_at`.
    pub bytes_per_s: f64,
    /// Operations above that for a while.
    pub burst: Option<Burst>,
    /// Bytes above that for a while.
    pub throughput_burst: Option<Burst>,
    /// Request size at which the vendor states `iops`.
    pub iops_at: Bytes,
    /// Request size at which the vendor states `bytes_per_s`.
    pub throughput_at: Bytes,
    /// Local drives.
    pub instance_store: Option<InstanceStore>,
}

/// The local drives of an instance. Their contents are lost when the instance stops.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstanceStore {
    /// How many drives.
    pub count: u32,
    /// Capacity of one.
    pub size: Bytes,
    /// Random reads per second of all drives together, 4 KiB.
    pub read_iops: f64,
    /// Writes per second of all drives together, 4 KiB.
    pub write_iops: f64,
    /// The name under which one drive is resolved.
    pub device: String,
}

impl Quantity for Distribution {
    fn show(&self) -> String {
        match self {
            Self::Constant => "constant".to_owned(),
            Self::Exponential => "exponential".to_owned(),
            Self::LogNormal { sigma } => format!("log-normal, sigma {sigma}"),
            Self::HyperExponential { slow_share, slow_factor } => {
                format!("hyper-exponential, {}% of requests {slow_factor} times slower", slow_share * 100.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn what_lies_above_a_bound_is_that_of_the_distribution() {
        let hyper = Distribution::HyperExponential { slow_share: 0.05, slow_factor: 20.0 };
        let shapes = [
            Distribution::Constant,
            Distribution::Exponential,
            Distribution::LogNormal { sigma: 0.3 },
            hyper,
        ];
        for shape in shapes {
            assert!((shape.mean_above(0.0) - 1.0).abs() < 1e-6, "{shape:?} has mean 1");
            let above: Vec<f64> = (0..40).map(|step| shape.mean_above(f64::from(step) / 4.0)).collect();
            assert!(
                above.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] >= 0.0),
                "{shape:?}: {above:?}"
            );
        }
        // By hand: 2 Phi(sigma / 2) - 1 at the mean of a log-normal, exp(-1) at that of an exponential.
        assert!((Distribution::LogNormal { sigma: 0.3 }.mean_above(1.0) - 0.119_235).abs() < 1e-5);
        assert!((Distribution::Exponential.mean_above(1.0) - (-1.0_f64).exp()).abs() < 1e-12);
    }
}
