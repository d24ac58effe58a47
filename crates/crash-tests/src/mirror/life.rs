//! One life after the other: users write while legs vanish and return, the power is cut, and the result is opened and checked.

use fathom_layers::mirror::{Node, ReadPolicy, Settings};
use fathom_runtime::Random;

use super::superblock::{Name, superblock};
use super::testbed::{blank, fast};
use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::oracle::{GROUP, GROUPS, Oracle};
use crate::testbed::Testbed;
use crate::users::{Follower, Notes, Workload};

/// The slowest answer of a leg, ns.
pub(super) const SLOWEST: u64 = 50_000;

/// The settings of a seed.
fn settings_of(random: &mut Random) -> Settings {
    let read = if random.chance(0.7) { ReadPolicy::Balanced } else { ReadPolicy::First };
    Settings { read, ..fast() }
}

/// Plays `lives` lives of `length` operations for each of three users; judges a fraction of all power cuts.
///
/// # Errors
/// The violation, with its seed.
pub fn lives(seed: u64, lives: usize, length: usize, fraction: f64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed, "mirror lives");
    let legs = 2 + usize::from(random.chance(0.4));
    let settings = settings_of(&mut random);
    let all = Present::all(legs);
    let (mut image, mut next_id) = (blank(legs), 1);
    // What the cut before this life allows.
    let mut before = Oracle::new(vec![0; GROUP * GROUPS]);
    let mut unknown = vec![None; legs];
    for life in 0..lives {
        let told = |why: String| format!("mirror, seed {seed}, life {life}: {why}");
        // Any legs; if those must not open, all of them.
        let present =
            if life > 0 && random.chance(0.4) { random.below(1 << legs) as usize } else { all.legs };
        let mut testbed = Testbed::mirror(image.clone(), present, &settings, SLOWEST, seed + life as u64);
        if testbed.open().is_err() {
            testbed = Testbed::mirror(image.clone(), all.legs, &settings, SLOWEST, seed + life as u64);
            match testbed.open() {
                Err(refusal) if is_apart(&refusal.to_string(), &image, &unknown) => return Ok(()),
                opened => {
                    opened.map_err(|error| told(format!("all legs are there, and it refuses: {error}")))?
                }
            }
        } else {
            learn_unknown(&image, present, &mut unknown);
        }
        // Which of the values that the cut allows they show may depend on which legs are there.
        let shown = testbed.run(testbed.read_groups()).map_err(told)?;
        before.judge(&shown).map_err(|why| told(format!("with legs {present:b} at its begin: {why}")))?;
        // A cut up to now finds what the one before has left.
        let from = testbed.trace.borrow().len();
        let oracle = Oracle::new(shown);
        let notes = Notes::default();
        let workload =
            Workload { length, may_fail: false, oracle: &oracle, notes: &notes, next_id: &mut next_id };
        play(&testbed, &mut random, true, workload).map_err(told)?;
        let trace = testbed.trace.borrow().clone();
        let (notes, cut) = (notes.borrow().clone(), random.below(trace.len() as u64 + 1) as usize);
        let mut follower = Follower { oracle, notes: &notes, taken: 0 };
        let mut media = Media::new(&image).with_whole_sectors();
        let mut ended = None;
        for number in 0..trace.len() {
            let moved = media.step(&trace);
            follower.follow(number + 1);
            let known = if number < from { &before } else { &follower.oracle };
            if moved && random.chance(fraction) {
                let policy = Policy::ALL[random.below(4) as usize];
                let state = media.cut(policy, &mut random);
                let legs =
                    if random.chance(0.5) { all.legs } else { random.below(all.legs as u64 + 1) as usize };
                judge(&state, Present { legs, unknown: &unknown }, &settings, known, seed, tally).map_err(
                    |why| told(format!("power cut after event {number}, {policy:?}, legs {legs:b}: {why}")),
                )?;
            }
            if number == cut {
                let policy = Policy::ALL[random.below(4) as usize];
                let state = media.cut(policy, &mut random);
                let present = Present { unknown: &unknown, ..all };
                let shown = judge(&state, present, &settings, known, seed, tally)
                    .map_err(|why| told(format!("power cut after event {number}, {policy:?}: {why}")))?;
                if shown.is_empty() {
                    return Ok(());
                }
                ended = Some((state, known.clone()));
            }
        }
        if let Some(ended) = ended {
            (image, before) = ended;
        }
    }
    Ok(())
}

/// The legs that are there when something is opened.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    /// By bit.
    pub legs: usize,
    /// By leg: a generation that it carries and the others cannot know.
    pub unknown: &'a [Option<Name>],
}

