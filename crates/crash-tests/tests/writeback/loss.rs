//! A lost cache: what the refusal says, what the accepted loss says, and what stands in the way of accepting it.

use fathom_crash_tests::stand::{Setup, offered_loss};
use fathom_runtime::{MILLISECOND, Random};

use crate::bench::{close, flush, lazy, opened, read, refusal, settle, sleep, status, write};

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
        let stand = opened(&setup, setup.blank());
        let now = || stand.runtime.context().now();
        let (mut born, mut last) = (Vec::new(), 0);
        for page in 0..8 + random.below(40) {
            last = now();
            born.push(last);
            write(&stand, 0, page % 4, page as u8 + 1).expect("it is written");
            sleep(&stand, random.below(50 * MILLISECOND));
            match random.below(8) {
                0 => settle(&stand),
                1 | 2 => flush(&stand),
                _ => {}
            }
        }
        let cut = status(&stand);
        let span = born.get(cut.applied as usize).map_or(0, |first| last - first);
        let image = setup.without_cache(&stand.image());
        let why = refusal(&setup, image.clone());
        let incarnation = offered_loss(&why).unwrap_or_else(|| panic!("seed {seed}: no remedy in {why}"));
        let anew = opened(&accepting(&setup, incarnation), image);
        let loss = status(&anew).loss.unwrap_or_else(|| panic!("seed {seed}: the loss is reported"));
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
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    let image = setup.without_cache(&stand.image());
    let stand = opened(&accepting(&setup, 1), image);
    let loss = status(&stand).loss.expect("it is reported");
    write(&stand, 0, 1, 8).expect("it is written");
    close(&stand);
    let stand = opened(&accepting(&setup, 1), stand.image());
    let status = status(&stand);
    assert_eq!((status.loss, status.last_loss), (None, Some(loss)));
    assert_eq!(read(&stand, 0, 1), 8);
}

#[test]
fn a_second_loss_does_not_count_what_the_first_one_cost() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    settle(&stand);
    write(&stand, 0, 2, 8).expect("it is written");
    let stand = opened(&accepting(&setup, 1), setup.without_cache(&stand.image()));
    let stand = opened(&accepting(&setup, 2), setup.without_cache(&stand.image()));
    let loss = status(&stand).loss.expect("it is reported");
    assert_eq!((loss.incarnation, loss.pending.bytes), (2, 0));
}

#[test]
fn a_cache_without_superblocks_is_not_taken_for_junk() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    let mut image = stand.image();
    for copy in image[setup.cache()].chunks_mut(4096).take(2) {
        copy[100] ^= 1;
    }
    // The log is found from where the backing side stands.
    let why = refusal(&setup, image.clone());
    assert!(why.to_string().contains("its log is there up to write 1"), "{why}");
    assert_eq!(offered_loss(&why), Some(1));
    assert_eq!(read(&opened(&accepting(&setup, 1), image.clone()), 0, 1), 7, "and kept");
    // Wiped, it is a lost one.
    image[setup.cache()][..8192].fill(0);
    let why = refusal(&setup, image.clone()).to_string();
    assert!(why.contains("is blank, and incarnation 1 holds writes there"), "{why}");
    image[setup.cache()].fill(0x55);
    let why = refusal(&setup, image).to_string();
    assert!(why.contains("something that is no write-back log") && why.contains("discard_cache"), "{why}");
}

#[test]
fn another_group_s_writes_are_not_lost_with_ours_unless_that_is_said_too() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    let ours = stand.image();
    let stand =
        fathom_crash_tests::stand::Stand::build(&setup, setup.blank(), setup.settings.clone(), 20_000, 99);
    stand.open().expect("it opens");
    write(&stand, 0, 1, 9).expect("it is written");
    let mut mixed = ours;
    mixed[setup.cache()].clone_from(&stand.image()[setup.cache()]);
    let why = refusal(&setup, mixed.clone()).to_string();
    assert!(why.contains("belongs to another group") && why.contains("discard_cache = true"), "{why}");
    let why = refusal(&accepting(&setup, 1), mixed.clone()).to_string();
    assert!(why.contains("holds writes of another group"), "{why}");
    let mut both = accepting(&setup, 1);
    both.settings.discard_cache = true;
    let stand = opened(&both, mixed);
    write(&stand, 0, 1, 5).expect("it is written");
    let mut setup = setup;
    setup.settings.discard_cache = false;
    assert_eq!(read(&opened(&setup, stand.image()), 0, 1), 5, "nothing of the other group's log comes back");
}

#[test]
fn a_log_of_another_shape_is_refused_with_the_shape_it_has_and_not_offered_for_loss() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    let mut other = accepting(&setup, 1);
    other.settings.segment *= 2;
    let why = refusal(&other, stand.image()).to_string();
    assert!(why.contains("segment = \"16KiB\"") && why.contains("size = \"1032KiB\""), "{why}");
    assert_eq!(offered_loss(&refusal(&other, stand.image())), None);
}

#[test]
fn a_shape_may_change_after_a_planned_stop() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    close(&stand);
    let mut other = setup;
    other.settings.segment *= 2;
    let stand = opened(&other, stand.image());
    write(&stand, 0, 2, 8).expect("it is written");
    let stand = opened(&other, stand.image());
    assert_eq!((read(&stand, 0, 1), read(&stand, 0, 2)), (7, 8));
}

#[test]
fn an_older_copy_of_the_cache_can_be_given_up_by_its_incarnation() {
    let setup = lazy();
    let stand = opened(&setup, setup.blank());
    write(&stand, 0, 1, 7).expect("it is written");
    let older = stand.image();
    write(&stand, 0, 1, 8).expect("it is written");
    settle(&stand);
    let mut mixed = stand.image();
    mixed[setup.cache()].clone_from(&older[setup.cache()]);
    let why = refusal(&setup, mixed.clone());
    assert!(why.to_string().contains("the cache is an older copy"), "{why}");
    assert_eq!(offered_loss(&why), Some(1));
    assert_eq!(read(&opened(&accepting(&setup, 1), mixed), 0, 1), 8);
}

#[test]
fn volumes_that_a_group_was_not_made_of_are_named() {
    let mut setup = lazy();
    setup.volumes = 2;
    let stand = opened(&setup, setup.blank());
    close(&stand);
    let mut fewer = setup.clone();
    fewer.volumes = 1;
    let mut image = stand.image();
    image.remove(1);
    let why = refusal(&fewer, image).to_string();
    assert!(why.contains("made of 2 volumes") && why.contains("1 of them are not named"), "{why}");
}
