//! What stands in a study apart from volumes and workload: its words, factors, comparison, published figures.

use fathom_settings::{Choice, Path, Place, Problem, Section, Tree};
use fathom_stack::Clock;

use crate::compare::{self, Compare};
use crate::factors::{self, Factor, Overlay, Sets};
use crate::goals;
use crate::published::{self, Published};
use crate::words;

/// The largest seed; what a signed 64-bit number holds.
const LARGEST_SEED: u64 = i64::MAX as u64;

/// A study as read. Everything in it is right by itself; whether its variants are is another matter.
#[derive(Debug)]
pub(crate) struct Study {
    pub clock: Clock,
    pub sets: Sets,
    pub factors: Vec<Factor>,
    /// `[real]`, `[virtual]`, `[quick]`.
    pub real: Option<Overlay>,
    pub simulated: Option<Overlay>,
    pub quick: Option<Overlay>,
    pub compare: Option<Compare>,
    /// Name, path and place of the metric of every goal.
    pub goals: Vec<(String, Path, Place)>,
    pub published: Published,
}

#[derive(Clone, Copy)]
struct ClockWord(Clock);

impl Choice for ClockWord {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("real", Self(Clock::Real)), ("virtual", Self(Clock::Virtual))];
}

impl Study {
    /// Reads a whole study; `root` is the reader of its text. Refuses unknown keys.
    pub fn read(root: &mut Section<'_>, tree: &Tree) -> Self {
        required_words(root, "title");
        root.optional::<String>("question");
        let clock = root.or("clock", ClockWord(Clock::Real)).0;
        root.optional_in("seed", 0..=LARGEST_SEED);
        for key in ["volumes", "places", "databases", "workload"] {
            root.value(key);
        }
        let sets = factors::read_sets(root);
        let factors = factors::read(root, &sets);
        let real = factors::read_overlay(root, "real", &sets);
        let simulated = factors::read_overlay(root, "virtual", &sets);
        let quick = factors::read_overlay(root, "quick", &sets);
        factors::check_sets_are_used(root, &sets, &factors, &[&real, &simulated, &quick]);
        let compare = compare::read(root, &factors);
        let goals = goals::read(root);
        let published = published::read(root, &factors);
        words::read_scale(root);
        words::read_labels(root, &factors);
        let study = Self { clock, sets, factors, real, simulated, quick, compare, goals, published };
        published::check_calibration(root, tree, &study);
        // Whether all is right shows in the diagnostics; what was read is looked at in any case.
        let _ = root.finish();
        study
    }

    /// The overlay of a clock.
    pub fn overlay(&self, clock: Clock) -> Option<&Overlay> {
        match clock {
            Clock::Real => self.real.as_ref(),
            Clock::Virtual => self.simulated.as_ref(),
        }
    }

    /// Every overlay that is there.
    pub fn overlays(&self) -> impl Iterator<Item = &Overlay> {
        [&self.real, &self.simulated, &self.quick].into_iter().flatten()
    }
}

/// A text that says something.
pub(crate) fn required_words(section: &mut Section<'_>, key: &str) -> Option<String> {
    let words = section.required::<String>(key)?;
    if words.trim().is_empty() {
        section.error_at(key, "it is empty", "write a few words");
        return None;
    }
    Some(words)
}

/// The problem of a value whose kind fits nowhere.
pub(crate) fn expected(what: &str, found: &fathom_settings::Value, help: &str) -> Problem {
    Problem::new(format!("expected {what}, found {}", found.kind()), help)
}
