//! Two cache devices: either may be lost, at work or between two opens; one that missed writes never counts.

use std::rc::Rc;

use fathom_crash_tests::Tally;
use fathom_crash_tests::group::PAGE;
use fathom_crash_tests::legs::{
    LEGS, PAGES, blank, build, failing_batches, failing_returns, lives, opened, settings, without,
};
use fathom_crash_tests::testbed::Disks;
use fathom_layers::writeback::{Config, Durability, Settings, groups};
use fathom_runtime::{MILLISECOND, Random};
use fathom_volume::Blueprint;

#[test]
fn every_power_cut_of_two_devices_leaves_what_was_promised() {
    let mut tally = Tally::default();
    for seed in 1..=6 {
        lives(seed, &mut tally).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{tally:?}");
    assert!(tally.crashes > 300 && tally.losses > 600 && tally.recoveries > 20, "{tally:?}");
}

#[test]
fn either_leg_may_be_gone_at_the_start_and_nothing_is_lost() {
    let pair = opened(blank());
    for page in 0..4 {
        pair.write_page(0, page, 7).expect("it is written");
    }
    for leg in LEGS {
        let anew = opened(without(&pair.image(), leg));
        assert!((0..4).all(|page| anew.read_page(0, page) == 7), "without disk {leg}");
        assert_eq!(anew.status().loss, None);
        let dead = build(pair.image(), settings(), [leg == 1, leg == 2]);
        dead.open().expect("one is enough");
        assert!((0..4).all(|page| dead.read_page(0, page) == 7), "with disk {leg} dead");
        assert_eq!(dead.standings()[leg - 1], "behind");
    }
    let none = without(&without(&pair.image(), 1), 2);
    let refused = build(none, settings(), [false; 2]).open().expect_err("both are gone");
    assert!(refused.to_string().contains("accept_loss = 1"), "{refused}");
}

#[test]
fn a_leg_that_dies_at_work_is_left_out_and_never_counts_again_by_itself() {
    for leg in LEGS {
        let pair = opened(blank());
        pair.write_page(0, 1, 1).expect("it is written");
        pair.faults[leg].gone.set(true);
        pair.write_page(0, 1, 2).expect("the other one takes it");
        pair.flush().expect("the other one takes it");
        assert_eq!(pair.standings()[leg - 1], "behind");
        assert_eq!((pair.read_page(0, 1), pair.status().counts.legs_lost), (2, 1));
        // It is back at the next open, and the other one is lost: what it lacks is lost, and that must be said.
        let other = 3 - leg;
        let refused =
            build(without(&pair.image(), other), settings(), [false; 2]).open().expect_err("it is behind");
        assert!(refused.to_string().contains("missed writes"), "{refused}");
        // With the other one it is brought what it lacks.
        let anew = opened(pair.image());
        anew.sleep(100 * MILLISECOND);
        assert_eq!((anew.standings(), anew.read_page(0, 1)), (["current", "current"], 2));
        let alone = opened(without(&anew.image(), other));
        assert_eq!(alone.read_page(0, 1), 2);
    }
}

#[test]
fn the_last_leg_is_not_left_out() {
    let pair = opened(blank());
    pair.faults[1].gone.set(true);
    pair.write_page(0, 1, 1).expect("the other one takes it");
    pair.faults[2].gone.set(true);
    assert!(pair.write_page(0, 1, 2).is_err());
    assert!(pair.flush().is_err());
}

#[test]
fn a_returning_leg_gets_what_is_written_while_it_is_copied_to() {
    for seed in 0..12 {
        let mut random = Random::new(seed, "returning");
        let pair = opened(blank());
        let mut expected = [0_u8; PAGES as usize];
        for _ in 0..3 {
            let page = random.below(PAGES);
            expected[page as usize] = random.below(200) as u8 + 1;
            pair.write_page(0, page, expected[page as usize]).expect("it is written");
        }
        let gone = LEGS[seed as usize % 2];
        let anew = opened(without(&pair.image(), gone));
        for _ in 0..2 {
            let page = random.below(PAGES);
            expected[page as usize] = random.below(200) as u8 + 1;
            anew.write_page(0, page, expected[page as usize]).expect("it is written");
        }
        let mut patience = 1000;
        while anew.standings() != ["current"; 2] {
            anew.sleep(MILLISECOND);
            patience -= 1;
            assert!(patience > 0, "seed {seed}: it counts again");
        }
        let alone = opened(without(&anew.image(), 3 - gone));
        for page in 0..PAGES {
            assert_eq!(alone.read_page(0, page), expected[page as usize], "seed {seed}, page {page}");
        }
    }
}

#[test]
fn a_leg_lost_while_it_returns_was_never_counted() {
    let pair = opened(blank());
    for page in 0..4 {
        pair.write_page(0, page, 5).expect("it is written");
    }
    let anew = opened(without(&pair.image(), 2));
    // At once: before the copy is done. The leg that had everything is lost then.
    assert_eq!(anew.standings(), ["current", "returning"]);
    let refused =
        build(without(&anew.image(), 1), settings(), [false; 2]).open().expect_err("it is not whole");
    assert!(refused.to_string().contains("accept_loss"), "{refused}");
}

#[test]
fn a_leg_that_fails_while_it_returns_counts_only_with_everything_that_was_answered() {
    failing_returns(&mut Tally::default()).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn a_leg_that_dies_at_any_moment_of_a_batch_is_left_out() {
    failing_batches(&mut Tally::default()).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn a_leg_is_shown_as_current_when_it_may_be_the_only_one() {
    let pair = opened(blank());
    pair.write_page(0, 1, 5).expect("it is written");
    for leg in LEGS {
        let anew = opened(without(&pair.image(), leg));
        assert!(anew.are_both_back());
        assert_eq!(opened(without(&anew.image(), 3 - leg)).read_page(0, 1), 5);
    }
}

#[test]
fn a_leg_that_lacks_the_end_of_the_log_keeps_what_it_has() {
    let pair = opened(blank());
    pair.write_page(0, 1, 9).expect("it is written");
    pair.flush().expect("it is durable");
    let mut image = pair.image();
    pair.write_page(0, 2, 8).expect("it is written");
    // Disk 2 lost the last write in a power cut; the first one has rotted on disk 1.
    image[1] = pair.image().swap_remove(1);
    let at = image[1].chunks(4096).position(|block| block[..8] == [9; 8]).expect("it is there") * 4096;
    image[1][at] ^= 1;
    let anew = opened(image);
    assert!(anew.are_both_back());
    assert_eq!((anew.read_page(0, 1), anew.read_page(0, 2)), (9, 8));
    assert_eq!(opened(without(&anew.image(), 1)).read_page(0, 2), 8);
}

#[test]
fn damage_on_one_leg_is_read_around_and_mended() {
    let pair = opened(blank());
    pair.write_page(0, 1, 9).expect("it is written");
    for leg in LEGS {
        let mut image = pair.image();
        let at =
            image[leg].chunks(4096).position(|block| block[..8] == [9; 8]).expect("the payload is there")
                * 4096;
        image[leg][at] ^= 1;
        let anew = opened(image);
        assert_eq!(anew.read_page(0, 1), 9);
    }
    // Found while it is open.
    let mut mended = 0;
    let at = pair.image()[1].chunks(4096).position(|block| block[..8] == [9; 8]).expect("it is there") * 4096;
    for leg in LEGS {
        let whole = pair.image();
        pair.contents[leg].borrow_mut()[at] ^= 1;
        assert_eq!(pair.read_page(0, 1), 9);
        pair.sleep(MILLISECOND);
        let is_read_first = pair.image() == whole;
        mended += u64::from(is_read_first);
        pair.contents[leg].borrow_mut()[at] = 9;
    }
    assert_eq!(mended, 1, "one of the two is read first");
    let counts = pair.status().counts;
    assert_eq!((counts.checksum_errors, counts.repaired_bytes), (1, PAGE));
}

#[test]
fn a_leg_that_cannot_be_read_is_written_anew_or_left_out() {
    let pair = opened(blank());
    pair.write_page(0, 1, 9).expect("it is written");
    // Whichever is read first.
    for leg in LEGS {
        pair.faults[leg].gone.set(true);
        assert_eq!(pair.read_page(0, 1), 9);
        pair.sleep(MILLISECOND);
        if pair.standings()[leg - 1] == "behind" {
            let refused = build(without(&pair.image(), 3 - leg), settings(), [false; 2]).open();
            assert!(refused.is_err_and(|why| why.to_string().contains("missed writes")));
            return;
        }
        pair.faults[leg].gone.set(false);
    }
    panic!("no device was met by the reads");
}

#[test]
fn one_leg_alone_can_be_opened_with_durability_cache_and_the_other_is_stale_then() {
    let pair = opened(blank());
    pair.write_page(0, 1, 3).expect("it is written");
    let disks = Disks::new(pair.image(), 1);
    let mut children = disks.handles(3, "disk", u64::MAX, 20_000);
    children.remove(1);
    let single = Settings { durability: Durability::Cache, ..settings() };
    let volume = Config::new("disk0", "disk2", single).build(&disks.env, "data", children).expect("it fits");
    let node = Rc::clone(&groups(&disks.env)[0]);
    let alone = disks.with(vec![volume], node);
    alone.write_page(0, 1, 4).expect("it is written");
    let image = alone.image();
    let refused = build(without(&image, 2), settings(), [false; 2]).open().expect_err("disk 1 is behind");
    assert!(
        refused.to_string().contains("missed writes") || refused.to_string().contains("stale"),
        "{refused}"
    );
    assert_eq!(opened(image).read_page(0, 1), 4);
}
