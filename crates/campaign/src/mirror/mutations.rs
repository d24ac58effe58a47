//! Bugs made on purpose in the mirror: each must be seen by a case or by a few lives.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fathom_layers::mirror::mutation::{Mutation, mutate};

use super::{copies, life, scenarios};
use crate::Tally;

/// How a bug was seen; None if it was not.
pub fn hunt(mutation: Mutation, seeds: u64) -> Option<String> {
    mutate(Some(mutation));
    let cases = || {
        let mut all = scenarios::ALL.iter();
        all.find_map(|(name, case)| complaint(case).map(|why| format!("case \"{name}\": {why}")))
    };
    let lives =
        || (1..=seeds).find_map(|seed| complaint(|| life::lives(seed, 3, 10, 0.4, &mut Tally::default())));
    let old = || (1..=6).find_map(|seed| complaint(|| copies::lives(seed, 2, 0.1, &mut Tally::default())));
    let seen = cases().or_else(old).or_else(lives);
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
