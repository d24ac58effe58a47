//! Simulated I/Os per second of CPU through adapter, throttle and stripe over four model devices, hollow, every counter
//! on.
//!
//! `full_stack [USERS [SECONDS]]` prints one line of JSON per case: `queued` has more users than places at the adapter
//! and a throttle that is the bottleneck, so that each request waits three times (place, token, device); `busy` has as
//! many users as the devices serve and waits for the device only. The run is cut into slices; the fastest of them tells
//! what the code costs where other programs disturb the others.

use std::time::Duration;

use fathom_devices::model;
use fathom_layers::{adapter, stripe, throttle};
use fathom_runtime::{MILLISECOND, Runtime, SECOND};
use fathom_volume::{Blueprint, Env, Handle, Kind, Pool, Request};

const MEMBERS: usize = 4;
const SLICES: u64 = 50;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let users = numbers.first().copied().unwrap_or(128);
    let seconds = numbers.get(1).copied().unwrap_or(100);
    run("queued", users, seconds, 48_000.0);
    run("busy", 32.min(users), seconds, 1e6);
}

/// The stack, from the devices up.
fn build(env: &Env, iops: f64) -> Handle {
    let time = model::ServiceTime::new(MILLISECOND, None);
    let service = model::Service {
        read: time,
        write: time,
        flush: 0,
        servers: 16,
        shape: model::Shape::Exponential,
        volatile_cache: None,
    };
    let device = model::Config::new(1 << 40, service);
    let names: Vec<String> = (0..MEMBERS).map(|index| format!("ebs{index}")).collect();
    let members =
        names.iter().map(|name| device.build(env, name, Vec::new()).expect("sound settings")).collect();
    let striped = stripe::Config { members: names, chunk: stripe::Config::DEFAULT_CHUNK };
    let striped = striped.build(env, "striped", members).expect("sound settings");
    let limits = throttle::Limits {
        iops: Some(throttle::Allowance::of(iops)),
        bytes: Some(throttle::Allowance::of(1e9)),
        quantum: Some(256 << 10),
        ..throttle::Limits::default()
    };
    let capped = throttle::Config { backing: "striped".to_owned(), limits, shared: None };
    let capped = capped.build(env, "capped", vec![striped]).expect("sound settings");
    let adapter = adapter::Config {
        backing: "capped".to_owned(),
        per_device: 64,
        per_adapter: Some(256),
        shared: Some("scsi0".to_owned()),
        max_transfer: Some(512 << 10),
        split: adapter::Split::Sequential,
    };
    adapter.build(env, "data", vec![capped]).expect("sound settings")
}

/// Runs one case, checks its answer and prints its line.
pub fn run(case: &str, users: u64, seconds: u64, iops: f64) {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let env = Env::new(context.clone(), Pool::hollow());
    let volume = build(&env, iops);
    for user in 0..users {
        let (volume, pool) = (volume.clone(), env.pool.clone());
        let mut random = context.random(&format!("user {user}"));
        context.spawn(async move {
            loop {
                let offset = random.below(1 << 27) * 8192;
                volume.read(Request::new(offset, 8192), pool.get(8192)).await.expect("nothing fails");
            }
        });
    }
    runtime.block_on(context.sleep(SECOND / 10)).expect("users never end");
    volume.statistics().restart(context.now());
    let (mut spent, mut best) = (0.0, 0.0_f64);
    for _ in 0..SLICES {
        let before = cpu();
        runtime.block_on(context.sleep(seconds * SECOND / SLICES)).expect("users never end");
        let slice = (cpu() - before).as_secs_f64();
        let done = volume.statistics().interval(context.now());
        best = best.max(done.kind(Kind::Read).map_or(0.0, |reads| reads.count as f64 / slice));
        spent += slice;
    }
    let total = volume.statistics().total(context.now());
    let reads = total.kind(Kind::Read).expect("there were reads");
    let (rate, latency) =
        (reads.count as f64 / seconds as f64, reads.latency_mean().expect("there were reads"));
    assert!(rate <= iops * 1.001 + 1.0, "{rate} IOPS through a throttle of {iops}");
    let outstanding = rate * latency / 1e9;
    assert!(
        (outstanding / users as f64 - 1.0).abs() < 0.02,
        "{outstanding} outstanding by Little's law, {users} users"
    );
    println!(
        "{{\"case\": \"{case}\", \"requests\": {}, \"requests_per_cpu_s\": {:.0}, \"fastest_slice\": {best:.0}, \
         \"iops\": {:.0}, \"latency_ms\": {:.4}, \"waiting_ms\": {:.4}, \"digest\": \"{}\"}}",
        reads.count,
        reads.count as f64 / spent,
        rate,
        latency / 1e6,
        reads.waiting_mean().expect("there were reads") / 1e6,
        context.digest().finish().0,
    );
}

/// User and system time of this process.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the length of the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the process clock is always there");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
