//! Every sequence of at most five operations on three blocks (small scopes: Jackson 2006; for file systems CrashMonkey,
//! OSDI 2018, found most bugs with three).

use fathom_layers::writeback::record::{Change, Extent};
use fathom_runtime::Random;

use crate::Tally;
use crate::crash::{Media, Policy};
use crate::group::Setup;
use crate::history::History;
use crate::life::{Required, Step, check, check_loss, record};

/// One action of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Writes blocks 0 and 1.
    W1,
    /// Writes blocks 1 and 2.
    W2,
    /// Writes block 1, durable when it is answered.
    Fua,
    /// Flushes.
    Flush,
    /// Trims block 1 and half of block 2.
    Trim,
    /// Has everything destaged.
    Destage,
    /// Cuts the power and reopens.
    Crash,
    /// Cuts the power, loses the cache and reopens.
    Lose,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::W1, Self::W2, Self::Fua, Self::Flush, Self::Trim, Self::Destage, Self::Crash, Self::Lose];

    fn step(self) -> Option<Step> {
        let change = |change, offset: u64, length: u64, fua| {
            Some(Step::Change(Extent { volume: 0, change, offset: offset << 10, length: length << 10 }, fua))
        };
        match self {
            Self::W1 => change(Change::Write, 0, 8, false),
            Self::W2 => change(Change::Write, 4, 8, false),
            Self::Fua => change(Change::Write, 4, 4, true),
            Self::Trim => change(Change::Trim, 4, 6, false),
            Self::Flush => Some(Step::Flush),
            Self::Destage => Some(Step::Destage),
            Self::Crash | Self::Lose => None,
        }
    }
}

/// How many sequences of at most that many actions there are.
pub fn count(longest: u32) -> u64 {
    (1..=longest).map(|length| 8_u64.pow(length)).sum()
}

/// The sequence of that number, counted from 0, shorter ones first.
pub fn sequence(mut number: u64) -> Vec<Action> {
    let mut length = 1;
    while number >= 8_u64.pow(length) {
        number -= 8_u64.pow(length);
        length += 1;
    }
    (0..length).map(|digit| Action::ALL[(number >> (3 * digit)) as usize & 7]).collect()
}

/// Three blocks.
pub fn setup(base: &Setup) -> Setup {
    let mut setup = Setup { sectors: 24, volumes: 1, ..base.clone() };
    // Some of the log is destaged from memory, some is read back.
    setup.settings.memory = 8 << 10;
    setup
}

/// Plays a sequence; ends it with every power cut, and with the loss of the cache.
///
/// # Errors
/// The first violation.
pub fn play(setup: &Setup, number: u64, tally: &mut Tally) -> Result<(), String> {
    let actions = sequence(number);
    let mut random = Random::new(number, "sequence");
    let mut media = Media::new(&setup.blank());
    let mut history = History::new(1, setup.sectors);
    let at = |why: String| format!("sequence {number} {actions:?}: {why}");
    for part in actions.split_inclusive(|action| action.step().is_none()) {
        let bursts: Vec<Vec<Step>> =
            part.iter().filter_map(|action| action.step()).map(|step| vec![step]).collect();
        (media, history) =
            one_life(setup, &media, &history, &bursts, part.last().copied(), &mut random, tally)
                .map_err(at)?;
    }
    Ok(())
}

fn one_life(
    setup: &Setup,
    media: &Media,
    history: &History,
    bursts: &[Vec<Step>],
    last: Option<Action>,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<(Media, History), String> {
    let life = record(setup, media, history, bursts, random.word())?;
    // The end of the life, and moments of its last part.
    let floor_life = life.enumerate(setup, 0.04, random, tally)?;
    if last == Some(Action::Lose) {
        let cut = life.end().cut(Policy::Random, random);
        let (image, prefix) = check_loss(setup, &cut, &life.history, 0, tally)?;
        let mut history = life.history;
        history.truncate(prefix);
        history.promised = 0;
        history.durable = prefix;
        let media = Media::new(&image);
        check(setup, &media, &history, Required::durable(prefix, 0), random, 0, tally)?;
        return Ok((media, history));
    }
    Ok(floor_life)
}
