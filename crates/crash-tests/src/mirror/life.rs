//! One life after the other: users write while legs come and go, the power fails, whoever is there is opened and judged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_layers::mirror::{ReadPolicy, Settings};
use fathom_runtime::{Context, Random};
use fathom_volume::Request;

use super::oracle::{GROUP, GROUPS, Note, Oracle, SECTOR, place, stamp};
use super::said::{Name, said};
use super::stand::{Stand, blank, hasty};
use crate::Tally;
use crate::crash::{Image, Media, Policy};
use crate::disk::Event;

/// The slowest answer of a leg, ns.
pub(super) const SLOWEST: u64 = 50_000;

/// The notes of a life, each with the length of the trace when it was made.
pub(crate) type Notes = Rc<RefCell<Vec<(usize, Note)>>>;

/// The settings of a seed.
fn settings_of(random: &mut Random) -> Settings {
    let read = if random.chance(0.7) { ReadPolicy::Balanced } else { ReadPolicy::First };
    Settings { read, ..hasty() }
}

/// Plays `lives` lives of `length` operations for each of three users; judges a fraction of all power cuts.
///
/// # Errors
/// The violation, with its seed.
pub fn lives(seed: u64, lives: usize, length: usize, fraction: f64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed, "mirror lives");
    let legs = 2 + usize::from(random.chance(0.4));
    let settings = settings_of(&mut random);
    let all = There::all(legs);
    let (mut image, mut next_id) = (blank(legs), 1);
    // What the cut before this life allows.
    let mut before = Oracle::new(vec![0; GROUP * GROUPS]);
    let mut unknown = vec![None; legs];
    for life in 0..lives {
        let told = |why: String| format!("mirror, seed {seed}, life {life}: {why}");
        // Whoever happens to be there; if those must not open, everybody.
        let there = if life > 0 && random.chance(0.4) { random.below(1 << legs) as usize } else { all.legs };
        let mut stand = Stand::build(image.clone(), there, &settings, SLOWEST, seed + life as u64);
        if stand.open().is_err() {
            stand = Stand::build(image.clone(), all.legs, &settings, SLOWEST, seed + life as u64);
            match stand.open() {
                Err(refusal) if is_apart(&refusal.to_string(), &image, &unknown) => return Ok(()),
                opened => {
                    opened.map_err(|error| told(format!("all legs are there, and it refuses: {error}")))?
                }
            }
        } else {
            learn_unknown(&image, there, &mut unknown);
        }
        // Which of the values that the cut allows they show may depend on who is there.
        let shown = stand.runtime.block_on(stand.read_all()).map_err(|error| told(error.to_string()))?;
        let shown = shown.map_err(told)?;
        before.judge(&shown).map_err(|why| told(format!("with legs {there:b} at its begin: {why}")))?;
        // A cut up to now finds what the one before has left.
        let from = stand.trace.borrow().len();
        let oracle = Oracle::new(shown);
        let notes = Notes::default();
        play(&stand, &mut random, (length, true), &oracle, &notes, &mut next_id).map_err(told)?;
        let trace = stand.trace.borrow().clone();
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
                judge(&state, There { legs, unknown: &unknown }, &settings, known, seed, tally).map_err(
                    |why| told(format!("power cut after event {number}, {policy:?}, legs {legs:b}: {why}")),
                )?;
            }
            if number == cut {
                let policy = Policy::ALL[random.below(4) as usize];
                let state = media.cut(policy, &mut random);
                let there = There { unknown: &unknown, ..all };
                let shown = judge(&state, there, &settings, known, seed, tally)
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
pub struct There<'a> {
    /// By bit.
    pub legs: usize,
    /// By leg: a generation that it carries and the others cannot know.
    pub unknown: &'a [Option<Name>],
}

impl There<'_> {
    /// So many, and they know of each other.
    pub fn all(legs: usize) -> Self {
        Self { legs: (1 << legs) - 1, unknown: &[] }
    }
}

/// Marks the legs that a life has begun without, and whose generation is named by none that it has begun with: the power
/// failed when it was begun, and nothing was answered in it (docs/MIRROR.md, "When it refuses to open").
fn learn_unknown(image: &Image, there: usize, unknown: &mut [Option<Name>]) {
    let is_there = |leg: usize| there & (1 << leg) != 0;
    let legs = || image.iter().enumerate();
    let named: Vec<Name> = legs()
        .filter(|(leg, _)| is_there(*leg))
        .filter_map(|(_, bytes)| said(bytes))
        .flat_map(|said| said.named)
        .collect();
    for (leg, bytes) in legs().filter(|(leg, _)| !is_there(*leg)) {
        let carries = said(bytes).map(|said| said.current).filter(|carries| !named.contains(carries));
        if carries.is_some() {
            unknown[leg] = carries;
        }
    }
}

