//! Adopting a full volume, changing sizes after a planned stop, and leaving the cache again.

use fathom_crash_tests::crash::Image;
use fathom_crash_tests::group::{PAGE, Setup};

use crate::bench::{lazy, opened, refusal};

/// A volume that was in use without a cache.
fn in_use(setup: &Setup) -> Image {
    let mut image = setup.blank();
    image[0].chunks_mut(PAGE as usize).enumerate().for_each(|(page, bytes)| bytes.fill(page as u8 + 100));
    image
}

#[test]
fn a_full_volume_is_adopted_with_a_ring_of_its_own_and_is_plain_again_after_a_close() {
    let mut setup = lazy();
    let why = refusal(&setup, in_use(&setup)).to_string();
    assert!(why.contains("to adopt `disk0`"), "{why}");
    setup.own_ring = true;
    let image = in_use(&setup);
    let size = image[0].len();
    let testbed = opened(&setup, image.clone());
    assert_eq!(testbed.volumes[0].geometry().size, size as u64, "all of it is shown");
    assert_eq!((testbed.read_page(0, 0), testbed.read_page(0, 3)), (100, 103));
    testbed.write_page(0, 1, 7).expect("it is written");
    testbed.close().expect("it works");
    let mut expected = image;
    expected[0][PAGE as usize..2 * PAGE as usize].fill(7);
    assert!(testbed.image()[0] == expected[0], "the volume alone is what users saw, byte for byte");
}

#[test]
fn without_a_ring_of_its_own_the_user_s_part_is_plain_after_a_close() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    for page in 0..4 {
        testbed.write_page(0, page, page as u8 + 1).expect("it is written");
    }
    testbed.close().expect("it works");
    let user = &testbed.image()[0][..4 * PAGE as usize];
    assert!(
        user.chunks(PAGE as usize).zip(1..).all(|(bytes, byte)| bytes.iter().all(|found| *found == byte))
    );
}

#[test]
fn the_cache_grows_and_shrinks_after_planned_stops() {
    let mut setup = lazy();
    let mut image = setup.blank();
    for (turn, segments) in [64_usize, 160, 24, 64].into_iter().enumerate() {
        setup.segments = segments;
        image[setup.cache()].resize((8 << 10) + segments * (16 << 10), 0);
        let testbed = opened(&setup, image);
        let byte = turn as u8 + 1;
        // Also after a restart that was not planned.
        testbed.write_page(0, 1, byte).expect("it is written");
        let testbed = opened(&setup, testbed.image());
        assert_eq!(testbed.read_page(0, 1), byte);
        if turn > 0 {
            assert_eq!(testbed.read_page(0, 2), byte - 1, "what the last turn left");
        }
        testbed.write_page(0, 2, byte).expect("it is written");
        testbed.close().expect("it works");
        image = testbed.image();
    }
}

#[test]
fn a_size_that_changes_while_the_log_is_dirty_is_refused_with_the_one_it_had() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let mut other = setup.clone();
    other.settings.size = Some(512 << 10);
    let why = refusal(&other, testbed.image()).to_string();
    assert!(why.contains("size = \"1032KiB\""), "{why}");
}
