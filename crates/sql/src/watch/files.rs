//! I/O of the server's files, or kinds of file, by its own counters.

use std::collections::BTreeMap;

use fathom_job::{DatabaseKind, Latencies, Sample};
use fathom_runtime::Nanos;

use super::questions;
use crate::error::Result;
use crate::rows::Row;
use crate::session::Session;
use crate::withheld::rows_unless_withheld;

/// What a file is for. The words of the questions and of the metrics.
pub(crate) const ROLES: [&str; 3] = ["data", "log", "temp"];

const MICROSECOND: u64 = 1000;

/// Reads or writes since the server started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoCounts {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// Time they took, ns; 0 where the server does not measure it.
    pub(crate) time: Nanos,
}

impl IoCounts {
    fn since(self, before: Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            bytes: self.bytes.saturating_sub(before.bytes),
            time: self.time.saturating_sub(before.time),
        }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.time += other.time;
    }

    /// Mean latency, ns; None where nothing was moved or measured.
    pub(crate) fn latency(self) -> Option<f64> {
        (self.count > 0 && self.time > 0).then(|| self.time as f64 / self.count as f64)
    }
}

/// One file's reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileCounters {
    role: String,
    read: IoCounts,
    written: IoCounts,
}

/// The counters of all files at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, FileCounters>);

impl Files {
    /// By role: what was read and written since then.
    pub(crate) fn by_role(&self, before: &Self) -> BTreeMap<&str, (IoCounts, IoCounts)> {
        let mut roles: BTreeMap<&str, (IoCounts, IoCounts)> = BTreeMap::new();
        for (name, now) in &self.0 {
            let Some(then) = before.0.get(name) else { continue };
            let (read, written) = roles.entry(now.role.as_str()).or_default();
            read.add(now.read.since(then.read));
            written.add(now.written.since(then.written));
        }
        roles
    }

    /// What each file did in an interval.
    pub(super) fn samples(&self, before: &Self, start: i64, span: Nanos) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (name, now) in &self.0 {
            let Some(then) = before.0.get(name) else { continue };
            let moved = [("read", now.read.since(then.read)), ("write", now.written.since(then.written))];
            for (operation, moved) in moved {
                let latency = moved.latency().map(|mean| Latencies { mean, percentiles: None, max: None });
                samples.push(Sample {
                    start,
                    span,
                    node: format!("file {name}"),
                    operation,
                    count: moved.count,
                    bytes: moved.bytes,
                    latency,
                    waiting_mean: None,
                    // Little's law: their rate times their latency.
                    outstanding_mean: moved.time as f64 / span.max(1) as f64,
                });
            }
        }
        samples
    }
}

/// The question of a server that counts its files together only.
const TOGETHER: &str = "files_without_times";

/// Asks for the files until the server is known not to report them.
#[derive(Debug, Default)]
pub(super) struct FileQuery {
    /// The question that is answered, its name and its text: of those that versions of a server have, the first.
    question: Option<(&'static str, &'static str)>,
    /// Why none is.
    unreported: Option<String>,
}

impl FileQuery {
    /// Reads the counters of all files; None where the server does not report them.
    pub(super) fn read_files(
        &mut self,
        session: &mut dyn Session,
        kind: DatabaseKind,
    ) -> Result<Option<Files>> {
        if self.unreported.is_some() {
            return Ok(None);
        }
        let script = questions(kind);
        let known = script.blocks().filter(|(name, _)| name.starts_with("files"));
        let candidates: Vec<(&'static str, &'static str)> = match self.question {
            Some(question) => vec![question],
            None => known.collect(),
        };
        let mut unreported = None;
        for (name, text) in candidates {
            match rows_unless_withheld(session, text, read)? {
                Ok(files) if files.is_empty() => {
                    unreported = Some("not reported by this server: it counts no files".to_owned());
                }
                Ok(files) => {
                    self.question = Some((name, text));
                    return Ok(Some(Files(files.into_iter().collect())));
                }
                Err(why) => unreported = Some(why),
            }
        }
        self.unreported = unreported;
        Ok(None)
    }

    /// What the server does not report, if it was asked: of its files, or of each by itself.
    pub(super) fn unreported(&self) -> Option<&str> {
        let together = "as totals without latency: this server counts no single files";
        let answered = self.question.filter(|(name, _)| *name == TOGETHER).map(|_| together);
        self.unreported.as_deref().or(answered)
    }
}

/// Name, role, reads, bytes, us, writes, bytes, us.
fn read(row: Row<'_>) -> Result<(String, FileCounters)> {
    let number = |column: usize| -> Result<u64> {
        let value = row.get(column)?;
        Ok(if value.is_null() { 0 } else { u64::try_from(row.int(column)?).unwrap_or(0) })
    };
    let moved = |first: usize| -> Result<IoCounts> {
        let time = number(first + 2)? * MICROSECOND;
        Ok(IoCounts { count: number(first)?, bytes: number(first + 1)?, time })
    };
    let seen = FileCounters { role: row.text(1)?.to_owned(), read: moved(2)?, written: moved(5)? };
    Ok((row.text(0)?.to_owned(), seen))
}

#[cfg(test)]
mod tests {
    use super::{FileCounters, Files, IoCounts};

    fn moved(count: u64, time: u64) -> IoCounts {
        IoCounts { count, bytes: count * 8192, time }
    }

    fn counters(files: &[(&str, &str, IoCounts, IoCounts)]) -> Files {
        let seen = |role: &str, read, written| FileCounters { role: role.to_owned(), read, written };
        Files(
            files
                .iter()
                .map(|(name, role, read, written)| ((*name).to_owned(), seen(role, *read, *written)))
                .collect(),
        )
    }

    #[test]
    fn roles_add_up_what_their_files_did_since_the_first_look() {
        let before =
            counters(&[("a", "data", moved(10, 100), moved(0, 0)), ("b", "data", moved(1, 1), moved(1, 1))]);
        let after = counters(&[
            ("a", "data", moved(14, 500), moved(0, 0)),
            ("b", "data", moved(2, 101), moved(3, 41)),
            ("made in the run", "log", moved(9, 9), moved(9, 9)),
        ]);
        let roles = after.by_role(&before);
        assert_eq!(roles["data"], (moved(5, 500), moved(2, 40)));
        assert_eq!(roles["data"].0.latency(), Some(100.0));
        assert_eq!(roles.get("log"), None, "nobody knows since when");
        let samples = after.samples(&before, 5, 1000);
        let counts: Vec<(&str, &str, u64)> =
            samples.iter().map(|sample| (&*sample.node, sample.operation, sample.count)).collect();
        assert_eq!(
            counts,
            [("file a", "read", 4), ("file a", "write", 0), ("file b", "read", 1), ("file b", "write", 2)]
        );
        assert_eq!(samples[1].latency, None);
    }

    #[test]
    fn a_server_that_measures_no_time_has_no_latency_and_one_that_restarted_counts_nothing() {
        assert_eq!(moved(5, 0).latency(), None);
        assert_eq!(moved(0, 0).latency(), None);
        assert_eq!(moved(3, 3).since(moved(9, 9)), IoCounts::default());
    }
}