/// What users knew, as far as the trace was followed.
pub(crate) struct Follower<'a> {
    pub oracle: Oracle,
    pub notes: &'a [(usize, Note)],
    pub taken: usize,
}

impl Follower<'_> {
    /// Takes in what users knew when the trace had this length.
    pub fn follow(&mut self, length: usize) {
        while let Some((_, note)) = self.notes.get(self.taken).filter(|(at, _)| *at <= length) {
            self.oracle.take(self.taken, *note);
            self.taken += 1;
        }
    }
}

/// Whether a mirror refuses because of a leg that still carries a generation that the others cannot know.
fn is_apart(refusal: &str, image: &Image, unknown: &[Option<Name>]) -> bool {
    let carries = |leg: usize| said(&image[leg]).map(|said| said.current);
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
    there: There<'_>,
    settings: &Settings,
    oracle: &Oracle,
    seed: u64,
    tally: &mut Tally,
) -> Result<Vec<u32>, String> {
    tally.crashes += 1;
    let stand = Stand::build(image.clone(), there.legs, settings, 0, seed);
    if let Err(refusal) = stand.open() {
        let refusal = refusal.to_string();
        if there.legs + 1 == 1 << image.len() && !is_apart(&refusal, image, there.unknown) {
            return Err(format!("all legs are there, and it refuses: {refusal}"));
        }
        tally.losses += 1;
        return Ok(Vec::new());
    }
    let look = async {
        let first = stand.read_all().await?;
        oracle.judge(&first)?;
        for _ in 0..2 {
            if stand.read_all().await? != first {
                return Err("two reads of one sector differ".to_owned());
            }
        }
        stand.node.rebuilt().await.map_err(|error| error.to_string())?;
        stand.node.rest().await.map_err(|error| error.to_string())?;
        for _ in 0..2 {
            if stand.read_all().await? != first {
                return Err("a rebuild changed what is read".to_owned());
            }
        }
        stand.equal()?;
        Ok(first)
    };
    stand.runtime.block_on(look).map_err(|error| error.to_string())?
}

/// Three users, each with so many operations, and perhaps somebody who pulls plugs.
pub(super) fn play(
    stand: &Stand,
    random: &mut Random,
    (length, pulls): (usize, bool),
    oracle: &Oracle,
    notes: &Notes,
    next_id: &mut u32,
) -> Result<(), String> {
    let context = stand.runtime.context();
    let ids = Rc::new(Cell::new(*next_id));
    let wrong: Rc<RefCell<Option<String>>> = Rc::default();
    let work = async {
        let users: Vec<_> = (0..3)
            .map(|user| {
                let part = Part {
                    context: context.clone(),
                    volume: stand.mirror.clone(),
                    may_fail: false,
                    pool: stand.pool.clone(),
                    random: RefCell::new(Random::new(random.word(), &format!("user {user}"))),
                    notes: Rc::clone(notes),
                    trace: Rc::clone(&stand.trace),
                    ids: Rc::clone(&ids),
                    wrong: Rc::clone(&wrong),
                    oracle: oracle.clone(),
                };
                context.spawn(part.use_it(length))
            })
            .collect();
        let mut chance = Random::new(random.word(), "plugs");
        while !users.iter().all(fathom_runtime::JoinHandle::is_done) {
            context.sleep(chance.below(400_000)).await;
            if pulls {
                pull(stand, &mut chance);
            }
        }
        stand.faults.iter().for_each(|faults| faults.gone.set(false));
        // Long enough that a leg is looked for and rebuilt.
        context.sleep(2_000_000).await;
        if chance.chance(0.5) {
            let _ = stand.node.rest().await;
            context.sleep(2_000_000).await;
            stand.equal()?;
        }
        Ok::<_, String>(())
    };
    stand.runtime.block_on(work).map_err(|error| error.to_string())??;
    *next_id = ids.get();
    wrong.borrow_mut().take().map_or(Ok(()), Err)
}

