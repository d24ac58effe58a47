//! One session with a database: prepared statements, pipelines of calls, transactions, bulk load.
//!
//! A session blocks its thread; a program with many virtual users gives each a thread of its own. The rule that makes
//! callers simple: **every error ends the transaction**. When a call returns an error, the driver has rolled back what was
//! open, so the caller decides by the error's kind alone whether to start over.

use std::time::Duration;

use crate::error::Result;
use crate::rows::Answer;
use crate::value::Value;

/// A statement prepared in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub(crate) u32);

/// One step of a pipeline.
#[derive(Debug, Clone, Copy)]
pub enum Call<'a> {
    /// Begins a transaction.
    Begin,
    /// Commits it.
    Commit,
    /// Runs a prepared statement or calls a stored procedure.
    Run(Statement, &'a [Value<'a>]),
}

/// A table and its columns, for bulk load.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The table.
    pub table: &'a str,
    /// Its columns, in the order of each row's values.
    pub columns: &'a [&'a str],
}

/// Rows on their way into a table by the database's bulk path.
pub trait Bulk {
    /// Adds a row; `values` are in the order of the target's columns.
    ///
    /// # Errors
    /// The database's. The load is over then and nothing of it is kept.
    fn row(&mut self, values: &[Value<'_>]) -> Result<()>;

    /// Ends the load; returns the number of rows the database took. Dropped without it, the load is rolled back, and with it
    /// the transaction it is part of.
    ///
    /// # Errors
    /// The database's.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// One session. Dropped, it rolls back and disconnects.
pub trait Session {
    /// Prepares one statement; parameters are `$1`, `?1` or `?` as the dialect has it. The same text prepared again gives
    /// the same handle.
    ///
    /// # Errors
    /// The database's; a text that is no statement is [`Other`](crate::error::ErrorKind::Other).
    fn prepare(&mut self, text: &str) -> Result<Statement>;

    /// Runs the calls in order and stops at the first that fails; `answers` gets one answer for each call that was run.
    /// A database that can (PostgreSQL) gets all of it before the first answer is awaited, the others call by call.
    ///
    /// Wrap calls that belong together in [`Call::Begin`] and [`Call::Commit`]: without, whether the calls form one
    /// transaction or several is up to the database.
    ///
    /// # Errors
    /// The first failing call's; the transaction is rolled back.
    fn pipeline(&mut self, calls: &[Call<'_>], answers: &mut Vec<Answer>) -> Result<()> {
        answers.resize_with(calls.len(), Answer::new);
        for (call, answer) in calls.iter().zip(answers) {
            answer.clear();
            match call {
                Call::Begin => self.begin()?,
                Call::Commit => self.commit()?,
                Call::Run(statement, parameters) => self.run(*statement, parameters, answer)?,
            }
        }
        Ok(())
    }

    /// Runs one prepared statement or calls one stored procedure. Of several result sets the first is kept.
    ///
    /// # Errors
    /// The database's; the transaction is rolled back.
    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()>;

    /// Runs statements as text, separated by semicolons, without parameters and answers: definitions and settings. A
    /// procedure's body with semicolons goes alone.
    ///
    /// # Errors
    /// The database's; the transaction is rolled back.
    fn batch(&mut self, text: &str) -> Result<()>;

    /// Begins a transaction.
    ///
    /// # Errors
    /// The database's.
    fn begin(&mut self) -> Result<()>;

    /// Commits it.
    ///
    /// # Errors
    /// The database's. If the connection was lost, whether the transaction is kept is not known.
    fn commit(&mut self) -> Result<()>;

    /// Rolls back what is open; nothing if nothing is.
    ///
    /// # Errors
    /// The database's.
    fn rollback(&mut self) -> Result<()>;

    /// Begins a load by the bulk path: `COPY`, `LOAD DATA LOCAL`, bulk copy. Within a transaction it is part of it; otherwise
    /// it is a transaction of its own.
    ///
    /// # Errors
    /// The database's.
    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>>;

    /// How long to wait for an answer; None (as at the start): for ever, because a load or a checkpoint may well stall for
    /// minutes.
    ///
    /// # Errors
    /// If the connection is gone.
    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()>;
}

impl dyn Session + '_ {
    /// Prepares and runs a text once, with an answer of its own. For statements that are not timed.
    ///
    /// # Errors
    /// The database's; the transaction is rolled back.
    pub fn query(&mut self, text: &str, parameters: &[Value<'_>]) -> Result<Answer> {
        let statement = self.prepare(text)?;
        let mut answer = Answer::new();
        self.run(statement, parameters, &mut answer)?;
        answer.asked_for(text);
        Ok(answer)
    }
}
