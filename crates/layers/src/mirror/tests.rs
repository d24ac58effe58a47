//! Claims about the mirror.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_conformance::Suite;
use fathom_runtime::{MILLISECOND, Runtime, SECOND};
use fathom_volume::{
    Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Pool, Request, Result, Volume,
};

use super::{Config, Initial, Node, ReadPolicy, Settings, Standing, combined, mirrors};
use crate::stripe;
use crate::testing::{read, slow};

fn config(legs: usize) -> Config {
    let legs = (0..legs).map(|leg| format!("leg{leg}")).collect();
    Config { legs, settings: Settings::default() }
}

/// Legs that hold nothing, and nothing is copied.
fn blank(legs: usize) -> Config {
    let settings = Settings { initial: Initial::Blank, ..Settings::default() };
    Config { settings, ..config(legs) }
}

fn count(handle: &Handle, kind: Kind, now: u64) -> u64 {
    handle.statistics().total(now).kind(kind).map_or(0, |counters| counters.count)
}

/// A disk whose requests fail when told to; its bytes outlive the executor.
#[derive(Clone, Default)]
struct Disk {
    bytes: Rc<RefCell<Vec<u8>>>,
    fails: Rc<Cell<Option<Kind>>>,
    gone: Rc<Cell<bool>>,
}

struct Flaky {
    disk: Disk,
    geometry: Geometry,
}

impl Disk {
    fn new(size: usize) -> Self {
        Self { bytes: Rc::new(RefCell::new(vec![0; size])), ..Self::default() }
    }

    fn handle(&self, env: &Env, name: &str) -> Handle {
        let geometry = Geometry { volatile_cache: true, ..Geometry::plain(self.bytes.borrow().len() as u64) };
        Handle::new(&env.context, name, "flaky", Flaky { disk: self.clone(), geometry }).expect("it is plain")
    }

    fn fail(&self, kind: Kind) -> Result<()> {
        if self.gone.get() {
            return Err(Error::new(ErrorKind::Gone, "the disk is gone"));
        }
        if self.fails.get() == Some(kind) {
            return Err(Error::new(ErrorKind::Io, format!("{} failed", kind.name())));
        }
        Ok(())
    }
}

impl Volume for Flaky {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.disk.fail(Kind::Read)?;
        into.copy_from(&self.disk.bytes.borrow()[request.offset as usize..request.end() as usize]);
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.disk.fail(Kind::Write)?;
        from.with(|bytes| {
            self.disk.bytes.borrow_mut()[request.offset as usize..request.end() as usize]
                .copy_from_slice(bytes);
        });
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        self.disk.fail(Kind::Flush)
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        self.disk.fail(Kind::Trim)
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.disk.fail(Kind::WriteZeroes)?;
        self.disk.bytes.borrow_mut()[request.offset as usize..request.end() as usize].fill(0);
        Ok(())
    }
}

/// A mirror over such disks, on an executor of its own.
struct Harness {
    mirror: Handle,
    node: Rc<Node>,
    env: Env,
    runtime: Runtime,
}

const SIZE: usize = 4 << 20;

fn harness(disks: &[Disk], change: impl FnOnce(&mut Settings)) -> Harness {
    let runtime = Runtime::virtual_time(3);
    let env = Env::new(runtime.context(), Pool::new(&runtime.context()));
    let mut config = config(disks.len());
    config.settings.region = 64 << 10;
    config.settings.resync_io = 64 << 10;
    config.settings.initial = Initial::Blank;
    change(&mut config.settings);
    let legs = disks.iter().enumerate().map(|(number, disk)| disk.handle(&env, &format!("leg{number}")));
    let mirror = config.build(&env, "mirror", legs.collect()).expect("it builds");
    let node = Rc::clone(&mirrors(&env)[0]);
    Harness { mirror, node, env, runtime }
}

