//! The planned stop.

use fathom_crash_tests::group::PAGE;
use fathom_volume::Request;
use futures_util::future::{join, join_all};

use crate::bench::{lazy, opened};

#[test]
fn a_write_that_was_held_back_is_complete_or_refused_when_the_close_is_done() {
    for delay in (0..2_000_000_u64).step_by(100_000) {
        let mut setup = lazy();
        setup.sectors = 512;
        setup.settings.dirty_limit = Some(64 << 10);
        let testbed = opened(&setup, setup.blank());
        let context = testbed.runtime.context();
        let writes = (0..40_u64).map(|page| {
            let buf = testbed.pool.copy_of(&[page as u8 + 1; PAGE as usize]);
            testbed.volumes[0].write(Request::new(page * PAGE, PAGE), buf)
        });
        let close = async {
            context.sleep(delay).await;
            testbed.node.close().await
        };
        let (answers, closed) = testbed.runtime.block_on(join(join_all(writes), close)).expect("both end");
        closed.expect("it closes");
        let anew = opened(&setup, setup.without_cache(&testbed.image()));
        for (page, answer) in answers.iter().enumerate() {
            let shown = anew.read_page(0, page as u64);
            assert_eq!(shown == page as u8 + 1, answer.is_ok(), "page {page}, close after {delay} ns");
        }
    }
}
