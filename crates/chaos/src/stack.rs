//! What a life is about: which volumes, with which settings, on which devices.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::chance::Chance;
use crate::device::{Device, DiskOptions, Role};
use crate::disk::Power;
use crate::kind::Kind;
use crate::oracle::Rule;

/// What a campaign asks of each life.
#[derive(Debug, Clone)]
pub struct Options {
    pub program: PathBuf,
    pub seed: u64,
    /// Disks answer flushes and do nothing: the control.
    pub lies: bool,
    /// Disks of each cycle acknowledge writes that fail: the other control.
    pub hides: bool,
    /// Disks fail in each cycle.
    pub failing: bool,
    /// Only this is done to devices; all there is if it is empty.
    pub kinds: Vec<Kind>,
    /// Only stacks of this shape.
    pub shape: Option<Shape>,
    /// Only caches that hold tens of MiB of dirty log.
    pub large: bool,
}

/// How volumes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A cache before a device.
    Cache,
    /// The same with a redo ring on a device of its own.
    OwnRing,
    /// Two cache devices.
    TwoCaches,
    /// Two volumes of one group.
    Pair,
    /// A cache before a mirror.
    OverMirror(usize),
    /// A cache before a stripe.
    OverStripe,
    /// A mirror alone.
    Mirror(usize),
    /// A pool on two members, to which the others are added one by one.
    Pool(usize),
}

/// A stack, its devices and its settings.
#[derive(Debug)]
pub struct Stack {
    pub shape: Shape,
    pub devices: Vec<Device>,
    pub exports: Vec<&'static str>,
    pub barrier: bool,
    pub origin: bool,
    /// Whether a planned stop puts everything in place.
    pub drains: bool,
    /// Bytes of a sector.
    pub sector: u32,
    /// Writes of up to so many bytes are whole or not there.
    pub atomic: u64,
    /// Bytes at the end of the device that holds them: superblocks and redo ring.
    pub tail: u64,
    /// Of a mirror: how soon a write without a change of its bitmap raises the bitmap's age.
    pub clean_after: Duration,
    /// Whether power cuts are possible: files of this machine do not have them.
    pub files: bool,
    /// A cache that holds tens of MiB of dirty log.
    pub large: bool,
    /// Settings that remedies have changed, by volume (empty: of all) and key; None leaves the key out.
    pub more: BTreeMap<(String, String), Option<String>>,
    pub folder: PathBuf,
    /// Settings of caches.
    pub cache: String,
    /// Settings of mirrors.
    pub mirror: String,
    /// Settings of pools.
    pub pool: String,
    /// Members of a pool by now.
    pub joined: usize,
}

/// Members that a pool is made on.
pub const MADE_ON: usize = 2;

/// Settings of a pool on two members with so many bytes together, of which it leaves a quarter free.
fn pool_settings(chance: &mut Chance, room: u64) -> String {
    let extent = chance.pick(&[64 << 10, 64 << 10, 256 << 10_u64]);
    let limit = chance.pick(&["", "resync_limit = \"1MB/s\"\n", "resync_limit = \"8MB/s\"\n"]);
    format!(
        "size = \"{}\"\nextent = \"{}\"\nresync_io = \"{}\"\nresync_depth = {}\n{limit}",
        kib((room * 3 / 4 / extent * extent).max(extent)),
        kib(extent),
        chance.pick(&["4KiB", "64KiB"]),
        chance.pick(&[1, 2, 16]),
    )
}

/// A size as settings write it.
pub fn kib(bytes: u64) -> String {
    format!("{}KiB", bytes >> 10)
}

