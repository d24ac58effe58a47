//! Faults of the data, against what the volume below holds afterwards.

use fathom_conformance::Suite;
use fathom_devices::memory;
use fathom_runtime::{MILLISECOND, Runtime, SECOND};
use fathom_volume::{Answer, Blueprint, Env, Error, ErrorKind, Geometry, Handle, Kind, Pool, Request};

use super::tests::{config, rule};
use super::{Effect, Return, RuleConfig, Trigger};

const SECTOR: usize = 512;

/// A faulty volume of 64 KiB over one in memory.
struct Fixture {
    volume: Handle,
    below: Handle,
    pool: Pool,
    runtime: Runtime,
}

impl Fixture {
    fn new(seed: u64, rules: Vec<RuleConfig>) -> Self {
        let runtime = Runtime::virtual_time(seed);
        let context = runtime.context();
        let pool = Pool::new(&context);
        let env = Env::new(context, pool.clone());
        let settings = memory::Config::of_size(64 << 10);
        let below = settings.build(&env, "below", Vec::new()).expect("it fits");
        let volume = config(rules).build(&env, "faulty", vec![below.clone()]).expect("it fits");
        Self { volume, below, pool, runtime }
    }

    fn write(&self, sector: usize, sectors: usize, byte: u8, fua: bool) -> Result<(), Error> {
        let buf = self.pool.copy_of(&vec![byte; sectors * SECTOR]);
        let request = Request::new((sector * SECTOR) as u64, buf.len() as u64).with_fua(fua);
        self.runtime.block_on(self.volume.write(request, buf)).expect("nothing waits for ever")
    }

    fn flush(&self) -> Result<(), Error> {
        self.runtime.block_on(self.volume.flush(Request::flush())).expect("nothing waits for ever")
    }

    /// Every byte of a volume.
    fn read(&self, volume: &Handle) -> Vec<u8> {
        let buf = self.pool.get(64 << 10);
        let answer = self.runtime.block_on(volume.read(Request::new(0, 64 << 10), buf.clone()));
        answer.expect("nothing waits for ever").expect("it can be read");
        buf.with(<[u8]>::to_vec)
    }

    /// The first byte of each of the first sectors, above and below.
    fn firsts(&self, sectors: usize) -> (Vec<u8>, Vec<u8>) {
        let first = |bytes: Vec<u8>| bytes.chunks(SECTOR).take(sectors).map(|sector| sector[0]).collect();
        (first(self.read(&self.volume)), first(self.read(&self.below)))
    }

    fn sleep(&self, span: u64) {
        let context = self.runtime.context();
        self.runtime.block_on(context.sleep(span)).expect("time passes");
    }

    fn count(&self, name: &str) -> u64 {
        self.volume.counters().into_iter().find(|(counter, _)| *counter == name).expect("it is counted").1
    }
}

fn only(kind: Kind) -> Trigger {
    Trigger { kinds: Kind::ALL.map(|other| other == kind), ..Trigger::always() }
}

fn once(kind: Kind) -> Trigger {
    Trigger { times: Some(1), ..only(kind) }
}

#[test]
fn a_volatile_cache_that_reorders_conforms() {
    let rules = vec![rule(Effect::Reordered(5), Trigger { probability: 0.8, ..Trigger::always() })];
    let disk = Geometry { volatile_cache: true, ..Geometry::plain(2 << 20) };
    Suite::new(|fixture| {
        config(rules.clone()).build(&fixture.env, "reordered", vec![fixture.disk("below", disk.clone())])
    })
    .check();
}

#[test]
fn a_volume_that_remembers_conforms() {
    let due = Return { from: 0, until: u64::MAX };
    let disk = Geometry { volatile_cache: true, ..Geometry::plain(2 << 20) };
    Suite::new(|fixture| {
        let config = config(vec![rule(Effect::OldContents(due), Trigger::always())]);
        config.build(&fixture.env, "remembers", vec![fixture.disk("below", disk.clone())])
    })
    .check();
}

#[test]
fn a_torn_write_arrives_up_to_a_sector_and_is_answered_or_fails() {
    let mut lengths = Vec::new();
    for seed in 0..40 {
        let error = (seed % 2 == 0).then_some(ErrorKind::Io);
        let fixture = Fixture::new(seed, vec![rule(Effect::Torn(error), once(Kind::Write))]);
        assert_eq!(fixture.write(0, 8, 7, false).err().map(|error| error.kind()), error);
        let (above, below) = fixture.firsts(9);
        let arrived = below.iter().take_while(|byte| **byte == 7).count();
        assert_eq!(above, below);
        assert_eq!(below[arrived..], vec![0; 9 - arrived]);
        assert_eq!(fixture.count("torn"), 1);
        lengths.push(arrived);
        fixture.write(0, 8, 8, false).expect("only one is torn");
        assert_eq!(fixture.firsts(9).1, [8, 8, 8, 8, 8, 8, 8, 8, 0]);
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, [0, 1, 2, 3, 4, 5, 6, 7], "a torn write is never whole");
}

