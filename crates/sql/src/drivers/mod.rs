//! One driver per database, behind [`crate::session::Session`] and [`crate::database::Database`].

pub mod mariadb;
pub mod postgresql;
pub mod sqlite;
pub mod sqlserver;

use fathom_job::Connection;

use crate::database::{Database, DatabaseKind};
use crate::error::{Error, ErrorKind, Result};

/// The database that answers there, for any number of threads. SQLite is no server: make a [`sqlite::Sqlite`] instead.
///
/// # Errors
/// [`ErrorKind::Refused`] for SQLite, which has no server.
pub fn server(at: &Connection) -> Result<Box<dyn Database + Send + Sync>> {
    match at.kind {
        DatabaseKind::Postgresql => Ok(Box::new(postgresql::Postgresql::new(at.clone()))),
        DatabaseKind::Mariadb | DatabaseKind::Mysql => Ok(Box::new(mariadb::Mariadb::new(at.clone()))),
        DatabaseKind::Sqlserver => Ok(Box::new(sqlserver::Sqlserver::new(at.clone()))),
        DatabaseKind::Sqlite => {
            let message = "SQLite runs in this process and not as a server";
            Err(Error::new(ErrorKind::Refused, message))
        }
    }
}
