//! What is known of each kind of database: its dialect, what it supports, and what its durability settings may lose.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::session::Session;

pub use fathom_job::DatabaseKind;

/// What a kind of database supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Stored procedures.
    pub procedures: bool,
    /// Several calls sent before the first answer is awaited.
    pub pipelining: bool,
    /// The bulk path's name, for reports.
    pub bulk: &'static str,
    /// Most parameters of one statement.
    pub parameters: usize,
    /// Most rows of one `INSERT ... VALUES`.
    pub rows: usize,
}

/// A durability setting, and what it may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// The database's own word for the value.
    pub value: &'static str,
    /// What a crash may take although it was committed; empty for nothing.
    pub loses: &'static str,
}

/// What is known of each kind of database.
pub trait Dialect: Copy {
    /// The name for people.
    fn title(self) -> &'static str;

    /// What it supports.
    fn features(self) -> Features;

    /// The `number`-th parameter of a statement, from 1.
    fn parameter(self, number: usize) -> String;

    /// The setting that decides what a commit waits for, by the database's own name.
    fn durability_setting(self) -> &'static str;

    /// The values of that setting, most durable first, and what each may lose.
    fn durabilities(self) -> &'static [Durability];
}

impl Dialect for DatabaseKind {
    fn title(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgresql => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Mysql => "MySQL",
            Self::Sqlserver => "SQL Server",
        }
    }

    fn features(self) -> Features {
        match self {
            Self::Sqlite => Features {
                procedures: false,
                pipelining: false,
                bulk: "prepared rows in one transaction",
                parameters: 32_766,
                rows: usize::MAX,
            },
            Self::Postgresql => Features {
                procedures: true,
                pipelining: true,
                bulk: "binary COPY",
                parameters: 65_535,
                rows: usize::MAX,
            },
            Self::Mariadb | Self::Mysql => Features {
                procedures: true,
                pipelining: false,
                bulk: "LOAD DATA LOCAL",
                parameters: 65_535,
                rows: usize::MAX,
            },
            Self::Sqlserver => {
                Features {
                    procedures: true,
                    pipelining: false,
                    bulk: "bulk copy",
                    // A call has 2,100, of which `sp_executesql` takes two itself.
                    parameters: 2_098,
                    // Error 10738.
                    rows: 1_000,
                }
            }
        }
    }

    fn parameter(self, number: usize) -> String {
        match self {
            Self::Sqlite => format!("?{number}"),
            Self::Postgresql => format!("${number}"),
            Self::Mariadb | Self::Mysql => "?".to_owned(),
            Self::Sqlserver => format!("@P{number}"),
        }
    }

    fn durability_setting(self) -> &'static str {
        match self {
            Self::Sqlite => "synchronous",
            Self::Postgresql => "synchronous_commit",
            Self::Mariadb | Self::Mysql => "innodb_flush_log_at_trx_commit",
            Self::Sqlserver => "delayed_durability",
        }
    }

    fn durabilities(self) -> &'static [Durability] {
        const fn of(value: &'static str, loses: &'static str) -> Durability {
            Durability { value, loses }
        }
        match self {
            Self::Sqlite => {
                const {
                    &[
                        of("extra", ""),
                        of("full", ""),
                        of(
                            "normal",
                            "in WAL mode a power cut may take the commits since the last checkpoint; the database stays whole",
                        ),
                        of(
                            "off",
                            "a power cut may take commits since the last sync by the system, and damage the database",
                        ),
                    ]
                }
            }
            Self::Postgresql => {
                const {
                    &[
                        of("remote_apply", ""),
                        of("on", ""),
                        of(
                            "remote_write",
                            "a power cut of both hosts may take commits that the standby had not yet flushed",
                        ),
                        of(
                            "local",
                            "the loss of the primary may take commits that a synchronous standby had not yet received",
                        ),
                        of(
                            "off",
                            "a crash of the server or a power cut may take the commits of the last 3 x wal_writer_delay (0.6 s); the database stays whole",
                        ),
                    ]
                }
            }
            Self::Mariadb | Self::Mysql => {
                const {
                    &[
                        of("1", ""),
                        of(
                            "2",
                            "a power cut or crash of the system may take the commits of the last second; a crash of the server takes none",
                        ),
                        of(
                            "0",
                            "a crash of the server or a power cut may take the commits of the last second; the database stays whole",
                        ),
                    ]
                }
            }
            Self::Sqlserver => {
                const {
                    &[
                        of("disabled", ""),
                        of("allowed", "transactions that ask for it may be lost in a crash"),
                        of(
                            "forced",
                            "a crash may take the commits whose log was still in memory, up to 60 KB of it",
                        ),
                    ]
                }
            }
        }
    }
}

