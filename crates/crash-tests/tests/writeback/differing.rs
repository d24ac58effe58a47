//! Volumes that do not hold what was put in place on them: other disks, disks that changed places, older copies, a part of a
//! stripe that is one. Beside a `ring` of its own nothing on a volume tells whose it is but the bytes of the last batch.

use fathom_crash_tests::crash::Image;
use fathom_crash_tests::group::Setup;
use fathom_crash_tests::testbed::Testbed;
use fathom_layers::writeback::Mode;
use fathom_volume::{Action, Setting};

use crate::bench::{lazy, opened, refusal};

const CODE: &str = "backing_differs";

fn beside_own_ring(volumes: usize) -> Setup {
    let mut setup = lazy();
    (setup.volumes, setup.own_ring) = (volumes, true);
    setup
}

/// On each volume page 0 is in place and page 1 is in the log only; before it, an earlier moment at which page 0 was another.
fn half_in_place(setup: &Setup) -> (Image, Image) {
    let testbed = opened(setup, setup.blank());
    let write = |page, byte| {
        for volume in 0..setup.volumes {
            testbed.write_page(volume, page, byte + volume as u8).expect("it is written");
        }
    };
    write(0, 10);
    testbed.settle().expect("it works");
    let older = testbed.image();
    write(0, 20);
    testbed.settle().expect("it works");
    write(1, 30);
    testbed.flush().expect("it is flushed");
    (older, testbed.image())
}

/// Refuses, also in the check; what it says.
fn refused(setup: &Setup, image: &Image) -> String {
    let why = refusal(setup, image.clone());
    let refused = why.refusal().expect("it has one");
    assert_eq!(refused.code, CODE, "{why}");
    assert!(refused.remedies[0].loses.is_none(), "{why}");
    assert!(matches!(refused.remedies[0].action, Action::BringBack { .. }), "{why}");
    let check = Testbed::check(setup, image.clone());
    assert!(!check.is_sound(), "{check}");
    why.to_string()
}

fn shows_everything(setup: &Setup, image: Image) {
    let testbed = opened(setup, image);
    for volume in 0..setup.volumes {
        let shown = [testbed.read_page(volume, 0), testbed.read_page(volume, 1)];
        assert_eq!(shown, [20 + volume as u8, 30 + volume as u8]);
    }
}

#[test]
fn disks_that_changed_places_are_named() {
    let setup = beside_own_ring(2);
    let (_, image) = half_in_place(&setup);
    let mut swapped = image.clone();
    swapped.swap(0, 1);
    let why = refused(&setup, &swapped);
    for words in ["`disk0` does not hold", "they are on `disk1`", "they are on `disk0`"] {
        assert!(why.contains(words), "{words} in {why}");
    }
    shows_everything(&setup, image);
}

#[test]
fn another_disk_or_an_older_copy_is_refused_and_may_be_taken_as_it_is() {
    for volumes in [1, 2] {
        let mut setup = beside_own_ring(volumes);
        let (older, image) = half_in_place(&setup);
        for which in 0..volumes {
            for other in [older[which].clone(), vec![0; image[which].len()]] {
                let (mut mixed, shown) = (image.clone(), other[0]);
                mixed[which] = other;
                let why = refused(&setup, &mixed);
                assert!(why.contains(&format!("`disk{which}` does not hold")), "{why}");
                // The way out that gives something up, to the letter.
                for (key, value) in keys(&setup, &mixed) {
                    match value {
                        Some(Setting::Flag(flag)) if key == "discard_cache" => {
                            setup.settings.discard_cache = flag;
                        }
                        Some(Setting::Count(count)) if key == "accept_loss" => {
                            setup.settings.accept_loss = Some(count);
                        }
                        _ => panic!("{key} {value:?}"),
                    }
                }
                let told = Testbed::check(&setup, mixed.clone()).findings;
                assert!(told.iter().any(|finding| finding.what.contains("go on with a loss")), "{told:?}");
                let testbed = opened(&setup, mixed);
                assert_eq!([testbed.read_page(which, 0), testbed.read_page(which, 1)], [shown, 0]);
                assert!(testbed.status().loss.is_some());
                testbed.write_page(which, 2, 9).expect("it is written");
                testbed.settle().expect("it works");
                // What accepted that loss accepts no later one.
                let mut again = testbed.image();
                again[which].fill(1);
                refused(&setup, &again);
                (setup.settings.discard_cache, setup.settings.accept_loss) = (false, None);
            }
        }
        shows_everything(&setup, image);
    }
}

