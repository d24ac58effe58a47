//! The twelve consistency conditions of TPC-C (clause 3.3.2), checked after every load, every run and every crash.

use crate::conditions::Conditions;
use crate::script::Script;

use super::scale::Scale;

/// Those of a database of that scale. Condition 11 holds only until the first transaction.
pub fn conditions(scale: &Scale) -> Conditions {
    Conditions {
        script: Script::parse(include_str!("sql/conditions.sql")),
        placeholders: vec![("DELIVERED", scale.delivered().to_string())],
        fresh_only: "11",
        left_out: Vec::new(),
    }
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