impl Harness {
    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work).expect("it ends")
    }

    async fn write(&self, offset: u64, byte: u8) -> Result<()> {
        let buf = self.env.pool.get(4096);
        buf.with_mut(|bytes| bytes.fill(byte));
        self.mirror.write(Request::new(offset, 4096), buf).await
    }

    async fn read(&self, offset: u64) -> Result<u8> {
        let buf = self.env.pool.get(4096);
        self.mirror.read(Request::new(offset, 4096), buf.clone()).await?;
        Ok(buf.with(|bytes| bytes[0]))
    }

    fn standings(&self) -> Vec<Standing> {
        let status = self.node.status().expect("it is open");
        status.legs.iter().map(|leg| leg.standing).collect()
    }
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
    let mirror = blank(2).build(&env, "mirror", legs.clone()).expect("it builds");
    let write = async || mirror.write(Request::new(0, 4096), env.pool.get(4096)).await.expect("a write");
    let all = |kind| -> Vec<u64> { legs.iter().map(|leg| count(leg, kind, env.context.now())).collect() };
    let ask = async {
        write().await;
        let (begun, before) = (env.context.now(), (all(Kind::Write), all(Kind::Read)));
        write().await;
        let written = env.context.now() - begun;
        for number in 0..10 {
            mirror.read(Request::new(number * 4096, 4096), env.pool.get(4096)).await.expect("a read");
        }
        (written, before)
    };
    let (written, before) = runtime.block_on(ask).expect("it ends");
    assert_eq!(written, 3 * MILLISECOND);
    let more = |before: &[u64], kind| -> Vec<u64> {
        all(kind).iter().zip(before).map(|(now, then)| now - then).collect()
    };
    assert_eq!((more(&before.0, Kind::Write), more(&before.1, Kind::Read)), (vec![1, 1], vec![5, 5]));
}

#[test]
fn a_busy_leg_is_spared() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let spans = [MILLISECOND, 9 * MILLISECOND];
    let legs: Vec<Handle> = (0..2)
        .map(|leg| slow(&env.context, &format!("leg{leg}"), Geometry::plain(1 << 20), spans[leg]))
        .collect();
    let mirror = blank(2).build(&env, "mirror", legs.clone()).expect("it builds");
    runtime.block_on(mirrors(&env)[0].ready()).expect("it ends").expect("it opens");
    let before = [0, 1].map(|leg| count(&legs[leg], Kind::Read, env.context.now()));
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
    let [fast, slow] = [0, 1].map(|leg| count(&legs[leg], Kind::Read, env.context.now()) - before[leg]);
    assert!(fast > 4 * slow, "{fast} reads of the fast leg, {slow} of the slow one");
}

#[test]
fn settings_are_read_and_mistakes_named() {
    assert_eq!(read("legs = [\"leg0\", \"leg1\"]", Config::read), Ok(config(2)));
    let text = "legs = [\"a\"]\nread = \"first\"\nregion = \"2MiB\"\nresync_share = \"30%\"\nleg_iops = 3000\nforce = \"12-00000000000000ff:02\"";
    let found = read(text, Config::read).expect("it is sound").settings;
    assert_eq!((found.read, found.region, found.rules.guaranteed), (ReadPolicy::First, 2 << 20, 30));
    assert_eq!(found.rules.stated.iops, Some(3000.0));
    assert_eq!(
        found.accepted.force.map(|force| force.to_string()).as_deref(),
        Some("12-00000000000000ff:02")
    );
    let small = read("legs = [\"a\"]\nregion = \"64KiB\"", Config::read).expect("its requests are no larger");
    assert_eq!(small.settings.resync_io, 64 << 10);
    for text in [
        "legs = []",
        "legs = [\"a\", \"a\"]",
        "read = \"first\"",
        "legs = [\"a\"]\nread = \"last\"",
        "legs = [\"a\"]\nregion = \"3MiB\"",
        "legs = [\"a\"]\nresync_io = \"2MiB\"",
        "legs = [\"a\"]\nresync_share = \"100%\"",
        "legs = [\"a\"]\nforce = \"yes\"",
        "legs = [\"a\"]\nforce = \"12-00000000000000ff:b\"",
        "legs = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]",
    ] {
        assert_eq!(read(text, Config::read).expect_err(text).len(), 1, "{text}");
    }
}

