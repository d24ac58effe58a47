//! Running one variant, and what a run that cannot be says.

use std::ops::ControlFlow;
use std::path::Path;

use fathom_catalogue::Catalogue;
use fathom_job::{Databases, Failure, Outcome, Progress, Reason};
use fathom_runtime::Clock;
use fathom_study::{CheckOptions, Run, check, run};
use serde_json::{Value, json};

const STUDY: &str = r#"
title = "How many users until the knee?"
clock = "virtual"

[volumes.ebs]
kind = "model"
model = "aws/gp3"
size = "1TiB"

[workload]
kind = "io"
volumes = ["ebs"]
size = "8KiB"
offsets = "random"
outstanding = 1
ramp = "1s"
duration = "5s"

[factors]
"workload.outstanding" = [1, 64]
disk = ["modest", "fast"]

[sets.disk]
modest = { "volumes.ebs.iops" = 3_000 }
fast = { "volumes.ebs.iops" = 16_000, "volumes.ebs.throughput" = "500MiB/s" }

[compare]
metric = "iops"
baseline = { disk = "modest" }
"#;

fn run_with(overrides: &Value, seed: u64) -> Result<Outcome, Failure> {
    run_by(STUDY, overrides, Clock::Virtual, seed, &mut ())
}

fn run_by(
    text: &str,
    overrides: &Value,
    clock: Clock,
    seed: u64,
    progress: &mut dyn Progress,
) -> Result<Outcome, Failure> {
    let scratch = Path::new("/nonexistent");
    let overrides = overrides.as_object().expect("it is an object");
    let run_of =
        Run { text, file: "s.toml", overrides, clock, seed, scratch, databases: &Databases::default() };
    run(&run_of, &Catalogue::builtin(), progress)
}

fn iops(outcome: &Outcome) -> f64 {
    outcome.metrics["iops"].expect("it was measured")
}

#[test]
fn a_variant_runs_with_its_levels_and_its_seed() {
    let of = |users: u64, disk: &str, seed| {
        run_with(&json!({ "workload.outstanding": users, "disk": disk }), seed).expect("it runs")
    };
    let (modest, fast) = (of(64, "modest", 1), of(64, "fast", 1));
    assert!((iops(&modest) / 3_000.0 - 1.0).abs() < 0.01, "{}", iops(&modest));
    assert!((iops(&fast) / 16_000.0 - 1.0).abs() < 0.01, "{}", iops(&fast));
    let nodes: Vec<&str> = fast.totals.iter().map(|total| total.node.as_str()).collect();
    assert!(nodes.contains(&"ebs") && nodes.contains(&"ebs.device"), "{nodes:?}");
    assert_eq!(fast.facts["volumes.ebs.device.late"], "0", "{:?}", fast.facts);
    assert_eq!(fast.digest, of(64, "fast", 1).digest);
    assert_ne!(fast.digest, of(64, "fast", 2).digest);
    assert!(iops(&of(1, "fast", 1)) < 2_000.0, "one user waits for each answer");
}

/// A gp3 of 3,000 IOPS by itself, below layers whose queues are empty, and where one request becomes several.
#[test]
fn waiting_counts_in_all_queues_of_a_stack_or_is_not_told() {
    let more = r#"
[volumes.machine]
kind = "throttle"
model = "aws/r6i.4xlarge"
backing = "ebs"
[volumes.sectors]
kind = "sector"
backing = "machine"
logical_sector = "4KiB"
[volumes.other]
kind = "model"
model = "aws/gp3"
size = "1TiB"
[volumes.both]
kind = "mirror"
legs = ["ebs", "other"]
"#;
    let text = STUDY.replace("[workload]", &format!("{more}\n[workload]"));
    let of = |volume: &str| {
        let overrides = json!({ "workload.outstanding": 32, "disk": "modest", "workload.volumes": [volume] });
        let outcome = run_by(&text, &overrides, Clock::Virtual, 1, &mut ()).expect("it runs");
        (outcome.metrics["waiting_ms"], outcome.metrics["latency_ms"].expect("it was measured"))
    };
    let (waiting, latency) = of("ebs");
    let (waiting, service) = (waiting.expect("it is counted"), latency - waiting.unwrap_or(0.0));
    assert!(waiting > 8.0 && (0.5..1.5).contains(&service), "{waiting} of {latency} ms");
    for stacked in ["machine", "sectors"] {
        let (all, of_stack) = of(stacked);
        let all = all.expect("each request is one below");
        assert!(
            (all / waiting - 1.0).abs() < 0.01 && (of_stack / latency - 1.0).abs() < 0.01,
            "{stacked}: {all} ms"
        );
    }
    assert_eq!(of("both").0, None, "reads of two legs wait side by side");
}

