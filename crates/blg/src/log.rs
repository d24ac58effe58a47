//! A log as series of values over time.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use crate::container::{Container, Facts};
use crate::fault::Fault;
use crate::formula::{Point, Raw, Type};
use crate::list::{self, Entry};
use crate::names::Names;
use crate::perfdata::Block;
use crate::record::{Joined, Kind};
use crate::sample::{self, Reading};
use crate::zone::{SECOND, to_utc, unix_ns};

/// The clock of a block and that of its event are at most so far apart.
const MOST_APART: i64 = 120 * SECOND;
const MINUTE: i64 = 60 * SECOND;
/// Time zones differ by multiples of so many minutes.
const QUARTER: i64 = 15;
/// No local clock goes back further than this when daylight saving ends.
const MOST_BACK: i64 = 2 * 60 * MINUTE;

/// One counter of one instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// With its two backslashes.
    pub machine: String,
    /// "PhysicalDisk"; in the language of the machine that wrote the log where that is all there is.
    pub object: String,
    /// "0 C:", "parent/name", "name#1"; empty for objects without instances.
    pub instance: String,
    /// "Avg. Disk sec/Read"; in the language that `object` is in.
    pub counter: String,
    /// Perflib's index of the object's and counter's names, the same in every language; 0 where the log has none.
    pub object_index: u32,
    /// See `object_index`.
    pub counter_index: u32,
    /// winperf.h's type.
    pub counter_type: u32,
}

/// Values of many series, in the order of time; columns of equal length.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Batch {
    /// Nanoseconds since 1970, UTC.
    pub time_ns: Vec<i64>,
    /// Position in `Log::series`.
    pub series: Vec<u32>,
    /// As Windows computes it from two samples.
    pub value: Vec<f64>,
}

/// A log that is read from its beginning to its end.
pub struct Log<R> {
    container: Container<R>,
    record: Joined,
    entries: Vec<Entry>,
    names: Names,
    numbers: BTreeMap<Series, u32>,
    series: Vec<Series>,
    /// By series: the sample before, if there was one.
    earlier: Vec<Option<Raw>>,
    /// UTC of the last sample, FILETIME.
    last: Option<i64>,
    samples: u64,
    /// Counter types met whose formula is not implemented, with how many series have them.
    unknown_types: BTreeMap<u32, u64>,
}

impl<R: Read + Seek> Log<R> {
    /// Opens a log and reads its buffers' headers.
    ///
    /// # Errors
    /// The file is no event trace file, is cut, compressed, or lacks buffers.
    pub fn open(file: R) -> Result<Log<R>, Fault> {
        Ok(Log {
            container: Container::open(file)?,
            record: Joined::default(),
            entries: Vec::new(),
            names: Names::default(),
            numbers: BTreeMap::new(),
            series: Vec::new(),
            earlier: Vec::new(),
            last: None,
            samples: 0,
            unknown_types: BTreeMap::new(),
        })
    }

    /// What the log says about itself.
    pub fn facts(&self) -> &Facts {
        &self.container.facts
    }

    /// Every series met so far; a batch names them by position.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Samples read so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Counter types met so far whose formula is not implemented, with the number of counters.
    pub fn unknown_types(&self) -> &BTreeMap<u32, u64> {
        &self.unknown_types
    }

    /// The values of the next samples, until `least` values are there or the log ends; None at its end.
    ///
    /// # Errors
    /// Something is damaged or not understood, with its offset. What earlier calls returned stays valid.
    pub fn batch(&mut self, least: usize) -> Result<Option<Batch>, Fault> {
        let mut batch = Batch::default();
        let before = self.samples;
        while batch.value.len() < least {
            let Some(kind) = self.record.next(&mut self.container)? else {
                if self.samples == 0 {
                    return Err(Fault::new(
                        0,
                        "an event trace file without a sample of performance counters",
                    ));
                }
                break;
            };
            match kind {
                Kind::Names => self.names.add(&self.record.bytes())?,
                Kind::Catalogue => {}
                Kind::List => {
                    let entries = list::read(&self.record.bytes())?;
                    if !self.entries.is_empty() && self.entries != entries {
                        return Err(self.record.bytes().fault(0, "a second list of counters that differs"));
                    }
                    self.entries = entries;
                }
                Kind::Sample => self.sample(&mut batch)?,
            }
        }
        Ok((self.samples > before).then_some(batch))
    }

    fn sample(&mut self, batch: &mut Batch) -> Result<(), Fault> {
        if self.entries.is_empty() {
            return Err(self.record.bytes().fault(0, "a sample before the list of counters"));
        }
        let readings = sample::read(&self.record.bytes(), &self.entries)?;
        let utc = self.time(&readings)?;
        let time_ns =
            unix_ns(utc).ok_or_else(|| self.record.bytes().fault(0, "a sample of no known century"))?;
        let parents = self.instances_of(&readings);
        for (position, reading) in readings.into_iter().enumerate() {
            match reading {
                Reading::Counters(_, points) => {
                    let entry = self.entries[position].clone();
                    for point in points {
                        let series = Series {
                            machine: entry.machine.clone(),
                            object: entry.object.clone(),
                            instance: point.instance.clone(),
                            counter: entry.counter.clone(),
                            object_index: 0,
                            counter_index: 0,
                            counter_type: point.code,
                        };
                        self.point(series, &point, time_ns, batch);
                    }
                }
                Reading::Object(block) => self.object(block, &parents, time_ns, batch),
            }
        }
        self.last = Some(utc);
        self.samples += 1;
        Ok(())
    }

