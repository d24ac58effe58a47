//! What a claim is given: the volume, chance, and requests whose failure is already a sentence.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;

use fathom_runtime::{Context, Random};
use fathom_volume::{Error, Geometry, Handle, Kind, Pool, Request};

use crate::{Driver, Fixture};

/// Whether a claim holds; if not, what happened.
pub(crate) type Outcome = Result<(), String>;

/// A claim that runs.
pub(crate) type Running<'t> = Pin<Box<dyn Future<Output = Outcome> + 't>>;

/// One claim's volume and everything it may use. Cheap to clone, for tasks.
#[derive(Clone)]
pub(crate) struct Trial {
    pub volume: Handle,
    pub context: Context,
    pub pool: Pool,
    pub driver: Driver,
    keeps_data: bool,
}

impl Trial {
    pub fn new(fixture: &Fixture, volume: Handle, driver: Driver, keeps_data: bool) -> Self {
        Self {
            volume,
            context: fixture.env.context.clone(),
            pool: fixture.env.pool.clone(),
            driver,
            keeps_data,
        }
    }

    /// A stream of chance of its own.
    pub fn random(&self, name: &str) -> Chance {
        Chance(RefCell::new(self.context.random(name)))
    }

    pub fn geometry(&self) -> &Geometry {
        self.volume.geometry()
    }

    /// The logical sector, bytes.
    pub fn sector(&self) -> u64 {
        u64::from(self.geometry().logical_sector)
    }

    /// The longest read or write the volume takes, bytes: its largest transfer or its size, in whole sectors.
    pub fn longest(&self) -> u64 {
        let geometry = self.geometry();
        let longest = u64::from(geometry.max_transfer).min(geometry.size);
        longest - longest % self.sector()
    }

    /// Whether reads return what was written, so that it can be compared.
    pub fn reads_back(&self) -> bool {
        self.keeps_data && !self.pool.is_hollow()
    }

    pub async fn write(&self, offset: u64, bytes: &[u8], fua: bool) -> Outcome {
        let request = Request::new(offset, bytes.len() as u64).with_fua(fua);
        let buf = self.pool.copy_of(bytes);
        self.volume
            .write(request, buf)
            .await
            .map_err(|error| failed(Kind::Write, offset, bytes.len() as u64, &error))
    }

    /// The bytes of a range; zeroes if nobody may look.
    pub async fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, String> {
        let buf = self.pool.get(length as usize);
        // Bytes that the volume forgets to fill must not look right by chance.
        buf.with_mut(|bytes| bytes.fill(0xEE));
        let done = self.volume.read(Request::new(offset, length), buf.clone()).await;
        done.map_err(|error| failed(Kind::Read, offset, length, &error))?;
        Ok(if buf.has_bytes() { buf.with(<[u8]>::to_vec) } else { vec![0; length as usize] })
    }

    pub async fn flush(&self) -> Outcome {
        self.volume.flush(Request::flush()).await.map_err(|error| failed(Kind::Flush, 0, 0, &error))
    }

    pub async fn trim(&self, offset: u64, length: u64) -> Outcome {
        let done = self.volume.trim(Request::new(offset, length)).await;
        done.map_err(|error| failed(Kind::Trim, offset, length, &error))
    }

    pub async fn zero(&self, offset: u64, length: u64, fua: bool) -> Outcome {
        let done = self.volume.write_zeroes(Request::new(offset, length).with_fua(fua)).await;
        done.map_err(|error| failed(Kind::WriteZeroes, offset, length, &error))
    }
}

fn failed(kind: Kind, offset: u64, length: u64, error: &Error) -> String {
    format!("{} of {length} bytes at offset {offset} failed: {error}", kind.name())
}

/// A shared random stream.
pub(crate) struct Chance(RefCell<Random>);

impl Chance {
    pub fn below(&self, bound: u64) -> u64 {
        self.0.borrow_mut().below(bound)
    }

    /// Bytes of which no sector is all zeroes.
    pub fn bytes(&self, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        self.0.borrow_mut().fill(&mut bytes);
        bytes
    }

    /// A range of whole sectors within `0..size`, at most `longest` bytes: mostly short, often at a boundary of a
    /// larger unit, now and then as long as it may be.
    pub fn range(&self, size: u64, sector: u64, longest: u64) -> (u64, u64) {
        let sectors = match self.below(20) {
            0..8 => 1,
            8..14 => 1 + self.below(16),
            14..19 => 1 + self.below((256 << 10) / sector),
            _ => longest / sector,
        };
        let length = (sectors * sector).min(longest).min(size);
        let last = (size - length) / sector;
        let offset = match self.below(4) {
            // Just before, at, or just after a multiple of a power of two: sectors, chunks, transfers end there.
            0 => {
                let unit = sector << self.below(9);
                let boundary = self.below(size / unit + 1) * unit;
                (boundary.saturating_sub(sector) + self.below(3) * sector).min(last * sector)
            }
            1 if self.below(8) == 0 => last * sector,
            _ => self.below(last + 1) * sector,
        };
        (offset, length)
    }
}
