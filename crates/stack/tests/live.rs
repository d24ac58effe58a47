//! A live tree: order, names, payload, the outside.

use fathom_catalogue::Catalogue;
use fathom_runtime::{Clock, RingSetup};
use fathom_settings::{Diagnostics, Tree};
use fathom_stack::{Stack, Volumes};
use fathom_volume::{Kind, Request, Site};

const TEXT: &str = r#"
[volumes.top]
kind = "sector"
backing = "stripe"

[volumes.stripe]
kind = "stripe"
members = ["a", "b"]

[volumes.a]
kind = "memory"
size = "1MiB"

[volumes.b]
kind = "memory"
size = "1MiB"

[volumes.unused]
kind = "memory"
size = "1MiB"
"#;

fn volumes(text: &str) -> Volumes {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let volumes = Volumes::read(&mut tree.section(&diagnostics), &Catalogue::builtin());
    assert!(volumes.check(&diagnostics), "{:?}", diagnostics.list());
    volumes
}

fn site(clock: Clock, payload: bool) -> Site {
    match clock {
        Clock::Virtual => Site::virtual_time(1, payload),
        Clock::Real => Site::real(RingSetup::default(), 1).expect("an io_uring"),
    }
}

#[test]
fn what_is_used_is_built_from_the_devices_up() {
    let site = site(Clock::Virtual, false);
    let stack = Stack::build(&volumes(TEXT), &["top".to_owned()], &site).expect("it can be built");
    let names: Vec<&str> = stack.nodes().iter().map(|node| node.name()).collect();
    assert_eq!(names, ["a", "b", "stripe", "top"]);
    assert_eq!(stack.get("top").map(|top| top.geometry().size), Some(2 << 20));
    assert!(stack.get("unused").is_none() && site.pool().is_hollow());
}

#[test]
fn bytes_come_back_in_both_clocks() {
    for clock in [Clock::Virtual, Clock::Real] {
        let site = site(clock, true);
        let stack = Stack::build(&volumes(TEXT), &["top".to_owned()], &site).expect("it can be built");
        let top = stack.get("top").expect("it was built");
        let back = site.pool().get(128 << 10);
        let bytes: Vec<u8> = (0..128_u32 << 10).map(|at| (at / 512) as u8).collect();
        let work = async {
            top.write(Request::new(65_536, 128 << 10), site.pool().copy_of(&bytes)).await?;
            top.read(Request::new(65_536, 128 << 10), back.clone()).await
        };
        site.runtime().block_on(work).expect("no deadlock").expect("memory does not fail");
        back.with(|found| assert_eq!(found, bytes));
    }
}

#[test]
fn a_leg_is_flushed_by_its_mirror_alone_and_what_lies_below_a_cache_by_itself() {
    const LEGS: [&str; 4] = ["pair", "half", "a", "b"];
    let text = r#"
[volumes.top]
kind = "writeback"
backing = "pair"
cache = "fast"
segment = "64KiB"

[volumes.pair]
kind = "mirror"
legs = ["half", "b"]
initial = "blank"

[volumes.half]
kind = "stripe"
members = ["a"]

[volumes.a]
kind = "memory"
size = "16MiB"

[volumes.b]
kind = "memory"
size = "16MiB"

[volumes.fast]
kind = "memory"
size = "16MiB"
"#;
    let site = site(Clock::Virtual, true);
    let stack = Stack::build(&volumes(text), &["top".to_owned()], &site).expect("it can be built");
    let lifecycle = stack.lifecycle();
    let flushes = |name: &str| {
        let total = stack.get(name).expect("it was built").statistics().total(site.context().now());
        total.kind(Kind::Flush).map_or(0, |flushes| flushes.count)
    };
    let work = async {
        lifecycle.ready().await?;
        lifecycle.close().await?;
        let before = LEGS.map(flushes);
        lifecycle.flush().await?;
        Ok::<_, fathom_volume::Error>(before)
    };
    let before = site.runtime().block_on(work).expect("no deadlock").expect("memory does not fail");
    let after = LEGS.map(flushes);
    // A leg that vanishes between the mirror's flush and one of its own would be called a loss.
    let more: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(more, [1; 4]);
    assert!(flushes("fast") > 0);
}
