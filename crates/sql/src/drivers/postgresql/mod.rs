//! PostgreSQL by its own protocol: prepared statements, binary parameters and answers, pipelines in one write.
//!
//! A pipeline ends with one `Sync`: the server skips what follows a failed call, so that all databases behave as
//! [`Session::pipeline`] says. Calls are sent in windows that fit a socket's buffers, so that a long pipeline cannot stall
//! with both sides waiting to be read.

mod binding;
mod bulk;
mod dialect;
mod startup;
mod types;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_job::Connection;
use postgres_protocol::message::frontend;

use crate::database::{Database, DatabaseKind};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Call, Session, Statement, Target};
use crate::value::Value;
use bulk::PostgresqlBulk;
use types::{Oid, decode, encode};
use wire::{Body, Wire, server_error};

pub(super) use dialect::DIALECT;

/// A window of a pipeline ends when so many bytes or calls wait.
const WINDOW_BYTES: usize = 48 << 10;
const WINDOW_CALLS: usize = 256;

/// Handles of the statements that every session may need.
const BEGIN: Statement = Statement(0);
const COMMIT: Statement = Statement(1);

/// A PostgreSQL database.
#[derive(Debug, Clone)]
pub struct Postgresql {
    to: Connection,
}

impl Postgresql {
    /// The database that answers there.
    pub fn new(to: Connection) -> Self {
        Self { to }
    }
}

impl Database for Postgresql {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Postgresql
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let wire = startup::start(&self.to).map_err(|error| error.at(format!("{:?}", self.to)))?;
        Ok(Box::new(PostgresqlSession::new(wire)?))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        let names = [
            "server_version",
            "synchronous_commit",
            "fsync",
            "full_page_writes",
            "wal_sync_method",
            "wal_level",
            "shared_buffers",
            "max_wal_size",
            "checkpoint_timeout",
            "data_checksums",
            "huge_pages",
        ];
        let questions: Vec<String> = names.iter().map(|name| format!("current_setting('{name}')")).collect();
        let answer = session.query(&format!("SELECT {}", questions.join(", ")), &[])?;
        let row = answer.first()?;
        let mut facts = BTreeMap::new();
        for (column, name) in names.iter().enumerate() {
            let name = if column == 0 { "postgresql" } else { name };
            facts.insert(name.to_owned(), row.text(column)?.to_owned());
        }
        let own = "SELECT coalesce(version, 'none') FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        facts.insert("encryption".to_owned(), session.query(own, &[])?.first()?.text(0)?.to_owned());
        Ok(facts)
    }
}

/// What the server reported when a statement was prepared.
struct Prepared {
    text: String,
    name: String,
    parameters: Vec<Oid>,
    columns: Vec<Oid>,
}

pub(super) struct PostgresqlSession {
    wire: Wire,
    prepared: Vec<Prepared>,
    /// `I`dle, in a `T`ransaction, in a failed (`E`) one: as of the last answer.
    status: u8,
}

impl PostgresqlSession {
    fn new(wire: Wire) -> Result<Self> {
        let mut session = Self { wire, prepared: Vec::new(), status: b'I' };
        for (text, expected) in [("BEGIN", BEGIN), ("COMMIT", COMMIT)] {
            let statement = session.prepare_text(text)?;
            debug_assert_eq!(statement, expected);
        }
        Ok(session)
    }

