//! The rules of the log manager, without a clock: which records share a block, when a block is closed, which writes
//! may be under way at once, what is hardened.

use std::collections::VecDeque;

/// Bytes a record's length is rounded up to: records are aligned to 4 bytes (Microsoft, SQL Server transaction log
/// architecture and management guide).
const RECORD_ALIGNMENT: u64 = 4;

/// The figures of a log. All sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Blocks are multiples of it: the physical sector that the log's disk reports, 512 or 4096; trace flag 1800 makes it
    /// 4096 (VMware, Enhancing Microsoft SQL Server Performance ... with the SQL Server Trace Flag 1800, 2021).
    pub sector: u64,
    /// The largest block: 60 KiB (Randal, Trimming More Transaction Log Fat, sqlperformance.com 2013).
    pub block_max: u64,
    /// Bytes of a block that are not records: 72. A published dump of SQL Server 2000 shows 24 (ekasiswanto, Structure of
    /// Log Block, 2008); 72 is the customary figure for later versions. The difference is a tenth of a small sector.
    pub block_header: u64,
    /// Bytes at the block's end for each record: its offset, 2 (same dump).
    pub slot: u64,
    /// Writes under way at once: 112 from SQL Server 2012 on, 32 before (Randal, as above).
    pub writes_in_flight: usize,
    /// Bytes under way at once: 3,840 KiB from SQL Server 2008 on (SQLCAT, Diagnosing Transaction Log Performance Issues and
    /// Limits of the Log Manager).
    pub bytes_in_flight: u64,
    /// Blocks in memory, full or being written; a session that finds none free waits: 128 (sqlskills.com, LOGBUFFER).
    pub buffers: usize,
    /// Where the first block begins: after the file's header of 8 KiB (Microsoft, as above).
    pub start: u64,
    /// Where the log ends and begins again.
    pub end: u64,
}

impl Settings {
    /// SQL Server's figures from 2012 on, for a log that fills a volume of `size` bytes with that sector.
    pub fn sql_server(sector: u64, size: u64) -> Self {
        Self {
            sector,
            block_max: 60 * 1024,
            block_header: 72,
            slot: 2,
            writes_in_flight: 112,
            bytes_in_flight: 3840 * 1024,
            buffers: 128,
            start: 8192,
            end: size / sector * sector,
        }
    }

    /// The largest record that fits into a block.
    pub fn largest_record(&self) -> u64 {
        (self.block_max - self.block_header - self.slot) / RECORD_ALIGNMENT * RECORD_ALIGNMENT
    }

    /// Checks that the figures agree with each other.
    ///
    /// # Errors
    /// A sentence on what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !self.sector.is_power_of_two() || !(512..=self.block_max).contains(&self.sector) {
            return Err(format!(
                "a log block cannot be a multiple of {} bytes; 512 and 4096 are usual",
                self.sector
            ));
        }
        if !self.block_max.is_multiple_of(self.sector) || !self.start.is_multiple_of(self.sector) {
            return Err(format!(
                "the largest block and the log's start must be multiples of {} bytes",
                self.sector
            ));
        }
        if self.end < self.start + 2 * self.block_max {
            let least = self.start + 2 * self.block_max;
            return Err(format!("a log of {} bytes is too small; it needs {least} at least", self.end));
        }
        if self.writes_in_flight == 0 || self.buffers == 0 {
            return Err("at least one write and one buffer are needed".to_owned());
        }
        Ok(())
    }
}

/// A block to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The block's number, counted from 0.
    pub block: u64,
    /// Where it goes, bytes.
    pub offset: u64,
    /// Its length, bytes; a multiple of the sector.
    pub length: u64,
}

struct WriteInFlight {
    block: u64,
    length: u64,
    // Closed by a commit, not because it was full.
    partial: bool,
    ended: bool,
}

/// The state of a log.
///
/// A block is closed when the next record does not fit, or for a commit. Full blocks are written at once, as many side by
/// side as the limits allow. For commits the rule is group commit: while a block that was closed for a commit is being
/// written, the next one stays open, so that commits which arrive meanwhile share it.
pub struct Core {
    settings: Settings,
    // The open block: its number, bytes, records, and whether a commit waits for it.
    number: u64,
    used: u64,
    wanted: bool,
    // Closed and not under way yet, in order: number and bytes, and whether a commit closed it.
    closed: VecDeque<(u64, u64, bool)>,
    under_way: VecDeque<WriteInFlight>,
    writes: usize,
    bytes: u64,
    partial_under_way: bool,
    // All blocks below this are hardened.
    hardened: u64,
    position: u64,
}

