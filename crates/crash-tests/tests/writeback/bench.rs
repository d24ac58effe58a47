//! What every case does first: build a group over an image, open it or be refused.

use fathom_crash_tests::crash::{Image, Media};
use fathom_crash_tests::group::Setup;
use fathom_crash_tests::testbed::Testbed;
use fathom_layers::writeback::{Group, Settings};
use fathom_runtime::SECOND;
use fathom_volume::Error;

/// A group that destages only when it is told to, or when its cache is full.
pub fn lazy() -> Setup {
    let mut setup = Setup::small(Settings::default());
    setup.segments = 64;
    setup.settings.batch = 64 << 10;
    setup.settings.lag_target = 20 * SECOND;
    setup.settings.lag_max = 30 * SECOND;
    setup
}

/// An open group over these disks, which opens as well if power was cut while it did, and shows the same.
pub fn opened(setup: &Setup, image: Image) -> Testbed<Group> {
    let open = |image: Image, when: &str| {
        let testbed = Testbed::group(setup, image, setup.settings.clone(), 20_000, 1);
        testbed.open().unwrap_or_else(|why| panic!("it opens{when}, and says: {why}"));
        testbed
    };
    let testbed = open(image.clone(), "");
    let trace = testbed.trace.borrow().clone();
    let shown = testbed.read_all(setup);
    for (event, cut) in Media::cuts(&image, &trace, |_| true) {
        let again = open(cut, &format!(" after a power cut at event {event} of {}", trace.len()));
        assert_eq!(again.read_all(setup), shown, "event {event} of {}", trace.len());
    }
    // Reading takes time, which some cases count.
    open(image, "")
}

/// Why a group over these disks does not open; that it wrote nothing.
pub fn refusal(setup: &Setup, image: Image) -> Error {
    let testbed = Testbed::group(setup, image, setup.settings.clone(), 20_000, 1);
    let why = testbed.open().expect_err("it is refused");
    assert!(!testbed.wrote(), "a refusal writes nothing: {why}");
    why
}
