//! Real SQLite inserts on a directory and on volumes, in both clocks.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fathom_devices::Model;
use fathom_devices::memory::{Config as MemoryConfig, Memory};
use fathom_devices::model::{Config as ModelConfig, Service, ServiceTime, Shape};
use fathom_job::{Job, Outcome, Reason, Storage};
use fathom_runtime::{Clock, RingSetup, Runtime, SECOND};
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::insert::{Config, Transaction, Until};
use fathom_sql::vfs::{Store, VolumeFileSystem};
use fathom_volume::{Buf, ErrorKind, Geometry, Handle, Kind, Pool, Request, Site, Volume};

fn config(text: &str) -> Config {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    config.unwrap_or_else(|| panic!("{}", to_text(&diagnostics)))
}

fn refusals(text: &str) -> String {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    assert_eq!(Config::read(&mut section), None);
    assert!(!section.finish());
    to_text(&diagnostics)
}

fn memory(site: &Site, size: u64) -> Storage<'_> {
    let volume = Memory::new(&MemoryConfig::of_size(size));
    let volume = Handle::new(&site.context(), "data", "memory", volume).expect("a plain geometry is sound");
    Storage { site, nodes: vec![volume] }
}

fn on_memory(site: &Site, config: &Config, size: u64) -> Result<Outcome, fathom_job::Failure> {
    let storage = memory(site, size);
    config.run_on_volume(&storage, "data", &mut ())
}

fn writes(outcome: &Outcome, node: &str) -> u64 {
    let total = outcome.totals.iter().find(|total| total.node == node).expect("the node is watched");
    total.total.kind(Kind::Write).map_or(0, |writes| writes.count)
}

#[test]
fn a_directory_holds_every_committed_row_and_syncs_once_per_transaction() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let run = |transaction: &str| {
        let text = format!("rows = 300\ntransaction = {transaction}");
        config(&text).run_on_directory(scratch.path(), &mut ()).expect("the run succeeds")
    };
    let syncs = |outcome: &Outcome| {
        let log = outcome.totals.iter().find(|total| total.node == "log file").expect("the log is watched");
        log.total.kind(Kind::Flush).map_or(0, |flushes| flushes.count)
    };
    let (per_row, every, whole) = (run("\"per-row\""), run("50"), run("\"whole-batch\""));
    assert_eq!(per_row.metrics["rows"], Some(300.0));
    assert!(syncs(&per_row) >= 300, "{} syncs for 300 commits", syncs(&per_row));
    assert!((6..50).contains(&syncs(&every)), "{} syncs for 6 commits", syncs(&every));
    assert!(syncs(&whole) <= 3, "{} syncs for one commit", syncs(&whole));
    assert_eq!(
        std::fs::read_dir(scratch.path()).expect("it is still there").count(),
        0,
        "the database is removed"
    );
}

#[test]
fn sqlite_takes_rows_however_they_are_handed_over() {
    for (transaction, method) in
        [("\"whole-batch\"", "7"), ("14", "7"), ("10", "\"bulk\""), ("\"per-row\"", "\"bulk\"")]
    {
        let config = config(&format!("rows = 100\ntransaction = {transaction}\nmethod = {method}"));
        let outcome = on_memory(&Site::virtual_time(3, true), &config, 64 << 20).expect(method);
        assert_eq!(outcome.metrics["rows"], Some(100.0), "{transaction} {method}");
    }
}

#[test]
fn a_loop_inside_sqlite_is_refused_before_a_run() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let directory = format!("directory = \"{}\"\nmethod = \"loop\"", scratch.path().display());
    let site = Site::virtual_time(0, true);
    let storage = memory(&site, 64 << 20);
    for text in [&directory, "volume = \"data\"\nmethod = \"loop\""] {
        let misfits = config(text).misfits(Clock::Real, &storage);
        assert_eq!(misfits.len(), 1, "{text}");
        assert_eq!(misfits[0].0, "method");
        assert!(misfits[0].1.message.contains("SQLite has no procedures"), "{}", misfits[0].1.message);
    }
    let failed = config(&directory).run_on_directory(scratch.path(), &mut ()).expect_err("nobody checked it");
    assert_eq!(failed.reason, Reason::Settings);
}

