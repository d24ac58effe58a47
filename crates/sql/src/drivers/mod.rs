//! One driver per database, behind [`crate::session::Session`] and [`crate::database::Database`], with what is known of it.

pub mod mariadb;
mod mysql;
pub mod postgresql;
pub mod sqlite;
pub mod sqlserver;

use fathom_job::Connection;

use crate::database::{Database, DatabaseKind, Dialect, Known};
use crate::error::{Error, ErrorKind, Result};

impl Known for DatabaseKind {
    fn dialect(self) -> &'static Dialect {
        match self {
            Self::Sqlite => &sqlite::DIALECT,
            Self::Postgresql => &postgresql::DIALECT,
            Self::Mariadb => &mariadb::DIALECT,
            Self::Mysql => &mysql::DIALECT,
            Self::Sqlserver => &sqlserver::DIALECT,
        }
    }
}

/// The database that answers there, for any number of threads. SQLite is no server: make a [`sqlite::Sqlite`] instead.
///
/// # Errors
/// [`ErrorKind::Refused`] for SQLite, which has no server.
pub fn server(at: &Connection) -> Result<Box<dyn Database + Send + Sync>> {
    let dialect = at.kind.dialect();
    let server = dialect.server.ok_or_else(|| {
        let message = format!("{} runs in this process and not as a server", dialect.title);
        Error::new(ErrorKind::Refused, message)
    })?;
    Ok(server(at))
}
