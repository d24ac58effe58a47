//! Directed cases: what random lives seldom meet.

use std::pin::Pin;

use fathom_layers::codec::BLOCK;
use fathom_layers::pool::Node;
use fathom_runtime::Random;
use fathom_volume::Request;

use super::testbed::{MAP, Setup, refusal};
use crate::crash::{Image, Media, Policy};
use crate::disk::Event;
use crate::oracle::{GROUP, GROUPS, offset};
use crate::testbed::Testbed;

/// A case by its name.
pub type Case = (&'static str, fn() -> Result<(), String>);

/// All of them.
pub const ALL: &[Case] = &[
    ("members that do not belong there are refused, and nothing is written", strangers),
    ("a pool that is made anew shows nothing at its ends of the one before it", made_anew),
    ("an older copy of a member is refused once the pool was opened since", older_copy),
    ("one damaged block of its own changes nothing", damaged),
    ("both copies of the map are the same after an opening", mended),
    ("zeroes that are written while an extent moves stay", zeroes),
    ("writes that are on their way when their extent begins to move stay", in_flight),
    ("a write that fails at the new place keeps the extent where it is", failed_write),
    ("whichever place the map names, both hold what was flushed", uncertain),
    ("while the map is uncertain, a write that reaches one place is not answered", unanswered),
    ("a flush reaches every member", flush),
];

/// Two members of four places each, which hold six extents, and a third one.
fn setup() -> Setup {
    Setup::of(&[4, 4, 4])
}

fn open(image: &Image, members: usize, setup: &Setup, slowest: u64) -> Result<Testbed<Node>, String> {
    let testbed = Testbed::pool(image.clone(), members, setup, slowest, 1);
    testbed.open().map_err(|error| error.to_string())?;
    Ok(testbed)
}

async fn write_all(testbed: &Testbed<Node>, id: u32) -> Result<(), String> {
    for group in 0..GROUPS {
        testbed.write_group(id, group).await?;
    }
    testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())
}

/// A pool that holds write 1 in every group, on its first two members.
fn begun(setup: &Setup) -> Result<Image, String> {
    let testbed = open(&setup.blank(), setup.made_on, setup, 0)?;
    testbed.run(write_all(&testbed, 1))?;
    Ok(testbed.image())
}

/// The same, and two extents have moved to the third member.
fn moved(setup: &Setup) -> Result<Image, String> {
    let testbed = open(&begun(setup)?, 3, setup, 0)?;
    testbed.run(testbed.balanced())?;
    Ok(testbed.image())
}

/// Who blanks where a member says what it is has a new pool, whose extents lie where those of the old one were.
fn made_anew() -> Result<(), String> {
    let setup = setup();
    let mut image = begun(&setup)?;
    image.iter_mut().for_each(|member| member[..MAP[1] + BLOCK].fill(0));
    let testbed = open(&image, setup.made_on, &setup, 0)?;
    let all = testbed.run(testbed.read_groups())?;
    if all.iter().all(|found| *found == 0) { Ok(()) } else { Err(format!("the sectors show {all:?}")) }
}

/// Opened from there, every group shows this write, also when all extents have moved.
fn shows(image: &Image, setup: &Setup, id: u32) -> Result<(), String> {
    let testbed = open(image, 3, setup, 0)?;
    testbed.run(async {
        for _ in 0..2 {
            let all = testbed.read_groups().await?;
            if all.iter().any(|found| *found != id) {
                return Err(format!("the sectors show {all:?}, not {id}"));
            }
            testbed.balanced().await?;
        }
        Ok(())
    })
}

