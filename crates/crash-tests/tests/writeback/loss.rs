//! A lost cache: what the refusal says, what the accepted loss says, and when it cannot be accepted.

use fathom_crash_tests::group::{Setup, offered_loss};
use fathom_runtime::{MILLISECOND, Random};

use fathom_crash_tests::testbed::Testbed;

use crate::bench::{lazy, opened, refusal};

fn accepting(setup: &Setup, incarnation: u64) -> Setup {
    let mut setup = setup.clone();
    setup.settings.accept_loss = Some(incarnation);
    setup
}

#[test]
fn what_was_lost_lies_between_what_was_known_and_what_could_be() {
    for seed in 0..20 {
        let mut random = Random::new(seed, "loss");
        let setup = lazy();
        let testbed = opened(&setup, setup.blank());
        let now = || testbed.runtime.context().now();
        let (mut born, mut last) = (Vec::new(), 0);
        for page in 0..8 + random.below(40) {
            last = now();
            born.push(last);
            testbed.write_page(0, page % 4, page as u8 + 1).expect("it is written");
            testbed.sleep(random.below(50 * MILLISECOND));
            match random.below(8) {
                0 => testbed.settle().expect("it settles"),
                1 | 2 => testbed.flush().expect("it is flushed"),
                _ => {}
            }
        }
        let cut = testbed.status();
        let span = born.get(cut.applied as usize).map_or(0, |first| last - first);
        let image = setup.without_cache(&testbed.image());
        let why = refusal(&setup, image.clone());
        let incarnation = offered_loss(&why).unwrap_or_else(|| panic!("seed {seed}: no remedy in {why}"));
        let anew = opened(&accepting(&setup, incarnation), image);
        let loss = anew.status().loss.unwrap_or_else(|| panic!("seed {seed}: the loss is reported"));
        assert!(why.to_string().contains(&loss.to_string()), "seed {seed}: refusal and report agree: {why}");
        assert_eq!((loss.incarnation, loss.seq), (1, cut.committed), "seed {seed}");
        assert!(
            loss.pending.bytes <= cut.dirty && cut.dirty <= loss.bounds.bytes,
            "seed {seed}: {loss} of {cut:?}"
        );
        assert!(loss.pending.age <= cut.lag && span <= loss.bounds.age, "seed {seed}: {loss} of {span} ns");
    }
}

#[test]
fn a_loss_is_remembered_and_not_told_as_new() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let image = setup.without_cache(&testbed.image());
    let testbed = opened(&accepting(&setup, 1), image);
    let loss = testbed.status().loss.expect("it is reported");
    testbed.write_page(0, 1, 8).expect("it is written");
    testbed.close().expect("it works");
    let testbed = opened(&accepting(&setup, 1), testbed.image());
    let status = testbed.status();
    assert_eq!((status.loss, status.last_loss), (None, Some(loss)));
    assert_eq!(testbed.read_page(0, 1), 8);
}

#[test]
fn a_second_loss_does_not_count_what_the_first_one_cost() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    testbed.settle().expect("it works");
    testbed.write_page(0, 2, 8).expect("it is written");
    let testbed = opened(&accepting(&setup, 1), setup.without_cache(&testbed.image()));
    let testbed = opened(&accepting(&setup, 2), setup.without_cache(&testbed.image()));
    let loss = testbed.status().loss.expect("it is reported");
    assert_eq!((loss.incarnation, loss.pending.bytes), (2, 0));
}

