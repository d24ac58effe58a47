//! DVD Store's consistency conditions: this project's, because the original has none.

use crate::conditions::Conditions;
use crate::database::DatabaseKind;
use crate::script::Script;

use super::scale::Scale;

/// Those of a database of that kind and scale.
pub fn conditions(kind: DatabaseKind, scale: &Scale) -> Conditions {
    // SQLite keeps whole cents.
    let cent = if kind == DatabaseKind::Sqlite { "1" } else { "0.01" };
    // SQL Server's count is an int, which the lines of a large shop do not fit.
    let count = if kind == DatabaseKind::Sqlserver { "count_big(*)" } else { "count(*)" };
    Conditions {
        script: Script::parse(include_str!("sql/conditions.sql")),
        placeholders: vec![
            ("CENT", cent.to_owned()),
            ("count(*)", count.to_owned()),
            ("REVIEWS", scale.reviews.to_string()),
            ("RATINGS", scale.most_ratings().to_string()),
        ],
        fresh_only: "loaded",
        left_out: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::conditions;
    use crate::database::DatabaseKind;
    use crate::dvdstore::scale::Scale;

    #[test]
    fn every_condition_has_its_claim_and_one_holds_only_at_first() {
        let all = conditions(DatabaseKind::Sqlite, &Scale::of(50_000, 2, 2));
        assert_eq!(all.script.blocks().len(), 10);
        assert!(all.script.blocks().all(|(_, text)| text.starts_with("-- ") && text.ends_with(';')));
        assert!(all.script.blocks().any(|(name, _)| name == all.fresh_only));
    }
}
