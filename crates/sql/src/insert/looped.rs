//! `method = "loop"`: a procedure of the database inserts row after row, as the publication's T-SQL does.
//!
//! The client calls it once per slice, a fraction of a second, so that it can report progress, cut samples and stop. The
//! procedure says only how far it came: the latency of a single commit stays inside the server.

use fathom_job::{Failure, Reason};
use fathom_runtime::{MILLISECOND, Nanos, SECOND};

use super::session::{Plan, SessionProgress};
use super::table::{PROCEDURE, Table};
use crate::database::{DatabaseKind, Known};
use crate::rows::Answer;
use crate::session::Session;
use crate::value::Value;

/// Longest call, ns.
const SLICE: Nanos = SECOND / 4;

/// Parameters before those of the row: how far it is, the last row, rows of a transaction, milliseconds.
const OWN_PARAMETERS: usize = 4;

impl Table {
    /// The statement that calls it.
    fn call(self, kind: DatabaseKind) -> String {
        // The key is the procedure's to count.
        let columns = &self.columns()[1..];
        if kind == DatabaseKind::Sqlserver {
            let own = "@begun, @most, @per_transaction, @milliseconds";
            let columns: Vec<String> = columns.iter().map(|column| format!("@{column}")).collect();
            return format!("EXEC {PROCEDURE} {own}, {}", columns.join(", "));
        }
        let places = 1..=OWN_PARAMETERS + columns.len();
        let places: Vec<String> = places.map(|number| kind.dialect().parameter(number)).collect();
        format!("CALL {PROCEDURE}({})", places.join(", "))
    }
}

impl Plan {
    pub(super) fn by_loop(
        &self,
        session: &mut dyn Session,
        kind: DatabaseKind,
        course: &mut SessionProgress<'_>,
    ) -> Result<(), Failure> {
        let text = self.table.text();
        let call = session.prepare(&self.table.call(kind))?;
        let mut values = vec![Value::Null; OWN_PARAMETERS];
        values.extend_from_slice(&self.table.row(&text)[1..]);
        let mut answer = Answer::new();
        // One transaction for all rows holds all calls.
        let per_transaction = self.transaction.rows();
        let (began, whole) = (course.now(), per_transaction.is_none());
        if whole {
            session.begin()?;
        }
        while !course.is_over() {
            let (started, first) = (course.now(), course.rows);
            let milliseconds = course.left(SLICE).div_ceil(MILLISECOND).max(1);
            let own = [
                first,
                first + course.most(i32::MAX as u64 - first),
                per_transaction.unwrap_or(0),
                milliseconds,
            ];
            for (value, own) in values.iter_mut().zip(own) {
                *value = Value::Int(own as i64);
            }
            session.run(call, &values, &mut answer)?;
            let done = answer.first()?.int(0)?;
            course.rows = u64::try_from(done).ok().filter(|done| *done > first).ok_or_else(|| {
                let message = format!("the procedure began at row {first} and says that it is at {done}");
                Failure::new(Reason::Verification, message)
            })?;
            course.report_progress()?;
            if let Some(rows) = per_transaction {
                course.looped(started, first, rows);
            }
        }
        if whole {
            session.commit()?;
            course.looped(began, 0, u64::MAX);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{DatabaseKind, Table};

    #[test]
    fn a_call_has_a_parameter_for_each_that_the_procedure_declares() {
        for table in [Table::Trade, Table::Payload { bytes: 9 }] {
            for kind in DatabaseKind::all() {
                let Some(procedure) = table.procedure(kind) else {
                    assert_eq!(kind, DatabaseKind::Sqlite);
                    continue;
                };
                let call = table.call(kind);
                let wanted = call.split(',').count();
                assert_eq!(wanted, 4 + table.columns().len() - 1, "{call}");
                let (_, declared) = procedure.split_once("fathom_loop").expect("its name");
                let declared = declared.split("\n)").next().expect("a list");
                assert_eq!(declared.split(',').count(), wanted, "{declared}");
                for column in table.columns() {
                    assert!(procedure.contains(column), "{kind:?} {column}");
                }
            }
        }
    }
}
