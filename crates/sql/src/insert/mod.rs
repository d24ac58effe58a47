//! `insert`: one session inserts rows into a real database, as fast as its commits allow.
//!
//! The manual stands in `manual.md`.

mod ledger;
mod session;
mod table;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_runtime::{MILLISECOND, Nanos, Runtime, SECOND, monotonic};
use fathom_settings::{Choice, Data, FromValue, Key, Problem, Section, Value, VolumeName};
use fathom_stack::Clock;
use fathom_units::{Bytes, Span};
use fathom_volume::{Kind, Snapshot};
use fathom_workload::{Bench, Failure, Job, Outcome, Progress, Reason, Surroundings, WorkloadKind};
use rusqlite::Connection;

use crate::shim::CountingFileSystem;
use crate::vfs::{Store, VolumeFileSystem};
use ledger::{Ledger, Watched};
use session::{SessionClock, failure, insert};
pub use session::{Transaction, Until};
pub use table::Table;

const KEYS: &[Key] = &[
    Key::optional("database", "`sqlite`", "sqlite", "The database."),
    Key::optional(
        "volume",
        "name of a volume",
        "a directory of this machine",
        "The volume that holds the database.",
    ),
    Key::optional(
        "directory",
        "path",
        "the run's scratch directory",
        "Where the database lies, if not on a volume.",
    ),
    Key::optional("rows", "1 to 10^9", "20000 unless `duration` is given", "Rows to insert."),
    Key::optional("duration", "time span", "until `rows`", "How long to insert, instead of `rows`."),
    Key::optional(
        "transaction",
        "`per-row`, `whole-batch` or a number of rows",
        "per-row",
        "Where a transaction ends.",
    ),
    Key::optional(
        "table",
        "`trade` or `payload`",
        "trade",
        "The published 16-column table, or a key and plain text.",
    ),
    Key::optional(
        "payload",
        "size, at most 1 MB",
        "1000",
        "Bytes of text per row, for `table = \"payload\"`.",
    ),
    Key::optional("journal", "`wal`, `delete`, `truncate` or `persist`", "wal", "SQLite's journal mode."),
    Key::optional(
        "synchronous",
        "`full`, `extra`, `normal` or `off`",
        "full",
        "SQLite's durability: below `full` a commit may be lost in a power cut.",
    ),
    Key::optional("page_size", "512 to 65536, a power of two", "4096", "SQLite's page, in bytes."),
    Key::optional(
        "cpu_per_row",
        "time span",
        "10us",
        "SQLite's CPU time per row, spent on the virtual clock; without effect on the real one.",
    ),
    Key::optional("interval", "time span", "1s", "Length of a sample."),
];

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "insert",
    summary: "one session inserts rows into a real database",
    manual: include_str!("manual.md"),
    keys: KEYS,
    metrics: METRICS,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

const METRICS: &[&str] = &[
    "rows",
    "rows_per_second",
    "elapsed_s",
    "commits_per_second",
    "latency_ms",
    "latency_p50_ms",
    "latency_p95_ms",
    "latency_p99_ms",
    "latency_p999_ms",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    Sqlite,
}

impl Choice for Database {
    const CHOICES: &'static [(&'static str, Self)] = &[("sqlite", Self::Sqlite)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableKind {
    Trade,
    Payload,
}

impl Choice for TableKind {
    const CHOICES: &'static [(&'static str, Self)] = &[("trade", Self::Trade), ("payload", Self::Payload)];
}

/// SQLite's journal mode (`PRAGMA journal_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Journal(&'static str);

impl Choice for Journal {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("wal", Self("wal")),
        ("delete", Self("delete")),
        ("truncate", Self("truncate")),
        ("persist", Self("persist")),
    ];
}

/// SQLite's durability (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synchronous(&'static str);

impl Choice for Synchronous {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("full", Self("full")), ("extra", Self("extra")), ("normal", Self("normal")), ("off", Self("off"))];
}

