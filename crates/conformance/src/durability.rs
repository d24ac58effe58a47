//! The claim about power cuts: what a completed flush or FUA write promised is there, and nothing is there that
//! nobody wrote; an aligned write up to the atomic size is there as a whole or not at all.
//!
//! Every sector written carries its sequence number and its offset. After a cut a sector may show the last write that
//! was promised, or any later one; which of them it shows becomes the promise of the next life.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::{MICROSECOND, MILLISECOND, Random, within};
use fathom_volume::Geometry;

use crate::trial::{Chance, Outcome, Trial};
use crate::{Driver, Fixture, PowerCut, Suite};

pub(crate) const NAME: &str = "flushed-writes-survive-a-power-cut";

/// Workers at once; each has plots of its own.
const WORKERS: u64 = 12;
/// Aligned writes of this size are watched for tearing, if the volume says that it never tears them.
const WATCHED: u32 = 16 << 10;
/// The sequence number of a sector that may show anything.
const ANYTHING: u64 = u64::MAX;

pub(crate) fn check(suite: &Suite<'_>, driver: Driver, seed: u64) -> Outcome {
    let mut random = Random::new(seed, "power cuts");
    let runtime = driver.runtime(seed)?;
    let first = Fixture::new(&runtime.context(), suite.pool(&runtime, true), seed);
    let geometry = suite.open(&first)?.geometry().clone();
    if !first.has_disks() && !suite.reopens {
        return Ok(());
    }
    let history = Rc::new(RefCell::new(History::of(&geometry)));
    let lives = if driver == Driver::Virtual { 8 } else { 3 };
    let cuts = [PowerCut::DropAll, PowerCut::Random, PowerCut::KeepAll, PowerCut::Random];
    for (life, cut) in (0..lives).zip(cuts.into_iter().cycle()) {
        // A volume without bench disks is left in peace: its requests are answered and it is built again.
        let abrupt = first.has_disks();
        live(suite, driver, &first, &history, (seed.wrapping_add(life), abrupt))
            .map_err(|why| format!("life {life}: {why}"))?;
        if abrupt {
            first.power_cut(cut, &mut random);
        } else {
            history.borrow_mut().promise_completed();
        }
    }
    Ok(())
}

/// One life: opens the volume, checks what it holds, works, and stops.
fn live(
    suite: &Suite<'_>,
    driver: Driver,
    first: &Fixture,
    history: &Rc<RefCell<History>>,
    (seed, abrupt): (u64, bool),
) -> Outcome {
    let runtime = driver.runtime(seed)?;
    let fixture = first.on(&runtime.context(), suite.pool(&runtime, true));
    let trial = Trial::new(&fixture, suite.open(&fixture)?, driver, true);
    let work = async {
        verify(&trial, history).await?;
        trial.flush().await?;
        let chance = trial.random("moment");
        let requests = if abrupt { u64::MAX } else { 100 };
        let start = |worker| trial.context.spawn(work(trial.clone(), Rc::clone(history), worker, requests));
        let tasks: Vec<_> = (0..WORKERS).map(start).collect();
        if abrupt {
            trial.context.sleep(chance.below(4 * MILLISECOND) + 200 * MICROSECOND).await;
        }
        // Where the power is cut, only a worker that met an error is done.
        for task in tasks.into_iter().filter(|task| !abrupt || task.is_done()) {
            task.await?;
        }
        Ok(())
    };
    match runtime.block_on(within(&runtime.context(), driver.patience(), work)) {
        Err(deadlock) => Err(deadlock.to_string()),
        Ok(None) => Err("it is stuck".to_owned()),
        Ok(Some(outcome)) => outcome,
    }
}

