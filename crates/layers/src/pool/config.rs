//! Settings of the layer.

use fathom_settings::{Key, Section, VolumeName};
use fathom_units::{Bytes, Rate};
use fathom_volume::{Blueprint, NodeKind, manual};

use super::metadata::{MOST_EXTENTS, MOST_MEMBERS};
use crate::reading::{Contradiction, bytes_or, told_none};
use crate::share::{self, Rules};

/// What a pool does.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Bytes the pool shows.
    pub size: u64,
    /// Bytes stored together on one member.
    pub extent: u64,
    /// Whether extents move until the members are equally full.
    pub rebalance: bool,
    /// Bytes of one request of a move.
    pub resync_io: u64,
    /// Extents that move at once.
    pub resync_depth: usize,
    /// Bytes per second that move at most; None for no limit.
    pub resync_limit: Option<f64>,
    /// How each member is shared.
    pub rules: Rules,
}

impl Settings {
    /// Bytes.
    pub const DEFAULT_EXTENT: u64 = 256 << 20;

    /// The usual ones for a pool of that size.
    pub fn of(size: u64) -> Self {
        Self {
            size,
            extent: Self::DEFAULT_EXTENT,
            rebalance: true,
            resync_io: 256 << 10,
            resync_depth: 16,
            resync_limit: None,
            rules: Rules::default(),
        }
    }
}

/// Settings of one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Names of the members that extents are placed on when the pool is made.
    pub members: Vec<String>,
    /// Names of those that are empty at first.
    pub added: Vec<String>,
    /// What it does.
    pub settings: Settings,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "pool",
    summary: "one volume in extents on several volumes, rebalanced after volumes were added",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required(
            "members",
            "list of volumes",
            "The volumes that the pool is made on, one to 64 with `added`.",
        ),
        Key::optional(
            "added",
            "list of volumes",
            "none",
            "Volumes that were added since: empty at first, behind `members` in order.",
        ),
        Key::required("size", "size", "What the pool shows; the rest of the members' room is free."),
        Key::optional(
            "extent",
            "size",
            "256MiB",
            "Bytes stored together on one member that move as one; a power of two from 64KiB.",
        ),
        Key::optional(
            "rebalance",
            "`true` or `false`",
            "true",
            "Whether extents move to emptier members until all are equally full.",
        ),
        Key::optional(
            "resync_share",
            "percentage",
            "20%",
            "A move's guaranteed share of each member's device time.",
        ),
        Key::optional("resync_io", "size", "256KiB", "One request of a move."),
        Key::optional("resync_depth", "count", "16", "Extents that move at once."),
        Key::optional("resync_limit", "rate", "none", "Bytes per second that move at most."),
        Key::optional(
            "member_iops",
            "I/O rate",
            "learned",
            "What one member can do, instead of what is learned.",
        ),
        Key::optional(
            "member_throughput",
            "rate",
            "learned",
            "What one member can do, instead of what is learned.",
        ),
        Key::optional(
            "resync_window",
            "time",
            "learned",
            "Device time that fills a member: a move sends no more unless it is owed.",
        ),
        Key::optional(
            "resync_careful",
            "time",
            "50ms",
            "How long after a user's last request a move is careful with the member's queue.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let members = section.required_list::<VolumeName>("members");
        let added = section.list::<VolumeName>("added");
        let settings = read_settings(section);
        let names = |list: Vec<VolumeName>| list.into_iter().map(|VolumeName(name)| name).collect();
        let (members, added): (Vec<String>, Vec<String>) =
            (names(members?), names(added.unwrap_or_default()));
        let all: Vec<&String> = members.iter().chain(&added).collect();
        if let Some(index) = (1..all.len()).find(|index| all[..*index].contains(&all[*index])) {
            let key = if index < members.len() { "members" } else { "added" };
            section.error_at(key, format!("`{}` is a member twice", all[index]), "name each volume once");
        }
        if all.len() > MOST_MEMBERS {
            section.error_at("members", format!("{} members", all.len()), "name at most 64");
        }
        let settings = settings.filter(|_| section.is_clean())?;
        Some(Self { members, added, settings })
    }
}

fn read_settings(section: &mut Section<'_>) -> Option<Settings> {
    let size = section.required::<Bytes>("size");
    let usual = Settings::of(size.map_or(0, |size| size.get()));
    let extent = bytes_or(section, "extent", usual.extent);
    let settings = Settings {
        extent,
        rebalance: section.or("rebalance", usual.rebalance),
        resync_io: bytes_or(section, "resync_io", usual.resync_io.min(extent)),
        resync_depth: section.or_in("resync_depth", usual.resync_depth, 1..=256),
        resync_limit: section.optional::<Rate>("resync_limit").map(|rate| rate.as_f64()),
        rules: share::settings::read(section, "member_iops", "member_throughput"),
        ..usual
    };
    size?;
    told_none(section, settings.contradictions()).then_some(settings)
}

impl Settings {
    /// What does not fit: the key, what is wrong, what to do.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut wrong = Vec::new();
        let extent = self.extent;
        let sound = extent.is_power_of_two() && (64 << 10..=64 << 30).contains(&extent);
        if !sound {
            let message = format!("extents of {extent} bytes");
            wrong.push(("extent", message, "give a power of two from 64KiB to 64GiB"));
        } else if self.size.div_ceil(extent) > MOST_EXTENTS {
            let message =
                format!("{} bytes are more than {MOST_EXTENTS} extents of {extent} bytes", self.size);
            wrong.push(("extent", message, "make the extents larger"));
        }
        if self.size == 0 {
            wrong.push(("size", "a pool that shows nothing".to_owned(), "give the size of the volume"));
        }
        if sound && (!self.resync_io.is_power_of_two() || !(4 << 10..=extent).contains(&self.resync_io)) {
            let message = format!("requests of {} bytes", self.resync_io);
            wrong.push(("resync_io", message, "give a power of two from 4KiB to the size of an extent"));
        }
        if self.resync_limit.is_some_and(|limit| limit <= 0.0) {
            let message = "nothing would ever move".to_owned();
            wrong.push(("resync_limit", message, "leave the key out, or set `rebalance = false`"));
        }
        wrong.extend(self.rules.contradictions("member_iops", "member_throughput"));
        wrong
    }
}
