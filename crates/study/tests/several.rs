//! Several databases in one run: what a study may say of them, and that they are driven at the same time.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fathom_catalogue::Catalogue;
use fathom_job::{Address, Connection, DatabaseKind, Databases, Failure, Login, Outcome, Progress, Reason};
use fathom_runtime::Clock;
use fathom_study::{CheckOptions, Run, check, load, run};
use serde_json::{Map, Value, json};

/// A workload on three SQLite databases.
fn study(workload: &str) -> String {
    let databases: String =
        ["a", "b", "c"].iter().map(|name| format!("[databases.{name}]\nkind = \"sqlite\"\n")).collect();
    format!("title = \"t\"\n[workload]\n{workload}\n{databases}")
}

const INSERT: &str = "kind = \"insert\"\ndatabase = [\"a\", \"b\", \"c\"]\nduration = \"600ms\"\ninterval = \"50ms\"\n\
                      synchronous = \"off\"\n";

const TPROCC: &str = "kind = \"tproc-c\"\ndatabase = [\"a\", \"b\"]\nwarehouses = 1\nitems = 200\ncustomers = 40\n\
                      users = 2\nramp = \"100ms\"\nduration = \"600ms\"\ninterval = \"100ms\"\nsynchronous = \"off\"\n";

/// Every mistake on a line of its own.
fn mistakes(text: &str) -> Vec<String> {
    let checked = check(text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
    checked.diagnostics.list().iter().map(ToString::to_string).collect()
}

/// Directories for the databases, gone when the test is over.
struct Directories(PathBuf);

impl Directories {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fathom-several-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is a place for temporary files");
        Self(path)
    }

    fn of(&self, names: &[&str]) -> Databases {
        let connection = |name: &&str| {
            let directory = self.0.join(name);
            std::fs::create_dir_all(&directory).expect("it can be created");
            let connection = Connection {
                kind: DatabaseKind::Sqlite,
                address: Address::Directory(directory),
                user: String::new(),
                password: None,
                database: String::new(),
                tls: None,
                tls_ca: None,
                login: Login::default(),
                timeout_ns: None,
            };
            ((*name).to_owned(), connection)
        };
        Databases(names.iter().map(connection).collect())
    }

    fn run(
        &self,
        text: &str,
        overrides: &Value,
        names: &[&str],
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        let databases = self.of(names);
        let overrides = map(overrides);
        let run_of = of(text, &overrides, &self.0, &databases);
        run(&run_of, &Catalogue::builtin(), progress)
    }
}

impl Drop for Directories {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the study's first variant wants provided, with these settings replaced.
fn wants(text: &str, fixed: &Value) -> Value {
    let ask = CheckOptions { fixed: map(fixed), ..CheckOptions::default() };
    let study = check(text, "s.toml", &ask, &Catalogue::builtin()).study.expect("it is sound");
    study["variants"][0]["wants"].clone()
}

fn map(object: &Value) -> Map<String, Value> {
    object.as_object().expect("it is an object").clone()
}

fn of<'a>(
    text: &'a str,
    overrides: &'a Map<String, Value>,
    scratch: &'a Path,
    databases: &'a Databases,
) -> Run<'a> {
    Run { text, file: "s.toml", overrides, clock: Clock::Real, seed: 1, scratch, databases }
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).copied().flatten().unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn what_is_wrong_with_a_list_of_databases_points_at_its_line() {
    let text =
        study("kind = \"insert\"\ndatabase = [\"a\", \"d\", \"a\", 5]\ncount = 9\nrows = 100\nsize = 1\n");
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:4:23: workload.database.2: \"a\" is listed already; a run drives each database once",
            "s.toml:4:28: workload.database.3: expected the name of a database, found a whole number; \
             write it like [\"first\", \"second\"]",
            "s.toml:5:9: workload.count: 9 is out of range; it must be at least 1 and at most 2",
            "s.toml:7:1: workload.size: unknown key; keys: kind, database, count, databases, volume, \
             directory, rows, duration, payload, table, page_size, transaction and 7 more",
        ]
    );
    let text = study("kind = \"insert\"\ndatabase = [\"a\", \"b\"]\nrows = 100\n");
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:5:8: workload.rows: with a number of rows the slowest database would run alone in the end; \
          give several databases a `duration`"
        ]
    );
    let text = study("kind = \"insert\"\ndatabase = \"a\"\ncount = 2\n");
    assert_eq!(
        mistakes(&text),
        ["s.toml:5:9: workload.count: there is one database to be driven; list several: \
          database = [\"first\", \"second\"]"]
    );
    let text = study("kind = \"insert\"\ndatabase = [\"a\", \"latency\"]\nduration = \"1s\"\n")
        .replace("databases.b", "databases.latency");
    assert_eq!(mistakes(&text), [""; 0]);
    let text = study(&TPROCC.replace("users = 2", "users = [1, 2]"));
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:8:9: workload.users: several databases would not be at the same step of a sequence at the same time; \
          vary \"workload.users\" as a factor"
        ]
    );
}

