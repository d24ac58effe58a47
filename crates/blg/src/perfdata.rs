//! One object's block as winperf.h publishes it (PERF_DATA_BLOCK and what follows): every counter of every instance.

use crate::bytes::Bytes;
use crate::fault::Fault;
use crate::formula::{Point, Raw, Second, Type};
use crate::zone::{SECOND, filetime};

const NO_INSTANCES: i32 = -1;
const LEAST_DEFINITION: usize = 64;
const LEAST_COUNTER: usize = 40;
const LEAST_INSTANCE: usize = 24;
const WIDE: u32 = 0;

/// A PERF_DATA_BLOCK of one object.
pub(crate) struct Block {
    pub(crate) machine: String,
    /// FILETIME, local, to the millisecond.
    pub(crate) local: i64,
    /// FILETIME, UTC.
    pub(crate) utc: i64,
    /// Index of the object's name.
    pub(crate) object: u32,
    pub(crate) points: Vec<Point>,
    /// The parents of instances, an object's name index and the instance's position there; by position in `points`.
    pub(crate) instances: Vec<Instance>,
}

/// One instance of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) name: String,
    /// Index of the parent object's name and the parent's position among its instances.
    pub(crate) parent: Option<(u32, usize)>,
}

struct Clocks {
    ticks: (u64, f64),
    system: u64,
    object: (u64, f64),
}

struct Counter {
    name: u32,
    code: u32,
    size: usize,
    at: usize,
}

pub(crate) fn read(bytes: &Bytes<'_>) -> Result<Block, Fault> {
    if bytes.raw().get(..8) != Some(b"P\0E\0R\0F\0") {
        return Err(bytes.fault(0, "no block of performance data begins here"));
    }
    if bytes.u32(8)? != 1 {
        return Err(bytes.fault(8, "big-endian performance data are not understood"));
    }
    let (total, header) = (bytes.length(20)?, bytes.length(24)?);
    if total > bytes.len() || header < 88 || header > total {
        return Err(bytes.fault(20, format!("a block of {total} bytes with a header of {header}")));
    }
    if bytes.u32(28)? != 1 {
        return Err(bytes.fault(28, format!("{} objects in one block where one is expected", bytes.u32(28)?)));
    }
    let machine = bytes.text_of(bytes.length(84)?, bytes.length(80)?)?;
    let local = system_time(bytes, 36)?;
    let object = bytes.part(header, total - header)?;
    let clocks = Clocks {
        ticks: (bytes.u64(56)?, bytes.i64(64)? as f64),
        system: bytes.u64(72)?,
        object: (object.u64(48)?, object.i64(56)? as f64),
    };
    let mut block = Block {
        machine: format!(r"\\{machine}"),
        local,
        utc: bytes.i64(72)?,
        object: object.u32(12)?,
        points: Vec::new(),
        instances: Vec::new(),
    };
    block.instances(&object, &clocks)?;
    Ok(block)
}

impl Block {
    fn instances(&mut self, object: &Bytes<'_>, clocks: &Clocks) -> Result<(), Fault> {
        let (total, definition, header) = (object.length(0)?, object.length(4)?, object.length(8)?);
        if total > object.len() || header < LEAST_DEFINITION || definition < header || definition > total {
            return Err(
                object.fault(0, format!("an object of {total} bytes with definitions of {definition}"))
            );
        }
        let counters = counters(object, header, definition)?;
        let count = object.i32(40)?;
        if count == NO_INSTANCES {
            let values = object.part(definition, total - definition)?;
            return self.values(&values, &counters, clocks, "");
        }
        let wide = object.u32(44)? == WIDE;
        let mut at = definition;
        for _ in 0..u32::try_from(count).map_err(|_| object.fault(40, format!("{count} instances")))? {
            let length = object.length(at)?;
            if length < LEAST_INSTANCE {
                return Err(object.fault(at, format!("an instance of {length} bytes is too short")));
            }
            let instance = object.part(at, length)?;
            if !wide {
                return Err(object.fault(44, "instances named in an 8-bit code page are not understood"));
            }
            let name = instance.text_of(instance.length(16)?, instance.length(20)?)?;
            let parent = match instance.u32(4)? {
                0 => None,
                object => Some((object, instance.length(8)?)),
            };
            at += length;
            let values = object.part(at, object.len().min(total).saturating_sub(at))?;
            let size = values.length(0)?;
            if size < 4 {
                return Err(values.fault(0, format!("values of {size} bytes are too short")));
            }
            self.values(&values.part(0, size)?, &counters, clocks, &name)?;
            self.instances.push(Instance { name, parent });
            at += size;
        }
        Ok(())
    }

    fn values(
        &mut self,
        values: &Bytes<'_>,
        counters: &[Counter],
        clocks: &Clocks,
        instance: &str,
    ) -> Result<(), Fault> {
        for (position, counter) in counters.iter().enumerate() {
            let Some(known) = Type::of(counter.code) else { continue };
            let first = counter.read(values)?;
            let (second, frequency) = match known.second {
                Second::Ticks => clocks.ticks,
                Second::SystemTime => (clocks.system, SECOND as f64),
                Second::ObjectTime => clocks.object,
                Second::Base => {
                    let base = counters
                        .get(position + 1)
                        .ok_or_else(|| values.fault(counter.at, "a counter without its base"))?;
                    (base.read(values)?, clocks.ticks.1)
                }
            };
            self.points.push(Point {
                position: position as u32,
                name: counter.name,
                code: counter.code,
                instance: instance.to_owned(),
                instance_number: self.instances.len() as u32,
                raw: Raw { first, second, frequency },
            });
        }
        Ok(())
    }
}

impl Counter {
    fn read(&self, values: &Bytes<'_>) -> Result<u64, Fault> {
        match self.size {
            0..=4 => values.u32(self.at).map(u64::from),
            _ => values.u64(self.at),
        }
    }
}

fn counters(object: &Bytes<'_>, header: usize, definition: usize) -> Result<Vec<Counter>, Fault> {
    let mut counters = Vec::new();
    let mut at = header;
    let count = object.u32(32)?;
    for _ in 0..count {
        let length = object.length(at)?;
        if length < LEAST_COUNTER || at + length > definition {
            return Err(object.fault(at, format!("the definition of a counter of {length} bytes")));
        }
        counters.push(Counter {
            name: object.u32(at + 4)?,
            code: object.u32(at + 28)?,
            size: object.length(at + 32)?,
            at: object.length(at + 36)?,
        });
        at += length;
    }
    Ok(counters)
}

/// A SYSTEMTIME as FILETIME.
fn system_time(bytes: &Bytes<'_>, at: usize) -> Result<i64, Fault> {
    let field = |index: usize| bytes.u16(at + 2 * index);
    let (hour, minute, second, ms) = (field(4)?, field(5)?, field(6)?, field(7)?);
    let day_time = ((i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second)) * SECOND
        + i64::from(ms) * (SECOND / 1000);
    filetime(field(0)?, field(1)?, field(3)?, day_time)
        .ok_or_else(|| bytes.fault(at, "the time of a sample is no date"))
}
