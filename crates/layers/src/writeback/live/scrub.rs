//! Scrub: reads the dirty log in the background, each record on every cache device, and compares it with its checksums,
//! so that damage is known while the other copy, or the writer, is still there. It changes nothing: a damaged record is
//! counted, and met again when it is read or destaged.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};

use crate::writeback::record::Record;

use super::{Live, io};

impl Live {
    /// Goes over the dirty log again and again, at the rate of the settings.
    pub async fn scrub(self: Rc<Self>) {
        let Some(rate) = self.settings.scrub.filter(|rate| *rate > 0) else { return };
        let mut after = 0;
        loop {
            let next = io::until(&self.recorded, || {
                let state = self.state.borrow();
                if state.fence.is_some() || state.closing {
                    return Some(None);
                }
                // From the first again when the last was seen; a record without payload was checked with its header.
                let dirty = || state.unplanned.iter().filter(|record| record.done.get());
                let next = dirty().find(|record| record.first_seq > after).or_else(|| dirty().next());
                next.cloned().map(Some)
            })
            .await;
            let Some(record) = next else { return };
            after = record.first_seq;
            let length = record.end - record.data;
            let span = u128::from(length) * u128::from(SECOND) / u128::from(rate);
            self.context.sleep(Nanos::try_from(span).unwrap_or(Nanos::MAX).max(1)).await;
            self.scrub_record(&record, length).await;
        }
    }

    async fn scrub_record(&self, record: &Rc<Record>, length: u64) {
        let at = self.state.borrow().space.physical(record.data);
        for device in self.legs.to_read(0) {
            let buf = self.pool.get(length as usize);
            let read = io::read(&device, at, &buf).await.is_ok();
            let mut state = self.state.borrow_mut();
            if state.kept.front().is_none_or(|oldest| record.position < oldest.position) {
                return;
            }
            let whole = read && (!buf.has_bytes() || buf.with(|bytes| record.is_whole(record.data, bytes)));
            state.counts.scrubbed_bytes += length;
            state.counts.scrub_errors += u64::from(!whole);
        }
    }
}
