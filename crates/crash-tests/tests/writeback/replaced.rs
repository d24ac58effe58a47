//! Devices in another place or of another kind than the log was made for: a redo ring that moves, or comes back blank, and
//! sectors that have become larger. A log that holds writes is never given up with them.

use fathom_crash_tests::crash::{Image, Media, Policy};
use fathom_crash_tests::group::{PAGE, Setup};
use fathom_crash_tests::testbed::Testbed;
use fathom_layers::writeback::Group;
use fathom_runtime::Random;
use fathom_volume::{Action, Error, Request, Setting};

use crate::bench::{lazy, opened, refusal};

fn code(why: &Error) -> &'static str {
    why.refusal().map_or("", |refusal| refusal.code)
}

/// Refuses, also in the check, in which nothing is written either.
fn refused(setup: &Setup, image: &Image, wanted: &str) -> Error {
    let why = refusal(setup, image.clone());
    assert_eq!(code(&why), wanted, "{why}");
    let check = Testbed::check(setup, image.clone());
    assert!(!check.is_sound(), "{check}");
    let told = check.findings.iter().filter_map(|finding| finding.refusal.as_ref());
    assert!(told.into_iter().any(|refusal| refusal.code == wanted), "{check}");
    why
}

/// The settings with a ring of its own, and the disks with a blank one.
fn with_ring(setup: &Setup, image: &Image) -> (Setup, Image) {
    let (mut own, mut image) = (setup.clone(), image.clone());
    own.own_ring = true;
    image.push(vec![0; setup.ring + 8192]);
    (own, image)
}

