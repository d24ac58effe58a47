//! The layout against its definition, and the stripe against the suite.

use fathom_conformance::{Fixture, Suite};
use fathom_runtime::Runtime;
use fathom_volume::{Blueprint, Env, Geometry, Handle, Kind, Pool, Request, Result};
use proptest::prelude::*;

use super::{Config, Layout, Run};

const MIB: u64 = 1 << 20;

fn config(members: usize, chunk: u64) -> Config {
    Config { members: (0..members).map(|index| format!("m{index}")).collect(), chunk }
}

fn build(bench: &Fixture, chunk: u64, members: &[Geometry]) -> Result<Handle> {
    let disks = members
        .iter()
        .enumerate()
        .map(|(index, geometry)| bench.disk(&format!("m{index}"), geometry.clone()));
    config(members.len(), chunk).build(&bench.env, "striped", disks.collect())
}

fn volatile(size: u64) -> Geometry {
    Geometry { volatile_cache: true, atomic_write: 16 << 10, ..Geometry::plain(size) }
}

#[test]
fn it_conforms_over_three_members_of_different_sizes() {
    let members = [MIB + 512, MIB + 70_144, 2 * MIB].map(volatile);
    Suite::new(|bench| build(bench, Config::DEFAULT_CHUNK, &members)).check();
}

#[test]
fn it_conforms_over_members_that_take_short_transfers_only() {
    let short = |size, max_transfer| Geometry { max_transfer, ..volatile(size) };
    let members = [short(MIB, 24 << 10), short(MIB, 40 << 10)];
    Suite::new(|bench| build(bench, 48 << 10, &members)).check();
}

#[test]
fn it_conforms_over_one_member_and_over_different_sectors() {
    Suite::new(|bench| build(bench, 16 << 10, &[volatile(2 * MIB)])).check();
    let large =
        Geometry { logical_sector: 4096, physical_sector: 4096, atomic_write: 4096, ..volatile(4 * MIB) };
    Suite::new(|bench| build(bench, 16 << 10, &[volatile(4 * MIB), large.clone()])).check();
}

proptest! {
    /// Against the definition: chunk by chunk, byte by byte.
    #[test]
    fn runs_and_pieces_cover_each_byte_once_and_in_its_place(
        chunk in 1..40_u64, members in 1..7_usize, offset in 0..500_u64, length in 1..500_u64,
    ) {
        let layout = Layout::new(chunk, members);
        let place = |byte: u64| {
            let number = byte / chunk;
            ((number % members as u64) as usize, number / members as u64 * chunk + byte % chunk)
        };
        let mut covered = vec![0; length as usize];
        let runs: Vec<Run> = layout.runs(offset, length).collect();
        for run in &runs {
            let mut done = 0;
            for (in_run, in_request) in layout.pieces(*run, offset) {
                prop_assert_eq!(in_run.start, done);
                prop_assert_eq!(in_run.len(), in_request.len());
                for (from, to) in in_run.clone().zip(in_request) {
                    prop_assert_eq!(place(offset + to as u64), (run.member, run.offset + from as u64));
                    covered[to] += 1;
                }
                done = in_run.end;
            }
            prop_assert_eq!(done as u64, run.length);
        }
        prop_assert!(covered.iter().all(|count| *count == 1));
        let mut seen: Vec<usize> = runs.iter().map(|run| run.member).collect();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), runs.len(), "one run per member");
        let whole = runs.len() == 1 && layout.pieces(runs[0], offset).count() == 1;
        prop_assert_eq!(layout.is_whole(offset, length), whole);
    }

    #[test]
    fn an_aligned_page_is_never_divided(
        units in 1..20_u64, members in 1..9_usize, page in 0..10_000_u64, part in 0..32_u64,
    ) {
        let layout = Layout::new(units * (16 << 10), members);
        prop_assert!(layout.is_whole(page * (16 << 10), 16 << 10));
        prop_assert!(layout.is_whole(page * (16 << 10) + part * 512, 512));
    }

    #[test]
    fn a_byte_lies_where_it_is_looked_for(chunk in 1..100_u64, members in 1..9_usize, offset in 0..100_000_u64) {
        let layout = Layout::new(chunk, members);
        let (member, within) = layout.locate(offset);
        prop_assert_eq!(layout.volume_offset(member, within), offset);
    }
}