#[test]
fn a_lost_write_is_answered_and_changes_nothing() {
    let fixture =
        Fixture::new(1, vec![rule(Effect::Lost, Trigger { after: 1, times: Some(3), ..Trigger::always() })]);
    fixture.write(0, 4, 1, true).expect("it passes");
    fixture.write(0, 1, 2, true).expect("it is answered");
    let answer = |request: Answer<'_>| {
        fixture.runtime.block_on(request).expect("nothing waits").expect("it is answered")
    };
    answer(fixture.volume.write_zeroes(Request::new(512, 512)));
    answer(fixture.volume.trim(Request::new(1024, 512)));
    assert_eq!(fixture.firsts(4).0, [1, 1, 1, 1]);
    assert_eq!(fixture.count("lost"), 3);
    fixture.write(0, 1, 3, false).expect("it passes");
    assert_eq!(fixture.firsts(4).1, [3, 1, 1, 1]);
}

#[test]
fn a_misdirected_write_arrives_elsewhere_and_a_misdirected_read_shows_another_place() {
    let fixture = Fixture::new(1, vec![rule(Effect::Misdirected(Some(1024)), once(Kind::Write))]);
    fixture.write(0, 1, 5, false).expect("it is answered");
    assert_eq!(fixture.firsts(4).1, [0, 0, 5, 0]);
    // At the end it begins anew: no write leaves the volume.
    let fixture = Fixture::new(1, vec![rule(Effect::Misdirected(Some(512)), once(Kind::Write))]);
    fixture.write(127, 1, 6, false).expect("it is answered");
    assert_eq!(fixture.firsts(2).1, [6, 0]);
    let places: std::collections::BTreeSet<usize> = (0..60)
        .map(|seed| {
            let fixture = Fixture::new(seed, vec![rule(Effect::Misdirected(None), once(Kind::Write))]);
            fixture.write(3, 2, 9, false).expect("it is answered");
            let bytes = fixture.read(&fixture.below);
            assert_eq!(bytes.iter().filter(|byte| **byte == 9).count(), 2 * SECTOR);
            bytes.iter().position(|byte| *byte == 9).expect("it is somewhere") / SECTOR
        })
        .collect();
    assert!(places.len() > 20, "places drawn from chance differ: {places:?}");
    let fixture = Fixture::new(1, vec![rule(Effect::Misdirected(Some(512)), only(Kind::Read))]);
    fixture.write(1, 1, 4, false).expect("it passes");
    let buf = fixture.pool.get(SECTOR);
    let read = fixture.volume.read(Request::new(0, 512), buf.clone());
    fixture.runtime.block_on(read).expect("nothing waits").expect("it is answered");
    assert_eq!(buf.with(<[u8]>::to_vec), vec![4; SECTOR]);
}

#[test]
fn rot_of_a_write_stays_and_rot_of_a_read_passes() {
    let different =
        |bytes: &[u8], expected: u8| -> u32 { bytes.iter().map(|byte| (byte ^ expected).count_ones()).sum() };
    let fixture = Fixture::new(3, vec![rule(Effect::BitRot, once(Kind::Write))]);
    fixture.write(0, 128, 0xAA, false).expect("it is answered");
    for _ in 0..2 {
        assert_eq!(different(&fixture.read(&fixture.volume), 0xAA), 1);
    }
    let fixture = Fixture::new(3, vec![rule(Effect::BitRot, once(Kind::Read))]);
    fixture.write(0, 128, 0xAA, false).expect("it is answered");
    let seen = [0; 2].map(|_| different(&fixture.read(&fixture.volume), 0xAA));
    assert_eq!(seen, [1, 0]);
    assert_eq!(fixture.count("rotten"), 1);
}

#[test]
fn a_lying_flush_and_a_lying_fua_do_not_arrive() {
    let fixture = Fixture::new(1, vec![rule(Effect::LyingFlush, Trigger::always())]);
    fixture.write(0, 1, 1, true).expect("it is answered");
    fixture.flush().expect("it is answered");
    let below = fixture.below.statistics().total(fixture.runtime.context().now());
    assert_eq!(below.kind(Kind::Flush).map_or(0, |flushes| flushes.count), 0);
    assert_eq!(fixture.firsts(1).1, [1], "the write itself does");
    assert_eq!(fixture.count("lies"), 2);
}

#[test]
fn held_writes_are_shown_at_once_and_arrive_with_the_next_flush_in_any_order() {
    let fixture = Fixture::new(1, vec![rule(Effect::Reordered(64), Trigger::always())]);
    assert!(fixture.volume.geometry().volatile_cache);
    for sector in 0..4 {
        fixture.write(sector, 2, 1 + sector as u8, false).expect("it is answered");
    }
    assert_eq!(fixture.firsts(6), (vec![1, 2, 3, 4, 4, 0], vec![0; 6]));
    fixture.write(5, 1, 9, true).expect("a write with FUA is not held");
    assert_eq!(fixture.firsts(6).1, [0, 0, 0, 0, 0, 9]);
    fixture.flush().expect("it is answered");
    assert_eq!(fixture.firsts(6), (vec![1, 2, 3, 4, 4, 9], vec![1, 2, 3, 4, 4, 9]));
    assert_eq!((fixture.count("held"), fixture.count("held_now")), (4, 0));
    // Without a flush one leaves for each that comes once the window is full: not always the oldest.
    let orders: std::collections::BTreeSet<Vec<u8>> = (0..20)
        .map(|seed| {
            let fixture = Fixture::new(seed, vec![rule(Effect::Reordered(3), Trigger::always())]);
            for sector in 0..5 {
                fixture.write(sector, 1, 1, false).expect("it is answered");
            }
            fixture.firsts(5).1
        })
        .collect();
    assert!(
        orders.len() > 4 && orders.iter().all(|bytes| bytes.iter().filter(|byte| **byte == 1).count() == 2)
    );
}

