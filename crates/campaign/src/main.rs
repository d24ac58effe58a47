//! `fathom-campaign [SECONDS] [FIRST_SEED]`: runs seeds and sequences until the time is over; prints each violation with
//! the line that repeats it, and what was checked. Exit status 1 if anything was found.

use std::process::ExitCode;

use fathom_campaign::stand::{Setup, setup_of};
use fathom_campaign::{Tally, life, scenarios, sequences};
use fathom_layers::writeback::Settings;
use fathom_runtime::{Nanos, SECOND, monotonic};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| match arguments.next().map(|text| text.parse()) {
        None => Some(usual),
        Some(Ok(number)) => Some(number),
        Some(Err(_)) => None,
    };
    let (Some(seconds), Some(first)) = (number(3600), number(1)) else {
        eprintln!("usage: fathom-campaign [SECONDS] [FIRST_SEED]");
        return ExitCode::from(2);
    };
    let begin = monotonic();
    let end = begin + seconds * SECOND;
    let mut tally = Tally::default();
    let mut found = 0_u64;
    for (name, case) in scenarios::ALL {
        report(
            case(&Setup::small(Settings::default())).map_err(|why| format!("case \"{name}\": {why}")),
            &mut found,
        );
    }
    let (mut seed, mut sequence) = (first, 0);
    let setup = sequences::setup(&Setup::small(Settings::default()));
    let mut told = begin;
    while monotonic() < end {
        report(life::lives(&setup_of(seed), seed, 3, 16, 1.0, &mut tally), &mut found);
        seed += 1;
        let until = (sequence + 40).min(sequences::count(5));
        for number in sequence..until {
            report(sequences::play(&setup, number, &mut tally), &mut found);
        }
        sequence = until;
        if monotonic() > told + 60 * SECOND {
            told = monotonic();
            tell(first, seed, sequence, &tally, told - begin, found);
        }
    }
    tell(first, seed, sequence, &tally, monotonic() - begin, found);
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(outcome: Result<(), String>, found: &mut u64) {
    if let Err(why) = outcome {
        *found += 1;
        println!("violation: {why}");
    }
}

fn tell(first: u64, seed: u64, sequence: u64, tally: &Tally, elapsed: Nanos, found: u64) {
    let per_hour = |count: u64| count * 3600 / (elapsed / SECOND).max(1);
    println!(
        "seeds {first}..{seed}, sequences 0..{sequence} of {}: {} crash states ({} an hour), {} cache losses ({} an hour), {} \
         crashes inside a recovery, {found} violations; go on with seed {seed}",
        sequences::count(5),
        tally.crashes,
        per_hour(tally.crashes),
        tally.losses,
        per_hour(tally.losses),
        tally.recoveries
    );
}