fn strangers() -> Result<(), String> {
    let setup = setup();
    let image = moved(&setup)?;
    // Setup on an executor of another seed: another pool.
    let other = Testbed::pool(setup.blank(), 2, &setup, 0, 7);
    other.open().map_err(|error| error.to_string())?;
    let other = other.image();
    let with = |change: &dyn Fn(&mut Image)| {
        let mut image = image.clone();
        change(&mut image);
        image
    };
    let table: [(&str, Image, usize, &str); 7] = [
        ("a blank first member", with(&|image| image[0].fill(0)), 3, "bring back the volume that was first"),
        (
            "a blank member that holds extents",
            with(&|image| image[2].fill(0)),
            3,
            "bring back the volume that was here",
        ),
        ("members in another order", with(&|image| image.swap(1, 2)), 3, "name the members in their order"),
        (
            "a member of another pool",
            with(&|image| image[1].clone_from(&other[1])),
            3,
            "belongs to another pool",
        ),
        (
            "a first member of another pool",
            with(&|image| image[0].clone_from(&other[0])),
            3,
            "belongs to another pool",
        ),
        ("somebody else's device", with(&|image| image[2][..8192].fill(0x5A)), 3, "not a pool's"),
        ("a member missing", image.clone(), 2, "name every member"),
    ];
    for (what, image, members, words) in table {
        let said = refusal(&image, members, &setup, what)?;
        if !said.contains(words) {
            return Err(format!("with {what} it says: {said}"));
        }
    }
    shows(&image, &setup, 1)
}

fn older_copy() -> Result<(), String> {
    let setup = setup();
    let first = moved(&setup)?;
    let testbed = open(&first, 3, &setup, 0)?;
    testbed.run(write_all(&testbed, 2))?;
    let image = testbed.image();
    for member in 0..3 {
        let mut old = image.clone();
        old[member].clone_from(&first[member]);
        let said = refusal(&old, 3, &setup, "a member from yesterday")?;
        if !said.contains("is an older copy") {
            return Err(format!("with an older copy of member {member} it says: {said}"));
        }
    }
    shows(&image, &setup, 2)?;
    // All members of one moment are the pool of that moment.
    shows(&first, &setup, 1)
}

fn damaged() -> Result<(), String> {
    let setup = setup();
    let image = moved(&setup)?;
    let blocks =
        MAP.iter().map(|at| (0, *at)).chain((0..3).flat_map(|member| [(member, 0), (member, BLOCK)]));
    for (member, at) in blocks {
        // The extents of the map's block begin at byte 48; every field counts.
        for byte in [0, 9, 13, 20, 36, 41, 49, 52, 4000] {
            let mut damaged = image.clone();
            damaged[member][at + byte] ^= 1;
            shows(&damaged, &setup, 1)
                .map_err(|why| format!("byte {byte} from {at} of member {member}: {why}"))?;
        }
    }
    Ok(())
}

/// The power is cut after the first copy of the map's block. What is written after the next opening must not depend on it.
fn mended() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    let testbed = open(&image, 3, &setup, 1000)?;
    testbed.run(testbed.balanced())?;
    let trace = testbed.trace.borrow().clone();
    let mut media = Media::new(&image);
    let mut cuts = 0;
    for number in 0..trace.len() {
        media.step(&trace);
        let Event::Written(arrived) = &trace[number] else { continue };
        let Event::Write { disk: 0, offset, .. } = &trace[*arrived] else { continue };
        if !MAP.contains(offset) {
            continue;
        }
        cuts += 1;
        let still = Setup { rebalance: false, ..setup.clone() };
        let again = open(&media.cut(Policy::DropAll, &mut Random::new(1, "nothing is drawn")), 3, &still, 0)?;
        again.run(write_all(&again, 2))?;
        for at in MAP {
            let mut damaged = again.image();
            damaged[0][at + 50] ^= 1;
            shows(&damaged, &setup, 2)
                .map_err(|why| format!("cut after event {number}, the copy at {at} damaged later: {why}"))?;
        }
    }
    if cuts < 4 { Err(format!("the map was written {cuts} times")) } else { Ok(()) }
}

