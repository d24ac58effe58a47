//! Requests of users and their answers, in order.

use std::time::Instant;

/// What a sector shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A write, by its number.
    Op(u32),
    /// Zeroes.
    Zero,
    /// It cannot be read.
    Unreadable,
}

/// A write, or zeroes.
#[derive(Debug, Clone)]
pub struct Op {
    pub volume: usize,
    /// First sector.
    pub first: u32,
    /// Sectors.
    pub count: u32,
    /// Trim or write-zeroes.
    pub zeroes: bool,
    pub fua: bool,
    /// When it was sent, by the history's clock.
    pub sent: u64,
    /// When it was answered.
    pub answered: Option<u64>,
    /// When it was answered with an error: it may be there or not, in each sector.
    pub failed: Option<u64>,
    /// Since when it is durable: by a flush, FUA, or because it was there after a crash.
    pub durable: Option<Instant>,
    /// Since when it is durable on the backing side, too, by the history's clock.
    pub in_place: Option<u64>,
    /// It was seen to be missing, or was given up as a refusal advised.
    pub dead: bool,
    /// When a sector of it was first seen to be missing, by the history's clock; 0 if never.
    pub died: u64,
    /// Its sectors that were seen to be missing; empty if it is whole.
    pub dead_at: Vec<u32>,
}

impl Op {
    /// Whether it can be there at this sector.
    pub fn lives_at(&self, sector: u32) -> bool {
        !self.dead && !self.dead_at.contains(&sector)
    }

    /// Its sectors where it can be.
    pub fn sectors(&self) -> impl Iterator<Item = u32> + '_ {
        (self.first..self.first + self.count).filter(|sector| self.lives_at(*sector))
    }

    /// Whether it was over before the other one began: then a prefix with the other one has this one, unless it failed.
    pub fn before(&self, other: &Self) -> bool {
        self.answered.or(self.failed).is_some_and(|over| over < other.sent)
    }
}

/// An answered flush.
#[derive(Debug, Clone, Copy)]
pub struct Flush {
    pub sent: u64,
    pub answered: u64,
}

/// Everything that was done.
#[derive(Debug)]
pub struct History {
    /// Tells one life's bytes from another's.
    tag: u64,
    /// Bytes of a sector.
    pub sector: usize,
    /// Write 1 is the first.
    pub ops: Vec<Op>,
    pub flushes: Vec<Flush>,
    clock: u64,
    /// Whether a flush means the backing side.
    pub flush_is_in_place: bool,
}

impl History {
    pub fn new(tag: u64, sector: usize) -> Self {
        Self { tag, sector, ops: Vec::new(), flushes: Vec::new(), clock: 0, flush_is_in_place: false }
    }

    /// A moment later than all before.
    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub fn op(&self, number: u32) -> &Op {
        &self.ops[number as usize - 1]
    }

    fn op_mut(&mut self, number: u32) -> &mut Op {
        &mut self.ops[number as usize - 1]
    }

    /// Numbers and ops.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Op)> {
        (1..).zip(&self.ops)
    }

    /// A write begins: its number.
    pub fn send(&mut self, volume: usize, first: u32, count: u32, zeroes: bool, fua: bool) -> u32 {
        let sent = self.tick();
        self.ops.push(Op {
            volume,
            first,
            count,
            zeroes,
            fua,
            sent,
            answered: None,
            failed: None,
            durable: None,
            in_place: None,
            dead: false,
            died: 0,
            dead_at: Vec::new(),
        });
        self.ops.len() as u32
    }

    /// A write is answered.
    pub fn answer(&mut self, number: u32) {
        let (now, in_place) = (self.tick(), self.flush_is_in_place);
        let op = self.op_mut(number);
        op.answered = Some(now);
        if op.fua {
            op.durable = Some(Instant::now());
            op.in_place = in_place.then_some(now);
        }
    }

    /// A write is answered with an error.
    pub fn fail(&mut self, number: u32) {
        let now = self.tick();
        self.op_mut(number).failed = Some(now);
    }

    /// A flush that was sent then is answered.
    pub fn flushed(&mut self, sent: u64) {
        let answered = self.tick();
        self.flushes.push(Flush { sent, answered });
        let (now, in_place) = (Instant::now(), self.flush_is_in_place);
        for op in self.ops.iter_mut().filter(|op| op.answered.is_some_and(|answered| answered < sent)) {
            op.durable.get_or_insert(now);
            if in_place {
                op.in_place.get_or_insert(answered);
            }
        }
    }

    /// Everything that was answered before `sent` is on the backing side.
    pub fn drained(&mut self, sent: u64) {
        let (answered, now) = (self.tick(), Instant::now());
        for op in self.ops.iter_mut().filter(|op| op.answered.is_some_and(|answered| answered < sent)) {
            op.durable.get_or_insert(now);
            op.in_place.get_or_insert(answered);
        }
    }

    /// What a write has in a sector.
    pub fn fill(&self, number: u32, sector: u32, into: &mut [u8]) {
        let head = self.tag << 32 | u64::from(number);
        let mut word = crate::chance::mix(head ^ u64::from(sector).rotate_left(40));
        into[..8].copy_from_slice(&head.to_le_bytes());
        for bytes in into[8..].chunks_exact_mut(8) {
            word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The bytes of a write.
    pub fn payload(&self, number: u32) -> Vec<u8> {
        let op = self.op(number);
        let mut bytes = vec![0; op.count as usize * self.sector];
        for (at, part) in bytes.chunks_exact_mut(self.sector).enumerate() {
            self.fill(number, op.first + at as u32, part);
        }
        bytes
    }

    /// Which write these bytes belong to.
    ///
    /// # Errors
    /// They belong to no write.
    pub fn recognise(
        &self,
        volume: usize,
        sector: u32,
        bytes: &[u8],
        spare: &mut [u8],
    ) -> Result<Content, String> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Content::Zero);
        }
        let head = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let number = head as u32;
        let place = format!("volume {volume}, sector {sector}");
        let known = head >> 32 == self.tag & 0xFFFF_FFFF && (1..=self.ops.len() as u32).contains(&number);
        if !known {
            return Err(format!("{place} shows bytes that nobody wrote: {:02x?}", &bytes[..16]));
        }
        self.fill(number, sector, spare);
        if spare != bytes {
            return Err(format!("{place} shows write {number} in part, or from another place"));
        }
        let op = self.op(number);
        if op.volume != volume || op.zeroes || !(op.first..op.first + op.count).contains(&sector) {
            return Err(format!("{place} shows write {number}, which was made elsewhere"));
        }
        Ok(Content::Op(number))
    }
}
