//! The SQL of every dialect: the files of `sql/`, by dialect.

use crate::database::DatabaseKind;
use crate::script::Script;

/// The statements of one dialect.
#[derive(Debug, Clone)]
pub struct Texts {
    /// `CREATE TABLE`, eleven times.
    pub tables: &'static str,
    /// Keys and indexes that follow after the load, one by one.
    pub indexes: Script,
    /// References, the restock of products, numbers of new rows.
    pub rules: Script,
    /// What ends a load: statistics, checkpoint.
    pub finish: Script,
    /// The purchase inside the database; None if it knows no procedures.
    pub procedures: Option<Procedures>,
    /// The operations statement by statement.
    pub statements: Script,
    /// What a session is told first.
    pub session: Option<&'static str>,
    /// The isolation level of its transactions, for results.
    pub isolation: &'static str,
}

/// The purchase inside the database.
#[derive(Debug, Clone)]
pub struct Procedures {
    /// Its definition.
    pub definitions: Script,
    /// How a session calls it.
    pub calls: Script,
}

impl Texts {
    /// Of that dialect; None where the workload has not been written for it.
    pub fn of(kind: DatabaseKind) -> Option<Self> {
        match kind {
            DatabaseKind::Sqlite => Some(Self {
                tables: include_str!("sql/sqlite/tables.sql"),
                indexes: Script::parse(include_str!("sql/sqlite/indexes.sql")),
                rules: Script::parse(include_str!("sql/sqlite/rules.sql")),
                finish: Script::parse(include_str!("sql/sqlite/finish.sql")),
                procedures: None,
                statements: Script::parse(include_str!("sql/sqlite/statements.sql")),
                session: None,
                isolation: "serializable, one writer at a time",
            }),
            DatabaseKind::Postgresql => Some(Self {
                tables: include_str!("sql/postgresql/tables.sql"),
                indexes: Script::parse(include_str!("sql/postgresql/indexes.sql")),
                rules: Script::parse(include_str!("sql/postgresql/rules.sql")),
                finish: Script::parse(include_str!("sql/postgresql/finish.sql")),
                procedures: Some(Procedures {
                    definitions: Script::parse(include_str!("sql/postgresql/procedures.sql")),
                    calls: Script::parse(include_str!("sql/postgresql/calls.sql")),
                }),
                statements: Script::parse(include_str!("sql/postgresql/statements.sql")),
                session: Some("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                isolation: "read committed",
            }),
            DatabaseKind::Mariadb => Some(Self {
                tables: include_str!("sql/mariadb/tables.sql"),
                indexes: Script::parse(include_str!("sql/mariadb/indexes.sql")),
                rules: Script::parse(include_str!("sql/mariadb/rules.sql")),
                finish: Script::parse(include_str!("sql/mariadb/finish.sql")),
                procedures: Some(Procedures {
                    definitions: Script::parse(include_str!("sql/mariadb/procedures.sql")),
                    calls: Script::parse(include_str!("sql/mariadb/calls.sql")),
                }),
                statements: Script::parse(include_str!("sql/mariadb/statements.sql")),
                session: Some("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                isolation: "read committed",
            }),
            DatabaseKind::Sqlserver => None,
        }
    }
}