impl FromValue for Transaction {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        const HELP: &str = "\"per-row\", \"whole-batch\", or a number of rows such as 100";
        match &value.data {
            Data::Text(word) if word == "per-row" => Ok(Self::PerRow),
            Data::Text(word) if word == "whole-batch" => Ok(Self::WholeBatch),
            Data::Integer(rows) if *rows >= 1 => Ok(Self::Every(*rows as u64)),
            _ => Err(Problem::new("this says no place where a transaction could end", HELP)),
        }
    }
}

/// Where the database lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The run's scratch directory.
    Scratch,
    /// A directory below this one.
    Directory(PathBuf),
    /// A volume of the study.
    Volume(String),
}

/// The settings of an insert workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the database lies.
    pub location: Location,
    /// What a row looks like.
    pub table: Table,
    /// Where a transaction ends.
    pub transaction: Transaction,
    /// When the session ends.
    pub until: Until,
    /// Journal mode.
    pub journal: Journal,
    /// Durability.
    pub synchronous: Synchronous,
    /// SQLite's page, bytes.
    pub page_size: u32,
    /// CPU time per row on the virtual clock, ns.
    pub cpu_per_row: Nanos,
    /// Length of a sample, ns.
    pub interval: Nanos,
}

impl Config {
    /// Reads the settings; None if anything is wrong, with diagnostics.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        section.or("database", Database::Sqlite);
        let volume = section.optional::<VolumeName>("volume");
        let directory = section.optional::<String>("directory");
        if volume.is_some() && directory.is_some() {
            section.error_at(
                "directory",
                "the database cannot lie both in a directory and on a volume",
                "remove one of them",
            );
        }
        let location = match (volume, directory) {
            (Some(VolumeName(name)), _) => Location::Volume(name),
            (None, Some(path)) => Location::Directory(path.into()),
            (None, None) => Location::Scratch,
        };
        let rows = section.optional_in::<u64>("rows", 1..=1_000_000_000);
        let duration = section.optional::<Span>("duration");
        if rows.is_some() && duration.is_some() {
            section.error_at(
                "duration",
                "a session ends after `rows` or after `duration`, not after both",
                "remove one of them",
            );
        }
        let until = match duration {
            Some(span) => Until::Time(span.as_nanos()),
            None => Until::Rows(rows.unwrap_or(20_000)),
        };
        let bytes =
            section.or_in::<Bytes>("payload", Bytes::new(1000), Bytes::new(1)..=Bytes::new(1_000_000));
        let table = match section.or("table", TableKind::Trade) {
            TableKind::Trade => Table::Trade,
            TableKind::Payload => Table::Payload { bytes: bytes.get() as u32 },
        };
        let page_size = section.or_in::<u32>("page_size", 4096, 512..=65_536);
        if !page_size.is_power_of_two() {
            section.error_at(
                "page_size",
                format!("{page_size} is not a power of two"),
                "512, 1024, 2048, 4096, 8192, ...",
            );
        }
        let config = Self {
            location,
            table,
            transaction: section.or("transaction", Transaction::PerRow),
            until,
            journal: section.or("journal", Journal("wal")),
            synchronous: section.or("synchronous", Synchronous("full")),
            page_size,
            cpu_per_row: section.or("cpu_per_row", Span::from_micros(10)).as_nanos(),
            interval: section.or("interval", Span::from_secs(1)).as_nanos().max(MILLISECOND),
        };
        section.is_clean().then_some(config)
    }

    /// Runs on a directory of this machine, on the real clock, through SQLite's own file system.
    ///
    /// # Errors
    /// A failure with its reason; the database is removed either way.
    pub fn run_on_directory(&self, scratch: &Path, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let parent = match &self.location {
            Location::Directory(path) => path.as_path(),
            Location::Scratch | Location::Volume(_) => scratch,
        };
        let directory = TemporaryDirectory::create(parent)?;
        let files = CountingFileSystem::register(Rc::new(monotonic)).map_err(failure)?;
        let path = directory.0.join("main.db");
        let flags = rusqlite::OpenFlags::default();
        let open = || Connection::open_with_flags_and_vfs(&path, flags, files.name()).map_err(failure);
        let watched = vec![
            Watched {
                name: "database file".into(),
                kind: "file".into(),
                statistics: Rc::clone(&files.counters().database),
            },
            Watched {
                name: "log file".into(),
                kind: "file".into(),
                statistics: Rc::clone(&files.counters().log),
            },
        ];
        let mut outcome = self.session(&open, &WallClock, watched, progress)?;
        outcome.facts.insert("directory".into(), parent.display().to_string());
        Ok(outcome)
    }

    /// Runs on a volume, on the clock of its executor.
    ///
    /// # Errors
    /// A failure with its reason; the volume's own message where SQLite's says only "disk I/O error".
    pub fn run_on_volume(
        &self,
        bench: &Bench<'_>,
        volume: &str,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        let runtime = bench.runtime;
        let store = Store::open(runtime, bench.volume(volume)?, bench.pool.clone())?;
        let files = VolumeFileSystem::register(store).map_err(failure)?;
        let watched = bench.nodes.iter().map(|node| Watched {
            name: node.name().to_owned(),
            kind: node.kind().to_owned(),
            statistics: Rc::clone(node.statistics()),
        });
        let clock = ExecutorClock { runtime, cpu_per_row: self.cpu_per_row };
        let open = || files.connect().map_err(failure);
        let outcome = self.session(&open, &clock, watched.collect(), progress);
        let mut outcome = outcome.map_err(|failed| match files.last_error() {
            Some(cause) => Failure { message: format!("{} ({cause})", failed.message), ..failed },
            None => failed,
        })?;
        if runtime.context().is_virtual() {
            outcome.digest = Some(runtime.context().digest().finish());
        }
        Ok(outcome)
    }

    fn session(
        &self,
        open: &dyn Fn() -> Result<Connection, Failure>,
        clock: &dyn SessionClock,
        watched: Vec<Watched>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        let connection = open()?;
        self.prepare(&connection)?;
        let mut ledger = Ledger::start(clock.now(), self.interval, watched);
        let begin = ledger.begin();
        let rows =
            insert(&connection, self.table, self.transaction, self.until, clock, &mut ledger, progress)?;
        let measured = clock.now() - begin;
        let (samples, transactions, totals) = ledger.finish(clock.now());
        drop(connection);
        verify(&open()?, rows)?;
        let mut outcome = Outcome { samples, totals, measured, ..Outcome::default() };
        self.describe(&mut outcome, rows, measured, &transactions);
        Ok(outcome)
    }

    fn prepare(&self, connection: &Connection) -> Result<(), Failure> {
        let pragmas = format!(
            "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = {}; PRAGMA temp_store = memory;",
            self.page_size, self.journal.0, self.synchronous.0
        );
        connection.execute_batch(&pragmas).map_err(failure)?;
        connection.execute_batch(self.table.create()).map_err(failure)
    }

    fn describe(&self, outcome: &mut Outcome, rows: u64, measured: Nanos, transactions: &Snapshot) {
        let seconds = measured as f64 / SECOND as f64;
        let commits = transactions.kind(Kind::Write);
        let ms = |ns: f64| ns / MILLISECOND as f64;
        let at = |quantile: f64| {
            commits
                .filter(|commits| commits.count > 0)
                .map(|c| ms(c.latency.value_at_quantile(quantile) as f64))
        };
        let metrics = [
            ("rows", Some(rows as f64)),
            ("elapsed_s", Some(seconds)),
            ("rows_per_second", (measured > 0).then(|| rows as f64 / seconds)),
            (
                "commits_per_second",
                commits.filter(|_| measured > 0).map(|commits| commits.count as f64 / seconds),
            ),
            ("latency_ms", commits.and_then(fathom_volume::KindStatistics::latency_mean).map(ms)),
            ("latency_p50_ms", at(0.5)),
            ("latency_p95_ms", at(0.95)),
            ("latency_p99_ms", at(0.99)),
            ("latency_p999_ms", at(0.999)),
        ];
        outcome.metrics.extend(metrics.map(|(name, value)| (name.to_owned(), value)));
        let facts = [
            ("sqlite", rusqlite::version().to_owned()),
            ("journal_mode", self.journal.0.to_owned()),
            ("synchronous", self.synchronous.0.to_owned()),
        ];
        outcome.facts.extend(facts.map(|(name, value)| (name.to_owned(), value)));
    }
}

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        match &self.location {
            Location::Volume(name) => vec![name.clone()],
            Location::Scratch | Location::Directory(_) => Vec::new(),
        }
    }

    fn needs_payload(&self) -> bool {
        true
    }

    fn misfits(&self, clock: Clock, volumes: &Bench<'_>) -> Vec<(String, Problem)> {
        let Location::Volume(name) = &self.location else {
            let problem = || {
                Problem::new(
                    "a directory of this machine has no place in virtual time",
                    "name a volume with `volume`, or use clock = \"real\"",
                )
            };
            return if clock == Clock::Virtual { vec![(String::new(), problem())] } else { Vec::new() };
        };
        let least = Store::LEAST_BYTES;
        match volumes.volume(name) {
            Ok(volume) if volume.geometry().size < least => {
                let message = format!(
                    "`{name}` holds {} and a database needs {}",
                    Bytes::new(volume.geometry().size),
                    Bytes::new(least)
                );
                vec![("volume".to_owned(), Problem::new(message, "give the volume more size"))]
            }
            _ => Vec::new(),
        }
    }

    fn run(&self, surroundings: &Surroundings<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        match (&self.location, surroundings.bench) {
            (Location::Volume(name), Some(bench)) => self.run_on_volume(bench, name, progress),
            (Location::Volume(name), None) => {
                Err(Failure::new(Reason::Settings, format!("workload: there is no volume `{name}`")))
            }
            (Location::Scratch | Location::Directory(_), _) => {
                self.run_on_directory(surroundings.scratch, progress)
            }
        }
    }
}

