//! The data of a run: loaded where it is missing, and checked right after that.

use fathom_job::{Failure, Progress, Reason};

use super::{Load, Report, load, state};
use crate::checksum::Checksum;
use crate::conditions::Conditions;
use crate::database::Database;
use crate::error::Result;
use crate::session::Session;

/// Reads everything a database holds, row by row.
pub(crate) type ReadBack<'a> = dyn Fn(&mut dyn Session) -> Result<Checksum> + 'a;

/// What a run needs.
pub(crate) struct Requirements<'a> {
    /// The load that makes it.
    pub(crate) load: &'a Load<'a>,
    /// Sessions that load at the same time.
    pub(crate) sessions: u32,
    /// Reads a fresh load back, where that is asked for.
    pub(crate) read_back: Option<&'a ReadBack<'a>>,
    /// What holds of it.
    pub(crate) conditions: &'a Conditions,
}

/// What a run begins with.
pub(crate) struct Provided {
    /// Whether the data was completed just now.
    pub(crate) fresh: bool,
    /// What the load found and did.
    pub(crate) report: Report,
}

/// Loads what is missing, and checks what was loaded. Data that was there already is not read through: that would put it
/// into memory, and the run that follows ends with a check of its own.
///
/// # Errors
/// The database's; a load that is not what was sent, or not consistent.
pub(crate) fn provide(
    database: &(dyn Database + Sync),
    wanted: &Requirements<'_>,
    progress: &mut dyn Progress,
) -> Result<Provided, Failure> {
    let before = state(&mut *database.connect()?, database.kind(), wanted.load)?;
    let report = load(database, wanted.load, wanted.sessions as usize, progress)?;
    let fresh = before != Some(true);
    if !fresh {
        return Ok(Provided { fresh, report });
    }
    let mut session = database.connect()?;
    if let Some(read_back) = wanted.read_back {
        let found = read_back(&mut *session)?;
        let sent = Checksum::of(report.total.checksum, report.total.rows);
        if found != sent {
            let message =
                format!("the load holds {found}, and {sent} was sent; look into the database's log");
            return Err(Failure::new(Reason::Verification, message));
        }
    }
    wanted.conditions.ensure(&mut *session, true)?;
    Ok(Provided { fresh, report })
}