impl Core {
    /// An empty log. The settings must pass [`Settings::check`].
    pub fn new(settings: Settings) -> Self {
        Self {
            number: 0,
            used: 0,
            wanted: false,
            closed: VecDeque::new(),
            under_way: VecDeque::new(),
            writes: 0,
            bytes: 0,
            partial_under_way: false,
            hardened: 0,
            position: settings.start,
            settings,
        }
    }

    /// Whether there is a free buffer for another block.
    pub fn has_room(&self) -> bool {
        self.closed.len() + self.writes < self.settings.buffers
    }

    /// Adds a record; the number of the block it is in. It must be no longer than [`Settings::largest_record`].
    pub fn append(&mut self, bytes: u64) -> u64 {
        assert!(bytes <= self.settings.largest_record(), "a record of {bytes} bytes fits no block");
        let length = bytes.next_multiple_of(RECORD_ALIGNMENT) + self.settings.slot;
        if self.used > 0 && self.used + length > self.settings.block_max {
            self.close(false);
        }
        if self.used == 0 {
            self.used = self.settings.block_header;
        }
        self.used += length;
        self.number
    }

    /// Somebody waits for all records so far; the number of the block that must be hardened. If there is nothing to
    /// wait for, that is a block already hardened.
    pub fn commit(&mut self) -> u64 {
        if self.used > 0 {
            self.wanted = true;
            return self.number;
        }
        self.number.saturating_sub(1)
    }

    /// Whether a block and all before it are durable.
    pub fn is_hardened(&self, block: u64) -> bool {
        block < self.hardened || self.number == 0 && self.used == 0
    }

    /// How many blocks are durable with all before them.
    pub fn hardened(&self) -> u64 {
        self.hardened
    }

    /// The next write that may start now, which then counts as under way.
    pub fn next_write(&mut self) -> Option<Write> {
        if self.closed.is_empty() && self.wanted && !self.partial_under_way {
            self.close(true);
        }
        let (block, used, partial) = *self.closed.front()?;
        let length = used.next_multiple_of(self.settings.sector);
        let fits = self.writes == 0 || self.bytes + length <= self.settings.bytes_in_flight;
        if self.writes >= self.settings.writes_in_flight || !fits {
            return None;
        }
        self.closed.pop_front();
        self.writes += 1;
        self.bytes += length;
        self.partial_under_way |= partial;
        self.under_way.push_back(WriteInFlight { block, length, partial, ended: false });
        if self.position + length > self.settings.end {
            self.position = self.settings.start;
        }
        let offset = self.position;
        self.position += length;
        Some(Write { block, offset, length })
    }

    /// A write has ended.
    pub fn ended(&mut self, block: u64) {
        let first = self.under_way.front().map_or(0, |write| write.block);
        let write = &mut self.under_way[(block - first) as usize];
        assert!(write.block == block && !write.ended, "block {block} is not under way");
        write.ended = true;
        self.writes -= 1;
        self.bytes -= write.length;
        if write.partial {
            self.partial_under_way = false;
        }
        while self.under_way.front().is_some_and(|write| write.ended) {
            self.hardened += 1;
            self.under_way.pop_front();
        }
    }

    fn close(&mut self, for_commit: bool) {
        self.closed.push_back((self.number, self.used, for_commit));
        self.number += 1;
        self.used = 0;
        self.wanted = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Core, Settings, Write};

    fn log(sector: u64) -> Core {
        let settings = Settings::sql_server(sector, 1 << 20);
        settings.check().expect("the settings are sound");
        Core::new(settings)
    }

    fn drain(core: &mut Core) -> Vec<Write> {
        std::iter::from_fn(|| core.next_write()).collect()
    }

    #[test]
    fn a_commit_closes_the_block_at_the_next_sector() {
        for (sector, lengths) in [(512, [512, 1536, 4608]), (4096, [4096, 4096, 8192])] {
            let mut core = log(sector);
            let mut at = 8192;
            for (bytes, expected) in [300, 1400, 4400].into_iter().zip(lengths) {
                core.append(bytes);
                let block = core.commit();
                let write = core.next_write().expect("a commit waits");
                assert_eq!((write.block, write.offset, write.length), (block, at, expected));
                assert_eq!(core.next_write(), None);
                core.ended(block);
                assert!(core.is_hardened(block));
                at += expected;
            }
        }
    }

