//! `insert`: one session inserts rows into a real database, as fast as its commits allow.
//!
//! Its manual is `manual.md`.

mod durability;
mod ledger;
mod looped;
mod measure;
mod read;
mod session;
mod sqlite;
mod table;
mod verify;

use std::collections::BTreeMap;

use fathom_job::{
    Address, Connection, Demand, Failure, Job, Outcome, Progress, Reason, Request, RunEnvironment, Storage,
    WorkloadKind,
};
use fathom_runtime::{Clock, Nanos};
use fathom_settings::Problem;
use fathom_units::Bytes;

use crate::database::{DatabaseKind, Known};
use crate::drivers;
use crate::vfs::Store;
pub use fathom_engine::insert::{Transaction, Until};
use measure::WallClock;
pub use read::{Config, Location, Method, SynchronousCommit};
pub use table::Table;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "insert",
    summary: "one session inserts rows into a real database",
    manual: include_str!("manual.md"),
    keys: read::KEYS,
    metrics: measure::declared,
    users: &[],
    primary: Some("rows_per_second"),
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

impl Config {
    /// Runs on a database that answers, on the real clock.
    ///
    /// # Errors
    /// A failure with its reason; the workload's table is dropped either way.
    pub fn run_on_server(&self, at: &Connection, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        let database = drivers::server(at)?;
        self.measured(&*database, &WallClock, Vec::new(), progress)
    }
}

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        match &self.location {
            Location::Volume(name) => vec![name.clone()],
            Location::Named(_) | Location::Directory(_) => Vec::new(),
        }
    }

    fn databases(&self) -> Vec<String> {
        match &self.location {
            Location::Named(name) => vec![name.clone()],
            Location::Volume(_) | Location::Directory(_) => Vec::new(),
        }
    }

    fn database_misfits(&self, kinds: &[DatabaseKind]) -> Vec<(String, Problem)> {
        let rows = match self.method {
            Method::Statements(rows) => rows,
            Method::Bulk => return Vec::new(),
            Method::Loop => {
                let without = kinds.iter().filter(|kind| !kind.dialect().features.procedures);
                let refused = |kind: &DatabaseKind| {
                    let message =
                        format!("{} has no procedures that a loop could run in", kind.dialect().title);
                    let help = "`method = 1` is a loop beside it, in the same process";
                    ("method".to_owned(), Problem::new(message, help))
                };
                return without.map(refused).collect();
            }
        };
        let columns = self.table.columns().len() as u64;
        let parameters = rows.saturating_mul(columns);
        let too_many = |kind: &DatabaseKind| {
            let (most, most_rows) =
                (kind.dialect().features.parameters as u64, kind.dialect().features.rows as u64);
            if rows > most_rows {
                let message =
                    format!("{} takes {most_rows} rows in one statement, not {rows}", kind.dialect().title);
                let help = format!("at most {}", most_rows.min(most / columns));
                return Some(("method".to_owned(), Problem::new(message, help)));
            }
            (parameters > most).then(|| {
                let message = format!(
                    "a statement of {rows} rows has {parameters} parameters, and {} takes {most}",
                    kind.dialect().title
                );
                let help = format!("at most {}", most / columns);
                ("method".to_owned(), Problem::new(message, help))
            })
        };
        kinds.iter().filter_map(too_many).collect()
    }

    fn beside_others(&self) -> Vec<(String, Problem)> {
        match self.until {
            Until::Time(_) => Vec::new(),
            Until::Rows(_) => {
                let message = "with a number of rows the slowest database would run alone in the end";
                let problem = Problem::new(message, "give several databases a `duration`");
                vec![("rows".to_owned(), problem)]
            }
        }
    }

    fn needs_payload(&self) -> bool {
        true
    }

    fn demand(&self) -> Option<Demand> {
        Some(Demand::Closed { users: 1, pauses: false })
    }

    fn requests(&self) -> BTreeMap<String, Request> {
        let bytes = match self.table {
            Table::Trade => None,
            Table::Payload { bytes } => Some(bytes.into()),
        };
        [(String::new(), Request::of_rows(self.transaction.rows(), bytes))].into()
    }

    fn lasts(&self) -> Option<Nanos> {
        match self.until {
            Until::Time(span) => Some(span),
            Until::Rows(_) => None,
        }
    }

    fn misfits(&self, clock: Clock, volumes: &Storage<'_>) -> Vec<(String, Problem)> {
        let Location::Volume(name) = &self.location else {
            let mut problems = match self.location {
                Location::Directory(_) => self.database_misfits(&[DatabaseKind::Sqlite]),
                _ => Vec::new(),
            };
            if clock == Clock::Virtual {
                let message = "a directory of this machine has no place in virtual time";
                let help = "name a volume with `volume`, or use clock = \"real\"";
                problems.push((String::new(), Problem::new(message, help)));
            }
            return problems;
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
            _ => self.database_misfits(&[DatabaseKind::Sqlite]),
        }
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        match (&self.location, environment.storage) {
            (Location::Volume(name), Some(storage)) => self.run_on_volume(storage, name, progress),
            (Location::Volume(name), None) => {
                Err(Failure::new(Reason::Settings, format!("workload: there is no volume `{name}`")))
            }
            (Location::Directory(path), _) => self.run_on_directory(path, progress),
            (Location::Named(name), _) => match environment.databases.get(name) {
                Ok(Connection { address: Address::Directory(path), .. }) => {
                    self.run_on_directory(path, progress)
                }
                Ok(server) => self.run_on_server(server, progress),
                // SQLite needs no provisioning.
                Err(_) if name == read::SQLITE => self.run_on_directory(environment.scratch, progress),
                Err(failure) => Err(failure),
            },
        }
    }
}
