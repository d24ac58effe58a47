//! Devices that are not what the group left behind: holes of every size in the dirty log, missing records at its end, each
//! device put back to each earlier moment. Every refusal must name a typed remedy; a program follows each, and it must keep
//! what it says it keeps.

use fathom_layers::writeback::record::{Change, Extent, Header};
use fathom_layers::writeback::{Group, Settings};
use fathom_runtime::Random;
use fathom_volume::{Action, Error, Loses, Setting};

use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::disk::Event;
use crate::group::Setup;
use crate::history::{History, SECTOR};
use crate::life::{Life, Step, record};
use crate::testbed::Testbed;

const BLOCK: usize = 4096;
/// Holes, in blocks.
const HOLES: [usize; 6] = [1, 2, 5, 11, 24, 200];

/// A group whose dirty log spans many segments; it destages only when it is told to.
pub(crate) fn spread(setup: &Setup, mark_every: u64) -> Setup {
    let mut spread = Setup { segments: 64, ring: 1 << 20, ..setup.clone() };
    spread.settings = Settings {
        lag_target: 10_000_000_000,
        lag_max: 100_000_000_000,
        dirty_limit: Some(768 << 10),
        batch: 1 << 20,
        mark_every,
        ..spread.settings
    };
    spread
}

/// Writes, each flushed, one after the other; at some of them everything is destaged.
fn recorded(setup: &Setup, writes: u64, destage: &[u64], seed: u64) -> Result<Life, String> {
    let mut bursts = Vec::new();
    for number in 0..writes {
        let (offset, length) = (number % 4 * 8 * SECTOR as u64, 8 * SECTOR as u64);
        let extent = Extent { volume: 0, change: Change::Write, offset, length };
        bursts.push(vec![Step::Change(extent, false)]);
        bursts.push(vec![Step::Flush]);
        if destage.contains(&number) {
            bursts.push(vec![Step::Destage]);
        }
    }
    let history = History::new(setup.volumes, setup.sectors);
    record(setup, &Media::new(&setup.blank()), &history, &bursts, seed)
}

pub(crate) fn at_end(life: &Life) -> Image {
    life.end().cut(Policy::KeepAll, &mut Random::new(1, "nothing is drawn"))
}

/// How an open ended.
pub(crate) enum Outcome {
    /// It shows so many operations.
    Open(usize),
    /// It opens, and a read finds damage.
    Damaged,
    Refused(Error),
}

pub(crate) fn opened(
    setup: &Setup,
    image: &Image,
    history: &History,
) -> Result<(Outcome, Testbed<Group>), String> {
    let testbed = Testbed::group(setup, image.clone(), setup.settings.clone(), 0, 7);
    if let Err(refusal) = testbed.open() {
        if testbed.wrote() {
            return Err(format!("something was written before the refusal: {refusal}"));
        }
        let report = Testbed::check(setup, image.clone());
        let told =
            |finding: &fathom_layers::writeback::Finding| finding.refusal.as_ref() == refusal.refusal();
        return match refusal.refusal() {
            Some(found) if found.remedies.first().is_some_and(|first| first.loses.is_some()) => {
                Err(format!("the first remedy loses something: {refusal}"))
            }
            Some(_) if report.findings.iter().any(told) => Ok((Outcome::Refused(refusal), testbed)),
            Some(_) => Err(format!("the check does not say what the open says: {refusal}: {report}")),
            None => Err(format!("the refusal names no remedy: {refusal}")),
        };
    }
    match testbed.read_all(setup) {
        Ok(shown) => match history.prefix(&shown) {
            Some(prefix) => Ok((Outcome::Open(prefix), testbed)),
            None => Err(format!("no prefix of the log looks like {shown:?}")),
        },
        Err(why) if why.contains("a read fails") => Ok((Outcome::Damaged, testbed)),
        Err(why) => Err(why),
    }
}

