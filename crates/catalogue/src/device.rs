//! Physical drives: from the figures of a data sheet to the work of one request.

use fathom_units::{Bytes, Iops, Rate, Span};
use serde::Deserialize;

use crate::figure::{Assumed, Figure, figures};
use crate::resolved::{Distribution, Limits, Positioning, Resolved, Service, ServiceTime};
use crate::service::{Geometry, assumptions, distribution_problem};
use crate::{CatalogueError, Overrides};

/// The request size at which data sheets state IOPS.
pub(crate) const SHEET_REQUEST: Bytes = Bytes::kib(4);

/// More servers than any drive is modelled with.
const MOST_SERVERS: f64 = 4096.0;

/// What slow answers may cost of the sheet's IOPS.
const SLACK: f64 = 0.001;

/// `[device]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Device {
    pub size: DeviceSize,
    pub read: Direction,
    pub write: Direction,
    pub flush: Figure<Span>,
    pub distribution: Figure<Distribution>,
    /// Share of seek and turn that is left where the drive has 32 requests to choose from; drives with heads only.
    pub queued_positioning: Option<Figure<f64>>,
    pub volatile_cache: Option<Figure<Bytes>>,
    pub max_transfer: Option<Figure<Bytes>>,
    pub atomic_write_unit: Option<Figure<Bytes>>,
    pub geometry: Geometry,
}

figures!(Device: size, read, write, flush, distribution, queued_positioning, volatile_cache, max_transfer, atomic_write_unit, geometry);

/// `[device.size]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceSize {
    /// The capacity if none is asked for.
    pub default: Figure<Bytes>,
    /// The largest capacity of the series.
    pub max: Figure<Bytes>,
}

figures!(DeviceSize: default, max);

/// `[device.read]`, `[device.write]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Direction {
    /// Mean latency of one 4 KiB request on an otherwise idle drive; with heads, without seek and turn.
    pub latency: Figure<Span>,
    /// Random 4 KiB requests per second at saturation; absent for drives that serve one request at a time.
    pub iops: Option<Figure<Iops>>,
    /// Large sequential requests.
    pub throughput: Figure<Rate>,
    /// Average seek, drives with heads only.
    pub seek: Option<Figure<Span>>,
    /// Half a turn of the platter.
    pub half_turn: Option<Figure<Span>>,
}

figures!(Direction: latency, iops, throughput, seek, half_turn);

/// What a data sheet says of one direction, as plain numbers.
#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    pub latency_s: f64,
    pub iops: Option<f64>,
    pub bytes_per_s: f64,
}

impl Sheet {
    fn of(direction: &Direction, assumed: Assumed) -> Self {
        Self {
            latency_s: direction.latency.at(assumed).as_secs_f64(),
            iops: direction.iops.as_ref().map(|figure| figure.value.get()),
            bytes_per_s: direction.throughput.value.as_f64(),
        }
    }
}

/// As many servers as both directions need to reach their IOPS, and the times of both.
///
/// With `n` servers a 4 KiB request is work for `n / IOPS`, of which `4 KiB * n / throughput` is moving bytes. So n
/// busy servers do exactly the sheet's IOPS on small requests and the sheet's throughput on large ones, and a mix of
/// reads and writes shares the drive by the work it makes.
///
/// A server is busy at least until the answer. Little's law asks for `IOPS * latency` servers if no answer takes longer
/// than the work does. Latencies scatter about their mean, and the moving of bytes does not: there must be so many servers
/// that hardly a slow answer outlasts its work, or the drive falls short of its IOPS.
pub(crate) fn service_times(
    read: Sheet,
    write: Sheet,
    distribution: Distribution,
) -> (u32, ServiceTime, ServiceTime) {
    let servers = read.servers(distribution).max(write.servers(distribution));
    (servers, read.time(servers), write.time(servers))
}

impl Sheet {
    /// The fewest servers with which answers that outlast their work cost next to nothing.
    fn servers(self, distribution: Distribution) -> u32 {
        let Some(iops) = self.iops else { return 1 };
        let least = (iops * self.latency_s).ceil().clamp(1.0, MOST_SERVERS) as u32;
        let enough =
            |servers: &u32| self.excess_s(*servers, distribution) * iops <= SLACK * f64::from(*servers);
        (least..=MOST_SERVERS as u32).find(enough).unwrap_or(MOST_SERVERS as u32)
    }

    /// By how much a request of 4 KiB keeps its server longer than its work on average, because of slow answers.
    fn excess_s(self, servers: u32, distribution: Distribution) -> f64 {
        let time = self.time(servers);
        let moving = |bytes_per_s: f64| SHEET_REQUEST.get() as f64 / bytes_per_s;
        let slower = time.base.as_secs_f64() - time.work.as_secs_f64();
        let head_start = moving(time.work_bytes_per_s) - moving(time.bytes_per_s);
        // Work and answer scatter by the same factor, so that the answer is the later one above one factor alone.
        if slower <= 0.0 { 0.0 } else { slower * distribution.mean_above(head_start / slower) }
    }