#[test]
fn what_is_wrong_with_the_settings_of_one_database_points_at_its_line() {
    let text = study(&format!(
        "{TPROCC}[workload.databases.b]\nusers = [1, 2]\nwarehouses = 0\nduration = \"1s\"\nwarehuses = 3\n\
         count = 1\n[workload.databases.d]\nusers = 1\n"
    ));
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:15:14: workload.warehouses: 0 is out of range; it must be at least 1 and at most 100000",
            "s.toml:16:12: workload.databases.b.duration: all databases are measured in the same time; \
             set it in [workload]",
            "s.toml:17:1: workload.warehuses: unknown key; did you mean `warehouses`?",
            "s.toml:18:9: workload.databases.b.count: a database of the list has no list of its own; leave it out",
            "s.toml:19:1: workload.databases.d: `d` is not listed in `database`; did you mean `a`?",
        ]
    );
    let text = study(&format!("{TPROCC}[workload.databases.b]\nusers = [1, 2]\n"));
    assert_eq!(
        mistakes(&text),
        [
            "s.toml:14:9: workload.databases.b.users: several databases would not be at the same step of a sequence at \
          the same time; vary \"workload.users\" as a factor"
        ]
    );
    let text = study("kind = \"insert\"\ndatabase = \"a\"\n[workload.databases.a]\nrows = 2\n");
    assert_eq!(
        mistakes(&text),
        ["s.toml:5:11: workload.databases: there is one database to be driven; list several: \
          database = [\"first\", \"second\"]"]
    );
}

#[test]
fn a_database_has_its_own_size_and_users_where_it_says_so() {
    let directories = Directories::new("own");
    let text = study(&format!("{TPROCC}[workload.databases.b]\nwarehouses = 2\nusers = 1\n"));
    let loads = wants(&text, &json!({}))["loads"].clone();
    let of = |name: &str| loads[name].as_str().expect("a text").to_owned();
    assert!(of("a").contains(" 1 warehouses") && of("b").contains(" 2 warehouses"), "{loads}");
    let outcome = directories.run(&text, &json!({}), &["a", "b"], &mut ()).expect("it runs");
    let users = ["a_virtual_users", "b_virtual_users", "virtual_users"].map(|name| metric(&outcome, name));
    assert_eq!(users, [2.0, 1.0, 3.0]);
    assert!(outcome.facts["databases.a.scale"].starts_with("1 "), "{:?}", outcome.facts);
    assert!(outcome.facts["databases.b.scale"].starts_with("2 "), "{:?}", outcome.facts);
    // As a factor, too.
    let factor = json!({ "workload.databases.b.users": 3 });
    let outcome = directories.run(&text, &factor, &["a", "b"], &mut ()).expect("it runs");
    assert_eq!(metric(&outcome, "virtual_users"), 5.0);
}

#[test]
fn a_database_whose_name_makes_two_metrics_one_is_refused() {
    let text = study(&TPROCC.replace("\"b\"", "\"payment\"")).replace("databases.b", "databases.payment");
    assert_eq!(
        mistakes(&text),
        ["s.toml:4:12: workload.database: two metrics of this run would be called `payment_latency_ms`; \
          give the databases other names"]
    );
}

#[test]
fn metrics_of_one_database_and_of_all_can_be_compared() {
    let factors =
        "[factors]\n\"workload.count\" = [1, 2, 3]\n[compare]\nbaseline = { \"workload.count\" = 1 }\n";
    for name in ["rows_per_second", "per_database_rows_per_second", "fairness_percent", "a_latency_p99_ms"] {
        let text = format!("{}{factors}metric = \"{name}\"\n", study(INSERT));
        assert_eq!(mistakes(&text), [""; 0], "{name}");
    }
    // With one database there is no second one to tell of.
    let text = format!("{}{factors}metric = \"b_rows_per_second\"\n", study(INSERT));
    assert_eq!(mistakes(&text).len(), 1, "{:?}", mistakes(&text));
}

