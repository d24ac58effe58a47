//! Settings of the layer: which volumes, what is promised, and every limit.

use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_units::{Bytes, Span};
use fathom_volume::{Blueprint, NodeKind, manual};

use super::layout::{LEAST_RING, on_cache};
use crate::codec::BLOCK;
use crate::reading::{Contradiction, bytes_or, span_or, told_none};

/// In which order bytes reach the backing volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whole batches or nothing, through the redo ring: an exact moment of the log at any instant.
    Strict,
    /// One flush interval at a time, straight in place: what a disk could show after a power cut.
    Barrier,
}

impl Choice for Mode {
    const CHOICES: &'static [(&'static str, Self)] = &[("strict", Self::Strict), ("barrier", Self::Barrier)];
}

/// What a flush means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the cache device.
    Cache,
    /// On both cache devices, or on the one that is left.
    CacheMirrored,
    /// On the backing side: in the redo ring or in place.
    Origin,
}

impl Choice for Durability {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("cache", Self::Cache), ("cache-mirrored", Self::CacheMirrored), ("origin", Self::Origin)];
}

impl Durability {
    /// The word used in settings and export names.
    pub fn name(self) -> &'static str {
        let word = Self::CHOICES.iter().find(|(_, value)| *value == self);
        word.map_or("", |(word, _)| word)
    }
}

/// What all volumes of a group agree on. Sizes are bytes, times ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The order of destaging.
    pub mode: Mode,
    /// What a flush means.
    pub durability: Durability,
    /// How much of the cache device is used; None for all.
    pub size: Option<u64>,
    /// How much of the cache device holds lines that are read often; None for none.
    pub read_cache: Option<u64>,
    /// Bytes per second at which the dirty log is verified in the background; None for not at all.
    pub scrub: Option<u64>,
    /// The redo ring on the tail of the first backing volume; None for the usual size.
    pub ring_size: Option<u64>,
    /// Segments of the log.
    pub segment: u64,
    /// The most payload of a batch.
    pub batch: u64,
    /// Log that may be dirty; None for a quarter of the log.
    pub dirty_limit: Option<u64>,
    /// Dirty log is kept so small that it destages within this.
    pub drain_target: u64,
    /// From this age on a write is destaged whether or not there is more.
    pub lag_target: u64,
    /// Above this age of the oldest write none is accepted.
    pub lag_max: u64,
    /// The most log that is kept in memory too until it is destaged.
    pub memory: u64,
    /// Records on their way to the log at once.
    pub log_depth: usize,
    /// Requests to the backing volumes at once. Beside many users it takes about as many as theirs to have the guaranteed part
    /// of the volume's time: less, and destaging falls behind until they leave.
    pub destage_depth: usize,
    /// The incarnation whose cache is known to be lost.
    pub accept_loss: Option<u64>,
    /// The write at which an older backing volume stands that the log is to bring up to date.
    pub roll_forward: Option<u64>,
    /// The write at which an older backing volume stands that is to count, without what the cache holds.
    pub accept_rollback: Option<u64>,
    /// Whether whatever the cache device holds may be overwritten.
    pub discard_cache: bool,
    /// How often at most the cache's superblock says up to where the log is flushed.
    pub mark_every: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Strict,
            durability: Durability::Cache,
            size: None,
            read_cache: None,
            scrub: None,
            ring_size: None,
            segment: 16 << 20,
            batch: 64 << 20,
            dirty_limit: None,
            drain_target: 30_000_000_000,
            lag_target: 5_000_000_000,
            lag_max: 30_000_000_000,
            memory: 128 << 20,
            log_depth: 8,
            destage_depth: 256,
            accept_loss: None,
            roll_forward: None,
            accept_rollback: None,
            discard_cache: false,
            mark_every: 20_000_000,
        }
    }
}

