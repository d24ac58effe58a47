//! Every study of the project is sound, and runs at tiny scale; a simulation twice with the same digest.

use std::path::{Path, PathBuf};

use fathom_catalogue::Catalogue;
use fathom_job::{Databases, Outcome};
use fathom_runtime::Clock;
use fathom_settings::to_text;
use fathom_study::{CheckOptions, Run, check, run};
use serde_json::{Map, Value, json};

/// A directory that is gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fathom-study-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is a place for temporary files");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Name and text of each study.
fn studies() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let files = std::fs::read_dir(folder).expect("the studies are there").filter_map(Result::ok);
    let files =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|kind| kind == "toml"));
    let mut studies: Vec<(String, String)> = files
        .map(|path| {
            let name =
                path.file_name().and_then(|name| name.to_str()).expect("a name of plain letters").to_owned();
            (name, std::fs::read_to_string(&path).expect("it can be read"))
        })
        .collect();
    studies.sort();
    assert!(!studies.is_empty());
    studies
}

fn ask(clock: Option<Clock>, quick: bool) -> CheckOptions {
    CheckOptions { clock, quick, ..CheckOptions::default() }
}

#[test]
fn every_study_is_sound() {
    for (name, text) in studies() {
        let checked = check(&text, &name, &CheckOptions::default(), &Catalogue::builtin());
        assert!(checked.diagnostics.is_empty(), "{}", to_text(&checked.diagnostics));
    }
}

/// The clocks a study is written for: its own, and the other if it has settings for that.
fn clocks(study: &Value, text: &str) -> Vec<Clock> {
    let own = if study["clock"] == "virtual" { Clock::Virtual } else { Clock::Real };
    let written = |clock: &Clock| *clock == own || text.contains(&format!("\n[{}]\n", clock.name()));
    [Clock::Virtual, Clock::Real].into_iter().filter(written).collect()
}

fn run_once(
    name: &str,
    text: &str,
    overrides: &Map<String, Value>,
    clock: Clock,
    catalogue: &Catalogue,
) -> Outcome {
    let scratch = Scratch::new(&format!("{name}-{}", clock.name()));
    let run_of = Run {
        text,
        file: name,
        overrides,
        clock,
        seed: 7,
        scratch: &scratch.0,
        databases: &Databases::default(),
    };
    run(&run_of, catalogue, &mut ()).unwrap_or_else(|failure| panic!("{name} {overrides:?}: {failure}"))
}

/// What a run of a variant replaces: what holds for all, then its levels.
fn overrides(study: &Value, variant: &Value) -> Map<String, Value> {
    let both = [&study["overrides"], &variant["levels"]];
    both.into_iter()
        .filter_map(Value::as_object)
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[test]
fn every_study_runs_at_tiny_scale_and_a_simulation_repeats_to_the_bit() {
    let catalogue = Catalogue::builtin();
    for (name, text) in studies() {
        let written = check(&text, &name, &CheckOptions::default(), &catalogue).study.expect("it is sound");
        for clock in clocks(&written, &text) {
            let quick = text.contains("\n[quick]\n");
            let study = check(&text, &name, &ask(Some(clock), quick), &catalogue).study.expect("it is sound");
            for variant in study["variants"].as_array().expect("a list") {
                if variant["wants"]["databases"] != json!({}) {
                    continue; // servers and mounts are provided from outside: tests/pipeline/test_studies.py
                }
                let overrides = overrides(&study, variant);
                let first = run_once(&name, &text, &overrides, clock, &catalogue);
                assert!(first.metrics.values().any(Option::is_some), "{name} {overrides:?} measured nothing");
                if clock == Clock::Virtual {
                    let second = run_once(&name, &text, &overrides, clock, &catalogue);
                    assert!(first.digest.is_some(), "{name} {overrides:?} has no digest");
                    assert_eq!(first.digest, second.digest, "{name} {overrides:?}");
                    assert_eq!(first.metrics, second.metrics, "{name} {overrides:?}");
                }
            }
        }
    }
}
