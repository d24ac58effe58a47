//! One life of a group: a workload is recorded, and then ended after any of its events.

use std::collections::BTreeMap;

use fathom_layers::writeback::record::{Change, Extent};
use fathom_layers::writeback::{Durability, Group, Mode};
use fathom_runtime::Random;
use fathom_volume::{Handle, Request, Result};
use futures_util::future::join_all;

use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::disk::Event;
use crate::group::{Setup, offered_loss};
use crate::history::{History, Op, SECTOR, log_order, stamp};
use crate::testbed::Testbed;

/// Longest service time of a disk while a life is recorded, ns.
const SLOWEST: u64 = 40_000;
/// How long a group is left alone at the end of a life, or of an open that is recorded, ns.
const REST: u64 = 1_500_000;

/// What a user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Changes a range; FUA or not.
    Change(Extent, bool),
    /// Flushes.
    Flush,
    /// Has everything destaged.
    Destage,
}

/// A recorded life.
pub struct Life {
    /// What the disks held when it began, and what of that was not durable.
    pub media: Media,
    /// Everything since the disks were blank.
    pub history: History,
    /// How much of the history is older than this life.
    pub before: usize,
    /// This life's operations.
    pub ops: Vec<Op>,
    /// By operation: its place in the log, counted over the whole history.
    places: Vec<usize>,
    /// What happened.
    pub trace: Vec<Event>,
}

/// Records a life that begins with these disks: steps of one burst are sent at the same time, and all are answered
/// before the next burst.
///
/// # Errors
/// If a request fails, or a read does not show what was written.
pub fn record(
    setup: &Setup,
    media: &Media,
    history: &History,
    bursts: &[Vec<Step>],
    seed: u64,
) -> std::result::Result<Life, String> {
    let testbed = Testbed::group(setup, media.shown(), setup.settings.clone(), SLOWEST, seed);
    testbed.open().map_err(|error| format!("an open is refused: {error}"))?;
    testbed.note(Event::Opened);
    let mut ops: Vec<Op> = Vec::new();
    let first_id = 1 + history.states.iter().flatten().copied().max().unwrap_or(0);
    let mut flushes = 0;
    let mut stagger = Random::new(seed, "stagger");
    let mut expected = history.clone();
    for (number, burst) in bursts.iter().enumerate() {
        let first = ops.len();
        for step in burst {
            if let Step::Change(extent, fua) = step {
                let op = Op { id: first_id + ops.len() as u32, extent: *extent, fua: *fua };
                expected.push(&op);
                ops.push(op);
            }
        }
        let mut next = ops[first..].iter();
        let answers = burst.iter().map(|step| {
            let op = if let Step::Change(..) = step { next.next() } else { None };
            flushes += u32::from(*step == Step::Flush);
            // Some at the same instant, so that they share a record; some later, so that records overtake each other.
            let delay = if stagger.chance(0.5) { 0 } else { stagger.below(SLOWEST) };
            run(&testbed, *step, op, flushes, delay)
        });
        let answers: Vec<_> = answers.collect();
        let answers = testbed.runtime.block_on(join_all(answers)).expect("every request is answered");
        answers.into_iter().collect::<Result<()>>().map_err(|error| format!("a request fails: {error}"))?;
        if number % 4 == 3 || number + 1 == bursts.len() {
            let found = testbed.read_all(setup)?;
            if Some(&found) != expected.states.last() {
                return Err("a read does not show the last write".to_owned());
            }
        }
    }
    let context = testbed.runtime.context();
    testbed.runtime.block_on(context.sleep(REST)).expect("time passes");
    let trace = testbed.trace.borrow().clone();
    Life::new(setup, media.clone(), history.clone(), ops, trace)
}

async fn run(testbed: &Testbed<Group>, step: Step, op: Option<&Op>, flush: u32, delay: u64) -> Result<()> {
    testbed.runtime.context().sleep(delay).await;
    match (step, op) {
        (Step::Change(..), Some(op)) => {
            change(testbed, &testbed.volumes[usize::from(op.extent.volume)], op).await?;
            testbed.note(Event::Acked(op.id));
        }
        (Step::Destage, _) => testbed.node.settle().await?,
        _ => {
            testbed.note(Event::UserFlush(flush));
            testbed.volumes[0].flush(Request::flush()).await?;
            testbed.note(Event::UserFlushed(flush));
        }
    }
    Ok(())
}

