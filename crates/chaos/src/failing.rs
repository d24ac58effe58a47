//! Disks that fail, while the daemon works, starts or stops: which, when and how, by a stream of its own.

use crate::chance::{Chance, mix};
use crate::daemon::{Ended, Start};
use crate::disk::{Failing, Fault};
use crate::life::Life;
use crate::oracle::Content;

/// Tells this stream from that of the life.
const STREAM: u64 = 0xD15C_FA11;
/// One cycle of so many has a disk that fails.
const EVERY: u64 = 5;

/// What the daemon does when disks begin to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It starts.
    Start,
    /// It serves, and has been asked for so many requests.
    Work(u64),
    /// It was asked to stop.
    Stop,
}

/// Disks that are going to fail in this cycle.
#[derive(Debug)]
pub struct Plan {
    pub when: When,
    /// One or two disks, by number, and how each fails.
    faults: Vec<(usize, Fault)>,
    /// For what clients read while it fails.
    pub chance: Chance,
}

impl Plan {
    /// Whether a disk may lose what it has answered and no flush has covered.
    fn forgets(&self) -> bool {
        self.faults.iter().any(|(_, fault)| fault.forgets && fault.failing == Failing::Flushes)
    }
}

impl Life {
    /// Draws whether disks fail in this cycle.
    pub fn draw_failing(&self) -> Option<Plan> {
        let number = self.number << 8 | self.tally.cycles;
        let mut chance = Chance::new(mix(self.options.seed) ^ STREAM, number);
        let wanted = self.options.failing || self.options.hides || chance.one_in(EVERY);
        if !wanted || self.stack.files || self.options.lies {
            return None;
        }
        let mut devices: Vec<usize> = (0..self.stack.devices.len())
            .filter(|at| self.stack.names(*at) && self.away != Some(*at))
            .collect();
        let count = if chance.one_in(3) { 2 } else { 1 };
        let mut faults = Vec::new();
        while faults.len() < count && !devices.is_empty() {
            let device = devices.swap_remove(chance.index(devices.len()));
            let failing = chance.pick(&[Failing::Reads, Failing::Writes, Failing::Flushes]);
            let fault = Fault {
                failing: if self.options.hides { Failing::Writes } else { failing },
                share: chance.pick(&[20, 100, 300, 1000]),
                forgets: chance.one_in(2),
                silent: self.options.hides,
                chance: Chance::new(chance.word(), 0),
            };
            faults.push((device, fault));
        }
        let work = When::Work(chance.scale(200));
        let when = chance.weighted(&[(work, 3), (When::Start, 1), (When::Stop, 1)]);
        // Half a superblock of a volume that was never open is taken for a device in use (docs/CRASH-CAMPAIGN.md).
        let is_new = self.tally.cycles == 1 && when == When::Start;
        Some(Plan { when: if self.options.hides || is_new { work } else { when }, faults, chance })
    }

    /// The disks begin to fail.
    pub fn begin_to_fail(&mut self, plan: &Plan) {
        for (device, fault) in &plan.faults {
            let device = &self.stack.devices[*device];
            device.disk().expect("files do not fail").fail(Some(fault.clone()));
            let silent = if fault.silent { ", and says nothing" } else { "" };
            let told = format!(
                "{} fails {} of 1000 {:?} ({:?}), forgets {}{silent}",
                device.name, fault.share, fault.failing, plan.when, fault.forgets
            );
            self.tell(told);
        }
        self.tally.failing += 1;
        self.failing = true;
    }

    /// All disks work again.
    pub fn heal(&mut self) {
        for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
            disk.fail(None);
        }
        self.failing = false;
    }

    /// What a failed flush forgot is gone for good: it would be seen until the next power cut, and be no longer there after it.
    pub fn forget(&mut self, plan: Option<&Plan>) {
        if plan.is_some_and(Plan::forgets) {
            self.power.end(true);
        }
    }

    /// A start on disks that fail: it serves, or refuses. What it shows is right, and it costs nothing.
    pub fn start_failing(&mut self, plan: &Plan) -> Result<(), String> {
        self.begin_to_fail(plan);
        if plan.forgets() {
            self.cut = true;
        }
        match self.start()? {
            Start::Serving(daemon) => {
                self.daemon = Some(daemon);
                match self.read_back() {
                    Ok(view) => {
                        let (rule, cut) = (self.stack.rule(), self.cut);
                        let there = self.history.check(&view, rule, &|op| {
                            op.durable.is_some() || !cut && op.answered.is_some()
                        })?;
                        // A sector that could not be read says nothing of the write that has it.
                        if !view.iter().flatten().any(|seen| *seen == Content::Unreadable) {
                            self.history.settle(&view, &there, rule, false);
                        }
                        self.tell("served on disks that fail");
                    }
                    Err(Ended::Wrong(why)) => return Err(why),
                    Err(Ended::Planned) => {}
                }
            }
            Start::Killed => self.tell("ended at the start, on disks that fail"),
            Start::Refused(text) => {
                self.tally.refusals += 1;
                self.tell(format!("refused on disks that fail: {text}"));
            }
        }
        self.power.end(self.chance.one_in(2) || plan.forgets());
        self.quiesce();
        Ok(())
    }

    /// What a client read while a disk failed must be as new as every write that was answered before the read was `sent`.
    pub fn judge_read(&self, volume: usize, first: u32, sent: u64, data: &[u8]) -> Result<(), Ended> {
        let mut spare = vec![0; self.stack.sector as usize];
        for (sector, bytes) in (first..).zip(data.chunks_exact(spare.len())) {
            let seen: Content =
                self.history.recognise(volume, sector, bytes, &mut spare).map_err(Ended::Wrong)?;
            self.history.as_new_as(volume, sector, seen, sent).map_err(Ended::Wrong)?;
        }
        Ok(())
    }
}
