//! Microsoft SQL Server by the crate `tiberius`, on a blocking socket.
//!
//! **Not run against a real SQL Server here**: see docs/SQLSERVER.md for what was tested, and how.
//!
//! A text of the form `EXEC dbo.procedure @first, @second` is one remote call of the procedure with parameters of those
//! names; everything else goes through `sp_executesql` with the parameter types that its first line declares (`-- @P1 int,
//! @P2 varchar(16)`) or else the server itself suggests, so that the plan is kept and no column is converted. No command has a timeout unless the session is given one: a load or a checkpoint
//! may stall longer than the driver's 30 s.

mod bulk;
mod observe;
mod values;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::Duration;

use fathom_workload::{Address, Connection, Tls};
use futures_executor::block_on;
use futures_util::TryStreamExt;
use futures_util::io::AllowStdIo;
use tiberius::{AuthMethod, Client, Command, CommandResult, Config, EncryptionLevel};

use crate::database::{Database, DatabaseKind};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Session, Statement, Target};
use crate::tls;
use crate::value::Value;
use bulk::SqlserverBulk;
use values::{data_of, read_row, type_of};

/// A SQL Server database.
#[derive(Debug, Clone)]
pub struct Sqlserver {
    to: Connection,
}

impl Sqlserver {
    /// The database that answers there.
    pub fn new(to: Connection) -> Self {
        Self { to }
    }

    fn open(&self) -> Result<SqlserverSession> {
        let Address::Tcp(host, port) = &self.to.address else {
            let message = "SQL Server: a server is reached by a host and a port";
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let mut config = Config::new();
        config.host(host);
        config.port(*port);
        config.database(&self.to.database);
        config.application_name("fathom");
        config.authentication(AuthMethod::sql_server(
            &self.to.user,
            self.to.password.as_deref().unwrap_or_default(),
        ));
        config.command_timeout(None);
        match self.to.tls() {
            // The password too goes over in the clear.
            Tls::Disable => config.encryption(EncryptionLevel::NotSupported),
            Tls::Prefer => {
                config.encryption(EncryptionLevel::On);
                config.trust_cert();
            }
            Tls::Require => {
                config.encryption(EncryptionLevel::Required);
                config.trust_cert();
            }
            Tls::VerifyCa => {
                let message = "SQL Server: `verify-ca` cannot be had; use `verify-full`";
                return Err(Error::new(ErrorKind::Untrusted, message));
            }
            Tls::VerifyFull => {
                config.encryption(EncryptionLevel::Required);
                if let Some(path) = &self.to.tls_ca {
                    tls::authorities(path)?;
                    config.trust_cert_ca(path.display().to_string());
                }
            }
        }
        let refused =
            |failed: std::io::Error| Error::new(ErrorKind::Refused, format!("SQL Server: {failed}"));
        let stream = TcpStream::connect((host.as_str(), *port)).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        let socket = stream.try_clone().map_err(refused)?;
        let client =
            block_on(Client::connect(config, AllowStdIo::new(stream))).map_err(|failed| error(&failed))?;
        let mut session = SqlserverSession { client, socket, prepared: Vec::new(), in_transaction: false };
        // An error rolls back the whole transaction; times and names mean the same on every server.
        session.batch("SET XACT_ABORT ON; SET NOCOUNT OFF; SET DATEFORMAT ymd; SET ANSI_WARNINGS ON")?;
        Ok(session)
    }
}

impl Database for Sqlserver {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Sqlserver
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let session = self.open().map_err(|error| error.at(format!("{:?}", self.to)))?;
        Ok(Box::new(session))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        observe::facts(session)
    }

    fn counters(&self, session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
        observe::counters(session)
    }
}

/// A statement and what the server told about it.
struct Prepared {
    text: String,
    call: CallText,
}

/// How a text is sent.
enum CallText {
    /// A procedure and its parameters' names.
    Procedure { name: String, parameters: Vec<String> },
    /// Anything else; the types of `@P1`, `@P2`, ... if the text or the server could tell.
    Statement { types: Option<Vec<String>> },
}

