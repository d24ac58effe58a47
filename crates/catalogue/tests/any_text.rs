//! No text of a model makes the catalogue panic: it is refused with its line, or every question has an answer.
//! `fuzz/` looks further with the same body.

use std::path::{Path, PathBuf};

use fathom_catalogue::{Catalogue, Overrides};
use fathom_units::{Bytes, Iops, Rate};
use proptest::prelude::*;

/// Reads a text as a model and asks all there is to ask.
fn ask_everything(text: &str) {
    let catalogue = match Catalogue::default().with_text("any.toml", text) {
        Ok(catalogue) => catalogue,
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains("any.toml:") && told.contains("\n  "), "no place or no help: {told}");
            return;
        }
    };
    let bought =
        Overrides { iops: Iops::new(5000.0), throughput: Some(Rate::mib(250)), ..Overrides::default() };
    for entry in catalogue.list() {
        let name = entry.name.as_str();
        let explained = catalogue.explain(name);
        assert!(explained.is_ok(), "{name} is listed and cannot be explained");
        for size in [None, Some(Bytes::new(1)), Some(Bytes::tib(1)), Some(Bytes::new(u64::MAX))] {
            let _ = catalogue.resolve(name, size, &Overrides::default());
            let _ = catalogue.resolve(name, size, &bought);
        }
        let _ = catalogue.instance(name);
        let _ = catalogue.adapter(name);
    }
}

/// The project's own models.
fn models() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("models")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the models are there").filter_map(Result::ok) {
            if entry.path().is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    let texts: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).expect("it can be read")).collect();
    assert!(texts.len() > 10);
    texts
}

/// A line of a model with another value.
fn change() -> impl Strategy<Value = (usize, &'static str)> {
    let values = [
        "0",
        "-1",
        "1e308",
        "nan",
        "\"\"",
        "\"0B\"",
        "\"16EiB\"",
        "\"0s\"",
        "[]",
        "{}",
        "true",
        "\"guide\"",
        "{ value = 0, source = \"guide\" }",
        "{ value = \"1ns\", source = \"guide\" }",
        "9_223_372_036_854_775_807",
    ];
    (any::<usize>(), prop::sample::select(values.to_vec()))
}

fn changed(text: &str, at: usize, value: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let set: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].contains(" = ")).collect();
    let line = set[at % set.len()];
    let key = lines[line].split(" = ").next().unwrap_or("").to_owned();
    // Inside a figure the value is what matters, not the table around it.
    let within = lines[line].find("{ value = ").zip(lines[line].find(", source"));
    lines[line] = match within {
        Some((start, end)) if at.is_multiple_of(2) => {
            format!("{}{{ value = {value}{}", &lines[line][..start], &lines[line][end..])
        }
        _ => format!("{key} = {value}"),
    };
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_refused_with_its_place(text in "(?s).{0,200}") {
        ask_everything(&text);
    }

    #[test]
    fn models_with_other_values_are_refused_or_answer(which: usize, changes in prop::collection::vec(change(), 1..4)) {
        let models = models();
        let text = models[which % models.len()].clone();
        ask_everything(&changes.iter().fold(text, |text, (at, value)| changed(&text, *at, value)));
    }
}

#[test]
fn the_projects_own_models_answer() {
    models().iter().for_each(|text| ask_everything(text));
}
