//! One life after the other: users write while extents move, members fail for a moment and volumes are added; the power is
//! cut, and the result is opened and checked: as it is, with a damaged block of metadata, with an older copy of a member, with
//! two members swapped.

use std::rc::Rc;

use fathom_layers::codec::BLOCK;
use fathom_layers::pool::Node;
use fathom_runtime::Random;

use super::testbed::{MAP, Setup, refusal};
use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::oracle::{GROUP, GROUPS, Oracle};
use crate::testbed::Testbed;
use crate::users::{Follower, Notes, Workload};

/// The slowest answer of a member, ns.
const SLOWEST: u64 = 50_000;

/// The pool of a seed: two members that hold its six extents, and one or two that are added.
fn draw(random: &mut Random) -> Setup {
    let mut extents: Vec<usize> = (0..2).map(|_| 3 + random.below(3) as usize).collect();
    extents.extend((0..=random.below(2)).map(|_| 1 + random.below(6) as usize));
    Setup { made_on: 2, depth: 1 + random.below(3) as usize, ..Setup::of(&extents) }
}

/// Plays `lives` lives of `length` operations for each of three users; judges a fraction of all power cuts.
///
/// # Errors
/// The violation, with its seed.
pub fn lives(seed: u64, lives: usize, length: usize, fraction: f64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed, "pool lives");
    let setup = draw(&mut random);
    let (mut image, mut next_id, mut members) = (setup.blank(), 1, setup.made_on);
    // What the cut before this life allows.
    let mut before = Oracle::new(vec![0; GROUP * GROUPS]);
    // What the members held in earlier lives.
    let mut copies: Vec<Rc<Image>> = Vec::new();
    for life in 0..lives {
        let told = |why: String| format!("pool {setup:?}, seed {seed}, life {life}: {why}");
        if life > 0 && random.chance(0.7) {
            members = setup.extents.len();
        }
        let testbed = Testbed::pool(image.clone(), members, &setup, SLOWEST, seed + life as u64);
        testbed.open().map_err(|error| told(format!("all members are there, and it refuses: {error}")))?;
        let shown = testbed.run(testbed.read_groups()).map_err(told)?;
        before.judge(&shown).map_err(|why| told(format!("at its begin: {why}")))?;
        // A cut up to now finds what the one before has left.
        let from = testbed.trace.borrow().len();
        let (oracle, notes) = (Oracle::new(shown), Notes::default());
        let may_fail = random.chance(0.3);
        let workload = Workload { length, may_fail, oracle: &oracle, notes: &notes, next_id: &mut next_id };
        play(&testbed, &mut random, workload).map_err(told)?;
        let trace = testbed.trace.borrow().clone();
        let (notes, cut) = (notes.borrow().clone(), random.below(trace.len() as u64 + 1) as usize);
        let mut follower = Follower { oracle, notes: &notes, taken: 0 };
        let mut media = Media::new(&image).with_whole_sectors();
        let mut own = Vec::new();
        for number in 0..trace.len() {
            let moved = media.step(&trace);
            follower.follow(number + 1);
            let known = if number < from { &before } else { &follower.oracle };
            let at = |policy| format!("power cut after event {number} of {}, {policy:?}", trace.len());
            if moved && random.chance(fraction) {
                let policy = Policy::ALL[random.below(4) as usize];
                let state = media.cut(policy, &mut random);
                judge(&state, members, &setup, known, seed, tally)
                    .map_err(|why| told(format!("{}: {why}", at(policy))))?;
                let mut damaged = state.clone();
                // A cut may have torn the other one.
                if policy != Policy::Random
                    && let Some(what) = damage(&mut damaged, members, &mut random)
                {
                    judge(&damaged, members, &setup, known, seed, tally)
                        .map_err(|why| told(format!("{}, {what}: {why}", at(policy))))?;
                }
                if number >= from {
                    strangers(&state, members, &setup, (&copies, known, seed), &mut random, tally)
                        .map_err(|why| told(format!("{}: {why}", at(policy))))?;
                }
            }
            if number >= from && random.chance(0.02) {
                own.push(Rc::new(media.cut(Policy::KeepAll, &mut random)));
            }
            if number >= cut {
                let policy = Policy::ALL[random.below(4) as usize];
                let state = media.cut(policy, &mut random);
                judge(&state, members, &setup, known, seed, tally)
                    .map_err(|why| told(format!("{}: {why}", at(policy))))?;
                (image, before) = (state, known.clone());
                // What came after it has never happened.
                break;
            }
        }
        copies.append(&mut own);
    }
    Ok(())
}

