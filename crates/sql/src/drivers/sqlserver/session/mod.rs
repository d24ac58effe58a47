//! A session: statements, calls, transactions.

mod bulk;

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use tiberius::{Client, Command, CommandResult};
use tokio::runtime::Runtime;

use self::bulk::SqlserverBulk;
use super::call::{CallText, Prepared, declared};
use super::errors::error;
use super::socket::{Socket, Watch};
use super::values::{data_of, read_row, type_of};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Session, Statement, Target};
use crate::value::Value;

pub(super) struct SqlserverSession {
    pub client: Client<Socket>,
    pub watch: Arc<Watch>,
    /// Drives the socket while this session's thread waits for it.
    pub runtime: Runtime,
    prepared: Vec<Prepared>,
    /// As far as this session's own calls go.
    pub in_transaction: bool,
    /// The peer stalled for too long: what it still sends is unknown.
    over: bool,
}

impl SqlserverSession {
    pub fn new(client: Client<Socket>, watch: Arc<Watch>, runtime: Runtime) -> Self {
        Self { client, watch, runtime, prepared: Vec::new(), in_transaction: false, over: false }
    }

    /// Rolls back after an error of the server; a lost connection has rolled back by itself.
    pub fn ended<T>(&mut self, result: tiberius::Result<T>) -> Result<T> {
        result.map_err(|failed| {
            let error = self.library_error(&failed);
            self.after(error)
        })
    }

    /// An error of the library as ours: the library has one error for everything that happens to the socket.
    fn library_error(&mut self, failed: &tiberius::error::Error) -> Error {
        match (self.watch.stalled(), self.watch.limit()) {
            (false, _) => error(failed),
            (true, Some(limit)) if !std::mem::replace(&mut self.over, true) => {
                Error::new(ErrorKind::Timeout, format!("SQL Server: no answer came within {limit:?}"))
            }
            _ => Error::new(ErrorKind::Lost, "SQL Server: the connection was abandoned after a timeout"),
        }
    }

    fn after(&mut self, error: Error) -> Error {
        self.in_transaction = false;
        if !matches!(error.kind(), ErrorKind::Lost | ErrorKind::Timeout) {
            // Report the first error.
            let _ = self.text("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
        }
        error
    }

    fn text(&mut self, text: &str) -> tiberius::Result<()> {
        self.watch.begin_call();
        self.runtime.block_on(async {
            let mut stream = self.client.simple_query(text).await?;
            while stream.try_next().await?.is_some() {}
            Ok(())
        })
    }

    fn execute(&mut self, command: Command<'_>) -> tiberius::Result<CommandResult> {
        self.watch.begin_call();
        self.runtime.block_on(async { command.exec(&mut self.client).await?.into_command_result().await })
    }

    /// Asks the server for the types of a text's parameters; None if unknown.
    fn describe(&mut self, text: &str) -> Result<Option<Vec<String>>> {
        if !text.contains("@P1") {
            return Ok(Some(Vec::new()));
        }
        let mut command = Command::new("sp_describe_undeclared_parameters");
        command.bind_param("@tsql", text.to_owned());
        let result = match self.execute(command) {
            Ok(result) => result,
            Err(failed) => {
                let failed = self.library_error(&failed);
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
        self.watch.begin_call();
        let begun = self.runtime.block_on(self.client.begin_transaction());
        self.ended(begun)?;
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.watch.begin_call();
        let committed = self.runtime.block_on(self.client.commit_transaction());
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
        self.watch.set_limit(timeout);
        Ok(())
    }
}
