//! Inserts on modelled log volumes, in virtual time.

use fathom_devices::Model;
use fathom_devices::model::{Config as Device, Service, ServiceTime, Shape};
use fathom_job::{Outcome, Storage};
use fathom_runtime::{MICROSECOND, MILLISECOND, Nanos, RingSetup, SECOND};
use fathom_volume::{Handle, Site};

use super::{Config, KIND, Transaction, Until, run};

fn storage(site: &Site, latency: Nanos, physical_sector: u32) -> Storage<'_> {
    let context = site.context();
    let time = ServiceTime::new(latency, None);
    let service = Service {
        read: time,
        write: time,
        flush: 0,
        servers: 1000,
        shape: Shape::Constant,
        volatile_cache: None,
    };
    let device = Device { physical_sector, ..Device::new(1 << 30, service) };
    let model = Model::new(&context, "log", &device, None).expect("sound settings");
    let volume = Handle::new(&context, "log", "model", model).expect("the geometry is sound");
    Storage { site, nodes: vec![volume] }
}

fn config() -> Config {
    Config {
        volume: "log".to_owned(),
        payload: 136,
        transaction: Transaction::PerRow,
        until: Until::Rows(10_000),
        sessions: 1,
        cpu_per_row: 20 * MICROSECOND,
        cores: None,
        log_block: None,
        writes_in_flight: 112,
        interval: None,
    }
}

fn simulate(config: &Config, latency: Nanos) -> Outcome {
    let site = Site::virtual_time(1, false);
    run(config, &storage(&site, latency, 512), &mut ()).expect("it runs")
}

fn get(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].unwrap_or_else(|| panic!("{name} was not measured"))
}

#[test]
fn one_row_per_transaction_takes_its_cpu_time_and_one_log_write() {
    let outcome = simulate(&config(), MILLISECOND);
    assert!((get(&outcome, "elapsed_s") - 10_000.0 * 1.020e-3).abs() < 1e-6);
    assert!((get(&outcome, "latency_ms") - 1.020).abs() < 1e-6);
    assert!((get(&outcome, "waiting_ms") - 1.0).abs() < 1e-6);
    assert_eq!((get(&outcome, "rows"), get(&outcome, "commits_per_write")), (10_000.0, 1.0));
    // 124 + 238 + 84 bytes of records, slots and header are a little more than one sector.
    assert_eq!(outcome.facts["log_write_sizes"], "1024 B: 10000");
}

#[test]
fn one_transaction_for_all_is_bound_by_the_session() {
    let outcome = simulate(&Config { transaction: Transaction::WholeBatch, ..config() }, MILLISECOND);
    // The writes of full blocks hide behind the CPU time; the commit waits for one write.
    assert!(
        (get(&outcome, "elapsed_s") - (10_000.0 * 20e-6 + 1e-3)).abs() < 1e-4,
        "{}",
        get(&outcome, "elapsed_s")
    );
    assert!(get(&outcome, "average_write_kib") > 55.0);
    assert!((get(&outcome, "commits_per_second") * get(&outcome, "elapsed_s") - 1.0).abs() < 1e-6);
}

#[test]
fn sessions_that_share_a_core_take_turns() {
    let on = |cores| {
        let batch = Config { sessions: 4, transaction: Transaction::WholeBatch, cores, ..config() };
        simulate(&batch, MILLISECOND)
    };
    // 10,000 rows of 20 us, by four at once, by two, by one; the log's last write comes on top.
    for (cores, span) in [(None, 0.050), (Some(4), 0.050), (Some(2), 0.100), (Some(1), 0.200)] {
        let elapsed = get(&on(cores), "elapsed_s");
        assert!((span..span + 0.003).contains(&elapsed), "{cores:?}: {elapsed}");
    }
    let told = &on(Some(1)).facts["cores"];
    assert!(told.ends_with("in the queue on average") && !told.starts_with("0 %"), "{told}");
    assert!(!on(None).facts.contains_key("cores"));
}

#[test]
fn every_n_rows_lies_between() {
    let every = |rows| {
        get(
            &simulate(&Config { transaction: Transaction::Every(rows), ..config() }, MILLISECOND),
            "elapsed_s",
        )
    };
    assert!((every(10) - 10_000.0 * (20e-6 + 1e-4)).abs() < 1e-6);
    assert!((every(1) - get(&simulate(&config(), MILLISECOND), "elapsed_s")).abs() < 1e-9);
    // 10,000 rows in transactions of 300: the last one has 100.
    let outcome = simulate(&Config { transaction: Transaction::Every(300), ..config() }, MILLISECOND);
    assert_eq!(get(&outcome, "rows"), 10_000.0);
}

#[test]
fn sessions_share_log_writes() {
    let outcome = simulate(&Config { sessions: 32, until: Until::Time(SECOND), ..config() }, MILLISECOND);
    assert!(get(&outcome, "commits_per_write") > 10.0);
    assert!(get(&outcome, "rows_per_second") > 10_000.0);
}

