//! Instance families: caps shared by all volumes of a machine, and its local drives.

use fathom_units::{Bytes, Iops, Rate, Span};
use serde::Deserialize;
use toml::Spanned;

use crate::device::{SHEET_REQUEST, Sheet, checked_size, no_limits, service_times};
use crate::figure::{Figure, Figures, Line, Quantity, figures};
use crate::resolved::{Burst, Distribution, InstanceLimits, InstanceStore, Resolved, Service, ServiceTime};
use crate::service::{Geometry, assumptions, distribution_problem};
use crate::{CatalogueError, Overrides};

/// `[instance]`: one file holds a family, one row of `sizes` an instance type.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// Request size at which the vendor states IOPS.
    pub iops_at: Figure<Bytes>,
    /// Request size at which the vendor states throughput.
    pub throughput_at: Figure<Bytes>,
    /// How long sizes with a baseline below their maximum hold the maximum.
    pub burst_duration: Option<Figure<Span>>,
    /// What the drives of the family have in common.
    pub store: Option<StoreService>,
    pub sizes: Vec<Size>,
}

figures!(Family: iops_at, throughput_at, burst_duration, store, sizes);

/// One row of `[[instance.sizes]]`; its source covers every figure of the row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    /// What follows the dot of the instance type: "4xlarge".
    pub name: String,
    pub iops: Iops,
    pub throughput: Rate,
    /// What is sustained, where it is less than the maximum.
    pub baseline_iops: Option<Iops>,
    pub baseline_throughput: Option<Rate>,
    pub store: Option<Store>,
    /// How many volumes may be attached, besides the one that it boots from; None where nothing is stated.
    pub disks: Option<u32>,
    pub source: Spanned<String>,
}

/// The drives of one size; IOPS are of all of them together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    pub count: u32,
    pub size: Bytes,
    pub read_iops: Iops,
    pub write_iops: Iops,
}

/// `[instance.store]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreService {
    pub read_latency: Figure<Span>,
    pub write_latency: Figure<Span>,
    /// Bytes per second of large reads over those of random 4 KiB ones.
    pub read_stream_ratio: Figure<f64>,
    /// The same of writes.
    pub write_stream_ratio: Figure<f64>,
    pub flush: Figure<Span>,
    pub distribution: Figure<Distribution>,
    pub atomic_write_unit: Option<Figure<Bytes>>,
    pub geometry: Geometry,
}

figures!(
    StoreService: read_latency, write_latency, read_stream_ratio, write_stream_ratio, flush, distribution, atomic_write_unit,
    geometry
);

impl Figures for Size {
    fn figures(&self, key: &str, lines: &mut Vec<Line>) {
        let key = format!("{} {}", key.split('[').next().unwrap_or(key), self.name);
        lines.push(Line {
            key,
            value: self.in_words(),
            source: self.source.clone(),
            note: None,
            range: None,
        });
    }
}

impl Size {
    /// The row as one sentence, without its name.
    pub(crate) fn in_words(&self) -> String {
        let mut text = format!("{}, {}", self.iops.show(), self.throughput.show());
        if let (Some(iops), Some(rate)) = (self.baseline_iops, self.baseline_throughput) {
            text = format!("{}, {} sustained; {text} in bursts", iops.show(), rate.show());
        }
        if let Some(Store { count, size, read_iops, write_iops }) = &self.store {
            text += &format!(
                "; local {count} x {}, together {} read, {} write",
                size.show(),
                read_iops.show(),
                write_iops.show()
            );
        }
        if let Some(most) = self.disks {
            text += &format!("; at most {most} data disks");
        }
        text
    }
}

impl Family {
    pub(crate) fn size(&self, name: &str) -> Option<&Size> {
        self.sizes.iter().find(|size| size.name == name)
    }

    /// The caps of one instance type, under its full name.
    pub(crate) fn limits(&self, name: &str, size: &Size) -> InstanceLimits {
        let duration = self.burst_duration.as_ref().map(|figure| figure.value.as_secs_f64());
        let burst = |sustained: f64, peak: f64| {
            let bucket = (peak - sustained) * duration?;
            (peak > sustained).then_some(Burst {
                peak_per_s: peak,
                bucket,
                earn_per_s: sustained,
                initial: bucket,
            })
        };
        let iops = size.baseline_iops.unwrap_or(size.iops).get();
        let rate = size.baseline_throughput.unwrap_or(size.throughput).as_f64();
        InstanceLimits {
            name: name.to_owned(),
            iops,
            bytes_per_s: rate,
            burst: burst(iops, size.iops.get()),
            throughput_burst: burst(rate, size.throughput.as_f64()),
            iops_at: self.iops_at.value,
            throughput_at: self.throughput_at.value,
            instance_store: size.store.as_ref().map(|store| InstanceStore {
                count: store.count,
                size: store.size,
                read_iops: store.read_iops.get(),
                write_iops: store.write_iops.get(),
                device: format!("{name}/nvme"),
            }),
        }
    }