async fn change(testbed: &Testbed<Group>, volume: &Handle, op: &Op) -> Result<()> {
    let Extent { volume: number, change, offset, length } = op.extent;
    let request = Request::new(offset, length);
    match change {
        Change::Write => {
            let buf = testbed.pool.get(length as usize);
            buf.with_mut(|bytes| {
                for (index, bytes) in bytes.chunks_mut(SECTOR).enumerate() {
                    stamp(op.id, number, offset as usize / SECTOR + index, bytes);
                }
            });
            volume.write(request.with_fua(op.fua), buf).await
        }
        Change::Zero => volume.write_zeroes(request.with_fua(op.fua)).await,
        Change::Trim => volume.trim(request).await,
    }
}

impl Life {
    fn new(
        setup: &Setup,
        media: Media,
        mut history: History,
        ops: Vec<Op>,
        trace: Vec<Event>,
    ) -> std::result::Result<Self, String> {
        let before = history.len();
        let mut places = vec![usize::MAX; ops.len()];
        for (place, op) in log_order(&trace, setup.cache(), &ops)?.into_iter().enumerate() {
            history.push(&ops[op]);
            places[op] = before + place + 1;
        }
        Ok(Self { media, history, before, ops, places, trace })
    }

    fn place(&self, id: u32) -> std::result::Result<(usize, bool), String> {
        let index =
            self.ops.iter().position(|op| op.id == id).expect("only this life's operations are noted");
        match self.places[index] {
            usize::MAX => Err(format!("operation {id} was answered and is not in the log")),
            place => Ok((place, self.ops[index].fua)),
        }
    }

    /// How many operations a flush or FUA covers that was answered within the first events.
    ///
    /// # Errors
    /// If an operation was answered that is not in the log.
    pub fn floor(&self, events: usize) -> std::result::Result<usize, String> {
        let (mut floor, mut acked) = (self.history.promised, self.before);
        let mut floors: BTreeMap<u32, usize> = BTreeMap::new();
        for event in &self.trace[..events] {
            match event {
                Event::Acked(id) => {
                    let (place, fua) = self.place(*id)?;
                    acked = acked.max(place);
                    floor = if fua { floor.max(place) } else { floor };
                }
                Event::UserFlush(number) => drop(floors.insert(*number, acked)),
                Event::UserFlushed(number) => floor = floor.max(floors[number]),
                _ => {}
            }
        }
        Ok(floor)
    }

    /// The disks when the life is over and nothing more happens.
    pub fn end(&self) -> Media {
        let mut media = self.media.clone();
        media.follow(&self.trace);
        media
    }

    /// Cuts the power after events drawn with probability `share`, in every way, and checks what is left; sometimes
    /// again during the recovery. Also kills the process there. A prefix and its disks to begin the next life with.
    ///
    /// # Errors
    /// The first violation, with the event it happened after.
    pub fn enumerate(
        &self,
        setup: &Setup,
        share: f64,
        random: &mut Random,
        tally: &mut Tally,
    ) -> std::result::Result<(Media, History), String> {
        let mut media = self.media.clone();
        // What an open has shown is on the cache device for good; what is on the backing side is another matter.
        let (mut floor, mut acked, mut kept) = (self.history.promised, self.before, self.history.durable);
        let mut floors: BTreeMap<u32, usize> = BTreeMap::new();
        let mut next = None;
        let mut seen = 0_u64;
        for (index, event) in self.trace.iter().enumerate() {
            match event {
                Event::Acked(id) => {
                    let (place, fua) = self.place(*id)?;
                    acked = acked.max(place);
                    floor = if fua { floor.max(place) } else { floor };
                }
                Event::Opened => kept = self.before,
                Event::UserFlush(number) => drop(floors.insert(*number, acked)),
                Event::UserFlushed(number) => floor = floor.max(floors[number]),
                _ => {}
            }
            if !media.step(&self.trace) && index + 1 != self.trace.len() {
                continue;
            }
            if index + 1 != self.trace.len() && !random.chance(share) {
                continue;
            }
            let required = Required::durable(floor.max(kept), floor);
            let ends = Policy::ALL.map(|policy| (Some(policy), media.after_cut(policy, random), required));
            // A killed process loses nothing that was answered.
            let alive = Required { shown: acked, ..required };
            let ends = ends.into_iter().chain([(None, media.killed(random), alive)]);
            for (policy, end, required) in ends {
                let place = || match policy {
                    Some(policy) => {
                        format!("power cut after event {index} of {}, {policy:?}", self.trace.len())
                    }
                    None => format!("killed after event {index} of {}", self.trace.len()),
                };
                let prefix = check(setup, &end, &self.history, required, random, 2, tally)
                    .map_err(|why| format!("{}: {why}", place()))?;
                if setup.settings.mode == Mode::Strict {
                    check_loss(setup, &end.shown(), &self.history, floor, tally)
                        .map_err(|why| format!("{}, cache lost: {why}", place()))?;
                }
                seen += 1;
                // One of all states, each with the same chance (reservoir sampling).
                if random.below(seen) == 0 {
                    let mut history = self.history.clone();
                    history.truncate(prefix);
                    history.promised = floor.min(prefix);
                    history.durable = if policy.is_some() { prefix } else { required.durable };
                    next = Some((end, history));
                }
            }
        }
        Ok(next.expect("a life has a last event"))
    }
}

