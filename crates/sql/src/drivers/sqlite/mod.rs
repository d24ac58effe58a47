//! SQLite, in this process: on a directory, through a counting file system, or on a volume by the file system over it.
//!
//! Money is kept as whole cents, times as microseconds, lists arrive as JSON text for `json_each`. A transaction takes the
//! write lock when it begins, so that it cannot fail half-way for want of it. Waiting for another session's lock is SQLite's
//! busy handler; one that is not had in time is a [`Conflict`](ErrorKind::Conflict).

mod dialect;

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql};

use crate::database::{Database, DatabaseKind};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Session, Statement, Target};
use crate::value::Value;

pub(super) use dialect::DIALECT;

/// How long a session waits for a lock by default.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prepared statements a session keeps; beyond, SQLite prepares again.
const KEPT_STATEMENTS: usize = 256;

/// A SQLite database; `open` makes a connection to it.
pub struct Sqlite<Open> {
    open: Open,
    /// `PRAGMA page_size`, `journal_mode` and the like, run on each new connection.
    pragmas: String,
}

impl<Open: Fn() -> rusqlite::Result<Connection>> Sqlite<Open> {
    /// A database that `open` opens. `pragmas` are run on each connection first.
    pub fn new(open: Open, pragmas: impl Into<String>) -> Self {
        Self { open, pragmas: pragmas.into() }
    }
}

impl<Open: Fn() -> rusqlite::Result<Connection>> Database for Sqlite<Open> {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Sqlite
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let connection = (self.open)().map_err(error)?;
        connection.busy_timeout(PATIENCE).map_err(error)?;
        connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        connection.execute_batch(&self.pragmas).map_err(error)?;
        Ok(Box::new(SqliteSession { connection, texts: Vec::new() }))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        let mut facts = BTreeMap::from([("sqlite".to_owned(), rusqlite::version().to_owned())]);
        let question = "SELECT (SELECT journal_mode FROM pragma_journal_mode), (SELECT synchronous FROM pragma_synchronous),
                               (SELECT page_size FROM pragma_page_size)";
        let answer = session.query(question, &[])?;
        let row = answer.first()?;
        let words = ["off", "normal", "full", "extra"];
        let synchronous = usize::try_from(row.int(1)?).ok().and_then(|level| words.get(level).copied());
        facts.insert("journal_mode".to_owned(), row.text(0)?.to_owned());
        facts.insert("synchronous".to_owned(), synchronous.unwrap_or("unknown").to_owned());
        facts.insert("page_size".to_owned(), row.int(2)?.to_string());
        Ok(facts)
    }
}

struct SqliteSession {
    connection: Connection,
    /// The prepared statements' texts; SQLite's own handles are in the connection's cache.
    texts: Vec<String>,
}

impl SqliteSession {
    /// Rolls back what is open after an error.
    fn ended<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|failed| {
            self.roll_back();
            error(failed)
        })
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // Report the first error; SQLite rolls back by itself when the connection closes.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn simple(&self, text: &str) -> Result<()> {
        let run = || self.connection.prepare_cached(text)?.raw_execute().map(drop);
        self.ended(run())
    }

    fn run_text(
        connection: &Connection,
        text: &str,
        parameters: &[Value<'_>],
        answer: &mut Answer,
    ) -> rusqlite::Result<()> {
        answer.clear();
        let mut statement = connection.prepare_cached(text)?;
        for (index, value) in parameters.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value)?;
        }
        let (width, reads) = (statement.column_count(), statement.readonly());
        answer.set_width(width);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            for column in 0..width {
                answer.push(value_of(row.get_ref(column)?)?);
            }
        }
        answer.affected = if reads { answer.len() as u64 } else { connection.changes() };
        Ok(())
    }
}

impl Session for SqliteSession {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        if let Some(known) = self.texts.iter().position(|known| known == text) {
            return Ok(Statement(known as u32));
        }
        let prepared = self.connection.prepare_cached(text).map(drop);
        self.ended(prepared)?;
        self.texts.push(text.to_owned());
        Ok(Statement(self.texts.len() as u32 - 1))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        let text = &self.texts[statement.0 as usize];
        self.ended(Self::run_text(&self.connection, text, parameters, answer))
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        self.ended(self.connection.execute_batch(text))
    }

    fn begin(&mut self) -> Result<()> {
        self.simple("BEGIN IMMEDIATE")
    }

    fn commit(&mut self) -> Result<()> {
        self.simple("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        if self.connection.is_autocommit() { Ok(()) } else { self.simple("ROLLBACK") }
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        let places: Vec<String> = (1..=target.columns.len()).map(|number| format!("?{number}")).collect();
        let columns = target.columns.join(", ");
        let insert = format!("INSERT INTO {} ({columns}) VALUES ({})", target.table, places.join(", "));
        let own = self.connection.is_autocommit();
        if own {
            self.begin()?;
        }
        Ok(Box::new(SqliteBulk { session: self, insert, own, rows: 0, over: false }))
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.connection.busy_timeout(timeout.unwrap_or(PATIENCE)).map_err(error)
    }
}

struct SqliteBulk<'s> {
    session: &'s mut SqliteSession,
    insert: String,
    /// Whether the transaction is this load's own.
    own: bool,
    rows: u64,
    over: bool,
}

impl Bulk for SqliteBulk<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let insert = || {
            let mut statement = self.session.connection.prepare_cached(&self.insert)?;
            for (index, value) in values.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, value)?;
            }
            statement.raw_execute()
        };
        let inserted = insert();
        self.over = inserted.is_err();
        self.session.ended(inserted)?;
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        self.over = true;
        if self.own {
            self.session.commit()?;
        }
        Ok(self.rows)
    }
}

impl Drop for SqliteBulk<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.session.roll_back();
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(value) | Value::Decimal { units: value, .. } | Value::Time(value) => {
                ToSqlOutput::Borrowed(ValueRef::Integer(value))
            }
            Value::Float(value) => ToSqlOutput::Borrowed(ValueRef::Real(value)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Value::Ints(_) => ToSqlOutput::Owned(rusqlite::types::Value::Text(self.to_string())),
        })
    }
}

fn value_of(value: ValueRef<'_>) -> rusqlite::Result<Value<'_>> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Float(value),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text)?),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    })
}

/// SQLite's error as ours.
pub fn error(failed: rusqlite::Error) -> Error {
    let kind = match failed.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Conflict,
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            ErrorKind::Constraint
        }
        Some(ErrorCode::DiskFull | ErrorCode::OutOfMemory) => ErrorKind::Full,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        Some(ErrorCode::CannotOpen) => ErrorKind::Refused,
        Some(
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied,
        ) => ErrorKind::Permission,
        _ => ErrorKind::Other,
    };
    let code = failed.sqlite_error().map(|failed| failed.extended_code.to_string());
    let error = Error::new(kind, format!("SQLite: {failed}"));
    match code {
        Some(code) => error.with_code(code),
        None => error,
    }
}
