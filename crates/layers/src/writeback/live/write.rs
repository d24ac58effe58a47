//! The way of a write: held back if the cache fills, gathered with those that wait beside it into one record, written
//! to the log, answered when that record and all before it are on the device.

use std::rc::Rc;

use fathom_runtime::Nanos;
use fathom_volume::{Buf, Error, ErrorKind, Request, Result};

use crate::writeback::plan::Location;
use crate::writeback::pressure::{self, Turn};
use crate::writeback::record::{Change, Extent, Head, LONGEST_EXTENT, Layout, MOST_EXTENTS, Record, make};

use super::pacing::beside;
use super::state::{Ack, InFlight, Point, State, Waiting};
use super::{Live, io};

/// The next record of the log, or why there is none.
enum NextRecord {
    NothingWaits,
    NoRoom,
    Record(Buf, Rc<Record>),
}

/// Room that a write was promised; given back if the write is dropped before it takes it.
struct Admitted<'a> {
    live: &'a Live,
    cost: u64,
}

impl Admitted<'_> {
    /// The write takes it: whoever makes the record gives it back.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.live.state.borrow_mut().waiting_bytes -= self.cost;
        self.live.recorded.notify();
    }
}

/// A write that waits until something is in place.
struct Held<'a>(&'a Live);

impl<'a> Held<'a> {
    fn new(live: &'a Live) -> Self {
        live.state.borrow_mut().held += 1;
        live.hurry.notify();
        Self(live)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.state.borrow_mut().held -= 1;
    }
}

impl Live {
    /// Puts a change into the log; when it returns, the cache device has it and all before it.
    pub async fn append(
        &self,
        request: &Request,
        volume: u16,
        change: Change,
        from: Option<Buf>,
    ) -> Result<()> {
        let mut offset = request.offset;
        let end = request.end();
        while offset < end {
            let length = (end - offset).min(LONGEST_EXTENT);
            let payload = from.as_ref().map(|from| from.slice(0..length as usize));
            self.append_one(request, Extent { volume, change, offset, length }, payload).await?;
            offset += length;
        }
        Ok(())
    }

    async fn append_one(&self, request: &Request, extent: Extent, payload: Option<Buf>) -> Result<()> {
        let cost = Layout::new(1, extent.payload()).total;
        let admitted = self.admit(request, cost).await?;
        let ack = Rc::new(Ack::default());
        {
            let mut state = self.state.borrow_mut();
            admitted.keep();
            state.waiting.push_back(Waiting { extent, payload, ack: Rc::clone(&ack) });
        }
        self.appended.notify_one();
        ack.wait().await
    }