#[test]
fn a_run_says_what_its_durability_may_lose() {
    for (synchronous, words) in [("full", "nothing"), ("normal", "last checkpoint"), ("off", "damage")] {
        let config = config(&format!("rows = 5\nsynchronous = \"{synchronous}\""));
        let outcome = on_memory(&Site::virtual_time(3, true), &config, 64 << 20).expect(synchronous);
        assert!(outcome.facts["may_lose"].contains(words), "{:?}", outcome.facts);
    }
}

#[test]
fn real_sqlite_runs_in_virtual_time_and_the_same_seed_gives_the_same_digest() {
    let run = |seed| {
        let config = config("rows = 500\ntransaction = \"per-row\"\ncpu_per_row = \"20us\"");
        on_memory(&Site::virtual_time(seed, true), &config, 64 << 20).expect("the run succeeds")
    };
    let (first, second) = (run(1), run(1));
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.metrics["rows"], Some(500.0));
    // Memory answers in no time: what passes is the CPU time of 500 rows.
    assert_eq!(first.measured, 500 * 20_000);
    assert!(writes(&first, "data") >= 500);
}

#[test]
fn real_sqlite_runs_on_a_volume_in_real_time() {
    let site = Site::real(RingSetup::default(), 0).expect("io_uring is there");
    let config = config("rows = 200\njournal = \"delete\"\ntransaction = 20");
    let outcome = on_memory(&site, &config, 64 << 20).expect("the run succeeds");
    assert_eq!(outcome.metrics["rows"], Some(200.0));
    assert_eq!(outcome.digest, None);
}

#[test]
fn every_journal_mode_leaves_a_whole_database() {
    for journal in ["wal", "delete", "truncate", "persist"] {
        for table in ["table = \"trade\"", "table = \"payload\"\npayload = \"9000\""] {
            let config = config(&format!("rows = 120\ntransaction = 7\njournal = \"{journal}\"\n{table}"));
            let outcome = on_memory(&Site::virtual_time(3, true), &config, 64 << 20).expect(journal);
            assert_eq!(outcome.metrics["rows"], Some(120.0), "{journal}");
        }
    }
}

#[test]
fn a_full_volume_ends_the_run_with_its_reason_and_the_remedy() {
    let config = config("rows = 100000\ntransaction = \"whole-batch\"");
    let failed = on_memory(&Site::virtual_time(0, true), &config, 2 << 20).expect_err("2 MiB cannot hold it");
    assert_eq!(failed.reason, Reason::NoSpace);
    assert!(failed.message.contains("give the volume more size"), "{}", failed.message);
}

#[test]
fn a_timed_session_ends_by_the_clock_of_its_volume() {
    let config = config("duration = \"1s\"\ntransaction = \"per-row\"\ncpu_per_row = \"1ms\"");
    let outcome = on_memory(&Site::virtual_time(0, true), &config, 64 << 20).expect("the run succeeds");
    assert_eq!((outcome.metrics["rows"], outcome.measured), (Some(1000.0), SECOND));
}

#[test]
fn an_unwritable_directory_is_unavailable_and_says_what_to_do() {
    let config = config("rows = 1");
    let failed = config.run_on_directory("/proc/nowhere".as_ref(), &mut ()).expect_err("it is not there");
    assert_eq!(failed.reason, Reason::Unavailable);
    assert!(failed.message.contains("/proc/nowhere"), "{}", failed.message);
}

#[test]
fn a_volume_that_takes_little_at_once_gets_little_at_once() {
    let at_once = ServiceTime::new(0, None);
    let service = Service {
        read: at_once,
        write: at_once,
        flush: 0,
        servers: 1,
        shape: Shape::Constant,
        volatile_cache: None,
    };
    // Pages, half pages, and what is no whole number of sectors.
    for max_transfer in [4096, 2048, 1000] {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let model = ModelConfig { max_transfer, ..ModelConfig::new(8 << 20, service.clone()) };
        let model = Model::new(&context, "data", &model, None).expect("the numbers fit");
        let volume = Handle::new(&context, "data", "model", model).expect("the geometry is sound");
        let store = Store::open(&runtime, volume, Pool::new(&context)).expect("it opens");
        let files = VolumeFileSystem::register(store).expect("registered");
        let one = files.connect().expect("connected");
        one.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(300000))").expect("stored");
        drop(one);
        let again = files.connect().expect("connected again");
        let length: i64 = again.query_row("SELECT length(x) FROM t", [], |row| row.get(0)).expect("read");
        let sound: String = again.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
        assert_eq!((length, sound.as_str()), (300_000, "ok"), "{max_transfer}");
    }
}

