//! Scrub: reads the dirty log in the background, each record on every cache device, and compares it with its checksums,
//! so that damage is known while the other copy, or the writer, is still there. A record that is intact on one device only is
//! copied to the other; one that no device has is counted, and met again when it is read or destaged.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};
use fathom_volume::Class;

use crate::writeback::record::Record;

use super::{Live, io};

impl Live {
    /// Goes over the dirty log again and again, at the rate of the settings at most: users come first (`share`).
    pub async fn scrub(self: Rc<Self>) {
        let Some(rate) = self.settings.scrub.filter(|rate| *rate > 0) else { return };
        let mut after = 0;
        loop {
            let next = io::until(&self.recorded, || {
                let state = self.state.borrow();
                if state.fence.is_some() || state.closing {
                    return Some(None);
                }
                // What an open would read; from the first again when the last was seen.
                let tail = self.cache_super.get().tail;
                let from = |seq| {
                    let place = state
                        .kept
                        .partition_point(|record| record.position < tail || record.first_seq <= seq);
                    state.kept.get(place).filter(|record| record.done.get())
                };
                from(after).or_else(|| from(0)).cloned().map(Some)
            })
            .await;
            let Some(record) = next else { return };
            after = record.first_seq;
            let length = record.end - record.position;
            let span = u128::from(length) * u128::from(SECOND) / u128::from(rate);
            self.context.sleep(Nanos::try_from(span).unwrap_or(Nanos::MAX).max(1)).await;
            self.scrub_record(&record, length).await;
        }
    }

    async fn scrub_record(self: &Rc<Self>, record: &Rc<Record>, length: u64) {
        let at = self.state.borrow().space.physical(record.position);
        let (mut found, mut damaged) = (None, Vec::new());
        for leg in self.legs.to_read(0, record.end) {
            let buf = self.pool.get(length as usize);
            let read = self.legs.all()[leg].read(Class::Scrub, at, &buf).await.is_ok();
            let mut state = self.state.borrow_mut();
            if state.kept.front().is_none_or(|oldest| record.position < oldest.position) {
                return;
            }
            let whole = read && (!buf.has_bytes() || buf.with(|bytes| record.is_whole_on_device(bytes)));
            state.counts.scrubbed_bytes += length;
            state.counts.scrub_errors += u64::from(!whole);
            if whole {
                found = Some(buf);
            } else {
                damaged.push(leg);
            }
        }
        if let Some(whole) = found.filter(|_| !damaged.is_empty()) {
            Rc::clone(self).repair(record.position, whole, damaged).await;
        }
    }
}
