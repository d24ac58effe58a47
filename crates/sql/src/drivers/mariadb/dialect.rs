//! The dialect of MariaDB, and of MySQL where it does not differ.

use super::Mariadb;
use crate::counter::Counter::{DirtyPages, LogBytes, LogFlushes, LogSinceCheckpoint, PagesWrittenBack};
use crate::database::{Dialect, Durability, Features};

pub static DIALECT: Dialect = Dialect {
    title: "MariaDB",
    features: Features {
        procedures: true,
        pipelining: false,
        bulk: "LOAD DATA LOCAL",
        parameters: 65_535,
        rows: usize::MAX,
    },
    placeholder: |_| "?".to_owned(),
    durability_setting: "innodb_flush_log_at_trx_commit",
    durabilities: &[
        Durability::of("1", ""),
        Durability::of(
            "2",
            "a power cut or crash of the system may take the commits of the last second; a crash of the server takes none",
        ),
        Durability::of(
            "0",
            "a crash of the server or a power cut may take the commits of the last second; the database stays whole",
        ),
    ],
    like: None,
    session: Some("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    isolation: "read committed",
    one_writer: false,
    commits_definitions: true,
    load_steps: "SELECT count(*), count(CASE WHEN column_name IN ('name', 'inserted', 'checksum') THEN 1 END)
        FROM information_schema.columns WHERE table_name = 'load_steps' AND table_schema = database()",
    objects: include_str!("objects.sql"),
    check: Some(("CHECK TABLE {}", 3)),
    // `innodb_data_file_buffering` decides from 11.0 on; before, `innodb_flush_method` (O_DIRECT, O_DIRECT_NO_FSYNC).
    past_the_system: |facts| {
        let says = |name: &str| facts.get(name).map(|value| value.to_uppercase());
        match says("innodb_data_file_buffering") {
            Some(buffering) => buffering == "OFF",
            None => says("innodb_flush_method").is_some_and(|method| method.starts_with("O_DIRECT")),
        }
    },
    questions: include_str!("watch.sql"),
    counters: &[LogBytes, LogFlushes, DirtyPages, PagesWrittenBack, LogSinceCheckpoint],
    page: 16_384,
    server: Some(|at| Box::new(Mariadb::new(at.clone()))),
};
