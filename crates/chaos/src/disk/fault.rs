//! A disk that begins to fail: a share of its reads, writes or flushes ends in an I/O error.

use fathom_nbd::Command;

use crate::chance::Chance;

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    Reads,
    /// Trims and zeroes, too.
    Writes,
    Flushes,
}

/// How a disk fails.
#[derive(Debug, Clone)]
pub struct Fault {
    pub failing: Failing,
    /// How many of 1,000 requests of the kind fail.
    pub share: u64,
    /// Writes that a failed flush should have covered are covered by no later one. They survive a power cut only if something
    /// else makes their block durable.
    pub forgets: bool,
    /// Failed requests are acknowledged: the control.
    pub silent: bool,
    pub chance: Chance,
}

impl Fault {
    /// Whether this request fails.
    pub fn hits(&mut self, command: Command) -> bool {
        let is_of_kind = match command {
            Command::Read { .. } => self.failing == Failing::Reads,
            Command::Write | Command::Trim | Command::WriteZeroes { .. } => self.failing == Failing::Writes,
            Command::Flush => self.failing == Failing::Flushes,
            Command::Cache | Command::BlockStatus { .. } | Command::Disconnect => false,
        };
        is_of_kind && self.chance.below(1000) < self.share
    }

    /// Which part of a failed write of this length is on the disk: a run of whole sectors, often none.
    pub fn part(&mut self, length: u64, sector: u64) -> std::ops::Range<u64> {
        let sectors = length / sector;
        if self.chance.one_in(2) {
            return 0..0;
        }
        let from = self.chance.below(sectors + 1);
        from * sector..self.chance.range(from, sectors + 1) * sector
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Failing, Fault};
    use crate::chance::Chance;

    fn fault(failing: Failing, share: u64) -> Fault {
        Fault { failing, share, forgets: false, silent: false, chance: Chance::new(5, 0) }
    }

    #[test]
    fn the_drawn_share_of_the_drawn_kind_fails() {
        let mut writes = fault(Failing::Writes, 100);
        let failed = (0..10_000).filter(|_| writes.hits(Command::Write)).count();
        assert!((800..1200).contains(&failed), "{failed}");
        let mut all = fault(Failing::Flushes, 1000);
        assert!(all.hits(Command::Flush) && !all.hits(Command::Write) && !all.hits(Command::Trim));
    }

    #[test]
    fn a_failed_write_leaves_nothing_all_or_a_run_of_whole_sectors() {
        let mut writes = fault(Failing::Writes, 1000);
        let (mut none, mut some, mut all) = (0, 0, 0);
        for _ in 0..400 {
            let part = writes.part(2048, 512);
            assert!(part.start <= part.end && part.end <= 2048, "{part:?}");
            assert!(part.start.is_multiple_of(512) && part.end.is_multiple_of(512), "{part:?}");
            match part.end - part.start {
                0 => none += 1,
                2048 => all += 1,
                _ => some += 1,
            }
        }
        assert!(none > 150 && some > 50 && all > 0, "{none}, {some}, {all}");
    }
}