/// The number that a refusal offers for a key, and what that costs.
pub(crate) fn offered(refusal: &Error, wanted: &str) -> Option<(u64, Option<Loses>)> {
    refusal.refusal()?.remedies.iter().find_map(|remedy| match &remedy.action {
        Action::Set { keys, .. } => keys.iter().find_map(|(key, value)| match value {
            Some(Setting::Count(count)) if *key == wanted => Some((*count, remedy.loses)),
            _ => None,
        }),
        _ => None,
    })
}

fn with(setup: &Setup, change: impl FnOnce(&mut Settings)) -> Setup {
    let mut changed = setup.clone();
    change(&mut changed.settings);
    changed
}

/// Opens with a key that a refusal offered: how many operations are there. A later start without the key must find nothing
/// wrong.
pub(crate) fn follow(
    setup: &Setup,
    image: &Image,
    history: &History,
    keys: impl FnOnce(&mut Settings),
) -> Result<usize, String> {
    let accepting = with(setup, keys);
    let (prefix, testbed) = match opened(&accepting, image, history)? {
        (Outcome::Open(prefix), testbed) => (prefix, testbed),
        (Outcome::Damaged, _) => return Err("the advice is followed, and a read finds damage".to_owned()),
        (Outcome::Refused(why), _) => return Err(format!("the advice is followed and refused: {why}")),
    };
    let again = |setup: &Setup, image: &Image, when: &str| match opened(setup, image, history)? {
        (Outcome::Open(again), _) if again == prefix => Ok(()),
        (Outcome::Open(again), _) => Err(format!("{when} shows {again} instead of {prefix}")),
        (Outcome::Damaged, _) => Err(format!("{when} finds damage")),
        (Outcome::Refused(why), _) => Err(format!("{when} is refused: {why}")),
    };
    again(setup, &testbed.image(), "the next start")?;
    let trace = testbed.trace.borrow().clone();
    // A third of the events here, and others for the next image.
    for (event, cut) in Media::cuts(image, &trace, |event| (event + prefix).is_multiple_of(3)) {
        let when = format!("the start after a power cut at event {event} of {}", trace.len());
        again(&accepting, &cut, &when)?;
    }
    Ok(prefix)
}

/// The records of a log: where each begins and ends on the device.
fn records(cache: &[u8]) -> Vec<(usize, usize)> {
    let found = (2 * BLOCK..cache.len()).step_by(BLOCK).filter_map(|at| {
        let header = Header::decode(&cache[at..at + BLOCK])?;
        Some((at, at + header.layout.total as usize))
    });
    found.collect()
}

