//! Bugs made on purpose, one after the other: each must be seen by a case, a short sequence or a few lives.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fathom_layers::writeback::Settings;
use fathom_layers::writeback::mutation::{Mutation, mutate};

use crate::stand::{Setup, setup_of};
use crate::{Tally, cached, legs, life, scenarios, sequences};

/// How a bug was seen; None if it was not.
pub fn hunt(mutation: Mutation, seeds: u64) -> Option<String> {
    mutate(Some(mutation));
    let seen = battery(seeds);
    mutate(None);
    seen
}

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

fn battery(seeds: u64) -> Option<String> {
    let cases = scenarios::ALL.iter().find_map(|(name, case)| {
        let setup = Setup::small(Settings::default());
        complaint(|| case(&setup)).map(|why| format!("case \"{name}\": {why}"))
    });
    let lives = || {
        (1..=seeds).find_map(|seed| {
            let setup = setup_of(seed);
            complaint(|| life::lives(&setup, seed, 3, 12, 0.15, &mut Tally::default()))
        })
    };
    let short = || {
        let setup = sequences::setup(&Setup::small(Settings::default()));
        (0..sequences::count(2))
            .find_map(|number| complaint(|| sequences::play(&setup, number, &mut Tally::default())))
    };
    let cached = || {
        let blank = || cached::setup().blank();
        (0..2).find_map(|seed| complaint(|| cached::reads(blank(), seed, 1500).map(drop)))
    };
    let legs = || {
        let mut tally = Tally::default();
        complaint(|| legs::stumbles(&mut tally))
            .or_else(|| complaint(|| legs::deaths(&mut tally)))
            .or_else(|| (1..=6).find_map(|seed| complaint(|| legs::lives(seed, &mut tally))))
    };
    cases.or_else(short).or_else(legs).or_else(cached).or_else(lives)
}
