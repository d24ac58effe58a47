//! Directed cases: what chance would take long to find.

use std::pin::Pin;

use fathom_layers::codec::BLOCK;
use fathom_runtime::Random;
use fathom_volume::Request;

use super::stand::{MAP, Made, Stand, refusal};
use crate::crash::{Image, Media, Policy};
use crate::disk::Event;
use crate::mirror::oracle::{GROUP, GROUPS, place, stamp};
use crate::mirror::stand::read_all;

/// A case by its name.
pub type Case = (&'static str, fn() -> Result<(), String>);

/// All of them.
pub const ALL: &[Case] = &[
    ("members that do not belong there are refused, and nothing is written", strangers),
    ("an older copy of a member is refused once the pool was opened since", older_copy),
    ("one damaged block of its own changes nothing", damaged),
    ("both copies of the map are the same after an opening", mended),
    ("zeroes that are written while an extent moves stay", zeroes),
    ("a write that fails at the new place keeps the extent where it is", failed_write),
    ("whichever place the map names, both hold what was flushed", uncertain),
    ("a flush reaches every member", flush),
];

/// Two members of four places each, which hold six extents, and a third one.
fn made() -> Made {
    Made::of(&[4, 4, 4])
}

fn open(image: &Image, members: usize, made: &Made, slowest: u64) -> Result<Stand, String> {
    let stand = Stand::build(image.clone(), members, made, slowest, 1);
    stand.open().map_err(|error| error.to_string())?;
    Ok(stand)
}

async fn write(stand: &Stand, id: u32, group: usize) -> Result<(), String> {
    let bytes: Vec<u8> = (0..GROUP).flat_map(|index| stamp(id, group * GROUP + index)).collect();
    let request = Request::new(place(group) as u64, bytes.len() as u64);
    stand.volume.write(request, stand.pool.copy_of(&bytes)).await.map_err(|error| error.to_string())
}

async fn write_all(stand: &Stand, id: u32) -> Result<(), String> {
    for group in 0..GROUPS {
        write(stand, id, group).await?;
    }
    stand.volume.flush(Request::flush()).await.map_err(|error| error.to_string())
}

fn run<T>(stand: &Stand, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    stand.runtime.block_on(work).map_err(|error| error.to_string())?
}

/// A pool that holds write 1 in every group, on its first two members.
fn begun(made: &Made) -> Result<Image, String> {
    let stand = open(&made.blank(), made.filled, made, 0)?;
    run(&stand, write_all(&stand, 1))?;
    Ok(stand.image())
}

/// The same, and two extents have moved to the third member.
fn moved(made: &Made) -> Result<Image, String> {
    let stand = open(&begun(made)?, 3, made, 0)?;
    run(&stand, async { stand.node.balanced().await.map_err(|error| error.to_string()) })?;
    Ok(stand.image())
}

/// Opened from there, every group shows this write, also when all extents have moved.
fn shows(image: &Image, made: &Made, id: u32) -> Result<(), String> {
    let stand = open(image, 3, made, 0)?;
    run(&stand, async {
        for _ in 0..2 {
            let all = read_all(&stand.volume, &stand.pool).await?;
            if all.iter().any(|found| *found != id) {
                return Err(format!("the sectors show {all:?}, not {id}"));
            }
            stand.node.balanced().await.map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

fn strangers() -> Result<(), String> {
    let made = made();
    let image = moved(&made)?;
    // Made on an executor of another seed: another pool.
    let other = Stand::build(made.blank(), 2, &made, 0, 7);
    other.open().map_err(|error| error.to_string())?;
    let other = other.image();
    let with = |change: &dyn Fn(&mut Image)| {
        let mut image = image.clone();
        change(&mut image);
        image
    };
    let table: [(&str, Image, usize, &str); 7] = [
        ("a blank first member", with(&|image| image[0].fill(0)), 3, "bring the volume back that was first"),
        (
            "a blank member that holds extents",
            with(&|image| image[2].fill(0)),
            3,
            "bring the volume back that was here",
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
        let said = refusal(&image, members, &made, what)?;
        if !said.contains(words) {
            return Err(format!("with {what} it says: {said}"));
        }
    }
    shows(&image, &made, 1)
}

fn older_copy() -> Result<(), String> {
    let made = made();
    let first = moved(&made)?;
    let stand = open(&first, 3, &made, 0)?;
    run(&stand, write_all(&stand, 2))?;
    let image = stand.image();
    for member in 0..3 {
        let mut old = image.clone();
        old[member].clone_from(&first[member]);
        let said = refusal(&old, 3, &made, "a member from yesterday")?;
        if !said.contains("is an older copy") {
            return Err(format!("with an older copy of member {member} it says: {said}"));
        }
    }
    shows(&image, &made, 2)?;
    // All members of one moment are the pool of that moment.
    shows(&first, &made, 1)
}

fn damaged() -> Result<(), String> {
    let made = made();
    let image = moved(&made)?;
    let blocks =
        MAP.iter().map(|at| (0, *at)).chain((0..3).flat_map(|member| [(member, 0), (member, BLOCK)]));
    for (member, at) in blocks {
        // The places of the map's block begin at byte 48; every field counts.
        for byte in [0, 9, 13, 20, 36, 41, 49, 52, 4000] {
            let mut damaged = image.clone();
            damaged[member][at + byte] ^= 1;
            shows(&damaged, &made, 1)
                .map_err(|why| format!("byte {byte} from {at} of member {member}: {why}"))?;
        }
    }
    Ok(())
}

/// The power is cut after the first copy of the map's block. What is written after the next opening must not depend on it.
fn mended() -> Result<(), String> {
    let made = made();
    let image = begun(&made)?;
    let stand = open(&image, 3, &made, 1000)?;
    run(&stand, async { stand.node.balanced().await.map_err(|error| error.to_string()) })?;
    let trace = stand.trace.borrow().clone();
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
        let still = Made { rebalance: false, ..made.clone() };
        let again = open(&media.cut(Policy::DropAll, &mut Random::new(1, "nothing is drawn")), 3, &still, 0)?;
        run(&again, write_all(&again, 2))?;
        for at in MAP {
            let mut damaged = again.image();
            damaged[0][at + 50] ^= 1;
            shows(&damaged, &made, 2)
                .map_err(|why| format!("cut after event {number}, the copy at {at} damaged later: {why}"))?;
        }
    }
    if cuts < 4 { Err(format!("the map was written {cuts} times")) } else { Ok(()) }
}

fn zeroes() -> Result<(), String> {
    let made = made();
    let image = begun(&made)?;
    for pause in 0..40 {
        let stand = open(&image, 3, &made, 1000)?;
        run(&stand, async {
            stand.runtime.context().sleep(pause * 1500).await;
            for group in 0..GROUPS {
                let request = Request::new(place(group) as u64, 2048);
                stand.volume.write_zeroes(request).await.map_err(|error| error.to_string())?;
            }
            stand.volume.flush(Request::flush()).await.map_err(|error| error.to_string())?;
            stand.node.balanced().await.map_err(|error| error.to_string())
        })?;
        shows(&stand.image(), &made, 0).map_err(|why| format!("zeroes after {} us: {why}", pause * 3 / 2))?;
    }
    Ok(())
}

/// The new member takes what is copied, and fails users' writes.
fn failed_write() -> Result<(), String> {
    let made = made();
    let image = begun(&made)?;
    let mut failed = 0_usize;
    for pause in 0..60 {
        let stand = open(&image, 3, &made, 1000)?;
        run(&stand, async {
            stand.runtime.context().sleep(pause * 1000).await;
            for group in 0..GROUPS {
                // Gone for the write alone: what copies the extent notices nothing.
                stand.faults[2].gone.set(true);
                let back = async {
                    stand.runtime.context().sleep(1).await;
                    stand.faults[2].gone.set(false);
                    Ok(())
                };
                let both = [
                    Box::pin(write(&stand, 2, group)) as Pin<Box<dyn Future<Output = Result<(), String>>>>,
                    Box::pin(back),
                ];
                // Only what lies on the new member already may fail.
                let answers = fathom_runtime::join(both.into()).await;
                failed += answers.iter().filter(|(_, answer)| answer.is_err()).count();
            }
            for group in 0..GROUPS {
                let all = read_all(&stand.volume, &stand.pool).await?;
                if all[group * GROUP..(group + 1) * GROUP].contains(&1) {
                    write(&stand, 2, group).await?;
                }
            }
            stand.volume.flush(Request::flush()).await.map_err(|error| error.to_string())?;
            stand.node.balanced().await.map_err(|error| error.to_string())
        })?;
        shows(&stand.image(), &made, 2).map_err(|why| format!("gone after {pause} us: {why}"))?;
    }
    if failed == 0 { Err("nothing has moved by the time that writes are tried".to_owned()) } else { Ok(()) }
}

/// The first member, which has the map, is gone for a moment while a block of the map is on its way: it may have arrived or not.
fn uncertain() -> Result<(), String> {
    let made = made();
    let image = begun(&made)?;
    let mut arrived = 0;
    for pause in 0..80 {
        let stand = open(&image, 3, &made, 1000)?;
        let from = stand.trace.borrow().len();
        let written = run(&stand, async {
            stand.runtime.context().sleep(pause * 1000).await;
            stand.faults[0].gone.set(true);
            stand.runtime.context().sleep(4000).await;
            // Whatever lies on the others takes writes, unless the new member is gone, too: who knows what the map names?
            stand.faults[2].gone.set(pause % 2 == 1);
            let mut written = Vec::new();
            for group in 0..GROUPS {
                written.extend(write(&stand, 2, group).await.is_ok().then_some(group));
            }
            stand.faults.iter().for_each(|faults| faults.gone.set(false));
            stand.volume.flush(Request::flush()).await.map_err(|error| error.to_string())?;
            Ok(written)
        })?;
        let trace = stand.trace.borrow().clone();
        let lost = |event: &Event, number: usize| {
            let is_map = matches!(event, Event::Write { disk: 0, offset, .. } if MAP.contains(offset));
            is_map && !trace.iter().any(|other| matches!(other, Event::Written(of) if *of == number))
        };
        arrived += (from..trace.len()).filter(|number| lost(&trace[*number], *number)).count();
        for policy in [Policy::KeepAll, Policy::DropAll] {
            let mut media = Media::new(&image);
            media.follow(&trace);
            let again = open(&media.cut(policy, &mut Random::new(1, "nothing is drawn")), 3, &made, 0)?;
            run(&again, async {
                let all = read_all(&again.volume, &again.pool).await?;
                for group in &written {
                    if all[group * GROUP..(group + 1) * GROUP].iter().any(|found| *found != 2) {
                        return Err(format!(
                            "gone after {pause} us, {policy:?}: group {group} shows {all:?}, not 2"
                        ));
                    }
                }
                Ok(())
            })?;
        }
    }
    if arrived == 0 { Err("no write of the map was on its way".to_owned()) } else { Ok(()) }
}

fn flush() -> Result<(), String> {
    let made = Made { rebalance: false, ..made() };
    let image = moved(&Made { rebalance: true, ..made.clone() })?;
    let stand = open(&image, 3, &made, 0)?;
    run(&stand, write_all(&stand, 2))?;
    let mut media = Media::new(&image);
    media.follow(&stand.trace.borrow());
    let left = media.cut(Policy::DropAll, &mut Random::new(1, "nothing is drawn"));
    shows(&left, &made, 2)
}
