//! The dialect of PostgreSQL.

use super::Postgresql;
use crate::counter::Counter::{
    Checkpoints, FullPageImages, LogBytes, LogFlushes, LogSinceCheckpoint, PagesWrittenBack,
};
use crate::database::{Dialect, Durability, Features};

pub static DIALECT: Dialect = Dialect {
    title: "PostgreSQL",
    features: Features {
        procedures: true,
        pipelining: true,
        bulk: "binary COPY",
        parameters: 65_535,
        rows: usize::MAX,
    },
    placeholder: |number| format!("${number}"),
    durability_setting: "synchronous_commit",
    durabilities: &[
        Durability::of("remote_apply", ""),
        Durability::of("on", ""),
        Durability::of(
            "remote_write",
            "a power cut of both hosts may take commits that the standby had not yet flushed",
        ),
        Durability::of(
            "local",
            "the loss of the primary may take commits that a synchronous standby had not yet received",
        ),
        Durability::of(
            "off",
            "a crash of the server or a power cut may take the commits of the last 3 x wal_writer_delay (0.6 s); the database \
             stays whole",
        ),
    ],
    like: None,
    session: Some("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    isolation: "read committed",
    one_writer: false,
    commits_definitions: false,
    load_steps: "SELECT count(*), count(CASE WHEN column_name IN ('name', 'inserted', 'checksum') THEN 1 END)
        FROM information_schema.columns WHERE table_name = 'load_steps' AND table_schema = current_schema()",
    objects: include_str!("objects.sql"),
    // It checks pages as they are read, if it has checksums.
    check: None,
    past_the_system: |_| false,
    questions: include_str!("watch.sql"),
    counters: &[LogBytes, FullPageImages, LogFlushes, Checkpoints, PagesWrittenBack, LogSinceCheckpoint],
    page: 8192,
    server: Some(|at| Box::new(Postgresql::new(at.clone()))),
};