/// Three users work, while members fail for moments in one life of three.
fn play(testbed: &Testbed<Node>, random: &mut Random, workload: Workload<'_>) -> Result<(), String> {
    let fails = workload.may_fail;
    let disturb = |chance: &mut Random| {
        let faults = &testbed.faults[chance.below(testbed.faults.len() as u64) as usize];
        match chance.below(4) {
            0 if fails => faults.gone.set(true),
            1 if fails => faults.reads.set(1),
            _ => testbed.faults.iter().for_each(|faults| faults.gone.set(false)),
        }
    };
    testbed.run(async {
        let mut chance = testbed.work(workload, random, ("faults", 200_000, disturb)).await?;
        if chance.chance(0.5) { testbed.balanced().await } else { Ok(()) }
    })
}

/// Opens what a power cut left; what it shows must be explainable, and the same when all extents have moved.
///
/// # Errors
/// The violation.
pub fn judge(
    image: &Image,
    members: usize,
    setup: &Setup,
    oracle: &Oracle,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    tally.crashes += 1;
    let testbed = Testbed::pool(image.clone(), members, setup, 0, seed);
    testbed.open().map_err(|error| format!("all members are there, and it refuses: {error}"))?;
    let check = async {
        let first = testbed.read_groups().await?;
        oracle.judge(&first)?;
        testbed.balanced().await?;
        if testbed.read_groups().await? != first {
            return Err("a move changed what is read".to_owned());
        }
        Ok(())
    };
    testbed.run(check)
}

fn block(member: &[u8], at: usize) -> &[u8] {
    &member[at..at + BLOCK]
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Flips a bit in one block of which there are two; what was done, or None while there is but one.
fn damage(image: &mut Image, members: usize, random: &mut Random) -> Option<String> {
    let member = random.below(members as u64) as usize;
    let bytes = &mut image[member];
    let pair = if member == 0 && random.chance(0.7) { MAP } else { [0, BLOCK] };
    let is_whole = !pair.iter().any(|at| is_blank(block(bytes, *at)));
    let second = random.chance(0.5);
    // An opening that is cut off while superblocks rot is more than the pool must survive.
    if !is_whole || pair[0] == 0 && !second && block(bytes, 0) != block(bytes, BLOCK) {
        return None;
    }
    let at = pair[usize::from(second)] + random.below(200) as usize;
    bytes[at] ^= 1 << random.below(8);
    Some(format!("a bit flipped at {at} of member {member}"))
}

/// Members that are not what they should be are refused without a write; an older copy of one on which no extent lies may open.
fn strangers(
    state: &Image,
    members: usize,
    setup: &Setup,
    (copies, known, seed): (&[Rc<Image>], &Oracle, u64),
    random: &mut Random,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut image = state.clone();
    let member = random.below(members as u64) as usize;
    let with = match random.below(4) {
        0 => {
            image.swap(0, 1);
            if image[0].len() != image[1].len() {
                return Ok(());
            }
            "two members swapped".to_owned()
        }
        1 | 2 if !copies.is_empty() => {
            let copy = &copies[random.below(copies.len() as u64) as usize];
            // What was no member then has never been one.
            if is_blank(block(&copy[member], BLOCK)) {
                return Ok(());
            }
            image[member].clone_from(&copy[member]);
            let with = format!("an older copy of member {member}");
            if member > 0 && refusal(&image, members, setup, &with).is_err() {
                let shown = judge(&image, members, setup, known, seed, tally);
                return shown.map_err(|why| format!("it opens with {with}, and {why}"));
            }
            with
        }
        _ => return Ok(()),
    };
    tally.losses += 1;
    refusal(&image, members, setup, &with).map(drop)
}
