//! The layer against the suite that every volume must pass.

use fathom_conformance::{Fixture, Suite};
use fathom_volume::{Blueprint, Geometry, Handle, Result};

use super::{Config, Durability, Mode, Settings};

fn volatile(size: u64) -> Geometry {
    Geometry { volatile_cache: true, atomic_write: 4096, ..Geometry::plain(size) }
}

fn small() -> Settings {
    Settings {
        segment: 64 << 10,
        ring_size: Some(256 << 10),
        batch: 64 << 10,
        lag_target: 2_000_000,
        lag_max: 10_000_000_000,
        ..Settings::default()
    }
}

fn build(bench: &Fixture, settings: &Settings, backing: Geometry, cache: Geometry) -> Result<Handle> {
    let children = vec![bench.disk("backing", backing), bench.disk("cache", cache)];
    Config::new("backing", "cache", settings.clone()).build(&bench.env, "cached", children)
}

#[test]
fn it_conforms() {
    Suite::new(|bench| build(bench, &small(), volatile((2 << 20) + 512), volatile((1 << 20) + 8192))).check();
}

#[test]
fn it_conforms_with_durability_origin() {
    let settings = Settings { durability: Durability::Origin, ..small() };
    Suite::new(|bench| build(bench, &settings, volatile(2 << 20), volatile((1 << 20) + 8192))).check();
}

#[test]
fn it_conforms_in_mode_barrier() {
    let settings = Settings { mode: Mode::Barrier, ..small() };
    Suite::new(|bench| build(bench, &settings, volatile(2 << 20), volatile((1 << 20) + 8192))).check();
}

#[test]
fn it_conforms_over_large_sectors_and_short_transfers() {
    let backing =
        Geometry { logical_sector: 4096, physical_sector: 4096, max_transfer: 20 << 10, ..volatile(2 << 20) };
    let cache = Geometry { max_transfer: 24 << 10, ..volatile((1 << 20) + 8192) };
    Suite::new(|bench| build(bench, &small(), backing.clone(), cache.clone())).check();
}

#[test]
fn it_conforms_with_two_caches_and_a_read_cache() {
    let settings = Settings {
        durability: Durability::CacheMirrored,
        read_cache: Some(256 << 10),
        scrub: Some(1 << 30),
        ..small()
    };
    let with = |bench: &Fixture| {
        let cache = volatile((1 << 20) + (256 << 10) + 8192);
        let children = vec![
            bench.disk("backing", volatile(2 << 20)),
            bench.disk("cache", cache.clone()),
            bench.disk("copy", cache),
        ];
        let config = Config {
            cache_copy: Some("copy".to_owned()),
            ..Config::new("backing", "cache", settings.clone())
        };
        config.build(&bench.env, "cached", children)
    };
    Suite::new(with).check();
}

#[test]
fn each_durability_says_what_the_loss_of_the_cache_takes() {
    let of = |durability| Settings { durability, ..Settings::default() }.may_lose();
    let cache = of(Durability::Cache);
    assert!(cache.contains("loss of the cache device takes the writes of up to the last 30 s"), "{cache}");
    assert!(of(Durability::CacheMirrored).contains("both cache devices"));
    assert!(of(Durability::Origin).starts_with("nothing"));
    let barrier = Settings { mode: Mode::Barrier, ..Settings::default() }.may_lose();
    assert!(barrier.contains("after a power cut"), "{barrier}");
}