/// Holes of every size everywhere in the dirty log, over a record's header or its payload. `marked`: the superblock says up to
/// where it was flushed; otherwise later records have to.
///
/// # Errors
/// The first violation, as of the others here.
pub fn holes(setup: &Setup, marked: bool, random: &mut Random, share: f64) -> Result<(), String> {
    let setup = spread(setup, if marked { 100_000 } else { 10_000_000_000 });
    let life = recorded(&setup, 22, &[1], 1)?;
    let image = at_end(&life);
    let all = records(&image[setup.cache()]);
    let segment = setup.settings.segment as usize;
    for first in 2..all.len() {
        for (blocks, header) in HOLES.into_iter().flat_map(|blocks| [(blocks, true), (blocks, false)]) {
            // Damage to a payload alone is all that an open does not see; the last four are those that are still to be read.
            let is_unseen = blocks == 1 && !header && first + 4 >= all.len();
            if !is_unseen && !random.chance(share) {
                continue;
            }
            let start = if header { all[first].0 } else { all[first].0 + BLOCK };
            let end = (start + blocks * BLOCK).min(image[setup.cache()].len());
            let mut holed = image.clone();
            holed[setup.cache()][start..end].fill(0);
            let part = if header { "" } else { "the payload of " };
            let at =
                |why| format!("a hole of {blocks} blocks over {part}record {first} of {}: {why}", all.len());
            let proof = all.iter().any(|(at, _)| *at >= end && (at - 2 * BLOCK).is_multiple_of(segment));
            let floor = life.history.len();
            match opened(&setup, &holed, &life.history).map_err(at)?.0 {
                Outcome::Open(prefix) if prefix == floor => {}
                Outcome::Open(prefix) if marked || proof => {
                    return Err(at(format!("only {prefix} of {floor} operations are there, without a word")));
                }
                Outcome::Open(_) => {}
                Outcome::Damaged => {
                    let kept = follow(&setup, &holed, &life.history, |keys| keys.accept_loss = Some(1));
                    if kept.map_err(at)? != first {
                        return Err(at("more or less is kept than what precedes the damage".to_owned()));
                    }
                }
                Outcome::Refused(why) => {
                    let (incarnation, loses) =
                        offered(&why, "accept_loss").ok_or_else(|| at(format!("no remedy: {why}")))?;
                    let kept =
                        follow(&setup, &holed, &life.history, |keys| keys.accept_loss = Some(incarnation))
                            .map_err(at)?;
                    if kept != first {
                        return Err(at(format!("{kept} operations are kept, and {first} could be")));
                    }
                    let said = loses.and_then(|loses| loses.least_writes).unwrap_or(0) as usize;
                    if said == 0 || kept + said > floor || marked && kept + said != floor {
                        return Err(at(format!(
                            "{kept} are kept of {floor}, and {said} are said to be lost"
                        )));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The last records of the log are missing, which were flushed.
///
/// # Errors
/// The first violation.
pub fn missing_end(setup: &Setup) -> Result<(), String> {
    let setup = spread(setup, 100_000);
    let life = recorded(&setup, 16, &[], 1)?;
    let image = at_end(&life);
    let all = records(&image[setup.cache()]);
    for count in 1..all.len() {
        let mut cut = image.clone();
        for (at, end) in &all[all.len() - count..] {
            cut[setup.cache()][*at..*end].fill(0);
        }
        let at = |why| format!("the last {count} of {} records are gone: {why}", all.len());
        match opened(&setup, &cut, &life.history).map_err(at)?.0 {
            Outcome::Refused(why) => {
                let (incarnation, loses) =
                    offered(&why, "accept_loss").ok_or_else(|| at(format!("no remedy: {why}")))?;
                let kept = follow(&setup, &cut, &life.history, |keys| keys.accept_loss = Some(incarnation));
                let (kept, said) = (kept.map_err(at)?, loses.and_then(|loses| loses.least_writes));
                if (kept, said) != (all.len() - count, Some(count as u64)) {
                    return Err(at(format!("{kept} are kept, and {said:?} are said to be lost")));
                }
            }
            _ => return Err(at("it opens".to_owned())),
        }
    }
    Ok(())
}

/// The disks of a life after some of the events at which they change.
pub(crate) fn moments(life: &Life, random: &mut Random, share: f64) -> Vec<(usize, Image)> {
    let mut media = life.media.clone();
    let mut found = Vec::new();
    for index in 0..life.trace.len() {
        if media.step(&life.trace) && random.chance(share) {
            found.push((index, media.shown()));
        }
    }
    found
}

/// The cache device put back to each earlier moment of its life: refused, or everything is there that the backing side
/// knew to have been flushed when it was last written.
///
/// # Errors
/// The first violation.
pub fn older_caches(setup: &Setup, random: &mut Random, share: f64) -> Result<(), String> {
    let setup = spread(setup, 100_000);
    let life = recorded(&setup, 24, &[6, 13], 2)?;
    let newest = at_end(&life);
    let backing_said = life.trace.iter().rposition(|event| matches!(event, Event::Write { disk: 0, .. }));
    let floor = life.floor(backing_said.ok_or("the backing side was never written")?)?;
    for (event, image) in moments(&life, random, share) {
        let mut mixed = newest.clone();
        mixed[setup.cache()].clone_from(&image[setup.cache()]);
        let at = |why| format!("the cache as it was after event {event} of {}: {why}", life.trace.len());
        match opened(&setup, &mixed, &life.history).map_err(at)?.0 {
            Outcome::Open(prefix) if prefix < floor => {
                return Err(at(format!("only {prefix} of {floor} operations are there, without a word")));
            }
            Outcome::Open(_) => {}
            Outcome::Damaged => return Err(at("a read fails".to_owned())),
            Outcome::Refused(why) => {
                if let Some((incarnation, _)) = offered(&why, "accept_loss") {
                    follow(&setup, &mixed, &life.history, |keys| {
                        keys.accept_loss = Some(incarnation);
                    })
                    .map_err(at)?;
                }
            }
        }
    }
    Ok(())
}

/// The backing volumes put back to each earlier moment under a cache that holds writes: nothing may be called lost; the
/// log brings them up to date with `roll_forward`, and `accept_rollback` costs what was said.
///
/// # Errors
/// The first violation.
pub fn older_backings(setup: &Setup, random: &mut Random, share: f64) -> Result<(), String> {
    // One log holds everything since the beginning, the other goes around.
    for (segments, writes) in [(64, 20), (14, 90)] {
        let mut setup = Setup { segments, ..spread(setup, 100_000) };
        setup.settings.dirty_limit = Some(64 << 10);
        let destage: Vec<u64> = (0..writes - 3).step_by(5).collect();
        let life = recorded(&setup, writes, &destage, 3)?;
        let newest = at_end(&life);
        let floor = life.history.len();
        let mut forward = (0, 0);
        for (event, image) in moments(&life, random, share) {
            if image[0].iter().all(|byte| *byte == 0) {
                continue;
            }
            let mut mixed = image;
            mixed[setup.cache()].clone_from(&newest[setup.cache()]);
            let at = |why| {
                format!("the backing volume as it was after event {event} of {}: {why}", life.trace.len())
            };
            match opened(&setup, &mixed, &life.history).map_err(at)?.0 {
                Outcome::Open(prefix) if prefix < floor => {
                    return Err(at(format!("only {prefix} of {floor} operations are there, without a word")));
                }
                Outcome::Open(_) => {}
                Outcome::Damaged => return Err(at("a read fails".to_owned())),
                Outcome::Refused(why) => {
                    if offered(&why, "accept_loss").is_some() {
                        return Err(at(format!("a whole cache is called lost: {why}")));
                    }
                    let (back, loses) =
                        offered(&why, "accept_rollback").ok_or_else(|| at(why.to_string()))?;
                    if let Some((seq, _)) = offered(&why, "roll_forward") {
                        forward.0 += 1;
                        let there =
                            follow(&setup, &mixed, &life.history, |keys| keys.roll_forward = Some(seq))
                                .map_err(at)?;
                        if there != floor {
                            return Err(at(format!("rolled forward to {there} of {floor}")));
                        }
                    } else {
                        forward.1 += 1;
                    }
                    let there =
                        follow(&setup, &mixed, &life.history, |keys| keys.accept_rollback = Some(back))
                            .map_err(at)?;
                    let said = loses.and_then(|loses| loses.most_writes).unwrap_or(0) as usize;
                    if there + said != floor {
                        return Err(at(format!("{there} of {floor} are there, and {said} were to be lost")));
                    }
                }
            }
        }
        if share >= 0.05 && (forward.0 == 0 || segments < 20 && forward.1 == 0) {
            return Err(format!("{} were rolled forward and {} could not be", forward.0, forward.1));
        }
    }
    Ok(())
}

/// A random part of all of that.
///
/// # Errors
/// The first violation.
pub fn lives(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let setup = Setup::small(Settings::default());
    let mut random = Random::new(seed, "damage");
    let at = |why| format!("damage, seed {seed}: {why}");
    for marked in [false, true] {
        holes(&setup, marked, &mut random, 0.1).map_err(at)?;
    }
    older_caches(&setup, &mut random, 0.1).map_err(at)?;
    older_backings(&setup, &mut random, 0.05).map_err(at)?;
    tally.losses += 1;
    Ok(())
}
