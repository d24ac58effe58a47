//! The settings of an insert workload.

use std::path::PathBuf;

use fathom_engine::insert::{Transaction, Until};
use fathom_job::several::{COUNT, OWN};
use fathom_runtime::Nanos;
use fathom_settings::{Choice, Data, FromValue, Key, Problem, Section, VolumeName};
use fathom_units::{Bytes, Span};

use super::table::Table;
use crate::settings::{Journal, MEASURED, Synchronous};

/// The database that needs neither a server nor a table.
pub(super) const SQLITE: &str = "sqlite";

/// Every key the reader asks for.
pub(super) const KEYS: &[Key] = &[
    Key::optional(
        "database",
        "name of a database, or a list of them",
        "sqlite",
        "A table `[databases.NAME]`; or `sqlite`, `postgresql`, `mariadb` for a private one that needs no table. Those of a \
         list are driven at the same time, by a session each.",
    ),
    COUNT,
    OWN,
    Key::optional(
        "volume",
        "name of a volume",
        "a directory of this machine",
        "The volume that holds a SQLite database, without a file system between them.",
    ),
    Key::optional(
        "directory",
        "path",
        "the database's place",
        "Directory of a SQLite database, if not on a volume.",
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
        "method",
        "a number of rows, `bulk` or `loop`",
        "1",
        "Rows of one INSERT; the database's bulk path, a load for each transaction; or a loop in a procedure of the server.",
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
        "SQLite: what a commit waits for.",
    ),
    Key::optional(
        "synchronous_commit",
        "`on`, `off`, `local`, `remote_write` or `remote_apply`",
        "the server's",
        "PostgreSQL: what a commit waits for.",
    ),
    Key::optional(
        "innodb_flush_log_at_trx_commit",
        "0, 1 or 2",
        "the server's",
        "MariaDB, MySQL: what a commit waits for. Changed for the whole server during the run, then changed back.",
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableKind {
    Trade,
    Payload,
}

impl Choice for TableKind {
    const CHOICES: &'static [(&'static str, Self)] = &[("trade", Self::Trade), ("payload", Self::Payload)];
}

/// PostgreSQL's durability (`synchronous_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynchronousCommit(pub(super) &'static str);

impl Choice for SynchronousCommit {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("on", Self("on")),
        ("off", Self("off")),
        ("local", Self("local")),
        ("remote_write", Self("remote_write")),
        ("remote_apply", Self("remote_apply")),
    ];
}

/// How rows are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// INSERT statements of so many rows.
    Statements(u64),
    /// The database's bulk path.
    Bulk,
    /// A loop inside the server, row by row.
    Loop,
}

impl FromValue for Method {
    fn from_value(value: &fathom_settings::Value) -> Result<Self, Problem> {
        match &value.data {
            Data::Text(word) if word == "bulk" => Ok(Self::Bulk),
            Data::Text(word) if word == "loop" => Ok(Self::Loop),
            Data::Integer(rows @ 1..=10_000) => Ok(Self::Statements(*rows as u64)),
            _ => Err(Problem::new("expected a number of rows from 1 to 10000, \"bulk\" or \"loop\"", "")),
        }
    }
}

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Where provisioning has put the database of that name.
    Named(String),
    /// SQLite in a directory below this one.
    Directory(PathBuf),
    /// SQLite on a volume of the study.
    Volume(String),
}

/// The settings of an insert workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the database is.
    pub location: Location,
    /// What a row looks like.
    pub table: Table,
    /// Where a transaction ends.
    pub transaction: Transaction,
    /// How rows are handed over.
    pub method: Method,
    /// When the session ends.
    pub until: Until,
    /// Journal mode.
    pub journal: Journal,
    /// SQLite's durability.
    pub synchronous: Synchronous,
    /// PostgreSQL's; None: the server's.
    pub synchronous_commit: Option<SynchronousCommit>,
    /// MariaDB's and MySQL's; None: the server's.
    pub innodb_flush_log_at_trx_commit: Option<u8>,
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
        let database = section.optional::<String>("database").unwrap_or_else(|| SQLITE.to_owned());
        let volume = section.optional::<VolumeName>("volume");
        let directory = section.optional::<String>("directory");
        if volume.is_some() && directory.is_some() {
            section.error_at(
                "directory",
                "the database cannot be both in a directory and on a volume",
                "remove one of them",
            );
        }
        for (key, given) in [("volume", volume.is_some()), ("directory", directory.is_some())] {
            if given && database != SQLITE {
                section.error_at(
                    key,
                    "only SQLite's files are put there",
                    "leave it out, or set database = \"sqlite\"",
                );
            }
        }
        let location = match (volume, directory) {
            (Some(VolumeName(name)), _) => Location::Volume(name),
            (None, Some(path)) => Location::Directory(path.into()),
            (None, None) => Location::Named(database),
        };
        let rows = section.optional_in::<u64>("rows", 1..=1_000_000_000);
        let duration = section.optional_in("duration", MEASURED);
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
        let transaction = section.or("transaction", Transaction::PerRow);
        let method = section.or("method", Method::Statements(1));
        if let Some(problem) = misfit(transaction, method) {
            section.error_at("method", problem, "make the transaction a multiple of it, or the whole batch");
        }
        let config = Self {
            location,
            table,
            transaction,
            method,
            until,
            journal: section.or("journal", Journal("wal")),
            synchronous: section.or("synchronous", Synchronous("full")),
            synchronous_commit: section.optional("synchronous_commit"),
            innodb_flush_log_at_trx_commit: section.optional_in("innodb_flush_log_at_trx_commit", 0..=2),
            page_size,
            cpu_per_row: section.or("cpu_per_row", Span::from_micros(10)).as_nanos(),
            interval: section.or_in("interval", Span::from_secs(1), MEASURED).as_nanos(),
        };
        section.is_clean().then_some(config)
    }
}

/// Why a transaction cannot consist of such statements.
fn misfit(transaction: Transaction, method: Method) -> Option<String> {
    let Method::Statements(per_statement) = method else { return None };
    match transaction {
        Transaction::PerRow if per_statement > 1 => {
            Some(format!("a transaction of one row holds no statement of {per_statement}"))
        }
        Transaction::Every(rows) if rows % per_statement != 0 => {
            Some(format!("transactions of {rows} rows are not made of statements of {per_statement}"))
        }
        _ => None,
    }
}
