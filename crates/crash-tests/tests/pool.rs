//! The short form of the pool's crash campaign.

use fathom_crash_tests::Tally;
use fathom_crash_tests::pool::{life, scenarios};

#[test]
fn every_directed_case_of_the_pool_holds() {
    for (name, case) in scenarios::ALL {
        case().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn every_power_cut_of_recorded_lives_leaves_what_a_disk_would() {
    let mut tally = Tally::default();
    let seeds = std::env::var("FATHOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(16);
    for seed in 1..=seeds {
        life::lives(seed, 3, 10, 0.2, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
    assert!(tally.crashes > 500 && tally.losses > 50, "{tally:?}");
}
