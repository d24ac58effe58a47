//! Sessions that commit at one log in virtual time: simulated time and CPU time of a commit by the number of sessions.
//!
//! `cargo run --release -p fathom-engine --example commits`

use std::rc::Rc;

use fathom_devices::Model;
use fathom_devices::model::{Config, Service, ServiceTime, Shape};
use fathom_engine::log::{Log, Settings};
use fathom_runtime::{MICROSECOND, Nanos, Runtime};
use fathom_volume::{Handle, Pool};

/// Commits of each line.
const COMMITS: u64 = 1_000_000;
/// Bytes of a commit's records.
const RECORD: u64 = 300;

/// CPU time of this thread so far, ns.
fn cpu() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("its first word is a time")
}

fn main() {
    println!("a log whose write takes 100 us and 1 us per KiB, {COMMITS} commits of {RECORD} bytes");
    println!(
        "{:>8} {:>14} {:>12} {:>16} {:>13}",
        "sessions", "us per commit", "latency us", "commits per write", "CPU ns each"
    );
    for sessions in [100, 1_000, 10_000] {
        line(sessions);
    }
}

fn line(sessions: u64) {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let time = ServiceTime::new(100 * MICROSECOND, Some(1e9));
    let service = Service {
        read: time,
        write: time,
        flush: 0,
        servers: 1,
        shape: Shape::Constant,
        volatile_cache: None,
    };
    let model = Model::new(&context, "log", &Config::new(1 << 40, service), None).expect("sound settings");
    let volume = Handle::new(&context, "log", "model", model).expect("the geometry is sound");
    let log = Log::new(&context, &Pool::hollow(), &volume, Settings::sql_server(4096, 1 << 40));
    let each = COMMITS / sessions;
    let session = |_| {
        let log = Rc::clone(&log);
        context.spawn(async move {
            for _ in 0..each {
                log.append(RECORD).await.expect("the disk does not fail");
                log.commit().await.expect("the disk does not fail");
            }
        })
    };
    let begin = cpu();
    let sessions_begun: Vec<_> = (0..sessions).map(session).collect();
    let done = runtime.block_on(async {
        for session in sessions_begun {
            session.await;
        }
    });
    done.expect("nothing waits for ever");
    let (spent, commits) = (cpu() - begin, (each * sessions) as f64);
    let simulated = context.now() as f64 / 1e3;
    println!(
        "{sessions:>8} {:>14.3} {:>12.0} {:>16.1} {:>13.0}",
        simulated / commits,
        simulated / each as f64,
        commits / log.writes() as f64,
        spent as f64 / commits
    );
}