/// Settings of one volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the volume it stands in front of.
    pub backing: String,
    /// Name of the cache device.
    pub cache: String,
    /// Name of the second cache device, with durability `cache-mirrored`.
    pub cache_copy: Option<String>,
    /// Name of the volume that holds the redo ring; None for the tail of the backing volume.
    pub ring: Option<String>,
    /// How much of the backing volume is used; None for all.
    pub backing_size: Option<u64>,
    /// Volumes with the same word here share one log and one order; None for a group of its own.
    pub group: Option<String>,
    /// What the group agrees on.
    pub settings: Settings,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "writeback",
    summary: "write-back cache on a fast device; its loss leaves an earlier, consistent volume",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required("backing", "volume", "The volume behind the cache."),
        Key::required("cache", "volume", "The fast device that holds the log."),
        Key::optional(
            "cache_copy",
            "volume",
            "none",
            "A second cache device that holds the same, for `durability = \"cache-mirrored\"`.",
        ),
        Key::optional(
            "ring",
            "volume",
            "the tail of `backing`",
            "Where the redo ring lies; needed to adopt a full volume.",
        ),
        Key::optional(
            "backing_size",
            "size",
            "all of it",
            "How much of `backing` is used: the size it had, if it grew.",
        ),
        Key::optional(
            "group",
            "text",
            "a group of its own",
            "Volumes with the same word share one log and one order.",
        ),
        Key::optional(
            "mode",
            "`strict` or `barrier`",
            "strict",
            "In which order bytes reach the backing volume.",
        ),
        Key::optional("durability", "`cache`, `cache-mirrored` or `origin`", "cache", "What a flush means."),
        Key::optional("size", "size", "all of it", "How much of the cache device is used."),
        Key::optional(
            "read_cache",
            "size",
            "none",
            "How much of the cache device holds what is read often, in lines of 64 KiB.",
        ),
        Key::optional(
            "scrub",
            "size",
            "none",
            "Bytes per second at which the dirty log is verified in the background.",
        ),
        Key::optional("ring_size", "size", "1GiB or a sixteenth", "The redo ring on the tail of `backing`."),
        Key::optional("segment", "size", "16MiB", "Segments of the log; a multiple of 4 KiB."),
        Key::optional("batch", "size", "64MiB", "The most payload of a batch."),
        Key::optional(
            "dirty_limit",
            "size",
            "a quarter of the log",
            "Log that may be dirty, a segment at least; the log less two at most, whatever is said.",
        ),
        Key::optional(
            "drain_target",
            "time",
            "30s",
            "Dirty log is kept so small that it destages within this.",
        ),
        Key::optional(
            "lag_target",
            "time",
            "5s",
            "From this age on a write is destaged without waiting for more.",
        ),
        Key::optional("lag_max", "time", "30s", "No write is accepted while the oldest dirty one is older."),
        Key::optional(
            "memory",
            "size",
            "128MiB",
            "The most log that is kept in memory too until it is destaged; what is not is read back.",
        ),
        Key::optional("log_depth", "count", "8", "Records on their way to the log at once."),
        Key::optional("destage_depth", "count", "256", "Requests to the backing volume at once."),
        Key::optional(
            "accept_loss",
            "count",
            "none",
            "The incarnation whose cache is known to be lost; a refusal names it.",
        ),
        Key::optional(
            "roll_forward",
            "count",
            "none",
            "The write at which an older backing volume stands, to be brought up to date from the log; a refusal names it.",
        ),
        Key::optional(
            "accept_rollback",
            "count",
            "none",
            "The write at which an older backing volume stands, to go on from there without the cache; a refusal names it.",
        ),
        Key::optional(
            "discard_cache",
            "`true` or `false`",
            "false",
            "Whether to overwrite whatever the cache device holds.",
        ),
        Key::optional(
            "mark_every",
            "time",
            "20ms",
            "How often at most the cache's superblock says up to where the log is flushed.",
        ),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// A volume of that backing and cache, in a group of its own.
    pub fn new(backing: &str, cache: &str, settings: Settings) -> Self {
        Self {
            backing: backing.to_owned(),
            cache: cache.to_owned(),
            cache_copy: None,
            ring: None,
            backing_size: None,
            group: None,
            settings,
        }
    }

    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let backing = section.required::<VolumeName>("backing");
        let cache = section.required::<VolumeName>("cache");
        let cache_copy = section.optional::<VolumeName>("cache_copy").map(|VolumeName(name)| name);
        let ring = section.optional::<VolumeName>("ring").map(|VolumeName(name)| name);
        let backing_size = section.optional::<Bytes>("backing_size").map(|bytes| bytes.get());
        let group = section.optional::<String>("group");
        let settings = read_settings(section);
        let mirrored = settings.as_ref().is_some_and(|found| found.durability == Durability::CacheMirrored);
        match &cache_copy {
            None if mirrored => section.error_at(
                "durability",
                "`cache-mirrored` needs a second cache device".to_owned(),
                "name one as `cache_copy`, or say `durability = \"cache\"`",
            ),
            Some(_) if !mirrored && settings.is_some() => section.error_at(
                "cache_copy",
                "a second cache device, and the durability does not say so".to_owned(),
                "say `durability = \"cache-mirrored\"`, or leave it out",
            ),
            _ => {}
        }
        let sound = mirrored == cache_copy.is_some();
        let settings = settings.filter(|_| sound);
        Some(Self {
            backing: backing?.0,
            cache: cache?.0,
            cache_copy,
            ring,
            backing_size,
            group,
            settings: settings?,
        })
    }
}

