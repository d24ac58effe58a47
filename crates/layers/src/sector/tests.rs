//! The cover against its definition, and the layer against the suite and its counters.

use fathom_conformance::{Fixture, Suite};
use fathom_runtime::Runtime;
use fathom_volume::{Blueprint, Env, Geometry, Handle, Kind, Pool, Request, Result};
use proptest::prelude::*;

use super::{Config, Cover};

const MIB: u64 = 1 << 20;

fn config(logical_sector: u32, physical_sector: u32) -> Config {
    Config { backing: "below".to_owned(), logical_sector, physical_sector }
}

fn drive(logical_sector: u32, physical_sector: u32) -> Geometry {
    let atomic_write = physical_sector;
    Geometry {
        logical_sector,
        physical_sector,
        atomic_write,
        volatile_cache: true,
        ..Geometry::plain(2 * MIB)
    }
}

fn build(bench: &Fixture, reported: (u32, u32), below: Geometry) -> Result<Handle> {
    config(reported.0, reported.1).build(&bench.env, "sectors", vec![bench.disk("below", below)])
}

#[test]
fn it_conforms_with_small_sectors_on_a_4kn_drive() {
    Suite::new(|bench| build(bench, (512, 512), drive(4096, 4096))).check();
    Suite::new(|bench| build(bench, (512, 4096), drive(4096, 4096))).check();
}

#[test]
fn it_conforms_with_512n_shown_on_a_512e_drive() {
    let below = Geometry { size: 2 * MIB + 5 * 512, ..drive(512, 4096) };
    Suite::new(|bench| build(bench, (512, 512), below.clone())).check();
}

#[test]
fn it_conforms_with_large_sectors_on_small_ones() {
    let below = Geometry { size: 2 * MIB + 5 * 512, ..drive(512, 512) };
    Suite::new(|bench| build(bench, (4096, 4096), below.clone())).check();
}

#[test]
fn it_conforms_over_a_drive_that_takes_short_transfers_only() {
    let below = Geometry { max_transfer: 20 << 10, ..drive(4096, 4096) };
    Suite::new(|bench| build(bench, (512, 512), below.clone())).check();
}

proptest! {
    /// Against the definition, byte by byte.
    #[test]
    fn a_cover_tells_whole_units_from_partial_ones(unit in 1..9_u64, offset in 0..60_u64, length in 1..60_u64) {
        let cover = Cover::new(unit, offset, length);
        let mut partial = Vec::new();
        let mut whole = Vec::new();
        for index in offset / unit..=(offset + length - 1) / unit {
            let start = index * unit;
            let covered = (start..start + unit).filter(|byte| (offset..offset + length).contains(byte)).count() as u64;
            if covered == unit { whole.push(start) } else { partial.push(start) }
        }
        prop_assert_eq!(cover.partial().collect::<Vec<_>>(), partial);
        prop_assert_eq!((cover.inner.end - cover.inner.start) / unit, whole.len() as u64);
        prop_assert!(whole.is_empty() || whole[0] == cover.inner.start);
        prop_assert_eq!(cover.outer, offset / unit * unit..(offset + length).div_ceil(unit) * unit);
    }
}

/// What one write of `length` bytes at `offset` does to a 4Kn drive below: reads, writes, bytes written.
fn cost(offset: u64, length: u64) -> (u64, u64, u64) {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let below = crate::testing::null(&env.context, "below", drive(4096, 4096));
    let sectors = config(512, 512).build(&env, "s", vec![below.clone()]).expect("it fits");
    let write = sectors.write(Request::new(offset, length), env.pool.get(length as usize));
    runtime.block_on(write).expect("nothing waits").expect("null does not fail");
    let total = below.statistics().total(0);
    let count = |kind| total.kind(kind).map_or((0, 0), |counted| (counted.count, counted.bytes));
    let (reads, (writes, bytes)) = (count(Kind::Read).0, count(Kind::Write));
    assert_eq!(sectors.counters(), [("rmw_writes", u64::from(reads > 0)), ("rmw_reads", reads)]);
    (reads, writes, bytes)
}

