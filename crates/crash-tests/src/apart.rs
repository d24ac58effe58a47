//! Volumes of one group that are from different moments: one or several of them put back to an earlier one. What opens shows
//! everything; what does not is refused with ways out that keep what they say.

use fathom_layers::writeback::Settings;
use fathom_layers::writeback::record::{Change, Extent};
use fathom_runtime::Random;
use fathom_volume::{Action, Error};

use crate::crash::{Image, Media, Policy};
use crate::damage::{Outcome, at_end, follow, moments, offered, opened, spread};
use crate::group::Setup;
use crate::history::{History, SECTOR};
use crate::life::{Life, Step, record};
use crate::testbed::Testbed;

const VOLUMES: usize = 3;
const BLOCK: usize = 4096;

fn several(setup: &Setup) -> Setup {
    let mut setup = Setup { volumes: VOLUMES, own_ring: false, ..spread(setup, 100_000) };
    setup.settings.dirty_limit = Some(64 << 10);
    setup
}

/// Flushed writes on each volume in turn, with some of them on the same one; at some of them everything is destaged.
fn lived(
    setup: &Setup,
    media: &Media,
    history: &History,
    destage: &[u64],
    seed: u64,
) -> Result<Life, String> {
    let mut bursts = Vec::new();
    for number in 0..16 {
        let volume = (number * number % VOLUMES as u64 + number % 5 / 4) as u16 % VOLUMES as u16;
        let (offset, length) = (number % 4 * 8 * SECTOR as u64, 8 * SECTOR as u64);
        bursts.push(vec![Step::Change(Extent { volume, change: Change::Write, offset, length }, false)]);
        bursts.push(vec![Step::Flush]);
        if destage.contains(&number) {
            bursts.push(vec![Step::Destage]);
        }
    }
    record(setup, media, history, &bursts, seed)
}

/// How often each answer was given.
#[derive(Debug, Default)]
struct Answers {
    opened: u32,
    member_older: u32,
    forward: u32,
    back: u32,
    no_way_back: u32,
}

impl Answers {
    fn misses_one(&self) -> bool {
        let Self { opened, member_older, forward, back, no_way_back } = *self;
        [opened, member_older, forward, back, no_way_back].contains(&0)
    }
}

/// Each of the volumes, any two and all three put back to earlier moments of two incarnations, under the newest cache.
///
/// # Errors
/// The first violation, as of the others here.
pub fn put_back(setup: &Setup, random: &mut Random, share: f64) -> Result<(), String> {
    let setup = several(setup);
    let empty = History::new(setup.volumes, setup.sectors);
    let first = lived(&setup, &Media::new(&setup.blank()), &empty, &[2, 3, 8, 12], 1)?;
    let between = at_end(&first);
    let second = lived(&setup, &Media::new(&between), &first.history, &[1, 6, 7, 11], 2)?;
    let newest = at_end(&second);
    let mut earlier = moments(&first, random, share);
    earlier.push((first.trace.len(), between));
    earlier.extend(moments(&second, random, share));
    let mut answers = Answers::default();
    for (event, image) in &earlier {
        // A group that was not made yet is another matter.
        if image[0].iter().all(|byte| *byte == 0) {
            continue;
        }
        for which in 1..1_usize << VOLUMES {
            let mut mixed = newest.clone();
            let back: Vec<usize> = (0..VOLUMES).filter(|volume| which >> volume & 1 == 1).collect();
            for volume in &back {
                mixed[*volume].clone_from(&image[*volume]);
            }
            answer(&setup, &mixed, &second.history, true, &mut answers)
                .map_err(|why| format!("volumes {back:?} as they were after event {event}: {why}"))?;
        }
    }
    if share >= 0.05 && answers.misses_one() {
        return Err(format!("an answer is never given: {answers:?}"));
    }
    // Each from a moment of its own. The way back is not followed: copies that were not made at one instant may hold a part
    // of a batch, of which nothing tells.
    for _ in 0..earlier.len() {
        let mut mixed = newest.clone();
        let mut events = Vec::new();
        for volume in 0..VOLUMES {
            let (event, image) = &earlier[random.below(earlier.len() as u64) as usize];
            mixed[volume].clone_from(&image[volume]);
            events.push(*event);
        }
        if mixed[0].iter().any(|byte| *byte != 0) {
            answer(&setup, &mixed, &second.history, false, &mut answers)
                .map_err(|why| format!("volumes as they were after events {events:?}: {why}"))?;
        }
    }
    Ok(())
}

