//! Settings of the layer.

use std::str::FromStr;

use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_volume::{Blueprint, NodeKind, manual};

use super::membership::Accepted;
use super::superblock::MOST_LEGS;
use crate::reading::{Contradiction, bytes_or, span_or, told_none};
use crate::share::{self, Rules};

/// Which leg serves a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPolicy {
    /// The least busy one, in turn among equals.
    Balanced,
    /// Always the first that is in sync.
    First,
}

impl Choice for ReadPolicy {
    const CHOICES: &'static [(&'static str, Self)] = &[("balanced", Self::Balanced), ("first", Self::First)];
}

/// What the legs of a new mirror hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// The first leg counts; it is copied to the others.
    Copy,
    /// Nothing that will be read.
    Blank,
}

impl Choice for Initial {
    const CHOICES: &'static [(&'static str, Self)] = &[("copy", Self::Copy), ("blank", Self::Blank)];
}

/// What a mirror does. Sizes are bytes, times ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which leg serves a read.
    pub read: ReadPolicy,
    /// Bytes of a region of the bitmap.
    pub region: u64,
    /// Whether writes note their region first.
    pub bitmap: bool,
    /// After how long without a write a region counts as clean.
    pub clean_after: u64,
    /// What the legs of a new mirror hold.
    pub initial: Initial,
    /// Bytes of one request of a rebuild.
    pub resync_io: u64,
    /// Such requests at once.
    pub resync_depth: usize,
    /// How a leg is shared during a rebuild.
    pub rules: Rules,
    /// How often a leg that is gone is looked for; 0 for never.
    pub retry: u64,
    /// What a person has accepted.
    pub accepted: Accepted,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            read: ReadPolicy::Balanced,
            region: 1 << 20,
            bitmap: true,
            clean_after: 5_000_000_000,
            initial: Initial::Copy,
            resync_io: 256 << 10,
            resync_depth: 16,
            rules: Rules::default(),
            retry: 30_000_000_000,
            accepted: Accepted::default(),
        }
    }
}

/// Settings of one mirror.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Names of the legs.
    pub legs: Vec<String>,
    /// What it does.
    pub settings: Settings,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "mirror",
    summary: "RAID-1: every leg holds everything; legs may be lost, return, and are rebuilt",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required("legs", "list of volumes", "The copies, one to eight."),
        Key::optional("read", "`balanced` or `first`", "balanced", "Which leg serves a read."),
        Key::optional(
            "region",
            "size",
            "1MiB",
            "Bytes that one bit of the bitmap covers; a power of two from 64KiB.",
        ),
        Key::optional(
            "bitmap",
            "`true` or `false`",
            "true",
            "Whether writes note their region first; without, a crash means copying everything.",
        ),
        Key::optional(
            "clean_after",
            "time",
            "5s",
            "After how long without a write a region counts as clean.",
        ),
        Key::optional(
            "initial",
            "`copy` or `blank`",
            "copy",
            "What a new mirror holds: the first leg's bytes, copied to the others, or nothing that will be read.",
        ),
        Key::optional(
            "resync_share",
            "percentage",
            "20%",
            "A rebuild's guaranteed share of each leg's device time, as far as `resync_depth` requests reach.",
        ),
        Key::optional("resync_io", "size", "256KiB, or a region", "One request of a rebuild."),
        Key::optional(
            "resync_depth",
            "count",
            "16",
            "Such requests at once. Beside U users' requests on a leg, a share s needs about U x s / (1 - s).",
        ),
        Key::optional("leg_iops", "I/O rate", "learned", "What one leg can do, instead of what is learned."),
        Key::optional(
            "leg_throughput",
            "rate",
            "learned",
            "What one leg can do, instead of what is learned.",
        ),
        Key::optional(
            "resync_window",
            "time",
            "learned",
            "Device time that fills a leg: a rebuild sends no more unless it is owed.",
        ),
        Key::optional(
            "resync_careful",
            "time",
            "50ms",
            "How long after a user's last request a rebuild is careful with the leg's queue.",
        ),
        Key::optional("retry", "time", "30s", "How often a leg that is gone is looked for; 0s for never."),
        Key::optional(
            "force",
            "generation:legs",
            "none",
            "Continues with these legs of that generation; a refusal names them.",
        ),
        Key::optional(
            "discard",
            "generation or list of them",
            "none",
            "Throws away what the legs of these generations hold.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let legs = section.required_list::<VolumeName>("legs");
        let settings = read_settings(section);
        let legs: Vec<String> = legs?.into_iter().map(|VolumeName(name)| name).collect();
        let twice = legs.iter().enumerate().find(|(index, leg)| legs[..*index].contains(leg));
        if let Some((_, leg)) = twice {
            section.error_at(
                "legs",
                format!("`{leg}` is a leg twice"),
                "a copy on the same volume protects nothing",
            );
            return None;
        }
        if legs.is_empty() {
            section.error_at("legs", "a mirror without legs holds nothing", "name one or more volumes");
            return None;
        }
        if legs.len() > MOST_LEGS {
            section.error_at("legs", format!("{} legs", legs.len()), "name at most eight");
            return None;
        }
        Some(Self { legs, settings: settings? })
    }
}

