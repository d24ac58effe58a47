//! A run checks its own answer: the database opens again, says it is whole, and holds exactly the committed rows.

use fathom_workload::{Failure, Reason};

use super::table::NAME;
use crate::database::{DatabaseKind, Dialect};
use crate::session::Session;

/// Looks at the table in a session of its own.
///
/// # Errors
/// `Verification` with what was found; the database's errors.
pub fn verify(session: &mut dyn Session, kind: DatabaseKind, rows: u64) -> Result<(), Failure> {
    // PostgreSQL checks pages as they are read, if it has checksums; SQL Server likewise.
    let check = match kind {
        DatabaseKind::Sqlite => Some(("PRAGMA integrity_check".to_owned(), 0)),
        DatabaseKind::Mariadb => Some((format!("CHECK TABLE {NAME}"), 3)),
        DatabaseKind::Postgresql | DatabaseKind::Sqlserver => None,
    };
    if let Some((check, column)) = check {
        let answer = session.query(&check, &[])?;
        for row in answer.rows() {
            let said = row.text(column)?;
            if !said.eq_ignore_ascii_case("ok") {
                let message = format!("{}'s check of the table says: {said}", kind.title());
                return Err(Failure::new(Reason::Verification, message));
            }
        }
    }
    let question =
        format!("SELECT count(*), coalesce(min(rec_num), 1), coalesce(max(rec_num), 0) FROM {NAME}");
    let answer = session.query(&question, &[])?;
    let row = answer.first()?;
    let (count, least, most) = (row.int(0)?, row.int(1)?, row.int(2)?);
    let expected = i64::try_from(rows).unwrap_or(i64::MAX);
    if (count, least, most) != (expected, 1, expected) {
        let found = format!("{count} rows with keys {least} to {most}");
        let message = format!("{rows} rows were committed, and the database holds {found}");
        return Err(Failure::new(Reason::Verification, message));
    }
    Ok(())
}