/// How many operations must be there.
#[derive(Debug, Clone, Copy)]
pub struct Required {
    /// When the disks are opened.
    pub shown: usize,
    /// If the power is cut before that open is through.
    pub durable: usize,
    /// If the cache is lost too, with durability `origin`.
    pub promised: usize,
}

impl Required {
    /// After a power cut: what is durable, and of that what must not depend on the cache.
    pub fn durable(durable: usize, promised: usize) -> Self {
        Self { shown: durable, durable, promised }
    }
}

/// Opens disks and compares: the prefix they show. With `depth`, one open in five is cut itself, and so on.
///
/// # Errors
/// What is wrong.
pub fn check(
    setup: &Setup,
    media: &Media,
    history: &History,
    required: Required,
    random: &mut Random,
    depth: u32,
    tally: &mut Tally,
) -> std::result::Result<usize, String> {
    tally.crashes += 1;
    let testbed = Testbed::group(setup, media.shown(), setup.settings.clone(), 0, random.word());
    testbed.open().map_err(|error| format!("the open is refused: {error}"))?;
    let prefix = shown_prefix(setup, &testbed, history, required.shown)?;
    if depth > 0 && random.chance(0.2) {
        // The recovery itself is cut, and what it and the destaging behind it had written is opened again.
        let context = testbed.runtime.context();
        testbed.runtime.block_on(context.sleep(REST)).expect("time passes");
        let trace = testbed.trace.borrow().clone();
        let mut media = media.clone();
        let end = 1 + random.below(trace.len() as u64) as usize;
        (0..end).for_each(|_| {
            media.step(&trace);
        });
        let cut = media.after_cut(Policy::ALL[random.below(4) as usize], random);
        tally.recoveries += 1;
        // Nothing that was seen may be unseen: the open made it durable.
        let durable = if end == trace.len() { prefix } else { required.durable };
        check(setup, &cut, history, Required::durable(durable, required.promised), random, depth - 1, tally)
            .map_err(|why| format!("cut again: {why}"))?;
        if setup.settings.mode == Mode::Strict {
            check_loss(setup, &cut.shown(), history, required.promised, tally)
                .map_err(|why| format!("cut again, cache lost: {why}"))?;
        }
    }
    Ok(prefix)
}

/// Opens disks, and cuts the power after every single event of that recovery and of the destaging behind it, in every
/// way.
///
/// # Errors
/// The first violation, with the event it happened after.
pub fn check_recovery(
    setup: &Setup,
    image: &Image,
    history: &History,
    required: Required,
    random: &mut Random,
    tally: &mut Tally,
) -> std::result::Result<(), String> {
    let mut media = Media::new(image);
    let testbed = Testbed::group(setup, image.clone(), setup.settings.clone(), 0, random.word());
    testbed.open().map_err(|error| format!("the open is refused: {error}"))?;
    shown_prefix(setup, &testbed, history, required.shown)?;
    let context = testbed.runtime.context();
    testbed.runtime.block_on(context.sleep(REST)).expect("time passes");
    let trace = testbed.trace.borrow().clone();
    for event in 0..trace.len() {
        if !media.step(&trace) {
            continue;
        }
        tally.recoveries += 1;
        for policy in Policy::ALL {
            let cut = media.cut(policy, random);
            let at = |why| format!("cut after event {event} of the recovery, {policy:?}: {why}");
            check(setup, &Media::new(&cut), history, required, random, 1, tally).map_err(at)?;
            if setup.settings.mode == Mode::Strict {
                check_loss(setup, &cut, history, required.promised, tally).map_err(at)?;
            }
        }
    }
    Ok(())
}

