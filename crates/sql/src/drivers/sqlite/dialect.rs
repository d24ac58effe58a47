//! The dialect of SQLite.

use crate::database::{Dialect, Durability, Features};

pub static DIALECT: Dialect = Dialect {
    title: "SQLite",
    features: Features {
        procedures: false,
        pipelining: false,
        bulk: "prepared rows in one transaction",
        parameters: 32_766,
        rows: usize::MAX,
    },
    placeholder: |number| format!("?{number}"),
    durability_setting: "synchronous",
    durabilities: &[
        Durability::of("extra", ""),
        Durability::of("full", ""),
        Durability::of(
            "normal",
            "in WAL mode a power cut may take the commits since the last checkpoint; the database stays whole",
        ),
        Durability::of(
            "off",
            "a power cut may take commits since the last sync by the system, and damage the database",
        ),
    ],
    like: None,
    session: None,
    isolation: "serializable, one writer at a time",
    one_writer: true,
    commits_definitions: false,
    load_steps: "SELECT count(*), count(CASE WHEN name IN ('name', 'inserted', 'checksum') THEN 1 END)
        FROM pragma_table_info('load_steps')",
    objects: include_str!("objects.sql"),
    check: Some(("PRAGMA integrity_check", 0)),
    past_the_system: |_| false,
    questions: include_str!("watch.sql"),
    counters: &[],
    page: 8192,
    server: None,
};