fn null_members(env: &Env, geometries: &[Geometry]) -> Vec<Handle> {
    let member = |(index, geometry): (usize, &Geometry)| {
        crate::testing::null(&env.context, &format!("m{index}"), geometry.clone())
    };
    geometries.iter().enumerate().map(member).collect()
}

#[test]
fn geometry_is_what_the_members_are_together() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let one = Geometry { queue_depth: 64, atomic_write: 32 << 10, ..Geometry::plain(10 * MIB + 512) };
    let other = Geometry { queue_depth: 32, physical_sector: 4096, volatile_cache: true, ..one.clone() };
    let striped =
        config(2, 96 << 10).build(&env, "s", null_members(&env, &[one.clone(), other])).expect("it fits");
    assert_eq!(
        striped.geometry(),
        &Geometry {
            size: 2 * 106 * (96 << 10),
            logical_sector: 512,
            physical_sector: 4096,
            optimal_transfer: 192 << 10,
            max_transfer: Geometry::UNLIMITED_TRANSFER,
            queue_depth: 96,
            volatile_cache: true,
            atomic_write: 32 << 10,
        }
    );
    let unlimited = Geometry { queue_depth: 0, ..one.clone() };
    let striped =
        config(2, 16 << 10).build(&env, "s", null_members(&env, &[one, unlimited])).expect("it fits");
    assert_eq!((striped.geometry().queue_depth, striped.geometry().atomic_write), (0, 16 << 10));
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let refusal = |chunk: u64, geometries: &[Geometry]| {
        let children = null_members(&env, geometries);
        config(geometries.len(), chunk)
            .build(&env, "data", children)
            .expect_err("it does not fit")
            .to_string()
    };
    let plain = Geometry::plain(MIB);
    assert!(refusal(0, std::slice::from_ref(&plain)).contains("multiple of 16 KiB"));
    assert!(refusal(40 << 10, std::slice::from_ref(&plain)).contains("multiple of 16 KiB"));
    assert!(refusal(2 * MIB, &[plain]).contains("make the chunk smaller"));
    assert!(refusal(64 << 10, &[]).starts_with("volume `data` (stripe): a stripe without members"));
}

/// What a request becomes: requests per member, and bytes of the largest.
fn sent(length: u64, payload: bool) -> Vec<(u64, u64)> {
    let runtime = Runtime::virtual_time(1);
    let pool = if payload { Pool::new(&runtime.context()) } else { Pool::hollow() };
    let env = Env::new(runtime.context(), pool.clone());
    let members = null_members(&env, &[Geometry::plain(MIB), Geometry::plain(MIB)]);
    let striped = config(2, Config::DEFAULT_CHUNK).build(&env, "s", members.clone()).expect("it fits");
    let write = striped.write(Request::new(0, length), pool.zeroes(length as usize));
    runtime.block_on(write).expect("nothing waits").expect("null does not fail");
    let counted = |member: &Handle| {
        let total = member.statistics().total(runtime.context().now());
        total.kind(Kind::Write).map_or((0, 0), |writes| (writes.count, writes.bytes))
    };
    members.iter().map(counted).collect()
}

#[test]
fn each_member_is_asked_once_with_payload_and_without() {
    for payload in [false, true] {
        assert_eq!(sent(16 << 10, payload), [(1, 16 << 10), (0, 0)]);
        assert_eq!(sent(128 << 10, payload), [(1, 64 << 10), (1, 64 << 10)]);
        assert_eq!(sent(320 << 10, payload), [(1, 192 << 10), (1, 128 << 10)]);
    }
}

#[test]
fn settings_are_read_and_checked() {
    let read = |text: &str| crate::testing::read(text, Config::read);
    let members = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(read("members = [\"a\", \"b\"]"), Ok(Config { members: members.clone(), chunk: 64 << 10 }));
    let text = "members = [\"a\", \"b\"]\nchunk = \"256KiB\"";
    assert_eq!(read(text), Ok(Config { members, chunk: 256 << 10 }));
    let wrong = read("members = [\"a\", \"b\", \"a\"]\nchunk = \"24KiB\"").expect_err("it is wrong twice");
    assert!(wrong[0].contains("`a` is a member twice") && wrong[1].contains("24576 bytes"), "{wrong:?}");
    assert!(read("members = []").is_err() && read("member = [\"a\"]").is_err());
}
