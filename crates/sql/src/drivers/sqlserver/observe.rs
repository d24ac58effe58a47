//! What a SQL Server reports about itself: settings, trace flags, misaligned log writes, and the counters of files
//! and waits.
//!
//! Each question needs a right that a benchmark's user may not have (`VIEW SERVER STATE`, the error log's): one that is
//! refused is a fact too, and not a failure of the run.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::rows::Row;
use crate::script::Script;
use crate::session::Session;
use crate::withheld::rows_unless_withheld;

/// Trace flags that change how data and log files are written, and what each does.
const FLAGS: [(i64, &str); 5] = [
    (610, "minimal logging of inserts into indexes"),
    (1117, "files of a file group grow together"),
    (1118, "no mixed extents"),
    (1800, "log written in sectors of 4 KiB, whatever the disk reports"),
    (3226, "no log entries for backups"),
];

/// Settings of server and database. What the server does not report is a fact as well, with the reason.
pub(super) fn facts(session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::new();
    for (name, text) in Script::parse(include_str!("sql/facts.sql")).blocks() {
        let pairs = rows_unless_withheld(session, text, |row| match row.width() {
            1 => Ok((name.to_owned(), words_or_none(row, 0)?)),
            _ => Ok((format!("file {}", words_or_none(row, 0)?), words_or_none(row, 1)?)),
        })?;
        match pairs {
            Ok(pairs) => facts.extend(pairs),
            Err(why) => drop(facts.insert(name.to_owned(), why)),
        }
    }
    // TraceFlag, Status, Global, Session.
    let flags = rows_unless_withheld(session, "DBCC TRACESTATUS(-1) WITH NO_INFOMSGS", |row| row.int(0))?;
    facts.insert("trace_flags".to_owned(), flags.map_or_else(|why| why, |flags| words_of(&flags)));
    let lines =
        rows_unless_withheld(session, "EXEC sys.sp_readerrorlog 0, 1, N'misaligned log IOs'", |_| Ok(()))?;
    let words = |lines: Vec<()>| match lines.len() {
        0 => "none in the error log".to_owned(),
        count => format!(
            "{count} lines in the error log: use trace flag 1800, or a log volume with sectors of 512 bytes"
        ),
    };
    facts.insert("misaligned_log_writes".to_owned(), lines.map_or_else(|why| why, words));
    for (name, answer) in counted(session)? {
        if let Err(why) = answer {
            facts.insert(format!("counters of {name}"), why);
        }
    }
    Ok(facts)
}

/// The text in that column; a server may have the column and leave it empty.
fn words_or_none(row: Row<'_>, column: usize) -> Result<String> {
    let value = row.get(column)?;
    Ok(if value.is_null() { "not reported by this server".to_owned() } else { value.to_string() })
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

/// The counters since the server started, by name; those that the server reports.
pub(super) fn counters(session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
    let counted = counted(session)?.into_iter();
    Ok(counted.filter_map(|(_, answer)| answer.ok()).flatten().collect())
}

/// What there is to count, with the counters or why there are none.
type Counted = Vec<(&'static str, Result<Vec<(String, i64)>, String>)>;

fn counted(session: &mut dyn Session) -> Result<Counted> {
    let read = |row: Row<'_>| Ok((row.text(0)?.to_owned(), row.int(1)?));
    let script = Script::parse(include_str!("sql/counters.sql"));
    script.blocks().map(|(name, text)| Ok((name, rows_unless_withheld(session, text, read)?))).collect()
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
