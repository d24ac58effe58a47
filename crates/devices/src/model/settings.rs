//! Reading a model's settings, and taking them from the catalogue.

use fathom_catalogue as catalogue;
use fathom_settings::{Choice, FromValue, Key, Problem, Section, Value, VolumeName};
use fathom_units::{Bytes, Rate, Span};
use fathom_volume::{Blueprint, Geometry, NodeKind, manual};

use super::{Config, Service, ServiceTime, Shape};
use crate::sectors;

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "model",
    summary: "a device that takes the time a described one would take",
    manual: manual!("mod.rs"),
    keys: &[
        Key::optional("size", "size", "that of `data`", "Bytes it holds."),
        Key::required("servers", "number", "Requests in service at once; the others wait."),
        Key::required("read", "table of times, see above", "How long a read takes."),
        Key::optional("write", "table of times, see above", "as `read`", "How long a write takes."),
        Key::optional("distribution", "table, see above", "constant", "How times scatter about their mean."),
        Key::optional("flush", "time", "0s", "How long a flush takes, beyond what it waits for."),
        Key::optional("volatile_cache", "size", "none", "Bytes of write cache that a power cut empties."),
        sectors::LOGICAL,
        sectors::PHYSICAL,
        Key::optional("max_transfer", "size", "unlimited", "The largest request it takes."),
        Key::optional(
            "atomic_write",
            "size",
            "the logical sector",
            "Aligned writes up to this are never torn.",
        ),
        Key::optional("data", "volume", "memory", "The volume that keeps the bytes."),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let data = section.optional::<VolumeName>("data").map(|VolumeName(name)| name);
        let (logical_sector, physical_sector) = sectors::read(section);
        let size = sectors::optional_size(section, logical_sector);
        if !section.has("size") && !section.has("data") {
            section.error(
                "neither `size` nor `data`",
                "add `size`, or the volume that keeps the bytes as `data`",
            );
        }
        let service = read_service(section);
        let max_transfer = transfer(section, "max_transfer", logical_sector);
        let atomic_write = transfer(section, "atomic_write", logical_sector);
        section.is_clean().then_some(())?;
        Some(Self {
            size,
            logical_sector,
            physical_sector,
            max_transfer: max_transfer.unwrap_or(Geometry::UNLIMITED_TRANSFER),
            atomic_write: atomic_write.unwrap_or(logical_sector),
            service: service?,
            data,
            facts: Vec::new(),
        })
    }

    /// The device of a catalogue's model; what limits it beside is the throttle's matter.
    pub fn of_catalogue(resolved: &catalogue::Resolved) -> Self {
        let narrow = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(Geometry::UNLIMITED_TRANSFER);
        let logical_sector = narrow(resolved.geometry.logical_sector);
        let service = &resolved.service;
        Self {
            size: Some(resolved.size.get() / u64::from(logical_sector) * u64::from(logical_sector)),
            logical_sector,
            physical_sector: narrow(resolved.geometry.physical_sector),
            max_transfer: service.max_transfer.map_or(Geometry::UNLIMITED_TRANSFER, narrow),
            atomic_write: service.atomic_write_unit.map_or(logical_sector, narrow),
            service: Service::from(service),
            data: None,
            facts: (resolved.assumptions.iter().map(said))
                .chain([("model", resolved.name.clone())])
                .chain(left_out(&resolved.caveats))
                .collect(),
        }
    }
}

fn left_out(caveats: &[String]) -> Option<(&'static str, String)> {
    (!caveats.is_empty()).then(|| ("left_out", caveats.join(" ")))
}

/// `2 ms (1 ms to 5 ms)`
fn said(assumption: &catalogue::Assumption) -> (&'static str, String) {
    let catalogue::Assumption { name, value, low, high } = assumption;
    (name, format!("{value} ({low} to {high})"))
}

/// A whole number of sectors up to what any request can have.
fn transfer(section: &mut Section<'_>, key: &str, logical_sector: u32) -> Option<u32> {
    let size = section.optional::<Bytes>(key)?.get();
    let fits = size > 0
        && size.is_multiple_of(u64::from(logical_sector))
        && size <= u64::from(Geometry::UNLIMITED_TRANSFER);
    if fits {
        return u32::try_from(size).ok();
    }
    section.error_at(
        key,
        format!("{size} bytes are no length of a request"),
        "give whole sectors, up to 1GiB",
    );
    None
}

fn read_service(section: &mut Section<'_>) -> Option<Service> {
    let servers = section.required_in("servers", 1..=65_536_u32);
    let read = section.required_section("read").and_then(time);
    let write = match section.section("write") {
        Some(inner) => time(inner),
        None => read,
    };
    let shape = match section.section("distribution") {
        Some(inner) => shape(inner),
        None => Some(Shape::Constant),
    };
    let flush = section.or("flush", Span::ZERO).as_nanos();
    let volatile_cache = section.optional::<Bytes>("volatile_cache").map(Bytes::get);
    Some(Service { read: read?, write: write?, flush, servers: servers?, shape: shape?, volatile_cache })
}

/// The longest time a single step may take: an hour.
const LONGEST: Span = Span::from_secs(3600);

