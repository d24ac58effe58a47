//! The SQL of a workload in one dialect: the files of a folder, one for each purpose.

use crate::database::{DatabaseKind, Known};
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
    /// The first statement of a session.
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

/// The SQL of all workloads, by its path below `src`; sorted.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sql.rs"));

/// `WORKLOAD/sql/KIND/FILE.sql`, or that of the kind whose SQL this one takes; None if there is neither.
pub(crate) fn text(workload: &str, kind: DatabaseKind, file: &str) -> Option<&'static str> {
    let of = |kind: DatabaseKind| {
        let path = format!("{workload}/sql/{}/{file}.sql", kind.name());
        FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
    };
    of(kind).or_else(|| of(kind.dialect().like?))
}

/// The same of a file that has to be there.
///
/// # Panics
/// If it is not: tests read every workload's files for every kind of database.
pub(crate) fn required(workload: &str, kind: DatabaseKind, file: &str) -> &'static str {
    text(workload, kind, file)
        .unwrap_or_else(|| panic!("{workload}/sql/{}/{file}.sql is missing", kind.name()))
}

impl Texts {
    /// A workload's, for one kind of database.
    ///
    /// # Panics
    /// If a file is missing; see [`required`].
    pub(crate) fn of(workload: &str, kind: DatabaseKind) -> Self {
        let script = |file| Script::parse(required(workload, kind, file));
        let perhaps = |file| text(workload, kind, file).map(Script::parse);
        let dialect = kind.dialect();
        Self {
            tables: required(workload, kind, "tables"),
            indexes: script("indexes"),
            rules: perhaps("rules").unwrap_or_else(|| Script::parse("")),
            finish: script("finish"),
            procedures: perhaps("procedures")
                .map(|definitions| Procedures { definitions, calls: script("calls") }),
            statements: script("statements"),
            session: dialect.session,
            isolation: dialect.isolation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::database::{DatabaseKind, Known};
    use crate::insert::Table;

    #[test]
    fn every_workload_has_its_sql_for_every_database() {
        for kind in DatabaseKind::all() {
            for workload in ["tprocc", "dvdstore"] {
                let texts = Texts::of(workload, kind);
                assert_eq!(
                    texts.procedures.is_some(),
                    kind.dialect().features.procedures,
                    "{workload} {kind:?}"
                );
            }
            for table in [Table::Trade, Table::Payload { bytes: 1 }] {
                assert!(table.create(kind).contains("CREATE TABLE"));
                assert_eq!(table.procedure(kind).is_some(), kind.dialect().features.procedures, "{kind:?}");
            }
        }
    }
}
