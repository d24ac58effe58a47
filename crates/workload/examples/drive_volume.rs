//! The `io` workload on one device, for the benchmarks: `benches/real_driver.py` runs it beside fio.
//!
//! `drive_volume DEVICE DEPTH BYTES READ_SHARE SECONDS` with DEVICE `null`, or the path of a file, `buffered:PATH` or
//! `direct:PATH`. Prints one line of JSON: I/Os, IOPS, user and system CPU time per I/O, latency percentiles in us. All
//! counters and histograms are on; `null` pretends to hold 1 TiB.

use fathom_devices::file::{Config as File, Direct};
use fathom_devices::null::Config as Null;
use fathom_job::Storage;
use fathom_job::draw::Sizes;
use fathom_runtime::{RingSetup, SECOND, seed_from_kernel};
use fathom_volume::{Blueprint, Env, Handle, Site};
use fathom_workload::io::{AddressPattern, Config, Limit, Profile, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, depth, bytes, read, seconds] = &arguments[..] else {
        panic!("drive_volume null|buffered:PATH|direct:PATH DEPTH BYTES READ_SHARE SECONDS");
    };
    let number = |text: &str| text.parse::<u64>().expect("a whole number");
    // Other offsets in each run: repeated ones would be in somebody's cache.
    let seed = seed_from_kernel().expect("random numbers");
    let site = Site::real(RingSetup::default(), seed).expect("an io_uring");
    let volume = open(device, &Env::new(site.context(), site.pool().clone()));
    let profile = Profile {
        outstanding: u32::try_from(number(depth)).expect("a depth"),
        read: read.parse().expect("a share from 0 to 1"),
        read_sizes: Sizes::fixed(number(bytes)),
        write_sizes: Sizes::fixed(number(bytes)),
        places: AddressPattern::Random,
        ..Profile::default()
    };
    let limit = Limit::Time(number(seconds) * SECOND);
    let config = Config { volumes: vec!["device".to_owned()], profile, limit, ..Config::default() };
    let storage = Storage { site: &site, nodes: vec![volume] };
    let (user, system) = cpu();
    let outcome = run(&config, &storage, &mut ()).expect("it runs");
    let (user, system) = (cpu().0 - user, cpu().1 - system);
    let kinds = outcome.totals[0].total.kinds.iter().flatten();
    let (mut latency, mut count) = (None, 0);
    for kind in kinds {
        count += kind.count;
        match &mut latency {
            None => latency = Some(kind.latency.clone()),
            Some(all) => *all += &kind.latency,
        }
    }
    let latency = latency.expect("there were requests");
    let at = |quantile: f64| latency.value_at_quantile(quantile) as f64 / 1e3;
    let per_io = |ns: u64| ns as f64 / count as f64;
    println!(
        "{{\"ios\": {count}, \"iops\": {:.0}, \"user_ns\": {:.1}, \"system_ns\": {:.1}, \"mean_us\": {:.2}, \
         \"p50_us\": {:.2}, \"p95_us\": {:.2}, \"p99_us\": {:.2}, \"p999_us\": {:.2}}}",
        count as f64 / (outcome.measured as f64 / SECOND as f64),
        per_io(user),
        per_io(system),
        latency.mean() / 1e3,
        at(0.5),
        at(0.95),
        at(0.99),
        at(0.999),
    );
}

fn open(device: &str, env: &Env) -> Handle {
    let opened = match device.split_once(':') {
        None if device == "null" => Null { size: 1 << 40 }.build(env, "device", Vec::new()),
        Some((how, path)) => {
            let direct = if how == "direct" { Direct::Require } else { Direct::Off };
            File { direct, ..File::of_path(path) }.build(env, "device", Vec::new())
        }
        None => panic!("`{device}` is no device: null, buffered:PATH or direct:PATH"),
    };
    opened.expect("the device opens")
}

/// User and system time of this process so far, ns.
fn cpu() -> (u64, u64) {
    // SAFETY: all-zero bytes are a valid rusage structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid structure for the length of the call.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    assert_eq!(status, 0, "a process may always ask for its own use");
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}