    /// Holds a write back while the cache fills, or while its log is older than it may be (invariant I10). What it will
    /// take counts from the decision on, not only when the delay is over: otherwise those that are delayed together
    /// would pass the limit together, and a close would not know of them.
    async fn admit(&self, request: &Request, cost: u64) -> Result<Admitted<'_>> {
        let begin = self.context.now();
        loop {
            let wait = self.progressed.wait();
            let turn = {
                let mut state = self.state.borrow_mut();
                self.check_open(&state)?;
                if state.closing {
                    return Err(self.closed());
                }
                let (dirty, limit) = (state.dirty(), self.dirty_limit(&state));
                let full = dirty > 0 && dirty + cost > limit;
                if full || self.is_too_old(&state) {
                    state.starved = true;
                    None
                } else {
                    state.waiting_bytes += cost;
                    Some(state.turns.take(cost))
                }
            };
            match turn {
                None => {
                    let _held = Held::new(self);
                    self.destage_due.notify();
                    wait.await;
                }
                Some(turn) => {
                    let admitted = Admitted { live: self, cost };
                    while let span @ 1.. = self.until_turn(turn)? {
                        self.context.sleep(span).await;
                    }
                    let waited = self.context.now() - begin;
                    if waited > 0 {
                        request.waited(waited);
                        self.state.borrow_mut().counts.delayed_ns += waited;
                    }
                    return Ok(admitted);
                }
            }
        }
    }

    /// How long a write that was admitted waits before it asks again; 0 if it is its turn.
    fn until_turn(&self, turn: Turn) -> Result<Nanos> {
        let mut state = self.state.borrow_mut();
        self.check_open(&state)?;
        if self.is_too_old(&state) {
            return Ok(pressure::STEP);
        }
        let rate = self.writers_rate(&state);
        Ok(state.turns.wait(self.context.now(), turn, rate))
    }

    /// Whether the log is older than it may be: nothing is written then (invariant I10).
    fn is_too_old(&self, state: &State) -> bool {
        self.lag_of(state) >= self.settings.lag_max
    }

    /// Bytes of the log per second that all writers together may write; None for any.
    fn writers_rate(&self, state: &State) -> Option<f64> {
        // Those that wait are not counted: they would wait for themselves.
        let (dirty, limit) = (state.logged(), self.dirty_limit(state));
        let by_lag = self.lag_smoothly(state).saturating_sub(self.settings.lag_target);
        // The log gives space back a batch at a time, and a batch may take seconds: what is in place of it counts at once, or
        // writers would run and stand still in turn. The limit leaves room for that.
        let (part, batch) = state.being_applied();
        let by_dirty = pressure::pace(dirty.saturating_sub(part), beside(batch, limit));
        let by_lag = pressure::pace(by_lag, self.lag_room() as u64);
        let pace = [by_dirty, by_lag].into_iter().flatten().reduce(f64::min)?;
        Some(pace * self.drain_rate(state))
    }

    /// One of several that write records, so that as many are in flight.
    pub async fn write_records(self: Rc<Self>) {
        loop {
            io::until(&self.appended, || self.is_gathered().then_some(())).await;
            let room = self.room.wait();
            let made = self.make_record();
            match made {
                NextRecord::NothingWaits => {}
                NextRecord::NoRoom => {
                    let _held = Held::new(&self);
                    self.destage_due.notify();
                    room.await;
                }
                NextRecord::Record(buf, record) => {
                    let at = self.state.borrow().space.physical(record.position);
                    match self.write_log(at, &buf).await {
                        Ok(()) => self.completed(&record),
                        Err(error) => self.fence(&error.at("writing the log")),
                    }
                }
            }
            if self.state.borrow().fence.is_some() {
                return;
            }
        }
    }

    /// Whether a record should be made of what waits: at once while at most three writes are in flight to the log, otherwise
    /// when half as many wait as are in flight. Few writers never wait for each other, and many share few records: each costs
    /// a header block and a request to the device.
    fn is_gathered(&self) -> bool {
        let state = self.state.borrow();
        let in_flight: usize = state.in_flight.iter().map(|flight| flight.acks.len()).sum();
        !state.waiting.is_empty() && state.waiting.len() >= (in_flight / 2).min(MOST_EXTENTS)
    }

    /// Takes as many waiting writes as one record holds, gives them their places in the total order, and shows them to
    /// readers (invariant I1).
    fn make_record(&self) -> NextRecord {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let (mut count, mut payload) = (0, 0);
        for waiting in state.waiting.iter().take(MOST_EXTENTS) {
            let more = payload + waiting.extent.payload();
            if count > 0 && more > self.most_payload {
                break;
            }
            (count, payload) = (count + 1, more);
        }
        if count == 0 {
            return NextRecord::NothingWaits;
        }
        let total = Layout::new(count, payload).total;
        let position = state.space.place(total);
        if !state.space.has_room(position, total) {
            state.starved = true;
            return NextRecord::NoRoom;
        }
        self.forget_before(state, (position + total).saturating_sub(state.space.length));
        let taken: Vec<Waiting> = state.waiting.drain(..count).collect();
        let costs = taken.iter().map(|waiting| Layout::new(1, waiting.extent.payload()).total);
        state.waiting_bytes -= costs.sum::<u64>();
        let head = Head {
            uuid: self.uuid,
            incarnation: self.incarnation,
            position,
            first_seq: state.next_seq,
            epoch: state.epoch,
            flushed: state.flushed,
            previous: state.chain,
        };
        let extents = taken.iter().map(|waiting| waiting.extent).collect();
        let (acks, payloads): (Vec<_>, Vec<_>) =
            taken.into_iter().map(|waiting| (waiting.ack, waiting.payload)).unzip();
        let (buf, record) = make(&self.pool, &head, extents, &payloads, self.context.now());
        let record = Rc::new(record);
        state.space.take(position, total);
        state.next_seq += count as u64;
        state.chain = record.crc;
        state.counts.log_records += 1;
        state.counts.log_bytes += total;
        state.counts.log_extents += count as u64;
        state.count_work(&record, self.settings.mode);
        show(&mut state.index, &record);
        let mut lines = self.lines.borrow_mut();
        for extent in &record.extents {
            lines.changed(extent.volume, extent.offset..extent.offset + extent.length);
        }
        drop(lines);
        state.kept.push_back(Rc::clone(&record));
        state.unplanned.push_back(Rc::clone(&record));
        state.in_flight.push_back(InFlight { record: Rc::clone(&record), acks });
        if !state.waiting.is_empty() {
            self.appended.notify_one();
        }
        NextRecord::Record(buf, record)
    }

    /// Forgets clean records whose space is about to be taken.
    fn forget_before(&self, state: &mut State, position: u64) {
        while state.kept.front().is_some_and(|record| record.position < position) {
            let record = state.kept.pop_front().expect("just seen");
            assert!(record.last_seq() <= state.applied.seq, "I5: only what is applied is forgotten");
            for extent in &record.extents {
                let range = extent.offset..extent.offset + extent.length;
                state.index[usize::from(extent.volume)]
                    .clear(range, |place| Rc::ptr_eq(&place.record, &record));
            }
        }
    }

    /// The device has a record: answers it and those behind it that were only waiting for it.
    fn completed(&self, record: &Rc<Record>) {
        let mut acks = Vec::new();
        {
            let mut state = self.state.borrow_mut();
            record.done.set(true);
            let state = &mut *state;
            let before = state.completed.seq;
            while state.in_flight.front().is_some_and(|flight| flight.record.done.get()) {
                let flight = state.in_flight.pop_front().expect("just seen");
                state.completed = Point::after(&flight.record);
                if state.in_memory + flight.record.memory() > self.settings.memory {
                    flight.record.bytes.borrow_mut().take();
                } else if flight.record.bytes.borrow().is_some() {
                    state.in_memory += flight.record.memory();
                }
                acks.extend(flight.acks);
            }
            let oldest = state.unplanned.front().map(|record| record.last_seq());
            let ripens = oldest.is_some_and(|seq| before < seq && seq <= state.completed.seq);
            if ripens || self.is_batch_due(state) || state.wanted_seq > state.committed.seq {
                self.destage_due.notify();
            }
        }
        acks.iter().for_each(|ack| ack.give(Ok(())));
        self.appended.notify_one();
        self.recorded.notify();
    }

    fn closed(&self) -> Error {
        let message = format!("group `{}` is closed: reopen the volume to write", self.name);
        Error::new(ErrorKind::Fenced, message)
    }
}

/// Lets a record's extents cover what the index knew of their ranges.
pub fn show(index: &mut [crate::writeback::extents::Extents<Location>], record: &Rc<Record>) {
    for (_, extent, position) in record.placed() {
        let place = Location { change: extent.change, position, record: Rc::clone(record) };
        index[usize::from(extent.volume)].put(extent.offset..extent.offset + extent.length, place);
    }
}
