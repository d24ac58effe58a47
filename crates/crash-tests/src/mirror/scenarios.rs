//! Directed cases: what random lives seldom meet.

use std::rc::Rc;

use fathom_layers::mirror::{Force, Node, Settings};
use fathom_runtime::Random;
use fathom_volume::Request;

use super::testbed::{USER, blank, fast};
use crate::crash::{Image, Media, Policy};
use crate::oracle::{GROUP, GROUPS, SECTOR, offset, shown, stamp};
use crate::testbed::Testbed;

/// A case by its name.
pub type Case = (&'static str, fn() -> Result<(), String>);

/// All of them.
pub const ALL: &[Case] = &[
    ("an old copy of a leg is copied whole", old_copy),
    ("after a planned end an old copy of any leg is told from it", copy_before_close),
    ("a copy is older than what was written after it where no bit changed", copy_in_a_busy_region),
    ("a leg that was absent is opened when it is there", absent_leg),
    ("a leg of another mirror is refused", foreign),
    ("legs that went on apart are refused", apart),
    ("a force left in the settings opens no leg that was given up", force_left),
    ("a leg in sync is missed", missed),
    ("a damaged bitmap means everything", damaged_bitmap),
    ("a torn superblock leaves the one before", torn_superblock),
    ("a superblock counts when it is answered", superblock_is_durable),
    ("a repair waits for a newer write", repair),
    ("a blank leg is copied whole", blank_leg),
    ("a leg that returned knows what others lack", returned_knows),
    ("overlapping writes leave equal legs", overlaps),
    ("a leg that failed a flush comes back with what it lost", failed_flush),
    ("a flush does not count for who came back after it", blank_during_flush),
];

fn open(image: &Image, there: usize, change: impl FnOnce(&mut Settings)) -> Result<Testbed<Node>, String> {
    let mut settings = fast();
    change(&mut settings);
    let testbed = Testbed::mirror(image.clone(), there, &settings, 0, 1);
    testbed.open().map_err(|error| error.to_string())?;
    Ok(testbed)
}

/// A mirror of so many legs that holds write 1 in every group, at rest.
fn begun(legs: usize) -> Result<Image, String> {
    let testbed = open(&blank(legs), (1 << legs) - 1, |_| {})?;
    testbed.run(async {
        for group in 0..GROUPS {
            testbed.write_group(1, group).await?;
        }
        testbed.node.rest().await.map_err(|error| error.to_string())
    })?;
    Ok(testbed.image())
}

fn must_refuse(image: &Image, there: usize, with: &str) -> Result<String, String> {
    match open(image, there, |_| {}) {
        Ok(_) => Err(format!("it opens with {with}")),
        Err(refusal) => Ok(refusal),
    }
}

/// The legs that a refusal offers to go on with.
fn offered(refusal: &str) -> Option<Force> {
    refusal.split_once("force = \"")?.1.split('"').next()?.parse().ok()
}

/// Everybody equal, and every read shows this in that group.
fn shows(testbed: &Testbed<Node>, group: usize, id: u32) -> Result<(), String> {
    testbed.run(async {
        for _ in 0..3 {
            let all = testbed.read_groups().await?;
            if all[group * GROUP..(group + 1) * GROUP].iter().any(|found| *found != id) {
                return Err(format!(
                    "group {group} shows {:?}, not {id}",
                    &all[group * GROUP..(group + 1) * GROUP]
                ));
            }
            testbed.node.rebuilt().await.map_err(|error| error.to_string())?;
            testbed.node.rest().await.map_err(|error| error.to_string())?;
        }
        testbed.equal()
    })
}

fn old_copy() -> Result<(), String> {
    let first = begun(2)?;
    let testbed = open(&first, 3, |_| {})?;
    testbed.run(async {
        testbed.write_group(2, 0).await?;
        testbed.node.rest().await.map_err(|error| error.to_string())
    })?;
    let testbed = open(&testbed.image(), 3, |_| {})?;
    for leg in 0..2 {
        let mut image = testbed.image();
        image[leg].clone_from(&first[leg]);
        shows(&open(&image, 3, |_| {})?, 0, 2)?;
        // Alone it would show what it showed then.
        must_refuse(&image, 1 << leg, "a leg from yesterday")?;
    }
    Ok(())
}

/// With either leg of the first two as it was earlier, group 0 shows this write.
fn each_leg_as_it_was(testbed: &Testbed<Node>, early: &Image, shown: u32) -> Result<(), String> {
    for leg in 0..2 {
        let mut image = testbed.image();
        image[leg].clone_from(&early[leg]);
        shows(&open(&image, 3, |_| {})?, 0, shown)?;
    }
    Ok(())
}

fn copy_before_close() -> Result<(), String> {
    // One leg is away, so that no bit is cleared and the end changes no bitmap.
    let testbed = open(&begun(3)?, 7, |_| {})?;
    let early = testbed.run(async {
        testbed.faults[2].gone.set(true);
        testbed.write_group(2, 0).await?;
        let early = testbed.image();
        testbed.write_group(3, 0).await?;
        testbed.node.close().await.map_err(|error| error.to_string())?;
        Ok(early)
    })?;
    each_leg_as_it_was(&testbed, &early, 3)
}

fn copy_in_a_busy_region() -> Result<(), String> {
    let testbed = open(&begun(2)?, 3, |_| {})?;
    let early = testbed.run(async {
        testbed.write_group(2, 0).await?;
        let early = testbed.image();
        for id in 3..40 {
            testbed.write_group(id, 0).await?;
            testbed.runtime.context().sleep(50_000).await;
        }
        Ok(early)
    })?;
    each_leg_as_it_was(&testbed, &early, 39)
}

fn absent_leg() -> Result<(), String> {
    for seed in 1..3 {
        let testbed = open(&begun(2)?, 3, |_| {})?;
        testbed.run(async {
            testbed.faults[1].gone.set(true);
            testbed.write_group(2, 0).await
        })?;
        let testbed = Testbed::mirror(testbed.image(), 1, &fast(), 0, seed);
        testbed.open().map_err(|error| error.to_string())?;
        testbed.run(async {
            testbed.write_group(3, 2).await?;
            testbed.faults[1].gone.set(false);
            testbed.runtime.context().sleep(5_000_000).await;
            if testbed.in_sync() == [0, 1] {
                Ok(())
            } else {
                Err(format!("in sync are {:?}", testbed.in_sync()))
            }
        })?;
        shows(&testbed, 0, 2)?;
        shows(&testbed, 2, 3)?;
    }
    Ok(())
}

fn foreign() -> Result<(), String> {
    let one = begun(2)?;
    let testbed = Testbed::mirror(blank(2), 3, &fast(), 0, 77);
    testbed.open().map_err(|error| error.to_string())?;
    let other = testbed.image();
    must_refuse(&vec![one[0].clone(), other[1].clone()], 3, "a leg of another mirror").map(drop)
}

/// Opens with one leg that must be told to, writes, and gives the image.
fn alone(image: &Image, there: usize, id: u32) -> Result<Image, String> {
    let refusal = must_refuse(image, there, "a leg missing that was in sync")?;
    let force = offered(&refusal);
    let testbed = open(image, there, |settings| settings.accepted.force = force)?;
    testbed.run(testbed.write_group(id, 0))?;
    Ok(testbed.image())
}

fn apart() -> Result<(), String> {
    let image = begun(2)?;
    let (left, right) = (alone(&image, 1, 2)?, alone(&image, 2, 3)?);
    let refusal = must_refuse(&vec![left[0].clone(), right[1].clone()], 3, "legs that went on apart")?;
    if refusal.contains("discard") { Ok(()) } else { Err(format!("no remedy: {refusal}")) }
}

fn force_left() -> Result<(), String> {
    let image = begun(2)?;
    let force = offered(&must_refuse(&image, 1, "a leg missing that was in sync")?);
    let testbed = open(&image, 1, |settings| settings.accepted.force.clone_from(&force))?;
    testbed.run(testbed.write_group(2, 0))?;
    match open(&testbed.image(), 2, |settings| settings.accepted.force = force) {
        Ok(_) => Err("the leg that was given up opens by the same words".to_owned()),
        Err(_) => Ok(()),
    }
}

fn missed() -> Result<(), String> {
    let image = begun(2)?;
    let testbed = open(&image, 3, |_| {})?;
    testbed.run(async {
        testbed.faults[1].gone.set(true);
        testbed.write_group(2, 0).await
    })?;
    let image = testbed.image();
    must_refuse(&image, 2, "only a leg that was left behind")?;
    shows(&open(&image, 1, |_| {})?, 0, 2)?;
    shows(&open(&image, 3, |_| {})?, 0, 2)
}

/// As if the power had failed when one leg had a write and the other had not.
fn half_written() -> Result<Image, String> {
    let testbed = open(&begun(2)?, 3, |settings| settings.clean_after = 1_000_000_000)?;
    testbed.run(testbed.write_group(2, 1))?;
    let mut image = testbed.image();
    for index in 0..GROUP {
        let at = offset(1) + index * SECTOR;
        image[1][at..at + SECTOR].copy_from_slice(&stamp(1, GROUP + index));
    }
    Ok(image)
}

fn damaged_bitmap() -> Result<(), String> {
    let mut image = half_written()?;
    for leg in &mut image {
        leg[USER + 8192 + 100] ^= 1;
    }
    let testbed = open(&image, 3, |_| {})?;
    let seen = testbed.run(testbed.read_groups())?[GROUP];
    shows(&testbed, 1, seen)
}

fn torn_superblock() -> Result<(), String> {
    let testbed = open(&begun(2)?, 3, |_| {})?;
    let before = testbed.image();
    let testbed = open(&before, 3, |_| {})?;
    let mut image = testbed.image();
    // The copy that was written last is torn, on one leg after the other.
    for leg in 0..2 {
        let whole = image[leg].clone();
        for copy in [USER, USER + 4096] {
            if before[leg][copy..copy + 4096] != whole[copy..copy + 4096] {
                image[leg][copy + 64..copy + 4096].fill(0);
            }
        }
        shows(&open(&image, 3, |_| {})?, 0, 1)?;
        image[leg] = whole;
    }
    Ok(())
}

/// What the power leaves of a life that began with that image: of what no flush covers, nothing.
fn cut(testbed: &Testbed<Node>, image: &Image) -> Image {
    let trace = testbed.trace.borrow().clone();
    let mut media = Media::new(image);
    media.follow(&trace);
    media.cut(Policy::DropAll, &mut Random::new(1, "policy"))
}

fn failed_flush() -> Result<(), String> {
    // A user's flush, or that of the mirror before it clears bits.
    for user in [true, false] {
        let image = begun(2)?;
        let testbed = open(&image, 3, |settings| settings.clean_after = 1_000_000_000)?;
        let flush = || testbed.volumes[0].flush(Request::flush());
        testbed.run(async {
            testbed.write_group(2, 0).await?;
            testbed.faults[0].flushes.set(1);
            let flushed = if user { flush().await } else { testbed.node.rest().await };
            flushed.map_err(|error| format!("the other leg can: {error}"))?;
            testbed.write_group(3, 2).await?;
            testbed.runtime.context().sleep(5_000_000).await;
            testbed.node.rebuilt().await.map_err(|error| error.to_string())?;
            if testbed.in_sync() != [0, 1] {
                return Err(format!("in sync are {:?}", testbed.in_sync()));
            }
            flush().await.map_err(|error| error.to_string())
        })?;
        // The first leg counts after a crash: it is the one that had lost the write.
        let testbed = open(&cut(&testbed, &image), 3, |_| {})?;
        shows(&testbed, 0, 2)?;
        shows(&testbed, 2, 3)?;
    }
    Ok(())
}

fn blank_during_flush() -> Result<(), String> {
    let image = begun(2)?;
    let testbed = open(&image, 3, |settings| settings.clean_after = 1_000_000_000)?;
    testbed.run(async {
        testbed.write_group(2, 0).await?;
        // Leg 0 flushes for 30 ms; meanwhile leg 1 vanishes, is replaced, and gets the first of its copies.
        testbed.faults[0].flush_time.set(30_000_000);
        let context = testbed.runtime.context();
        let node = Rc::clone(&testbed.node);
        let rest = context.spawn(async move { node.rest().await });
        context.sleep(1_000_000).await;
        testbed.faults[1].gone.set(true);
        testbed.write_group(3, 4).await?;
        testbed.replace(1);
        testbed.faults[0].read_time.set(10_000_000);
        testbed.faults[1].gone.set(false);
        rest.await.map_err(|error| error.to_string())?;
        if testbed.in_sync() != [0] {
            return Err(format!("in sync are {:?}", testbed.in_sync()));
        }
        Ok(())
    })?;
    shows(&open(&cut(&testbed, &image), 3, |_| {})?, 0, 2)
}

fn superblock_is_durable() -> Result<(), String> {
    let image = begun(2)?;
    let testbed = open(&image, 3, |_| {})?;
    testbed.run(async {
        testbed.faults[1].gone.set(true);
        testbed.write_group(2, 0).await
    })?;
    // What no flush covers is lost, and nobody has flushed: the leg that went on must know that it did.
    let left = cut(&testbed, &image);
    must_refuse(&left, 2, "a leg that was left behind")?;
    let testbed = open(&left, 1, |_| {})?;
    testbed.run(testbed.read_groups()).map(drop)
}

fn repair() -> Result<(), String> {
    let settings = Settings { read: fathom_layers::mirror::ReadPolicy::First, ..fast() };
    let testbed = Testbed::mirror(begun(2)?, 3, &settings, 30_000, 5);
    testbed.open().map_err(|error| error.to_string())?;
    testbed.run(async {
        testbed.faults[0].reads.set(1);
        let context = testbed.runtime.context();
        let (mirror, buf) = (testbed.volumes[0].clone(), testbed.pool.get(GROUP * SECTOR));
        let reader = context
            .spawn(async move { mirror.read(Request::new(offset(2) as u64, buf.len() as u64), buf).await });
        // Newer writes from the moment at which the other leg may have been read.
        for id in 2..12 {
            context.sleep(20_000).await;
            testbed.write_group(id, 2).await?;
        }
        reader.await.map_err(|error| error.to_string())?;
        context.sleep(1_000_000).await;
        Ok(())
    })?;
    shows(&testbed, 2, 11)
}

fn blank_leg() -> Result<(), String> {
    let testbed = open(&begun(2)?, 3, |_| {})?;
    testbed.run(async {
        testbed.faults[0].gone.set(true);
        testbed.write_group(2, 0).await
    })?;
    let mut image = testbed.image();
    image[0].fill(0);
    let testbed = open(&image, 3, |_| {})?;
    shows(&testbed, 0, 2)?;
    shows(&testbed, 3, 1)
}

fn returned_knows() -> Result<(), String> {
    let testbed = open(&begun(3)?, 7, |settings| settings.clean_after = 1_000_000_000)?;
    testbed.run(async {
        testbed.faults[2].gone.set(true);
        testbed.write_group(2, 0).await?;
        testbed.faults[1].gone.set(true);
        testbed.write_group(3, 2).await?;
        testbed.faults[1].gone.set(false);
        testbed.runtime.context().sleep(2_000_000).await;
        if testbed.in_sync() != [0, 1] {
            return Err(format!("in sync are {:?}", testbed.in_sync()));
        }
        Ok(())
    })?;
    let image = testbed.image();
    let force = offered(&must_refuse(&image, 6, "a leg missing that was in sync")?);
    let testbed = open(&image, 6, |settings| settings.accepted.force = force)?;
    shows(&testbed, 2, 3)?;
    shows(&testbed, 0, 2)
}

fn overlaps() -> Result<(), String> {
    for seed in 1..6 {
        let testbed = Testbed::mirror(begun(2)?, 3, &fast(), 50_000, seed);
        testbed.open().map_err(|error| error.to_string())?;
        testbed.run(async {
            let writes = (2..10).map(|id| testbed.write_group(id, 0));
            for outcome in futures_util::future::join_all(writes).await {
                outcome?;
            }
            testbed.equal()
        })?;
        let all = testbed.run(testbed.read_groups())?;
        let _ = shown(0, &stamp(all[0], 0))?;
    }
    Ok(())
}
