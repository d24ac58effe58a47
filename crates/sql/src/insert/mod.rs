//! `insert`: one session inserts rows into a real database, as fast as its commits allow.
//!
//! The manual stands in `manual.md`.

mod ledger;
mod read;
mod session;
mod table;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_runtime::{MILLISECOND, Nanos, Runtime, SECOND, monotonic};
use fathom_settings::Problem;
use fathom_stack::Clock;
use fathom_units::Bytes;
use fathom_volume::{Kind, Snapshot};
use fathom_workload::{Bench, Failure, Job, Outcome, Progress, Reason, Surroundings, WorkloadKind};
use rusqlite::Connection;

use crate::shim::CountingFileSystem;
use crate::vfs::{Store, VolumeFileSystem};
pub use fathom_engine::insert::{Transaction, Until};
use ledger::{Ledger, Watched};
pub use read::{Config, Journal, Location, Synchronous};
use session::{SessionClock, failure, insert};
pub use table::Table;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "insert",
    summary: "one session inserts rows into a real database",
    manual: include_str!("manual.md"),
    keys: read::KEYS,
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

impl Config {
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