/// What an open answers, and whether it is true. `back`: also if the way back with all volumes as they are is followed.
fn answer(
    setup: &Setup,
    mixed: &Image,
    history: &History,
    back: bool,
    answers: &mut Answers,
) -> Result<(), String> {
    let floor = history.len();
    let why = match opened(setup, mixed, history)?.0 {
        Outcome::Open(prefix) if prefix == floor => {
            answers.opened += 1;
            return Ok(());
        }
        Outcome::Open(prefix) => {
            return Err(format!("only {prefix} of {floor} operations are there, without a word"));
        }
        Outcome::Damaged => return Err("a read fails".to_owned()),
        Outcome::Refused(why) => why,
    };
    match code(&why) {
        // Before its first opening a volume has no mark.
        "other_volumes" => return Ok(()),
        "member_older" if only_brings_back(&why) => {
            answers.member_older += 1;
            return Ok(());
        }
        "backing_older" => {}
        _ => return Err(format!("refused for another reason: {why}")),
    }
    if let Some((seq, _)) = offered(&why, "roll_forward") {
        answers.forward += 1;
        let there = follow(setup, mixed, history, |keys| keys.roll_forward = Some(seq))?;
        if there != floor {
            return Err(format!("rolled forward to {there} of {floor}"));
        }
    }
    let Some((seq, loses)) = offered(&why, "accept_rollback") else {
        answers.no_way_back += 1;
        return Ok(());
    };
    if back {
        answers.back += 1;
        let there = follow(setup, mixed, history, |keys| keys.accept_rollback = Some(seq))?;
        let said = loses.and_then(|loses| loses.most_writes).unwrap_or(0) as usize;
        if there + said != floor {
            return Err(format!("{there} of {floor} are there, {said} were to be lost"));
        }
    }
    Ok(())
}

fn code(why: &Error) -> &'static str {
    why.refusal().map_or("", |refusal| refusal.code)
}

fn only_brings_back(why: &Error) -> bool {
    why.refusal().is_some_and(|refusal| {
        let is_safe = |remedy: &fathom_volume::Remedy| {
            remedy.loses.is_none() && matches!(remedy.action, Action::BringBack { .. })
        };
        !refusal.remedies.is_empty() && refusal.remedies.iter().all(is_safe)
    })
}

fn refused(setup: &Setup, image: &Image, history: &History, wanted: &str, what: &str) -> Result<(), String> {
    match opened(setup, image, history)?.0 {
        Outcome::Refused(why) if code(&why) == wanted && only_brings_back(&why) => Ok(()),
        Outcome::Refused(why) => Err(format!("{what} is refused for another reason than {wanted}: {why}")),
        _ => Err(format!("{what} is accepted")),
    }
}

/// The same volumes with one put in from another image.
fn with(image: &Image, volume: usize, from: &Image) -> Image {
    let mut mixed = image.clone();
    mixed[volume].clone_from(&from[volume]);
    mixed
}

/// Groups at rest, with their cache, and a group whose cache is lost: nothing but the marks tells of the moment.
///
/// # Errors
/// The first violation.
pub fn at_rest(setup: &Setup) -> Result<(), String> {
    let setup = several(setup);
    let mut images = Vec::new();
    let mut image = setup.blank();
    let mut history = History::new(setup.volumes, setup.sectors);
    for seed in 1..=2 {
        let life = lived(&setup, &Media::new(&image), &history, &[4], seed)?;
        history.clone_from(&life.history);
        let testbed = Testbed::group(&setup, at_end(&life), setup.settings.clone(), 0, seed);
        testbed.open().map_err(|error| error.to_string())?;
        testbed.close().map_err(|error| error.to_string())?;
        image = testbed.image();
        images.push((image.clone(), history.clone()));
    }
    let ((older, before), (newest, _)) = (&images[0], &images[1]);
    for volume in 1..VOLUMES {
        let what = format!("an older copy of volume {volume} of a group at rest");
        refused(&setup, &with(newest, volume, older), &history, "member_older", &what)?;
    }
    let first = with(newest, 0, older);
    refused(
        &setup,
        &first,
        &history,
        "backing_older",
        "an older copy of the first volume of a group at rest",
    )?;
    let discards = Settings { discard_cache: true, ..setup.settings.clone() };
    let discarding = Setup { settings: discards, ..setup.clone() };
    for image in [&first, &setup.without_cache(&first)] {
        refused(&discarding, image, &history, "backing_older", "an older first volume, under a new cache")?;
    }
    // All of them from one moment, under the newest cache, which is at rest.
    let mut all = older.clone();
    all[setup.cache()].clone_from(&newest[setup.cache()]);
    match opened(&setup, &all, &history)?.0 {
        Outcome::Open(prefix) if prefix == before.len() => {}
        _ => return Err("a group that was restored as a whole is not what it was".to_owned()),
    }
    // An opening that put nothing in place: what came before it is older all the same.
    let testbed = Testbed::group(&setup, newest.clone(), setup.settings.clone(), 0, 9);
    testbed.open().map_err(|error| error.to_string())?;
    let mixed = with(&testbed.image(), 1, newest);
    refused(&setup, &mixed, &history, "member_older", "a volume from before the last opening")
}