#[test]
fn a_cache_without_superblocks_is_not_taken_for_junk() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let mut image = testbed.image();
    for copy in image[setup.cache()].chunks_mut(4096).take(2) {
        copy[100] ^= 1;
    }
    // The log is found from the write at which the backing side ends.
    let why = refusal(&setup, image.clone());
    assert!(why.to_string().contains("its log is there without them up to write 1"), "{why}");
    assert_eq!(offered_loss(&why), Some(1));
    assert_eq!(opened(&accepting(&setup, 1), image.clone()).read_page(0, 1), 7, "and kept");
    // Also where nothing is left of them.
    image[setup.cache()][..8192].fill(0);
    let why = refusal(&setup, image.clone());
    assert!(why.to_string().contains("its log is there without them up to write 1"), "{why}");
    assert_eq!(opened(&accepting(&setup, 1), image.clone()).read_page(0, 1), 7, "and kept");
    // Wiped as a whole, it is a lost one.
    image[setup.cache()].fill(0);
    let why = refusal(&setup, image.clone()).to_string();
    assert!(why.contains("is blank, and incarnation 1 holds writes there"), "{why}");
    image[setup.cache()].fill(0x55);
    let why = refusal(&setup, image).to_string();
    assert!(why.contains("something that is no write-back log") && why.contains("discard_cache"), "{why}");
}

#[test]
fn another_group_s_writes_are_not_lost_with_ours_unless_that_is_said_too() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let ours = testbed.image();
    let testbed = Testbed::group(&setup, setup.blank(), setup.settings.clone(), 20_000, 99);
    testbed.open().expect("it opens");
    testbed.write_page(0, 1, 9).expect("it is written");
    let mut mixed = ours;
    mixed[setup.cache()].clone_from(&testbed.image()[setup.cache()]);
    let why = refusal(&setup, mixed.clone()).to_string();
    assert!(why.contains("belongs to another group") && why.contains("discard_cache = true"), "{why}");
    let why = refusal(&accepting(&setup, 1), mixed.clone()).to_string();
    assert!(why.contains("holds writes of another group"), "{why}");
    let mut both = accepting(&setup, 1);
    both.settings.discard_cache = true;
    let testbed = opened(&both, mixed);
    testbed.write_page(0, 1, 5).expect("it is written");
    let mut setup = setup;
    setup.settings.discard_cache = false;
    assert_eq!(
        opened(&setup, testbed.image()).read_page(0, 1),
        5,
        "nothing of the other group's log comes back"
    );
}

#[test]
fn a_log_of_another_shape_is_refused_with_the_shape_it_has_and_not_offered_for_loss() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let mut other = accepting(&setup, 1);
    other.settings.segment *= 2;
    let why = refusal(&other, testbed.image()).to_string();
    assert!(why.contains("segment = \"16KiB\"") && why.contains("size = \"1032KiB\""), "{why}");
    assert_eq!(offered_loss(&refusal(&other, testbed.image())), None);
}

#[test]
fn a_shape_may_change_after_a_planned_stop() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    testbed.close().expect("it works");
    let mut other = setup;
    other.settings.segment *= 2;
    let testbed = opened(&other, testbed.image());
    testbed.write_page(0, 2, 8).expect("it is written");
    let testbed = opened(&other, testbed.image());
    assert_eq!((testbed.read_page(0, 1), testbed.read_page(0, 2)), (7, 8));
}

#[test]
fn an_older_copy_of_the_cache_can_be_given_up_by_its_incarnation() {
    let setup = lazy();
    let testbed = opened(&setup, setup.blank());
    testbed.write_page(0, 1, 7).expect("it is written");
    let older = testbed.image();
    testbed.write_page(0, 1, 8).expect("it is written");
    testbed.settle().expect("it works");
    let mut mixed = testbed.image();
    mixed[setup.cache()].clone_from(&older[setup.cache()]);
    let why = refusal(&setup, mixed.clone());
    assert!(why.to_string().contains("the cache is an older copy"), "{why}");
    assert_eq!(offered_loss(&why), Some(1));
    assert_eq!(opened(&accepting(&setup, 1), mixed).read_page(0, 1), 8);
}

#[test]
fn volumes_that_a_group_was_not_made_of_are_named() {
    let mut setup = lazy();
    setup.volumes = 2;
    let testbed = opened(&setup, setup.blank());
    testbed.close().expect("it works");
    let mut fewer = setup.clone();
    fewer.volumes = 1;
    let mut image = testbed.image();
    image.remove(1);
    let why = refusal(&fewer, image).to_string();
    assert!(why.contains("made of 2 volumes") && why.contains("1 of them not named"), "{why}");
}
