//! Reads through a read cache that is far too small: a read must show the last write, whatever the cache holds.

use fathom_layers::writeback::{Counts, Settings};
use fathom_runtime::{MILLISECOND, Random, SECOND};
use fathom_volume::Request;

use crate::crash::Image;
use crate::group::Setup;
use crate::testbed::Testbed;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Pages of a line of the read cache.
const LINE: u64 = 16;

/// A volume of 64 lines, a log that goes around often, a read cache of eight lines.
pub fn setup() -> Setup {
    let mut setup = Setup::small(Settings { read_cache: Some(8 * LINE * PAGE), ..Settings::default() });
    setup.sectors = 64 * (LINE * PAGE / 512) as usize;
    setup.segments = 40;
    setup.settings.lag_target = 2 * MILLISECOND;
    setup.settings.lag_max = SECOND;
    setup
}

/// Random reads and writes of pages, most of them in few lines; what was counted, and the disks at the end.
///
/// # Errors
/// The first read that shows something else than what was written last.
pub fn reads(image: Image, seed: u64, steps: u64) -> Result<(Counts, Image), String> {
    let setup = setup();
    let testbed = Testbed::group(&setup, image, setup.settings.clone(), 20_000, seed);
    testbed.open().map_err(|why| format!("seed {seed}: {why}"))?;
    let mut random = Random::new(seed, "cached reads");
    let mut written = vec![None; (64 * LINE) as usize];
    for step in 0..steps {
        let line = if random.chance(0.7) { random.below(6) } else { random.below(64) };
        let page = line * LINE + random.below(LINE);
        let request = Request::new(page * PAGE, PAGE);
        if random.chance(0.25) {
            let byte = (step % 251) as u8 + 1;
            let buf = testbed.pool.copy_of(&[byte; PAGE as usize]);
            let answer = testbed.runtime.block_on(testbed.volumes[0].write(request, buf)).expect("it ends");
            answer.map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
            written[page as usize] = Some(byte);
            continue;
        }
        let buf = testbed.pool.get(PAGE as usize);
        let answer =
            testbed.runtime.block_on(testbed.volumes[0].read(request, buf.clone())).expect("it ends");
        answer.map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
        let shown = buf.with(|bytes| bytes.iter().all(|byte| *byte == bytes[0]).then_some(bytes[0]));
        let known = written[page as usize].get_or_insert(shown.unwrap_or(0));
        if shown != Some(*known) {
            return Err(format!("seed {seed}, step {step}: page {page} shows {shown:?} and not {known}"));
        }
    }
    let counts = testbed.node.status().map(|status| status.counts).unwrap_or_default();
    Ok((counts, testbed.image()))
}