/// The message of a run that the settings rule out.
fn refused(text: &str, overrides: &Value, clock: Clock) -> String {
    let failure = run_by(text, overrides, clock, 1, &mut ()).expect_err("it cannot run");
    assert_eq!(failure.reason, Reason::Settings, "{failure}");
    failure.message
}

#[test]
fn a_run_with_wrong_settings_shows_their_line() {
    let message = refused(STUDY, &json!({ "workload.outstandig": 2 }), Clock::Virtual);
    assert!(
        message.contains("workload.outstandig: unknown key")
            && message.contains("did you mean `outstanding`"),
        "{message}"
    );
    let message = refused(STUDY, &json!({ "disk": "faster" }), Clock::Virtual);
    assert!(message.contains("\"faster\" is no level of the set `disk`"), "{message}");
    let message = refused(STUDY, &json!({ "workload.outstanding": null }), Clock::Virtual);
    assert!(message.contains("--> s.toml:15:15") && message.contains("null is no value"), "{message}");
    let message = refused(STUDY, &json!({ "title": "x" }), Clock::Virtual);
    assert!(message.contains("there is no set `title`"), "{message}");
    let message = refused(&STUDY.replace("\"1TiB\"", "\"-1TiB\""), &json!({}), Clock::Virtual);
    assert!(message.contains("8 | size = \"-1TiB\"") && message.contains("negative"), "{message}");
}

#[test]
fn a_wrong_level_is_reported_where_it_is_written() {
    let text = STUDY.replace("16_000", "1_000_000");
    let found = check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).diagnostics;
    let lines: Vec<u32> = found.list().iter().map(|diagnostic| diagnostic.position.line).collect();
    assert_eq!(lines, [25], "{:#?}", found.list());
}

#[test]
fn workload_and_volumes_must_fit_each_other() {
    let text = STUDY.replace("size = \"8KiB\"", "size = \"8KiB\"\nstart = \"2TiB\"");
    let found = check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
    assert!(
        found.study.is_none() && !found.diagnostics.is_empty(),
        "it would begin behind the end of the volume"
    );
    let text = STUDY.replace("volumes = [\"ebs\"]", "volumes = [\"eps\"]");
    let message = refused(&text, &json!({}), Clock::Virtual);
    assert!(message.contains("--> s.toml:12:12") && message.contains("did you mean `ebs`"), "{message}");
}

#[test]
fn a_person_may_stop_a_run() {
    struct Stop;
    impl Progress for Stop {
        fn tick(&mut self, _: f64, _: &str) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let long = json!({ "workload.duration": "1000000s", "workload.outstanding": 64 });
    let failure = run_by(STUDY, &long, Clock::Virtual, 1, &mut Stop).expect_err("it was stopped");
    assert_eq!(failure.reason, Reason::Cancelled);
}

const ON_A_FILE: &str = r#"
title = "What does this disk do?"

[volumes.file]
kind = "file"
path = "disk.img"
size = "8MiB"

[volumes.disk]
kind = "sector"
backing = "file"
logical_sector = "4KiB"

[workload]
kind = "io"
volumes = ["disk"]
size = "4KiB"
read = "50%"
requests = 500
verify = true
"#;

#[test]
fn a_real_run_keeps_to_its_scratch_directory() {
    let scratch = std::env::temp_dir().join(format!("fathom-running-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("there is a place for temporary files");
    let run_of = Run {
        text: ON_A_FILE,
        file: "s.toml",
        overrides: &serde_json::Map::new(),
        clock: Clock::Real,
        seed: 1,
        scratch: &scratch,
        databases: &Databases::default(),
    };
    let outcome = run(&run_of, &Catalogue::builtin(), &mut ());
    let found: Vec<_> = std::fs::read_dir(&scratch)
        .expect("it is there")
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect();
    std::fs::remove_dir_all(&scratch).expect("it can be removed");
    let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(found, ["disk.img"]);
    assert!(outcome.facts.contains_key("volumes.file.direct_io"), "{:?}", outcome.facts);
    assert!(outcome.digest.is_none() && iops(&outcome) > 0.0);
}

#[test]
fn a_run_whose_path_is_not_there_says_which_line_names_it() {
    let text = ON_A_FILE.replace("disk.img", "no/such/place/disk.img");
    let failure = run_by(&text, &json!({}), Clock::Real, 1, &mut ()).expect_err("there is no such place");
    assert_eq!(failure.reason, Reason::Settings, "{failure}");
    assert!(failure.message.starts_with("s.toml:6:8: volumes.file.path: "), "{failure}");
    let message = refused(ON_A_FILE, &json!({}), Clock::Virtual);
    assert!(message.contains("--> s.toml:5:8") && message.contains("reaches outside"), "{message}");
}
