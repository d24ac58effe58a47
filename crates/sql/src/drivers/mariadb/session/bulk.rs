//! Bulk load by `LOAD DATA LOCAL`: rows are written as text into memory and handed to the server in parts of a few MiB.
//!
//! `LOCAL` turns errors into warnings and continues (duplicate keys are skipped, long texts are cut). That is no load to
//! measure, so a part with a warning, or with fewer rows than were sent, is an error here.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mysql::LocalInfileHandler;
use mysql::prelude::Queryable;

use super::MariadbSession;
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Bulk, Session, Target};
use crate::value::Value;

/// A part goes over when it is at least so long.
const PART: usize = 4 << 20;

pub(super) struct MariadbBulk<'s> {
    session: &'s mut MariadbSession,
    statement: String,
    width: usize,
    /// Rows as text, shared with the handler that the server's request for the "file" reaches.
    text: Arc<Mutex<Vec<u8>>>,
    in_part: u64,
    rows: u64,
    own_transaction: bool,
    over: bool,
}

impl<'s> MariadbBulk<'s> {
    pub fn begin(session: &'s mut MariadbSession, target: &Target<'_>) -> Result<Self> {
        // The character set "binary" passes bytes on as they are, to columns of text and of bytes alike.
        let statement = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET binary \
             FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
            target.table,
            target.columns.join(", ")
        );
        let own_transaction = !session.in_transaction;
        if own_transaction {
            session.begin()?;
        }
        let text = Arc::new(Mutex::new(Vec::with_capacity(PART + PART / 8)));
        let shared = Arc::clone(&text);
        let handler = LocalInfileHandler::new(move |_, writer| writer.write_all(&lock(&shared)));
        session.conn.set_local_infile_handler(Some(handler));
        let width = target.columns.len();
        Ok(Self { session, statement, width, text, in_part: 0, rows: 0, own_transaction, over: false })
    }

    fn send_part(&mut self) -> Result<()> {
        if self.in_part == 0 {
            return Ok(());
        }
        let sent = self.session.conn.query_drop(&self.statement);
        lock(&self.text).clear();
        self.session.ended(sent)?;
        let (taken, warnings) = (self.session.conn.affected_rows(), self.session.conn.warnings());
        if taken != self.in_part || warnings > 0 {
            let first: Option<(String, u32, String)> =
                self.session.conn.query_first("SHOW WARNINGS").unwrap_or(None);
            let why = first.map(|(_, _, message)| format!(": {message}")).unwrap_or_default();
            let title = self.session.title();
            let message =
                format!("{title}: {taken} of {} rows were taken, {warnings} warnings{why}", self.in_part);
            self.session.rollback()?;
            return Err(Error::new(ErrorKind::Constraint, message));
        }
        self.rows += taken;
        self.in_part = 0;
        Ok(())
    }

    /// The server may ask for "files" no more.
    fn close(&mut self) {
        self.over = true;
        self.session.conn.set_local_infile_handler(None);
    }
}

/// A poisoned lock guards plain bytes, which are whole.
fn lock(text: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bulk for MariadbBulk<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if values.len() != self.width {
            let title = self.session.title();
            let message = format!("{title}: a row has {} values for {} columns", values.len(), self.width);
            return Err(Error::new(ErrorKind::Other, message));
        }
        let mut text = lock(&self.text);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                text.push(b'\t');
            }
            put(value, &mut text);
        }
        text.push(b'\n');
        let full = text.len() >= PART;
        drop(text);
        self.in_part += 1;
        if full { self.send_part().inspect_err(|_| self.over = true) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        let sent = self.send_part();
        self.close();
        sent?;
        if self.own_transaction {
            self.session.commit()?;
        }
        Ok(self.rows)
    }
}

impl Drop for MariadbBulk<'_> {
    fn drop(&mut self) {
        let undo = !self.over;
        self.close();
        if undo {
            // If the connection is gone, so is the transaction.
            let _ = self.session.rollback();
        }
    }
}

fn put(value: &Value<'_>, text: &mut Vec<u8>) {
    let written = match value {
        Value::Null => text.write_all(b"\\N"),
        Value::Text(value) => {
            escape(value.as_bytes(), text);
            Ok(())
        }
        Value::Bytes(value) => {
            escape(value, text);
            Ok(())
        }
        Value::Float(value) => write!(text, "{value:e}"),
        value => write!(text, "{value}"),
    };
    written.expect("memory takes every write");
}

fn escape(bytes: &[u8], text: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            0 => text.extend_from_slice(b"\\0"),
            byte => text.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::put;
    use crate::value::Value;

    #[test]
    fn separators_within_values_are_escaped() {
        let text = |value| {
            let mut text = Vec::new();
            put(&value, &mut text);
            String::from_utf8(text).expect("it is text")
        };
        assert_eq!(text(Value::Text("a\tb\nc\\N\0")), "a\\tb\\nc\\\\N\\0");
        assert_eq!((text(Value::Null), text(Value::Text(""))), ("\\N".into(), String::new()));
        assert_eq!(text(Value::Float(1e300)), "1e300");
        assert_eq!(text(Value::cents(-5)), "-0.05");
    }
}