    #[test]
    fn without_commits_only_full_blocks_are_written() {
        let mut core = log(512);
        for _ in 0..3000 {
            core.append(230);
        }
        let writes = drain(&mut core);
        assert!(!writes.is_empty() && writes.iter().all(|write| write.length == 60 * 1024), "{writes:?}");
    }

    #[test]
    fn commits_that_arrive_during_a_commits_write_share_the_next_block() {
        let mut core = log(512);
        core.append(1000);
        core.commit();
        let first = core.next_write().expect("a commit waits");
        let blocks: Vec<u64> = (0..5).map(|_| (core.append(1000), core.commit()).1).collect();
        assert_eq!(core.next_write(), None);
        assert_eq!(blocks, [1; 5]);
        core.ended(first.block);
        assert_eq!(core.next_write().map(|write| write.length), Some(5120));
        assert!(!core.is_hardened(1));
    }

    #[test]
    fn a_full_block_goes_out_beside_a_commits_write() {
        let mut core = log(512);
        core.append(1000);
        core.commit();
        assert_eq!(drain(&mut core).len(), 1);
        for _ in 0..65 {
            core.append(1000);
        }
        assert_eq!(drain(&mut core).len(), 1);
    }

    #[test]
    fn with_nothing_to_wait_for_a_commit_is_done() {
        let mut core = log(512);
        let block = core.commit();
        assert!(core.is_hardened(block));
    }

    #[test]
    fn figures_that_contradict_each_other_are_refused() {
        let good = Settings::sql_server(512, 1 << 20);
        for (bad, word) in [
            (Settings { sector: 1000, ..good.clone() }, "1000"),
            (Settings { sector: 65_536, ..good.clone() }, "65536"),
            (Settings { end: 100_000, ..good.clone() }, "too small"),
            (Settings { writes_in_flight: 0, ..good.clone() }, "at least one"),
            (Settings { start: 100, ..good }, "multiples"),
        ] {
            assert!(bad.check().is_err_and(|why| why.contains(word)), "{word}");
        }
    }

    proptest! {
        // Steps: append some bytes, commit, start what may start, end a random write under way.
        #[test]
        fn whatever_happens_the_limits_hold_and_the_order_is_kept(
            sector in prop::sample::select(vec![512_u64, 4096]),
            steps in prop::collection::vec((0_u8..4, 1_u64..20_000, any::<prop::sample::Index>()), 1..400),
        ) {
            let settings = Settings { writes_in_flight: 5, bytes_in_flight: 150_000, ..Settings::sql_server(sector, 1 << 20) };
            let mut core = Core::new(settings.clone());
            let mut under_way: Vec<Write> = Vec::new();
            let mut ended = std::collections::BTreeSet::new();
            let (mut appended, mut written, mut next_block, mut next_offset) = (0, 0, 0, 8192);
            for (step, bytes, pick) in steps {
                match step {
                    0 => {
                        core.append(bytes);
                        appended += bytes;
                    }
                    1 => drop(core.commit()),
                    2 => for write in drain(&mut core) {
                        prop_assert_eq!(write.block, next_block);
                        next_block += 1;
                        prop_assert!(write.length % sector == 0 && (sector..=61_440).contains(&write.length));
                        prop_assert!(write.offset == next_offset || write.offset == 8192);
                        prop_assert!(write.offset + write.length <= settings.end);
                        next_offset = write.offset + write.length;
                        written += write.length;
                        under_way.push(write);
                    },
                    _ if under_way.is_empty() => {}
                    _ => {
                        let write = under_way.swap_remove(pick.index(under_way.len()));
                        core.ended(write.block);
                        ended.insert(write.block);
                    }
                }
                prop_assert!(under_way.len() <= 5);
                let bytes: u64 = under_way.iter().map(|write| write.length).sum();
                prop_assert!(bytes <= 150_000);
                let prefix = (0..).take_while(|block| ended.contains(block)).count() as u64;
                prop_assert!(prefix == 0 || core.is_hardened(prefix - 1));
                prop_assert!(next_block == 0 || !core.is_hardened(prefix));
            }
            // Everything that was added gets out once it is committed.
            core.commit();
            loop {
                let more = drain(&mut core);
                if more.is_empty() && under_way.is_empty() {
                    break;
                }
                written += more.iter().map(|write| write.length).sum::<u64>();
                under_way.extend(more);
                let write = under_way.remove(0);
                core.ended(write.block);
                core.commit();
            }
            prop_assert!(written >= appended);
        }
    }
}