#[test]
fn a_stack_without_payload_is_refused() {
    let site = Site::virtual_time(0, false);
    let volume = memory(&site, 64 << 20).nodes.remove(0);
    let refused = Store::open(site.runtime(), volume, Pool::hollow());
    let refused = refused.err().expect("lengths only hold no database");
    assert_eq!(refused.kind(), ErrorKind::Misuse);
}

#[test]
fn two_connections_on_one_volume_exclude_each_other_and_see_commits() {
    let site = Site::virtual_time(0, true);
    let volume = memory(&site, 64 << 20).nodes.remove(0);
    let store = Store::open(site.runtime(), volume, site.pool().clone()).expect("it opens");
    let files = VolumeFileSystem::register(store).expect("registered");
    for mode in ["delete", "wal"] {
        let (one, two) = (files.connect().expect("one"), files.connect().expect("two"));
        one.execute_batch(&format!("PRAGMA journal_mode = {mode}; CREATE TABLE IF NOT EXISTS t (x)"))
            .expect("set up");
        one.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").expect("the first writer writes");
        let busy = two.execute_batch("BEGIN IMMEDIATE").expect_err("the second writer waits");
        assert_eq!(busy.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{mode}");
        one.execute_batch("COMMIT").expect("committed");
        let rows: i64 = two.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).expect("read");
        assert!(rows >= 1, "{mode}");
    }
}

/// Memory that panics after a number of writes.
struct Breaks {
    memory: Memory,
    left: Cell<u32>,
}

impl Volume for Breaks {
    fn geometry(&self) -> &Geometry {
        self.memory.geometry()
    }

    async fn read(&self, request: &Request, into: Buf) -> fathom_volume::Result<()> {
        self.memory.read(request, into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> fathom_volume::Result<()> {
        assert!(self.left.get() > 0, "a mistake in a layer");
        self.left.set(self.left.get() - 1);
        self.memory.write(request, from).await
    }

    async fn flush(&self, request: &Request) -> fathom_volume::Result<()> {
        self.memory.flush(request).await
    }

    async fn trim(&self, request: &Request) -> fathom_volume::Result<()> {
        self.memory.trim(request).await
    }

    async fn write_zeroes(&self, request: &Request) -> fathom_volume::Result<()> {
        self.memory.write_zeroes(request).await
    }
}

#[test]
fn a_panic_of_a_volume_does_not_unwind_through_sqlite_and_is_not_lost() {
    for left in [0, 3, 40] {
        let site = Site::virtual_time(0, true);
        let memory = Memory::new(&MemoryConfig::of_size(64 << 20));
        let volume = Breaks { memory, left: Cell::new(left) };
        let volume =
            Handle::new(&site.context(), "data", "memory", volume).expect("a plain geometry is sound");
        let storage = Storage { site: &site, nodes: vec![volume] };
        let run = || config("rows = 300").run_on_volume(&storage, "data", &mut ());
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it went on as a panic");
        assert_eq!(panic.downcast_ref(), Some(&"a mistake in a layer"), "after {left} writes");
    }
}

#[test]
fn settings_that_contradict_each_other_are_all_named() {
    let text =
        refusals("rows = 10\nduration = \"1s\"\ntransaction = 0\npage_size = 5000\nsynchronus = \"off\"");
    for part in [
        "after `rows` or after `duration`",
        "transaction",
        "5000 is not a power of two",
        "did you mean `synchronous`",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let text = refusals("database = \"postgresql\"\ndirectory = \"/tmp\"\ntransaction = 10\nmethod = 4");
    for part in ["only SQLite's files are put there", "not made of statements of 4"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let config = config("transaction = 100");
    assert_eq!((config.transaction, config.until), (Transaction::Every(100), Until::Rows(20_000)));
}
