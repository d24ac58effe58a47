//! What a file must say, what is refused and how, and that no text makes the parser panic.

use proptest::prelude::*;

use super::*;
use crate::embedded::FILES;
use crate::error::FileError;

fn file(path: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == path).unwrap().1
}

fn refusal(text: &str) -> FileError {
    match Model::parse("my.toml", text) {
        Err(CatalogueError::File(error)) => *error,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// The text of gp3 with one part replaced; the part must be there exactly as written.
fn gp3_with(part: &str, by: &str) -> String {
    let text = file("aws/gp3.toml");
    assert!(text.contains(part), "{part} is not in the file");
    text.replacen(part, by, 1)
}

#[test]
fn every_built_in_file_is_a_model_named_like_its_path() {
    for (path, text) in FILES {
        let model = Model::parse(path, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(format!("{}.toml", model.name()), *path);
        assert!(!model.header.title.is_empty() && !model.header.summary.is_empty(), "{path}");
    }
}

#[test]
fn every_figure_of_every_file_is_listed_with_its_source_and_every_source_is_used() {
    for (path, text) in FILES {
        let model = Model::parse(path, text).unwrap();
        let mut lines = Vec::new();
        model.body.figures("", &mut lines);
        // A figure that a struct forgot to list would keep its source unchecked: compare with the bare text.
        let written = text.lines().filter(|line| line.contains("source = \"")).count();
        assert_eq!(lines.len(), written, "{path}");
        for source in &model.sources {
            let id = source.id.get_ref();
            assert!(lines.iter().any(|line| line.source.get_ref() == id), "{path}: source {id} is not used");
        }
    }
}

#[test]
fn no_number_stands_in_a_built_in_file_without_a_source() {
    fn visit(path: &str, key: &str, value: &toml::Value, covered: bool) {
        match value {
            toml::Value::Table(table) => {
                let covered = covered || table.contains_key("source");
                table.iter().for_each(|(name, value)| visit(path, &format!("{key}.{name}"), value, covered));
            }
            toml::Value::Array(items) => items.iter().for_each(|item| visit(path, key, item, covered)),
            toml::Value::String(text) => {
                // Numbers hide in text: "16TiB". The prose of the file is the header and shared_with.
                let number = text.starts_with(|c: char| c.is_ascii_digit());
                assert!(covered || !number, "{path}: {key} = {text} has no source");
            }
            _ => assert!(covered, "{path}: {key} has no source"),
        }
    }
    for (path, text) in FILES {
        let mut table: toml::Table = text.parse().unwrap();
        table.remove("model");
        table.remove("sources");
        table.iter().for_each(|(key, value)| visit(path, key, value, false));
    }
}

#[test]
fn a_figure_without_a_source_is_refused_where_it_stands() {
    let error = refusal(&gp3_with("base = { value = 3000, source = \"guide\" }", "base = { value = 3000 }"));
    assert_eq!(error.key, "volume.iops.granted[0].base");
    assert!(error.remedy.contains("every figure says where it is from"), "{error}");
    assert_eq!(error.text, "base = { value = 3000 }");
    assert!(error.to_string().starts_with(&format!("my.toml:{}:{}: volume.iops", error.line, error.column)));
}

#[test]
fn a_source_must_exist_be_complete_and_be_named_once() {
    let error = refusal(&gp3_with("value = 3000, source = \"guide\"", "value = 3000, source = \"giude\""));
    assert_eq!(error.message, "there is no source \"giude\"");
    assert!(error.remedy.contains("guide, api"), "{error}");

    let error = refusal(&gp3_with("date = \"2023-06\"", "date = \"last summer\""));
    assert!(error.remedy.contains("date = \"2026-11\""), "{error}");

    let reason = file("aws/gp3.toml").lines().find(|line| line.starts_with("reason")).unwrap();
    assert!(refusal(&gp3_with(reason, "")).remedy.contains("made-up figure"));

    assert!(refusal(&gp3_with("id = \"api\"", "id = \"guide\"")).message.contains("is listed twice"));
}

#[test]
fn keys_and_values_that_are_wrong_are_named_with_a_suggestion() {
    let error = refusal(&gp3_with("[volume.accounting]", "[volume.acounting]"));
    assert!(error.remedy.contains("did you mean accounting?"), "{error}");
    assert_eq!(error.key, "volume.acounting");

    let error = refusal(&gp3_with("value = \"256KiB\"", "value = \"256K\""));
    assert_eq!(error.key, "volume.accounting.quantum.value");
    assert!(error.message.contains("say which kind, binary"), "{error}");

    let error = refusal(&gp3_with("name = \"aws/gp3\"", "name = \"AWS gp3\""));
    assert!(error.remedy.contains("vendor/name"), "{error}");

    let error = refusal("[model]\nname = \"a/b\"\ntitle = \"t\"\nsummary = \"s\"\n");
    assert!(error.remedy.contains("exactly one of [volume]"), "{error}");
}

#[test]
fn a_burst_has_one_kind_of_bucket_and_one_kind_of_peak() {
    let bucket = "bucket_per_gib = { value = 1024, source = \"guide\"";
    let rows = "[[volume.iops.burst.peaks]]";
    let peak = format!("peak = {{ value = 500, source = \"guide\" }}\n{rows}");
    let both = format!("bucket = {{ value = 5, source = \"guide\" }}\n{bucket}");
    for (part, by, message) in [
        (bucket, both.as_str(), "one of bucket, bucket_per_gib and duration"),
        (rows, peak.as_str(), "either one peak or rows of peaks"),
        ("per_gib = { value = 0.244140625", "per_iops = { value = 1", "can not follow from themselves"),
    ] {
        let text = file("aws/st1.toml");
        assert!(text.contains(part), "{part} is not in the file");
        let error = refusal(&text.replacen(part, by, 1));
        assert_eq!((error.key.as_str(), error.message.contains(message)), ("volume.iops", true), "{error}");
    }
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    let max =
        file("aws/gp3.toml").lines().find(|line| line.starts_with("max = { value = \"64TiB\"")).unwrap();
    for (part, by, key, message) in [
        (max, "max = { value = \"1MiB\", source = \"api\" }", "volume.size", "min is above max"),
        ("\"256KiB\"", "\"0B\"", "volume.accounting.quantum", "units of nothing"),
        ("value = 80_000", "value = 80", "volume.iops", "min is above max"),
        ("per_gib = {", "per_iops = {", "volume.iops", "can not follow from themselves"),
        ("per_gib = {", "iops_up_to = {", "volume.iops", "the last row must apply"),
        ("sigma = 0.4", "sigma = -1.0", "volume.service.distribution", "sigma must be"),
        ("value = 1024", "value = 0", "volume.service.servers", "at least one server"),
        ("[volume]\n", "[volume]\ntiers_by = \"size\"\n", "volume.tiers", "belong together"),
        (
            "logical_sector = { value = \"512B\"",
            "logical_sector = { value = \"500B\"",
            "volume.geometry",
            "power of two",
        ),
    ] {
        let error = refusal(&gp3_with(part, by));
        assert!(error.key.starts_with(key), "{error}");
        assert!(error.message.contains(message), "{error}");
        assert!(error.line > 1, "{error}");
    }
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let error = refusal("[model]\nname = \"a/b\\u001b[31m\"\ntitle = \"t\"\nsummary = \"s\"\n[x\u{1b}");
    assert!(!error.to_string().replace('\n', "").chars().any(char::is_control), "{error:?}");
}

/// Changes to a text that leave it nearly a catalogue file.
#[derive(Debug, Clone)]
enum Change {
    Delete(usize),
    Insert(usize, String),
    SwapLines(usize, usize),
    Double(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let bits = "[]{}=\",.#\n-_ 0179eExXtTµ\u{0}é";
    let text = prop_oneof![
        proptest::sample::select(bits.chars().collect::<Vec<_>>()).prop_map(String::from),
        proptest::sample::select(vec![
            "9999999999999999999",
            "-1",
            "nan",
            "inf",
            "\"1e400MiB/s\"",
            "true",
            "{}",
            "[]"
        ])
        .prop_map(str::to_owned),
    ];
    prop_oneof![
        any::<usize>().prop_map(Change::Delete),
        (any::<usize>(), text).prop_map(|(at, text)| Change::Insert(at, text)),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        any::<usize>().prop_map(Change::Double),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text = text.to_owned();
    for change in changes {
        let mut lines: Vec<&str> = text.lines().collect();
        let count = lines.len().max(1);
        let at =
            |n: usize| text.char_indices().map(|(i, _)| i).nth(n % text.chars().count().max(1)).unwrap_or(0);
        text = match change {
            Change::Delete(n) if !text.is_empty() => {
                let mut shorter = text.clone();
                shorter.remove(at(*n));
                shorter
            }
            Change::Insert(n, part) => format!("{}{part}{}", &text[..at(*n)], &text[at(*n)..]),
            Change::SwapLines(a, b) if !lines.is_empty() => {
                lines.swap(a % count, b % count);
                lines.join("\n")
            }
            Change::Double(n) if !lines.is_empty() => {
                lines.insert(n % count, lines[n % count]);
                lines.join("\n")
            }
            _ => text.clone(),
        };
    }
    text
}

/// Reads the text; if it is a model, asks it everything.
fn parse_and_use(text: &str) {
    match Model::parse("my.toml", text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(model) => {
            let name = model.name().to_owned();
            let catalogue = crate::Catalogue::of(model);
            assert!(catalogue.explain(&name).is_ok());
            for entry in catalogue.list() {
                let size = Some(fathom_units::Bytes::gib(100));
                let resolved = catalogue.resolve(&entry.name, size, &crate::Overrides::default());
                if let Ok(resolved) = resolved {
                    assert!(resolved.service.servers > 0 && resolved.limits.iops.is_none_or(f64::is_finite));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        parse_and_use(&text);
    }

    #[test]
    fn no_text_that_looks_like_toml_panics(text in "(\\[{1,2}[a-z.]{0,12}\\]{1,2}\n|[a-z]{1,8} ?= ?[-\"{}\\[\\]0-9a-zA-Z_., =]{0,24}\n){0,12}") {
        parse_and_use(&text);
    }

    #[test]
    fn no_change_to_a_catalogue_file_panics(
        which in 0..FILES.len(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        parse_and_use(&changed(FILES[which].1, &changes));
    }
}

#[test]
fn a_deeply_nested_text_is_refused() {
    let text = format!("a = {}{}", "[".repeat(20_000), "]".repeat(20_000));
    assert!(Model::parse("my.toml", &text).is_err());
}