#[test]
fn a_leg_that_fails_a_write_is_dropped_and_gets_what_it_missed_when_it_returns() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    let harness = harness(&disks, |_| {});
    harness.run(async {
        harness.write(0, 1).await.expect("both take it");
        disks[1].gone.set(true);
        harness.write(64 << 10, 2).await.expect("one leg is enough");
        assert_eq!(harness.standings(), [Standing::InSync, Standing::Away]);
        for round in 0..4 {
            harness.write((round % 2) * (64 << 10), 3).await.expect("one leg is enough");
            assert_eq!(
                harness.read(64 << 10).await.expect("one leg is enough"),
                if round == 0 { 2 } else { 3 }
            );
        }
        disks[1].gone.set(false);
        harness.env.context.sleep(60 * SECOND).await;
        assert_eq!(harness.standings(), [Standing::InSync; 2]);
    });
    let user = SIZE - (16 << 10);
    assert!(disks[0].bytes.borrow()[..user] == disks[1].bytes.borrow()[..user], "the legs are equal again");
    let copied = harness.node.status().expect("it is open").counts.resync_bytes;
    assert_eq!(copied, 128 << 10, "two regions were copied, not the disk");
}

#[test]
fn a_leg_that_fails_a_flush_is_dropped_and_two_failing_ones_fail_the_flush() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    let harness = harness(&disks, |settings| settings.retry = 0);
    harness.run(async {
        harness.write(0, 1).await.expect("both take it");
        disks[0].fails.set(Some(Kind::Flush));
        harness.mirror.flush(Request::flush()).await.expect("one leg is enough");
        assert_eq!(harness.standings(), [Standing::Away, Standing::InSync]);
        disks[1].fails.set(Some(Kind::Flush));
        harness.mirror.flush(Request::flush()).await.expect_err("nothing is durable");
        assert_eq!(harness.standings(), [Standing::Away, Standing::InSync], "the last leg stays");
        disks[1].fails.set(None);
        harness.mirror.flush(Request::flush()).await.expect("it works again");
    });
}

#[test]
fn a_failing_read_is_answered_by_another_leg_and_mended() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    let harness = harness(&disks, |settings| settings.read = ReadPolicy::First);
    harness.run(async {
        harness.write(4096, 7).await.expect("both take it");
        disks[0].bytes.borrow_mut()[4096..8192].fill(0xEE);
        disks[0].fails.set(Some(Kind::Read));
        assert_eq!(harness.read(4096).await.expect("the other leg has it"), 7);
        disks[0].fails.set(None);
        assert_eq!(harness.standings(), [Standing::InSync; 2]);
        assert_eq!(harness.read(4096).await.expect("the first leg has it again"), 7);
    });
    assert_eq!(disks[0].bytes.borrow()[4096], 7);
    let counts = harness.node.status().expect("it is open").counts;
    assert_eq!((counts.failovers, counts.repairs), (1, 1));
}

#[test]
fn a_leg_that_went_on_alone_opens_alone_and_the_other_one_only_if_told_to() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    let first = harness(&disks, |_| {});
    first.run(async {
        first.write(0, 1).await.expect("both take it");
        disks[1].gone.set(true);
        first.write(0, 2).await.expect("one leg is enough");
    });
    drop(first);
    let alone = harness(&disks, |_| {});
    assert_eq!(alone.run(alone.read(0)).expect("it knows that the other is behind"), 2);
    drop(alone);
    disks[1].gone.set(false);
    disks[0].gone.set(true);
    let behind = harness(&disks, |_| {});
    let refusal = behind.run(behind.node.ready()).expect_err("it lacks a write").to_string();
    drop(behind);
    let (_, remedy) = refusal.split_once("force = \"").expect("the refusal names its remedy");
    let force = remedy.split('"').next().and_then(|text| text.parse().ok());
    let told = harness(&disks, |settings| settings.accepted.force.clone_from(&force));
    assert_eq!(told.run(told.read(0)).expect("it was told to"), 1);
    told.run(told.write(0, 3)).expect("it goes on");
    drop(told);
    disks[0].gone.set(false);
    let apart = harness(&disks, |settings| settings.accepted.force = force);
    let refusal = apart.run(apart.node.ready()).expect_err("both went on").to_string();
    assert!(refusal.contains("without knowing of each other"), "{refusal}");
}

