//! Counts of what a campaign has done.

/// What has been done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub cycles: u64,
    pub starts: u64,
    pub refusals: u64,
    pub writes: u64,
    pub flushes: u64,
    pub cuts: u64,
    pub kills: u64,
    pub stops: u64,
    pub tampers: u64,
    /// Cycles in which a disk failed.
    pub failing: u64,
    /// Requests of clients that were answered with an error.
    pub errors: u64,
}

impl Tally {
    /// Both together.
    pub fn add(&mut self, more: &Self) {
        let Self { cycles, starts, refusals, writes, flushes, cuts, kills, stops, tampers, failing, errors } =
            *more;
        self.cycles += cycles;
        self.starts += starts;
        self.refusals += refusals;
        self.writes += writes;
        self.flushes += flushes;
        self.cuts += cuts;
        self.kills += kills;
        self.stops += stops;
        self.tampers += tampers;
        self.failing += failing;
        self.errors += errors;
    }
}