    /// UTC of a sample as FILETIME. Records carry local time; an object's block carries UTC, too, and of counters those
    /// timed in 100 ns do.
    fn time(&self, readings: &[Reading]) -> Result<i64, Fault> {
        let bytes = self.record.bytes();
        for reading in readings {
            let local = match reading {
                Reading::Counters(local, _) => *local,
                Reading::Object(block) => block.local,
            };
            if (local - self.record.time).saturating_abs() > MOST_APART {
                return Err(bytes.fault(0, "a sample whose time is not that of its event"));
            }
        }
        let stated = readings.iter().find_map(|reading| match reading {
            Reading::Object(block) => Some(block.utc),
            Reading::Counters(_, points) => {
                points.iter().find(|point| is_system_time(point.code)).map(|point| point.raw.second as i64)
            }
        });
        let zone = &self.container.zone;
        let minutes = match stated.map(|utc| offset_minutes(utc, self.record.time)) {
            Some(Some(minutes)) => minutes,
            Some(None) => return Err(bytes.fault(0, "local time and UTC of a sample are no time zone apart")),
            None => i64::from(zone.bias(self.record.time)),
        };
        let utc = to_utc(self.record.time, minutes as i32);
        match self.last {
            Some(last) if utc < last => {
                let standard = to_utc(self.record.time, zone.standard);
                if stated.is_none() && standard >= last && standard - utc <= MOST_BACK {
                    return Ok(standard);
                }
                Err(bytes.fault(0, "a sample that is older than the one before"))
            }
            _ => Ok(utc),
        }
    }

    /// Names of every object's instances, by name index of the object, for those that have them as parents.
    fn instances_of(&self, readings: &[Reading]) -> BTreeMap<u32, Vec<String>> {
        let blocks = readings.iter().filter_map(|reading| match reading {
            Reading::Object(block) => Some(block),
            Reading::Counters(..) => None,
        });
        blocks
            .map(|block| (block.object, block.instances.iter().map(|one| one.name.clone()).collect()))
            .collect()
    }

    fn object(
        &mut self,
        block: Block,
        parents: &BTreeMap<u32, Vec<String>>,
        time_ns: i64,
        batch: &mut Batch,
    ) {
        let named = |names: &Names, index| {
            names.get(&block.machine, index).map_or_else(|| format!("#{index}"), str::to_owned)
        };
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let instances: Vec<String> = block
            .instances
            .iter()
            .map(|instance| {
                let full = match instance.parent.and_then(|(object, at)| parents.get(&object)?.get(at)) {
                    Some(parent) => format!("{parent}/{}", instance.name),
                    None => instance.name.clone(),
                };
                let twins = seen.entry(full.clone()).or_default();
                *twins += 1;
                if *twins == 1 { full } else { format!("{full}#{}", *twins - 1) }
            })
            .collect();
        let object = named(&self.names, block.object);
        for point in &block.points {
            let series = Series {
                machine: block.machine.clone(),
                object: object.clone(),
                instance: instances.get(point.instance_number as usize).cloned().unwrap_or_default(),
                counter: named(&self.names, point.name),
                object_index: block.object,
                counter_index: point.name,
                counter_type: point.code,
            };
            self.point(series, point, time_ns, batch);
        }
    }

    fn point(&mut self, series: Series, point: &Point, time_ns: i64, batch: &mut Batch) {
        let Some(known) = Type::of(point.code) else {
            if !self.numbers.contains_key(&series) {
                self.number(series);
                *self.unknown_types.entry(point.code).or_default() += 1;
            }
            return;
        };
        let number = match self.numbers.get(&series) {
            Some(number) => *number,
            None => self.number(series),
        };
        let earlier = self.earlier[number as usize].replace(point.raw);
        if earlier.is_none() && !known.is_instantaneous() {
            return;
        }
        if let Some(value) = known.value(earlier, point.raw) {
            batch.time_ns.push(time_ns);
            batch.series.push(number);
            batch.value.push(value);
        }
    }

    fn number(&mut self, series: Series) -> u32 {
        let number = self.series.len() as u32;
        self.numbers.insert(series.clone(), number);
        self.series.push(series);
        self.earlier.push(None);
        number
    }
}

/// Whether the second raw value of a type is the system's time in UTC.
fn is_system_time(code: u32) -> bool {
    Type::of(code).is_some_and(|known| known.second == crate::formula::Second::SystemTime)
}

/// Minutes from local time to UTC, rounded to what time zones differ by; None if that is no time zone.
fn offset_minutes(utc: i64, local: i64) -> Option<i64> {
    let minutes = (utc.checked_sub(local)? as f64 / MINUTE as f64 / QUARTER as f64).round() as i64 * QUARTER;
    let apart = utc - local - minutes * MINUTE;
    (minutes.abs() <= 15 * 60 && apart.abs() <= MOST_APART).then_some(minutes)
}