#[test]
fn a_new_mirror_copies_its_first_leg_and_a_blank_leg_replaces_a_lost_one() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    disks[0].bytes.borrow_mut()[..8192].fill(9);
    let stand_in = harness(&disks, |settings| settings.initial = Initial::Copy);
    stand_in.run(async {
        stand_in.node.rebuilt().await.expect("it is rebuilt");
        assert_eq!(stand_in.standings(), [Standing::InSync; 2]);
        disks[0].gone.set(true);
        stand_in.write(0, 4).await.expect("one leg is enough");
    });
    drop(stand_in);
    assert_eq!(disks[1].bytes.borrow()[4096], 9);
    let disks = [Disk::new(SIZE), disks[1].clone()];
    let replaced = harness(&disks, |_| {});
    replaced.run(async {
        assert_eq!(replaced.read(0).await.expect("it is there"), 4);
        replaced.node.rebuilt().await.expect("it is rebuilt");
        assert_eq!(replaced.standings(), [Standing::InSync; 2]);
    });
    assert_eq!((disks[0].bytes.borrow()[0], disks[0].bytes.borrow()[4096]), (4, 9));
}

#[test]
fn a_new_mirror_overwrites_no_leg_that_holds_data() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    // Where ext4 has its superblock.
    disks[1].bytes.borrow_mut()[1024..2048].fill(7);
    let before = disks[1].bytes.borrow().clone();
    let refused = harness(&disks, |settings| settings.initial = Initial::Copy);
    let refusal = refused.run(refused.node.ready()).expect_err("the second leg is in use").to_string();
    assert!(refusal.contains("leg `leg1` holds data"), "{refusal}");
    drop(refused);
    assert!(*disks[1].bytes.borrow() == before && disks[0].bytes.borrow().iter().all(|byte| *byte == 0));
    let swapped = harness(&[disks[1].clone(), disks[0].clone()], |settings| settings.initial = Initial::Copy);
    swapped.run(swapped.node.rebuilt()).expect("the leg that counts comes first");
    assert_eq!(disks[0].bytes.borrow()[1024], 7);
}

#[test]
fn a_region_is_noted_before_its_first_write_and_clean_after_a_while() {
    let disks = [Disk::new(SIZE), Disk::new(SIZE)];
    let harness = harness(&disks, |_| {});
    harness.run(async {
        let dirty = || harness.node.status().map(|status| (status.dirty, status.counts.bitmap_writes));
        harness.write(0, 1).await.expect("it is taken");
        let (noted, writes) = dirty().expect("it is open");
        assert_eq!(noted, 64 << 10);
        harness.write(4096, 1).await.expect("it is taken");
        assert_eq!(dirty(), Some((64 << 10, writes)), "a noted region costs nothing more");
        harness.env.context.sleep(11 * SECOND).await;
        // Once for its age, at the first look, and once to be clean.
        assert_eq!(dirty(), Some((0, writes + 2)));
        harness.write(0, 1).await.expect("it is taken");
        harness.node.rest().await.expect("it rests");
        assert_eq!(dirty().map(|(dirty, _)| dirty), Some(0));
    });
}

