//! Old copies: a leg in sync is copied at any moment, and the copy is put back after a power cut or a planned stop, in this
//! life or in a later one.

use std::rc::Rc;

use fathom_layers::codec::BLOCK;
use fathom_runtime::Random;

use super::life::{Present, SLOWEST, judge, play};
use super::superblock::superblock;
use super::testbed::{USER, blank, fast};
use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::oracle::{GROUP, GROUPS, Oracle};
use crate::testbed::Testbed;
use crate::users::{Follower, Notes, Workload};

/// Operations of each user in a life.
const LENGTH: usize = 8;
/// Copies that are tried at one power cut.
const TRIED: usize = 4;

/// Plays `lives` lives, puts back copies at a fraction of all power cuts and at each planned end.
///
/// # Errors
/// The violation, with its seed.
pub fn lives(seed: u64, lives: usize, fraction: f64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed, "mirror copies");
    let settings = fast();
    let (mut image, mut base, mut next_id) = (blank(2), vec![0; GROUP * GROUPS], 1);
    // What the legs showed at earlier moments.
    let mut copies: Vec<Rc<Image>> = Vec::new();
    for life in 0..lives {
        let told = |why: String| format!("mirror copies, seed {seed}, life {life}: {why}");
        let testbed = Testbed::mirror(image.clone(), 3, &settings, SLOWEST, seed + life as u64);
        testbed.open().map_err(|error| told(format!("all legs are there, and it refuses: {error}")))?;
        testbed.wait(testbed.node.rebuilt()).map_err(told)?;
        // Before, one leg alone held everything: nothing could tell an old copy of it from the leg.
        let from = testbed.trace.borrow().len();
        let (oracle, notes) = (Oracle::new(base.clone()), Notes::default());
        let workload = Workload {
            length: LENGTH,
            may_fail: false,
            oracle: &oracle,
            notes: &notes,
            next_id: &mut next_id,
        };
        play(&testbed, &mut random, false, workload).map_err(told)?;
        let closes = random.chance(0.5);
        if closes {
            testbed.wait(testbed.node.close()).map_err(told)?;
        }
        let trace = testbed.trace.borrow().clone();
        let notes = notes.borrow().clone();
        let mut follower = Follower { oracle, notes: &notes, taken: 0 };
        let mut media = Media::new(&image).with_whole_sectors();
        let cut = from + random.below((trace.len() - from) as u64 + 1) as usize;
        let mut ended = None;
        for number in 0..trace.len() {
            let moved = media.step(&trace);
            follower.follow(number + 1);
            if number < from || !moved {
                continue;
            }
            let policy = Policy::ALL[random.below(4) as usize];
            if random.chance(fraction) {
                let state = media.cut(policy, &mut random);
                for _ in 0..TRIED.min(copies.len()) {
                    let copy = &copies[random.below(copies.len() as u64) as usize];
                    put_back(&state, copy, random.below(2) as usize, &follower.oracle, seed, tally)
                        .map_err(|why| told(format!("power cut after event {number}, {policy:?}: {why}")))?;
                }
            }
            if random.chance(0.1) {
                copies.push(Rc::new(media.cut(Policy::KeepAll, &mut random)));
            }
            if number >= cut && !closes {
                let state = media.cut(policy, &mut random);
                let shown = judge(&state, Present::all(2), &settings, &follower.oracle, seed, tally);
                ended = Some((state, shown.map_err(|why| told(format!("cut after event {number}: {why}")))?));
                // What came after it has never happened.
                break;
            }
        }
        let (state, shown) = if let Some(ended) = ended {
            ended
        } else {
            let state = testbed.image();
            for copy in &copies {
                for leg in 0..2 {
                    put_back(&state, copy, leg, &follower.oracle, seed, tally)
                        .map_err(|why| told(format!("at the end, closed: {closes}: {why}")))?;
                }
            }
            let shown =
                judge(&state, Present::all(2), &settings, &follower.oracle, seed, tally).map_err(told)?;
            (state, shown)
        };
        (image, base) = (state, shown);
    }
    Ok(())
}

/// The age of a leg by its metadata: the count of its newest whole superblock, and the age of its bitmap, in one sector
/// behind the bits (`mirror/superblock.rs`).
fn age(leg: &[u8]) -> (u64, [u8; 8]) {
    let bits = USER + 2 * BLOCK;
    let age = leg[bits + 4072..bits + 4080].try_into().expect("eight bytes");
    (superblock(leg).map_or(0, |newest| newest.count), age)
}

/// Opens what is left with an old copy in the place of one leg.
fn put_back(
    state: &Image,
    copy: &Image,
    leg: usize,
    oracle: &Oracle,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    // Nothing was noted on the other leg since: the copy and it look as after a power cut, where the first leg counts.
    if leg == 0 && age(&state[1]) == age(&copy[0]) {
        return Ok(());
    }
    let mut image = state.clone();
    image[leg].clone_from(&copy[leg]);
    let told = |why| format!("with an old copy of leg {leg}: {why}");
    judge(&image, Present::all(2), &fast(), oracle, seed, tally).map(drop).map_err(told)
}
