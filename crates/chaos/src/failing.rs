//! A disk that fails while the daemon works: when, which and how, by a stream of its own.

use crate::chance::{Chance, mix};
use crate::daemon::Ended;
use crate::disk::{Failing, Fault};
use crate::life::Life;
use crate::oracle::Content;

/// Tells this stream from that of the life.
const STREAM: u64 = 0xD15C_FA11;
/// One cycle of so many has a disk that fails.
const EVERY: u64 = 5;

/// A disk that is going to fail in this cycle.
#[derive(Debug)]
pub struct Plan {
    /// Its number.
    pub device: usize,
    /// After so many requests of the clients.
    pub after: u64,
    pub fault: Fault,
    /// What clients read meanwhile.
    pub chance: Chance,
}

impl Life {
    /// Draws whether a disk fails in this cycle.
    pub fn draw_failing(&self) -> Option<Plan> {
        let number = self.number << 8 | self.tally.cycles;
        let mut chance = Chance::new(mix(self.wanted.seed) ^ STREAM, number);
        let wanted = self.wanted.failing || self.wanted.hides || chance.one_in(EVERY);
        if !wanted || self.stack.files || self.wanted.lies {
            return None;
        }
        let devices: Vec<usize> = (0..self.stack.devices.len())
            .filter(|at| self.stack.names(*at) && self.away != Some(*at))
            .collect();
        let failing = chance.pick(&[Failing::Reads, Failing::Writes, Failing::Flushes]);
        let failing = if self.wanted.hides { Failing::Writes } else { failing };
        let fault = Fault {
            failing,
            share: chance.pick(&[20, 100, 300, 1000]),
            // A pool hands the error to the client, whose next flush is a question to the disk again.
            forgets: chance.one_in(2) && self.stack.members().is_empty(),
            silent: self.wanted.hides,
            chance: Chance::new(chance.word(), 0),
        };
        Some(Plan { device: chance.pick(&devices), after: chance.scale(200), fault, chance })
    }

    /// The disk begins to fail.
    pub fn begin_to_fail(&mut self, plan: &Plan) {
        let Plan { device, fault, .. } = plan;
        let device = &self.stack.devices[*device];
        device.disk().expect("files do not fail").fail(Some(fault.clone()));
        let silent = if fault.silent { ", and says nothing" } else { "" };
        let told = format!(
            "{} fails {} of 1000 {:?}, forgets {}{silent}",
            device.name, fault.share, fault.failing, fault.forgets
        );
        self.tally.failing += 1;
        self.failing = true;
        self.tell(told);
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
