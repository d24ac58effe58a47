//! Marks: up to where the log is flushed, said away from its end. The last records of a log can vanish without a trace,
//! because nothing behind them tells of them; the superblock on the cache device then does. It is written soon after a
//! flush, and no flush waits for it. Whoever writes a superblock or a commit block on the backing side says the same
//! there, against a cache device that is rolled back as a whole.

use std::rc::Rc;

use super::{Live, io};

/// A mark is written after this part of the time between two, so that flushes beside each other share it.
const SOON: u64 = 10;

impl Live {
    /// Writes a mark when a flush is done, as long as the group is open.
    pub async fn keep_marks(self: Rc<Self>) {
        let every = self.settings.mark_every;
        loop {
            let goes_on = io::until(&self.flushed, || {
                let state = self.state.borrow();
                if state.fence.is_some() || state.closing {
                    return Some(false);
                }
                (state.flushed_seq > self.cache_super.get().flushed_seq).then_some(true)
            });
            if !goes_on.await {
                return;
            }
            self.context.sleep(every / SOON).await;
            // A close writes the superblock itself.
            if self.state.borrow().closing {
                return;
            }
            if let Err(error) = self.update_cache(|_| {}).await {
                self.fence(&error.at("marking what is flushed"));
                return;
            }
            self.context.sleep(every - every / SOON).await;
        }
    }
}
