//! Where SQLite's files are: a directory of this machine, through its own file system with counters, or a volume.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_job::{Failure, Outcome, Progress, Reason, Storage};
use fathom_runtime::{Discipline, Nanos, Runtime, Station, monotonic};
use rusqlite::{Connection, OpenFlags};

use super::ledger::Watched;
use super::measure::WallClock;
use super::read::Config;
use super::session::SessionClock;
use crate::drivers::sqlite::{Sqlite, error};
use crate::shim::CountingFileSystem;
use crate::vfs::{Store, VolumeFileSystem};

impl Config {
    fn pragmas(&self) -> String {
        format!(
            "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = {}; PRAGMA temp_store = memory;",
            self.page_size, self.journal.0, self.synchronous.0
        )
    }

    /// Runs SQLite in a directory of its own below this one, on the real clock.
    ///
    /// # Errors
    /// A failure with its reason; the database is removed either way.
    pub fn run_on_directory(&self, parent: &Path, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let directory = TemporaryDirectory::create(parent)?;
        let files = CountingFileSystem::register(Rc::new(monotonic)).map_err(error)?;
        let path = directory.0.join("main.db");
        let open = || Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), files.name());
        let counters = files.counters();
        let watched = [("database file", &counters.database), ("log file", &counters.log)];
        let watched = watched.map(|(name, statistics)| Watched {
            name: name.into(),
            kind: "file".into(),
            statistics: Rc::clone(statistics),
        });
        let database = Sqlite::new(open, self.pragmas());
        let mut outcome = self.measured(&database, &WallClock, watched.into(), progress)?;
        outcome.facts.insert("directory".into(), parent.display().to_string());
        Ok(outcome)
    }

    /// Runs SQLite on a volume, on the clock of its executor.
    ///
    /// # Errors
    /// A failure with its reason; the volume's own message where SQLite's says only "disk I/O error".
    pub fn run_on_volume(
        &self,
        storage: &Storage<'_>,
        volume: &str,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        let runtime = storage.site.runtime();
        let store = Store::open(runtime, storage.volume(volume)?, storage.site.pool().clone())?;
        let files = VolumeFileSystem::register(store).map_err(error)?;
        let watched = storage.nodes.iter().map(|node| Watched {
            name: node.name().to_owned(),
            kind: node.kind().to_owned(),
            statistics: Rc::clone(node.statistics()),
        });
        let cpu = Station::new(&runtime.context(), 1, Discipline::Fifo);
        let clock = ExecutorClock { runtime, cpu, cpu_per_row: self.cpu_per_row };
        let database = Sqlite::new(|| files.connect(), self.pragmas());
        let outcome = self.measured(&database, &clock, watched.collect(), progress);
        let mut outcome = outcome.map_err(|failed| match files.last_error() {
            Some(cause) => Failure { message: format!("{} ({cause})", failed.message), ..failed },
            None => failed,
        })?;
        if runtime.context().is_virtual() {
            outcome.digest = Some(runtime.context().digest().finish());
        }
        Ok(outcome)
    }
}

struct ExecutorClock<'a> {
    runtime: &'a Runtime,
    // The one processor that SQLite and its session share.
    cpu: Station,
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
            self.runtime.block_on(self.cpu.serve(self.cpu_per_row)).expect("its timer is pending");
        }
    }

    fn is_real(&self) -> bool {
        !self.runtime.context().is_virtual()
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
        // What is left behind is named like this run's and harms nothing; a destructor cannot report an error.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