fn keys(setup: &Setup, image: &Image) -> Vec<(&'static str, Option<Setting>)> {
    let why = refusal(setup, image.clone());
    let remedies = &why.refusal().expect("it has one").remedies;
    let keys = remedies.iter().find_map(|remedy| match &remedy.action {
        Action::Set { keys, .. } if remedy.loses.is_some() => Some(keys.clone()),
        _ => None,
    });
    keys.expect("there is a way to go on")
}

#[test]
fn a_volume_with_a_part_that_is_older_is_refused() {
    // As a stripe shows it of which a member is an older copy: not the one with the superblocks.
    let setup = lazy();
    let (older, image) = half_in_place(&setup);
    let mut mixed = image.clone();
    mixed[0][..4096].copy_from_slice(&older[0][..4096]);
    let why = refused(&setup, &mixed);
    assert!(why.contains("a stripe of which a member is one"), "{why}");
    shows_everything(&setup, image);
}

#[test]
fn a_damaged_piece_that_a_committed_batch_mends_is_no_other_disk() {
    let setup = beside_own_ring(1);
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 0, 20).expect("it is written");
    testbed.settle().expect("it works");
    let first = testbed.image();
    testbed.write_page(0, 0, 21).expect("it is written");
    testbed.write_page(0, 1, 30).expect("it is written");
    testbed.settle().expect("it works");
    // The batch is in the ring, and a part of it is in place: the superblock and the volume are from before it.
    let mut cut = testbed.image();
    let ring = setup.cache() + 1;
    cut[ring][..8192].copy_from_slice(&first[ring][..8192]);
    let cache = setup.cache();
    cut[cache][..8192].copy_from_slice(&first[cache][..8192]);
    cut[0][2048..4096].fill(20);
    let testbed = opened(&setup, cut);
    assert_eq!([testbed.read_page(0, 0), testbed.read_page(0, 1)], [21, 30]);
}

#[test]
fn volumes_that_nobody_owned_may_have_been_used_meanwhile() {
    let setup = beside_own_ring(2);
    let (_, image) = half_in_place(&setup);
    let testbed = opened(&setup, image);
    testbed.close().expect("it works");
    let mut image = testbed.image();
    image[0][..4096].fill(77);
    let testbed = opened(&setup, image);
    assert_eq!(testbed.read_page(0, 0), 77);
    testbed.write_page(0, 3, 78).expect("it is written");
    testbed.flush().expect("it is flushed");
    // No batch since: what was known before does not count any more.
    let testbed = opened(&setup, testbed.image());
    assert_eq!([testbed.read_page(0, 0), testbed.read_page(0, 3)], [77, 78]);
}

#[test]
fn in_mode_barrier_nothing_is_known() {
    let mut setup = beside_own_ring(1);
    let (_, image) = half_in_place(&setup);
    setup.settings.mode = Mode::Barrier;
    let testbed = opened(&setup, image);
    testbed.write_page(0, 0, 40).expect("it is written");
    testbed.settle().expect("it works");
    testbed.write_page(0, 0, 41).expect("it is written");
    testbed.flush().expect("it is flushed");
    let mut image = testbed.image();
    // As a batch leaves it that was not committed.
    image[0][..2048].fill(41);
    let testbed = opened(&setup, image);
    assert_eq!([testbed.read_page(0, 0), testbed.read_page(0, 1)], [41, 30]);
}