/// Writes, zeroes, trims and flushes plots of its own.
async fn work(trial: Trial, history: Rc<RefCell<History>>, worker: u64, requests: u64) -> Outcome {
    let chance = trial.random(&format!("worker {worker}"));
    for _ in 0..requests {
        let plot = history.borrow().plot(&chance, worker);
        let (first, count) = if plot.whole { (plot.first, plot.count) } else { plot.part(&chance) };
        let sector = trial.sector();
        let (offset, length) = (first * sector, count * sector);
        let fua = chance.below(4) == 0;
        match chance.below(if plot.whole { 11 } else { 16 }) {
            0 | 1 => {
                let seen = history.borrow().completed.clone();
                trial.flush().await?;
                history.borrow_mut().promise(&seen);
            }
            2..=10 => {
                let sequence = history.borrow_mut().begin(first, count, None);
                trial.write(offset, &stamps(sequence, first, count, sector), fua).await?;
                history.borrow_mut().end(first, count, sequence, fua);
            }
            11..=13 => {
                let sequence = history.borrow_mut().begin(first, count, Some(0));
                trial.zero(offset, length, fua).await?;
                history.borrow_mut().end(first, count, sequence, fua);
            }
            _ => {
                let sequence = history.borrow_mut().begin(first, count, Some(ANYTHING));
                trial.trim(offset, length).await?;
                history.borrow_mut().end(first, count, sequence, false);
            }
        }
    }
    Ok(())
}

/// Reads everything, and takes what is there for what was promised.
async fn verify(trial: &Trial, history: &Rc<RefCell<History>>) -> Outcome {
    let (size, sector) = (trial.geometry().size, trial.sector());
    let mut offset = 0;
    while offset < size {
        let read = trial.read(offset, trial.longest().min(size - offset).min(1 << 20)).await?;
        for (index, bytes) in read.chunks(sector as usize).enumerate() {
            history.borrow_mut().found(offset / sector + index as u64, bytes)?;
        }
        offset += read.len() as u64;
    }
    history.borrow().check_tears()
}

/// Sectors of one worker, in a row.
struct Plot {
    first: u64,
    count: u64,
    // Only ever written as a whole, and never torn.
    whole: bool,
}

impl Plot {
    fn part(&self, chance: &Chance) -> (u64, u64) {
        let from = chance.below(self.count);
        (self.first + from, 1 + chance.below(self.count - from))
    }
}

/// One write of one sector that it may show.
#[derive(Debug, Clone, Copy)]
struct Version {
    sequence: u64,
    // What it holds: a sequence number, 0 for zeroes, ANYTHING.
    content: u64,
}

/// What each sector may show.
struct History {
    // First the promised version, then later ones.
    versions: Vec<Vec<Version>>,
    // Sequence number of the last completed write.
    completed: Vec<u64>,
    // What each sector showed when it was last looked at.
    shown: Vec<u64>,
    next: u64,
    // Sectors per watched unit; 1 if nothing is watched.
    unit: u64,
    // Bytes that a power cut may tear apart: a sector, or less where the volume says so.
    grain: usize,
}

impl History {
    fn of(geometry: &Geometry) -> Self {
        let sectors = (geometry.size / u64::from(geometry.logical_sector)) as usize;
        let watched = geometry.atomic_write.min(WATCHED).max(geometry.logical_sector);
        Self {
            versions: vec![vec![Version { sequence: 0, content: ANYTHING }]; sectors],
            completed: vec![0; sectors],
            shown: vec![ANYTHING; sectors],
            next: 1,
            unit: u64::from(watched / geometry.logical_sector),
            grain: geometry.atomic_write.min(geometry.logical_sector) as usize,
        }
    }

    /// A plot of that worker. One third of the volume is divided into watched units, one into plots of a few sectors,
    /// one into longer ones; neighbouring plots belong to different workers.
    fn plot(&self, chance: &Chance, worker: u64) -> Plot {
        let third = self.completed.len() as u64 / 3 / self.unit * self.unit;
        let regions = [(0, self.unit, true), (third, 3, false), (2 * third, 40, false)];
        let usable = regions.into_iter().filter(|(_, count, _)| third / count >= WORKERS);
        let usable: Vec<_> = usable.collect();
        assert!(!usable.is_empty(), "the volume is too small for {WORKERS} workers");
        let (start, count, whole) = usable[chance.below(usable.len() as u64) as usize];
        let index = chance.below(third / count / WORKERS) * WORKERS + worker;
        Plot { first: start + index * count, count, whole }
    }