    fn prepare_text(&mut self, text: &str) -> Result<Statement> {
        if let Some(known) = self.prepared.iter().position(|known| known.text == text) {
            return Ok(Statement(known as u32));
        }
        let name = format!("s{}", self.prepared.len());
        let out = &mut self.wire.out;
        frontend::parse(&name, text, [], out).map_err(startup::unsendable)?;
        frontend::describe(b'S', &name, out).map_err(startup::unsendable)?;
        frontend::sync(out);
        self.wire.send()?;
        let mut prepared =
            Prepared { text: text.to_owned(), name, parameters: Vec::new(), columns: Vec::new() };
        loop {
            match self.wire.receive()? {
                // Parsed; no columns.
                (b'1' | b'n', _) => {}
                (b't', body) => prepared.parameters = parameter_types(body)?,
                (b'T', body) => prepared.columns = column_types(body)?,
                (b'Z', body) => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    self.prepared.push(prepared);
                    return Ok(Statement(self.prepared.len() as u32 - 1));
                }
                (b'E', body) => {
                    let error = server_error(body);
                    return Err(self.after_error(error));
                }
                (tag, _) => return Err(unexpected(tag)),
            }
        }
    }

    fn column_types(&self, statement: Statement) -> Vec<Oid> {
        self.prepared[statement.0 as usize].columns.clone()
    }

    /// Writes the call's messages to `out`; nothing of it if a parameter does not fit.
    fn write_call(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<()> {
        let prepared = &self.prepared[statement.0 as usize];
        let out = &mut self.wire.out;
        let start = out.len();
        let written = bind(prepared, parameters, out)
            .and_then(|()| frontend::execute("", 0, out).map_err(startup::unsendable));
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// Reads one call's answer.
    fn read_answer(&mut self, statement: Statement, answer: &mut Answer) -> Result<()> {
        let Self { wire, prepared, .. } = self;
        let columns = &prepared[statement.0 as usize].columns;
        answer.clear();
        answer.set_width(columns.len());
        loop {
            match wire.receive()? {
                (b'2', _) => {}
                (b'D', body) => read_row(body, columns, answer)?,
                (b'C', body) => {
                    answer.affected = affected(body);
                    return Ok(());
                }
                (b'I', _) => return Ok(()),
                (b'E', body) => return Err(server_error(body)),
                (tag, _) => return Err(unexpected(tag)),
            }
        }
    }

    /// Reads on to `ReadyForQuery`.
    fn until_ready(&mut self) -> Result<()> {
        loop {
            match self.wire.receive()? {
                (b'Z', body) => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    return Ok(());
                }
                // A deferred constraint may still fail at Sync.
                (b'E', body) => {
                    let error = server_error(body);
                    return Err(self.after_error(error));
                }
                _ => {}
            }
        }
    }

    /// After an error of the server whose `ReadyForQuery` is still to come: reads on, and rolls back what is open. Returns
    /// the error.
    fn after_error(&mut self, error: Error) -> Error {
        let recovered = self.skip_to_ready().and_then(|()| self.roll_back());
        match recovered {
            // A server that says why it goes away and then goes has said it.
            Err(then) if error.kind() != ErrorKind::Lost && then.kind() == ErrorKind::Lost => {
                Error::new(ErrorKind::Lost, error.to_string()).at("PostgreSQL: the connection was lost after")
            }
            _ => error,
        }
    }

    fn skip_to_ready(&mut self) -> Result<()> {
        loop {
            if let (b'Z', body) = self.wire.receive()? {
                self.status = body.first().copied().unwrap_or(b'I');
                return Ok(());
            }
        }
    }

    fn roll_back(&mut self) -> Result<()> {
        if self.status == b'I' { Ok(()) } else { self.simple("ROLLBACK") }
    }

    fn simple(&mut self, text: &str) -> Result<()> {
        frontend::query(text, &mut self.wire.out).map_err(startup::unsendable)?;
        self.wire.send()?;
        self.until_ready()
    }

    /// Sends a window of calls, the last one with `Sync`, and reads their answers.
    fn window(&mut self, calls: &[Statement], last: bool, answers: &mut [Answer]) -> Result<()> {
        match last {
            true => frontend::sync(&mut self.wire.out),
            false => frontend::flush(&mut self.wire.out),
        }
        self.wire.send()?;
        for (statement, answer) in calls.iter().zip(answers) {
            if let Err(error) = self.read_answer(*statement, answer) {
                if self.wire.is_broken() {
                    return Err(error);
                }
                if !last {
                    frontend::sync(&mut self.wire.out);
                    self.wire.send()?;
                }
                return Err(self.after_error(error));
            }
        }
        if last { self.until_ready() } else { Ok(()) }
    }

    /// A call that could not be written: ends what was begun without it.
    fn abandon(&mut self, error: Error) -> Error {
        self.wire.out.clear();
        match self.roll_back() {
            Ok(()) => error,
            Err(lost) => lost,
        }
    }
}

