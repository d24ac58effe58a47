//! The streams against theory.

use fathom_runtime::Runtime;
use fathom_volume::{Handle, Kind};

use super::{Operation, Source, sources};
use crate::io::profile::{AddressPattern, Profile, Spread};
use crate::testing::Timed;
use fathom_job::draw::Sizes;
use fathom_job::draw::statistics::chi_square_sigma;

const SIZE: u64 = 1 << 30;

fn disk(name: &str) -> Handle {
    Timed::new(SIZE, 0).handle(&Runtime::virtual_time(0).context(), name)
}

fn streams(profile: &Profile, volumes: usize) -> Vec<Vec<Source>> {
    let volumes: Vec<Handle> = (0..volumes).map(|index| disk(&format!("disk{index}"))).collect();
    sources(profile, &volumes, 1, "test").expect("the profile suits the volume")
}

fn draw(profile: &Profile, count: usize) -> Vec<Operation> {
    let source = &mut streams(profile, 1)[0][0];
    (0..count).map(|_| source.next()).collect()
}

fn share(operations: &[Operation], test: impl Fn(&Operation) -> bool) -> f64 {
    operations.iter().filter(|operation| test(operation)).count() as f64 / operations.len() as f64
}

#[test]
fn the_mix_is_the_mix_asked_for() {
    let profile = Profile { read: 0.7, trim: 0.05, ..Profile::default() };
    let operations = draw(&profile, 400_000);
    for (kind, expected) in [(Kind::Read, 0.7), (Kind::Trim, 0.05), (Kind::Write, 0.25)] {
        let got = share(&operations, |operation| operation.kind == kind);
        assert!((got - expected).abs() < 0.003, "{kind:?}: {got}");
    }
}

#[test]
fn a_share_of_all_or_nothing_is_exact() {
    for (read, kind) in [(1.0, Kind::Read), (0.0, Kind::Write)] {
        let profile = Profile { read, ..Profile::default() };
        assert!(draw(&profile, 100_000).iter().all(|operation| operation.kind == kind));
    }
}

#[test]
fn random_places_are_uniform_and_reach_both_ends() {
    let profile = Profile { length: Some(100 * 4096), start: 8192, ..Profile::default() };
    let operations = draw(&profile, 1_000_000);
    let mut counts = [0_u64; 100];
    operations.iter().for_each(|operation| counts[((operation.offset - 8192) / 4096) as usize] += 1);
    let sigma = chi_square_sigma(&counts, &[10_000.0; 100]);
    assert!(sigma.abs() < 5.0, "{sigma} sigma");
}

#[test]
fn every_request_lies_in_the_area_whatever_its_size() {
    let sizes = Sizes::weighted(&[(512, 1.0), (8192, 1.0), (1 << 20, 1.0)]).expect("sound weights");
    for places in [
        AddressPattern::Random,
        AddressPattern::Sequential,
        AddressPattern::SharedSequential,
        AddressPattern::Zipf(0.99),
        AddressPattern::HotSpot { requests: 0.9, space: 0.1 },
    ] {
        let profile = Profile {
            read: 0.5,
            read_sizes: sizes.clone(),
            write_sizes: sizes.clone(),
            places,
            start: 4096,
            length: Some((3 << 20) + 512),
            ..Profile::default()
        };
        for operation in draw(&profile, 50_000) {
            assert!(operation.offset >= 4096 && operation.offset % 512 == 0, "{places:?}: {operation:?}");
            assert!(
                operation.offset + operation.length <= 4096 + (3 << 20) + 512,
                "{places:?}: {operation:?}"
            );
        }
    }
}

#[test]
fn sequential_requests_follow_each_other_and_wrap_round() {
    let profile =
        Profile { places: AddressPattern::Sequential, length: Some(4 * 4096), ..Profile::default() };
    let offsets: Vec<u64> = draw(&profile, 6).iter().map(|operation| operation.offset / 4096).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 0, 1]);
}