fn zeroes() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    for pause in 0..40 {
        let testbed = open(&image, 3, &setup, 1000)?;
        testbed.run(async {
            testbed.runtime.context().sleep(pause * 1500).await;
            for group in 0..GROUPS {
                let request = Request::new(offset(group) as u64, 2048);
                testbed.volumes[0].write_zeroes(request).await.map_err(|error| error.to_string())?;
            }
            testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())?;
            testbed.balanced().await
        })?;
        shows(&testbed.image(), &setup, 0)
            .map_err(|why| format!("zeroes after {} us: {why}", pause * 3 / 2))?;
    }
    Ok(())
}

/// Writes to every group at once, before, while and after its extent is taken for the move.
fn in_flight() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    for seed in 1..=300 {
        let testbed = Testbed::pool(image.clone(), 3, &setup, 50_000, seed);
        testbed.open().map_err(|error| error.to_string())?;
        let write = |group: usize| {
            let (context, testbed) = (testbed.runtime.context(), &testbed);
            Box::pin(async move {
                context.sleep(seed * 2_000).await;
                testbed.write_group(2, group).await
            })
        };
        testbed.run(async {
            let answers = fathom_runtime::join((0..GROUPS).map(write).collect()).await;
            answers.into_iter().try_for_each(|(_, answer)| answer)?;
            testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())?;
            testbed.balanced().await
        })?;
        shows(&testbed.image(), &setup, 2).map_err(|why| format!("seed {seed}: {why}"))?;
    }
    Ok(())
}

/// Groups in which a sector does not show this write.
fn without(all: &[u32], id: u32) -> Vec<usize> {
    (0..GROUPS)
        .filter(|group| all[group * GROUP..(group + 1) * GROUP].iter().any(|found| *found != id))
        .collect()
}

/// Every group of `written` shows write 2, in what the pool shows now.
async fn shows_written(testbed: &Testbed<Node>, written: &[usize]) -> Result<(), String> {
    let all = testbed.read_groups().await?;
    match written.iter().find(|group| without(&all, 2).contains(group)) {
        Some(group) => Err(format!("group {group} shows {all:?}, and write 2 was answered")),
        None => Ok(()),
    }
}

/// The new member takes what is copied and fails users' writes. Nothing is written again: what was answered must be there.
fn failed_write() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    let mut failed = 0_usize;
    for pause in 0..60 {
        let testbed = open(&image, 3, &setup, 1000)?;
        let work = async {
            testbed.runtime.context().sleep(pause * 1000).await;
            let mut written = Vec::new();
            for group in 0..GROUPS {
                // Gone for the write alone: what copies the extent notices nothing.
                testbed.faults[2].gone.set(true);
                let back = async {
                    testbed.runtime.context().sleep(1).await;
                    testbed.faults[2].gone.set(false);
                    Ok(())
                };
                let both = [
                    Box::pin(testbed.write_group(2, group))
                        as Pin<Box<dyn Future<Output = Result<(), String>>>>,
                    Box::pin(back),
                ];
                // Only what lies on the new member already may fail.
                let answers = fathom_runtime::join(both.into()).await;
                written.extend(answers.iter().all(|(_, answer)| answer.is_ok()).then_some(group));
            }
            failed += GROUPS - written.len();
            testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())?;
            shows_written(&testbed, &written).await?;
            testbed.balanced().await?;
            shows_written(&testbed, &written).await?;
            Ok::<_, String>(written)
        };
        let told = |why| format!("gone after {pause} us: {why}");
        let written = testbed.run(work).map_err(told)?;
        let again = open(&testbed.image(), 3, &setup, 0)?;
        again.run(shows_written(&again, &written)).map_err(told)?;
    }
    if failed == 0 { Err("nothing has moved by the time that writes are tried".to_owned()) } else { Ok(()) }
}

