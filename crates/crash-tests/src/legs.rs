//! Groups with two cache devices: devices that die when they are told to, and every power cut of a life in which one
//! does, opened with both devices, with either one blank, and again after a blank one was brought back.

use std::rc::Rc;

use fathom_layers::writeback::{Config, Durability, Group, Settings, groups};
use fathom_runtime::{MICROSECOND, MILLISECOND, Random, SECOND};
use fathom_volume::{Blueprint, Error, Request, Result};

use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::group::PAGE;
use crate::testbed::{Disks, Testbed};

/// Pages of the volume.
pub const PAGES: u64 = 32;
/// The cache devices' places among the disks; the backing volume is before them.
pub const LEGS: [usize; 2] = [1, 2];

/// The other leg of the pair.
fn other(leg: usize) -> usize {
    LEGS[0] + LEGS[1] - leg
}

/// Bytes of a cache device: superblocks and sixteen segments.
const CACHE: usize = (8 << 10) + (256 << 10);
/// Blocks of it before the log.
const SUPERBLOCKS: usize = 2;
/// Pages that a life writes to.
const BUSY: u64 = 6;
/// Between two polls for a returning device: less than a disk takes to write a block.
const POLL: u64 = 5 * MICROSECOND;
/// How often it polls at most.
const MOST_POLLS: u32 = 20_000;
/// Moments at which a returning device fails, one [`POLL`] apart: more than a return takes.
const MOMENTS: u64 = 60;

/// Blank disks.
pub fn blank() -> Image {
    vec![vec![0; (PAGES * PAGE) as usize + (72 << 10)], vec![0; CACHE], vec![0; CACHE]]
}

/// A small group that destages only when it is told to.
pub fn settings() -> Settings {
    Settings {
        durability: Durability::CacheMirrored,
        segment: 16 << 10,
        batch: 64 << 10,
        ring_size: Some(64 << 10),
        lag_target: 20 * SECOND,
        lag_max: 30 * SECOND,
        memory: 0,
        log_depth: 4,
        ..Settings::default()
    }
}

/// Builds it over these disks; it opens when the executor first runs. Cache devices may be dead.
///
/// # Panics
/// If it cannot be built: the campaign's own settings are wrong then.
pub fn build(image: Image, settings: Settings, dead: [bool; 2]) -> Testbed<Group> {
    let disks = Disks::new(image, 1);
    for (leg, dead) in LEGS.into_iter().zip(dead) {
        disks.faults[leg].gone.set(dead);
    }
    let handles = disks.handles(3, "disk", u64::MAX, 20_000);
    let config = Config { cache_copy: Some("disk2".to_owned()), ..Config::new("disk0", "disk1", settings) };
    let volume = config.build(&disks.env, "data", handles).expect("it fits");
    let node = Rc::clone(&groups(&disks.env)[0]);
    disks.with(vec![volume], node)
}

/// An open group with both devices.
///
/// # Panics
/// If it does not open.
pub fn opened(image: Image) -> Testbed<Group> {
    let pair = build(image, settings(), [false; 2]);
    pair.open().unwrap_or_else(|why| panic!("it opens, and says: {why}"));
    pair
}

impl Testbed<Group> {
    /// The state of each cache device, as the status has it.
    pub fn standings(&self) -> [&'static str; 2] {
        let status = self.status();
        [0, 1].map(|leg| status.legs[leg].standing.name())
    }

    /// Writes the page behind the busy ones while one device fails, for a moment or for good.
    fn fails_a_write(&self, leg: usize, for_good: bool) -> Result<()> {
        self.faults[leg].gone.set(true);
        let (volume, buf) = (self.volumes[0].clone(), self.pool.copy_of(&[77; PAGE as usize]));
        let write = async move { volume.write(Request::new(BUSY * PAGE, PAGE), buf).await };
        let answer = self.runtime.context().spawn(write);
        self.sleep(MICROSECOND);
        self.faults[leg].gone.set(for_good);
        self.runtime.block_on(answer).expect("it ends")
    }