    /// One local drive of an instance type; nothing if it has none.
    pub(crate) fn drive(
        &self,
        name: &str,
        size: &Size,
        asked: Option<Bytes>,
        overrides: &Overrides,
    ) -> Option<Result<Resolved, CatalogueError>> {
        let (service, store) = (self.store.as_ref()?, size.store.as_ref()?);
        let sheet = |latency: &Figure<Span>, all: Iops, stream_ratio: &Figure<f64>| {
            let iops = all.get() / f64::from(store.count);
            Sheet {
                latency_s: latency.at(overrides.assumed).as_secs_f64(),
                iops: Some(iops),
                bytes_per_s: iops * SHEET_REQUEST.get() as f64 * stream_ratio.value,
            }
        };
        let (servers, read, write) = service_times(
            sheet(&service.read_latency, store.read_iops, &service.read_stream_ratio),
            sheet(&service.write_latency, store.write_iops, &service.write_stream_ratio),
            service.distribution.at(overrides.assumed),
        );
        let size = checked_size(name, asked, store.size, store.size, overrides);
        Some(size.map(|size| Resolved {
            name: name.to_owned(),
            size,
            limits: no_limits(),
            service: Service {
                read,
                write,
                flush: service.flush.value,
                servers,
                distribution: service.distribution.at(overrides.assumed),
                positioning: None,
                volatile_cache: None,
                max_transfer: None,
                atomic_write_unit: service.atomic_write_unit.as_ref().map(|figure| figure.value),
            },
            geometry: service.geometry.resolve(),
            shared_with: None,
            assumptions: assumptions(&service.read_latency, &service.write_latency, &service.distribution),
            caveats: Vec::new(),
        }))
    }

    /// What one local drive does, as one sentence.
    pub(crate) fn drive_in_words(&self, name: &str, size: &Size) -> Result<String, CatalogueError> {
        let (Some(store), Some(drive)) = (&size.store, self.drive(name, size, None, &Overrides::default()))
        else {
            return Ok(size.in_words());
        };
        let service = drive?.service;
        let servers = f64::from(service.servers);
        let rates = |time: &ServiceTime| {
            let iops = Iops::new((servers / time.busy(SHEET_REQUEST).as_secs_f64()).round());
            let rate = Rate::new((servers * time.work_bytes_per_s / 1e6).round() as u64 * 1_000_000);
            format!("{} and {}", iops.map_or_else(String::new, |iops| iops.show()), rate.show())
        };
        Ok(format!(
            "one of {} x {}: {} read, {} written, {} requests at once",
            store.count,
            store.size.show(),
            rates(&service.read),
            rates(&service.write),
            service.servers
        ))
    }

    /// The key and the mistake, if the figures contradict each other.
    pub(crate) fn problem(&self) -> Option<(String, &'static str)> {
        let own = |key: String, problem| Some((format!("instance.{key}"), problem));
        if self.sizes.is_empty() {
            return own("sizes".to_owned(), "a family has at least one size");
        }
        for (i, size) in self.sizes.iter().enumerate() {
            if let Some(problem) = self.size_problem(size) {
                return own(format!("sizes[{i}]"), problem);
            }
            if self.sizes[..i].iter().any(|other| other.name == size.name) {
                return own(format!("sizes[{i}]"), "the family lists this size twice");
            }
        }
        let store = self.store.as_ref()?;
        for (key, ratio) in [
            ("store.read_stream_ratio", &store.read_stream_ratio),
            ("store.write_stream_ratio", &store.write_stream_ratio),
        ] {
            if !(1.0..=100.0).contains(&ratio.value) {
                return own(key.to_owned(), "large requests are not slower than small ones: from 1 to 100");
            }
        }
        distribution_problem(store.distribution.value)
            .map(|problem| ("distribution", problem))
            .or_else(|| store.geometry.problem())
            .and_then(|(key, problem)| own(format!("store.{key}"), problem))
    }

    fn size_problem(&self, size: &Size) -> Option<&'static str> {
        let below = |baseline: Option<f64>, max: f64| baseline.is_none_or(|baseline| baseline <= max);
        if size.name.is_empty() || !size.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Some("a size is named by letters, digits and hyphens");
        }
        if !below(size.baseline_iops.map(Iops::get), size.iops.get())
            || !below(size.baseline_throughput.map(Rate::as_f64), size.throughput.as_f64())
        {
            return Some("the baseline is above the maximum");
        }
        if size.disks == Some(0) {
            return Some("a machine to which no disk may be attached");
        }
        let bursts = size.baseline_iops.is_some() || size.baseline_throughput.is_some();
        if bursts && self.burst_duration.is_none() {
            return Some("a size with a baseline needs instance.burst_duration");
        }
        let store = size.store.as_ref()?;
        if self.store.is_none() {
            return Some("a size with local drives needs [instance.store]");
        }
        let sound = store.count > 0
            && store.size > Bytes::ZERO
            && store.read_iops.get() >= 1.0
            && store.write_iops.get() >= 1.0;
        (!sound).then_some("count, size, read_iops and write_iops must be above zero")
    }
}
