//! Microsoft SQL Server by the crate `tiberius`, on an asynchronous socket.
//!
//! **Not run against a real SQL Server here**: see docs/SQLSERVER.md for what was tested, and how.
//!
//! A text of the form `EXEC dbo.procedure @first, @second` is one remote call of the procedure with parameters of those
//! names; everything else goes through `sp_executesql` with the parameter types that its first line declares (`-- @P1 int,
//! @P2 varchar(16)`) or else the server itself suggests, so that the plan is kept and no column is converted. No command has
//! a timeout unless the session is given one: a load or a checkpoint may stall longer than the library's 30 s.
//!
//! Each session has a runtime of its own, which its thread drives while it waits. A blocking socket behind the library's
//! asynchronous one hangs as soon as it is encrypted: TLS reads on after an answer to see whether more is there, and must be
//! a message says that it is not encrypted.

mod call;
mod connect;
mod dialect;
mod errors;
mod observe;
mod session;
mod socket;
mod values;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fathom_job::Connection;

use crate::database::{Database, DatabaseKind};
use crate::error::Result;
use crate::session::Session;
use socket::Encryption;

pub(super) use dialect::DIALECT;

/// A SQL Server database.
#[derive(Debug, Clone)]
pub struct Sqlserver {
    to: Connection,
    /// How the newest session is encrypted; None before the first. The server reports it to privileged users only.
    encryption: Arc<Mutex<Option<Encryption>>>,
}

impl Sqlserver {
    /// The database that answers there.
    pub fn new(to: Connection) -> Self {
        Self { to, encryption: Arc::default() }
    }
}

impl Database for Sqlserver {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Sqlserver
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let session = connect::open(&self.to).map_err(|error| error.at(format!("{:?}", self.to)))?;
        if let Ok(mut encryption) = self.encryption.lock() {
            *encryption = Some(session.watch.encryption());
        }
        Ok(Box::new(session))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        let mut facts = observe::facts(session)?;
        if let Ok(Some(encryption)) = self.encryption.lock().map(|encryption| *encryption) {
            facts.insert("encryption".to_owned(), encryption.name().to_owned());
        }
        Ok(facts)
    }

    fn counters(&self, session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
        observe::counters(session)
    }
}