/// A run checks its own answer: the database opens again, is whole, and holds exactly the committed rows.
fn verify(connection: &Connection, rows: u64) -> Result<(), Failure> {
    let integrity: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(failure)?;
    if integrity != "ok" {
        return Err(Failure::new(
            Reason::Verification,
            format!("SQLite's integrity check says: {integrity}"),
        ));
    }
    let question = "SELECT count(*), coalesce(min(rec_num), 1), coalesce(max(rec_num), 0) FROM rows";
    let (count, least, most): (i64, i64, i64) = connection
        .query_row(question, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(failure)?;
    let expected = i64::try_from(rows).unwrap_or(i64::MAX);
    if (count, least, most) != (expected, 1, expected) {
        let found = format!("{count} rows with keys {least} to {most}");
        return Err(Failure::new(
            Reason::Verification,
            format!("{rows} rows were committed, and the database holds {found}"),
        ));
    }
    Ok(())
}

struct WallClock;

impl SessionClock for WallClock {
    fn now(&self) -> Nanos {
        monotonic()
    }

    fn computed_row(&self) {}
}

struct ExecutorClock<'a> {
    runtime: &'a Runtime,
    cpu_per_row: Nanos,
}

impl SessionClock for ExecutorClock<'_> {
    fn now(&self) -> Nanos {
        let context = self.runtime.context();
        // The executor's clock is read afresh when it runs.
        self.runtime.block_on(async { context.now() }).expect("a future that is ready cannot deadlock")
    }

    fn computed_row(&self) {
        let context = self.runtime.context();
        if context.is_virtual() && self.cpu_per_row > 0 {
            self.runtime.block_on(context.sleep(self.cpu_per_row)).expect("a sleep's own timer is pending");
        }
    }
}

/// A directory of its own, removed with all it holds.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn create(parent: &Path) -> Result<Self, Failure> {
        let path = parent.join(format!("fathom-insert-{}-{:x}", std::process::id(), monotonic()));
        std::fs::create_dir(&path).map_err(|error| {
            Failure::new(
                Reason::Unavailable,
                format!(
                    "{}: cannot make a directory for the database: {error}; name a writable one",
                    parent.display()
                ),
            )
        })?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What is left behind is named like this run's and harms nothing; there is nobody to tell in a destructor.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
