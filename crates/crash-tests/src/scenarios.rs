//! Directed cases: what random lives seldom meet. Each returns what is wrong.

use fathom_layers::writeback::Settings;
use fathom_layers::writeback::record::{Change, Extent, Header};
use fathom_runtime::Random;
use fathom_volume::Request;

use crate::crash::{Image, Media, Policy};
use crate::disk::Event;
use crate::group::Setup;
use crate::history::{History, SECTOR, stamp};
use crate::life::{Life, Required, Step, check, check_loss, check_recovery, record};
use crate::testbed::Testbed;
use crate::{Tally, apart, damage, differing};

/// A case: its name, and what plays it.
pub type Case = (&'static str, fn(&Setup) -> Result<(), String>);

/// All cases.
pub const ALL: &[Case] = &[
    ("a closed group is complete without its cache", closed),
    ("a cache of an earlier incarnation is refused", stale_cache),
    ("a cache from before an accepted loss is refused", returned_cache),
    ("a dirty cache of another group is refused", foreign_cache),
    ("an older copy of the backing volume is refused or caught up", old_backing),
    ("a flipped bit is never returned as data", bit_rot),
    ("a failed flush fences the group", failed_flush),
    ("a batch left in the ring by an older history is not applied", old_batches),
    ("what an open showed after the process died is there after a power cut", killed),
    ("a record that was cut short gives way to the one that took its number", cut_short),
    ("batches that an open put in place are not put in place again", replayed_once),
    ("a cache that was given up for lost is not wiped by a group that was closed since", returned_to_closed),
    ("records of a log that was given up are not taken for the new one's", log_given_up),
    ("a hole in the dirty log is not taken for its end", |setup| {
        damage::holes(setup, false, &mut Random::new(1, "holes"), 0.15)
    }),
    ("a hole before what is known to be flushed is not taken for the log's end", |setup| {
        damage::holes(setup, true, &mut Random::new(2, "holes"), 0.1)
    }),
    ("flushed records at the log's end cannot vanish", damage::missing_end),
    ("an older copy of the cache device is not taken for the newest", |setup| {
        damage::older_caches(setup, &mut Random::new(3, "older caches"), 0.1)
    }),
    ("an older backing volume is not taken for a lost cache", |setup| {
        damage::older_backings(setup, &mut Random::new(4, "older backings"), 0.05)
    }),
    ("volumes of a group at rest are from one moment", apart::at_rest),
    ("a power cut while older volumes are brought up to date", apart::cut_off),
    ("volumes from before marks said a moment open", apart::without_moments),
    ("disks that changed places are not taken for the group's", differing::other_disks),
    ("what mode barrier wrote before its commit is no other disk", differing::after_a_change_of_mode),
    ("records under wiped superblocks are not taken for the new log's", log_under_wiped_superblocks),
    // Last: it takes longer than all before it. The short campaign looks at more moments.
    ("an older volume of a group is not taken for the newest", |setup| {
        apart::put_back(setup, &mut Random::new(5, "volumes apart"), 0.03)
    }),
];

fn write(first: u64, sectors: u64) -> Step {
    let (offset, length) = (first * SECTOR as u64, sectors * SECTOR as u64);
    Step::Change(Extent { volume: 0, change: Change::Write, offset, length }, false)
}

fn end(life: &Life, policy: Policy) -> Image {
    life.end().cut(policy, &mut Random::new(1, "end"))
}

fn blank(setup: &Setup) -> Media {
    Media::new(&setup.blank())
}

fn empty(setup: &Setup) -> History {
    History::new(setup.volumes, setup.sectors)
}

/// A setup that destages only when it is told to.
fn lazy(setup: &Setup) -> Setup {
    let mut lazy = Setup { segments: 24, ring: 512 << 10, ..setup.clone() };
    lazy.settings.lag_target = 10_000_000_000;
    lazy.settings.lag_max = 100_000_000_000;
    // Destaging begins when a quarter of this is dirty, or one batch.
    lazy.settings.dirty_limit = Some(256 << 10);
    lazy.settings.batch = 128 << 10;
    lazy
}

fn closed(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let testbed = Testbed::group(&setup, setup.blank(), setup.settings.clone(), 20_000, 1);
    testbed.open().map_err(|error| error.to_string())?;
    let bytes = testbed.pool.get(8 * SECTOR);
    bytes.with_mut(|bytes| {
        for (sector, bytes) in bytes.chunks_mut(SECTOR).enumerate() {
            stamp(7, 0, sector, bytes);
        }
    });
    // The write is under way when the group is told to close.
    let (written, closed) = testbed
        .runtime
        .block_on(futures_util::future::join(
            testbed.volumes[0].write(Request::new(0, bytes.len() as u64), bytes),
            testbed.node.close(),
        ))
        .map_err(|error| error.to_string())?;
    closed.map_err(|error| format!("the close fails: {error}"))?;
    let image = setup.without_cache(&testbed.image());
    let anew = Testbed::group(&setup, image, setup.settings.clone(), 0, 2);
    anew.open().map_err(|error| format!("a closed group needs no cache, and says: {error}"))?;
    let state = anew.read_all(&setup)?;
    if written.is_ok() && state[..8] != [7; 8] {
        return Err(format!("a write that was answered before the close is gone: {:?}", &state[..8]));
    }
    Ok(())
}

fn two_lives(setup: &Setup) -> Result<(Image, Image, History), String> {
    let first = record(setup, &blank(setup), &empty(setup), &[vec![write(0, 8)], vec![Step::Flush]], 1)?;
    let older = end(&first, Policy::KeepAll);
    let second = record(
        setup,
        &Media::new(&older),
        &first.history,
        &[vec![write(0, 4)], vec![write(8, 8)], vec![Step::Flush]],
        2,
    )?;
    let newer = end(&second, Policy::KeepAll);
    Ok((older, newer, second.history))
}

/// An open of these disks is refused for this reason, and writes nothing: a refusal for another reason hides that the check
/// it is about is not there.
fn must_refuse(setup: &Setup, image: Image, what: &str, reason: &str) -> Result<(), String> {
    let testbed = Testbed::group(setup, image, setup.settings.clone(), 0, 3);
    match testbed.open() {
        Ok(()) => Err(format!("{what} is accepted")),
        Err(why) if !why.to_string().contains(reason) => {
            Err(format!("{what} is refused, but not because it \"{reason}\": {why}"))
        }
        Err(_) if testbed.trace.borrow().iter().any(|event| matches!(event, Event::Write { .. })) => {
            Err(format!("{what} is refused after something was written"))
        }
        Err(_) => Ok(()),
    }
}

fn stale_cache(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let (older, newer, _) = two_lives(&setup)?;
    let mut mixed = newer;
    mixed[setup.cache()].clone_from(&older[setup.cache()]);
    must_refuse(&setup, mixed, "a stale cache", "is stale")
}

fn returned_cache(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let (_, image, history) = two_lives(&setup)?;
    let (accepted, _) = check_loss(&setup, &image, &history, 0, &mut Tally::default())?;
    let mut mixed = accepted;
    mixed[setup.cache()].clone_from(&image[setup.cache()]);
    must_refuse(&setup, mixed, "a cache that was given up for lost", "is from before a loss was accepted")
}

fn foreign_cache(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let life =
        |seed| record(&setup, &blank(&setup), &empty(&setup), &[vec![write(0, 8)], vec![Step::Flush]], seed);
    let (one, other) = (end(&life(1)?, Policy::KeepAll), end(&life(2)?, Policy::KeepAll));
    let mut mixed = one;
    mixed[setup.cache()].clone_from(&other[setup.cache()]);
    must_refuse(&setup, mixed, "another group's cache", "belongs to another group")?;
    let mut blank = setup.blank();
    blank[setup.cache()].clone_from(&other[setup.cache()]);
    must_refuse(
        &setup,
        blank,
        "another group's dirty cache before a new group",
        "is blank where it was looked at, and cache device",
    )
}

fn old_backing(setup: &Setup) -> Result<(), String> {
    let (older, newer, _) = two_lives(setup)?;
    let mut mixed = older;
    mixed[setup.cache()].clone_from(&newer[setup.cache()]);
    let testbed = Testbed::group(setup, mixed, setup.settings.clone(), 0, 3);
    if testbed.open().is_err() {
        return Ok(());
    }
    let found = testbed.read_all(setup)?;
    let expected = [[2; 4].as_slice(), &[1; 4], &[3; 8]].concat();
    if found[..16] == expected {
        Ok(())
    } else {
        Err(format!("an older backing volume shows {:?}", &found[..16]))
    }
}

fn bit_rot(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let bursts = [vec![write(0, 16)], vec![Step::Flush], vec![write(16, 8)], vec![Step::Flush]];
    let life = record(&setup, &blank(&setup), &empty(&setup), &bursts, 1)?;
    let image = end(&life, Policy::KeepAll);
    let cache = &image[setup.cache()];
    let records: Vec<usize> = (8192..cache.len())
        .step_by(4096)
        .filter(|at| Header::decode(&cache[*at..at + 4096]).is_some())
        .collect();
    let first = *records.first().ok_or("the log holds no record")?;
    // In the payload of the first record, and in its header.
    for at in [first + 4096 + 100, first + 60] {
        let mut rotten = image.clone();
        rotten[setup.cache()][at] ^= 4;
        let testbed = Testbed::group(&setup, rotten, setup.settings.clone(), 0, 3);
        if testbed.open().is_err() {
            continue;
        }
        match testbed.read_all(&setup) {
            Err(why) if why.contains("a read fails") => {}
            Err(why) => return Err(format!("a flipped bit at {at}: {why}")),
            Ok(state) if Some(&state) == life.history.states.last() => {}
            Ok(state) => return Err(format!("a flipped bit at {at} loses what was flushed: {state:?}")),
        }
    }
    Ok(())
}

fn failed_flush(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let testbed = Testbed::group(&setup, setup.blank(), setup.settings.clone(), 0, 1);
    testbed.open().map_err(|error| error.to_string())?;
    let block = || testbed.pool.zeroes(4096);
    let go = |answer| testbed.runtime.block_on(answer).expect("it is answered");
    go(testbed.volumes[0].write(Request::new(0, 4096), block())).map_err(|error| error.to_string())?;
    testbed.faults[setup.cache()].flushes.set(1);
    if go(testbed.volumes[0].flush(Request::flush())).is_ok() {
        return Err("a flush succeeds whose device failed".to_owned());
    }
    let later = [
        go(testbed.volumes[0].flush(Request::flush())),
        go(testbed.volumes[0].write(Request::new(0, 4096), block())),
        go(testbed.volumes[0].read(Request::new(0, 4096), block())),
    ];
    if later.iter().any(Result::is_ok) {
        return Err("something succeeds after a failed flush".to_owned());
    }
    Ok(())
}

/// The redo ring goes around; what an earlier lap left behind where the next commit block belongs must not be applied.
fn old_batches(setup: &Setup) -> Result<(), String> {
    let mut image = setup.blank();
    let mut history = empty(setup);
    let mut random = Random::new(5, "old batches");
    for life in 0..6 {
        // Batches of the same shape, so that commit blocks of one lap testbed where those of the next will.
        let bursts: Vec<Vec<Step>> =
            (0..8).flat_map(|turn| [vec![write(turn % 4 * 8, 8)], vec![Step::Destage]]).collect();
        let recorded = record(setup, &Media::new(&image), &history, &bursts, life)?;
        image = end(&recorded, Policy::KeepAll);
        history = recorded.history;
        let floor = history.len();
        let owed = Required::durable(floor, floor);
        check(setup, &Media::new(&image), &history, owed, &mut random, 0, &mut Tally::default())?;
        check_loss(setup, &image, &history, floor, &mut Tally::default())?;
    }
    Ok(())
}

/// The process dies with everything in the devices' volatile caches, the next one reads it, then the power is cut.
fn killed(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let mut random = Random::new(1, "killed");
    let first = record(&setup, &blank(&setup), &empty(&setup), &[vec![write(0, 8)]], 1)?;
    let dead = first.end().killed(&mut random);
    let second = record(&setup, &dead, &first.history, &[], 2)?;
    let image = end(&second, Policy::DropAll);
    let owed = Required::durable(1, 0);
    check(&setup, &Media::new(&image), &second.history, owed, &mut random, 0, &mut Tally::default()).map(drop)
}

/// A record whose payload a power cut tore stays behind the end of the log. The next one is longer, goes to the next
/// segment, and follows the same predecessor.
fn cut_short(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let mut random = Random::new(1, "cut short");
    let bursts = [vec![write(0, 1)], vec![Step::Flush], vec![write(8, 8)]];
    let first = record(&setup, &blank(&setup), &empty(&setup), &bursts, 1)?;
    let mut image = end(&first, Policy::KeepAll);
    let cache = &mut image[setup.cache()];
    // The second record's payload: the block after its header, behind the first record's one block.
    let payload = 8192 + 4096 + 4096;
    if Header::decode(&cache[payload - 4096..payload]).is_none() {
        return Err("the second record is not where the case has to tear it".to_owned());
    }
    cache[payload + 512..payload + 1024].fill(0);
    let mut history = first.history;
    history.truncate(1);
    (history.promised, history.durable) = (1, 1);
    let bursts = [vec![write(0, 24)], vec![Step::Flush]];
    let second = record(&setup, &Media::new(&image), &history, &bursts, 2)?;
    second.enumerate(&setup, 1.0, &mut random, &mut Tally::default()).map(drop)
}

/// Two batches in the ring that overlap and do not fit into one. An open that took the log's records for dirty would put
/// the older one back over the newer.
fn replayed_once(setup: &Setup) -> Result<(), String> {
    let mut setup = Setup { sectors: 64, ..setup.clone() };
    // Neither write alone makes a batch due.
    setup.settings.dirty_limit = Some(64 << 10);
    let mut random = Random::new(1, "replayed once");
    for seed in 1..=8 {
        let bursts = [vec![write(0, 16)], vec![write(8, 24)], vec![Step::Destage]];
        let life = record(&setup, &blank(&setup), &empty(&setup), &bursts, seed)?;
        let mut media = life.media.clone();
        // Until the first tail is written: with some seeds both batches are committed by then.
        let opened = life.trace.iter().position(|event| matches!(event, Event::Opened));
        let tail = |event: &Event| matches!(event, Event::Write { disk, offset, .. } if *disk == setup.cache() && *offset < 8192);
        let opened = opened.ok_or("the group never opened")?;
        let until = opened + life.trace[opened..].iter().position(tail).ok_or("no tail was written")?;
        (0..until).for_each(|_| {
            media.step(&life.trace);
        });
        let image = media.cut(Policy::KeepAll, &mut random);
        let tally = &mut Tally::default();
        check_recovery(&setup, &image, &life.history, Required::durable(2, 0), &mut random, tally)?;
    }
    Ok(())
}

fn returned_to_closed(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let (_, image, history) = two_lives(&setup)?;
    let (accepted, _) = check_loss(&setup, &image, &history, 0, &mut Tally::default())?;
    let testbed = Testbed::group(&setup, accepted, setup.settings.clone(), 0, 4);
    testbed.open().map_err(|error| error.to_string())?;
    testbed.close().map_err(|error| format!("the close fails: {error}"))?;
    let mut mixed = testbed.image();
    mixed[setup.cache()].clone_from(&image[setup.cache()]);
    must_refuse(
        &setup,
        mixed,
        "a cache that was given up for lost before the group was closed",
        "from before their loss was accepted",
    )
}

/// Opens with the loss accepted, on a cache device that still holds records of the log that was given up; nothing is
/// written; the next open must show what the backing volumes hold, and no record of the old log.
fn gives_up(setup: &Setup, image: Image, incarnation: u64) -> Result<(), String> {
    let settings = Settings { accept_loss: Some(incarnation), discard_cache: true, ..setup.settings.clone() };
    let testbed = Testbed::group(setup, image, settings, 0, 5);
    testbed.open().map_err(|error| format!("the accepted loss is refused: {error}"))?;
    let anew = Testbed::group(setup, testbed.image(), setup.settings.clone(), 0, 6);
    anew.open().map_err(|error| format!("the open after the accepted loss is refused: {error}"))?;
    let shown = anew.read_all(setup)?;
    if shown.iter().any(|sector| *sector != 0) {
        return Err(format!("records of a log that was given up are back: {shown:?}"));
    }
    Ok(())
}

fn log_given_up(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let (older, newer, _) = two_lives(&setup)?;
    let mut mixed = newer;
    mixed[setup.cache()].clone_from(&older[setup.cache()]);
    gives_up(&setup, mixed, 2)
}

fn log_under_wiped_superblocks(setup: &Setup) -> Result<(), String> {
    let setup = lazy(setup);
    let (older, ..) = two_lives(&setup)?;
    // The group goes on with another device; then the first one is back, and nothing says any more that it was given up.
    let settings = Settings { accept_loss: Some(1), ..setup.settings.clone() };
    let other = Testbed::group(&setup, setup.without_cache(&older), settings, 0, 4);
    other.open().map_err(|error| format!("the accepted loss is refused: {error}"))?;
    let mut wiped = other.image();
    wiped[setup.cache()].clone_from(&older[setup.cache()]);
    wiped[setup.cache()][..8192].fill(0);
    gives_up(&setup, wiped, 2)
}
