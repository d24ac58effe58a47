//! One request on its way to a server: kept until it is answered, however often it must be sent.

use std::cell::Cell;
use std::ops::Range;

use fathom_nbd::client::{Question, SIZE};
use fathom_runtime::{Oneshot, Permit};
use fathom_volume::{Buf, Result};

/// A request that was taken in.
pub struct Job {
    pub question: Question,
    pub fua: bool,
    pub offset: u64,
    pub length: u32,
    /// The bytes of a write, or where those of a read go.
    pub buf: Option<Buf>,
    /// Of a flush: how many changes had been answered when it was asked for.
    pub covers: u64,
    /// Whether it was handed to a connection.
    pub sent: Cell<bool>,
    /// Bytes of a read that have come.
    pub filled: Cell<u32>,
    /// The error number of a chunk; 0 if all is well so far.
    pub failed: Cell<u32>,
    answer: Oneshot<Result<()>>,
    // Held until it is answered, also if nobody waits for it any more.
    _place: Permit,
}

impl Job {
    pub fn new(
        (question, fua): (Question, bool),
        (offset, length): (u64, u32),
        buf: Option<Buf>,
        covers: u64,
        place: Permit,
    ) -> Self {
        Self {
            question,
            fua,
            offset,
            length,
            buf,
            covers,
            sent: Cell::new(false),
            filled: Cell::new(0),
            failed: Cell::new(0),
            answer: Oneshot::default(),
            _place: place,
        }
    }

    /// Whether it changes what the server holds. A trim does not: what it leaves behind is anything.
    pub fn changes(&self) -> bool {
        matches!(self.question, Question::Write | Question::WriteZeroes)
    }

    /// Whether it must not be done at some later time that nobody knows.
    pub fn harms_late(&self) -> bool {
        self.changes() || self.question == Question::Trim
    }

    /// The bytes it is about.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.length)
    }

    /// Forgets what has come of an answer; whether it had been sent.
    pub fn begin_again(&self) -> bool {
        self.filled.set(0);
        self.failed.set(0);
        self.sent.replace(false)
    }

    pub fn header(&self, cookie: u64) -> [u8; SIZE] {
        self.question.encode(self.fua, cookie, self.offset, self.length)
    }

    /// What follows the header.
    pub fn payload(&self) -> Option<&Buf> {
        self.buf.as_ref().filter(|_| self.question == Question::Write)
    }

    /// Bytes that a simple answer without error brings along.
    pub fn expects(&self) -> u32 {
        if self.question == Question::Read { self.length } else { 0 }
    }

    /// The answer, for who waits.
    pub fn finish(&self, result: Result<()>) {
        self.answer.give(result);
    }

    /// Waits for the answer.
    pub async fn done(&self) -> Result<()> {
        self.answer.wait().await
    }
}
