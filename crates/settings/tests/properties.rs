//! No text makes the reader panic, and every mistake lies within its text.

use fathom_settings::{Data, Diagnostics, Path, Position, Tree, Value, to_json, to_text};
use fathom_units::{Bytes, Span};
use proptest::prelude::*;

fn check(text: &str) {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("any.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    section.required::<Bytes>("size");
    section.list::<Span>("a");
    for (_, mut volume) in section.named_sections("b") {
        volume.or("size", 3_u32);
        let _ = volume.finish();
    }
    for mut job in section.sections("c") {
        job.optional_in("x", 0.5..2.0);
        let _ = job.finish();
    }
    let clean = section.finish();
    let list = diagnostics.list();
    assert_eq!(clean, list.is_empty());
    let lines = text.split('\n').count() as u32;
    for diagnostic in &list {
        let Position { line, column, length } = diagnostic.position;
        assert!((1..=lines.max(1)).contains(&line) && column >= 1 && length >= 1, "{diagnostic:?}");
        assert!(column as usize <= diagnostic.source.chars().count() + 2, "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
    assert_eq!(to_text(&diagnostics).is_empty(), list.is_empty());
    assert_eq!(to_json(&diagnostics).as_array().map(Vec::len), Some(list.len()));
}

/// Texts that are nearly TOML, so that the parser gets past its first character.
fn nearly_toml() -> impl Strategy<Value = String> {
    let key = "[a-c]|size|x|\"[ -~]{0,4}\"|[a-c]\\.[a-c]";
    let value = "-?[0-9_]{1,20}|\"[ -~]{0,8}\"|\"[0-9]{1,4}[KMG]?i?B?\"|true|nan|\\[[0-9, \"]{0,8}\\]|\\{ ?[a-c] = 1 ?\\}|[ -~]{0,4}";
    let line = prop_oneof![
        4 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => key.prop_map(|key| format!("[{key}]")),
        1 => key.prop_map(|key| format!("[[{key}]]")),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        check(&text);
    }

    #[test]
    fn text_that_is_nearly_toml_never_panics(text in nearly_toml()) {
        check(&text);
    }

    #[test]
    fn an_override_is_found_where_it_was_set_or_refused(text in nearly_toml(), path in "[a-cx0-2](\\.[a-cx0-2]){0,3}") {
        let mut tree = Tree::parse("any.toml", &text, &Diagnostics::new());
        let path = Path::parse(&path).expect("it is a path");
        let level = Value::new(Data::Integer(99), Position::START);
        if tree.set(&path, level.clone(), Position::START).is_ok() {
            prop_assert_eq!(tree.get(&path), Some(&level));
        }
    }

    #[test]
    fn json_and_back_says_the_same(text in nearly_toml()) {
        let tree = Tree::parse("any.toml", &text, &Diagnostics::new());
        if let Ok(back) = Value::from_json(&tree.root().to_json(), Position::START) {
            // A date has become a text.
            prop_assert_eq!(back.to_json(), tree.root().to_json());
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a bound on real time is what is tested")]
fn a_hostile_text_of_full_size_is_checked_in_seconds() {
    let mut text: String = (0..).map(|n| format!("key{n}=1\n")).take(90_000).collect();
    text.truncate(fathom_settings::LARGEST_TEXT);
    text.truncate(text.rfind('\n').expect("there are lines"));
    let start = std::time::Instant::now();
    check(&text);
    let deep = "[".repeat(100_000);
    check(&format!("a = {deep}"));
    let steps = "a.".repeat(200_000);
    check(&format!("{steps}a = 1"));
    check(&format!("[{steps}a]"));
    check(&format!("[[{steps}a]]"));
    check(&format!("x = {{ {steps}a = 1 }}"));
    let took = start.elapsed();
    assert!(took.as_secs() < 60, "{took:?}");
}
