//! What a life is about: which volumes, with which settings, on which devices.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chance::Chance;
use crate::disk::{Disk, Image, Power};
use crate::life::Wanted;
use crate::oracle::Rule;

/// What a device is to its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The log, one of one or two.
    Cache,
    /// What stands behind a cache.
    Backing,
    /// The redo ring on a device of its own.
    Ring,
    /// A leg of a mirror.
    Leg,
    /// A member of a stripe.
    Member,
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
}

/// Where a device's content is.
#[derive(Debug)]
enum Store {
    Served(Disk),
    File(PathBuf),
}

/// One device.
#[derive(Debug)]
pub struct Device {
    pub name: String,
    pub role: Role,
    store: Store,
    size: u64,
}

impl Device {
    /// What it holds.
    pub fn image(&self) -> Result<Image, String> {
        match &self.store {
            Store::Served(disk) => Ok(disk.image()),
            Store::File(path) => {
                let away = path.with_extension("away");
                let path = if away.exists() { &away } else { path };
                Image::load(path).map_err(|error| format!("{}: {error}", path.display()))
            }
        }
    }

    /// Holds something else.
    pub fn replace(&self, image: &Image) -> Result<(), String> {
        match &self.store {
            Store::Served(disk) => {
                disk.replace(image.clone());
                Ok(())
            }
            Store::File(path) => image.save(path).map_err(|error| format!("{}: {error}", path.display())),
        }
    }

    /// Is not there.
    pub fn detach(&self) {
        match &self.store {
            Store::Served(disk) => disk.detach(),
            Store::File(path) => {
                let _ = std::fs::rename(path, path.with_extension("away"));
            }
        }
    }

    /// Is there (again).
    pub fn attach(&self) -> Result<(), String> {
        match &self.store {
            Store::Served(disk) => disk.attach().map_err(|error| error.to_string()),
            Store::File(path) => {
                let _ = std::fs::rename(path.with_extension("away"), path);
                Ok(())
            }
        }
    }

    /// The disk, if it is one of ours.
    pub fn disk(&self) -> Option<&Disk> {
        match &self.store {
            Store::Served(disk) => Some(disk),
            Store::File(_) => None,
        }
    }
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
    /// Whether power cuts are possible: files of this machine do not have them.
    pub files: bool,
    /// A cache that holds tens of MiB of dirty log.
    pub large: bool,
    /// Settings that remedies have changed, by volume (empty: of all) and key; None leaves the key out.
    pub more: BTreeMap<(String, String), Option<String>>,
    folder: PathBuf,
    cache: String,
    mirror: String,
}

/// Whether a remedy's key is a mirror's.
fn is_of_mirror(key: &str) -> bool {
    matches!(key, "force" | "discard")
}

fn kib(bytes: u64) -> String {
    format!("{}KiB", bytes >> 10)
}

impl Stack {
    /// Draws a stack and makes its devices, blank.
    pub fn draw(
        chance: &mut Chance,
        folder: &Path,
        power: &Arc<Power>,
        shape: Shape,
        wanted: &Wanted,
    ) -> Result<Self, String> {
        let lies = wanted.lies;
        let files = !lies && chance.one_in(8);
        let sector = chance.pick(&[512, 4096, 4096]);
        let may_be_large = !lies && !files && !matches!(shape, Shape::Mirror(_));
        let large = may_be_large && (wanted.large || chance.one_in(15));
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
        let mirror = format!(
            "region = \"{}\"\nresync_io = \"64KiB\"\nclean_after = \"{}\"\nretry = \"{}\"\n",
            chance.pick(&["64KiB", "256KiB", "1MiB"]),
            chance.pick(&["5ms", "50ms", "5s"]),
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
            files,
            large,
            more: BTreeMap::new(),
            folder: folder.to_owned(),
            cache,
            mirror,
        };
        let plan = stack.plan(backing_size, cache_size, ring);
        for (name, role, size) in plan {
            let store = if files {
                let path = folder.join(&name);
                Image::new(size).save(&path).map_err(|error| error.to_string())?;
                Store::File(path)
            } else {
                let socket = folder.join(format!("{name}.sock"));
                Store::Served(
                    Disk::new(&socket, size, sector, power, lies).map_err(|error| error.to_string())?,
                )
            };
            stack.devices.push(Device { name, role, store, size });
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
        };
        if !matches!(self.shape, Shape::Mirror(_)) {
            plan.push(named("fast", Role::Cache, cache));
        }
        if self.shape == Shape::TwoCaches {
            plan.push(named("fast1", Role::Cache, cache));
        }
        plan
    }

