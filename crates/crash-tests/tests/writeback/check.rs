//! The verifier: silent about what is sound, and it sees what an open would stumble over later.

use fathom_crash_tests::crash::{Image, Media, Policy};
use fathom_crash_tests::group::Setup;
use fathom_layers::writeback::record::Header;
use fathom_layers::writeback::{Report, Weight};
use fathom_runtime::{MILLISECOND, Random};

use fathom_crash_tests::testbed::Testbed;

use crate::bench::{lazy, opened};

/// Disks with a batch in place, and flushed writes beyond it.
fn disks(setup: &Setup) -> Image {
    let testbed = opened(setup, setup.blank());
    for page in 0..4 {
        testbed.write_page(0, page, 1).expect("it is written");
    }
    testbed.settle().expect("it works");
    for page in 0..2 {
        testbed.write_page(0, page, 2).expect("it is written");
        testbed.flush().expect("it works");
    }
    testbed.image()
}

/// Positions of the records on a cache device.
fn records(cache: &[u8]) -> Vec<usize> {
    (8192..cache.len()).step_by(4096).filter(|at| Header::decode(&cache[*at..at + 4096]).is_some()).collect()
}

fn tells(report: &Report, weight: Weight, what: &str) -> bool {
    report.findings.iter().any(|finding| finding.weight == weight && finding.what.contains(what))
}

#[test]
fn sound_devices_are_counted_and_nothing_is_found() {
    let setup = lazy();
    let found = Testbed::check(&setup, disks(&setup));
    assert_eq!(found.findings, [], "{found}");
    assert_eq!((found.owner, found.seq, found.log_seq), (1, 4, 6));
    assert_eq!((found.log_records, found.log_extents, found.log_bytes), (2, 2, 2 * 8192));
}

#[test]
fn blank_devices_are_noted_and_a_closed_group_needs_no_cache() {
    let setup = lazy();
    let blank = Testbed::check(&setup, setup.blank());
    assert!(blank.is_sound() && tells(&blank, Weight::Note, "not made yet"), "{blank}");
    let testbed = opened(&setup, disks(&setup));
    testbed.close().expect("it works");
    let closed = Testbed::check(&setup, setup.without_cache(&testbed.image()));
    assert!(closed.is_sound() && closed.owner == 0, "{closed}");
}

#[test]
fn each_flipped_bit_of_the_live_log_is_seen() {
    let setup = lazy();
    let image = disks(&setup);
    let all = records(&image[setup.cache()]);
    let live = &all[all.len() - 2..];
    for (index, record) in live.iter().enumerate() {
        for at in [record + 60, record + 4096, record + 8191] {
            let mut rotten = image.clone();
            rotten[setup.cache()][at] ^= 1;
            let found = Testbed::check(&setup, rotten);
            let flushed = index < 1;
            assert_eq!(!found.is_sound(), flushed, "bit of record {index} at {at}: {found}");
            let lost = index as u64 + 5;
            let told = format!("writes {lost} to {lost} were flushed and are nowhere else");
            assert_eq!(tells(&found, Weight::Wrong, &told), flushed && at >= record + 4096, "{found}");
        }
    }
}

#[test]
fn a_torn_superblock_is_noted_and_two_are_wrong() {
    let setup = lazy();
    let image = disks(&setup);
    for copy in 0..2 {
        let mut torn = image.clone();
        torn[setup.cache()][copy * 4096 + 50] ^= 1;
        let found = Testbed::check(&setup, torn);
        let name = format!("superblock {copy} of `disk1` is not whole");
        assert!(tells(&found, Weight::Note, &name), "{found}");
    }
    let mut torn = image;
    torn[setup.cache()][50] ^= 1;
    torn[setup.cache()][4096 + 50] ^= 1;
    assert!(!Testbed::check(&setup, torn).is_sound());
}

#[test]
fn a_missing_cache_is_wrong_and_its_remedy_is_told() {
    let setup = lazy();
    let found = Testbed::check(&setup, setup.without_cache(&disks(&setup)));
    assert!(tells(&found, Weight::Wrong, "accept_loss = 1"), "{found}");
    let mut accepting = setup.clone();
    accepting.settings.accept_loss = Some(1);
    let found = Testbed::check(&accepting, setup.without_cache(&disks(&setup)));
    assert!(found.is_sound() && tells(&found, Weight::Note, "say to go on"), "{found}");
}

#[test]
fn damage_in_the_redo_ring_is_seen() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    for page in 0..4 {
        testbed.write_page(0, page, 1).expect("it is written");
    }
    testbed.settle().expect("it works");
    // Power is cut when the batch is committed and the superblocks do not say yet that it is in place.
    let trace = testbed.trace.borrow().clone();
    let mut media = Media::new(&setup.blank());
    let (mut seen, mut first) = (0, None);
    for _ in &trace {
        media.step(&trace);
        let image = media.cut(Policy::KeepAll, &mut Random::new(1, "cut"));
        let found = Testbed::check(&setup, image.clone());
        if found.ring_batches == 1 && *first.get_or_insert(found.seq) == found.seq {
            seen += 1;
            assert!(found.is_sound(), "{found}");
            let mut rotten = image;
            let ring = setup.sectors * 512;
            rotten[0][ring + 2 * 4096 + 9] ^= 1;
            let found = Testbed::check(&setup, rotten);
            assert!(tells(&found, Weight::Wrong, "payload of batch 1"), "{found}");
        }
    }
    assert!(seen > 0, "there is such a moment");
}

#[test]
fn no_power_cut_leaves_anything_wrong() {
    let mut setup = lazy();
    setup.settings.lag_target = 3 * MILLISECOND;
    let testbed = opened(&setup, setup.blank());
    let mut random = Random::new(3, "cuts");
    for number in 0..24_u8 {
        testbed.write_page(0, random.below(4), number).expect("it is written");
        if random.chance(0.3) {
            testbed.flush().expect("it works");
        }
        testbed.sleep(random.below(2 * MILLISECOND));
    }
    let trace = testbed.trace.borrow().clone();
    let mut media = Media::new(&setup.blank());
    for index in 0..trace.len() {
        media.step(&trace);
        for policy in Policy::ALL {
            let found = Testbed::check(&setup, media.cut(policy, &mut random));
            assert!(found.is_sound(), "event {index}, {policy:?}: {found}");
        }
    }
}
