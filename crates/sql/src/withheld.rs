//! Queries that a server may refuse: a view that its version lacks, a right that the user does not have.

use crate::error::{ErrorKind, Result};
use crate::rows::Row;
use crate::session::Session;

/// Reads the rows of an answer; the inner error is why the server does not tell.
///
/// # Errors
/// Those after which nothing more can be asked: the connection is lost, or the session's timeout has passed.
pub(crate) fn rows_unless_withheld<T>(
    session: &mut dyn Session,
    text: &str,
    read: impl Fn(Row<'_>) -> Result<T>,
) -> Result<Result<Vec<T>, String>> {
    let rows = session.query(text, &[]).and_then(|answer| answer.rows().map(read).collect());
    match rows {
        Ok(rows) => Ok(Ok(rows)),
        Err(error) => match error.kind() {
            ErrorKind::Lost | ErrorKind::Timeout => Err(error),
            ErrorKind::Permission => Ok(Err("not permitted to this user".to_owned())),
            _ => Ok(Err(format!("not reported by this server: {error}"))),
        },
    }
}