/// A database that sessions can be had from. Threads share it where it is `Sync`; each connects for itself.
pub trait Database {
    /// Which database it is, and with it the SQL it speaks.
    fn kind(&self) -> DatabaseKind;

    /// A new session.
    ///
    /// # Errors
    /// Refused, authentication, permission, timeout, with where it was tried.
    fn connect(&self) -> Result<Box<dyn Session + '_>>;

    /// Small facts worth keeping with a run: version, settings that decide durability and I/O.
    ///
    /// # Errors
    /// The database's.
    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>>;

    /// Counters of files and waits since the server started, by name, of a server that nobody samples from outside. A run
    /// keeps the difference.
    ///
    /// # Errors
    /// The database's; a right that is missing is no error.
    fn counters(&self, _session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
        Ok(BTreeMap::new())
    }
}

/// What a crash may take of what was committed, by the facts of [`Database::facts`]; words for a report.
pub fn may_lose(kind: DatabaseKind, facts: &BTreeMap<String, String>) -> String {
    if facts.get("fsync").is_some_and(|fsync| fsync == "off") {
        return "fsync is off: a power cut may damage the database".to_owned();
    }
    let says = |name: &str, value: &str| facts.get(name).is_some_and(|fact| fact.eq_ignore_ascii_case(value));
    // With a binary log a commit waits for that one instead, and InnoDB recovers what stands in it.
    if says("innodb_flush_log_at_trx_commit", "1") && says("log_bin", "ON") && !says("sync_binlog", "1") {
        return "a power cut may take commits whose binary log was not yet flushed (sync_binlog)".to_owned();
    }
    let value = facts.get(kind.durability_setting()).map(|value| value.to_lowercase()).unwrap_or_default();
    match kind.durabilities().iter().find(|known| known.value == value) {
        Some(Durability { loses: "", .. }) => "nothing: a commit waits for the log".to_owned(),
        Some(known) => known.loses.to_owned(),
        None => "not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{DatabaseKind, Dialect, may_lose};

    #[test]
    fn every_value_says_what_it_may_lose_and_the_defaults_lose_nothing() {
        for kind in DatabaseKind::ALL {
            for known in kind.durabilities() {
                let setting = kind.durability_setting().to_owned();
                let mut facts = BTreeMap::from([(setting, known.value.to_uppercase())]);
                let words = may_lose(kind, &facts);
                assert_eq!(words.starts_with("nothing"), known.loses.is_empty(), "{kind:?} {words}");
                facts.insert("fsync".to_owned(), "off".to_owned());
                assert!(may_lose(kind, &facts).contains("damage"));
            }
            assert!(kind.durabilities()[0].loses.is_empty());
            assert_eq!(may_lose(kind, &BTreeMap::new()), "not known");
        }
    }

    #[test]
    fn a_binary_log_must_be_flushed_too() {
        let facts = |bin: &str, sync: &str| {
            let facts = [("innodb_flush_log_at_trx_commit", "1"), ("log_bin", bin), ("sync_binlog", sync)];
            facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        };
        for (bin, sync, loses) in
            [("ON", "0", true), ("ON", "1000", true), ("ON", "1", false), ("OFF", "0", false)]
        {
            let words = may_lose(DatabaseKind::Mysql, &facts(bin, sync));
            assert_eq!(words.contains("binary log"), loses, "{bin} {sync}: {words}");
        }
    }
}
