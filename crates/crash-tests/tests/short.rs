//! The short form of the crash campaign; `make crash-campaign` runs the long one.

use std::sync::Mutex;
use std::thread;

use fathom_crash_tests::group::{Setup, setup_of};
use fathom_crash_tests::{Tally, apart, life, scenarios, sequences};
use fathom_layers::writeback::{Mode, Settings};
use fathom_runtime::Random;

#[test]
fn every_directed_case_holds() {
    for (name, case) in scenarios::ALL {
        case(&Setup::small(Settings::default())).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn older_volumes_of_a_group_are_told_at_many_moments() {
    let (setup, mut random) = (Setup::small(Settings::default()), Random::new(6, "volumes apart"));
    apart::put_back(&setup, &mut random, 0.08).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn users_and_destaging_share_a_volume() {
    for (name, case) in fathom_crash_tests::sharing::ALL {
        case().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn every_power_cut_of_recorded_lives_leaves_a_prefix() {
    let seeds = Mutex::new(1..=24);
    let tally = Mutex::new(Tally::default());
    let work = || {
        let next = || seeds.lock().expect("nobody panics with it").next();
        while let Some(seed) = next() {
            let mut mine = Tally::default();
            life::lives(&setup_of(seed), seed, 3, 12, 0.5, &mut mine).unwrap_or_else(|why| panic!("{why}"));
            tally.lock().expect("nobody panics with it").add(mine);
        }
    };
    // By far the longest of these tests: two processors share it.
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let tally = tally.into_inner().expect("nobody panics with it");
    println!("{tally:?}");
    assert!(tally.crashes > 1000 && tally.losses > 1000 && tally.recoveries > 100);
}

#[test]
fn mode_barrier_survives_every_power_cut_with_its_cache() {
    let mut tally = Tally::default();
    for seed in 1..=6 {
        let mut setup = setup_of(seed);
        setup.settings.mode = Mode::Barrier;
        life::lives(&setup, seed, 2, 12, 0.5, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn every_sequence_of_three_operations_holds() {
    let mut tally = Tally::default();
    let setup = sequences::setup(&Setup::small(Settings::default()));
    for number in 0..sequences::count(3) {
        sequences::play(&setup, number, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
}

#[cfg(feature = "sql")]
#[test]
fn a_database_is_sound_after_every_power_cut_and_every_loss_of_the_cache() {
    let mut tally = Tally::default();
    for seed in 1..=12 {
        fathom_crash_tests::sql::lives(seed, 2, 12, 8, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
    assert!(tally.databases > 300 && tally.losses > 100);
}
