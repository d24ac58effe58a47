//! `fathom-chaos`: the test from outside. It starts the shipped `fathomd` on disks of its own, works, cuts the power, kills,
//! tampers with the devices, follows the advice of refusals, and compares what is there with what the docs promise.
//! docs/CHAOS.md has the rules.

#![allow(
    clippy::disallowed_methods,
    reason = "real processes and threads: the real clock, and nothing here runs in virtual time"
)]

mod campaign;
mod chance;
mod client;
mod clock;
mod daemon;
mod damage;
mod device;
mod disk;
mod failing;
mod kind;
mod life;
mod mishap;
mod oracle;
mod read_back;
mod remedy;
mod settings;
mod stack;
mod stall;
mod tally;
mod tamper;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use campaign::{Campaign, control};
use kind::{KINDS, Kind};
use stack::{Options, Shape};

/// Drives fathomd on disks that lose, tear and age, and compares what is there with what was promised.
///
/// Exit code 0: no violation; 1: one was found (or the control was not caught); 2: it cannot run.
#[derive(Debug, Parser)]
#[command(
    name = "fathom-chaos",
    version,
    after_help = "Example:\n  fathom-chaos --fathomd target/quick/fathomd --cycles 500 --seed 7 --keep found"
)]
pub struct Arguments {
    /// The daemon to be tested.
    #[arg(long)]
    fathomd: PathBuf,
    /// Of everything random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The life to begin with.
    #[arg(long, default_value_t = 0)]
    pub life: u64,
    /// So many cycles; whatever ends first counts.
    #[arg(long)]
    pub cycles: Option<u64>,
    /// So many hours.
    #[arg(long)]
    pub hours: Option<f64>,
    /// Where settings, log, devices and events of a violation are kept.
    #[arg(long)]
    pub keep: Option<PathBuf>,
    /// Goes on after a violation.
    #[arg(long)]
    pub go_on: bool,
    /// Only this is done to devices (may be given several times), such as stale-leg.
    #[arg(long, value_parser = kind_of)]
    only: Vec<Kind>,
    /// Only stacks of this shape: cache, own-ring, two-caches, pair, over-mirror, over-stripe, mirror, pool.
    #[arg(long, value_parser = shape_of)]
    shape: Option<Shape>,
    /// Only caches that hold tens of MiB of dirty log, where there is a cache.
    #[arg(long)]
    large: bool,
    /// Disks fail in each cycle, but not in lives on plain files.
    #[arg(long)]
    failing_disks: bool,
    /// So many lives at once; which choices a life makes does not depend on it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    at_once: u64,
    /// Leaves out the control: disks that lie about flushes or failed writes must be caught before anything else counts.
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
        ("pool", Shape::Pool(4)),
    ];
    let found = shapes.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, shape)| *shape)
        .ok_or_else(|| format!("there are {}", shapes.map(|(name, _)| name).join(", ")))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Ok(program) = arguments.fathomd.canonicalize() else {
        eprintln!("error: {}: not there; build it: cargo build -p fathomd", arguments.fathomd.display());
        return ExitCode::from(2);
    };
    let folder = std::env::temp_dir().join(format!("fathom-chaos-{}", std::process::id()));
    let options = Options {
        program,
        seed: arguments.seed,
        lies: false,
        hides: false,
        failing: arguments.failing_disks,
        kinds: arguments.only.clone(),
        shape: arguments.shape,
        large: arguments.large,
    };
    println!("seed {}", arguments.seed);
    stall::measure();
    if !arguments.no_control {
        match control(&options, &folder) {
            Ok(told) => println!("control: {told}"),
            Err(why) => {
                println!("control: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    let campaign = Campaign::new(options, folder.clone(), &arguments);
    std::thread::scope(|scope| {
        for worker in 0..arguments.at_once {
            let campaign = &campaign;
            scope.spawn(move || campaign.work(worker));
        }
    });
    let _ = std::fs::remove_dir(&folder);
    let progress = campaign.progress();
    campaign.report(&progress);
    if progress.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
