//! What may be there after an event, by what the docs promise.

use super::history::{Content, History, Op};

/// All sectors of all volumes.
pub type View = Vec<Vec<Content>>;

/// What the volumes must show together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The beginning of the order of all writes, whole writes, of all volumes one common beginning.
    Prefix,
    /// What a disk could show: in each sector a write that no durable one has replaced.
    Disk,
    /// As a disk, and of what lies between two flushes nothing without all that lies before.
    Intervals,
}

/// What a check found: the writes that are there.
#[derive(Debug)]
pub struct PresentWrites {
    /// By number; 0 is unused.
    pub ops: Vec<bool>,
}

impl History {
    /// Compares what is there with what must be: all ops that are `required`, by the rule.
    ///
    /// # Errors
    /// What is wrong, with the first sector that shows it.
    pub fn check(
        &self,
        view: &View,
        rule: Rule,
        required: &dyn Fn(&Op) -> bool,
    ) -> Result<PresentWrites, String> {
        let mut there = vec![false; self.ops.len() + 1];
        for (number, op) in self.numbered() {
            there[number as usize] = !op.dead && required(op);
        }
        let mut latest = 0;
        for (volume, sectors) in view.iter().enumerate() {
            for (sector, seen) in (0..).zip(sectors) {
                let Content::Op(number) = *seen else { continue };
                let op = self.op(number);
                if !op.lives_at(sector) {
                    return Err(format!(
                        "volume {volume}, sector {sector} shows write {number}, which was seen not to be there before"
                    ));
                }
                latest = latest.max(op.sent);
                if rule == Rule::Prefix {
                    there[number as usize] = true;
                }
            }
        }
        match rule {
            Rule::Disk => {}
            Rule::Intervals => {
                let flushes = self.flushes.iter().filter(|flush| flush.answered < latest);
                if let Some(flush) = flushes.max_by_key(|flush| flush.sent) {
                    self.close(&mut there, flush.sent);
                }
            }
            Rule::Prefix => {
                let required = self.numbered().filter(|(number, _)| there[*number as usize]);
                let last = required.map(|(_, op)| op.sent).max().unwrap_or(0);
                self.close(&mut there, last);
            }
        }
        // A zero that only one op can have written says that this op is there, and all before it.
        while let Some(more) = self.compare(view, &there)? {
            if rule != Rule::Prefix {
                break;
            }
            let sent = self.op(more).sent;
            there[more as usize] = true;
            self.close(&mut there, sent);
        }
        if rule != Rule::Prefix {
            for (volume, sectors) in view.iter().enumerate() {
                for seen in sectors {
                    if let Content::Op(number) = *seen {
                        debug_assert_eq!(self.op(number).volume, volume);
                        there[number as usize] = true;
                    }
                }
            }
        }
        Ok(PresentWrites { ops: there })
    }

    /// A prefix that has an op has all that were over before it began.
    fn close(&self, there: &mut [bool], sent: u64) {
        for (number, op) in self.numbered() {
            there[number as usize] |= !op.dead && op.answered.is_some_and(|answered| answered < sent);
        }
    }

    /// Whether a read that was `sent` then may show this: nothing that a write answered before it has replaced.
    ///
    /// # Errors
    /// The write that it does not show.
    pub fn as_new_as(&self, volume: usize, sector: u32, seen: Content, sent: u64) -> Result<(), String> {
        for (number, op) in self.numbered() {
            let covers = (op.first..op.first + op.count).contains(&sector) && op.lives_at(sector);
            let over = op.answered.is_some_and(|answered| answered < sent);
            if op.volume == volume && covers && over && self.is_older(seen, op, sector) {
                let told = self.tell(number);
                return Err(format!(
                    "a read of volume {volume}, sector {sector} shows {seen:?} and not {told}"
                ));
            }
        }
        Ok(())
    }

