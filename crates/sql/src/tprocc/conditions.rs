//! The twelve consistency conditions of TPC-C (clause 3.3.2), run as SQL. They prove that the database kept what was
//! committed and nothing else, so they are checked after every load, every run and every crash.

use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::session::Session;

use super::scale::Scale;

/// Condition 11 holds only until the first transaction.
const FRESH_ONLY: &str = "11";

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its number in the specification, 1 to 12.
    pub condition: String,
    /// What should hold, in words.
    pub claim: String,
    /// Rows (warehouses, districts, customers, orders or lines) for which it does not.
    pub rows: i64,
}

/// Checks the conditions that hold at any time, and after a load (`fresh`) the eleventh too; returns those that do not
/// hold.
///
/// # Errors
/// The database's.
pub fn check(session: &mut dyn Session, scale: &Scale, fresh: bool) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for (condition, text) in Script::parse(include_str!("sql/conditions.sql")).blocks() {
        if condition == FRESH_ONLY && !fresh {
            continue;
        }
        let statement = text.replace("DELIVERED", &scale.delivered().to_string());
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

/// As [`check`], where a violation is an error.
///
/// # Errors
/// [`ErrorKind::Corrupt`] naming every condition that does not hold; the database's.
pub fn ensure(session: &mut dyn Session, scale: &Scale, fresh: bool) -> Result<()> {
    let violations = check(session, scale, fresh)?;
    if violations.is_empty() {
        return Ok(());
    }
    let each = violations.iter().map(|Violation { condition, claim, rows }| {
        format!("condition {condition} ({}) fails for {rows} rows", claim.trim_end_matches('.'))
    });
    let message = format!("the database is not consistent: {}", each.collect::<Vec<_>>().join("; "));
    Err(Error::new(ErrorKind::Corrupt, message))
}

#[cfg(test)]
mod tests {
    use crate::script::Script;

    #[test]
    fn there_are_twelve_conditions_each_with_its_claim() {
        let script = Script::parse(include_str!("sql/conditions.sql"));
        let names: Vec<String> = script.blocks().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, (1..=12).map(|number| number.to_string()).collect::<Vec<_>>());
        assert!(script.blocks().all(|(_, text)| text.starts_with("-- ") && text.ends_with(';')));
    }
}