/// One flushed write that is in the log only.
fn written(setup: &Setup) -> Image {
    let testbed = opened(setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    testbed.flush().expect("it is flushed");
    testbed.image()
}

#[test]
fn a_log_that_holds_writes_is_not_given_up_with_a_move_of_the_redo_ring() {
    let setup = lazy();
    let image = written(&setup);
    let (mut own, moved) = with_ring(&setup, &image);
    for (discards, accepts) in [(false, None), (true, None), (true, Some(1))] {
        own.settings.discard_cache = discards;
        own.settings.accept_loss = accepts;
        let why = refused(&own, &moved, "ring_added");
        assert!(why.to_string().contains("`at_stop = \"keep\"`"), "{why}");
        let Action::Set { keys, .. } = &why.refusal().expect("it has one").remedies[0].action else {
            panic!("{why}");
        };
        assert!(keys.contains(&("ring", None)), "{keys:?}");
        assert_eq!(keys.contains(&("discard_cache", None)), discards, "{keys:?}");
    }
    // The way that it says.
    let testbed = opened(&setup, image);
    assert_eq!(testbed.read_page(0, 1), 7);
    testbed.close().expect("it works");
    own.settings.accept_loss = None;
    let testbed = opened(&own, with_ring(&setup, &testbed.image()).1);
    assert_eq!(testbed.read_page(0, 1), 7);
    assert!(testbed.status().loss.is_none());
    // The tail is the users' from now on: without the ring nothing there may be taken for the group's.
    testbed.close().expect("it works");
    let mut image = testbed.image();
    image.pop();
    for cache_is_blank in [false, true] {
        if cache_is_blank {
            image[setup.cache()].fill(0);
        }
        let why = refusal(&setup, image.clone());
        assert!(["backing_unknown", "backing_in_use"].contains(&code(&why)), "{why}");
    }
}

#[test]
fn a_log_that_holds_writes_is_not_given_up_with_a_change_of_names() {
    let mut setup = lazy();
    setup.volumes = 2;
    let mut image = written(&setup);
    image.swap(0, 1);
    setup.settings.discard_cache = true;
    refused(&setup, &image, "volumes_renamed");
    let (own, moved) = with_ring(&setup, &image);
    refused(&own, &moved, "ring_added");
    // Also where the volume that was first is not named any more.
    let (mut fewer, mut rest) = (own, moved);
    fewer.volumes = 1;
    rest.remove(1);
    refused(&fewer, &rest, "backing_unknown");
    image.swap(0, 1);
    let testbed = opened(&setup, image);
    testbed.close().expect("it works");
    let mut image = testbed.image();
    image.swap(0, 1);
    let (own, moved) = with_ring(&setup, &image);
    let testbed = opened(&own, moved);
    assert_eq!((testbed.read_page(0, 1), testbed.read_page(1, 1)), (0, 7));
}

#[test]
fn a_blank_ring_under_a_log_that_holds_writes_costs_them_only_if_their_incarnation_is_named() {
    let mut setup = lazy();
    setup.own_ring = true;
    setup.settings.discard_cache = true;
    let mut image = written(&setup);
    let whole = image.clone();
    image[setup.cache() + 1].fill(0);
    for accepts in [None, Some(2)] {
        setup.settings.accept_loss = accepts;
        let why = refused(&setup, &image, "backing_unknown");
        let remedies = &why.refusal().expect("it has one").remedies;
        assert!(remedies[0].loses.is_none(), "{remedies:?}");
        let keys =
            vec![("discard_cache", Some(Setting::Flag(true))), ("accept_loss", Some(Setting::Count(1)))];
        let gives_up = |action: &Action| matches!(action, Action::Set { keys: set, .. } if *set == keys);
        assert!(remedies.iter().any(|way| way.loses.is_some() && gives_up(&way.action)), "{remedies:?}");
    }
    setup.settings.accept_loss = Some(1);
    let told = Testbed::check(&setup, image.clone()).findings;
    assert!(told.iter().any(|finding| finding.what.contains("go on with a loss")), "{told:?}");
    let testbed = opened(&setup, image);
    assert_eq!(testbed.read_page(0, 1), 0);
    assert_eq!(testbed.status().loss.expect("it is told").incarnation, 1);
    testbed.write_page(0, 2, 8).expect("it is written");
    testbed.flush().expect("it is flushed");
    // What accepted that loss accepts no later one.
    let again = setup.without_cache(&testbed.image());
    assert_eq!(code(&refusal(&setup, again)), "cache_blank");
    assert_eq!(opened(&setup, testbed.image()).read_page(0, 2), 8);
    setup.settings.accept_loss = None;
    assert_eq!(opened(&setup, whole).read_page(0, 1), 7);
}

fn write(testbed: &Testbed<Group>, offset: u64, length: u64, byte: u8) {
    let buf = testbed.pool.copy_of(&vec![byte; length as usize]);
    let answer = testbed.runtime.block_on(testbed.volumes[0].write(Request::new(offset, length), buf));
    answer.expect("it ends").expect("it is written");
}

#[test]
fn larger_sectors_wait_until_the_smaller_writes_are_in_place() {
    let setup = lazy();
    let mut larger = setup.clone();
    larger.backing_sector = Some(4096);
    let testbed = opened(&setup, setup.blank());
    write(&testbed, 2 * PAGE, PAGE, 3);
    let fits = testbed.image();
    write(&testbed, 512, 512, 7);
    testbed.flush().expect("it is flushed");
    let why = refused(&larger, &testbed.image(), "backing_sectors").to_string();
    for words in ["sectors of 4096 bytes now", "one of 512 bytes at offset 512", "Nothing is lost"] {
        assert!(why.contains(words), "{words} in {why}");
    }
    assert_eq!(opened(&larger, fits).read_page(0, 2), 3);
    // Wherever the life of a batch is cut off: refused, or all of it is there.
    let before = testbed.trace.borrow().len();
    testbed.settle().expect("it works");
    testbed.close().expect("it works");
    let (mut media, mut random) = (Media::new(&setup.blank()), Random::new(5, "sectors"));
    let trace = testbed.trace.borrow().clone();
    let (mut refusals, mut ring, mut last) = (0, 0, false);
    for event in 0..trace.len() {
        if !media.step(&trace) || event < before {
            continue;
        }
        let image = media.cut(Policy::KeepAll, &mut random);
        let anew = Testbed::group(&larger, image, larger.settings.clone(), 20_000, 1);
        last = match anew.open() {
            Ok(()) => {
                assert_eq!((anew.read_page(0, 2), anew.read_page(0, 0)), (3, 0), "{event}");
                true
            }
            Err(why) => {
                assert_eq!(code(&why), "backing_sectors", "{why}");
                assert!(!anew.wrote(), "a refusal writes nothing");
                refusals += 1;
                ring += u32::from(why.to_string().contains("the redo ring"));
                false
            }
        };
    }
    assert!(refusals > 0 && ring > 0 && last, "{refusals} {ring} {last}");
}
