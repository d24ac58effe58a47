//! `fathom-chaos`: the test from outside. It starts the shipped `fathomd` on disks of its own, works, cuts the power, kills,
//! tampers with the devices, follows the advice of refusals, and compares what is there with what the docs promise.
//! docs/CHAOS.md has the rules.

#![allow(
    clippy::disallowed_methods,
    reason = "real processes and threads: the real clock, and nothing here runs in virtual time"
)]

mod chance;
mod client;
mod daemon;
mod disk;
mod life;
mod mishap;
mod oracle;
mod remedy;
mod stack;
mod tamper;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use life::{Life, Tally, Wanted};
use stack::Shape;
use tamper::{KINDS, Kind};

/// Cycles of one life.
const CYCLES: u64 = 6;
/// A control that is not caught in so many lives is not caught.
const CONTROL_LIVES: u64 = 40;

/// Drives fathomd on disks that lose, tear and age, and compares what is there with what was promised.
///
/// Exit code 0: no violation; 1: one was found (or the control was not caught); 2: it cannot run.
#[derive(Debug, Parser)]
#[command(
    name = "fathom-chaos",
    version,
    after_help = "Example:\n  fathom-chaos --fathomd target/quick/fathomd --cycles 500 --seed 7 --keep found"
)]
struct Arguments {
    /// The daemon to be tested.
    #[arg(long)]
    fathomd: PathBuf,
    /// Of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The life to begin with.
    #[arg(long, default_value_t = 0)]
    life: u64,
    /// So many cycles; whatever ends first counts.
    #[arg(long)]
    cycles: Option<u64>,
    /// So many hours.
    #[arg(long)]
    hours: Option<f64>,
    /// Where settings, log, devices and story of a violation are kept.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Goes on after a violation.
    #[arg(long)]
    go_on: bool,
    /// Only this is done to devices (may be given several times), such as stale-leg.
    #[arg(long, value_parser = kind_of)]
    only: Vec<Kind>,
    /// Only stacks of this shape: cache, own-ring, two-caches, pair, over-mirror, over-stripe, mirror.
    #[arg(long, value_parser = shape_of)]
    shape: Option<Shape>,
    /// Only caches that hold tens of MiB of dirty log, where there is a cache.
    #[arg(long)]
    large: bool,
    /// Leaves out the control: disks whose flushes lie must be caught before anything else counts.
    #[arg(long)]
    no_control: bool,
}

fn words(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn kind_of(text: &str) -> Result<Kind, String> {
    let named = |kind: Kind| words(&format!("{kind:?}"));
    let all = || KINDS.map(|(kind, _)| named(kind)).join(", ");
    let found = KINDS.into_iter().find(|(kind, _)| named(*kind) == text);
    found.map(|(kind, _)| kind).ok_or_else(|| format!("there are {}", all()))
}

fn shape_of(text: &str) -> Result<Shape, String> {
    let shapes = [
        ("cache", Shape::Cache),
        ("own-ring", Shape::OwnRing),
        ("two-caches", Shape::TwoCaches),
        ("pair", Shape::Pair),
        ("over-mirror", Shape::OverMirror(2)),
        ("over-stripe", Shape::OverStripe),
        ("mirror", Shape::Mirror(2)),
    ];
    let found = shapes.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, shape)| *shape)
        .ok_or_else(|| format!("there are {}", shapes.map(|(name, _)| name).join(", ")))
}

/// A violation, and how it came about.
struct Violation {
    life: u64,
    why: String,
    story: Vec<String>,
}