#[test]
fn a_device_that_vanishes_fails_everything_and_comes_back_without_some_of_what_it_held() {
    let gone = Trigger { after: 12, times: Some(1), ..Trigger::always() };
    let survivors: Vec<usize> = (0..30)
        .map(|seed| {
            let rules = vec![
                rule(Effect::Reordered(64), Trigger::always()),
                rule(Effect::Gone(Some(SECOND)), gone.clone()),
            ];
            let fixture = Fixture::new(seed, rules);
            for sector in 0..12 {
                fixture.write(sector, 1, 1, false).expect("it is answered");
            }
            for _ in 0..2 {
                let error = fixture.flush().expect_err("it is gone");
                assert_eq!(error.kind(), ErrorKind::Gone);
                assert!(error.to_string().contains("rule 2 fails a flush"), "{error}");
                fixture.sleep(SECOND / 3);
            }
            fixture.sleep(SECOND);
            fixture.flush().expect("it is back");
            let (above, below) = fixture.firsts(12);
            assert_eq!(above, below);
            below.iter().filter(|byte| **byte == 1).count()
        })
        .collect();
    assert!(
        survivors.iter().any(|count| *count < 6) && survivors.iter().any(|count| *count > 6),
        "{survivors:?}"
    );
    let for_ever = Fixture::new(1, vec![rule(Effect::Gone(None), Trigger { after: 1, ..Trigger::always() })]);
    for_ever.flush().expect("it is there");
    for _ in 0..3 {
        for_ever.sleep(1000 * SECOND);
        assert_eq!(for_ever.flush().map_err(|error| error.kind()), Err(ErrorKind::Gone));
    }
}

#[test]
fn old_contents_come_back_whatever_was_written_since() {
    let due = Return { from: 10 * MILLISECOND, until: 30 * MILLISECOND };
    let fixture = Fixture::new(1, vec![rule(Effect::OldContents(due), Trigger::always())]);
    fixture.write(0, 4, 1, false).expect("it is answered");
    fixture.sleep(15 * MILLISECOND);
    fixture.write(1, 1, 2, false).expect("it is answered");
    fixture.write(1, 2, 3, true).expect("it is answered");
    let zeroes = fixture.volume.write_zeroes(Request::new(1536, 1024));
    fixture.runtime.block_on(zeroes).expect("nothing waits").expect("it is answered");
    assert_eq!(fixture.firsts(5).0, [1, 3, 3, 0, 0]);
    assert_eq!(fixture.count("returned"), 0);
    fixture.sleep(20 * MILLISECOND);
    assert_eq!(fixture.firsts(5), (vec![1, 1, 1, 1, 0], vec![1, 1, 1, 1, 0]));
    assert_eq!(fixture.count("returned"), 1);
    fixture.write(1, 1, 4, false).expect("it is answered");
    fixture.sleep(MILLISECOND);
    assert_eq!(fixture.firsts(5).0, [1, 4, 1, 1, 0], "and it goes on from there");
}

#[test]
fn without_payload_every_fault_is_met_and_none_fails_badly() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let below = crate::testing::null(&env.context, "below", Geometry::plain(1 << 20));
    let often = |kind| Trigger { probability: 0.3, ..only(kind) };
    let rules = vec![
        rule(Effect::OldContents(Return { from: 0, until: 1 }), Trigger::always()),
        rule(Effect::Torn(None), often(Kind::Write)),
        rule(Effect::BitRot, often(Kind::Read)),
        rule(Effect::Misdirected(None), often(Kind::Write)),
        rule(Effect::Reordered(2), often(Kind::Write)),
        rule(Effect::LyingFlush, often(Kind::Flush)),
    ];
    let volume = config(rules).build(&env, "v", vec![below]).expect("it fits");
    for _ in 0..60 {
        let requests = [
            volume.write(Request::new(0, 4096), env.pool.get(4096)),
            volume.read(Request::new(0, 4096), env.pool.get(4096)),
            volume.flush(Request::flush()),
        ];
        for request in requests {
            runtime.block_on(request).expect("nothing waits for ever").expect("it is answered");
        }
    }
    let counters = volume.counters();
    for name in ["torn", "misdirected", "rotten", "lies", "held"] {
        assert!(
            counters.iter().any(|(counter, count)| *counter == name && *count > 0),
            "{name}: {counters:?}"
        );
    }
}