impl Stack {
    /// Draws a stack and makes its devices, blank.
    pub fn draw(
        chance: &mut Chance,
        folder: &Path,
        power: &Arc<Power>,
        shape: Shape,
        options: &Options,
    ) -> Result<Self, String> {
        let lies = options.lies;
        let files = !lies && chance.one_in(8);
        let sector = chance.pick(&[512, 4096, 4096]);
        let may_be_large = !lies && !files && !matches!(shape, Shape::Mirror(_) | Shape::Pool(_));
        let large = may_be_large && (options.large || chance.one_in(15));
        let backing_size = chance.weighted(&[(4 << 20, 6), (8 << 20, 4), (16 << 20, 2), (64_u64 << 20, 1)]);
        let segment = chance.pick(&[16 << 10, 32 << 10, 64 << 10, 256 << 10_u64]);
        let cache_size = (segment * chance.range(10, 40)).max(512 << 10) + 8192;
        let ring = chance.pick(&[64 << 10, 128 << 10, 256 << 10_u64]);
        let batch = chance.pick(&[32 << 10, 128 << 10, 64 << 20_u64]);
        let (backing_size, segment, cache_size, ring, batch) = if large {
            (64 << 20, 512 << 10, 48 << 20, 4 << 20, 64 << 20)
        } else {
            (backing_size, segment, cache_size, ring, batch)
        };
        let payload = (ring / 2 * 5 / 8).min(batch).min(segment - 4096);
        let barrier = !lies && chance.one_in(4);
        let two = shape == Shape::TwoCaches;
        let origin = !two && chance.one_in(4);
        let mut cache = format!(
            "mode = \"{}\"\ndurability = \"{}\"\nsegment = \"{}\"\nbatch = \"{}\"\n",
            if barrier { "barrier" } else { "strict" },
            if two {
                "cache-mirrored"
            } else if origin {
                "origin"
            } else {
                "cache"
            },
            kib(segment),
            kib(batch),
        );
        if shape != Shape::OwnRing {
            let _ = writeln!(cache, "ring_size = \"{}\"", kib(ring));
        }
        match chance.below(4) {
            _ if large => {
                cache.push_str("dirty_limit = \"40MiB\"\nlag_target = \"200s\"\nlag_max = \"400s\"\n")
            }
            0 => cache.push_str("lag_target = \"20ms\"\nlag_max = \"20s\"\n"),
            1 | 2 => cache.push_str("lag_target = \"200s\"\nlag_max = \"400s\"\n"),
            _ => {}
        }
        for (times, line) in [
            (6, "memory = \"64KiB\"\n"),
            (6, "log_depth = 1\n"),
            (6, "destage_depth = 1\n"),
            (6, "scrub = \"64MiB\"\n"),
            (4, "read_cache = \"128KiB\"\n"),
        ] {
            if chance.one_in(times) {
                cache.push_str(line);
            }
        }
        let region = chance.pick(&["64KiB", "256KiB", "1MiB"]);
        let clean_after = chance.pick(&[5, 50, 5000_u64]);
        let mirror = format!(
            "region = \"{region}\"\nresync_io = \"64KiB\"\nclean_after = \"{clean_after}ms\"\nretry = \"{}\"\n",
            chance.pick(&["20ms", "30s"]),
        );
        let mut stack = Self {
            shape,
            devices: Vec::new(),
            exports: if shape == Shape::Pair { vec!["data", "logs"] } else { vec!["data"] },
            barrier,
            origin,
            drains: !chance.one_in(3),
            sector,
            atomic: (1 << payload.ilog2()).max(u64::from(sector)),
            tail: ring + 8192,
            clean_after: Duration::from_millis(clean_after),
            files,
            large,
            more: BTreeMap::new(),
            folder: folder.to_owned(),
            cache,
            mirror,
            pool: String::new(),
            joined: MADE_ON,
        };
        if matches!(shape, Shape::Pool(_)) {
            stack.pool = pool_settings(chance, backing_size);
        }
        let plan = stack.plan(backing_size, cache_size, ring);
        for (name, role, size) in plan {
            let disk = (!files).then_some(DiskOptions { sector, power, lies });
            let device = Device::new(folder, name, role, size, disk);
            stack.devices.push(device.map_err(|error| error.to_string())?);
        }
        Ok(stack)
    }

    fn plan(&self, backing: u64, cache: u64, ring: u64) -> Vec<(String, Role, u64)> {
        let named = |name: &str, role, size| (name.to_owned(), role, size);
        let legs = |count: usize| (0..count).map(|leg| (format!("leg{leg}"), Role::Leg, backing));
        let mut plan = match self.shape {
            Shape::Cache | Shape::TwoCaches => vec![named("back", Role::Backing, backing)],
            Shape::OwnRing => {
                vec![named("back", Role::Backing, backing), named("ring", Role::Ring, 2 * ring + 8192)]
            }
            Shape::Pair => {
                vec![named("back0", Role::Backing, backing), named("back1", Role::Backing, backing / 2)]
            }
            Shape::OverStripe => {
                vec![named("half0", Role::Member, backing / 2), named("half1", Role::Member, backing / 2)]
            }
            Shape::OverMirror(count) | Shape::Mirror(count) => legs(count).collect(),
            // Those that are added have half the size.
            Shape::Pool(count) => (0..count)
                .map(|member| {
                    let size = if member < MADE_ON { backing / 2 } else { backing / 4 };
                    named(&format!("member{member}"), Role::Member, size)
                })
                .collect(),
        };
        if self.has_cache() {
            plan.push(named("fast", Role::Cache, cache));
        }
        if self.shape == Shape::TwoCaches {
            plan.push(named("fast1", Role::Cache, cache));
        }
        plan
    }

    /// Whether there is a cache.
    pub fn has_cache(&self) -> bool {
        !matches!(self.shape, Shape::Mirror(_) | Shape::Pool(_))
    }

    /// The members of a pool by now; none if there is no pool.
    pub fn members(&self) -> Vec<usize> {
        if matches!(self.shape, Shape::Pool(_)) { (0..self.joined).collect() } else { Vec::new() }
    }

    /// Whether the settings name a device.
    pub fn names(&self, device: usize) -> bool {
        !matches!(self.shape, Shape::Pool(_)) || device < self.joined
    }

    /// Whether there is a mirror.
    pub fn has_mirror(&self) -> bool {
        matches!(self.shape, Shape::Mirror(_) | Shape::OverMirror(_))
    }

    /// What must be there as long as nothing but power is lost.
    pub fn rule(&self) -> Rule {
        if self.has_cache() { Rule::Prefix } else { Rule::Disk }
    }

    /// What must be there when the cache is lost.
    pub fn rule_without_cache(&self) -> Rule {
        match (self.has_cache(), self.barrier) {
            (false, _) => Rule::Disk,
            (_, true) => Rule::Intervals,
            _ => Rule::Prefix,
        }
    }

    /// The devices with one of these roles.
    pub fn having(&self, roles: &[Role]) -> Vec<usize> {
        (0..self.devices.len()).filter(|device| roles.contains(&self.devices[*device].role)).collect()
    }
}