/// One life to its end.
fn live(
    wanted: &Wanted,
    number: u64,
    folder: &Path,
    keep: Option<&Path>,
    tally: &mut Tally,
) -> Option<Violation> {
    let _ = std::fs::remove_dir_all(folder);
    let made = std::fs::create_dir_all(folder).map_err(|error| error.to_string());
    let life = made.and_then(|()| Life::new(wanted, number, folder));
    let mut life = match life {
        Ok(life) => life,
        Err(why) => return Some(Violation { life: number, why, story: Vec::new() }),
    };
    let mut found = None;
    for cycle in 0..CYCLES {
        life.tell(format!("cycle {cycle}"));
        if let Err(why) = life.cycle() {
            let violation = Violation { life: number, why, story: std::mem::take(&mut life.story) };
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
    let place = keep.join(format!("seed-{}-life-{}", life.wanted.seed, violation.life));
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
    let text = format!("{}\n\n{}\n", violation.why, violation.story.join("\n"));
    std::fs::write(place.join("story"), text)?;
    println!("  kept in {}", place.display());
    Ok(())
}

/// Whether a disk whose flushes lie is seen.
fn control(wanted: &Wanted, folder: &Path) -> Result<String, String> {
    let wanted = Wanted { lies: true, shape: Some(Shape::Cache), ..wanted.clone() };
    let mut tally = Tally::default();
    for number in 0..CONTROL_LIVES {
        if let Some(found) = live(&wanted, number, folder, None, &mut tally) {
            return Ok(format!(
                "caught after {} cycles: {}",
                tally.cycles,
                found.why.lines().next().unwrap_or_default()
            ));
        }
    }
    Err(format!("disks whose flushes lie were not caught in {} cycles", tally.cycles))
}

fn report(tally: &Tally, violations: u64, begun: Instant, next: u64, seed: u64) {
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    println!(
        "{} cycles, {violations} violations ({:.0} a minute): {} starts, {} writes, {} flushes, {} power cuts, {} kills, {} stops, \
         {} mishaps, {} refusals; resume: make chaos SEED={seed} LIFE={next}",
        tally.cycles,
        tally.cycles as f64 / minutes.max(1e-6),
        tally.starts,
        tally.writes,
        tally.flushes,
        tally.cuts,
        tally.kills,
        tally.stops,
        tally.tampers,
        tally.refusals,
    );
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Ok(program) = arguments.fathomd.canonicalize() else {
        eprintln!("error: {}: not there; build it: cargo build -p fathomd", arguments.fathomd.display());
        return ExitCode::from(2);
    };
    let folder = std::env::temp_dir().join(format!("fathom-chaos-{}", std::process::id()));
    let wanted = Wanted {
        program,
        seed: arguments.seed,
        lies: false,
        kinds: arguments.only.clone(),
        shape: arguments.shape,
        large: arguments.large,
    };
    println!("seed {}", arguments.seed);
    if !arguments.no_control {
        match control(&wanted, &folder) {
            Ok(told) => println!("control: {told}"),
            Err(why) => {
                println!("control: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    let (cycles, hours) = match (arguments.cycles, arguments.hours) {
        (None, None) => (u64::MAX, 1.0),
        (cycles, hours) => (cycles.unwrap_or(u64::MAX), hours.unwrap_or(f64::MAX)),
    };
    let begun = Instant::now();
    let (mut told, mut violations, mut number) = (begun, 0, arguments.life);
    let mut tally = Tally::default();
    while tally.cycles < cycles && begun.elapsed().as_secs_f64() < hours * 3600.0 {
        if let Some(found) = live(&wanted, number, &folder, arguments.keep.as_deref(), &mut tally) {
            violations += 1;
            println!("VIOLATION in life {}, cycle {}: {}", found.life, tally.cycles, found.why);
            println!("  repeat: make chaos SEED={} LIFE={} CYCLES=1", arguments.seed, found.life);
            if !arguments.go_on {
                found.story.iter().for_each(|line| println!("  | {line}"));
                report(&tally, violations, begun, number + 1, arguments.seed);
                return ExitCode::FAILURE;
            }
        }
        number += 1;
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            report(&tally, violations, begun, number, arguments.seed);
        }
    }
    report(&tally, violations, begun, number, arguments.seed);
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
