//! One session that inserts: the loop that is timed, the same on a directory and on a volume, in both clocks.

use std::ops::ControlFlow;

use fathom_engine::insert::{Transaction, Until};
use fathom_runtime::{Nanos, SECOND};
use fathom_workload::{Failure, Progress, Reason};
use rusqlite::Connection;

use super::ledger::Ledger;
use super::table::Table;

/// The clock of a session: reading it, and spending CPU time on it where it does not pass by itself.
pub trait SessionClock {
    /// Now, ns.
    fn now(&self) -> Nanos;
    /// The session has computed for a row.
    fn computed_row(&self);
}

/// How often the progress is told and a Ctrl-C is looked for, in rows; a row takes 2 us at least.
const ROWS_PER_TICK: u64 = 256;

/// Inserts until the end; returns the number of committed rows.
///
/// # Errors
/// SQLite's errors as failures; `Cancelled` if the progress says stop.
pub fn insert(
    connection: &Connection,
    table: Table,
    transaction: Transaction,
    until: Until,
    clock: &dyn SessionClock,
    ledger: &mut Ledger,
    progress: &mut dyn Progress,
) -> Result<u64, Failure> {
    let mut inserter = table.prepare(connection).map_err(failure)?;
    let begin = ledger.begin();
    let mut rows = 0;
    let mut in_transaction = 0;
    let mut started = clock.now();
    loop {
        let over = match until {
            Until::Rows(count) => rows >= count,
            Until::Time(span) => clock.now() - begin >= span,
        };
        if over {
            break;
        }
        if in_transaction == 0 {
            started = clock.now();
            connection.execute_batch("BEGIN IMMEDIATE").map_err(failure)?;
        }
        rows += 1;
        in_transaction += 1;
        inserter.insert(rows as i64).map_err(failure)?;
        clock.computed_row();
        let full = match transaction {
            Transaction::PerRow => true,
            Transaction::Every(count) => in_transaction >= count,
            Transaction::WholeBatch => false,
        };
        if full {
            connection.execute_batch("COMMIT").map_err(failure)?;
            ledger.committed(started, clock.now(), in_transaction);
            in_transaction = 0;
        }
        if rows % ROWS_PER_TICK == 0 {
            tell(progress, rows, until, clock.now() - begin)?;
        }
    }
    if in_transaction > 0 {
        connection.execute_batch("COMMIT").map_err(failure)?;
        ledger.committed(started, clock.now(), in_transaction);
    }
    Ok(rows)
}

fn tell(progress: &mut dyn Progress, rows: u64, until: Until, elapsed: Nanos) -> Result<(), Failure> {
    let done = match until {
        Until::Rows(count) => rows as f64 / count as f64,
        Until::Time(span) => elapsed as f64 / span as f64,
    };
    let rate = rows as f64 * SECOND as f64 / elapsed.max(1) as f64;
    match progress.tick(done.min(1.0), &format!("{rows} rows, {rate:.0} rows/s")) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Failure::new(Reason::Cancelled, "stopped while inserting")),
    }
}

/// SQLite's error as a failure of the run.
pub fn failure(error: rusqlite::Error) -> Failure {
    let reason = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => Reason::NoSpace,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            Reason::Verification
        }
        Some(
            rusqlite::ErrorCode::CannotOpen
            | rusqlite::ErrorCode::ReadOnly
            | rusqlite::ErrorCode::PermissionDenied,
        ) => Reason::Unavailable,
        _ => Reason::InputOutput,
    };
    Failure::new(reason, format!("SQLite: {error}"))
}