#[test]
fn only_the_databases_that_are_driven_are_wanted() {
    let wanted = |count: u64| {
        let found = wants(&study(INSERT), &json!({ "workload.count": count }));
        found["databases"].as_object().expect("it is an object").keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(wanted(1), ["a"]);
    assert_eq!(wanted(2), ["a", "b"]);
}

#[test]
fn databases_are_driven_at_the_same_time_and_told_apart() {
    let directories = Directories::new("insert");
    let outcome = directories.run(&study(INSERT), &json!({}), &["a", "b", "c"], &mut ());
    let outcome = outcome.expect("it runs");
    let each: Vec<f64> = ["a", "b", "c"].map(|name| metric(&outcome, &format!("{name}_rows"))).into();
    assert!(each.iter().all(|rows| *rows > 0.0), "{each:?}");
    assert_eq!(metric(&outcome, "rows"), each.iter().sum::<f64>());
    assert_eq!(metric(&outcome, "databases"), 3.0);
    let fairness = metric(&outcome, "fairness_percent");
    assert!(fairness > 0.0 && fairness <= 100.0, "{fairness}");
    // One after the other they would have no moment in common.
    assert!(outcome.measured > 0 && outcome.began.is_some(), "{}", outcome.measured);
    let rows = |node: &str| -> u64 {
        outcome.samples.iter().filter(|sample| sample.node == node).map(|sample| sample.count).sum()
    };
    assert_eq!(rows("workload"), rows("workload a") + rows("workload b") + rows("workload c"));
}

#[test]
fn virtual_users_work_on_each_database_and_figures_add_up() {
    let directories = Directories::new("tproc-c");
    let outcome = directories.run(&study(TPROCC), &json!({}), &["a", "b"], &mut ()).expect("it runs");
    let sum = metric(&outcome, "a_nopm") + metric(&outcome, "b_nopm");
    assert!(sum > 0.0 && (metric(&outcome, "nopm") / sum - 1.0).abs() < 1e-9);
    assert_eq!(metric(&outcome, "virtual_users"), 4.0);
    assert!((metric(&outcome, "per_database_nopm") * 2.0 / sum - 1.0).abs() < 1e-9);
    let least = metric(&outcome, "a_latency_p99_ms").min(metric(&outcome, "b_latency_p99_ms"));
    let most = metric(&outcome, "a_latency_p99_ms").max(metric(&outcome, "b_latency_p99_ms"));
    let all = metric(&outcome, "latency_p99_ms");
    assert!(least <= all * 1.001 && all <= most * 1.001, "{least} {all} {most}");
    assert!(outcome.totals.iter().any(|total| total.node == "new-order b"));
}

#[test]
fn a_load_fills_the_databases_that_are_there() {
    let directories = Directories::new("load");
    let databases = directories.of(&["b"]);
    let (text, overrides) = (study(TPROCC), Map::new());
    load(&of(&text, &overrides, &directories.0, &databases), &Catalogue::builtin(), &mut ())
        .expect("it loads");
    assert!(directories.0.join("b/main.db").exists() && !directories.0.join("a").exists());
}

#[test]
fn one_that_fails_stops_the_others_and_is_named() {
    let directories = Directories::new("failed");
    let text = study(&TPROCC.replace("600ms", "10min"));
    // What is no database cannot be opened as one.
    let databases = directories.of(&["a", "b"]);
    std::fs::write(directories.0.join("b/main.db"), "no database").expect("it can be written");
    let outcome = run(&of(&text, &Map::new(), &directories.0, &databases), &Catalogue::builtin(), &mut ());
    let failure = outcome.expect_err("a file of text is no database");
    assert!(failure.message.starts_with("databases.b: "), "{failure}");
    assert_ne!(failure.reason, Reason::Cancelled);
}

/// Says stop as soon as anything is measured.
struct Stops;

impl Progress for Stops {
    fn tick(&mut self, done: f64, words: &str) -> ControlFlow<()> {
        if done > 0.0 && words.contains("rows/s") {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn all_of_them_can_be_stopped() {
    let directories = Directories::new("stopped");
    let text = study(&INSERT.replace("600ms", "10min"));
    let outcome = directories.run(&text, &json!({}), &["a", "b", "c"], &mut Stops);
    assert_eq!(outcome.expect_err("it was stopped").reason, Reason::Cancelled);
}