fn read_settings(section: &mut Section<'_>) -> Option<Settings> {
    let usual = Settings::default();
    let bytes =
        |section: &mut Section<'_>, key: &str| section.optional::<Bytes>(key).map(|bytes| bytes.get());
    let settings = Settings {
        mode: section.or("mode", usual.mode),
        durability: section.or("durability", usual.durability),
        size: bytes(section, "size"),
        read_cache: bytes(section, "read_cache"),
        scrub: bytes(section, "scrub"),
        ring_size: bytes(section, "ring_size"),
        segment: bytes_or(section, "segment", usual.segment),
        batch: bytes_or(section, "batch", usual.batch),
        dirty_limit: bytes(section, "dirty_limit"),
        drain_target: span_or(section, "drain_target", usual.drain_target),
        lag_target: span_or(section, "lag_target", usual.lag_target),
        lag_max: span_or(section, "lag_max", usual.lag_max),
        memory: bytes_or(section, "memory", usual.memory),
        log_depth: section.or_in("log_depth", usual.log_depth, 1..=256),
        destage_depth: section.or_in("destage_depth", usual.destage_depth, 1..=4096),
        accept_loss: section.optional::<u64>("accept_loss"),
        roll_forward: section.optional::<u64>("roll_forward"),
        accept_rollback: section.optional::<u64>("accept_rollback"),
        discard_cache: section.or("discard_cache", usual.discard_cache),
        mark_every: span_or(section, "mark_every", usual.mark_every),
    };
    told_none(section, settings.contradictions()).then_some(settings)
}

impl Settings {
    /// What of acknowledged and flushed writes may be lost, and when; begins with "nothing" where none may.
    pub fn may_lose(&self) -> String {
        let age = Span::from_nanos(self.lag_max);
        let left = match self.mode {
            Mode::Strict => "the volume then stands at one earlier moment",
            Mode::Barrier => "the volume then stands as a disk may after a power cut",
        };
        match self.durability {
            Durability::Cache => {
                format!("the loss of the cache device takes the writes of up to the last {age}; {left}")
            }
            Durability::CacheMirrored => {
                format!("the loss of both cache devices takes the writes of up to the last {age}; {left}")
            }
            Durability::Origin => "nothing: a flush waits for the backing volume".to_owned(),
        }
    }

