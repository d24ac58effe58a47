//! Hunts: one injected bug after the other, which a case, a short sequence or a few lives must detect.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use fathom_crash_tests::group::{Setup, setup_of};
use fathom_crash_tests::{Tally, cached, legs, life, mirror, pool, scenarios, sequences, sharing};
use fathom_layers::bugs::{ALL, switch};
use fathom_layers::writeback::Settings;

/// Runs one trial; what it complains of, also if it is by a panic.
fn complaint(trial: impl FnOnce() -> Result<(), String>) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(trial)) {
        Ok(outcome) => outcome.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Some(format!("invariant: {text}"))
        }
    }
}

fn cases(all: &[(&str, fn() -> Result<(), String>)]) -> Option<String> {
    all.iter().find_map(|(name, case)| complaint(case).map(|why| format!("case \"{name}\": {why}")))
}

/// Prints what detects each bug of an area, one thread per processor. `FATHOM_BUG` chooses one by its name, or all from
/// one on: `NAME..`.
fn hunt(area: &str, battery: impl Fn() -> Option<String> + Sync) {
    std::panic::set_hook(Box::new(|_| {}));
    let only = std::env::var("FATHOM_BUG").ok();
    let from = only.as_deref().and_then(|text| text.strip_suffix(".."));
    let only = only.as_deref().filter(|_| from.is_none());
    let bugs = ALL
        .iter()
        .filter(|(of, ..)| *of == area)
        .skip_while(|(_, bug, _)| from.is_some_and(|from| from != *bug));
    let bugs = Mutex::new(bugs.filter(|(_, bug, _)| only.is_none_or(|only| only == *bug)));
    let missed: Mutex<Vec<&str>> = Mutex::default();
    let work = || {
        loop {
            let next = bugs.lock().expect("nobody panics with it").next();
            let Some((_, bug, what)) = next else { break };
            switch(Some(bug));
            let seen = battery();
            switch(None);
            let first = seen.as_deref().unwrap_or("NOT DETECTED").lines().next().unwrap_or("");
            println!("| `{bug}` | {what} | {} |", first.chars().take(160).collect::<String>());
            missed.lock().expect("nobody panics with it").extend(seen.is_none().then_some(bug));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let _ = std::panic::take_hook();
    let missed = missed.into_inner().expect("nobody panics with it");
    assert!(missed.is_empty(), "{} bugs are not detected: {missed:?}", missed.len());
}

#[test]
fn every_bug_in_the_cache_is_detected() {
    let directed = || {
        scenarios::ALL.iter().find_map(|(name, case)| {
            let setup = Setup::small(Settings::default());
            complaint(|| case(&setup)).map(|why| format!("case \"{name}\": {why}"))
        })
    };
    let short = || {
        let setup = sequences::setup(&Setup::small(Settings::default()));
        (0..sequences::count(2))
            .find_map(|number| complaint(|| sequences::play(&setup, number, &mut Tally::default())))
    };
    let legs = || {
        let mut tally = Tally::default();
        complaint(|| legs::failing_returns(&mut tally))
            .or_else(|| complaint(|| legs::failing_batches(&mut tally)))
            .or_else(|| (1..=6).find_map(|seed| complaint(|| legs::lives(seed, &mut tally))))
    };
    let cached = || {
        let blank = || cached::setup().blank();
        (0..2).find_map(|seed| complaint(|| cached::reads(blank(), seed, 1500).map(drop)))
    };
    let lives = || {
        (1..=40).find_map(|seed| {
            let setup = setup_of(seed);
            complaint(|| life::lives(&setup, seed, 3, 12, 0.15, &mut Tally::default()))
        })
    };
    hunt("cache", || directed().or_else(short).or_else(legs).or_else(cached).or_else(lives));
}

#[test]
fn every_bug_in_the_mirror_is_detected() {
    let old =
        || (1..=6).find_map(|seed| complaint(|| mirror::copies::lives(seed, 2, 0.1, &mut Tally::default())));
    let lives = || {
        (1..=400).find_map(|seed| complaint(|| mirror::life::lives(seed, 3, 10, 0.4, &mut Tally::default())))
    };
    hunt("mirror", || cases(mirror::scenarios::ALL).or_else(old).or_else(lives));
}

#[test]
fn every_bug_in_the_pool_is_detected() {
    let lives =
        || (1..=60).find_map(|seed| complaint(|| pool::life::lives(seed, 3, 10, 0.3, &mut Tally::default())));
    hunt("pool", || cases(pool::scenarios::ALL).or_else(lives));
}

#[test]
fn every_bug_in_the_sharing_is_detected() {
    hunt("share", || cases(sharing::ALL));
}
