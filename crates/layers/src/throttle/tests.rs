//! The throttle against the suite, in time, shared, and its settings.

use fathom_conformance::Suite;
use fathom_runtime::{MILLISECOND, Runtime, SECOND};
use fathom_volume::{Blueprint, Env, Geometry, Handle, Kind, Pool, Request};

use super::{Allowance, Burst, Config, Limits};

fn config(limits: Limits, shared: Option<&str>) -> Config {
    Config { backing: "below".to_owned(), limits, shared: shared.map(str::to_owned) }
}

fn iops(per_second: f64) -> Limits {
    Limits { iops: Some(Allowance::of(per_second)), ..Limits::default() }
}

fn below(env: &Env, name: &str) -> Vec<Handle> {
    vec![crate::testing::slow(&env.context, name, Geometry::plain(1 << 30), MILLISECOND)]
}

#[test]
fn it_conforms() {
    let burst = Burst { per_second: 6e9, credits: 5e7, initial: 5e7 };
    let limits = Limits {
        iops: Some(Allowance::of(150_000.0)),
        bytes: Some(Allowance { per_second: 3e9, burst: Some(burst) }),
        quantum: Some(64 << 10),
        merge: true,
        slack: MILLISECOND,
    };
    let disk = Geometry { volatile_cache: true, ..Geometry::plain((2 << 20) + 512) };
    Suite::new(|bench| {
        config(limits.clone(), None).build(&bench.env, "capped", vec![bench.disk("below", disk.clone())])
    })
    .check();
}

#[test]
fn its_limits_are_facts() {
    let burst = Burst { per_second: 3000.0, credits: 5.4e6, initial: 5.4e6 };
    let limits = Limits {
        iops: Some(Allowance { per_second: 100.0, burst: Some(burst) }),
        bytes: Some(Allowance::of(128e6)),
        ..Limits::default()
    };
    let runtime = Runtime::virtual_time(0);
    let env = Env::new(runtime.context(), Pool::hollow());
    let throttle = config(limits, None).build(&env, "capped", below(&env, "below")).expect("it builds");
    let facts = throttle.facts();
    let shown: Vec<_> = facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    assert_eq!(shown, ["iops_limit 100", "bytes_per_s_limit 128000000", "iops_peak 3000"]);
}

/// Requests that `users` users with one request each complete in `span` ns, over several volumes.
fn completed(runtime: &Runtime, volumes: &[Handle], users: usize, span: u64) -> Vec<u64> {
    let context = runtime.context();
    for (index, volume) in (0..users).flat_map(|_| volumes.iter().enumerate()) {
        let (volume, context) = (volume.clone(), context.clone());
        context.clone().spawn(async move {
            loop {
                let request = Request::new(index as u64 * 4096, 4096);
                volume.read(request, Pool::hollow().get(4096)).await.expect("it does not fail");
            }
        });
    }
    runtime.block_on(context.sleep(span)).expect("time passes");
    let count = |volume: &Handle| {
        volume.statistics().total(context.now()).kind(Kind::Read).map_or(0, |reads| reads.count)
    };
    volumes.iter().map(count).collect()
}

#[test]
fn a_busy_volume_runs_at_its_rate_and_the_rest_of_the_latency_is_waiting() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let volume = config(iops(3000.0), None).build(&env, "v", below(&env, "b")).expect("it fits");
    let done = completed(&runtime, std::slice::from_ref(&volume), 32, 100 * SECOND)[0];
    assert!((299_990..=300_001).contains(&done), "{done}");
    let total = volume.statistics().total(env.context.now());
    let reads = total.kind(Kind::Read).expect("it was read");
    // Little's law: 32 outstanding at 3,000 a second are 10.67 ms, of which 1 ms is service.
    let (latency, waiting) = (reads.latency_mean().expect("some"), reads.waiting_mean().expect("some"));
    assert!((latency / 1e6 - 32.0 / 3.0).abs() < 0.01, "{latency}");
    assert!((latency - waiting - 1e6).abs() < 1.0, "{waiting}");
}

