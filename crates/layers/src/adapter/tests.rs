//! Claims about the adapter.

use fathom_conformance::Suite;
use fathom_runtime::{MILLISECOND, Runtime};
use fathom_volume::{Blueprint, Env, Geometry, Handle, Kind, Pool, Request};

use super::{Config, Split};
use crate::testing::{read, slow};

fn config(per_device: u32, per_adapter: Option<u32>) -> Config {
    Config {
        backing: "disk".into(),
        per_device,
        per_adapter,
        shared: per_adapter.map(|_| "scsi0".into()),
        max_transfer: Some(64 << 10),
        split: Split::Sequential,
    }
}

fn adapter(env: &Env, name: &str, config: &Config) -> Handle {
    let disk = slow(&env.context, &format!("{name}.disk"), Geometry::plain(64 << 20), MILLISECOND);
    config.build(env, name, vec![disk]).expect("it builds")
}

/// Sends `count` reads of `length` bytes at once to each volume and waits for all; the time it took in ms.
fn burst(runtime: &Runtime, pool: &Pool, volumes: &[Handle], count: u64, length: u64) -> u64 {
    let context = runtime.context();
    let start = context.now();
    let tasks: Vec<_> = (0..count)
        .flat_map(|number| volumes.iter().map(move |volume| (number, volume.clone())))
        .map(|(number, volume)| {
            let buf = pool.get(length as usize);
            context.spawn(async move { volume.read(Request::new(number * length, length), buf).await })
        })
        .collect();
    runtime
        .block_on(async {
            for task in tasks {
                task.await.expect("a read");
            }
        })
        .expect("all end");
    (context.now() - start) / MILLISECOND
}

#[test]
fn its_depth_is_a_fact() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let facts = |config: &Config| adapter(&env, "hba", config).facts();
    assert_eq!(facts(&config(64, None)), [("outstanding_limit", "64".to_owned())]);
    assert_eq!(facts(&config(64, Some(32))), [("outstanding_limit", "32".to_owned())]);
}

#[test]
fn a_device_that_works_on_less_at_once_does_not_change_the_fact() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let disk =
        slow(&env.context, "disk", Geometry { queue_depth: 118, ..Geometry::plain(64 << 20) }, MILLISECOND);
    let disk = config(254, None).build(&env, "hba", vec![disk]).expect("it builds");
    assert_eq!(disk.geometry().queue_depth, 118);
    assert_eq!(disk.facts(), [("outstanding_limit", "254".to_owned())]);
}

#[test]
fn no_more_requests_than_the_depth_reach_the_device() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let disk = adapter(&env, "a", &config(4, None));
    assert_eq!(burst(&runtime, &env.pool, std::slice::from_ref(&disk), 32, 4096), 8);
    let reads = disk.statistics().total(env.context.now());
    let reads = reads.kind(Kind::Read).expect("reads").clone();
    // Four at a time, 1 ms each: the last four of 32 waited for 7 ms and were served in one.
    assert_eq!((reads.latency.max() / MILLISECOND, reads.waiting.max() / MILLISECOND), (8, 7));
}

#[test]
fn disks_of_one_adapter_share_its_depth() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let shared = config(8, Some(8));
    let volumes: Vec<Handle> = ["a", "b", "c"].iter().map(|name| adapter(&env, name, &shared)).collect();
    assert_eq!(burst(&runtime, &env.pool, &volumes, 8, 4096), 3, "24 requests, 8 at a time");
    let own = Config { shared: None, ..shared };
    let volumes: Vec<Handle> = ["d", "e", "f"].iter().map(|name| adapter(&env, name, &own)).collect();
    assert_eq!(burst(&runtime, &env.pool, &volumes, 8, 4096), 1, "adapters of their own");
}

#[test]
fn large_requests_are_split_one_after_the_other_or_side_by_side() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let sequential = adapter(&env, "a", &config(32, None));
    assert_eq!(burst(&runtime, &env.pool, &[sequential], 1, 1 << 20), 16);
    let parallel = adapter(&env, "b", &Config { split: Split::Parallel, ..config(32, None) });
    assert_eq!(burst(&runtime, &env.pool, &[parallel], 1, 1 << 20), 1);
}

#[test]
fn pieces_one_after_the_other_add_their_waits_up() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    // Two requests of four pieces take turns at the only place: each waits for the other's pieces.
    let disk = adapter(&env, "a", &config(1, None));
    assert_eq!(burst(&runtime, &env.pool, std::slice::from_ref(&disk), 2, 256 << 10), 8);
    let reads = disk.statistics().total(env.context.now());
    let reads = reads.kind(Kind::Read).expect("reads").clone();
    assert_eq!((reads.latency_sum, reads.waiting_sum), (15 * MILLISECOND, 7 * MILLISECOND));
}

#[test]
fn two_depths_for_one_adapter_are_refused() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    adapter(&env, "a", &config(8, Some(8)));
    let disk = slow(&env.context, "b.disk", Geometry::plain(1 << 20), 0);
    let refused = config(8, Some(16)).build(&env, "b", vec![disk]).expect_err("8 is not 16");
    assert!(refused.to_string().contains("same per_adapter"), "{refused}");
}

#[test]
fn settings_are_read_and_mistakes_named() {
    let text = "backing = \"lun\"\nper_device = 64\nper_adapter = 256\nshared = \"scsi0\"\nmax_transfer = \"512KiB\"";
    let config = read(text, Config::read).expect("as the manual's example");
    assert_eq!(
        (config.per_device, config.per_adapter, config.max_transfer),
        (64, Some(256), Some(512 << 10))
    );
    let mistakes =
        read("backing = \"lun\"\nper_device = 0\nmax_transfer = \"5000B\"", Config::read).expect_err("two");
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
}

#[test]
fn it_conforms() {
    for split in [Split::Sequential, Split::Parallel] {
        Suite::new(move |bench| {
            let disk = bench.disk("disk", Geometry::plain((4 << 20) + 512));
            Config { split, max_transfer: Some(8 << 10), ..config(3, Some(2)) }.build(
                &bench.env,
                "volume",
                vec![disk],
            )
        })
        .check();
    }
}
