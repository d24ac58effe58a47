//! The short form of the mirror's crash campaign.

use fathom_crash_tests::Tally;
use fathom_crash_tests::mirror::{copies, life, scenarios};

#[test]
fn every_directed_case_of_the_mirror_holds() {
    for (name, case) in scenarios::ALL {
        case().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn every_power_cut_of_recorded_lives_leaves_what_a_disk_would() {
    let mut tally = Tally::default();
    let seeds = std::env::var("FATHOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(24);
    for seed in 1..=seeds {
        life::lives(seed, 3, 10, 0.4, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
    assert!(tally.crashes > 500 && tally.losses > 5, "{tally:?}");
}

#[test]
fn an_old_copy_of_a_leg_from_any_earlier_moment_is_never_shown() {
    let mut tally = Tally::default();
    let seeds = std::env::var("FATHOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    for seed in 1..=seeds {
        copies::lives(seed, 3, 0.2, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
    assert!(tally.crashes > 500 && tally.losses == 0, "{tally:?}");
}
