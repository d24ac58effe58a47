//! What the `io` workload costs per request: the generator alone, with a volume that answers at once in both clocks,
//! and with one modelled device in virtual time. Run with `cargo bench -p fathom-workload`.

use fathom_devices::model::{Config as ModelConfig, Service, ServiceTime, Shape};
use fathom_devices::null::Config as NullConfig;
use fathom_devices::{Model, Null};
use fathom_job::Storage;
use fathom_job::draw::{Scramble, Sizes, Zipf};
use fathom_runtime::{MICROSECOND, RingSetup};
use fathom_volume::{Handle, Site};
use fathom_workload::io::{AddressPattern, Config, Limit, Profile, run};

const REQUESTS: u64 = 5_000_000;
const ROUNDS: u32 = 5;

/// CPU time of this process, ns.
fn cpu() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the length of the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The best of a few rounds: other load on the machine only ever adds.
fn report(name: &str, mut work: impl FnMut() -> u64) {
    let round = || {
        let begin = cpu();
        let requests = work();
        (cpu() - begin) as f64 / requests as f64
    };
    let best = std::iter::repeat_with(round).take(ROUNDS as usize).fold(f64::INFINITY, f64::min);
    println!("{name:<44} {best:7.1} ns  {:6.2} M/s", 1e3 / best);
}

fn drive(site: &Site, volume: Handle, profile: &Profile) -> u64 {
    let config = Config {
        volumes: vec![volume.name().to_owned()],
        profile: profile.clone(),
        limit: Limit::Requests(REQUESTS),
        ..Config::default()
    };
    let bench = Storage { site, nodes: vec![volume] };
    let outcome = run(&config, &bench, &mut ()).expect("it runs");
    outcome.totals[0].total.kinds.iter().flatten().map(|kind| kind.count).sum()
}

fn null(site: &Site) -> Handle {
    let null = Null::new(&NullConfig { size: 1 << 40 });
    Handle::new(&site.context(), "null", "null", null).expect("the geometry is sound")
}

fn model(site: &Site, shape: Shape) -> Handle {
    let time = ServiceTime::new(100 * MICROSECOND, Some(2e9));
    let service = Service { read: time, write: time, flush: 0, servers: 32, shape, volatile_cache: None };
    let context = site.context();
    let model =
        Model::new(&context, "model", &ModelConfig::new(1 << 40, service), None).expect("sound settings");
    Handle::new(&context, "model", "model", model).expect("the geometry is sound")
}

fn main() {
    let sized = |read, places| Profile {
        outstanding: 32,
        read,
        read_sizes: Sizes::fixed(8192),
        write_sizes: Sizes::fixed(8192),
        places,
        ..Profile::default()
    };
    report("zipf 0.99 over 2^27 blocks, scrambled", || {
        let (zipf, scramble) = (Zipf::new(1 << 27, 0.99), Scramble::new(1 << 27));
        let mut random = fathom_runtime::Random::new(1, "bench");
        let sum = (0..REQUESTS).fold(0, |sum: u64, _| sum ^ scramble.map(zipf.draw(&mut random)));
        std::hint::black_box(sum);
        REQUESTS
    });
    for (name, places) in [
        ("random", AddressPattern::Random),
        ("sequential", AddressPattern::Sequential),
        ("zipf", AddressPattern::Zipf(0.99)),
    ] {
        report(&format!("null, real clock, 8 KiB {name}, depth 32"), || {
            let site = Site::real(RingSetup::default(), 1).expect("io_uring is there");
            drive(&site, null(&site), &sized(1.0, places))
        });
    }
    report("null, virtual clock, 70/30, depth 32", || {
        let site = Site::virtual_time(1, false);
        drive(&site, null(&site), &sized(0.7, AddressPattern::Random))
    });
    for (name, shape) in [("constant", Shape::Constant), ("exponential", Shape::Exponential)] {
        report(&format!("model, virtual clock, {name}, 70/30, depth 32"), || {
            let site = Site::virtual_time(1, false);
            drive(&site, model(&site, shape.clone()), &sized(0.7, AddressPattern::Random))
        });
    }
}