    /// Whether there is a cache.
    pub fn has_cache(&self) -> bool {
        !matches!(self.shape, Shape::Mirror(_))
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

    /// The settings file. Devices in `turned` trade places.
    pub fn settings(&self, turned: Option<(usize, usize)>) -> String {
        let at = |name: &str| self.folder.join(name).display().to_string();
        let mut text = format!(
            "[daemon]\nsocket = \"{}\"\nstatus = \"{}\"\nbusy_poll = false\nat_stop = \"{}\"\n",
            at("nbd.sock"),
            at("status.sock"),
            if self.drains { "drain" } else { "keep" }
        );
        for (number, device) in self.devices.iter().enumerate() {
            let from = match turned {
                Some((one, other)) if number == one => &self.devices[other],
                Some((one, other)) if number == other => &self.devices[one],
                _ => device,
            };
            let _ = writeln!(text, "[volumes.{}]", device.name);
            if self.files {
                let _ = writeln!(text, "kind = \"file\"\npath = \"{}\"", at(&from.name));
                continue;
            }
            let socket = at(&format!("{}.sock", from.name));
            let _ =
                writeln!(text, "kind = \"nbd\"\nuri = \"nbd+unix:///?socket={socket}\"\nreconnect = \"0s\"");
            if device.role == Role::Leg {
                let _ = writeln!(text, "size = \"{}\"\nlogical_sector = {}", kib(from.size), self.sector);
            }
        }
        let legs: Vec<String> = self.having(&[Role::Leg]).iter().map(|leg| format!("\"leg{leg}\"")).collect();
        let mut mirror = |name: &str| {
            let _ = writeln!(
                text,
                "[volumes.{name}]\nkind = \"mirror\"\nlegs = [{}]\n{}",
                legs.join(", "),
                self.mirror
            );
            for ((_, key), value) in self.more.iter().filter(|((_, key), _)| is_of_mirror(key)) {
                value.iter().for_each(|value| text.push_str(&format!("{key} = {value}\n")));
            }
        };
        match self.shape {
            Shape::Mirror(_) => mirror("data"),
            Shape::OverMirror(_) => mirror("back"),
            Shape::OverStripe => {
                text.push_str("[volumes.back]\nkind = \"stripe\"\nmembers = [\"half0\", \"half1\"]\nchunk = \"16KiB\"\n");
            }
            _ => {}
        }
        if self.has_cache() {
            let volumes: &[(&str, &str)] = match self.shape {
                Shape::Pair => &[("data", "back0"), ("logs", "back1")],
                _ => &[("data", "back")],
            };
            for (name, backing) in volumes {
                let _ = writeln!(
                    text,
                    "[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{backing}\"\ncache = \"fast\""
                );
                let more: BTreeMap<&str, &Option<String>> = self
                    .more
                    .iter()
                    .filter(|((volume, key), _)| !is_of_mirror(key) && (volume.is_empty() || volume == name))
                    .map(|((_, key), value)| (key.as_str(), value))
                    .collect();
                for line in self.cache.lines() {
                    if !line.split_once(" = ").is_some_and(|(key, _)| more.contains_key(key)) {
                        let _ = writeln!(text, "{line}");
                    }
                }
                for (key, value) in more {
                    value.iter().for_each(|value| text.push_str(&format!("{key} = {value}\n")));
                }
                match self.shape {
                    Shape::Pair => text.push_str("group = \"both\"\n"),
                    Shape::TwoCaches => text.push_str("cache_copy = \"fast1\"\n"),
                    Shape::OwnRing => text.push_str("ring = \"ring\"\n"),
                    _ => {}
                }
            }
        }
        for export in &self.exports {
            let _ = writeln!(text, "[exports.{export}]\nvolume = \"{export}\"");
        }
        text
    }
}