    /// Every key with its value in words.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        let Self {
            mode,
            durability,
            size,
            read_cache,
            scrub,
            ring_size,
            segment,
            batch,
            dirty_limit,
            drain_target,
            lag_target,
            lag_max,
            memory,
            log_depth,
            destage_depth,
            accept_loss,
            roll_forward,
            accept_rollback,
            discard_cache,
            mark_every,
        } = self;
        let bytes = |bytes: &u64| format!("{:#}", Bytes::new(*bytes));
        let some = |known: &Option<u64>, usual: &str| known.as_ref().map_or(usual.to_owned(), bytes);
        let seen = |write: &Option<u64>| write.map_or("left out".to_owned(), |write| write.to_string());
        let span = |nanos: &u64| Span::from_nanos(*nanos).to_string();
        vec![
            ("mode", if *mode == Mode::Strict { "strict" } else { "barrier" }.to_owned()),
            ("durability", durability.name().to_owned()),
            ("size", some(size, "all of the cache")),
            ("read_cache", some(read_cache, "none")),
            ("scrub", some(scrub, "none")),
            ("ring_size", some(ring_size, "the usual one")),
            ("segment", bytes(segment)),
            ("batch", bytes(batch)),
            ("dirty_limit", some(dirty_limit, "a quarter of the log")),
            ("drain_target", span(drain_target)),
            ("lag_target", span(lag_target)),
            ("lag_max", span(lag_max)),
            ("memory", bytes(memory)),
            ("log_depth", log_depth.to_string()),
            ("destage_depth", destage_depth.to_string()),
            ("accept_loss", seen(accept_loss)),
            ("roll_forward", seen(roll_forward)),
            ("accept_rollback", seen(accept_rollback)),
            ("discard_cache", discard_cache.to_string()),
            ("mark_every", span(mark_every)),
        ]
    }

    /// What does not fit: the key, what is wrong, what to do.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let block = BLOCK as u64;
        let mut wrong = Vec::new();
        if !self.segment.is_multiple_of(block) || !(4 * block..=1 << 30).contains(&self.segment) {
            let message = format!("segments of {} bytes", self.segment);
            wrong.push(("segment", message, "give a multiple of 4KiB from 16KiB to 1GiB"));
        }
        let has_room = |size: u64| on_cache(size, self.segment, self.read_cache.unwrap_or(0)).is_some();
        if let Some(size) = self.size.filter(|size| wrong.is_empty() && !has_room(*size)) {
            let message =
                format!("{size} bytes hold fewer than four segments of {} and the read cache", self.segment);
            wrong.push((
                "size",
                message,
                "set a smaller `segment` or `read_cache`, or make it larger if the cache device is",
            ));
        }
        if self.ring_size.is_some_and(|ring| ring < LEAST_RING) {
            wrong.push((
                "ring_size",
                "the redo ring is too small for a batch".to_owned(),
                "give at least 64KiB",
            ));
        }
        if self.batch < 16 << 10 || self.batch > 1 << 30 {
            wrong.push(("batch", format!("batches of {} bytes", self.batch), "give 16KiB to 1GiB"));
        }
        if let Some(limit) = self.dirty_limit.filter(|limit| *limit < self.segment) {
            let message = format!("{limit} bytes are less than a segment of {}", self.segment);
            wrong.push(("dirty_limit", message, "give several segments, or leave it out"));
        }
        if self.lag_target == 0 {
            let message = "no write is in place when it is answered".to_owned();
            wrong.push(("lag_target", message, "give a span such as \"30s\""));
        }
        if self.lag_max <= self.lag_target {
            let message = "it is not above `lag_target`: every write would wait for ever".to_owned();
            wrong.push(("lag_max", message, "make it several times `lag_target`"));
        }
        if !(100_000..=10_000_000_000).contains(&self.mark_every) {
            let message = format!("marks every {} ns", self.mark_every);
            wrong.push(("mark_every", message, "give 100us to 10s"));
        }
        if self.drain_target == 0 {
            wrong.push((
                "drain_target",
                "nothing destages in no time".to_owned(),
                "give a span such as \"30s\"",
            ));
        }
        wrong
    }
}
