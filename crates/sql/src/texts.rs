//! The SQL of a workload in one dialect: the files of a folder, one for each purpose.

use crate::script::Script;

/// The statements of one dialect.
#[derive(Debug, Clone)]
pub struct Texts {
    /// `CREATE TABLE`, once for each table.
    pub tables: &'static str,
    /// Keys and indexes that follow after the load, one by one.
    pub indexes: Script,
    /// What else holds from the end of the load on: references, triggers, numbers of new rows.
    pub rules: Script,
    /// What ends a load: statistics, checkpoint.
    pub finish: Script,
    /// Transactions inside the database; None if it knows no procedures.
    pub procedures: Option<Procedures>,
    /// Transactions statement by statement.
    pub statements: Script,
    /// What a session is told first.
    pub session: Option<&'static str>,
    /// The isolation level of its transactions, for results.
    pub isolation: &'static str,
}

/// Transactions inside the database.
#[derive(Debug, Clone)]
pub struct Procedures {
    /// Their definitions.
    pub definitions: Script,
    /// How a session calls them.
    pub calls: Script,
}

/// The texts of every dialect in `sql/` beside the file that asks: `texts!(kind)`, with `rules` where the workload has them.
macro_rules! texts {
    ($kind:expr $(, $rules:ident)?) => {{
        use $crate::database::DatabaseKind;
        use $crate::script::Script;
        use $crate::texts::{Procedures, Texts, texts};
        match $kind {
            DatabaseKind::Sqlite => Texts {
                procedures: None,
                session: None,
                isolation: "serializable, one writer at a time",
                ..texts!(@of "sqlite" $(, $rules)?)
            },
            DatabaseKind::Postgresql => Texts {
                procedures: Some(texts!(@procedures "postgresql")),
                session: Some("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                ..texts!(@of "postgresql" $(, $rules)?)
            },
            DatabaseKind::Mariadb | DatabaseKind::Mysql => Texts {
                procedures: Some(texts!(@procedures "mariadb")),
                session: Some("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                ..texts!(@of "mariadb" $(, $rules)?)
            },
            DatabaseKind::Sqlserver => Texts {
                procedures: Some(texts!(@procedures "sqlserver")),
                session: Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                ..texts!(@of "sqlserver" $(, $rules)?)
            },
        }
    }};
    (@of $dialect:literal $(, $rules:ident)?) => {
        Texts {
            tables: include_str!(concat!("sql/", $dialect, "/tables.sql")),
            indexes: Script::parse(include_str!(concat!("sql/", $dialect, "/indexes.sql"))),
            rules: Script::parse(concat!("" $(, include_str!(concat!("sql/", $dialect, "/", stringify!($rules), ".sql")))?)),
            finish: Script::parse(include_str!(concat!("sql/", $dialect, "/finish.sql"))),
            procedures: None,
            statements: Script::parse(include_str!(concat!("sql/", $dialect, "/statements.sql"))),
            session: None,
            isolation: "read committed",
        }
    };
    (@procedures $dialect:literal) => {
        Procedures {
            definitions: Script::parse(include_str!(concat!("sql/", $dialect, "/procedures.sql"))),
            calls: Script::parse(include_str!(concat!("sql/", $dialect, "/calls.sql"))),
        }
    };
}
pub(crate) use texts;
