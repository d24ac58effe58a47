//! The settings of an insert workload.

use std::path::PathBuf;

use fathom_engine::insert::{Transaction, Until};
use fathom_runtime::{MILLISECOND, Nanos};
use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_units::{Bytes, Span};

use super::table::Table;

/// Every key the reader asks for.
pub(super) const KEYS: &[Key] = &[
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
pub struct Journal(pub(super) &'static str);

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
pub struct Synchronous(pub(super) &'static str);

impl Choice for Synchronous {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("full", Self("full")), ("extra", Self("extra")), ("normal", Self("normal")), ("off", Self("off"))];
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
}
