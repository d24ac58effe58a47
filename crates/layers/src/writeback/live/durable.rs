//! Flushes: those that wait beside each other are one, and one is in flight at a time.

use std::rc::Rc;

use fathom_volume::Result;

use super::{Durability, Live};

impl Live {
    /// Makes everything answered before this call durable in the declared domain.
    pub async fn flush(&self) -> Result<()> {
        let number = {
            let mut state = self.state.borrow_mut();
            self.check_open(&state)?;
            // The one in flight may have begun before the caller's writes were answered.
            let number = state.flushes.started + 1;
            state.flushes.wanted = state.flushes.wanted.max(number);
            number
        };
        self.flush_due.notify();
        super::io::until(&self.flushed, || {
            let state = self.state.borrow();
            if state.flushes.finished >= number {
                Some(Ok(()))
            } else {
                self.check_open(&state).err().map(Err)
            }
        })
        .await
    }

    /// Serves flushes, one after the other.
    pub async fn serve_flushes(self: Rc<Self>) {
        loop {
            super::io::until(&self.flush_due, || {
                let state = self.state.borrow();
                (state.flushes.wanted > state.flushes.started || state.fence.is_some()).then_some(())
            })
            .await;
            if self.state.borrow().fence.is_some() {
                return;
            }
            let (number, seq) = {
                let mut state = self.state.borrow_mut();
                state.flushes.started += 1;
                // What is recorded from now on belongs to the next epoch.
                state.epoch += 1;
                (state.flushes.started, state.completed.seq)
            };
            let outcome = self.flush_declared(seq).await;
            match outcome {
                Ok(()) => self.state.borrow_mut().flushes.finished = number,
                Err(error) => self.fence(&error.at("flush")),
            }
            self.flushed.notify();
        }
    }

    async fn flush_declared(&self, seq: u64) -> Result<()> {
        self.flush_cache().await?;
        if self.settings.durability == Durability::Origin {
            self.committed_through(seq).await?;
        }
        Ok(())
    }

    /// Flushes the cache device.
    pub async fn flush_cache(&self) -> Result<()> {
        let completed = self.state.borrow().completed;
        self.flush_legs().await?;
        let mut state = self.state.borrow_mut();
        state.flushed = state.flushed.max(completed.end);
        state.flushed_seq = state.flushed_seq.max(completed.seq);
        Ok(())
    }
}
