//! `[places.NAME]`: where files are. A directory, or a file system made for the run on one of the study's volumes.

use fathom_settings::{Choice, Key, Reference, Section, VolumeName};
use fathom_units::Bytes;
use serde_json::{Value, json};

use super::check_name;

/// Every key the reader asks for.
pub const PLACE_KEYS: &[Key] = &[
    Key::optional(
        "kind",
        "`directory` or `volume`",
        "directory",
        "A directory of this machine, or a volume.",
    ),
    Key::optional(
        "path",
        "path",
        "the run's scratch directory",
        "`directory`: where; a directory of the run's own is made below it.",
    ),
    Key::optional("volume", "name of a volume", "required", "`volume`: which one. Needs root."),
    Key::optional("filesystem", "`ext4`, `xfs` or `btrfs`", "ext4", "`volume`: made before every run."),
    Key::optional(
        "block_size",
        "1 KiB to 64 KiB, a power of two",
        "the file system's own",
        "`volume`: its allocation unit (btrfs: its sector size).",
    ),
    Key::optional("mount_options", "text", "none", "`volume`: as after `mount -o`, such as `noatime`."),
    Key::optional("sector", "512 or 4096", "512", "`volume`: logical sector size the file system sees."),
];

/// One place, read and checked on its own.
#[derive(Debug)]
pub(crate) struct Place {
    pub name: String,
    pub at: FileLocation,
}

/// Where files are.
#[derive(Debug)]
pub(crate) enum FileLocation {
    /// Below a path, or in the run's own scratch directory.
    Directory(Option<String>),
    /// On a volume; the reference is where it is named.
    Volume { settings: OnVolume, reference: Option<Reference> },
}

/// How a volume becomes a directory.
#[derive(Debug)]
pub(crate) struct OnVolume {
    volume: String,
    filesystem: FileSystem,
    block_size: Option<Bytes>,
    mount_options: Option<String>,
    sector: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Directory,
    Volume,
}

impl Choice for PlaceKind {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("directory", Self::Directory), ("volume", Self::Volume)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileSystem(&'static str, u64);

impl Choice for FileSystem {
    /// With the smallest block each can have.
    const CHOICES: &'static [(&'static str, Self)] =
        &[("ext4", Self("ext4", 1024)), ("xfs", Self("xfs", 1024)), ("btrfs", Self("btrfs", 4096))];
}

const LARGEST_BLOCK: u64 = 64 * 1024;

impl Place {
    /// Reads every table of `[places]`.
    pub fn read_all(root: &mut Section<'_>) -> Vec<Self> {
        let read = |(name, mut section): (&str, Section<'_>)| {
            check_name(name, &section);
            let at = read(&mut section);
            // A place with mistakes still exists: references to it are no further mistake.
            let _ = section.finish();
            Self { name: name.to_owned(), at: at.unwrap_or(FileLocation::Directory(None)) }
        };
        root.named_sections("places").into_iter().map(read).collect()
    }

    /// The volume below it.
    pub fn volume(&self) -> Option<&str> {
        match &self.at {
            FileLocation::Directory(_) => None,
            FileLocation::Volume { settings, .. } => Some(&settings.volume),
        }
    }

    /// Where the volume is named.
    pub fn reference(&self) -> Option<&Reference> {
        match &self.at {
            FileLocation::Directory(_) => None,
            FileLocation::Volume { reference, .. } => reference.as_ref(),
        }
    }

    /// The form that provisioning reads.
    pub fn to_json(&self) -> Value {
        match &self.at {
            FileLocation::Directory(path) => json!({ "kind": "directory", "path": path }),
            FileLocation::Volume { settings, .. } => json!({
                "kind": "volume",
                "volume": settings.volume,
                "filesystem": settings.filesystem.0,
                "block_bytes": settings.block_size.map(Bytes::get),
                "mount_options": settings.mount_options,
                "sector": settings.sector,
            }),
        }
    }
}

fn read(section: &mut Section<'_>) -> Option<FileLocation> {
    match section.or("kind", PlaceKind::Directory) {
        PlaceKind::Directory => Some(FileLocation::Directory(section.optional::<String>("path"))),
        PlaceKind::Volume => {
            section.take_references();
            let volume = section.required::<VolumeName>("volume");
            let reference = section.take_references().pop();
            let filesystem = section.or("filesystem", FileSystem("ext4", 1024));
            let block_size = section.optional::<Bytes>("block_size");
            if let Some(size) = block_size.map(Bytes::get)
                && !(size.is_power_of_two() && (filesystem.1..=LARGEST_BLOCK).contains(&size))
            {
                let message = format!("{} has no blocks of {}", filesystem.0, Bytes::new(size));
                let help = format!("a power of two from {} to 64 KiB", Bytes::new(filesystem.1));
                section.error_at("block_size", message, help);
            }
            let mount_options = section.optional::<String>("mount_options");
            let sector = section.or("sector", 512_u64);
            if ![512, 4096].contains(&sector) {
                section.error_at("sector", format!("no disk has sectors of {sector} bytes"), "512 or 4096");
            }
            let settings = OnVolume { volume: volume?.0, filesystem, block_size, mount_options, sector };
            Some(FileLocation::Volume { settings, reference })
        }
    }
}
