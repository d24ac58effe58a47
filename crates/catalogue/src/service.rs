//! Figures that volumes and drives have in common: service times, accounting, sectors; and how they are resolved.

use fathom_units::{Bytes, Percent, Rate, Span};
use serde::Deserialize;

use crate::figure::{Assumed, Assumption, Figure, figures};
use crate::resolved::{Compliance, Distribution, Sectors, Service, ServiceTime};

/// `[volume.service]`: a volume behind a network, where a request does not outlast its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VolumeService {
    pub read: Figure<Span>,
    pub write: Figure<Span>,
    /// Rate at which one request on its own moves its bytes.
    pub stream: Figure<Rate>,
    pub flush: Figure<Span>,
    /// Requests in service at once.
    pub servers: Figure<u32>,
    pub distribution: Figure<Distribution>,
    pub volatile_cache: Option<Figure<Bytes>>,
    pub max_transfer: Option<Figure<Bytes>>,
    pub atomic_write_unit: Option<Figure<Bytes>>,
}

figures!(VolumeService: read, write, stream, flush, servers, distribution, volatile_cache, max_transfer, atomic_write_unit);

impl VolumeService {
    pub(crate) fn resolve(&self, assumed: Assumed) -> Service {
        let stream = self.stream.value.as_f64();
        let time =
            |base: Span| ServiceTime { base, bytes_per_s: stream, work: base, work_bytes_per_s: stream };
        Service {
            read: time(self.read.at(assumed)),
            write: time(self.write.at(assumed)),
            flush: self.flush.value,
            servers: self.servers.value,
            distribution: self.distribution.at(assumed),
            positioning: None,
            volatile_cache: self.volatile_cache.as_ref().map(|figure| figure.value),
            max_transfer: self.max_transfer.as_ref().map(|figure| figure.value),
            atomic_write_unit: self.atomic_write_unit.as_ref().map(|figure| figure.value),
        }
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        assumptions(&self.read, &self.write, &self.distribution)
    }

    /// The key and the mistake, if a figure can not be used.
    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str)> {
        if self.servers.value == 0 {
            return Some(("service.servers", "there must be at least one server"));
        }
        if self.stream.value.get() == 0 {
            return Some(("service.stream", "a rate of zero would never end"));
        }
        distribution_problem(self.distribution.value).map(|problem| ("service.distribution", problem))
    }
}

/// What a model assumes of its service times, where it says what else is plausible.
pub(crate) fn assumptions(
    read: &Figure<Span>,
    write: &Figure<Span>,
    shape: &Figure<Distribution>,
) -> Vec<Assumption> {
    let found = [
        read.assumption("assumed_read"),
        write.assumption("assumed_write"),
        shape.assumption("assumed_shape"),
    ];
    found.into_iter().flatten().collect()
}

pub(crate) fn distribution_problem(distribution: Distribution) -> Option<&'static str> {
    match distribution {
        Distribution::LogNormal { sigma } if !(0.0..=3.0).contains(&sigma) => {
            Some("sigma must be from 0 to 3")
        }
        Distribution::HyperExponential { slow_share, slow_factor }
            if !(0.0..=1.0).contains(&slow_share) || !(1.0..=1e6).contains(&slow_factor) =>
        {
            Some("slow_share must be from 0 to 1 and slow_factor from 1 to 1,000,000")
        }
        _ => None,
    }
}

/// `[volume.accounting]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accounting {
    pub quantum: Figure<Bytes>,
    pub merge_sequential: Figure<bool>,
}

figures!(Accounting: quantum, merge_sequential);

/// `[volume.compliance]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Promise {
    pub share_of_limit: Figure<Percent>,
    pub share_of_time: Figure<Percent>,
}

figures!(Promise: share_of_limit, share_of_time);

impl Promise {
    pub(crate) fn resolve(&self) -> Compliance {
        Compliance {
            share_of_limit: self.share_of_limit.value.fraction(),
            share_of_time: self.share_of_time.value.fraction(),
        }
    }
}

/// `[volume.geometry]`, `[device.geometry]`, `[instance.store.geometry]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Geometry {
    pub logical_sector: Figure<Bytes>,
    pub physical_sector: Figure<Bytes>,
}

figures!(Geometry: logical_sector, physical_sector);

impl Geometry {
    pub(crate) fn resolve(&self) -> Sectors {
        Sectors { logical_sector: self.logical_sector.value, physical_sector: self.physical_sector.value }
    }

    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str)> {
        let sector = |bytes: Bytes| bytes.get().is_power_of_two() && (512..=1 << 20).contains(&bytes.get());
        let (logical, physical) = (self.logical_sector.value, self.physical_sector.value);
        if !sector(logical) {
            return Some(("geometry.logical_sector", "a sector is a power of two of at least 512 bytes"));
        }
        if !sector(physical) || physical < logical {
            return Some((
                "geometry.physical_sector",
                "a physical sector is a power of two, no smaller than a logical one",
            ));
        }
        None
    }
}
