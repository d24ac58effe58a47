//! What a lost cache device cost: how much it is known to have held beyond the backing volumes, and how much it can have
//! held at most. Only the cache knew exactly; the redo ring's last commit block and the superblock bound it on both sides.

use std::fmt;

use fathom_units::Bytes;

use super::redo::Pending;
use crate::codec::{Reader, Writer};

/// What an incarnation's cache can hold beyond the backing volumes at any instant: its limits, written down when it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Bytes of the log.
    pub bytes: u64,
    /// Time between the oldest and the newest write, ns.
    pub age: u64,
}

/// What an accepted loss cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// The incarnation whose cache was lost; 0 if none ever was.
    pub incarnation: u64,
    /// The volumes show every write up to this number, and none after it.
    pub seq: u64,
    /// The epoch of that write: how many flushes were asked for before it.
    pub epoch: u64,
    /// What the cache held beyond that at the last batch: so much is lost at least.
    pub pending: Pending,
    /// So much is lost at most; zero if not known.
    pub bounds: Bounds,
    /// How many answered writes are known to be lost; 0 if that is not known. Stands behind the group's members.
    pub writes: u64,
    /// The volumes were gone on with as they were found, and may hold parts of writes up to this one; `u64::MAX` if not known. Stands
    /// behind the group's samples.
    pub parts_up_to: Option<u64>,
}

impl Loss {
    pub(super) fn encode(&self, writer: &mut Writer<'_>) {
        writer.word(self.incarnation).word(self.seq).word(self.epoch);
        self.pending.encode(writer);
        self.bounds.encode(writer);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Self {
        Self {
            incarnation: reader.word(),
            seq: reader.word(),
            epoch: reader.word(),
            pending: Pending::decode(reader),
            bounds: Bounds::decode(reader),
            writes: 0,
            parts_up_to: None,
        }
    }
}

impl Bounds {
    pub(super) fn encode(&self, writer: &mut Writer<'_>) {
        writer.word(self.bytes).word(self.age);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Self {
        Self { bytes: reader.word(), age: reader.word() }
    }
}

/// What volumes of no one moment are good for.
pub const TORN: &str = "they may be of no one moment, so restore the databases on them from a backup, or check them as after a torn write";

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seq, epoch, pending, bounds, writes, parts_up_to, .. } = self;
        match parts_up_to {
            None => {}
            Some(u64::MAX) => {
                return write!(f, "the volumes are used as they were found: {TORN}");
            }
            Some(last) => {
                return write!(
                    f,
                    "if these are the group's volumes, they hold every write up to {seq} and may hold parts of later ones, up to write \
                     {last}: {TORN}"
                );
            }
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        write!(f, "the volumes stand at write {seq}, epoch {epoch}")?;
        if *writes > 0 {
            write!(f, "; {writes} writes beyond that are known to be lost")?;
        }
        if *bounds == Bounds::default() {
            return Ok(());
        }
        write!(
            f,
            "; beyond that the cache held, when the last batch was made, {} of log with {} flushes answered, written over \
             {:.1} s; since then never more than {} written over {:.1} s",
            Bytes::new(pending.bytes),
            pending.epochs,
            seconds(pending.age),
            Bytes::new(bounds.bytes.max(pending.bytes)),
            seconds(bounds.age.max(pending.age)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Loss, Pending};

    #[test]
    fn it_tells_both_bounds_and_where_the_volumes_stand() {
        let pending = Pending { bytes: 8192, epochs: 2, age: 1_500_000_000 };
        let bounds = Bounds { bytes: 1 << 20, age: 30_000_000_000 };
        let text = Loss { incarnation: 3, seq: 77, epoch: 9, pending, bounds, writes: 5, parts_up_to: None };
        let (torn, text) = (Loss { parts_up_to: Some(80), ..text }.to_string(), text.to_string());
        for part in
            ["write 77, epoch 9", "5 writes", "8 KiB of log with 2 flushes", "1.5 s", "1 MiB", "30.0 s"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(torn.contains("parts of later ones, up to write 80") && !torn.contains("stand at"), "{torn}");
    }
}