/// What refusals name, at a key; None if one of them is none.
fn copied<T: FromStr<Err = String>>(
    section: &mut Section<'_>,
    key: &str,
    texts: Vec<String>,
) -> Option<Vec<T>> {
    let mut told = Vec::with_capacity(texts.len());
    for text in texts {
        match text.parse() {
            Ok(named) => told.push(named),
            Err(why) => {
                section.error_at(key, why, "copy it from the message that refuses to open the mirror");
                return None;
            }
        }
    }
    Some(told)
}

fn read_settings(section: &mut Section<'_>) -> Option<Settings> {
    let usual = Settings::default();
    let rules = share::settings::read(section, "leg_iops", "leg_throughput");
    let read = section.or("read", usual.read);
    let region = bytes_or(section, "region", usual.region);
    // Of a region that is none this says nothing: the region is told.
    let most = if region.is_power_of_two() { region } else { usual.region };
    let resync_io = bytes_or(section, "resync_io", usual.resync_io.min(most));
    let force = section.optional::<String>("force").into_iter().collect();
    let force = copied(section, "force", force);
    let discard = section.one_or_list("discard").unwrap_or_default();
    let discard = copied(section, "discard", discard);
    let settings = Settings {
        read,
        region,
        bitmap: section.or("bitmap", usual.bitmap),
        clean_after: span_or(section, "clean_after", usual.clean_after),
        initial: section.or("initial", usual.initial),
        resync_io,
        resync_depth: section.or_in("resync_depth", usual.resync_depth, 1..=256),
        rules,
        retry: span_or(section, "retry", usual.retry),
        accepted: Accepted { force: force?.pop(), discard: discard? },
    };
    told_none(section, settings.contradictions()).then_some(settings)
}

impl Settings {
    /// What does not fit: the key, what is wrong, what to do.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut wrong = Vec::new();
        let region_fits = self.region.is_power_of_two() && (64 << 10..=1 << 30).contains(&self.region);
        let io_fits = self.resync_io.is_power_of_two() && (4 << 10..=self.region).contains(&self.resync_io);
        if !region_fits {
            let message = format!("regions of {} bytes", self.region);
            wrong.push(("region", message, "give a power of two from 64KiB to 1GiB"));
        }
        if region_fits && !io_fits {
            let message = format!("rebuild requests of {} bytes", self.resync_io);
            wrong.push(("resync_io", message, "give a power of two from 4KiB to the size of a region"));
        }
        if self.clean_after == 0 {
            wrong.push(("clean_after", "no time at all".to_owned(), "give a span such as \"5s\""));
        }
        wrong.extend(self.rules.contradictions("leg_iops", "leg_throughput"));
        wrong
    }
}