impl Present<'_> {
    /// So many, and they know of each other.
    pub fn all(legs: usize) -> Self {
        Self { legs: (1 << legs) - 1, unknown: &[] }
    }
}

/// Marks the legs that a life has begun without, and whose generation is named by none that it has begun with: the power
/// failed when it was begun, and nothing was answered in it (docs/MIRROR.md, "When it refuses to open").
fn learn_unknown(image: &Image, present: usize, unknown: &mut [Option<Name>]) {
    let is_present = |leg: usize| present & (1 << leg) != 0;
    let legs = || image.iter().enumerate();
    let named: Vec<Name> = legs()
        .filter(|(leg, _)| is_present(*leg))
        .filter_map(|(_, bytes)| superblock(bytes))
        .flat_map(|block| block.named)
        .collect();
    for (leg, bytes) in legs().filter(|(leg, _)| !is_present(*leg)) {
        let carries = superblock(bytes).map(|block| block.current).filter(|carries| !named.contains(carries));
        if carries.is_some() {
            unknown[leg] = carries;
        }
    }
}

/// Whether a mirror refuses because of a leg that still carries a generation that the others cannot know.
fn is_apart(refusal: &str, image: &Image, unknown: &[Option<Name>]) -> bool {
    let carries = |leg: usize| superblock(&image[leg]).map(|block| block.current);
    let is_unknown = |leg: usize| unknown[leg].is_some() && unknown[leg] == carries(leg);
    refusal.contains("continued without knowing of each other") && (0..unknown.len()).any(is_unknown)
}

/// Opens what a power cut left, with the legs that are there; if it opens, what it shows must be explainable, the same
/// on every read, and the same on all legs when it is at rest.
///
/// # Errors
/// The violation.
pub fn judge(
    image: &Image,
    present: Present<'_>,
    settings: &Settings,
    oracle: &Oracle,
    seed: u64,
    tally: &mut Tally,
) -> Result<Vec<u32>, String> {
    tally.crashes += 1;
    let testbed = Testbed::mirror(image.clone(), present.legs, settings, 0, seed);
    if let Err(refusal) = testbed.open() {
        let refusal = refusal.to_string();
        if present.legs + 1 == 1 << image.len() && !is_apart(&refusal, image, present.unknown) {
            return Err(format!("all legs are there, and it refuses: {refusal}"));
        }
        tally.losses += 1;
        return Ok(Vec::new());
    }
    let check = async {
        let first = testbed.read_groups().await?;
        oracle.judge(&first)?;
        for _ in 0..2 {
            if testbed.read_groups().await? != first {
                return Err("two reads of one sector differ".to_owned());
            }
        }
        testbed.node.rebuilt().await.map_err(|error| error.to_string())?;
        testbed.node.rest().await.map_err(|error| error.to_string())?;
        for _ in 0..2 {
            if testbed.read_groups().await? != first {
                return Err("a rebuild changed what is read".to_owned());
            }
        }
        testbed.equal()?;
        Ok(first)
    };
    testbed.run(check)
}

/// Three users work, and perhaps legs are pulled; afterwards the legs come back.
pub(super) fn play(
    testbed: &Testbed<Node>,
    random: &mut Random,
    pulls: bool,
    workload: Workload<'_>,
) -> Result<(), String> {
    testbed.run(async {
        let disturb = |chance: &mut Random| {
            if pulls {
                pull(testbed, chance);
            }
        };
        let mut chance = testbed.work(workload, random, ("plugs", 400_000, disturb)).await?;
        let context = testbed.runtime.context();
        // Long enough that a leg is looked for and rebuilt.
        context.sleep(2_000_000).await;
        if chance.chance(0.5) {
            let _ = testbed.node.rest().await;
            context.sleep(2_000_000).await;
            testbed.equal()?;
        }
        Ok::<_, String>(())
    })
}

/// One leg vanishes, returns, fails a flush or a read; one leg in sync always works.
fn pull(testbed: &Testbed<Node>, chance: &mut Random) {
    let leg = chance.below(testbed.faults.len() as u64) as usize;
    let faults = &testbed.faults[leg];
    let works = |leg: usize| !testbed.faults[leg].gone.get() && !testbed.faults[leg].fenced.get();
    let others = testbed.in_sync().into_iter().any(|other| other != leg && works(other));
    let flushing = testbed.faults.iter().all(|faults| faults.flushes.get() == 0 && faults.reads.get() == 0);
    match chance.below(6) {
        0 if others && flushing => faults.gone.set(true),
        1 | 2 => faults.gone.set(false),
        3 if others && flushing => faults.flushes.set(1),
        4 if others && flushing => faults.reads.set(1),
        _ => {}
    }
}