impl CallText {
    /// Reads `EXEC dbo.procedure @first, @second`; None for any other text.
    fn procedure(text: &str) -> Option<Self> {
        let (word, rest) = text.trim().trim_end_matches(';').split_once(char::is_whitespace)?;
        if !word.eq_ignore_ascii_case("EXEC") {
            return None;
        }
        let (name, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let names = rest.split(',').map(str::trim).filter(|name| !name.is_empty());
        let plain = |name: &&str| {
            name.strip_prefix('@')
                .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        };
        let parameters: Vec<&str> = names.collect();
        let is_plain = parameters.iter().all(plain) && !parameters.iter().any(|name| name.starts_with("@P1"));
        is_plain.then(|| Self::Procedure {
            name: name.to_owned(),
            parameters: parameters.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// The types of a text whose first line declares them; None for any other.
fn declared(text: &str) -> Option<Vec<String>> {
    let line = text.lines().next()?.strip_prefix("-- @P1 ")?;
    let mut types = Vec::new();
    for (number, piece) in (1..).zip(line.split(", @P")) {
        // The first one's name is gone already.
        let of_type = if number == 1 { piece } else { piece.strip_prefix(&format!("{number} "))? };
        types.push(of_type.trim().to_owned());
    }
    Some(types)
}

pub(super) struct SqlserverSession {
    client: Client<AllowStdIo<TcpStream>>,
    /// The same socket, for its timeout.
    socket: TcpStream,
    prepared: Vec<Prepared>,
    /// As far as this session's own calls go.
    in_transaction: bool,
}

impl SqlserverSession {
    /// Rolls back after an error of the server; a lost connection has rolled back by itself.
    fn ended<T>(&mut self, result: tiberius::Result<T>) -> Result<T> {
        result.map_err(|failed| self.after(error(&failed)))
    }

    fn after(&mut self, error: Error) -> Error {
        self.in_transaction = false;
        if !matches!(error.kind(), ErrorKind::Lost | ErrorKind::Timeout) {
            // The first error is the one to tell.
            let _ = self.text("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
        }
        error
    }

    fn text(&mut self, text: &str) -> tiberius::Result<()> {
        block_on(async {
            let mut stream = self.client.simple_query(text).await?;
            while stream.try_next().await?.is_some() {}
            Ok(())
        })
    }

    fn execute(&mut self, command: Command<'_>) -> tiberius::Result<CommandResult> {
        block_on(async { command.exec(&mut self.client).await?.into_command_result().await })
    }

    /// Asks the server for the types of a text's parameters; None if it cannot tell.
    fn describe(&mut self, text: &str) -> Result<Option<Vec<String>>> {
        if !text.contains("@P1") {
            return Ok(Some(Vec::new()));
        }
        let mut command = Command::new("sp_describe_undeclared_parameters");
        command.bind_param("@tsql", text.to_owned());
        let result = match self.execute(command) {
            Ok(result) => result,
            Err(failed) => {
                let failed = error(&failed);
                // Some texts cannot be described; a wrong one fails when it is run.
                return if failed.kind() == ErrorKind::Other { Ok(None) } else { Err(self.after(failed)) };
            }
        };
        let mut types = Vec::new();
        for row in result.to_query_result(0).into_iter().flatten() {
            match row.try_get::<&str, _>("suggested_system_type_name") {
                Ok(Some(name)) => types.push(name.to_owned()),
                _ => return Ok(None),
            }
        }
        Ok((!types.is_empty()).then_some(types))
    }

    fn command(prepared: &Prepared, parameters: &[Value<'_>]) -> Result<Command<'static>> {
        match &prepared.call {
            CallText::Procedure { name, parameters: names } => {
                count_is(names.len(), parameters.len(), &prepared.text)?;
                let mut command = Command::new(name.clone());
                for (name, value) in names.iter().zip(parameters) {
                    command.bind_param(name.clone(), data_of(value, &type_of(value))?);
                }
                Ok(command)
            }
            CallText::Statement { types } => {
                let types = match types {
                    Some(types) => types.clone(),
                    None => parameters.iter().map(type_of).collect(),
                };
                count_is(types.len(), parameters.len(), &prepared.text)?;
                let mut command = Command::new("sp_executesql");
                command.bind_param("@stmt", prepared.text.clone());
                if !types.is_empty() {
                    let declared = types.iter().enumerate();
                    let declared: Vec<String> =
                        declared.map(|(at, name)| format!("@P{} {name}", at + 1)).collect();
                    command.bind_param("@params", declared.join(", "));
                }
                for (at, (value, of_type)) in parameters.iter().zip(&types).enumerate() {
                    command.bind_param(format!("@P{}", at + 1), data_of(value, of_type)?);
                }
                Ok(command)
            }
        }
    }
}

fn count_is(wanted: usize, given: usize, text: &str) -> Result<()> {
    if wanted == given {
        return Ok(());
    }
    let message = format!("SQL Server: {given} parameters were given for {wanted} in: {text}");
    Err(Error::new(ErrorKind::Other, message))
}

impl Session for SqlserverSession {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        if let Some(known) = self.prepared.iter().position(|known| known.text == text) {
            return Ok(Statement(known as u32));
        }
        let call = match CallText::procedure(text) {
            Some(call) => call,
            None => match declared(text) {
                Some(types) => CallText::Statement { types: Some(types) },
                None => CallText::Statement { types: self.describe(text)? },
            },
        };
        self.prepared.push(Prepared { text: text.to_owned(), call });
        Ok(Statement(self.prepared.len() as u32 - 1))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        answer.clear();
        let command = Self::command(&self.prepared[statement.0 as usize], parameters);
        let command = command.map_err(|error| self.after(error))?;
        let result = self.execute(command);
        let result = self.ended(result)?;
        for row in result.to_query_result(0).into_iter().flatten() {
            answer.set_width(row.len());
            read_row(row, answer)?;
        }
        answer.affected = match answer.width() {
            0 => result.rows_affected().iter().sum(),
            _ => answer.len() as u64,
        };
        Ok(())
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        let done = self.text(text);
        self.ended(done)
    }

    fn begin(&mut self) -> Result<()> {
        let begun = block_on(self.client.begin_transaction());
        self.ended(begun)?;
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.in_transaction = false;
        let committed = block_on(self.client.commit_transaction());
        self.ended(committed)
    }

    fn rollback(&mut self) -> Result<()> {
        self.in_transaction = false;
        let done = self.text("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
        self.ended(done)
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        Ok(Box::new(SqlserverBulk::begin(self, target)?))
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        let set = self.socket.set_read_timeout(timeout);
        set.map_err(|failed| Error::new(ErrorKind::Lost, format!("SQL Server: {failed}")))
    }
}

/// SQL Server's error as ours.
fn error(failed: &tiberius::error::Error) -> Error {
    use tiberius::error::{Error as Failed, IoErrorKind as Io};
    match failed {
        Failed::Server(server) => {
            let kind = kind_of(server.code());
            Error::new(kind, format!("SQL Server: {}", server.message())).with_code(server.code().to_string())
        }
        Failed::Io { kind: Io::WouldBlock | Io::TimedOut, .. } => {
            Error::new(ErrorKind::Timeout, "SQL Server: no answer came in time")
        }
        Failed::Io { message, .. } => {
            Error::new(ErrorKind::Lost, format!("SQL Server: the connection was lost: {message}"))
        }
        Failed::Protocol(message) => Error::new(ErrorKind::Lost, format!("SQL Server: {message}")),
        Failed::Tls(message) => {
            let message = format!("SQL Server: the encrypted connection was refused: {message}");
            Error::new(ErrorKind::Untrusted, message)
        }
        Failed::BulkInput(_) | Failed::Conversion(_) => {
            Error::new(ErrorKind::Constraint, format!("SQL Server: {failed}"))
        }
        _ => Error::new(ErrorKind::Other, format!("SQL Server: {failed}")),
    }
}

/// Numbers: `sys.messages`.
fn kind_of(code: u32) -> ErrorKind {
    match code {
        // Deadlock victim, lock request timeout, snapshot conflicts.
        1205 | 1222 | 3960 | 3961 | 41_302 | 41_305 | 41_325 => ErrorKind::Conflict,
        18_450..=18_470 | 18_486..=18_488 => ErrorKind::Authentication,
        229 | 230 | 262 | 297 | 300 | 3906 | 916 => ErrorKind::Permission,
        // No such database, too many connections, starting or paused.
        4060 | 911 | 17_809 | 10_928 | 40_613 | 18_401 | 17_142 => ErrorKind::Refused,
        // Duplicate keys, null, check and foreign keys, truncation, overflow, conversion.
        2601 | 2627 | 515 | 547 | 8152 | 2628 | 220 | 8115 | 245 | 8114 | 4815 => ErrorKind::Constraint,
        // File group or log full, disk full, out of memory.
        1101 | 1105 | 9002 | 3257 | 701 | 802 | 8645 => ErrorKind::Full,
        6005 | 596 | 64 => ErrorKind::Lost,
        3617 | 8649 => ErrorKind::Timeout,
        // Wrong checksum, read or write error of a file, inconsistent pages.
        823 | 824 | 825 | 605 | 5242 | 8928 => ErrorKind::Corrupt,
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{CallText, declared, kind_of};
    use crate::error::ErrorKind;

    #[test]
    fn a_call_of_a_procedure_is_recognised_by_its_form_alone() {
        let Some(CallText::Procedure { name, parameters }) =
            CallText::procedure("EXEC dbo.pay @w_id, @amount")
        else {
            panic!("it is one");
        };
        assert_eq!((name.as_str(), parameters), ("dbo.pay", vec!["@w_id".to_owned(), "@amount".to_owned()]));
        assert!(CallText::procedure("exec dbo.nothing;").is_some());
        for other in ["SELECT 1", "EXEC dbo.pay @w_id = 1", "EXEC dbo.pay 'x', @P1", "EXECUTE x"] {
            assert!(CallText::procedure(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_first_line_declares_the_types_of_parameters() {
        let text = "-- @P1 int, @P2 decimal(12, 2), @P3 varchar(16)\nSELECT @P1";
        let types = ["int", "decimal(12, 2)", "varchar(16)"].map(str::to_owned);
        assert_eq!(declared(text), Some(types.to_vec()));
        for other in ["SELECT @P1", "-- why\nSELECT @P1", "-- @P1 int, @P3 int\nSELECT 1"] {
            assert_eq!(declared(other), None, "{other}");
        }
    }

    #[test]
    fn error_numbers_have_their_kinds() {
        assert_eq!(kind_of(1205), ErrorKind::Conflict);
        assert_eq!(kind_of(2627), ErrorKind::Constraint);
        assert_eq!(kind_of(18_456), ErrorKind::Authentication);
        assert_eq!(kind_of(9002), ErrorKind::Full);
        assert_eq!(kind_of(824), ErrorKind::Corrupt);
        assert_eq!(kind_of(102), ErrorKind::Other);
    }
}