#[test]
fn users_of_a_worker_share_its_place_and_workers_do_not_unless_asked() {
    let profile =
        Profile { places: AddressPattern::Sequential, workers: 2, outstanding: 2, ..Profile::default() };
    let mut own = streams(&profile, 1);
    assert_eq!((own[0][0].next().offset, own[0][1].next().offset), (0, 4096));
    assert_eq!(own[1][0].next().offset, SIZE / 2);
    let mut shared = streams(&Profile { places: AddressPattern::SharedSequential, ..profile }, 1);
    assert_eq!((shared[0][0].next().offset, shared[1][0].next().offset), (0, 4096));
}

#[test]
fn workers_take_the_volumes_by_turns_or_draw_among_all() {
    let profile = Profile { workers: 5, places: AddressPattern::Sequential, ..Profile::default() };
    let mut streams_of_one = streams(&profile, 2);
    let names: Vec<String> =
        streams_of_one.iter().map(|users| users[0].volume(0).name().to_owned()).collect();
    assert_eq!(names, ["disk0", "disk1", "disk0", "disk1", "disk0"]);
    // Three workers share the first volume, two the second.
    let starts: Vec<u64> = streams_of_one.iter_mut().map(|users| users[0].next().offset).collect();
    assert_eq!(starts, [0, 0, SIZE / 3 / 4096 * 4096, SIZE / 2, SIZE / 3 / 4096 * 4096 * 2]);

    let all = Profile { spread: Spread::All, ..Profile::default() };
    let source = &mut streams(&all, 4)[0][0];
    let mut counts = [0_u64; 4];
    (0..100_000).for_each(|_| counts[source.next().volume] += 1);
    assert!(chi_square_sigma(&counts, &[25_000.0; 4]).abs() < 5.0, "{counts:?}");
}

#[test]
fn a_hot_spot_draws_its_share() {
    let profile =
        Profile { places: AddressPattern::HotSpot { requests: 0.8, space: 0.2 }, ..Profile::default() };
    let operations = draw(&profile, 200_000);
    let hot = share(&operations, |operation| operation.offset < SIZE / 5);
    assert!((hot - 0.8).abs() < 0.005, "{hot}");
    // Both halves of the hot space alike, and both halves of the rest.
    let first = share(&operations, |operation| operation.offset < SIZE / 10);
    let last = share(&operations, |operation| operation.offset >= SIZE / 5 * 3);
    assert!((first - 0.4).abs() < 0.005 && (last - 0.1).abs() < 0.005, "{first} {last}");
}

#[test]
fn zipf_is_popular_in_scattered_places() {
    let profile = Profile { places: AddressPattern::Zipf(0.99), ..Profile::default() };
    let operations = draw(&profile, 300_000);
    let mut counts = std::collections::BTreeMap::<u64, u64>::new();
    operations.iter().for_each(|operation| *counts.entry(operation.offset / 4096).or_default() += 1);
    let mut ranked: Vec<(u64, u64)> = counts.into_iter().map(|(block, count)| (count, block)).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    // The first rank's share is 1 / H(n, theta).
    let blocks = SIZE / 4096;
    let harmonic: f64 = (1..=blocks).map(|rank| (rank as f64).powf(-0.99)).sum();
    let expected = 300_000.0 / harmonic;
    assert!((ranked[0].0 as f64 / expected - 1.0).abs() < 0.05, "{} for {expected}", ranked[0].0);
    let spread =
        ranked[..8].iter().map(|(_, block)| block / (blocks / 8)).collect::<std::collections::BTreeSet<_>>();
    assert!(spread.len() >= 4, "the eight most popular blocks lie in {} eighths of the volume", spread.len());
}

#[test]
fn two_users_draw_different_streams_and_a_seed_repeats_them() {
    let profile = Profile { workers: 2, outstanding: 2, ..Profile::default() };
    let offsets = |mut streams: Vec<Vec<Source>>| -> Vec<Vec<u64>> {
        streams.iter_mut().flatten().map(|source| (0..50).map(|_| source.next().offset).collect()).collect()
    };
    let (once, again) = (offsets(streams(&profile, 1)), offsets(streams(&profile, 1)));
    assert_eq!(once, again);
    assert!((0..4).all(|a| (0..a).all(|b| once[a] != once[b])));
}