fn time(mut section: Section<'_>) -> Option<ServiceTime> {
    let base = section.required_in("latency", Span::ZERO..=LONGEST);
    let work = section.optional_in("work", Span::ZERO..=LONGEST);
    let positioning = section.or_in("positioning", Span::ZERO, Span::ZERO..=LONGEST);
    let seek = section.or_in("seek", Span::ZERO, Span::ZERO..=LONGEST);
    let queued = section.optional_in("queued_positioning", 0.01..=1.0);
    let turn = section.or_in("turn", Span::ZERO, Span::ZERO..=LONGEST);
    let per_byte = per_byte(&mut section, "bandwidth");
    let work_per_byte = self::per_byte(&mut section, "work_bandwidth").or(per_byte);
    section.finish().then_some(())?;
    let base = base?;
    Some(ServiceTime {
        base: base.as_nanos() as f64,
        per_byte: per_byte.unwrap_or(0.0),
        work: work.unwrap_or(base).as_nanos() as f64,
        work_per_byte: work_per_byte.unwrap_or(0.0),
        positioning: positioning.as_nanos() as f64,
        seek: seek.as_nanos() as f64,
        span: 0.0,
        queued: queued.unwrap_or(1.0),
        turn: turn.as_nanos() as f64,
    })
}

/// A rate as ns per byte.
fn per_byte(section: &mut Section<'_>, key: &str) -> Option<f64> {
    let rate = section.optional_in(key, Rate::new(1)..)?;
    Some(1e9 / rate.as_f64())
}

#[derive(Clone, Copy)]
enum ShapeKind {
    Constant,
    Exponential,
    LogNormal,
    HyperExponential,
    Quantiles,
}

impl Choice for ShapeKind {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("constant", Self::Constant),
        ("exponential", Self::Exponential),
        ("log-normal", Self::LogNormal),
        ("hyper-exponential", Self::HyperExponential),
        ("quantiles", Self::Quantiles),
    ];
}

/// `[probability, value]`.
struct Point(f64, f64);

impl FromValue for Point {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        let pair = value.as_list().filter(|list| list.len() == 2);
        let [probability, time] = pair.unwrap_or_default() else {
            let help = "write each as [0.99, 4.2]: the probability, and the value not exceeded with it";
            return Err(Problem::new(format!("expected a pair, found {}", value.kind()), help));
        };
        Ok(Self(f64::from_value(probability)?, f64::from_value(time)?))
    }
}

fn shape(mut section: Section<'_>) -> Option<Shape> {
    let kind = section.required::<ShapeKind>("kind");
    let shape = match kind? {
        ShapeKind::Constant => Some(Shape::Constant),
        ShapeKind::Exponential => Some(Shape::Exponential),
        ShapeKind::LogNormal => section.required("sigma").map(|sigma| Shape::LogNormal { sigma }),
        ShapeKind::HyperExponential => {
            let (slow_share, slow_factor) = (section.required("slow_share"), section.required("slow_factor"));
            slow_share
                .zip(slow_factor)
                .map(|(slow_share, slow_factor)| Shape::HyperExponential { slow_share, slow_factor })
        }
        ShapeKind::Quantiles => {
            let points = section.required_list::<Point>("points");
            points.map(|points| {
                Shape::Quantiles(points.into_iter().map(|Point(at, value)| (at, value)).collect())
            })
        }
    };
    if let Some(Err(why)) = shape.as_ref().map(Shape::check) {
        section.error(why, "see the manual: `fathom doc model`");
    }
    section.finish().then_some(shape).flatten()
}

impl From<&catalogue::Service> for Service {
    fn from(service: &catalogue::Service) -> Self {
        let positioned = |of: fn(&catalogue::Positioning) -> Span| {
            service.positioning.as_ref().map_or(0.0, |positioning| of(positioning).as_nanos() as f64)
        };
        let time = |time: &catalogue::ServiceTime, positioning: f64, seek| ServiceTime {
            base: time.base.as_nanos() as f64,
            per_byte: 1e9 / time.bytes_per_s,
            work: time.work.as_nanos() as f64,
            work_per_byte: 1e9 / time.work_bytes_per_s,
            positioning: positioning - seek,
            seek,
            span: service.positioning.map_or(0.0, |positioning| positioning.span.get() as f64),
            queued: service.positioning.map_or(1.0, |positioning| positioning.queued),
            turn: positioned(|positioning| positioning.turn),
        };
        Self {
            read: time(&service.read, positioned(|moves| moves.read), positioned(|moves| moves.read_seek)),
            write: time(
                &service.write,
                positioned(|moves| moves.write),
                positioned(|moves| moves.write_seek),
            ),
            flush: service.flush.as_nanos(),
            servers: service.servers,
            shape: Shape::from(service.distribution),
            volatile_cache: service.volatile_cache.map(Bytes::get),
        }
    }
}

impl From<catalogue::Distribution> for Shape {
    fn from(distribution: catalogue::Distribution) -> Self {
        match distribution {
            catalogue::Distribution::Constant => Self::Constant,
            catalogue::Distribution::Exponential => Self::Exponential,
            catalogue::Distribution::LogNormal { sigma } => Self::LogNormal { sigma },
            catalogue::Distribution::HyperExponential { slow_share, slow_factor } => {
                Self::HyperExponential { slow_share, slow_factor }
            }
        }
    }
}