#[test]
fn writes_that_are_expected_are_noted_with_the_first_of_them() {
    let (runtime, chunk) = (Runtime::virtual_time(3), 256 << 10);
    let env = Env::new(runtime.context(), Pool::new(&runtime.context()));
    let disks = [0; 4].map(|_| Disk::new(SIZE));
    let settings =
        Settings { region: 64 << 10, resync_io: 64 << 10, initial: Initial::Blank, ..Settings::default() };
    let halves = [0, 1].map(|half| {
        let legs = [0, 1].map(|leg| disks[2 * half + leg].handle(&env, &format!("leg{half}{leg}"))).into();
        let config = Config { settings: settings.clone(), ..config(2) };
        config.build(&env, &format!("half{half}"), legs).expect("it builds")
    });
    let members = vec!["half0".to_owned(), "half1".to_owned()];
    let stripe = stripe::Config { members, chunk }.build(&env, "stripe", halves.into()).expect("it builds");
    let work = async {
        let statuses = || mirrors(&env).iter().filter_map(|node| node.status()).collect::<Vec<_>>();
        let write = async |offset| {
            stripe.write(Request::new(offset, 4096), env.pool.get(4096)).await.expect("it is taken");
        };
        write(0).await;
        write(chunk).await;
        let before: Vec<u64> = statuses().iter().map(|status| status.counts.bitmap_writes).collect();
        stripe.expect(chunk, 7 * chunk);
        for chunks in 1..8 {
            write(chunks * chunk).await;
            write(chunks * chunk + (128 << 10)).await;
        }
        let after: Vec<(u64, u64)> =
            statuses().iter().map(|status| (status.counts.bitmap_writes, status.dirty)).collect();
        // The first member has one region before what is expected, and three chunks of it.
        assert_eq!(after, vec![(before[0] + 1, 3 * chunk + (64 << 10)), (before[1] + 1, 4 * chunk)]);
    };
    runtime.block_on(work).expect("it ends");
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

#[test]
fn it_conforms_on_legs_with_volatile_caches_and_small_regions() {
    Suite::new(move |bench| {
        let geometry = Geometry { volatile_cache: true, ..Geometry::plain(2 << 20) };
        let members = ["a", "b"].map(|name| bench.disk(name, geometry.clone())).into();
        let settings = Settings {
            region: 64 << 10,
            resync_io: 16 << 10,
            clean_after: MILLISECOND,
            ..Settings::default()
        };
        Config { legs: vec!["a".into(), "b".into()], settings }.build(&bench.env, "volume", members)
    })
    .check();
}

#[test]
fn one_copy_declares_what_its_loss_takes() {
    assert!(super::may_lose(1, 1, true).contains("everything"));
    assert!(super::may_lose(2, 2, true).starts_with("nothing"));
    assert!(super::may_lose(2, 2, false).contains("until all others are copied whole"));
    assert!(super::may_lose(2, 1, true).starts_with("while only one of 2 copies"));
    assert!(super::may_lose(3, 2, true).contains("any 1 of these may fail"));
}

#[test]
fn a_trim_reaches_the_legs_where_all_read_as_zeroes_after_it_and_none_otherwise() {
    for other in [true, false] {
        let runtime = Runtime::virtual_time(1);
        let env = Env::new(runtime.context(), Pool::new(&runtime.context()));
        let memory = |name: &str| {
            let memory =
                fathom_devices::memory::Config { size: 1 << 20, logical_sector: 512, physical_sector: 512 };
            memory.build(&env, name, Vec::new()).expect("it builds")
        };
        let geometry = memory("like").geometry().clone();
        let second = if other { slow(&env.context, "leg1", geometry, 0) } else { memory("leg1") };
        let legs = vec![memory("leg0"), second];
        let mirror = blank(2).build(&env, "mirror", legs.clone()).expect("it builds");
        let work = async {
            mirror.write(Request::new(0, 4096), env.pool.copy_of(&[7; 4096])).await?;
            mirror.trim(Request::new(0, 4096)).await
        };
        runtime.block_on(work).expect("it ends").expect("nothing fails");
        let trims = legs.iter().map(|leg| count(leg, Kind::Trim, env.context.now())).collect::<Vec<_>>();
        assert_eq!(trims, if other { [0, 0] } else { [1, 1] });
        assert_eq!(mirror.trims_to_zeroes(), !other);
    }
}
