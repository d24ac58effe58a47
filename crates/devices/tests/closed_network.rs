//! The model device in virtual time against the exact solution of the same closed network: clients that think for an
//! exponential time, one queue, exponential servers in parallel.

use fathom_devices::{Model, model};
use fathom_runtime::{MILLISECOND, Nanos, Runtime, SECOND};
use fathom_volume::{Handle, Kind, Pool, Request};

const SERVERS: u32 = 32;
const SERVICE: Nanos = MILLISECOND;
const THINK: Nanos = 10 * MILLISECOND;

/// Throughput per second and mean response time in seconds of the machine-repairman network M/M/c//N with think time:
/// the stationary distribution of the birth-death chain on the number at the device, in logarithms because its terms
/// span hundreds of orders of magnitude (Kleinrock, Queueing Systems I, 3.8).
fn exact(clients: u32, think_s: f64, servers: u32, service_s: f64) -> (f64, f64) {
    // log p(k) up to a constant: births at (N - k) / Z, deaths at min(k, c) / S.
    let mut logs = vec![0.0_f64];
    for k in 0..clients {
        let birth = f64::from(clients - k) / think_s;
        let death = f64::from((k + 1).min(servers)) / service_s;
        logs.push(logs[k as usize] + birth.ln() - death.ln());
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean = |value: &dyn Fn(u32) -> f64| {
        (0..).zip(&weights).map(|(k, weight)| value(k) * weight).sum::<f64>() / total
    };
    let throughput = mean(&|k| f64::from(k.min(servers)) / service_s);
    (throughput, mean(&|k| f64::from(k)) / throughput)
}

/// The same measured on the model: throughput per second, mean response and mean waiting time in seconds.
fn simulated(clients: u32, seconds: u64) -> (f64, f64, f64) {
    let runtime = Runtime::virtual_time(7);
    let context = runtime.context();
    let pool = Pool::hollow();
    let time = model::ServiceTime::new(SERVICE, None);
    let service = model::Service {
        read: time,
        write: time,
        flush: 0,
        servers: SERVERS,
        shape: model::Shape::Exponential,
        volatile_cache: None,
    };
    let config = model::Config::new(1 << 40, service);
    let model = Model::new(&context, "model", &config, None).expect("sound settings");
    let volume = Handle::new(&context, "model", "model", model).expect("sound geometry");
    for client in 0..clients {
        let (clock, volume, pool) = (context.clone(), volume.clone(), pool.clone());
        let mut random = context.random(&format!("client {client}"));
        context.spawn(async move {
            loop {
                clock.sleep(random.exponential(THINK as f64) as Nanos).await;
                volume.read(Request::new(0, 8192), pool.get(8192)).await.expect("models do not fail");
            }
        });
    }
    runtime.block_on(context.sleep(SECOND)).expect("clients never end");
    volume.statistics().restart(context.now());
    runtime.block_on(context.sleep(seconds * SECOND)).expect("clients never end");
    let total = volume.statistics().total(context.now());
    let reads = total.kind(Kind::Read).expect("there were reads");
    let mean = |sum: Option<f64>| sum.expect("there were reads") / SECOND as f64;
    (reads.count as f64 / seconds as f64, mean(reads.latency_mean()), mean(reads.waiting_mean()))
}

#[test]
fn the_solver_gives_the_published_values() {
    // Solved elsewhere: throughput per second, response time in ms.
    for (clients, throughput, response_ms) in
        [(34, 3090.9, 1.000), (233, 21_179.8, 1.0011), (340, 30_308.0, 1.218), (377, 31_841.0, 1.840)]
    {
        let (x, r) = exact(clients, 0.01, SERVERS, 0.001);
        assert!((x / throughput - 1.0).abs() < 1e-4, "{clients} clients: {x} per second");
        assert!((r * 1e3 - response_ms).abs() < 1e-3, "{clients} clients: {} ms", r * 1e3);
    }
}

#[test]
fn throughput_and_response_times_are_the_exact_ones() {
    for (clients, seconds) in [(34, 300), (233, 40), (340, 40), (377, 40)] {
        let (x, r) = exact(clients, THINK as f64 / 1e9, SERVERS, SERVICE as f64 / 1e9);
        let (throughput, response, waiting) = simulated(clients, seconds);
        let error = throughput / x - 1.0;
        assert!(error.abs() < 0.005, "{clients} clients: {throughput:.1} per second, exactly {x:.1}");
        assert!((response / r - 1.0).abs() < 0.02, "{clients} clients: {response:.6} s, exactly {r:.6}");
        // What is not waiting is service.
        let service = response - waiting;
        assert!((service * 1e3 - 1.0).abs() < 0.01, "{clients} clients: {service:.6} s of service");
    }
}