    /// Waits until both devices are current; false if they never are.
    pub fn are_both_back(&self) -> bool {
        for _ in 0..MOST_POLLS {
            if self.standings() == ["current"; 2] {
                return true;
            }
            self.sleep(POLL);
        }
        false
    }
}

/// The same disks with one blank.
pub fn without(image: &Image, leg: usize) -> Image {
    let mut image = image.clone();
    image[leg].fill(0);
    image
}

/// A life with two cache devices, one of which may die, and all of its ends.
///
/// # Errors
/// The first violation, with the seed and the event it happened after.
pub fn lives(seed: u64, tally: &mut Tally) -> std::result::Result<(), String> {
    let (mut random, mut rots) = (Random::new(seed, "legs"), Random::new(seed, "rot"));
    let image = blank();
    let pair = build(image.clone(), settings(), [false; 2]);
    pair.open().map_err(|why| format!("seed {seed}: {why}"))?;
    let dies = (!seed.is_multiple_of(3)).then(|| (LEGS[seed as usize % 2], 1 + random.below(6)));
    let mut life = Life { states: vec![[0; BUSY as usize]], flushed: Vec::new(), died: None };
    for number in 1..=10_u64 {
        if let Some((leg, _)) = dies.filter(|(_, when)| *when == number) {
            life.died = Some((pair.trace.borrow().len(), leg));
            pair.faults[leg].gone.set(true);
        }
        life.write(&pair, random.below(BUSY), number as u8)
            .map_err(|why| format!("legs, seed {seed}: {why}"))?;
        if random.chance(0.5) {
            life.flush(&pair).map_err(|why| format!("legs, seed {seed}: {why}"))?;
        }
        if random.chance(0.2) {
            pair.settle().map_err(|why| format!("seed {seed}: {why}"))?;
        }
    }
    let trace = pair.trace.borrow().clone();
    let mut media = Media::new(&image);
    for index in 0..trace.len() {
        if !media.step(&trace) && index + 1 != trace.len() || !random.chance(0.3) {
            continue;
        }
        for policy in Policy::ALL {
            let cut = media.cut(policy, &mut random);
            let rot = rots.chance(0.05).then_some(&mut rots);
            life.ends(&cut, index, random.chance(0.05), rot, tally).map_err(|why| {
                format!("legs, seed {seed}, power cut after event {index}, {policy:?}: {why}")
            })?;
        }
    }
    Ok(())
}

/// What a life did: everything is written one after the other, so that the order is known.
struct Life {
    /// What the busy pages show after so many writes.
    states: Vec<[u8; BUSY as usize]>,
    /// Length of the trace when a flush was answered, and how many writes it covers.
    flushed: Vec<(usize, usize)>,
    /// Length of the trace when a cache device died, and which.
    died: Option<(usize, usize)>,
}

impl Life {
    fn write(&mut self, pair: &Testbed<Group>, page: u64, byte: u8) -> std::result::Result<(), String> {
        pair.write_page(0, page, byte).map_err(|why| format!("a write fails: {why}"))?;
        let mut state = *self.states.last().expect("there is the first");
        state[page as usize] = byte;
        self.states.push(state);
        Ok(())
    }

    fn flush(&mut self, pair: &Testbed<Group>) -> std::result::Result<(), String> {
        pair.flush().map_err(|why| format!("a flush fails: {why}"))?;
        self.flushed.push((pair.trace.borrow().len(), self.states.len() - 1));
        Ok(())
    }

    /// Opens what a power cut after an event left, in every way.
    fn ends(
        &self,
        cut: &Image,
        event: usize,
        returns: bool,
        rot: Option<&mut Random>,
        tally: &mut Tally,
    ) -> std::result::Result<(), String> {
        let covers = self.flushed.iter().filter(|(when, _)| *when <= event + 1).map(|(_, writes)| *writes);
        let floor = covers.max().unwrap_or(0);
        let died = self.died.filter(|(when, _)| *when <= event).map(|(_, leg)| leg);
        tally.crashes += 1;
        let both = self.opens(cut, floor)?;
        both.ok_or("both devices are there, and it is refused")?;
        if let Some(random) = rot.filter(|_| self.died.is_none()) {
            tally.recoveries += 1;
            self.rots(cut, LEGS[random.below(2) as usize], floor, random)?;
        }
        for leg in LEGS {
            tally.losses += 1;
            let opened =
                self.opens(&without(cut, leg), floor).map_err(|why| format!("disk {leg} blank: {why}"))?;
            let other_died = died.is_some_and(|dead| dead != leg);
            if opened.is_none() && !other_died {
                return Err(format!("disk {leg} is blank, the other one has everything, and it is refused"));
            }
            if let Some(image) = opened.filter(|_| returns) {
                tally.recoveries += 1;
                self.returns(&image, leg, floor)?;
            }
            if returns {
                tally.recoveries += 1;
                self.absent_once(cut, leg, floor)?;
            }
        }
        Ok(())
    }

