//! What is known of a SQL Server beside its answers: settings, trace flags, misaligned log writes, and the counters of files
//! and waits.
//!
//! Each question needs a right that a benchmark's user may not have (`VIEW SERVER STATE`, the error log's): one that is
//! refused is a fact too, and not a failure of the run.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::session::Session;

/// Trace flags that change how data and log files are written, and what each does.
const FLAGS: [(i64, &str); 5] = [
    (610, "minimal logging of inserts into indexes"),
    (1117, "files of a file group grow together"),
    (1118, "no mixed extents"),
    (1800, "log written in sectors of 4 KiB, whatever the disk reports"),
    (3226, "no log entries for backups"),
];

/// Settings of server and database.
pub(super) fn facts(session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::new();
    let answer = session.query(include_str!("sql/facts.sql"), &[])?;
    for row in answer.rows() {
        facts.insert(row.text(0)?.to_owned(), row.text(1)?.to_owned());
    }
    // TraceFlag, Status, Global, Session.
    let flags = permitted(session, "DBCC TRACESTATUS(-1) WITH NO_INFOMSGS", |row| row.int(0))?;
    facts.insert("trace_flags".to_owned(), flags.map_or_else(not_permitted, |flags| words_of(&flags)));
    let lines = permitted(session, "EXEC sys.sp_readerrorlog 0, 1, N'misaligned log IOs'", |_| Ok(0))?;
    let words = lines.map_or_else(not_permitted, |lines| match lines.len() {
        0 => "none in the error log".to_owned(),
        count => format!(
            "{count} lines in the error log: use trace flag 1800, or a log volume with sectors of 512 bytes"
        ),
    });
    facts.insert("misaligned_log_writes".to_owned(), words);
    Ok(facts)
}

fn not_permitted() -> String {
    "not permitted to this user".to_owned()
}

/// Flags with what they do, where that matters to storage.
fn words_of(flags: &[i64]) -> String {
    if flags.is_empty() {
        return "none".to_owned();
    }
    let word = |flag: &i64| match FLAGS.iter().find(|(known, _)| known == flag) {
        Some((_, words)) => format!("{flag} ({words})"),
        None => flag.to_string(),
    };
    flags.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The counters since the server started, by name; none if the user may not see them.
pub(super) fn counters(session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
    let read = |row: crate::rows::Row<'_>| Ok((row.text(0)?.to_owned(), row.int(1)?));
    let rows = permitted(session, include_str!("sql/counters.sql"), read)?;
    Ok(rows.unwrap_or_default().into_iter().collect())
}

/// Reads the rows of an answer; None if the user lacks the right to ask, or the server the view.
fn permitted<T>(
    session: &mut dyn Session,
    text: &str,
    read: impl Fn(crate::rows::Row<'_>) -> Result<T>,
) -> Result<Option<Vec<T>>> {
    match session.query(text, &[]) {
        Ok(answer) => answer.rows().map(read).collect::<Result<_>>().map(Some),
        Err(error) if error.is_withheld() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn flags_that_matter_to_storage_say_what_they_do() {
        assert_eq!(words_of(&[]), "none");
        let words = words_of(&[1800, 4199]);
        assert!(
            words.starts_with("1800 (log written in sectors of 4 KiB") && words.ends_with(", 4199"),
            "{words}"
        );
    }
}