    fn time(self, servers: u32) -> ServiceTime {
        let (request, servers) = (SHEET_REQUEST.get() as f64, f64::from(servers));
        // Sheets round: where 4 KiB at the stated IOPS are more than the stated throughput, the IOPS hold.
        let bytes_per_s = self.iops.map_or(self.bytes_per_s, |iops| self.bytes_per_s.max(iops * request));
        let base = (self.latency_s - request / bytes_per_s).max(0.0);
        let work_rate = bytes_per_s / servers;
        let work = self.iops.map_or(base, |iops| (servers / iops - request / work_rate).max(0.0));
        ServiceTime {
            base: Span::from_secs_f64(base).unwrap_or_default(),
            bytes_per_s,
            work: Span::from_secs_f64(work).unwrap_or_default(),
            work_bytes_per_s: work_rate,
        }
    }
}

/// Drives have no caps beyond what their service time gives.
pub(crate) fn no_limits() -> Limits {
    Limits {
        iops: None,
        bytes_per_s: None,
        burst: None,
        throughput_burst: None,
        quantum: SHEET_REQUEST,
        merge_sequential: false,
        compliance: None,
    }
}

/// A drive's capacity: what was asked for, if the drive holds that much.
pub(crate) fn checked_size(
    name: &str,
    asked: Option<Bytes>,
    default: Bytes,
    max: Bytes,
    overrides: &Overrides,
) -> Result<Bytes, CatalogueError> {
    let refused =
        |problem: String, remedy: String| CatalogueError::Refused { name: name.to_owned(), problem, remedy };
    if overrides.iops.is_some() || overrides.throughput.is_some() {
        let problem = "a drive has no provisioned iops or throughput".to_owned();
        return Err(refused(problem, "leave them out, or put a throttle above the drive".to_owned()));
    }
    let size = asked.unwrap_or(default);
    if size == Bytes::ZERO || size > max {
        let remedy = format!("leave size out for {default:#}, or set it to at most {max:#}");
        return Err(refused(format!("there is no such drive of {size:#}"), remedy));
    }
    Ok(size)
}

impl Device {
    pub(crate) fn resolve(
        &self,
        name: &str,
        size: Option<Bytes>,
        overrides: &Overrides,
    ) -> Result<Resolved, CatalogueError> {
        let size = checked_size(name, size, self.size.default.value, self.size.max.value, overrides)?;
        let (servers, read, write) = service_times(
            Sheet::of(&self.read, overrides.assumed),
            Sheet::of(&self.write, overrides.assumed),
            self.distribution.at(overrides.assumed),
        );
        let bytes = |figure: &Option<Figure<Bytes>>| figure.as_ref().map(|figure| figure.value);
        Ok(Resolved {
            name: name.to_owned(),
            size,
            limits: no_limits(),
            service: Service {
                read,
                write,
                flush: self.flush.value,
                servers,
                distribution: self.distribution.at(overrides.assumed),
                positioning: self.positioning(size),
                volatile_cache: bytes(&self.volatile_cache),
                max_transfer: bytes(&self.max_transfer),
                atomic_write_unit: bytes(&self.atomic_write_unit),
            },
            geometry: self.geometry.resolve(),
            shared_with: None,
            assumptions: assumptions(&self.read.latency, &self.write.latency, &self.distribution),
            caveats: Vec::new(),
        })
    }

    fn positioning(&self, size: Bytes) -> Option<Positioning> {
        let seek = |direction: &Direction| direction.seek.as_ref().map(|seek| seek.value);
        let half = |direction: &Direction| direction.half_turn.as_ref().map(|half| half.value.as_nanos());
        let moved = |direction: &Direction| {
            Some(Span::from_nanos(seek(direction)?.as_nanos().saturating_add(half(direction)?)))
        };
        let turn = Span::from_nanos(half(&self.write)?.saturating_mul(2));
        let queued = self.queued_positioning.as_ref().map_or(1.0, |figure| figure.value);
        Some(Positioning {
            read: moved(&self.read)?,
            write: moved(&self.write)?,
            read_seek: seek(&self.read)?,
            write_seek: seek(&self.write)?,
            span: size.max(self.size.default.value),
            turn,
            queued,
        })
    }

    /// The key and the mistake, if the figures contradict each other.
    pub(crate) fn problem(&self) -> Option<(String, &'static str)> {
        let own = |(key, problem): (&str, &'static str)| (format!("device.{key}"), problem);
        if self.size.default.value > self.size.max.value || self.size.default.value == Bytes::ZERO {
            return Some(own(("size", "default must be above zero and at most max")));
        }
        if self.queued_positioning.as_ref().is_some_and(|queued| !(0.01..=1.0).contains(&queued.value)) {
            return Some(own(("queued_positioning", "a share from 0.01 to 1 is left")));
        }
        (self.read.problem().map(|problem| ("read", problem)))
            .or_else(|| self.write.problem().map(|problem| ("write", problem)))
            .or_else(|| {
                distribution_problem(self.distribution.value).map(|problem| ("distribution", problem))
            })
            .or_else(|| self.geometry.problem())
            .map(own)
    }
}

impl Direction {
    fn problem(&self) -> Option<&'static str> {
        if self.throughput.value.get() == 0 {
            return Some("a throughput of zero would never end");
        }
        if self.iops.as_ref().is_some_and(|iops| iops.value.get() < 1.0) {
            return Some("iops must be at least 1");
        }
        if self.seek.is_some() != self.half_turn.is_some() {
            return Some("seek and half_turn belong together");
        }
        None
    }
}
