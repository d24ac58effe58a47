//! `fathom-crash-tests`: plays seeds and sequences until the time is over; prints each violation with the seed that repeats it,
//! the progress, and the options that resume it. Exit status 1 if anything was found.
//!
//! Options: `--hours H` or `--seconds S` (one hour), `--seed N` and `--sequence N` (where to begin), `--seeds N` (stop after
//! that many seeds), `--threads N` (one per processor), `--only PART` (`lives`, `damage`, `legs`, `pool` or `databases` of each
//! seed, and no sequences).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use fathom_crash_tests::group::{Setup, setup_of};
use fathom_crash_tests::{Tally, damage, legs, life, pool, scenarios, sequences};
use fathom_layers::writeback::{Mode, Settings};
use fathom_runtime::{Nanos, SECOND, monotonic};

const USAGE: &str = "usage: fathom-crash-tests [--hours H | --seconds S] [--seed N] [--sequence N] [--seeds N] [--threads N] \
     [--only lives|damage|legs|pool|databases]";
/// Sequences that are played beside one seed.
const SEQUENCES_EACH: u64 = 40;

/// What the command line asks for.
struct Plan {
    seconds: f64,
    seed: u64,
    sequence: u64,
    seeds: u64,
    threads: usize,
    only: Option<String>,
}

impl Plan {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut plan = Self { seconds: 3600.0, seed: 1, sequence: 0, seeds: u64::MAX, threads, only: None };
        while let Some(option) = arguments.next() {
            let value = arguments.next()?;
            match option.as_str() {
                "--hours" => plan.seconds = value.parse::<f64>().ok()? * 3600.0,
                "--seconds" => plan.seconds = value.parse().ok()?,
                "--seed" => plan.seed = value.parse().ok()?,
                "--sequence" => plan.sequence = value.parse().ok()?,
                "--seeds" => plan.seeds = value.parse().ok()?,
                "--threads" => plan.threads = value.parse().ok().filter(|threads| *threads > 0)?,
                "--only" if ["lives", "damage", "legs", "pool", "databases"].contains(&value.as_str()) => {
                    plan.only = Some(value);
                }
                _ => return None,
            }
        }
        (plan.seconds > 0.0 && plan.seconds.is_finite()).then_some(plan)
    }

    fn has(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }
}

/// How far the campaign is. A seed that was begun is played to its end.
struct Progress {
    begin: Nanos,
    told: Nanos,
    first: u64,
    seed: u64,
    sequence: u64,
    tally: Tally,
    found: u64,
}

impl Progress {
    fn report(&mut self, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.found += 1;
            println!("violation: {why}");
        }
    }

    fn tell(&self) {
        let elapsed = monotonic() - self.begin;
        let per_hour =
            |count: u64| u128::from(count) * 3600 * u128::from(SECOND) / u128::from(elapsed.max(1));
        let Tally { crashes, losses, recoveries, databases } = self.tally;
        println!(
            "{} s: seeds {}..{}, sequences 0..{} of {}: {crashes} crash states ({} an hour), {losses} cache losses ({} an hour), \
             {recoveries} crashes inside a recovery, {databases} databases opened, {} violations; resume with --seed {} \
             --sequence {}",
            elapsed / SECOND,
            self.first,
            self.seed,
            self.sequence,
            sequences::count(5),
            per_hour(crashes),
            per_hour(losses),
            self.found,
            self.seed,
            self.sequence,
        );
    }
}

fn main() -> ExitCode {
    let Some(plan) = Plan::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let begin = monotonic();
    let end = begin + (plan.seconds * SECOND as f64) as Nanos;
    let mut progress = Progress {
        begin,
        told: begin,
        first: plan.seed,
        seed: plan.seed,
        sequence: plan.sequence,
        tally: Tally::default(),
        found: 0,
    };
    println!(
        "from seed {} and sequence {} on, {} threads, {} s",
        plan.seed, plan.sequence, plan.threads, plan.seconds
    );
    for (name, case) in scenarios::ALL {
        let outcome = whole(|| case(&Setup::small(Settings::default())));
        progress.report(outcome.map_err(|why| format!("case \"{name}\": {why}")));
    }
    for (name, case) in pool::scenarios::ALL {
        progress.report(whole(case).map_err(|why| format!("case \"{name}\": {why}")));
    }
    for part in [legs::failing_returns, legs::failing_batches] {
        let outcome = whole(|| part(&mut progress.tally));
        progress.report(outcome);
    }
    let progress = Mutex::new(progress);
    thread::scope(|scope| {
        for _ in 0..plan.threads {
            scope.spawn(|| work(&plan, &progress, end));
        }
    });
    let progress = progress.into_inner().expect("the lock is never poisoned");
    progress.tell();
    if progress.found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays seeds, each with some sequences, until the time or the seeds are over.
fn work(plan: &Plan, progress: &Mutex<Progress>, end: Nanos) {
    let lock = || progress.lock().expect("the lock is never poisoned");
    let setup = sequences::setup(&Setup::small(Settings::default()));
    loop {
        let (seed, from, until) = {
            let mut progress = lock();
            if monotonic() >= end || progress.seed - plan.seed >= plan.seeds {
                return;
            }
            if monotonic() > progress.told + 60 * SECOND {
                progress.told = monotonic();
                progress.tell();
            }
            let (seed, from) = (progress.seed, progress.sequence);
            progress.seed += 1;
            let more = if plan.has("sequences") { SEQUENCES_EACH } else { 0 };
            progress.sequence = (from + more).min(sequences::count(5));
            (seed, from, progress.sequence)
        };
        let mut lives = setup_of(seed);
        if seed % 8 == 7 {
            lives.settings.mode = Mode::Barrier;
        }
        if plan.has("lives") {
            try_one(progress, |tally| life::lives(&lives, seed, 3, 16, 1.0, tally));
        }
        if plan.has("damage") && seed % 4 == 0 {
            try_one(progress, |tally| damage::lives(seed, tally));
        }
        if plan.has("legs") {
            try_one(progress, |tally| legs::lives(seed, tally));
        }
        if plan.has("pool") {
            try_one(progress, |tally| pool::life::lives(seed, 3, 12, 0.3, tally));
        }
        #[cfg(feature = "sql")]
        if plan.has("databases") {
            try_one(progress, |tally| fathom_crash_tests::sql::lives(seed, 3, 20, 30, tally));
        }
        for number in from..until {
            try_one(progress, |tally| sequences::play(&setup, number, tally));
        }
    }
}

fn try_one(progress: &Mutex<Progress>, trial: impl FnOnce(&mut Tally) -> Result<(), String>) {
    let mut tally = Tally::default();
    let outcome = whole(|| trial(&mut tally));
    let mut progress = progress.lock().expect("the lock is never poisoned");
    progress.tally.add(tally);
    progress.report(outcome);
}

/// A panic is a violation too: an invariant of the layer.
fn whole(trial: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(trial)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(format!("invariant: {text}"))
    })
}
