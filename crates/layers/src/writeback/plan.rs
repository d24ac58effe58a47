//! Which records make the next batch, and what is left of them when of several writes to one place only the last counts.

use std::rc::Rc;

use super::extents::{Cut, Extents};
use super::record::{Change, Record};

/// Where the newest bytes of a range stand in the log.
#[derive(Debug, Clone)]
pub struct Location {
    /// What happened to the range.
    pub change: Change,
    /// Position of its first byte in the log; that of the next payload if it is no write.
    pub position: u64,
    /// The record it came with.
    pub record: Rc<Record>,
}

impl Cut for Location {
    fn skip(&self, bytes: u64) -> Self {
        let payload = if self.change == Change::Write { bytes } else { 0 };
        Self { position: self.position + payload, ..self.clone() }
    }
}

/// A part of a batch. Offset and length are bytes.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Index of the volume in its group.
    pub volume: u16,
    /// First byte on the volume.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Where they stand.
    pub place: Location,
}

/// A batch: a run of records from the oldest on.
#[derive(Debug, Default)]
pub struct Plan {
    /// How many records.
    pub records: usize,
    /// Sorted by volume and offset; none overlap.
    pub pieces: Vec<Piece>,
    /// Bytes of payload.
    pub payload: u64,
}

/// What a batch may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of payload, unless a single record has more.
    pub payload: u64,
    /// Extents.
    pub extents: usize,
}

#[derive(Default)]
struct Overlay {
    volumes: Vec<Extents<Location>>,
    payload: u64,
}

impl Overlay {
    fn put(&mut self, record: &Rc<Record>) {
        for (_, extent, position) in record.placed() {
            let volume = usize::from(extent.volume);
            if self.volumes.len() <= volume {
                self.volumes.resize_with(volume + 1, Extents::default);
            }
            let range = extent.offset..extent.offset + extent.length;
            let map = &mut self.volumes[volume];
            let covered = map.parts(range.clone()).filter(|(_, place)| is_write(place.as_ref()));
            self.payload -= covered.map(|(range, _)| range.end - range.start).sum::<u64>();
            self.payload += extent.payload();
            map.put(range, Location { change: extent.change, position, record: Rc::clone(record) });
        }
    }

    fn extents(&self) -> usize {
        self.volumes.iter().map(Extents::len).sum()
    }

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(self.extents());
        for (volume, map) in self.volumes.iter().enumerate() {
            pieces.extend(map.iter().map(|(range, place)| Piece {
                volume: volume as u16,
                offset: range.start,
                length: range.end - range.start,
                place: place.clone(),
            }));
        }
        pieces
    }
}

fn is_write(place: Option<&Location>) -> bool {
    place.is_some_and(|place| place.change == Change::Write)
}

/// The next batch of these records, oldest first: as many as fit, cut where an epoch ends if one ends among them, and
/// otherwise after any record, which is a legal moment of the log too. `open_epoch` has not ended. Empty if there are none.
pub fn plan(records: &[Rc<Record>], open_epoch: u64, limits: Limits) -> Plan {
    let mut overlay = Overlay::default();
    let (mut taken, mut ended) = (0, 0);
    for (index, record) in records.iter().enumerate() {
        let new = overlay.payload + record.extents.iter().map(super::record::Extent::payload).sum::<u64>();
        // Each extent makes at most two pieces more: itself, and the second half of one that it splits.
        let pieces = overlay.extents() + 2 * record.extents.len();
        if taken > 0 && (new > limits.payload || pieces > limits.extents) {
            break;
        }
        overlay.put(record);
        taken = index + 1;
        let next_epoch = records.get(taken).map_or(open_epoch, |next| next.epoch);
        if next_epoch != record.epoch {
            ended = taken;
        }
    }
    let records_in = if ended > 0 { ended } else { taken };
    if records_in < taken {
        overlay = Overlay::default();
        records[..records_in].iter().for_each(|record| overlay.put(record));
    }
    Plan { records: records_in, pieces: overlay.pieces(), payload: overlay.payload }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::{Change, Limits, plan};
    use crate::writeback::record::{Extent, Record};

    const SECTOR: u64 = 512;

    fn record(first_seq: u64, epoch: u64, extents: Vec<Extent>) -> Rc<Record> {
        Rc::new(Record {
            position: first_seq << 20,
            end: (first_seq << 20) + 4096,
            data: first_seq << 20,
            payload: first_seq << 20,
            checksums: Box::default(),
            extents: extents.into(),
            first_seq,
            epoch,
            crc: 0,
            born: 0,
            bytes: RefCell::default(),
            done: Cell::new(true),
            work: Cell::new(0),
        })
    }

    fn extent() -> impl Strategy<Value = Extent> {
        (0..2_u16, 0..30_u64, 1..10_u64, any::<bool>()).prop_map(|(volume, sector, sectors, zero)| Extent {
            volume,
            change: if zero { Change::Zero } else { Change::Write },
            offset: sector * SECTOR,
            length: sectors * SECTOR,
        })
    }

    proptest! {
        /// Against the definition: play the records one by one on arrays of sectors.
        #[test]
        fn a_batch_is_what_its_records_leave_behind(
            groups in prop::collection::vec((prop::collection::vec(extent(), 1..4), any::<bool>()), 1..20), limit in 1..40_u64,
        ) {
            let (mut epoch, mut seq, mut records) = (1, 1, Vec::new());
            for (extents, flush) in groups {
                let count = extents.len() as u64;
                records.push(record(seq, epoch, extents));
                seq += count;
                epoch += u64::from(flush);
            }
            let limits = Limits { payload: limit * SECTOR, extents: 1000 };
            let plan = plan(&records, epoch, limits);
            prop_assert!(plan.records > 0);
            prop_assert!(plan.payload <= limits.payload || plan.records == 1);
            let mut arrays = vec![vec![None; 40]; 2];
            for record in &records[..plan.records] {
                for (_, extent, position) in record.placed() {
                    for index in 0..extent.length / SECTOR {
                        let bytes = (extent.change == Change::Write).then_some(position + index * SECTOR);
                        arrays[usize::from(extent.volume)][(extent.offset / SECTOR + index) as usize] = Some(bytes);
                    }
                }
            }
            let mut payload = 0;
            for piece in &plan.pieces {
                for index in 0..piece.length / SECTOR {
                    let expected = arrays[usize::from(piece.volume)][(piece.offset / SECTOR + index) as usize].take();
                    let write = piece.place.change == Change::Write;
                    payload += if write { SECTOR } else { 0 };
                    let found = write.then_some(piece.place.position + index * SECTOR);
                    prop_assert_eq!(expected, Some(found));
                }
            }
            prop_assert!(arrays.iter().flatten().all(Option::is_none));
            prop_assert_eq!(payload, plan.payload);
            // Cut inside an epoch only if no epoch ends in what would have fitted.
            let cut_epoch = records[plan.records - 1].epoch;
            let next_epoch = records.get(plan.records).map_or(epoch, |next| next.epoch);
            prop_assert!(cut_epoch != next_epoch || records[0].epoch == cut_epoch);
        }
    }
}
