//! How a statement is sent: as a remote procedure call, or as text with the types of its parameters.

/// A statement and what the server reported about it.
pub(super) struct Prepared {
    pub text: String,
    pub call: CallText,
}

/// How a text is sent.
pub(super) enum CallText {
    /// A procedure and its parameters' names.
    Procedure { name: String, parameters: Vec<String> },
    /// Anything else; the types of `@P1`, `@P2`, ... if the text or the server showed them.
    Statement { types: Option<Vec<String>> },
}

impl CallText {
    /// Reads `EXEC dbo.procedure @first, @second`; None for any other text.
    pub fn procedure(text: &str) -> Option<Self> {
        let (word, rest) = text.trim().trim_end_matches(';').split_once(char::is_whitespace)?;
        if !word.eq_ignore_ascii_case("EXEC") {
            return None;
        }
        let (name, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let names = rest.split(',').map(str::trim).filter(|name| !name.is_empty());
        let plain = |name: &&str| {
            name.strip_prefix('@')
                .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        };
        let parameters: Vec<&str> = names.collect();
        let is_plain = parameters.iter().all(plain) && !parameters.iter().any(|name| name.starts_with("@P1"));
        is_plain.then(|| Self::Procedure {
            name: name.to_owned(),
            parameters: parameters.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// The types of a text whose first line declares them; None for any other.
pub(super) fn declared(text: &str) -> Option<Vec<String>> {
    let line = text.lines().next()?.strip_prefix("-- @P1 ")?;
    let mut types = Vec::new();
    for (number, piece) in (1..).zip(line.split(", @P")) {
        // The first one's name is gone already.
        let of_type = if number == 1 { piece } else { piece.strip_prefix(&format!("{number} "))? };
        types.push(of_type.trim().to_owned());
    }
    Some(types)
}

#[cfg(test)]
mod tests {
    use super::{CallText, declared};

    #[test]
    fn a_call_of_a_procedure_is_recognised_by_its_form_alone() {
        let Some(CallText::Procedure { name, parameters }) =
            CallText::procedure("EXEC dbo.pay @w_id, @amount")
        else {
            panic!("it is one");
        };
        assert_eq!((name.as_str(), parameters), ("dbo.pay", vec!["@w_id".to_owned(), "@amount".to_owned()]));
        assert!(CallText::procedure("exec dbo.nothing;").is_some());
        for other in ["SELECT 1", "EXEC dbo.pay @w_id = 1", "EXEC dbo.pay 'x', @P1", "EXECUTE x"] {
            assert!(CallText::procedure(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_first_line_declares_the_types_of_parameters() {
        let text = "-- @P1 int, @P2 decimal(12, 2), @P3 varchar(16)\nSELECT @P1";
        let types = ["int", "decimal(12, 2)", "varchar(16)"].map(str::to_owned);
        assert_eq!(declared(text), Some(types.to_vec()));
        for other in ["SELECT @P1", "-- why\nSELECT @P1", "-- @P1 int, @P3 int\nSELECT 1"] {
            assert_eq!(declared(other), None, "{other}");
        }
    }
}
