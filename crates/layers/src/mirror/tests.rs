//! Claims about the mirror.

use fathom_runtime::{MILLISECOND, Runtime};
use fathom_volume::conformance::Suite;
use fathom_volume::{Blueprint, Env, Geometry, Handle, Kind, Pool, Request};

use super::{Config, ReadPolicy, combined};
use crate::testing::{read, slow};

fn config(legs: usize) -> Config {
    Config { legs: (0..legs).map(|leg| format!("leg{leg}")).collect(), read: ReadPolicy::Balanced }
}

fn count(handle: &Handle, kind: Kind, now: u64) -> u64 {
    handle.statistics().total(now).kind(kind).map_or(0, |counters| counters.count)
}

#[test]
fn the_smallest_leg_and_the_strictest_limits_count() {
    let large = Geometry { queue_depth: 32, max_transfer: 1 << 20, ..Geometry::plain(10 << 20) };
    let small = Geometry { physical_sector: 4096, queue_depth: 64, ..Geometry::plain(8 << 20) };
    let whole = combined(&[&large, &small]).expect("there are legs");
    assert_eq!(
        (whole.size, whole.physical_sector, whole.max_transfer, whole.queue_depth),
        (8 << 20, 4096, 1 << 20, 96)
    );
    assert_eq!(combined(&[]), None);
}

#[test]
fn a_write_costs_every_leg_one_and_waits_for_the_slowest_and_a_read_costs_one() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let spans = [MILLISECOND, 3 * MILLISECOND];
    let legs: Vec<Handle> = (0..2)
        .map(|leg| slow(&env.context, &format!("leg{leg}"), Geometry::plain(1 << 20), spans[leg]))
        .collect();
    let mirror = config(2).build(&env, "mirror", legs.clone()).expect("it builds");
    let ask = async {
        mirror.write(Request::new(0, 4096), env.pool.get(4096)).await.expect("a write");
        let written = env.context.now();
        for number in 0..10 {
            mirror.read(Request::new(number * 4096, 4096), env.pool.get(4096)).await.expect("a read");
        }
        written
    };
    assert_eq!(runtime.block_on(ask).expect("it ends"), 3 * MILLISECOND);
    let now = env.context.now();
    let writes: Vec<u64> = legs.iter().map(|leg| count(leg, Kind::Write, now)).collect();
    let reads: Vec<u64> = legs.iter().map(|leg| count(leg, Kind::Read, now)).collect();
    assert_eq!((writes, reads), (vec![1, 1], vec![5, 5]));
}

#[test]
fn a_busy_leg_is_spared() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let spans = [MILLISECOND, 9 * MILLISECOND];
    let legs: Vec<Handle> = (0..2)
        .map(|leg| slow(&env.context, &format!("leg{leg}"), Geometry::plain(1 << 20), spans[leg]))
        .collect();
    let mirror = config(2).build(&env, "mirror", legs.clone()).expect("it builds");
    // Two users in a closed loop: the slow leg holds one of them nine times as long.
    let users: Vec<_> = (0..2)
        .map(|_| {
            let (mirror, env) = (mirror.clone(), env.clone());
            env.context.clone().spawn(async move {
                while env.context.now() < 90 * MILLISECOND {
                    mirror.read(Request::new(0, 4096), env.pool.get(4096)).await.expect("a read");
                }
            })
        })
        .collect();
    runtime
        .block_on(async {
            for user in users {
                user.await;
            }
        })
        .expect("all end");
    let [fast, slow] = [0, 1].map(|leg| count(&legs[leg], Kind::Read, env.context.now()));
    assert!(fast > 4 * slow, "{fast} reads of the fast leg, {slow} of the slow one");
}

#[test]
fn settings_are_read_and_mistakes_named() {
    assert_eq!(read("legs = [\"leg0\", \"leg1\"]", Config::read), Ok(config(2)));
    for text in ["legs = []", "legs = [\"a\", \"a\"]", "read = \"first\"", "legs = [\"a\"]\nread = \"last\""]
    {
        assert_eq!(read(text, Config::read).expect_err(text).len(), 1, "{text}");
    }
}

#[test]
fn it_conforms_with_one_leg_and_with_three() {
    for legs in [1, 3] {
        Suite::new(move |bench| {
            let names = (0..legs).map(|leg| format!("leg{leg}"));
            let members = names.map(|name| bench.disk(&name, Geometry::plain((2 << 20) + 512))).collect();
            config(legs).build(&bench.env, "volume", members)
        })
        .check();
    }
}