    fn begin(&mut self, first: u64, count: u64, content: Option<u64>) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let version = Version { sequence, content: content.unwrap_or(sequence) };
        self.versions[first as usize..][..count as usize].iter_mut().for_each(|sector| sector.push(version));
        sequence
    }

    fn end(&mut self, first: u64, count: u64, sequence: u64, fua: bool) {
        for sector in first as usize..(first + count) as usize {
            self.completed[sector] = sequence;
            if fua {
                self.promise_one(sector, sequence);
            }
        }
    }

    fn promise_one(&mut self, sector: usize, sequence: u64) {
        self.versions[sector].retain(|version| version.sequence >= sequence);
    }

    /// A flush sent when these were completed has returned.
    fn promise(&mut self, seen: &[u64]) {
        (0..seen.len()).for_each(|sector| self.promise_one(sector, seen[sector]));
    }

    /// Nothing can be lost.
    fn promise_completed(&mut self) {
        let seen = self.completed.clone();
        self.promise(&seen);
    }

    /// A sector shows these bytes.
    fn found(&mut self, sector: u64, bytes: &[u8]) -> Outcome {
        let index = sector as usize;
        let versions = &self.versions[index];
        let shows = |version: &&Version, part: Range<usize>| match version.content {
            ANYTHING => true,
            content => bytes[part.clone()] == stamp(content, sector, bytes.len())[part],
        };
        let whole = versions.iter().rev().find(|version| shows(version, 0..bytes.len())).copied();
        let grains = || (0..bytes.len()).step_by(self.grain).map(|start| start..start + self.grain);
        let torn = || grains().all(|part| versions.iter().any(|version| shows(&version, part.clone())));
        let version = match whole {
            Some(version) => version,
            // What is left of two writes is not looked at again until it is written.
            None if torn() => Version { sequence: self.next - 1, content: ANYTHING },
            None => {
                let allowed: Vec<u64> = versions.iter().map(|version| version.content).collect();
                let shown = describe(bytes);
                return Err(format!(
                    "sector {sector} shows {shown}, and must show one of {allowed:?} (0: zeroes)"
                ));
            }
        };
        self.shown[index] = version.content;
        self.versions[index] = vec![version];
        self.completed[index] = version.sequence;
        Ok(())
    }

    /// Every watched unit shows one write.
    fn check_tears(&self) -> Outcome {
        let units = self.shown.len() / 3 / self.unit as usize;
        for (index, unit) in self.shown.chunks(self.unit as usize).take(units).enumerate() {
            if unit.iter().any(|content| *content != unit[0]) {
                let first = index as u64 * self.unit;
                return Err(format!(
                    "an aligned write of {} sectors at sector {first} is torn: {unit:?}",
                    self.unit
                ));
            }
        }
        Ok(())
    }
}

/// The bytes of one write.
fn stamps(sequence: u64, first: u64, count: u64, sector: u64) -> Vec<u8> {
    (first..first + count).flat_map(|index| stamp(sequence, index, sector as usize)).collect()
}

/// One sector: sequence number and offset, repeated; all zeroes for sequence 0.
fn stamp(sequence: u64, sector: u64, length: usize) -> Vec<u8> {
    if sequence == 0 {
        return vec![0; length];
    }
    let words = [sequence, sector].map(u64::to_le_bytes).concat();
    words.into_iter().cycle().take(length).collect()
}

fn describe(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) {
        return "zeroes".to_owned();
    }
    let word =
        |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight bytes"));
    let (sequence, sector) = (word(0), word(8));
    if bytes == stamp(sequence, sector, bytes.len()) {
        return format!("write {sequence} of sector {sector}");
    }
    "bytes that nobody wrote as a sector".to_owned()
}