#[test]
fn a_write_costs_a_read_per_sector_it_covers_in_part_and_one_write() {
    assert_eq!(cost(0, 4096), (0, 1, 4096));
    assert_eq!(cost(8192, 61440), (0, 1, 61440));
    assert_eq!(cost(0, 512), (1, 1, 4096));
    assert_eq!(cost(512, 2048), (1, 1, 4096));
    assert_eq!(cost(0, 3584), (1, 1, 4096));
    assert_eq!(cost(2048, 4096), (2, 1, 8192));
    assert_eq!(cost(4096, 4608), (1, 1, 8192));
    assert_eq!(cost(3584, 9216), (2, 1, 16384));
    assert_eq!(cost(3584, 8704), (1, 1, 12288));
    assert_eq!(cost(3584, 8192), (2, 1, 12288));
}

#[test]
fn head_and_tail_are_read_side_by_side_and_only_writers_of_the_same_sector_wait() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let below = crate::testing::slow(&env.context, "below", drive(4096, 4096), 100);
    let sectors = config(512, 512).build(&env, "s", vec![below]).expect("it fits");
    let mut tasks = Vec::new();
    // Two in one sector, one beside them, one that reaches from that sector into the next.
    for (offset, length) in [(0, 512), (512, 512), (8192, 512), (2048, 4096)] {
        let (sectors, context, buf) = (sectors.clone(), env.context.clone(), env.pool.get(length as usize));
        tasks.push(env.context.spawn(async move {
            sectors.write(Request::new(offset, length), buf).await.expect("it does not fail");
            context.now()
        }));
    }
    let ends = runtime.block_on(async {
        let mut ends = Vec::new();
        for task in tasks {
            ends.push(task.await);
        }
        ends
    });
    assert_eq!(ends, Ok(vec![200, 400, 200, 600]));
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let refusal = |reported: (u32, u32), below: Geometry| {
        let below = vec![crate::testing::null(&env.context, "below", below)];
        config(reported.0, reported.1).build(&env, "log", below).expect_err("it does not fit").to_string()
    };
    assert!(
        refusal((512, 8192), drive(512, 512)).starts_with("volume `log` (sector): a physical sector of 8192")
    );
    assert!(refusal((512, 513), drive(512, 512)).contains("physical sector is 513 bytes"));
    assert!(refusal((4096, 512), drive(512, 512)).contains("smaller than the logical sector"));
    let odd = Geometry { size: 2 * MIB + 512, ..drive(512, 4096) };
    let shown = config(512, 512).build(&env, "s", vec![crate::testing::null(&env.context, "below", odd)]);
    assert_eq!(
        shown.expect("it fits").geometry().size,
        2 * MIB,
        "a sector in part cannot be rewritten as a whole"
    );
    let torn = Geometry { atomic_write: 512, ..drive(512, 4096) };
    assert!(refusal((512, 512), torn.clone()).contains("atomic"));
    let aligned =
        config(4096, 4096).build(&env, "s", vec![crate::testing::null(&env.context, "below", torn)]);
    assert!(aligned.is_ok(), "no write needs a read, so nothing can tear");
}

#[test]
fn settings_are_read_and_checked() {
    let read = |text: &str| crate::testing::read(text, Config::read);
    assert_eq!(read("backing = \"nvme\""), Ok(Config { backing: "nvme".to_owned(), ..config(512, 512) }));
    let text = "backing = \"b\"\nlogical_sector = 512\nphysical_sector = \"4KiB\"";
    assert_eq!(read(text), Ok(Config { backing: "b".to_owned(), ..config(512, 4096) }));
    let wrong = read("logical_sector = \"4KiB\"\nphysical_sector = 512").expect_err("it is wrong twice");
    assert!(
        wrong[0].contains("backing: it is missing") && wrong[1].contains("less than the logical sector"),
        "{wrong:?}"
    );
    let wrong = read("backing = \"b\"\nlogical_sector = 520\nphysical_sector = \"8KiB\"")
        .expect_err("both are wrong");
    assert!(wrong[0].contains("no disk has sectors of 520 bytes") && wrong[1].contains("8192"), "{wrong:?}");
}