    /// A device is not there for one open, comes back as it was and counts: what was seen without it stays as it is, even
    /// where the device alone had more when the power failed.
    fn absent_once(&self, cut: &Image, leg: usize, floor: usize) -> std::result::Result<(), String> {
        let absent = build(cut.clone(), settings(), LEGS.map(|each| each == leg));
        if absent.open().is_err() {
            return Ok(());
        }
        let seen = self.shows(&absent, floor).map_err(|why| format!("disk {leg} absent: {why}"))?;
        let pair = build(absent.image(), settings(), [false; 2]);
        pair.open().map_err(|why| format!("disk {leg} was absent and cannot come back: {why}"))?;
        if !pair.are_both_back() {
            return Err(format!("disk {leg} was absent and does not come back"));
        }
        for lost in [None, Some(other(leg))] {
            let image = lost.map_or_else(|| pair.image(), |lost| without(&pair.image(), lost));
            let again = build(image, settings(), [false; 2]);
            again.open().map_err(|why| format!("disk {leg} is back, disk {lost:?} lost: {why}"))?;
            let now = self.shows(&again, floor)?;
            if now != seen {
                return Err(format!("{seen} writes were seen without disk {leg}, and {now} once it is back"));
            }
        }
        Ok(())
    }

    /// Opens disks; what they hold then. None if that is refused.
    fn opens(&self, image: &Image, floor: usize) -> std::result::Result<Option<Image>, String> {
        let pair = build(image.clone(), settings(), [false; 2]);
        if pair.open().is_err() {
            return Ok(None);
        }
        self.shows(&pair, floor).map(|_| Some(pair.image()))
    }

    /// How many of the writes are there: all that were flushed, and none without those before it.
    fn shows(&self, pair: &Testbed<Group>, floor: usize) -> std::result::Result<usize, String> {
        let mut shown = [0; BUSY as usize];
        for (page, byte) in shown.iter_mut().enumerate() {
            *byte = pair.read_page(0, page as u64);
        }
        let found = self.states.iter().rposition(|state| *state == shown);
        match found {
            None => Err(format!("no prefix looks like {shown:?}")),
            Some(prefix) if prefix < floor => {
                Err(format!("only {prefix} of {floor} flushed writes are there"))
            }
            Some(prefix) => Ok(prefix),
        }
    }

    /// A blank device is brought the log while a write is made; then the other one is lost.
    fn returns(&self, image: &Image, leg: usize, floor: usize) -> std::result::Result<(), String> {
        let pair = build(without(image, leg), settings(), [false; 2]);
        pair.open().map_err(|why| format!("a blank disk {leg} cannot come back: {why}"))?;
        pair.write_page(0, BUSY, 77).map_err(|why| format!("while disk {leg} comes back: {why}"))?;
        if !pair.are_both_back() {
            return Err(format!("disk {leg} does not come back"));
        }
        let alone = build(without(&pair.image(), other(leg)), settings(), [false; 2]);
        alone.open().map_err(|why| format!("disk {leg} came back and does not count: {why}"))?;
        if alone.read_page(0, BUSY) != 77 {
            return Err(format!("disk {leg} came back without a write that was made during its return"));
        }
        self.shows(&alone, floor).map_err(|why| format!("disk {leg} came back: {why}")).map(drop)
    }