/// A block of the map is durable, and its write is answered with an error: nobody knows which place counts. The new member is
/// gone then, so that what moves reaches the old place only.
fn unanswered() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    let mut refused = 0;
    for seed in 0..20 {
        let testbed = Testbed::pool(image.clone(), 3, &setup, 1000, seed);
        testbed.open().map_err(|error| error.to_string())?;
        let told = |why| format!("seed {seed}: {why}");
        let written = testbed
            .run(async {
                // Nothing but the map is written to the first member.
                testbed.faults[0].unanswered.set(1);
                for _ in 0..1000 {
                    testbed.runtime.context().sleep(1000).await;
                    if testbed.faults[0].unanswered.get() == 0 {
                        break;
                    }
                }
                testbed.faults[2].gone.set(true);
                let mut written = Vec::new();
                for group in 0..GROUPS {
                    written.extend(testbed.write_group(2, group).await.is_ok().then_some(group));
                }
                testbed.faults[2].gone.set(false);
                testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())?;
                Ok(written)
            })
            .map_err(told)?;
        refused += GROUPS - written.len();
        let mut media = Media::new(&image);
        media.follow(&testbed.trace.borrow());
        let left = media.cut(Policy::DropAll, &mut Random::new(1, "nothing is drawn"));
        let again = open(&left, 3, &setup, 0)?;
        again.run(shows_written(&again, &written)).map_err(told)?;
        testbed
            .run(async {
                testbed.balanced().await?;
                shows_written(&testbed, &written).await
            })
            .map_err(told)?;
    }
    if refused == 0 { Err("no write was refused".to_owned()) } else { Ok(()) }
}

/// The first member, which has the map, is gone for a moment while a block of the map is on its way: it may have arrived or not.
fn uncertain() -> Result<(), String> {
    let setup = setup();
    let image = begun(&setup)?;
    let mut arrived = 0;
    for pause in 0..80 {
        let testbed = open(&image, 3, &setup, 1000)?;
        let from = testbed.trace.borrow().len();
        let written = testbed.run(async {
            testbed.runtime.context().sleep(pause * 1000).await;
            testbed.faults[0].gone.set(true);
            testbed.runtime.context().sleep(4000).await;
            // Whatever lies on the others takes writes, unless the new member is gone, too: who knows what the map names?
            testbed.faults[2].gone.set(pause % 2 == 1);
            let mut written = Vec::new();
            for group in 0..GROUPS {
                written.extend(testbed.write_group(2, group).await.is_ok().then_some(group));
            }
            testbed.faults.iter().for_each(|faults| faults.gone.set(false));
            testbed.volumes[0].flush(Request::flush()).await.map_err(|error| error.to_string())?;
            Ok(written)
        })?;
        let trace = testbed.trace.borrow().clone();
        let lost = |event: &Event, number: usize| {
            let is_map = matches!(event, Event::Write { disk: 0, offset, .. } if MAP.contains(offset));
            is_map && !trace.iter().any(|other| matches!(other, Event::Written(of) if *of == number))
        };
        arrived += (from..trace.len()).filter(|number| lost(&trace[*number], *number)).count();
        for policy in [Policy::KeepAll, Policy::DropAll] {
            let mut media = Media::new(&image);
            media.follow(&trace);
            let again = open(&media.cut(policy, &mut Random::new(1, "nothing is drawn")), 3, &setup, 0)?;
            again
                .run(shows_written(&again, &written))
                .map_err(|why| format!("gone after {pause} us, {policy:?}: {why}"))?;
        }
    }
    if arrived == 0 { Err("no write of the map was on its way".to_owned()) } else { Ok(()) }
}

fn flush() -> Result<(), String> {
    let setup = Setup { rebalance: false, ..setup() };
    let image = moved(&Setup { rebalance: true, ..setup.clone() })?;
    let testbed = open(&image, 3, &setup, 0)?;
    testbed.run(write_all(&testbed, 2))?;
    let mut media = Media::new(&image);
    media.follow(&testbed.trace.borrow());
    let left = media.cut(Policy::DropAll, &mut Random::new(1, "nothing is drawn"));
    shows(&left, &setup, 2)
}
