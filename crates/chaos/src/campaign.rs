//! Lives after each other, or some at once, until enough is done or a violation is found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Arguments;
use crate::life::Life;
use crate::stack::{Options, Shape};
use crate::tally::Tally;

/// Cycles of one life.
const CYCLES: u64 = 6;
/// A control that is not caught in so many lives is not caught.
const CONTROL_LIVES: u64 = 40;
/// Between two reports.
const REPORT: Duration = Duration::from_secs(20);

/// A violation, and how it came about.
struct Violation {
    life: u64,
    why: String,
    events: Vec<String>,
}

/// One life to its end.
fn live(
    options: &Options,
    number: u64,
    folder: &Path,
    keep: Option<&Path>,
    tally: &mut Tally,
) -> Option<Violation> {
    let _ = std::fs::remove_dir_all(folder);
    let made = std::fs::create_dir_all(folder).map_err(|error| error.to_string());
    let life = made.and_then(|()| Life::new(options, number, folder));
    let mut life = match life {
        Ok(life) => life,
        Err(why) => return Some(Violation { life: number, why, events: Vec::new() }),
    };
    let mut found = None;
    for cycle in 0..CYCLES {
        life.tell(format!("cycle {cycle}"));
        if let Err(why) = life.cycle() {
            let violation = Violation { life: number, why, events: std::mem::take(&mut life.events) };
            if let Some(keep) = keep
                && let Err(error) = keep_artifacts(&life, &violation, folder, keep)
            {
                eprintln!("{}: {error}", keep.display());
            }
            found = Some(violation);
            break;
        }
    }
    tally.add(&life.tally);
    drop(life);
    let _ = std::fs::remove_dir_all(folder);
    found
}

fn keep_artifacts(life: &Life, violation: &Violation, folder: &Path, keep: &Path) -> std::io::Result<()> {
    let place = keep.join(format!("seed-{}-life-{}", life.options.seed, violation.life));
    std::fs::create_dir_all(&place)?;
    for name in ["fathomd.toml", "log"] {
        if folder.join(name).exists() {
            std::fs::copy(folder.join(name), place.join(name))?;
        }
    }
    for device in &life.stack.devices {
        if let Ok(image) = device.image() {
            image.save(&place.join(format!("{}.img", device.name)))?;
        }
    }
    let text = format!("{}\n\n{}\n", violation.why, violation.events.join("\n"));
    std::fs::write(place.join("events"), text)?;
    println!("  kept in {}", place.display());
    Ok(())
}

/// Whether disks whose flushes lie, and disks that acknowledge writes that failed, are seen, under a cache and under a pool.
pub fn control(options: &Options, folder: &Path) -> Result<String, String> {
    let mut told = Vec::new();
    for (name, lies) in [("flushes", true), ("failed writes", false)] {
        for (volume, shape) in [("cache", Shape::Cache), ("pool", Shape::Pool(3))] {
            let options = Options { lies, hides: !lies, shape: Some(shape), ..options.clone() };
            let caught = control_of(&options, folder).map_err(|why| format!("{name}, {volume}: {why}"))?;
            told.push(format!("{name}, {volume}: {caught}"));
        }
    }
    Ok(told.join("; "))
}

fn control_of(options: &Options, folder: &Path) -> Result<String, String> {
    let mut tally = Tally::default();
    for number in 0..CONTROL_LIVES {
        if let Some(found) = live(options, number, folder, None, &mut tally) {
            return Ok(format!(
                "caught after {} cycles: {}",
                tally.cycles,
                found.why.lines().next().unwrap_or_default()
            ));
        }
    }
    Err(format!("disks that lie were not caught in {} cycles", tally.cycles))
}

/// How far a campaign is.
#[derive(Debug)]
pub struct Progress {
    tally: Tally,
    /// What was found.
    pub violations: u64,
    /// The life that nobody has begun.
    next: u64,
    /// Lives that are not over.
    running: BTreeSet<u64>,
    told: Instant,
}

/// A campaign.
#[derive(Debug)]
pub struct Campaign {
    options: Options,
    folder: PathBuf,
    keep: Option<PathBuf>,
    go_on: bool,
    cycles: u64,
    until: Option<Instant>,
    begun: Instant,
    progress: Mutex<Progress>,
}

impl Campaign {
    /// What the command line asks for; an hour if it does not say how much.
    pub fn new(options: Options, folder: PathBuf, arguments: &Arguments) -> Self {
        let begun = Instant::now();
        let hours = arguments.hours.or(if arguments.cycles.is_none() { Some(1.0) } else { None });
        let span = hours.map(|hours| Duration::try_from_secs_f64(hours * 3600.0).unwrap_or(Duration::MAX));
        let progress = Progress {
            tally: Tally::default(),
            violations: 0,
            next: arguments.life,
            running: BTreeSet::new(),
            told: begun,
        };
        Self {
            options,
            folder,
            keep: arguments.keep.clone(),
            go_on: arguments.go_on,
            cycles: arguments.cycles.unwrap_or(u64::MAX),
            until: span.and_then(|span| begun.checked_add(span)),
            begun,
            progress: Mutex::new(progress),
        }
    }

    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next life; None if the campaign is over.
    fn begin(&self) -> Option<u64> {
        let mut progress = self.progress();
        let is_over = progress.tally.cycles >= self.cycles
            || self.until.is_some_and(|until| Instant::now() >= until)
            || progress.violations > 0 && !self.go_on;
        if is_over {
            return None;
        }
        let number = progress.next;
        progress.next += 1;
        progress.running.insert(number);
        Some(number)
    }

    /// Plays lives until the campaign is over; `worker` numbers those that work at once.
    pub fn work(&self, worker: u64) {
        let folder = self.folder.join(worker.to_string());
        while let Some(number) = self.begin() {
            let mut tally = Tally::default();
            let found = live(&self.options, number, &folder, self.keep.as_deref(), &mut tally);
            let mut progress = self.progress();
            progress.running.remove(&number);
            progress.tally.add(&tally);
            if let Some(found) = found {
                progress.violations += 1;
                println!("VIOLATION in life {}, cycle {}: {}", found.life, progress.tally.cycles, found.why);
                println!("  repeat: make chaos SEED={} LIFE={} CYCLES=1", self.options.seed, found.life);
                if !self.go_on {
                    found.events.iter().for_each(|line| println!("  | {line}"));
                }
            }
            if progress.told.elapsed() > REPORT {
                progress.told = Instant::now();
                self.report(&progress);
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
    }

    /// Says how far it is.
    pub fn report(&self, progress: &Progress) {
        let minutes = self.begun.elapsed().as_secs_f64() / 60.0;
        let Tally { cycles, starts, refusals, writes, flushes, cuts, kills, stops, tampers, failing, errors } =
            progress.tally;
        println!(
            "{cycles} cycles, {} violations ({:.0} a minute): {starts} starts, {writes} writes, {flushes} flushes, {cuts} power \
             cuts, {kills} kills, {stops} stops, {tampers} mishaps, {refusals} refusals, {failing} failing disks with {errors} \
             errors to clients; resume: make chaos SEED={} LIFE={}",
            progress.violations,
            cycles as f64 / minutes.max(1e-6),
            self.options.seed,
            progress.running.first().unwrap_or(&progress.next),
        );
    }
}
