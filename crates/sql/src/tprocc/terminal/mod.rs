//! How a terminal's input is executed: by procedures inside the database, or by statements sent one by one.

mod hammerdb;
mod procedures;
mod statements;

use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
pub use crate::settings::Interface;

use super::input::Input;
use crate::drive::Ending;
use crate::texts::Texts;
use hammerdb::Hammerdb;
use procedures::Procedures;
use statements::Statements;

/// One session's prepared transactions.
#[derive(Debug)]
pub enum Terminal {
    /// Calls of procedures.
    Procedures(Procedures),
    /// Calls of HammerDB's.
    Hammerdb(Hammerdb),
    /// Statements.
    Statements(Box<Statements>),
}

impl Terminal {
    /// Prepares the transactions in a session.
    ///
    /// # Errors
    /// The database's; [`ErrorKind::Other`] if it knows no procedures.
    pub fn prepare(interface: Interface, texts: &Texts, session: &mut dyn Session) -> Result<Self> {
        match (interface, &texts.procedures) {
            (Interface::Procedures, Some(procedures)) => {
                Procedures::prepare(&procedures.calls, session).map(Self::Procedures)
            }
            (Interface::Procedures, None) => Err(Error::new(
                ErrorKind::Other,
                "this database has no procedures; use `interface = \"statements\"`",
            )),
            (Interface::Statements, _) => {
                let statements = Statements::prepare(&texts.statements, true, session);
                statements.map(Box::new).map(Self::Statements)
            }
        }
    }

    /// Prepares the transactions in a session of a schema that HammerDB built for so many warehouses: its own procedures on
    /// PostgreSQL, or statements.
    ///
    /// # Errors
    /// The database's; [`ErrorKind::Other`] if its procedures are not there.
    pub fn of_hammerdb(
        interface: Interface,
        warehouses: u32,
        texts: &Texts,
        session: &mut dyn Session,
    ) -> Result<Self> {
        match interface {
            Interface::Procedures => Hammerdb::prepare(warehouses, session).map(Self::Hammerdb),
            Interface::Statements => {
                let statements = Statements::prepare(&texts.statements, false, session);
                statements.map(Box::new).map(Self::Statements)
            }
        }
    }

    /// Carries one transaction out.
    ///
    /// # Errors
    /// The database's; nothing of the transaction is kept then, unless the connection was lost in its commit.
    pub fn perform(&mut self, session: &mut dyn Session, input: &Input) -> Result<Ending> {
        match self {
            Self::Procedures(procedures) => procedures.perform(session, input),
            Self::Hammerdb(calls) => calls.perform(session, input),
            Self::Statements(statements) => statements.perform(session, input),
        }
    }
}
