//! What a study has besides volumes and workload: title, factors, comparison, published figures.

use std::collections::BTreeMap;

use fathom_runtime::Clock;
use fathom_settings::{Choice, Path, Problem, Section, Tree};
use serde_json::{Map, Value};

use crate::compare::{self, Compare};
use crate::factors::{self, Factor, Overlay, Sets};
use crate::goals::{self, Goals};
use crate::published::{self, Published};
use crate::reading::required_words;
use crate::words;

/// The seed of a study that gives none.
const DEFAULT_SEED: u64 = 1;

/// The largest seed; what a signed 64-bit number holds.
const LARGEST_SEED: u64 = i64::MAX as u64;

/// A study as read. Its parts are valid on their own; its variants are checked separately.
#[derive(Debug)]
pub(crate) struct Study {
    /// Empty only if it is missing, with a diagnostic; so is every text.
    pub title: String,
    /// Empty if the study asks none.
    pub question: String,
    pub seed: u64,
    pub clock: Clock,
    pub sets: Sets,
    pub factors: Vec<Factor>,
    /// `[real]`, `[virtual]`, `[quick]`.
    pub real: Option<Overlay>,
    pub simulated: Option<Overlay>,
    pub quick: Option<Overlay>,
    /// The factors with the levels that run at tiny scale.
    pub quick_factors: Vec<Factor>,
    pub compare: Option<Compare>,
    pub goals: Goals,
    pub published: Published,
    /// A sentence for each parameter that was fitted.
    pub calibrated_on: Vec<String>,
    /// Words for people: how far a run differs in scale from what was published, by clock or `quick`.
    pub scale: BTreeMap<&'static str, String>,
    /// Words for levels, by factor and level.
    pub labels: Map<String, Value>,
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
        let title = required_words(root, "title").unwrap_or_default();
        let question = root.optional::<String>("question").unwrap_or_default();
        let clock = root.or("clock", ClockWord(Clock::Real)).0;
        let seed = root.or_in("seed", DEFAULT_SEED, 0..=LARGEST_SEED);
        for key in ["volumes", "places", "databases", "workload"] {
            root.value(key);
        }
        let sets = factors::read_sets(root);
        let factors = factors::read(root, &sets);
        let real = factors::read_overlay(root, "real", &sets);
        let simulated = factors::read_overlay(root, "virtual", &sets);
        let (quick, quick_factors) = factors::read_quick(root, &sets, &factors);
        factors::check_sets_are_used(root, &sets, &factors, &[&real, &simulated, &quick]);
        let compare = compare::read(root, &factors);
        let baseline = compare.as_ref().map(|compare| &compare.json["baseline"]);
        for factor in &quick_factors {
            let level = baseline.and_then(|baseline| baseline.get(&factor.name));
            if level.is_some_and(|level| !factor.levels.iter().any(|kept| kept.to_json() == *level)) {
                let path = Path::ROOT.join("quick").join(&factor.name);
                let problem = Problem::new("the level of the baseline is left out", "list it, too");
                root.refuse(root.position_of(&path), &path, problem);
            }
        }
        let goals = goals::read(root);
        let published = published::read(root, &factors);
        let scale = words::read_scale(root);
        let labels = words::read_labels(root, &factors);
        let overlays = [&real, &simulated, &quick].into_iter().flatten().flatten().cloned();
        let replaced: Overlay = factors.iter().flat_map(Factor::choices).chain(overlays).collect();
        let calibrated_on = published::read_calibration(root, tree, &replaced, &sets);
        let study = Self {
            title,
            question,
            seed,
            clock,
            sets,
            factors,
            real,
            simulated,
            quick,
            quick_factors,
            compare,
            goals,
            published,
            calibrated_on,
            scale,
            labels,
        };
        // Whether all is right shows in the diagnostics; what was read is looked at in any case.
        let _ = root.finish();
        study
    }

    /// The factors at full or at tiny scale.
    pub fn factors_at(&self, quick: bool) -> &[Factor] {
        if quick { &self.quick_factors } else { &self.factors }
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