/// The prefix that an open group shows, no shorter than `required`.
fn shown_prefix(
    setup: &Setup,
    testbed: &Testbed<Group>,
    history: &History,
    required: usize,
) -> std::result::Result<usize, String> {
    let shown = testbed.read_all(setup)?;
    let prefix =
        history.prefix(&shown).ok_or_else(|| format!("no prefix of the log looks like {shown:?}"))?;
    if prefix < required {
        return Err(format!("only {prefix} of {required} operations are there that must be"));
    }
    Ok(prefix)
}

/// Opens disks whose cache is gone: refused without touching anything, then accepted at a prefix. The disks after that.
///
/// # Errors
/// What is wrong.
pub fn check_loss(
    setup: &Setup,
    image: &Image,
    history: &History,
    floor: usize,
    tally: &mut Tally,
) -> std::result::Result<(Image, usize), String> {
    tally.losses += 1;
    let (testbed, lost) = open_without_cache(setup, image)?;
    let required = if lost && setup.settings.durability == Durability::Cache { 0 } else { floor };
    let prefix = shown_prefix(setup, &testbed, history, required)?;
    Ok((testbed.image(), prefix))
}

/// An open group over disks whose cache is gone, and whether that had to be accepted: it is refused first, without a
/// write, unless no incarnation owned the volumes.
///
/// # Errors
/// What is wrong.
pub fn open_without_cache(
    setup: &Setup,
    image: &Image,
) -> std::result::Result<(Testbed<Group>, bool), String> {
    let image = setup.without_cache(image);
    let testbed = Testbed::group(setup, image.clone(), setup.settings.clone(), 0, 1);
    let Err(refusal) = testbed.open() else { return Ok((testbed, false)) };
    if testbed.wrote() {
        return Err(format!("something was written before the refusal: {refusal}"));
    }
    let incarnation =
        offered_loss(&refusal).ok_or_else(|| format!("the refusal names no remedy: {refusal}"))?;
    let mut settings = setup.settings.clone();
    settings.accept_loss = Some(incarnation);
    let testbed = Testbed::group(setup, image, settings, 0, 2);
    testbed.open().map_err(|error| format!("the accepted loss is refused: {error}"))?;
    if testbed.node.status().and_then(|status| status.loss).map(|loss| loss.incarnation) != Some(incarnation)
    {
        return Err("the accepted loss is not reported".to_owned());
    }
    Ok((testbed, true))
}

/// Bursts of random steps; the changes of one burst do not overlap.
pub fn bursts(setup: &Setup, count: usize, random: &mut Random) -> Vec<Vec<Step>> {
    (0..count).map(|_| burst(setup, random)).collect()
}

fn burst(setup: &Setup, random: &mut Random) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..1 + random.below(4) {
        let volume = random.below(setup.volumes as u64) as u16;
        let first = random.below(setup.sectors as u64);
        let longest = if random.chance(0.3) { 1 } else { 16 };
        let sectors = (1 + random.below(longest)).min(setup.sectors as u64 - first);
        let (change, fua) = match random.below(20) {
            0..=13 => (Change::Write, random.chance(0.15)),
            14..=15 => (Change::Zero, random.chance(0.3)),
            16 => (Change::Trim, false),
            17 => {
                steps.push(Step::Destage);
                continue;
            }
            _ => {
                steps.push(Step::Flush);
                continue;
            }
        };
        let extent =
            Extent { volume, change, offset: first * SECTOR as u64, length: sectors * SECTOR as u64 };
        let overlaps = |step: &Step| match step {
            Step::Change(other, _) => {
                other.volume == volume
                    && other.offset < extent.offset + extent.length
                    && extent.offset < other.offset + other.length
            }
            _ => false,
        };
        if !steps.iter().any(overlaps) {
            steps.push(Step::Change(extent, fua));
        }
    }
    steps
}

/// Several lives of one seed, each beginning where a power cut ended the one before.
///
/// # Errors
/// The first violation.
pub fn lives(
    setup: &Setup,
    seed: u64,
    lives: usize,
    bursts_each: usize,
    share: f64,
    tally: &mut Tally,
) -> std::result::Result<(), String> {
    let mut random = Random::new(seed, "campaign");
    let mut media = Media::new(&setup.blank());
    let mut history = History::new(setup.volumes, setup.sectors);
    for life in 0..lives {
        let steps = bursts(setup, bursts_each, &mut random);
        let recorded = record(setup, &media, &history, &steps, random.word());
        let at = |why| format!("seed {seed}, life {life}: {why}");
        (media, history) = recorded.map_err(at)?.enumerate(setup, share, &mut random, tally).map_err(at)?;
    }
    Ok(())
}
