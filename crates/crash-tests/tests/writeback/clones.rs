//! A group that was copied with all of its devices, and both copies went on: devices of one among those of the other. What opens
//! holds what one copy held, and nothing of the other.

use fathom_crash_tests::crash::Image;
use fathom_crash_tests::group::{PAGE, Setup};
use fathom_crash_tests::testbed::Testbed;
use fathom_layers::writeback::{Group, Settings};
use fathom_volume::{Action, Error};

use crate::bench::lazy;

const PAGES: u64 = 3;

fn opened(setup: &Setup, image: &Image, settings: Settings, seed: u64) -> Result<Testbed<Group>, Error> {
    let testbed = Testbed::group(setup, image.clone(), settings, 20_000, seed);
    testbed.open().map(|()| testbed)
}

/// Goes on for some openings: the first page of each volume is in place, the second one after the last opening is in the log.
fn went_on(setup: &Setup, image: &Image, (openings, byte): (u64, u8), stops: bool) -> Image {
    let mut image = image.clone();
    for opening in 0..openings {
        let seed = u64::from(byte) * 100 + opening;
        let testbed = opened(setup, &image, setup.settings.clone(), seed).expect("it opens");
        for page in [0, 1] {
            for volume in 0..setup.volumes {
                testbed.write_page(volume, page, byte).expect("it is written");
            }
            if page == 0 {
                testbed.settle().expect("it works");
            }
        }
        testbed.flush().expect("it is flushed");
        if stops {
            testbed.close().expect("it works");
        }
        image = testbed.image();
    }
    image
}

/// What every volume shows, where all show the same.
fn shown(testbed: &Testbed<Group>, volumes: usize) -> Option<Vec<u8>> {
    let pages = |volume| (0..PAGES).map(|page| testbed.read_page(volume, page)).collect::<Vec<u8>>();
    (1..volumes).all(|volume| pages(volume) == pages(0)).then(|| pages(0))
}

fn offers(why: &Error, wanted: &str) -> bool {
    let names = |action: &Action| matches!(action, Action::Set { keys, .. } if keys.iter().any(|key| key.0 == wanted));
    why.refusal().is_some_and(|refusal| refusal.remedies.iter().any(|remedy| names(&remedy.action)))
}

#[test]
fn devices_of_two_copies_are_not_mixed() {
    let mut setup = lazy();
    (setup.volumes, setup.sectors) = (3, (PAGES * PAGE) as usize / 512);
    let first = went_on(&setup, &setup.blank(), (1, 1), true);
    let disks = first.len();
    let mut other_copy = 0;
    for (stops, openings) in [false, true].into_iter().flat_map(|stops| [1, 2, 3].map(|count| (stops, count)))
    {
        let ours = went_on(&setup, &first, (1, 2), stops);
        let theirs = went_on(&setup, &first, (openings, 3), stops);
        for which in 1..(1_usize << disks) - 1 {
            let of = |disk: usize| if which >> disk & 1 == 1 { &theirs } else { &ours };
            let mixed: Image = (0..disks).map(|disk| of(disk)[disk].clone()).collect();
            let case = format!("disks {which:04b} of {openings} openings, stopped: {stops}");
            let volumes = which & ((1 << setup.volumes) - 1);
            let check = Testbed::check(&setup, mixed.clone());
            match opened(&setup, &mixed, setup.settings.clone(), 7) {
                Ok(testbed) => {
                    // At rest a cache holds nothing.
                    assert!(stops && [0, (1 << setup.volumes) - 1].contains(&volumes), "{case}: opens");
                    let byte = if volumes == 0 { 2 } else { 3 };
                    assert_eq!(shown(&testbed, setup.volumes), Some(vec![byte, byte, 0]), "{case}");
                    assert!(check.is_sound(), "{case}: {check}");
                }
                Err(why) => {
                    assert!(!check.is_sound() && !offers(&why, "roll_forward"), "{case}: {why}");
                    other_copy +=
                        u32::from(why.refusal().is_some_and(|refusal| refusal.code == "other_copy"));
                }
            }
        }
    }
    assert!(other_copy > 20, "{other_copy}");
}

#[test]
fn the_log_of_another_copy_is_overwritten_only_if_both_losses_are_accepted() {
    let setup = lazy();
    let first = went_on(&setup, &setup.blank(), (1, 1), true);
    for stops in [false, true] {
        let ours = went_on(&setup, &first, (1, 2), stops);
        let mut mixed = ours;
        let theirs = went_on(&setup, &first, (1, 3), false);
        mixed[setup.cache()].clone_from(&theirs[setup.cache()]);
        let open = |accept_loss, discard_cache| {
            let settings = Settings { accept_loss, discard_cache, ..setup.settings.clone() };
            opened(&setup, &mixed, settings, 8)
        };
        let why = open(None, false).map(drop).expect_err("it is of another copy");
        assert_eq!(why.refusal().map(|refusal| refusal.code), Some("other_copy"), "{why}");
        assert!(offers(&why, "discard_cache"), "{why}");
        assert_eq!(offers(&why, "accept_loss"), !stops, "{why}");
        open(Some(2), false).map(drop).expect_err("nothing was said of its own writes");
        let testbed = open(Some(2).filter(|_| !stops), true).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(shown(&testbed, 1), Some(vec![2, if stops { 2 } else { 1 }, 0]));
    }
}