#[test]
fn an_idle_volume_is_not_slowed_down() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let volume = config(iops(3000.0), None).build(&env, "v", below(&env, "b")).expect("it fits");
    assert_eq!(completed(&runtime, std::slice::from_ref(&volume), 2, 10 * SECOND), [20_000 - 2]);
    let total = volume.statistics().total(env.context.now());
    assert!(total.kind(Kind::Read).expect("it was read").waiting_sum <= SECOND.div_ceil(3000));
}

#[test]
fn volumes_share_a_gate_by_name() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let build = |name: &str, shared| {
        config(iops(4000.0), shared)
            .build(&env, name, below(&env, &format!("below {name}")))
            .expect("it fits")
    };
    let volumes = [build("a", Some("host")), build("b", Some("host")), build("c", None)];
    let done = completed(&runtime, &volumes, 16, 10 * SECOND);
    assert!((39_980..=40_002).contains(&(done[0] + done[1])), "{done:?}");
    assert!(done[0].abs_diff(done[1]) <= 32, "equal users get equal shares: {done:?}");
    assert!((39_980..=40_002).contains(&done[2]), "{done:?}");
    let error =
        config(iops(5000.0), Some("host")).build(&env, "d", below(&env, "x")).expect_err("limits differ");
    assert!(error.to_string().contains("volume `d` (throttle): it shares `host` with `a`"), "{error}");
}

#[test]
fn counters_tell_credits_and_merges() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let burst = Some(Burst { per_second: 1000.0, credits: 500.0, initial: 400.0 });
    let limits = Limits { iops: Some(Allowance { per_second: 100.0, burst }), ..Limits::default() };
    let volume = config(limits, None).build(&env, "v", below(&env, "b")).expect("it fits");
    assert_eq!(volume.counters(), [("merged", 0), ("io_credits", 400)]);
    completed(&runtime, std::slice::from_ref(&volume), 1, SECOND / 10);
    assert!(volume.counters()[1].1 < 330, "{:?}", volume.counters());
}

#[test]
fn settings_are_read_and_checked() {
    let read = |text: &str| crate::testing::read(text, Config::read);
    let text = "backing = \"ssd\"\niops = 300\niops_burst = { peak = 3000, credits = 5_400_000 }\n\
                throughput = \"128MiB/s\"\nquantum = \"256KiB\"\nmerge = true\nslack = \"1ms\"\nshared = \"host\"";
    let burst = Burst { per_second: 3000.0, credits: 5.4e6, initial: 5.4e6 };
    let limits = Limits {
        iops: Some(Allowance { per_second: 300.0, burst: Some(burst) }),
        bytes: Some(Allowance::of(134_217_728.0)),
        quantum: Some(256 << 10),
        merge: true,
        slack: MILLISECOND,
    };
    let shared = Some("host".to_owned());
    assert_eq!(read(text), Ok(Config { backing: "ssd".to_owned(), limits, shared }));
    for (text, mistakes) in [
        ("backing = \"b\"", &["it limits nothing"][..]),
        ("iops = 0", &["backing: it is missing", "iops: a rate of 0 per second"]),
        ("backing = \"b\"\niops = 5\nmerge = true", &["merge: merged up to what size?"]),
        ("backing = \"b\"\niops = 5\nquantum = 0", &["quantum: an I/O of 0 bytes"]),
        ("backing = \"b\"\niops = 5\niops_burst = { peak = 4, credits = 9 }", &["the peak is below"]),
        (
            "backing = \"b\"\niops = 5\niops_burst = { peak = 6, credit = 9 }",
            &["credits: it is missing", "unknown key"],
        ),
        ("backing = \"b\"\niops = 5\niops_burst = { credits = 9 }", &["`peak` is missing"]),
        (
            "backing = \"b\"\niops = 5\niops_burst = { peak = 6, credits = 9, initial = 10 }",
            &["more than `credits`"],
        ),
        (
            "backing = \"b\"\nthroughput = \"1MB/s\"\niops_burst = { peak = 6, credits = 9 }",
            &["without a sustained"],
        ),
    ] {
        let found = read(text).expect_err(text);
        assert_eq!(found.len(), mistakes.len(), "{found:?}");
        assert!(found.iter().zip(mistakes).all(|(found, mistake)| found.contains(mistake)), "{found:?}");
    }
}