/// Zeroes the fields that an earlier Fathom did not write, from a place in each of two superblocks on.
fn strip(disk: &mut [u8], from: usize) -> Result<(), String> {
    let tail = disk.len() - 2 * BLOCK;
    for block in disk[tail..].chunks_exact_mut(BLOCK) {
        if block[from..].iter().all(|byte| *byte == 0) {
            return Err("a superblock has no fields where the case has to strip them".to_owned());
        }
        block[from..].fill(0);
        block[8..12].fill(0);
        let crc = crc_fast::crc32_iscsi(block);
        block[8..12].copy_from_slice(&crc.to_le_bytes());
    }
    Ok(())
}

/// Volumes from before the marks said anything: they open, and from then on they say from which moment they are.
///
/// # Errors
/// The first violation.
pub fn without_moments(setup: &Setup) -> Result<(), String> {
    let setup = several(setup);
    let empty = History::new(setup.volumes, setup.sectors);
    let life = lived(&setup, &Media::new(&setup.blank()), &empty, &[2, 8], 1)?;
    let mut image = at_end(&life);
    // The fields of the group's superblock end with a word for each volume, behind the incarnation that marked them.
    strip(&mut image[0], 336)?;
    (1..VOLUMES).try_for_each(|volume| strip(&mut image[volume], 40))?;
    let testbed = match opened(&setup, &image, &life.history)? {
        (Outcome::Open(prefix), testbed) if prefix == life.history.len() => testbed,
        (Outcome::Refused(why), _) => return Err(format!("volumes without moments are refused: {why}")),
        _ => return Err("volumes without moments do not show everything".to_owned()),
    };
    let mixed = with(&testbed.image(), 2, &image);
    refused(&setup, &mixed, &life.history, "member_older", "a volume from before it said its moment")
}

/// A power cut anywhere in an open that brings the first volume up to date, or goes back with all of them: the next start with
/// the same keys must end where that one would have.
///
/// # Errors
/// The first violation.
pub fn cut_off(setup: &Setup) -> Result<(), String> {
    let setup = several(setup);
    let empty = History::new(setup.volumes, setup.sectors);
    let first = lived(&setup, &Media::new(&setup.blank()), &empty, &[2, 3, 8, 12], 1)?;
    let older = at_end(&first);
    let second = lived(&setup, &Media::new(&older), &first.history, &[1, 6, 7, 11], 2)?;
    let newest = at_end(&second);
    let mut random = Random::new(6, "cut off");
    for (volumes, key) in [(1, "roll_forward"), (VOLUMES, "accept_rollback")] {
        let mut mixed = newest.clone();
        mixed[..volumes].clone_from_slice(&older[..volumes]);
        let Outcome::Refused(why) = opened(&setup, &mixed, &second.history)?.0 else {
            return Err(format!("{volumes} older volumes are accepted"));
        };
        let (seq, _) = offered(&why, key).ok_or_else(|| format!("{key} is not offered: {why}"))?;
        let mut keyed = setup.clone();
        if volumes == 1 {
            keyed.settings.roll_forward = Some(seq);
        } else {
            keyed.settings.accept_rollback = Some(seq);
        }
        let testbed = Testbed::group(&keyed, mixed.clone(), keyed.settings.clone(), 0, 3);
        testbed.open().map_err(|error| format!("{key}: {error}"))?;
        testbed.settle().map_err(|error| format!("{key}: {error}"))?;
        let wanted = second.history.prefix(&testbed.read_all(&keyed)?);
        let trace = testbed.trace.borrow().clone();
        let mut media = Media::new(&mixed);
        for event in 0..trace.len() {
            if !media.step(&trace) {
                continue;
            }
            for policy in Policy::ALL {
                let end = media.cut(policy, &mut random);
                let at =
                    |why| format!("{key}, cut after event {event} of {}, {policy:?}: {why}", trace.len());
                let anew = Testbed::group(&keyed, end, keyed.settings.clone(), 0, 4);
                anew.open().map_err(|error| at(error.to_string()))?;
                let shown = second.history.prefix(&anew.read_all(&keyed).map_err(at)?);
                if shown != wanted {
                    return Err(at(format!("{shown:?} is there instead of {wanted:?}")));
                }
            }
        }
    }
    Ok(())
}
