//! Consistency conditions of a workload, run as SQL: each answers for how many rows it does not hold. They prove that the
//! database kept what was committed and nothing else.

use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::session::Session;

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name among the workload's conditions.
    pub condition: String,
    /// What should hold, in words.
    pub claim: String,
    /// Rows for which it does not.
    pub rows: i64,
}

/// The conditions of a workload.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// Their statements; the first line of each is a comment with its claim.
    pub script: Script,
    /// Words in the statements, and what to put in their places.
    pub placeholders: Vec<(&'static str, String)>,
    /// The one that holds only until the first transaction.
    pub fresh_only: &'static str,
    /// Those that are not checked, because they did not hold before anything was done.
    pub left_out: Vec<String>,
}

impl Conditions {
    /// Checks the conditions that hold at any time, and after a load (`fresh`) the one for that; returns those that do not
    /// hold.
    ///
    /// # Errors
    /// The database's.
    pub fn check(&self, session: &mut dyn Session, fresh: bool) -> Result<Vec<Violation>> {
        let mut violations = Vec::new();
        for (condition, text) in self.script.blocks() {
            let out = self.left_out.iter().any(|left| left == condition);
            if out || (condition == self.fresh_only && !fresh) {
                continue;
            }
            let fill = |text: String, (word, by): &(&str, String)| text.replace(word, by);
            let statement = self.placeholders.iter().fold(text.to_owned(), fill);
            let at = |error: Error| error.at(format!("consistency condition {condition}"));
            let answer = session.query(&statement, &[]).map_err(at)?;
            let rows = answer.first()?.int(0)?;
            if rows != 0 {
                let claim = text.lines().next().unwrap_or_default().trim_start_matches("-- ").to_owned();
                violations.push(Violation { condition: condition.to_owned(), claim, rows });
            }
        }
        Ok(violations)
    }

    /// As [`Self::check`], where a violation is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] naming every condition that does not hold; the database's.
    pub fn ensure(&self, session: &mut dyn Session, fresh: bool) -> Result<()> {
        let violations = self.check(session, fresh)?;
        if violations.is_empty() {
            return Ok(());
        }
        let each = violations.iter().map(|Violation { condition, claim, rows }| {
            format!("condition {condition} ({}) fails for {rows} rows", claim.trim_end_matches('.'))
        });
        let message = format!("the database is not consistent: {}", each.collect::<Vec<_>>().join("; "));
        Err(Error::new(ErrorKind::Corrupt, message))
    }
}
