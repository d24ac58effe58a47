//! The closed loop of the benchmarks in virtual time: clients that think, one model device, every counter on.
//!
//! `closed_loop CLIENTS THINK_NS SERVERS SERVICE_NS SECONDS` prints one line of JSON: requests, simulated and CPU
//! seconds, requests per CPU second, throughput, mean latency, digest.

use std::time::Duration;

use fathom_devices::{Model, model};
use fathom_runtime::{Runtime, SECOND};
use fathom_volume::{Handle, Kind, Pool, Request};

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let [clients, think, servers, service, seconds] = numbers[..] else {
        panic!("closed_loop CLIENTS THINK_NS SERVERS SERVICE_NS SECONDS");
    };
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let pool = Pool::hollow();
    let time = model::ServiceTime::new(service, None);
    let service = model::Service {
        read: time,
        write: time,
        flush: 0,
        servers: u32::try_from(servers).expect("fewer than 2^32 servers"),
        shape: model::Shape::Exponential,
        volatile_cache: None,
    };
    let config = model::Config::new(1 << 40, service);
    let model = Model::new(&context, "model", &config, None).expect("sound settings");
    let volume = Handle::new(&context, "model", "model", model).expect("sound geometry");
    for client in 0..clients {
        let (own, volume, pool) = (context.clone(), volume.clone(), pool.clone());
        let mut random = context.random(&format!("client {client}"));
        context.spawn(async move {
            loop {
                own.sleep(random.exponential(think as f64) as u64).await;
                let offset = random.below(1 << 27) * 8192;
                volume.read(Request::new(offset, 8192), pool.get(8192)).await.expect("models do not fail");
            }
        });
    }
    let before = cpu();
    runtime.block_on(context.sleep(SECOND / 10)).expect("clients never end");
    volume.statistics().restart(context.now());
    runtime.block_on(context.sleep(seconds * SECOND)).expect("clients never end");
    let spent = (cpu() - before).as_secs_f64();
    let total = volume.statistics().total(context.now());
    let reads = total.kind(Kind::Read).expect("there were reads");
    let rate = reads.count as f64 / seconds as f64;
    println!(
        "{{\"requests\": {}, \"simulated_s\": {seconds}, \"cpu_s\": {spent:.4}, \"requests_per_cpu_s\": {:.0}, \
         \"throughput\": {rate:.1}, \"latency_ms\": {:.5}, \"digest\": \"{}\"}}",
        reads.count,
        reads.count as f64 / spent,
        reads.latency_mean().expect("there were reads") / 1e6,
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