    /// Blocks of a device's log rot; the scrub mends them from the other one, which is lost then.
    fn rots(
        &self,
        image: &Image,
        leg: usize,
        floor: usize,
        random: &mut Random,
    ) -> std::result::Result<(), String> {
        let scrubbing = Settings { scrub: Some(1 << 30), ..settings() };
        let pair = build(image.clone(), scrubbing, [false; 2]);
        pair.open().map_err(|why| format!("both devices are there, and it is refused: {why}"))?;
        if !pair.are_both_back() {
            return Err("one of two devices that are there does not count".to_owned());
        }
        for block in pair.contents[leg].borrow_mut().chunks_mut(PAGE as usize).skip(SUPERBLOCKS) {
            if block.iter().any(|byte| *byte != 0) && random.chance(0.5) {
                block[random.below(PAGE) as usize] ^= 1 << random.below(8);
            }
        }
        pair.sleep(2 * MILLISECOND);
        let alone = build(without(&pair.image(), other(leg)), settings(), [false; 2]);
        alone.open().map_err(|why| format!("damage on disk {leg} was not mended: {why}"))?;
        self.shows(&alone, floor)
            .map_err(|why| format!("damage on disk {leg} was not mended: {why}"))
            .map(drop)
    }
}

/// A device dies and a write is made, at every moment of a batch's way: the other one takes the write, and has everything.
///
/// # Errors
/// The first moment that breaks this.
///
/// # Panics
/// If the group does not open.
pub fn failing_batches(tally: &mut Tally) -> std::result::Result<(), String> {
    for (leg, moment) in LEGS.into_iter().flat_map(|leg| (0..MOMENTS).map(move |moment| (leg, moment))) {
        tally.losses += 1;
        let us = moment * POLL / MICROSECOND;
        let fails = |why: Error| format!("disk {leg} dies {us} us into a batch: {why}");
        let pair = opened(blank());
        pair.write_page(0, 0, 7).map_err(fails)?;
        let group = Rc::clone(&pair.node);
        let settled = pair.runtime.context().spawn(async move { group.settle().await });
        pair.sleep(moment * POLL);
        pair.fails_a_write(leg, true).map_err(fails)?;
        pair.runtime.block_on(settled).expect("it ends").map_err(fails)?;
        let alone = build(without(&pair.image(), leg), settings(), [false; 2]);
        alone.open().map_err(fails)?;
        if (alone.read_page(0, 0), alone.read_page(0, BUSY)) != (7, 77) {
            return Err(format!("disk {leg} dies {us} us into a batch: a write is gone"));
        }
    }
    Ok(())
}

/// A blank device comes back and fails one write on the way, at every moment of the return: it counts if it has everything
/// that was answered, and is refused otherwise.
///
/// # Errors
/// The first moment that breaks this.
///
/// # Panics
/// If the group does not open.
pub fn failing_returns(tally: &mut Tally) -> std::result::Result<(), String> {
    // Nothing is destaged: the writes are on the cache devices only.
    let lazy = Settings { dirty_limit: Some(CACHE as u64 / 2), ..settings() };
    let first = opened(blank());
    first.write_page(0, 0, 7).map_err(|why| format!("a write fails: {why}"))?;
    let image = first.image();
    for (leg, moment) in LEGS.into_iter().flat_map(|leg| (0..MOMENTS).map(move |moment| (leg, moment))) {
        tally.recoveries += 1;
        let us = moment * POLL / MICROSECOND;
        let fails = |why: String| format!("disk {leg} fails {us} us into its return: {why}");
        let pair = build(without(&image, leg), lazy.clone(), [false; 2]);
        pair.open().map_err(|why| fails(why.to_string()))?;
        pair.sleep(moment * POLL);
        pair.fails_a_write(leg, false).map_err(|why| fails(why.to_string()))?;
        pair.sleep(MILLISECOND);
        let counts = pair.standings()[leg - 1] == "current";
        let alone = build(without(&pair.image(), other(leg)), settings(), [false; 2]);
        match alone.open() {
            Ok(()) if alone.read_page(0, BUSY) != 77 => {
                return Err(fails("it counts without a write that was answered".to_owned()));
            }
            Err(why) if counts => return Err(fails(format!("it is current and does not count: {why}"))),
            _ => {}
        }
    }
    Ok(())
}
