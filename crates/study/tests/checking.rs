//! What a check says about a study as a whole.

use fathom_catalogue::Catalogue;

use fathom_study::{CheckOptions, check};
use serde_json::{Map, Value, json};

/// Every mistake on a line of its own.
fn mistakes(text: &str) -> Vec<String> {
    let checked = check(text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
    checked.diagnostics.list().iter().map(ToString::to_string).collect()
}

const SOUND: &str = r#"
title    = "One transaction per row, or one for all?"
question = "Why does the nightly import take so long?"
clock    = "real"
seed     = 7

[workload]
kind = "insert"
rows = 10_000

[factors]
"workload.transaction" = ["per-row", "whole-batch"]
journal = ["wal", "rollback"]

[sets.journal]
wal = { "workload.journal" = "wal", "workload.synchronous" = "full" }
rollback = { "workload.journal" = "delete" }

[labels."workload.transaction"]
per-row = "one per row"

[compare]
metric = "rows_per_second"
baseline = { "workload.transaction" = "per-row" }
equivalent_within = "2%"
rounds = 5
max_rounds = 20
looks = [5, 10, 20]

[scale]
real = "10,000 rows instead of a million"

[quick]
"workload.rows" = 100
"compare.rounds" = 2

[published]
source = "A paper, 2020"
normalise = "best"

[[published.cells]]
name = "one per row"
where = { "workload.transaction" = "per-row", journal = "wal" }
metric = "elapsed_s"
value = 680
unit = "s"
calibrated = true

[[published.table]]
where = "line 1"
iops = 206_778
latency_ms = 1.25

[[calibration]]
parameter = "workload.rows"
value = 10_000
fitted_to = "one per row"
reason = "an example"
"#;

#[test]
fn a_sound_study_has_no_mistakes_and_names_its_variants() {
    assert_eq!(mistakes(SOUND), [""; 0]);
    let study =
        check(SOUND, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    let variants = study["variants"].as_array().expect("a list");
    let found: Vec<String> = variants.iter().map(|variant| variant["levels"].to_string()).collect();
    assert_eq!(
        found,
        [
            r#"{"workload.transaction":"per-row","journal":"wal"}"#,
            r#"{"workload.transaction":"per-row","journal":"rollback"}"#,
            r#"{"workload.transaction":"whole-batch","journal":"wal"}"#,
            r#"{"workload.transaction":"whole-batch","journal":"rollback"}"#,
        ]
    );
}

/// A volume with a mistake leaves the job unread; what is observed of databases was then called unknown as well.
#[test]
fn a_mistake_elsewhere_leaves_the_metric_alone() {
    let sound = include_str!("../../../studies/allocation-unit-remote.toml");
    let found = mistakes(&sound.replacen("\"100GiB\"", "\"8GiB\"", 1));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("the vendor offers no volume of 8GiB"), "{found:?}");
}

#[test]
fn a_factor_that_another_database_has_is_refused_where_it_is_written() {
    let study = |database: &str, key: &str, levels: &str| {
        mistakes(&format!(
            "title = \"Commits\"\nclock = \"real\"\n[workload]\nkind = \"insert\"\ndatabase = \"{database}\"\n\
             [factors]\n\"workload.{key}\" = {levels}\n"
        ))
    };
    let found = study("postgresql", "synchronous", "[\"full\", \"off\"]");
    assert_eq!(found.len(), 1, "{found:?}");
    for words in ["s.toml:7:1", "means nothing to postgresql", "vary `workload.synchronous_commit`"] {
        assert!(found[0].contains(words), "{words} in {found:?}");
    }
    assert!(study("sqlite", "innodb_flush_log_at_trx_commit", "[1, 2]")[0].contains("of mariadb and mysql"));
    assert_eq!(study("sqlite", "synchronous", "[\"full\", \"off\"]"), [""; 0]);
    assert_eq!(study("postgresql", "synchronous_commit", "[\"on\", \"off\"]"), [""; 0]);
}

#[test]
fn the_resolved_study_has_every_default_and_every_number() {
    let resolved =
        |ask: &CheckOptions| check(SOUND, "s.toml", ask, &Catalogue::builtin()).study.expect("it is sound");
    let study = resolved(&CheckOptions::default());
    assert_eq!(study["seed"], 7);
    assert_eq!(
        (&study["rounds"], &study["scale"]),
        (&json!(5), &json!(["10,000 rows instead of a million"]))
    );
    let compare = &study["compare"];
    assert_eq!((&compare["margin"], &compare["guard_margin"]), (&json!(0.02), &json!(0.1)));
    assert_eq!(compare["choice"], json!(true));
    assert_eq!((&compare["looks"], &compare["guards"]), (&json!([5, 10, 20]), &Value::Null));
    assert_eq!(compare["baseline"], json!({ "workload.transaction": "per-row" }));
    assert_eq!(study["labels"], json!({ "workload.transaction": { "per-row": "one per row" } }));
    let cell = &study["published"]["cells"][0];
    assert_eq!((&cell["source"], &cell["value"]), (&json!("A paper, 2020"), &json!(680.0)));
    assert_eq!(
        study["calibrated_on"],
        json!(["workload.rows = 10000 was fitted to one per row: an example"])
    );
    let set = json!({ "workload.journal": "wal", "workload.synchronous": "full" });
    assert_eq!(study["assigns"]["journal"][0], set);
    assert_eq!(study["assigns"]["workload.transaction"][1], json!({ "workload.transaction": "whole-batch" }));
    let variant = &study["variants"][1];
    assert_eq!(variant["settings"]["workload"]["journal"], "delete");
    assert_eq!(
        (&variant["lasts_ns"], &variant["demand"]),
        (&Value::Null, &json!({ "users": 1, "pauses": false }))
    );
    let requests = |rows: &str, size: Value| json!({ "": { "words": format!("a transaction of {rows}"), "unit": "rows", "size": size } });
    assert_eq!(study["variants"][1]["requests"], requests("1 row", json!(1.0)));
    assert_eq!(study["variants"][2]["requests"], requests("all rows", Value::Null));

    let quick = resolved(&CheckOptions { quick: true, ..CheckOptions::default() });
    assert_eq!((&quick["rounds"], &quick["compare"]["rounds"]), (&json!(2), &json!(2)));
    assert_eq!(quick["overrides"], json!({ "workload.rows": 100 }));
    assert_eq!(quick["variants"][0]["settings"]["workload"]["rows"], 100);
    let fixed = Map::from_iter([("workload.rows".to_owned(), json!(3))]);
    let fixed = resolved(&CheckOptions { quick: true, fixed, ..CheckOptions::default() });
    assert_eq!(fixed["workload"]["rows"], 3);
}

#[test]
fn a_single_override_stands_over_a_set() {
    let text = SOUND.replace("[quick]", "[real]\n\"workload.rows\" = 100\n[quick]\nscale = \"small\"");
    let text = text.replace("\"workload.rows\" = 100\n\"compare", "\"compare");
    let text = format!("{text}[sets.scale.small]\n\"workload.rows\" = 7\n\"workload.page_size\" = 512\n");
    let ask = CheckOptions { quick: true, ..CheckOptions::default() };
    let found = check(&text, "s.toml", &ask, &Catalogue::builtin());
    let workload = found.study.expect("it is sound")["variants"][0]["settings"]["workload"].clone();
    assert_eq!((&workload["rows"], &workload["page_size"]), (&json!(100), &json!(512)));
}

/// A factor that a workload takes no notice of would find its levels equal.
#[test]
fn a_workload_on_volumes_has_no_database() {
    for (workload, reads) in [("io", "volumes = [\"disk\"]"), ("insert-model", "volume = \"disk\"")] {
        for database in ["\"sqlite\"", "\"nobody\"", "[\"postgresql\", \"sqlite\"]"] {
            let found = mistakes(&format!(
                "title = \"t\"\nclock = \"virtual\"\n[volumes.disk]\nkind = \"memory\"\nsize = \"1GiB\"\n\
                 [workload]\nkind = \"{workload}\"\n{reads}\ndatabase = {database}\n"
            ));
            assert!(found.len() == 1 && found[0].contains("workload.database: unknown key"), "{found:?}");
            assert!(!found[0].contains("keys: kind, database"), "{found:?}");
        }
    }
}

#[test]
fn a_database_without_a_server_of_its_own_needs_a_table() {
    let study = |name: &str| {
        format!("title = \"t\"\nclock = \"real\"\n[workload]\nkind = \"tproc-c\"\ndatabase = \"{name}\"\n")
    };
    let found = mistakes(&study("mysql"));
    let told =
        "there is no table [databases.mysql]; add [databases.mysql] with kind = \"mysql\" and `connect`";
    assert!(found.len() == 1 && found[0].contains(told), "{found:?}");
    let found = mistakes(&study("mysq"));
    assert!(found.len() == 1 && !found[0].contains("mysql"), "{found:?}");
}

const LOADS: &str = r#"
title = "What asks how much?"
clock = "virtual"
[volumes.disk]
kind = "memory"
size = "1GiB"
[workload]
kind = "io"
volumes = ["disk"]
[factors]
"workload.outstanding" = [1, 2]
"workload.size" = ["4KiB", "8KiB"]
how = ["closed", "pausing", "open"]
[sets.how]
closed = { "workload.workers" = 3 }
pausing = { "workload.workers" = 2, "workload.think" = "1ms" }
open = { "workload.rate" = 100 }
"#;

#[test]
fn a_variant_states_what_it_asks_for() {
    let study =
        check(LOADS, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    let expected = json!({ "workload.outstanding": "users", "workload.size": "work", "how": "work" });
    assert_eq!(study["loads"], expected);
    let demands: Vec<&Value> = (0..3).map(|index| &study["variants"][index]["demand"]).collect();
    let closed = |users, pauses: bool| json!({ "users": users, "pauses": pauses });
    assert_eq!(demands, [&closed(3, false), &closed(2, true), &json!({ "rate": 100.0 })]);
    assert_eq!(study["variants"][0]["lasts_ns"], 30_000_000_000_u64);
    let rates = LOADS.replace(", \"workload.think\" = \"1ms\"", "");
    let study =
        check(&rates, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    assert_eq!(study["loads"]["how"], "rate");
    let volumes =
        LOADS.replace("\"workload.size\" = [\"4KiB\", \"8KiB\"]", "\"workload.volumes.0\" = [\"disk\"]");
    let study = check(&volumes, "s.toml", &CheckOptions::default(), &Catalogue::builtin())
        .study
        .expect("it is sound");
    assert_eq!(study["loads"]["workload.volumes.0"], Value::Null, "which volume is used is no load");
    let (head, _) = LOADS.split_once("[factors]").expect("it has factors");
    let phases = format!("{head}phases = [{{ name = \"a\", duration = \"1s\", outstanding = 5 }}]\n");
    let study =
        check(&phases, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    let variant = &study["variants"][0];
    assert_eq!((&variant["demand"], &variant["lasts_ns"]), (&Value::Null, &json!(1_000_000_000)));
    assert_eq!(variant["phases"], json!([{ "name": "a", "demand": { "users": 5, "pauses": false } }]));
}

#[test]
fn tiny_scale_may_leave_levels_out() {
    let with = |line: &str| SOUND.replace("[quick]", &format!("[quick]\n{line}"));
    let ask = CheckOptions { quick: true, ..CheckOptions::default() };
    let text = with("journal = [\"wal\"]");
    let study = check(&text, "s.toml", &ask, &Catalogue::builtin()).study.expect("it is sound");
    assert_eq!(study["variants"].as_array().map(Vec::len), Some(2));
    assert_eq!(study["factors"]["journal"], json!(["wal"]));
    assert_eq!(study["assigns"]["journal"].as_array().map(Vec::len), Some(1));
    let full =
        check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    assert_eq!(full["variants"].as_array().map(Vec::len), Some(4), "only at tiny scale");
    for (line, wrong) in [
        ("journal = [\"memory\"]", "\"memory\" is no level of the factor `journal`"),
        ("journal = []", "no level of this factor is left"),
        ("\"workload.transaction\" = [\"whole-batch\"]", "the level of the baseline is left out"),
    ] {
        let found = mistakes(&with(line));
        assert!(found.len() == 1 && found[0].contains(wrong), "{line}: {found:?}");
    }
}

#[test]
fn a_variant_states_what_a_request_is() {
    let text = LOADS.replace("closed = {", "closed = { \"workload.read\" = \"70%\",");
    let study =
        check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    let bytes = |words: &str, size: f64| json!({ "words": words, "unit": "bytes", "size": size });
    let mixed = json!({
        "": bytes("one of 70 % reads of 4 KiB and 30 % writes of 4 KiB", 4096.0),
        "read": bytes("a read of 4 KiB", 4096.0),
        "write": bytes("a write of 4 KiB", 4096.0),
    });
    assert_eq!(study["variants"][0]["requests"], mixed);
    let only = bytes("a read of 8 KiB", 8192.0);
    let found: Vec<&Value> = (0..12).map(|index| &study["variants"][index]["requests"]).collect();
    assert!(found.contains(&&json!({ "": only, "read": only })), "{found:?}");
    let (head, _) = LOADS.split_once("[factors]").expect("it has factors");
    let phases = format!("{head}phases = [{{ name = \"a\", duration = \"1s\", read = \"0%\" }}]\n");
    let study =
        check(&phases, "s.toml", &CheckOptions::default(), &Catalogue::builtin()).study.expect("it is sound");
    let write = bytes("a write of 4 KiB", 4096.0);
    assert_eq!(study["variants"][0]["requests"], json!({ "a": write, "a_write": write }));
}

#[test]
fn tiny_scale_that_the_study_does_not_know_is_refused() {
    let ask = CheckOptions { quick: true, ..CheckOptions::default() };
    let found = check(LOADS, "s.toml", &ask, &Catalogue::builtin());
    assert!(found.study.is_none());
    assert!(found.diagnostics.list()[0].message.contains("tiny scale"), "{:?}", found.diagnostics.list());
}

#[test]
fn ratios_may_be_averaged_over_a_factor_that_is_not_compared() {
    assert_eq!(changed("looks = [5, 10, 20]", "mean_over = [\"journal\"]"), [""; 0]);
}

/// The sound study with one piece of text replaced, and what is said about it.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert_eq!(SOUND.matches(from).count(), 1, "{from} stands once in the study");
    mistakes(&SOUND.replace(from, to))
}

#[test]
fn each_mistake_is_found_once_at_its_own_line() {
    let cases = [
        ("question =", "qestion =", "s.toml:3:1: qestion: unknown key; did you mean `question`?"),
        (
            "clock    = \"real\"",
            "clock = \"realtime\"",
            "s.toml:4:9: clock: \"realtime\" is not one of its choices",
        ),
        ("rows = 10_000", "rows = 10_000\nsesions = 2", "s.toml:10:1: workload.sesions: unknown key"),
        (
            "looks = [5, 10, 20]",
            "mean_over = [\"jurnal\"]",
            "s.toml:28:13: compare.mean_over: there is no factor `jurnal`; did you mean `journal`?",
        ),
        (
            "looks = [5, 10, 20]",
            "mean_over = [\"workload.transaction\"]",
            "s.toml:28:13: compare.mean_over: `workload.transaction` is what is compared; name factors here that the \
             baseline does not name, such as the number of users",
        ),
        (
            "looks = [5, 10, 20]",
            "mean_over = [\"journal\", \"journal\"]",
            "s.toml:28:13: compare.mean_over: `journal` is named twice; once is enough",
        ),
        (
            "kind = \"insert\"",
            "kind = \"inserts\"",
            "s.toml:8:8: workload.kind: there is no workload \"inserts\"; did you mean `insert`?",
        ),
        (
            "[\"per-row\", \"whole-batch\"]",
            "[\"per-row\", \"whole-bach\"]",
            "s.toml:12:38: workload.transaction",
        ),
        (
            "[\"wal\", \"rollback\"]",
            "[\"wal\", \"rolback\"]",
            "s.toml:13:19: factors.journal.1: \"rolback\" is no level of the set",
        ),
        (
            "\"workload.journal\" = \"delete\"",
            "\"workload.journal\" = \"delte\"",
            "s.toml:17:35: workload.journal",
        ),
        ("per-row = \"one per row\"", "per-rows = \"one per row\"", "did you mean `per-row`?"),
        (
            "metric = \"rows_per_second\"",
            "metric = \"rows_per_sec\"",
            "s.toml:23:10: compare.metric: the workload `insert` yields no",
        ),
        ("max_rounds = 20", "max_rounds = 2", "s.toml:27:14: compare.max_rounds: 2 is fewer than rounds (5)"),
        ("looks = [5, 10, 20]", "looks = [5, 5]", "the looks do not ascend"),
        ("\"2%\"", "\"0%\"", "s.toml:25:21: compare.equivalent_within"),
        (
            "looks = [5, 10, 20]",
            "guards = [\"latency_p99\"]",
            "compare.guards.0: the workload `insert` yields no metric `latency_p99`",
        ),
        (
            "looks = [5, 10, 20]",
            "guards = [\"latency_p99\"]",
            "did you mean `latency_p99_ms`? `fathom doc insert` lists every metric",
        ),
        ("looks = [5, 10, 20]", "guard_margin = \"0%\"", "compare.guard_margin: this margin decides nothing"),
        ("\"workload.rows\" = 100\n", "\"workload.rows\" = -100\n", "s.toml:34:19: workload.rows"),
        (
            "\"compare.rounds\" = 2",
            "\"compare.rounds\" = 0",
            "s.toml:35:20: compare.rounds: 0 is out of range",
        ),
        ("normalise = \"best\"", "normalise = \"worst\"", "one of"),
        ("unit = \"s\"", "unit = \"sec\"", "the unit \"sec\" is not known"),
        ("value = 680", "value = -680", "a figure is above zero"),
        ("value = 680\n", "", "nothing can be fitted"),
        (", journal = \"wal\" }", " }", "it does not say which variant is meant"),
        ("latency_ms = 1.25", "latency = 1.25", "did you mean `latency_ms`?"),
        ("parameter = \"workload.rows\"", "parameter = \"workload.row\"", "did you mean `rows`?"),
        ("value = 10_000", "value = 9_000", "it is 10000 in the study; make both the same"),
    ];
    let wrong = cases.iter().filter_map(|(from, to, words)| {
        let found = changed(from, to);
        let right = found.len() == 1 && found[0].contains(words);
        (!right).then(|| format!("{to}: {found:#?} lacks {words}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>().join("\n"), "");
}

#[test]
fn a_factor_over_a_misspelt_path_is_one_mistake() {
    let text = "title = \"t\"\n[workload]\nkind = \"insert\"\nrows = 10\n[factors]\n\"workload.transactoin\" = [1, 2]\n";
    assert_eq!(
        mistakes(text),
        ["s.toml:6:1: workload.transactoin: unknown key; did you mean `transaction`?",]
    );
    let text = text.replace("workload.transactoin", "worklod.transaction");
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:6:1: factors.\"worklod.transaction\": `worklod.transaction` cannot be varied; a path begins with \
         workload., volumes., places. or databases., and is put in quotes: \"workload.rows\"",
        ]
    );
    let text = text.replace("\"worklod.transaction\"", "workload.transaction");
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:6:1: factors.workload: expected a list of levels, found a table; put the whole path in quotes: \
         \"workload.rows\" = [1000, 2000]",
        ]
    );
}

#[test]
fn one_mistake_does_not_hide_another() {
    let text = r#"
        title = "t"
        clock = "virtual"
        [volumes.ebs]
        kind = "modle"
        [volumes.data]
        kind = "memory"
        size = "1MiB"
        sector = 1
        [workload]
        kind = "io"
        volumes = ["dta"]
        read = 70
        [compare]
        metric = "iop"
    "#;
    let found = mistakes(text);
    let places: Vec<&str> =
        found.iter().map(|mistake| mistake.split(": ").nth(1).unwrap_or_default()).collect();
    assert_eq!(
        places,
        ["volumes.ebs.kind", "volumes.data.sector", "workload.volumes.0", "workload.read", "compare.metric",],
        "{found:#?}"
    );
}

#[test]
fn what_befalls_the_storage_is_no_choice_unless_the_study_says_so() {
    let text = "title = \"Larger rows\"\nclock = \"real\"\n[workload]\nkind = \"insert\"\n[factors]\n\"workload.rows\" = [1_000, 2_000]\n\
                [compare]\nmetric = \"rows_per_second\"\nbaseline = { \"workload.rows\" = 1_000 }\n";
    let choice = |text: &str| {
        let found = check(text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
        let study = found.study.unwrap_or_else(|| panic!("{:?}", found.diagnostics));
        study["compare"]["choice"].clone()
    };
    assert_eq!(choice(text), json!(false), "rows");
    assert_eq!(choice(&text.replace("[compare]", "[compare]\nchoice = true")), json!(true));
}

/// Each mistake that can be told by itself, in one pass: whoever mends one must not meet the next one only then.
#[test]
fn mistakes_in_several_volumes_places_and_databases_are_told_together() {
    let text = r#"
title = "Several"
clock = "real"
[volumes.first]
kind = "model"
model = "aws/gp3"
size = "1TiB"
iops = 1000000
[volumes.second]
kind = "model"
model = "aws/gp9"
size = "1TiB"
[volumes.wide]
kind = "stripe"
members = ["first", "dta"]
[volumes.sectors]
kind = "sector"
backing = "first"
logical_sector = "8KiB"
[places.p]
kind = "volume"
volume = "first"
block_size = "128KiB"
[databases.pg]
kind = "postgresql"
place = "p"
[workload]
kind = "tproc-c"
database = "pgg"
warehouses = 0
users = []
interface = "procedure"
duration = "0s"
[compare]
metric = "nopm"
baseline = {}
rounds = 0
"#;
    let found = mistakes(text);
    let expected = [
        "volumes.first.iops: ",
        "volumes.second.model: there is no model \"aws/gp9\"",
        "volumes.wide.members",
        "volumes.sectors.logical_sector: ",
        "places.p.block_size: ",
        "workload.database",
        "workload.warehouses: ",
        "workload.users: ",
        "workload.interface: ",
        "workload.duration: ",
        "compare.rounds: ",
    ];
    for mistake in expected {
        assert!(found.iter().any(|told| told.contains(mistake)), "{mistake} is not in {found:#?}");
    }
}
