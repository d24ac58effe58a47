//! The read cache, and the scrub of the log.

use fathom_crash_tests::cached::{reads, setup};
use fathom_crash_tests::legs::{blank, build, settings};
use fathom_crash_tests::testbed::Testbed;
use fathom_runtime::{MILLISECOND, SECOND};

#[test]
fn what_is_read_is_what_was_written_last_and_often_comes_from_the_read_cache() {
    for seed in 0..4 {
        let (counts, image) = reads(setup().blank(), seed, 1500).unwrap_or_else(|why| panic!("{why}"));
        assert!(counts.cached_reads > 50 && counts.cached_lines > 10, "seed {seed}: {counts:?}");
        assert!(counts.log_reads > 50 && counts.origin_reads > 50, "seed {seed}: {counts:?}");
        // It starts cold: what the device still holds in its lines is not used.
        reads(image, seed + 100, 300).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn a_line_with_a_page_that_was_written_long_ago_is_cached() {
    let testbed = Testbed::group(&setup(), setup().blank(), setup().settings, 0, 1);
    testbed.open().expect("it opens");
    testbed.write_page(0, 0, 7).expect("it is written");
    let read = |page| assert_eq!(testbed.read_page(0, page), 0);
    // Not while it is dirty.
    (1..5).for_each(read);
    testbed.sleep(10 * MILLISECOND);
    assert_eq!(testbed.status().counts.cached_lines, 0);
    testbed.settle().expect("it works");
    (1..5).for_each(read);
    testbed.sleep(10 * MILLISECOND);
    read(3);
    let counts = testbed.status().counts;
    assert_eq!((counts.cached_lines, counts.cached_reads), (1, 1), "{counts:?}");
    assert_eq!(testbed.read_page(0, 0), 7, "the log answers first");
}

#[test]
fn damaged_lines_are_read_from_the_backing_volume() {
    let (_, mut image) = reads(setup().blank(), 1, 400).unwrap_or_else(|why| panic!("{why}"));
    let cache = setup().cache();
    let lines = image[cache].len() - (512 << 10);
    image[cache][lines..].fill(0xEE);
    reads(image, 2, 400).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_scrub_goes_over_the_dirty_log_counts_damage_and_mends_it() {
    let mut scrubbing = settings();
    scrubbing.scrub = Some(1 << 20);
    let pair = build(blank(), scrubbing, [false; 2]);
    pair.open().expect("it opens");
    pair.write_page(0, 1, 9).expect("it is written");
    pair.sleep(SECOND);
    let counts = pair.status().counts;
    // Each of two devices, 8 KiB a time, at 1 MiB/s: 128 rounds in a second.
    assert!((200 * 8192..=260 * 8192).contains(&counts.scrubbed_bytes), "{counts:?}");
    assert_eq!(counts.scrub_errors, 0);
    let whole = pair.image();
    let payload = whole[2].chunks(4096).position(|block| block[..8] == [9; 8]).expect("it is there") * 4096;
    // The payload, and the header before it.
    for (disk, at, errors) in [(2, payload, 1), (1, payload, 2), (1, payload - 4000, 3)] {
        pair.contents[disk].borrow_mut()[at] ^= 1;
        pair.sleep(20 * MILLISECOND);
        let counts = pair.status().counts;
        assert_eq!((counts.scrub_errors, counts.repaired_bytes), (errors, errors * 8192), "disk {disk}");
        assert!(pair.image() == whole, "disk {disk}");
    }
    assert_eq!(pair.read_page(0, 1), 9);
    pair.close().expect("the other device has it whole");
}
