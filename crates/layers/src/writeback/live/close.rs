//! The planned end: what is dirty goes to the backing volumes, then the owner mark is taken off. How long that takes
//! depends on what is dirty, which is bounded, and not on the size of the cache.

use fathom_volume::Result;

use super::{Live, io};

impl Live {
    /// Accepts no more writes, destages everything, and gives the backing volumes free: they are then complete
    /// without the cache (invariant I9).
    pub async fn close(&self) -> Result<()> {
        self.state.borrow_mut().closing = true;
        self.progressed.notify();
        self.hurry.notify();
        self.all_recorded().await?;
        self.settle().await?;
        // A copy or a repair of the log that arrived later could lie over the next one's.
        io::until(&self.room, || self.state.borrow().space.pinned.is_none().then_some(())).await;
        self.update_origin(|origin| origin.owner = 0).await?;
        self.update_cache(|cache| cache.dirty = false).await
    }

    /// Waits until every write that was accepted is on the cache device, those too that are still held back.
    async fn all_recorded(&self) -> Result<()> {
        io::until(&self.recorded, || {
            let state = self.state.borrow();
            let idle = state.waiting_bytes == 0 && state.in_flight.is_empty();
            if idle { Some(Ok(())) } else { self.check_open(&state).err().map(Err) }
        })
        .await
    }
}
