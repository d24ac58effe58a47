//! The dialect of SQL Server.

use super::Sqlserver;
use crate::counter::Counter::{
    DataReadStall, LogBytes, LogFlushes, LogSinceCheckpoint, LogWait, LogWriteStall, PageWait,
    PagesWrittenBack,
};
use crate::database::{Dialect, Durability, Features};

pub static DIALECT: Dialect = Dialect {
    title: "SQL Server",
    features: Features {
        procedures: true,
        pipelining: false,
        bulk: "bulk copy",
        // A call has 2,100, of which `sp_executesql` takes two itself.
        parameters: 2_098,
        // Error 10738.
        rows: 1_000,
    },
    placeholder: |number| format!("@P{number}"),
    durability_setting: "delayed_durability",
    durabilities: &[
        Durability::of("disabled", ""),
        Durability::of("allowed", "transactions that ask for it may be lost in a crash"),
        Durability::of(
            "forced",
            "a crash may take the commits whose log was still in memory, up to 60 KB of it",
        ),
    ],
    like: None,
    session: Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    isolation: "read committed",
    one_writer: false,
    commits_definitions: false,
    load_steps: "SELECT count(*), count(CASE WHEN name IN ('name', 'inserted', 'checksum') THEN 1 END)
        FROM sys.columns WHERE object_id = OBJECT_ID(QUOTENAME(SCHEMA_NAME()) + '.load_steps')",
    objects: include_str!("objects.sql"),
    // It checks pages as they are read.
    check: None,
    // FILE_FLAG_NO_BUFFERING, O_DIRECT on Linux; it has no setting for it.
    past_the_system: |_| true,
    questions: include_str!("watch.sql"),
    counters: &[
        LogBytes,
        LogFlushes,
        PagesWrittenBack,
        LogSinceCheckpoint,
        LogWriteStall,
        DataReadStall,
        LogWait,
        PageWait,
    ],
    page: 8192,
    server: Some(|at| Box::new(Sqlserver::new(at.clone()))),
};
