//! What each sector of a mirror or a pool may show: a disk's promise.

/// Sectors that are looked at lie in groups of four around the borders of regions.
pub const GROUP: usize = 4;
/// Groups.
pub const GROUPS: usize = 5;
/// Bytes of a region.
pub const REGION: usize = 64 << 10;
/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// Where a group begins, bytes: two sectors before a border.
pub fn offset(group: usize) -> usize {
    (group + 1) * REGION - 2 * SECTOR
}

/// What happened to the users, in order; with the length of the disks' trace at that time.
#[derive(Debug, Clone, Copy)]
pub enum Note {
    /// A write was sent.
    Sent {
        /// Its number, from 1.
        id: u32,
        /// Where.
        group: usize,
        /// The first sector of the group.
        first: usize,
        /// Sectors.
        count: usize,
        /// Whether it is durable when it is answered.
        fua: bool,
    },
    /// It was answered.
    Answered(u32),
    /// A flush was sent.
    Flushing(u32),
    /// It was answered.
    Flushed(u32),
}

#[derive(Debug, Clone)]
struct Write {
    id: u32,
    sectors: std::ops::Range<usize>,
    sent: usize,
    answered: Option<usize>,
    durable: Option<usize>,
    fua: bool,
}

/// The writes of one life, and what the sectors showed at its begin.
#[derive(Debug, Clone)]
pub struct Oracle {
    base: Vec<u32>,
    writes: Vec<Write>,
    flushes: Vec<(u32, usize)>,
}

impl Oracle {
    /// Sectors that show this.
    pub fn new(base: Vec<u32>) -> Self {
        Self { base, writes: Vec::new(), flushes: Vec::new() }
    }

    /// Takes the next note.
    pub fn take(&mut self, time: usize, note: Note) {
        match note {
            Note::Sent { id, group, first, count, fua } => {
                let first = group * GROUP + first;
                let sectors = first..first + count;
                self.writes.push(Write { id, sectors, sent: time, answered: None, durable: None, fua });
            }
            Note::Answered(id) => {
                let found = self.writes.iter_mut().find(|write| write.id == id).expect("it was sent");
                found.answered = Some(time);
                if found.fua {
                    found.durable = Some(time);
                }
            }
            Note::Flushing(id) => self.flushes.push((id, time)),
            Note::Flushed(id) => {
                let at = self.flushes.iter().find(|(flush, _)| *flush == id).expect("it was sent").1;
                for write in &mut self.writes {
                    if write.answered.is_some_and(|answered| answered < at) {
                        write.durable.get_or_insert(time);
                    }
                }
            }
        }
    }

    /// What a sector may show after a power cut now.
    pub fn allowed(&self, sector: usize) -> Vec<u32> {
        let here = || self.writes.iter().filter(move |write| write.sectors.contains(&sector));
        let durable = || here().filter(|write| write.durable.is_some());
        let replaced = |write: &Write| {
            durable().any(|later| write.answered.is_some_and(|answered| answered < later.sent))
        };
        let mut allowed: Vec<u32> = here().filter(|write| !replaced(write)).map(|write| write.id).collect();
        if durable().next().is_none() {
            allowed.push(self.base[sector]);
        }
        allowed
    }

    /// What a sector must show while the power is on, if no write to it is under way and its last ones did not overlap.
    pub fn current(&self, sector: usize) -> Option<u32> {
        let here: Vec<&Write> = self.writes.iter().filter(|write| write.sectors.contains(&sector)).collect();
        let Some(last) = here.iter().max_by_key(|write| write.sent) else { return Some(self.base[sector]) };
        last.answered?;
        let clear = here
            .iter()
            .all(|write| write.id == last.id || write.answered.is_some_and(|answered| answered < last.sent));
        clear.then_some(last.id)
    }

    /// Compares what all sectors show after a power cut.
    ///
    /// # Errors
    /// The first sector that shows what it must not.
    pub fn judge(&self, shown: &[u32]) -> Result<(), String> {
        for (sector, value) in shown.iter().enumerate() {
            let allowed = self.allowed(sector);
            if !allowed.contains(value) {
                return Err(format!("sector {sector} shows write {value}, allowed are {allowed:?}"));
            }
        }
        Ok(())
    }
}

/// The bytes of a sector that a write made.
pub fn stamp(id: u32, sector: usize) -> Vec<u8> {
    let word = (u64::from(id) << 16) | sector as u64;
    word.to_le_bytes().repeat(SECTOR / 8)
}

/// Which write a sector shows.
///
/// # Errors
/// If nobody wrote that there.
pub fn shown(sector: usize, bytes: &[u8]) -> Result<u32, String> {
    let word = u64::from_le_bytes(bytes[..8].try_into().expect("a sector has eight bytes"));
    if word == 0 && bytes.iter().all(|byte| *byte == 0) {
        return Ok(0);
    }
    let id = (word >> 16) as u32;
    if bytes == stamp(id, sector) {
        Ok(id)
    } else {
        Err(format!("sector {sector} shows what nobody wrote: {word:x}"))
    }
}
