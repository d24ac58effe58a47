//! Volumes that do not hold what was put in place on them, beside a redo ring of its own: nothing else tells whose they are.

use fathom_layers::writeback::{Group, Mode};

use crate::crash::{Image, Media, Policy};
use crate::group::Setup;
use crate::testbed::Testbed;

fn spread(setup: &Setup) -> Setup {
    let mut setup = Setup { volumes: 2, own_ring: true, segments: 64, ..setup.clone() };
    (setup.settings.lag_target, setup.settings.lag_max) = (20_000_000_000, 30_000_000_000);
    setup
}

fn open(setup: &Setup, image: &Image) -> Result<Testbed<Group>, String> {
    let testbed = Testbed::group(setup, image.clone(), setup.settings.clone(), 20_000, 1);
    testbed.open().map_err(|error| error.to_string())?;
    Ok(testbed)
}

/// Swapped disks under a log that holds writes; disks that were used meanwhile under one that holds none.
///
/// # Errors
/// The first that is answered wrongly.
pub fn other_disks(setup: &Setup) -> Result<(), String> {
    let setup = spread(setup);
    let testbed = open(&setup, &setup.blank())?;
    let write =
        |page, byte| (0..2).try_for_each(|volume| testbed.write_page(volume, page, byte + volume as u8));
    let work = || {
        write(0, 10)?;
        testbed.settle()?;
        write(1, 20)?;
        testbed.flush()
    };
    work().map_err(|error| error.to_string())?;
    let mut swapped = testbed.image();
    swapped.swap(0, 1);
    match open(&setup, &swapped) {
        Err(why) if why.contains("does not hold what the group put in place") => {}
        Err(why) => return Err(format!("swapped disks are refused for another reason: {why}")),
        Ok(_) => return Err("swapped disks are accepted".to_owned()),
    }
    testbed.close().map_err(|error| error.to_string())?;
    let mut used = testbed.image();
    used[0][..4096].fill(77);
    let again = open(&setup, &used).map_err(|why| format!("disks that nobody owned are refused: {why}"))?;
    // A crash before the first batch: what was known before the planned stop counts no more.
    open(&setup, &again.image()).map_err(|why| format!("after a planned stop and a crash: {why}"))?;
    Ok(())
}

/// Power cuts in an incarnation of mode `barrier` that follows one that knew what it had put in place.
///
/// # Errors
/// The first that is refused.
pub fn after_a_change_of_mode(setup: &Setup) -> Result<(), String> {
    let mut setup = spread(setup);
    let testbed = open(&setup, &setup.blank())?;
    let work = |testbed: &Testbed<_>, byte| {
        testbed.write_page(0, 0, byte)?;
        testbed.settle()?;
        testbed.write_page(0, 0, byte + 1)?;
        testbed.flush()
    };
    work(&testbed, 10).map_err(|error| error.to_string())?;
    setup.settings.mode = Mode::Barrier;
    let image = testbed.image();
    let testbed = open(&setup, &image)?;
    work(&testbed, 20).map_err(|error| error.to_string())?;
    let (mut media, mut random) = (Media::new(&image), fathom_runtime::Random::new(7, "barrier"));
    let trace = testbed.trace.borrow().clone();
    for event in 0..trace.len() {
        if media.step(&trace) {
            for policy in Policy::ALL {
                let end = media.cut(policy, &mut random);
                open(&setup, &end).map_err(|why| format!("cut after event {event}, {policy:?}: {why}"))?;
            }
        }
    }
    Ok(())
}