#[test]
fn a_span_ends_the_run_and_counts_what_was_committed() {
    let outcome = simulate(&Config { until: Until::Time(SECOND), ..config() }, 980 * MICROSECOND);
    assert_eq!(get(&outcome, "rows"), 1000.0);
    assert!((get(&outcome, "elapsed_s") - 1.0).abs() < 1e-9);
}

#[test]
fn log_blocks_follow_the_disks_physical_sector_unless_told() {
    let sizes = |physical, log_block| {
        let site = Site::virtual_time(1, false);
        let config = Config { log_block, payload: 4000, ..config() };
        let outcome = run(&config, &storage(&site, MILLISECOND, physical), &mut ()).expect("it runs");
        outcome.facts["log_write_sizes"].clone()
    };
    assert_eq!(sizes(512, None), "4608 B: 10000");
    assert_eq!(sizes(4096, None), "8192 B: 10000");
    assert_eq!(sizes(512, Some(4096)), "8192 B: 10000");
}

#[test]
fn the_same_seed_gives_the_same_digest_and_samples_are_transactions() {
    let sessions = Config { sessions: 7, ..config() };
    let (once, again) = (simulate(&sessions, MILLISECOND), simulate(&sessions, MILLISECOND));
    assert_eq!(once.digest.expect("simulated"), again.digest.expect("simulated"));
    let operations: std::collections::BTreeSet<&str> = once
        .samples
        .iter()
        .filter(|sample| sample.node == "workload")
        .map(|sample| sample.operation)
        .collect();
    assert_eq!(operations.into_iter().collect::<Vec<_>>(), ["transaction"]);
    assert_eq!(once.totals.len(), 1);
}

#[test]
fn every_metric_is_listed() {
    let outcome = simulate(&config(), MILLISECOND);
    let mut listed: Vec<_> = (KIND.metrics)().into_iter().map(|metric| metric.name.into_owned()).collect();
    listed.sort();
    assert!(outcome.metrics.keys().eq(&listed), "{listed:?}");
}

#[test]
fn a_run_whose_clock_stands_still_says_so() {
    let site = Site::virtual_time(1, false);
    let instant = Config { until: Until::Time(SECOND), cpu_per_row: 0, ..config() };
    let failed = run(&instant, &storage(&site, 0, 512), &mut ());
    assert!(failed.is_err_and(|failure| failure.message.contains("does not advance")));
}

#[test]
fn a_run_can_be_stopped() {
    struct Stop;
    impl fathom_job::Progress for Stop {
        fn tick(&mut self, _: f64, _: &str) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Break(())
        }
    }
    let site = Site::virtual_time(1, false);
    let storage = storage(&site, MILLISECOND, 512);
    let endless = Config { until: Until::Rows(1_000_000_000_000), ..config() };
    let stopped = run(&endless, &storage, &mut Stop);
    assert!(stopped.is_err_and(|failure| failure.reason == fathom_job::Reason::Cancelled));
    assert_eq!(storage.nodes[0].statistics().outstanding(), 0);
}

#[test]
fn a_span_of_real_time_begins_with_the_run_and_not_with_the_executor() {
    let site = Site::real(RingSetup::default(), 1).expect("io_uring is there");
    let storage = storage(&site, MILLISECOND, 512);
    // As building a stack may: time passes while the executor does not look at the clock.
    let begin = fathom_runtime::monotonic();
    while fathom_runtime::monotonic() - begin < 120 * MILLISECOND {}
    let config = Config { until: Until::Time(60 * MILLISECOND), ..config() };
    let outcome = run(&config, &storage, &mut ()).expect("it runs");
    assert!(get(&outcome, "rows") > 0.0);
}

#[test]
fn in_real_time_the_same_sessions_run() {
    let site = Site::real(RingSetup::default(), 1).expect("io_uring is there");
    let config = Config { until: Until::Rows(50), ..config() };
    let outcome = run(&config, &storage(&site, 2 * MILLISECOND, 512), &mut ()).expect("it runs");
    assert!(get(&outcome, "elapsed_s") >= 50.0 * 2.020e-3);
    assert_eq!(get(&outcome, "rows"), 50.0);
}

#[test]
fn every_session_waits_for_something_or_computes() {
    let config = Config { sessions: 8, cores: Some(2), ..config() };
    let outcome = simulate(&config, MILLISECOND);
    let waits = &outcome.waits["model"];
    let names: Vec<&str> = waits.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[0], "WRITELOG", "{waits:?}");
    assert!(names.contains(&"CPU") && waits.is_sorted_by(|one, next| one.1 >= next.1), "{waits:?}");
    let all: f64 = waits.iter().map(|(_, sessions)| sessions).sum();
    assert!((all - 8.0).abs() < 0.1, "{waits:?}");
}