    /// Holds each op that must be there against what is there. A number: an op that must be there, too.
    fn compare(&self, view: &View, there: &[bool]) -> Result<Option<u32>, String> {
        for (number, op) in self.numbered().filter(|(number, _)| there[*number as usize]) {
            for sector in op.sectors() {
                let place = || format!("volume {}, sector {sector}", op.volume);
                match view[op.volume][sector as usize] {
                    Content::Unreadable => {}
                    Content::Op(seen) if seen == number || !self.op(seen).before(op) => {}
                    Content::Op(seen) => {
                        return Err(format!("{} shows write {seen} and not {}", place(), self.tell(number)));
                    }
                    Content::Zero if op.zeroes => {}
                    Content::Zero => {
                        let mut can = self.numbered().filter(|(_, other)| {
                            let covers = (other.first..other.first + other.count).contains(&sector);
                            let zeroes = other.zeroes && other.volume == op.volume && covers;
                            zeroes && other.lives_at(sector) && !other.before(op)
                        });
                        let Some((first, _)) = can.next() else {
                            return Err(format!("{} shows zeroes and not {}", place(), self.tell(number)));
                        };
                        if can.next().is_none() && !there[first as usize] {
                            return Ok(Some(first));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// A write in words.
    pub fn tell(&self, number: u32) -> String {
        let op = self.op(number);
        let state = match (op.in_place.is_some(), op.durable.is_some(), op.answered.is_some()) {
            (true, ..) => "in place on the backing side",
            (_, true, _) => "durable",
            (_, _, true) => "answered",
            _ => "sent",
        };
        let kind = if op.zeroes { "zeroes" } else { "write" };
        format!(
            "{kind} {number} of {} ({state}; sectors {} to {})",
            self.ops.len(),
            op.first,
            op.first + op.count - 1
        )
    }

    /// What is there stays; what is not is gone for good. Returns how many bytes of answered writes are gone.
    pub fn settle(&mut self, view: &View, there: &PresentWrites, rule: Rule, in_place: bool) -> u64 {
        let (tick, now) = (self.tick(), std::time::Instant::now());
        let mut lost = 0;
        // What is known to be gone shows what else is: zeroes that are not there hide nothing.
        loop {
            let (more, some) = self.bury(view, there, rule, tick);
            lost += more;
            if !some {
                break;
            }
        }
        for at in 0..self.ops.len() {
            let op = &self.ops[at];
            if op.dead {
                continue;
            }
            let shown = |sector: u32| view[op.volume][sector as usize];
            if there.ops[at + 1] {
                let mut dead_at = op.dead_at.clone();
                if rule != Rule::Prefix {
                    let gone = op.sectors().filter(|sector| self.is_older(shown(*sector), op, *sector));
                    dead_at.extend(gone);
                }
                let op = &mut self.ops[at];
                if dead_at.len() > op.dead_at.len() {
                    op.died = tick;
                }
                op.dead_at = dead_at;
                op.durable.get_or_insert(now);
                if in_place {
                    op.in_place.get_or_insert(tick);
                }
            } else {
                // Where nothing tells, it is hidden by what came at the same time, and may be there or not.
                let op = &mut self.ops[at];
                (op.durable, op.in_place) = (None, None);
            }
        }
        lost
    }

    /// Marks what is seen to be gone; how many bytes of answered writes that are, and whether there is any.
    fn bury(&mut self, view: &View, there: &PresentWrites, rule: Rule, tick: u64) -> (u64, bool) {
        let (mut lost, mut some) = (0, false);
        for at in 0..self.ops.len() {
            let op = &self.ops[at];
            if op.dead || there.ops[at + 1] {
                continue;
            }
            let shown = |sector: u32| view[op.volume][sector as usize];
            let gone: Vec<u32> =
                op.sectors().filter(|sector| self.is_older(shown(*sector), op, *sector)).collect();
            if op.answered.is_some() && !op.zeroes {
                lost += (gone.len() * self.sector) as u64;
            }
            if !gone.is_empty() {
                some = true;
                let op = &mut self.ops[at];
                op.dead = rule == Rule::Prefix;
                op.dead_at.extend(gone);
                op.died = tick;
            }
        }
        (lost, some)
    }

    /// Whether what a sector shows was there before the op.
    fn is_older(&self, seen: Content, op: &Op, sector: u32) -> bool {
        match seen {
            Content::Op(number) => self.op(number).before(op),
            Content::Unreadable => false,
            Content::Zero if op.zeroes => false,
            Content::Zero => !self.ops.iter().any(|other| {
                let covers = (other.first..other.first + other.count).contains(&sector);
                other.zeroes
                    && other.volume == op.volume
                    && covers
                    && other.lives_at(sector)
                    && !other.before(op)
            }),
        }
    }
}
