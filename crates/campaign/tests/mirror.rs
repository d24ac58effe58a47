//! The short form of the mirror's crash campaign.

use fathom_campaign::Tally;
use fathom_campaign::mirror::{copies, life, scenarios};

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

#[cfg(feature = "mutations")]
#[test]
fn every_bug_made_on_purpose_in_the_mirror_is_seen() {
    use fathom_campaign::mirror::mutations::hunt;
    use fathom_layers::mirror::mutation::Mutation;

    std::panic::set_hook(Box::new(|_| {}));
    let only = std::env::var("FATHOM_MUTATION").ok();
    let chosen = Mutation::ALL
        .iter()
        .filter(|mutation| only.as_ref().is_none_or(|only| *only == format!("{mutation:?}")));
    let mut missed = Vec::new();
    for mutation in chosen {
        let seen = hunt(*mutation, 400);
        let how = seen.as_deref().unwrap_or("NOT SEEN");
        let first: String = how.lines().next().unwrap_or("").chars().take(160).collect();
        println!("| `{mutation:?}` | {} | {first} |", mutation.what());
        missed.extend(seen.is_none().then_some(*mutation));
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "{} bugs are not seen: {missed:?}", missed.len());
}
