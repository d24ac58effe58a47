//! Opens a database: the driver for its address, a server or SQLite.

use fathom_job::{Address, Connection, Failure};

use crate::database::Database;
use crate::drivers::server;
use crate::drivers::sqlite::Sqlite;

/// The database that answers at that connection. `pragmas` are run on each new connection to a SQLite database, whose
/// file is `main.db` in its directory; servers have their settings from elsewhere.
///
/// # Errors
/// What `drivers::server` says of a kind without a driver.
pub fn open(to: &Connection, pragmas: &str) -> Result<Box<dyn Database + Send + Sync>, Failure> {
    if let Address::Directory(directory) = &to.address {
        let file = directory.join("main.db");
        let open = move || rusqlite::Connection::open(&file);
        return Ok(Box::new(Sqlite::new(open, pragmas)));
    }
    Ok(server(to)?)
}
