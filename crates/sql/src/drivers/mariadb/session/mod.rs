//! A session: statements by handle, transactions, and what MySQL lacks.

mod bulk;

use std::time::Duration;

use mysql::prelude::Protocol;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, QueryResult};

use self::bulk::MariadbBulk;
use super::errors::error;
use super::values::{parameter, read_row};
use crate::database::{DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Session, Statement, Target};
use crate::value::Value;

/// "This command is not supported in the prepared statement protocol yet": MySQL's answer to `CHECK TABLE`.
const NOT_PREPARED: u16 = 1295;

pub(super) struct MariadbSession {
    pub(super) conn: Conn,
    kind: DatabaseKind,
    prepared: Vec<Prepared>,
    /// As far as this session's own calls go.
    pub(super) in_transaction: bool,
    /// The server stalled for too long: its answer may still arrive and would be taken for another's.
    over: bool,
}

/// A text that was prepared.
struct Prepared {
    text: String,
    /// None where it can only be sent as text.
    statement: Option<mysql::Statement>,
    /// Whether it answers the number of the row that it inserts.
    numbers: bool,
}

/// The text without its `RETURNING column`, which MySQL does not know. The number of a new row comes with MySQL's answer to
/// the INSERT.
fn without_returning(text: &str) -> Option<&str> {
    let (insert, column) = text.trim_end().trim_end_matches(';').rsplit_once("RETURNING ")?;
    column.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| insert.trim_end())
}

/// Reads the first result that has columns.
fn read<T: Protocol>(
    mut result: QueryResult<'_, '_, '_, T>,
    numbers: bool,
    answer: &mut Answer,
) -> mysql::Result<Result<()>> {
    let mut read = Ok(());
    while let Some(set) = result.iter() {
        answer.affected = set.affected_rows();
        if numbers {
            answer.set_width(1);
            if let (1.., Some(number)) = (set.affected_rows(), set.last_insert_id()) {
                answer.push(Value::Int(number as i64));
            }
        }
        let columns = set.columns().as_ref().to_vec();
        let wanted = answer.width() == 0 && !columns.is_empty();
        if wanted {
            answer.set_width(columns.len());
        }
        for row in set {
            let row = row?;
            if wanted && read.is_ok() {
                read = read_row(&row.unwrap(), &columns, answer);
            }
        }
    }
    Ok(read)
}

impl MariadbSession {
    pub fn new(conn: Conn, kind: DatabaseKind) -> Self {
        Self { conn, kind, prepared: Vec::new(), in_transaction: false, over: false }
    }

    pub fn title(&self) -> &'static str {
        self.kind.dialect().title
    }

    /// Rolls back after an error of the server; a lost connection has rolled back by itself.
    pub fn ended<T>(&mut self, result: mysql::Result<T>) -> Result<T> {
        result.map_err(|failed| {
            let error = error(self.title(), &failed);
            self.in_transaction = false;
            self.over |= error.kind() == ErrorKind::Timeout && error.code().is_none();
            // After an error of the socket it is unknown what still comes over it.
            if !matches!(failed, mysql::Error::IoError(_) | mysql::Error::CodecError(_)) {
                // Report the first error.
                let _ = self.conn.query_drop("ROLLBACK");
            }
            error
        })
    }

    fn usable(&self) -> Result<()> {
        if self.over {
            let message = format!("{}: the connection was abandoned after a timeout", self.title());
            return Err(Error::new(ErrorKind::Lost, message));
        }
        Ok(())
    }

    /// Runs texts one after another, to the last one's end: a later one's error must not pass unseen.
    fn text(&mut self, text: &str) -> Result<()> {
        let run = |conn: &mut Conn| -> mysql::Result<()> {
            let mut result = conn.query_iter(text)?;
            while let Some(set) = result.iter() {
                for row in set {
                    row?;
                }
            }
            Ok(())
        };
        self.usable()?;
        let done = run(&mut self.conn);
        self.ended(done)
    }
}

impl Session for MariadbSession {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        if let Some(known) = self.prepared.iter().position(|known| known.text == text) {
            return Ok(Statement(known as u32));
        }
        self.usable()?;
        let own = if self.kind == DatabaseKind::Mysql { without_returning(text) } else { None };
        let statement = match self.conn.prep(own.unwrap_or(text)) {
            Err(mysql::Error::MySqlError(server)) if server.code == NOT_PREPARED => None,
            prepared => Some(self.ended(prepared)?),
        };
        self.prepared.push(Prepared { text: text.to_owned(), statement, numbers: own.is_some() });
        Ok(Statement(self.prepared.len() as u32 - 1))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        answer.clear();
        self.usable()?;
        let prepared = &self.prepared[statement.0 as usize];
        let numbers = prepared.numbers;
        let parameters = match parameters {
            [] => Params::Empty,
            values => Params::Positional(values.iter().map(parameter).collect()),
        };
        let done = match &prepared.statement {
            Some(statement) => {
                let result = self.conn.exec_iter(statement, parameters);
                result.and_then(|result| read(result, numbers, answer))
            }
            None => self.conn.query_iter(&prepared.text).and_then(|result| read(result, numbers, answer)),
        };
        self.ended(done)??;
        if answer.width() > 0 && answer.affected == 0 {
            answer.affected = answer.len() as u64;
        }
        Ok(())
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        self.text(text)
    }

    fn begin(&mut self) -> Result<()> {
        self.text("START TRANSACTION")?;
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.text("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.text("ROLLBACK")
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        self.usable()?;
        Ok(Box::new(MariadbBulk::begin(self, target)?))
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        let seconds = timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
        let set = match self.kind {
            // In milliseconds, and for queries only.
            DatabaseKind::Mysql => format!("SET SESSION max_execution_time = {}", (seconds * 1000.0).ceil()),
            _ => format!("SET SESSION max_statement_time = {seconds}"),
        };
        let set = self.conn.query_drop(set);
        self.ended(set)
    }
}

#[cfg(test)]
mod tests {
    use super::without_returning;

    #[test]
    fn the_number_of_a_new_row_is_left_to_the_answer() {
        let text = "INSERT INTO orders (a, b) VALUES (?, ?) RETURNING orderid;";
        assert_eq!(without_returning(text), Some("INSERT INTO orders (a, b) VALUES (?, ?)"));
        for other in [
            "INSERT INTO orders VALUES (?)",
            "SELECT 1 AS RETURNING",
            "INSERT INTO t VALUES (?) RETURNING a, b",
        ] {
            assert_eq!(without_returning(other), None, "{other}");
        }
    }
}