impl Session for PostgresqlSession {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        self.prepare_text(text)
    }

    fn pipeline(&mut self, calls: &[Call<'_>], answers: &mut Vec<Answer>) -> Result<()> {
        answers.resize_with(calls.len(), Answer::new);
        let mut waiting = [BEGIN; WINDOW_CALLS];
        let (mut first, mut count) = (0, 0);
        for (index, call) in calls.iter().enumerate() {
            let (statement, parameters) = match call {
                Call::Begin => (BEGIN, &[][..]),
                Call::Commit => (COMMIT, &[][..]),
                Call::Run(statement, parameters) => (*statement, *parameters),
            };
            if let Err(error) = self.write_call(statement, parameters) {
                // What came before it in the pipeline is begun on the server only if a window went over.
                if first > 0 {
                    self.wire.out.clear();
                    frontend::sync(&mut self.wire.out);
                    self.wire.send()?;
                    self.skip_to_ready()?;
                }
                return Err(self.abandon(error));
            }
            waiting[count] = statement;
            count += 1;
            let last = index + 1 == calls.len();
            if last || count == WINDOW_CALLS || self.wire.out.len() >= WINDOW_BYTES {
                self.window(&waiting[..count], last, &mut answers[first..=index])?;
                (first, count) = (index + 1, 0);
            }
        }
        Ok(())
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        if let Err(error) = self.write_call(statement, parameters) {
            return Err(self.abandon(error));
        }
        self.window(&[statement], true, std::slice::from_mut(answer))
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        self.simple(text)
    }

    fn begin(&mut self) -> Result<()> {
        self.run(BEGIN, &[], &mut Answer::new())
    }

    fn commit(&mut self) -> Result<()> {
        self.run(COMMIT, &[], &mut Answer::new())
    }

    fn rollback(&mut self) -> Result<()> {
        self.roll_back()
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        Ok(Box::new(PostgresqlBulk::begin(self, target)?))
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.wire.set_timeout(timeout)
    }
}

impl Drop for PostgresqlSession {
    fn drop(&mut self) {
        if !self.wire.is_broken() {
            frontend::terminate(&mut self.wire.out);
            // The server rolls back and forgets the session, with or without a Terminate message.
            let _ = self.wire.send();
        }
    }
}

fn bind(prepared: &Prepared, parameters: &[Value<'_>], out: &mut bytes::BytesMut) -> Result<()> {
    use bytes::BufMut;
    if parameters.len() != prepared.parameters.len() {
        let message = format!(
            "PostgreSQL: {} parameters were given for {} in: {}",
            parameters.len(),
            prepared.parameters.len(),
            prepared.text
        );
        return Err(Error::new(ErrorKind::Other, message));
    }
    let start = out.len();
    out.put_u8(b'B');
    out.put_u32(0);
    // The unnamed portal.
    out.put_u8(0);
    out.put_slice(prepared.name.as_bytes());
    out.put_u8(0);
    // One format for all parameters: binary.
    out.put_u16(1);
    out.put_u16(1);
    out.put_u16(parameters.len() as u16);
    for (value, oid) in parameters.iter().zip(&prepared.parameters) {
        encode(value, *oid, out)?;
    }
    // One format for all columns: binary.
    out.put_u16(1);
    out.put_u16(1);
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn read_row(body: &[u8], columns: &[Oid], answer: &mut Answer) -> Result<()> {
    let mut body = Body(body);
    if usize::from(body.u16()?) != columns.len() {
        return Err(wire::torn());
    }
    for oid in columns {
        match usize::try_from(body.i32()?) {
            Ok(length) => answer.push(decode(body.take(length)?, *oid)?),
            Err(_) => answer.push(Value::Null),
        }
    }
    Ok(())
}

fn parameter_types(body: &[u8]) -> Result<Vec<Oid>> {
    let mut body = Body(body);
    (0..body.u16()?).map(|_| body.u32()).collect()
}

fn column_types(body: &[u8]) -> Result<Vec<Oid>> {
    let mut body = Body(body);
    let count = body.u16()?;
    let mut types = Vec::with_capacity(count.into());
    for _ in 0..count {
        body.text()?;
        // The table and the column it comes from.
        body.take(6)?;
        types.push(body.u32()?);
        // Length, modifier, format.
        body.take(8)?;
    }
    Ok(types)
}

/// The number at the end of a command's tag: `INSERT 0 5`, `SELECT 3`; 0 where it has none.
fn affected(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(&[0]).unwrap_or(body);
    let digits = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn unexpected(tag: u8) -> Error {
    let message = format!("PostgreSQL: the server sent a message of type {:?} out of order", char::from(tag));
    Error::new(ErrorKind::Lost, message)
}
