//! One session that inserts: the loop that is timed, the same on every database and in both clocks.

use fathom_engine::insert::{Transaction, Until};
use fathom_job::live::grouped;
use fathom_job::progress::Ticker;
use fathom_job::{Failure, Progress};
use fathom_runtime::{Nanos, SECOND};

use super::ledger::Ledger;
use super::read::Method;
use super::table::{NAME, Table};
use crate::database::DatabaseKind;
use crate::rows::Answer;
use crate::session::{Session, Target};
use crate::value::Value;

/// Rows between two looks at the progress.
const ROWS_PER_TICK: u64 = 64;

/// The clock of a session: reading it, and spending CPU time on it where it does not pass by itself.
pub trait SessionClock {
    /// Now, ns.
    fn now(&self) -> Nanos;
    /// The session has computed for a row.
    fn computed_row(&self);
    /// Whether it is this machine's.
    fn is_real(&self) -> bool;
}

/// What a session inserts, and how.
pub struct Plan {
    /// What a row looks like.
    pub table: Table,
    /// How rows are handed over.
    pub method: Method,
    /// Where a transaction ends.
    pub transaction: Transaction,
    /// When the session ends.
    pub until: Until,
}

impl Plan {
    /// Inserts until the end; returns the number of committed rows.
    ///
    /// # Errors
    /// The database's as failures; `Cancelled` if the progress says stop.
    pub fn run(
        &self,
        session: &mut dyn Session,
        kind: DatabaseKind,
        clock: &dyn SessionClock,
        ledger: &mut Ledger,
        progress: &mut dyn Progress,
    ) -> Result<u64, Failure> {
        let mut course = SessionProgress {
            until: self.until,
            begin: ledger.begin(),
            rows: 0,
            clock,
            ledger,
            ticker: Ticker::new(progress),
            tell_at: 0,
        };
        match self.method {
            Method::Statements(rows) => self.by_statements(session, kind, rows, &mut course)?,
            Method::Bulk => self.by_bulk(session, &mut course)?,
            Method::Loop => self.by_loop(session, kind, &mut course)?,
        }
        Ok(course.rows)
    }

    fn by_statements(
        &self,
        session: &mut dyn Session,
        kind: DatabaseKind,
        per_statement: u64,
        course: &mut SessionProgress<'_>,
    ) -> Result<(), Failure> {
        let text = self.table.text();
        let width = self.table.columns().len();
        let mut values = self.table.row(&text).repeat(per_statement as usize);
        let full = session.prepare(&self.table.insert(kind, per_statement as usize))?;
        let mut answer = Answer::new();
        // A transaction of one statement needs no words around it.
        let wrapped = self.transaction.rows() != Some(per_statement);
        while !course.is_over() {
            let started = course.clock.now();
            let first = course.rows;
            if wrapped {
                session.begin()?;
            }
            loop {
                let count = course.most(per_statement);
                for row in 0..count {
                    values[row as usize * width] = Value::Int((course.rows + row + 1) as i64);
                    course.clock.computed_row();
                }
                let statement = match count == per_statement {
                    true => full,
                    false => session.prepare(&self.table.insert(kind, count as usize))?,
                };
                session.run(statement, &values[..count as usize * width], &mut answer)?;
                course.rows += count;
                course.report_progress()?;
                let done = self.transaction.rows().is_some_and(|rows| course.rows - first >= rows);
                if done || course.is_over() {
                    break;
                }
            }
            if wrapped {
                session.commit()?;
            }
            course.committed(started, first);
        }
        Ok(())
    }

    fn by_bulk(&self, session: &mut dyn Session, course: &mut SessionProgress<'_>) -> Result<(), Failure> {
        let text = self.table.text();
        let mut values = self.table.row(&text);
        let target = Target { table: NAME, columns: self.table.columns() };
        while !course.is_over() {
            let started = course.clock.now();
            let first = course.rows;
            let mut bulk = session.bulk(&target)?;
            loop {
                course.rows += 1;
                values[0] = Value::Int(course.rows as i64);
                course.clock.computed_row();
                bulk.row(&values)?;
                course.report_progress()?;
                let done = self.transaction.rows().is_some_and(|rows| course.rows - first >= rows);
                if done || course.is_over() {
                    break;
                }
            }
            bulk.finish()?;
            course.committed(started, first);
        }
        Ok(())
    }
}

/// A session's progress.
pub(super) struct SessionProgress<'a> {
    until: Until,
    begin: Nanos,
    /// Rows handed over, whose keys are 1 to this.
    pub(super) rows: u64,
    clock: &'a dyn SessionClock,
    ledger: &'a mut Ledger,
    ticker: Ticker<'a>,
    /// At how many rows the progress is looked at next.
    tell_at: u64,
}

impl SessionProgress<'_> {
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub(super) fn is_over(&self) -> bool {
        match self.until {
            Until::Rows(count) => self.rows >= count,
            // One transaction at least: on a busy machine the first may begin late.
            Until::Time(span) => self.rows > 0 && self.clock.now() - self.begin >= span,
        }
    }

    /// What is left of a time-limited session, of so long a time at most.
    pub(super) fn left(&self, most: Nanos) -> Nanos {
        match self.until {
            Until::Rows(_) => most,
            Until::Time(span) => most.min((self.begin + span).saturating_sub(self.clock.now())),
        }
    }

    /// How many rows the next statement has, of those it may have.
    pub(super) fn most(&self, wanted: u64) -> u64 {
        match self.until {
            Until::Rows(count) => wanted.min(count - self.rows),
            Until::Time(_) => wanted,
        }
    }

    /// Since then the server has inserted the rows from the one after `first`, in transactions of so many.
    pub(super) fn looped(&mut self, started: Nanos, first: u64, per_transaction: u64) {
        let transactions = (self.rows - first).div_ceil(per_transaction);
        self.ledger.looped(started, self.clock.now(), transactions, self.rows - first);
    }

    fn committed(&mut self, started: Nanos, first: u64) {
        self.ledger.committed(started, self.clock.now(), self.rows - first);
    }

    /// Tells the progress now and then. Reading the clock for every row would cost more than some rows do.
    pub(super) fn report_progress(&mut self) -> Result<(), Failure> {
        if self.rows < self.tell_at {
            return Ok(());
        }
        self.tell_at = self.rows + ROWS_PER_TICK;
        let elapsed = self.clock.now() - self.begin;
        let done = match self.until {
            Until::Rows(count) => self.rows as f64 / count as f64,
            Until::Time(span) => elapsed as f64 / span as f64,
        };
        let (rows, rate) = (self.rows, self.rows as f64 * SECOND as f64 / elapsed.max(1) as f64);
        self.ticker.tick(done, || format!("{} rows, {} rows/s", grouped(rows as f64), grouped(rate)))
    }
}