/// One leg vanishes, returns, fails a flush or a read; one in sync always stays.
fn pull(stand: &Stand, chance: &mut Random) {
    let leg = chance.below(stand.faults.len() as u64) as usize;
    let faults = &stand.faults[leg];
    let works = |leg: usize| !stand.faults[leg].gone.get() && !stand.faults[leg].fenced.get();
    let others = stand.in_sync().into_iter().any(|other| other != leg && works(other));
    let flushing = stand.faults.iter().all(|faults| faults.flushes.get() == 0 && faults.reads.get() == 0);
    match chance.below(6) {
        0 if others && flushing => faults.gone.set(true),
        1 | 2 => faults.gone.set(false),
        3 if others && flushing => faults.flushes.set(1),
        4 if others && flushing => faults.reads.set(1),
        _ => {}
    }
}

/// One user.
pub(crate) struct Part {
    pub context: Context,
    /// What is used.
    pub volume: fathom_volume::Handle,
    /// Whether its writes may fail: then nothing is promised of them.
    pub may_fail: bool,
    pub pool: fathom_volume::Pool,
    pub random: RefCell<Random>,
    pub notes: Notes,
    pub trace: crate::disk::Trace,
    /// The number of the next write.
    pub ids: Rc<Cell<u32>>,
    /// The first violation that a user has seen.
    pub wrong: Rc<RefCell<Option<String>>>,
    pub oracle: Oracle,
}

impl Part {
    fn note(&self, note: Note) {
        self.trace.borrow_mut().push(Event::Acked(0));
        self.notes.borrow_mut().push((self.trace.borrow().len(), note));
    }

    fn draw(&self, below: u64) -> u64 {
        self.random.borrow_mut().below(below)
    }

    pub async fn use_it(self, length: usize) {
        for _ in 0..length {
            let pause = self.draw(120_000);
            self.context.sleep(pause).await;
            let outcome = match self.draw(8) {
                0..=4 => self.write().await,
                5 => self.flush().await,
                _ => self.read().await,
            };
            if let Err(why) = outcome {
                self.wrong.borrow_mut().get_or_insert(why);
                return;
            }
        }
    }

    fn next_id(&self) -> u32 {
        let id = self.ids.get();
        self.ids.set(id + 1);
        id
    }

    async fn write(&self) -> Result<(), String> {
        let (id, group) = (self.next_id(), self.draw(GROUPS as u64) as usize);
        let first = self.draw(GROUP as u64) as usize;
        let count = 1 + self.draw((GROUP - first) as u64) as usize;
        let fua = self.draw(4) == 0;
        let bytes: Vec<u8> =
            (first..first + count).flat_map(|index| stamp(id, group * GROUP + index)).collect();
        let request = Request::new((place(group) + first * SECTOR) as u64, bytes.len() as u64).with_fua(fua);
        self.note(Note::Sent { id, group, first, count, fua });
        match self.volume.write(request, self.pool.copy_of(&bytes)).await {
            Ok(()) => self.note(Note::Answered(id)),
            Err(_) if self.may_fail => {}
            Err(error) => return Err(format!("a write fails although a leg is there: {error}")),
        }
        Ok(())
    }

    async fn flush(&self) -> Result<(), String> {
        let id = self.next_id();
        self.note(Note::Flushing(id));
        let answer = self.volume.flush(Request::flush()).await;
        // The only leg in sync may be the one that was told to fail; then nothing was promised.
        if answer.is_ok() {
            self.note(Note::Flushed(id));
        }
        Ok(())
    }

    /// What nobody is writing shows the last write.
    async fn read(&self) -> Result<(), String> {
        let group = self.draw(GROUPS as u64) as usize;
        let known = || {
            let mut oracle = self.oracle.clone();
            for (time, (_, note)) in self.notes.borrow().iter().enumerate() {
                oracle.take(time, *note);
            }
            (0..GROUP).map(|index| oracle.current(group * GROUP + index)).collect::<Vec<_>>()
        };
        let before = known();
        let buf = self.pool.get(GROUP * SECTOR);
        let request = Request::new(place(group) as u64, buf.len() as u64);
        let answer = self.volume.read(request, buf.clone()).await;
        if answer.is_err() {
            return Ok(());
        }
        let after = known();
        buf.with(|bytes| {
            for (index, bytes) in bytes.chunks(SECTOR).enumerate() {
                let sector = group * GROUP + index;
                let found = super::oracle::shown(sector, bytes)?;
                if let (Some(then), Some(now)) = (before[index], after[index])
                    && then == now
                    && found != now
                {
                    return Err(format!("sector {sector} shows write {found}, and the last is {now}"));
                }
            }
            Ok(())
        })
    }
}
