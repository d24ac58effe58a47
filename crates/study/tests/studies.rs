//! Every study of the project is sound, and runs at tiny scale; a simulation twice with the same digest.

use std::path::{Path, PathBuf};

use fathom_catalogue::Catalogue;
use fathom_settings::to_text;
use fathom_stack::Clock;
use fathom_study::{Run, check, run, variants, wanted};
use fathom_workload::{Databases, Outcome};
use serde_json::Value;

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

#[test]
fn every_study_is_sound() {
    for (name, text) in studies() {
        let checked = check(&text, &name, None, &Catalogue::builtin());
        assert!(checked.diagnostics.is_empty(), "{}", to_text(&checked.diagnostics));
    }
}

/// The values of `[CLOCK]`, then `[quick]`, then the variant, as a plan puts them together.
fn overrides(study: &Value, clock: Clock, variant: &Value) -> Value {
    let tables = [study.get(clock.name()), study.get("quick"), Some(variant)];
    let pairs = tables.into_iter().flatten().filter_map(Value::as_object).flatten();
    let kept = pairs.filter(|(name, _)| !name.starts_with("compare."));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The clocks a study is written for: its own, and the other if it has settings for that.
fn clocks(study: &Value) -> Vec<Clock> {
    let own = if study["clock"] == "virtual" { Clock::Virtual } else { Clock::Real };
    let written = |clock: &Clock| *clock == own || study.get(clock.name()).is_some();
    [Clock::Virtual, Clock::Real].into_iter().filter(written).collect()
}

fn run_once(name: &str, text: &str, overrides: &Value, clock: Clock, catalogue: &Catalogue) -> Outcome {
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
    run(&run_of, catalogue, &mut ()).unwrap_or_else(|failure| panic!("{name} {overrides}: {failure}"))
}

#[test]
fn every_study_runs_at_tiny_scale_and_a_simulation_repeats_to_the_bit() {
    let catalogue = Catalogue::builtin();
    for (name, text) in studies() {
        let study = check(&text, &name, None, &catalogue).study_json;
        for clock in clocks(&study) {
            for variant in variants(&text, &name) {
                let overrides = overrides(&study, clock, &variant);
                let wanted = wanted(&text, &name, &overrides, clock, &catalogue).expect("it was checked");
                if wanted["databases"] != serde_json::json!({}) {
                    continue; // servers and mounts are provided from outside: tests/pipeline/test_studies.py
                }
                let first = run_once(&name, &text, &overrides, clock, &catalogue);
                assert!(first.metrics.values().any(Option::is_some), "{name} {variant} measured nothing");
                if clock == Clock::Virtual {
                    let second = run_once(&name, &text, &overrides, clock, &catalogue);
                    assert!(first.digest.is_some(), "{name} {variant} has no digest");
                    assert_eq!(first.digest, second.digest, "{name} {variant}");
                    assert_eq!(first.metrics, second.metrics, "{name} {variant}");
                }
            }
        }
    }
}
