//! Where a path leads, and whether two paths lead to the same bytes: one file has many names.

use std::path::{Path, PathBuf};

/// The folder that a path lies in.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where a path leads, also if nothing is there yet; the path itself where its folder is missing.
#[must_use]
pub fn canonical(path: &Path) -> PathBuf {
    let whole = || Some(folder(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(whole).unwrap_or_else(|| path.to_owned())
}

/// Bytes of a file or device.
type Part = std::ops::Range<u64>;

const ALL: Part = 0..u64::MAX;

/// What is at a path.
pub(crate) struct Place {
    path: PathBuf,
    storage: Option<Storage>,
    /// What a loop device lies on, and which bytes of that it shows.
    below: Vec<(Storage, Part)>,
}

/// What the kernel calls what is there, whichever name led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "real"), expect(dead_code, reason = "virtual time has no files"))]
enum Storage {
    /// Numbers of the file system and of the file in it.
    File(u64, u64),
    /// Numbers of the device, and of the disk if it is a partition.
    Disk(u64, Option<u64>),
}

impl Storage {
    fn is_part(self, other: Self) -> bool {
        match (self, other) {
            (Self::Disk(one, whole), Self::Disk(another, of)) => whole == Some(another) || of == Some(one),
            _ => false,
        }
    }
}

impl Place {
    pub(crate) fn of(path: &Path) -> Self {
        let storage = storage(path);
        Self { path: canonical(path), storage, below: storage.map(below).unwrap_or_default() }
    }

    /// Whether both lead to one file or device.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.path == other.path || self.storage.is_some() && self.storage == other.storage
    }

    /// Whether one is a partition of the other.
    pub(crate) fn is_part(&self, other: &Self) -> bool {
        matches!((self.storage, other.storage), (Some(one), Some(another)) if one.is_part(another))
    }

    /// Whether both lead to the same bytes by a loop device. Two of them may show different parts of one file.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        let of = |place: &Self| {
            let own = place.storage.map(|storage| (storage, ALL));
            own.into_iter().chain(place.below.iter().cloned()).collect::<Vec<_>>()
        };
        let meets = |(one, part): &(Storage, Part), (other, of): &(Storage, Part)| {
            one == other && part.start < of.end && of.start < part.end
                || (*part == ALL || *of == ALL) && one.is_part(*other)
        };
        let (ours, theirs) = (of(self), of(other));
        let is_loop = !self.below.is_empty() || !other.below.is_empty();
        is_loop && ours.iter().any(|one| theirs.iter().any(|other| meets(one, other)))
    }
}

#[cfg(feature = "real")]
fn storage(path: &Path) -> Option<Storage> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let there = std::fs::metadata(path).ok()?;
    Some(if there.file_type().is_block_device() {
        Storage::Disk(there.rdev(), disk_of(there.rdev()))
    } else {
        Storage::File(there.dev(), there.ino())
    })
}

/// What a loop device lies on, from the top down, and what it shows of each.
#[cfg(feature = "real")]
fn below(storage: Storage) -> Vec<(Storage, Part)> {
    let Storage::Disk(number, _) = storage else { return Vec::new() };
    let paths = fathom_devices::file::paths_below(number).into_iter();
    paths.filter_map(|(path, part)| Some((self::storage(&path)?, part))).collect()
}

#[cfg(not(feature = "real"))]
fn below(_: Storage) -> Vec<(Storage, Part)> {
    Vec::new()
}

/// The disk that a partition is on.
#[cfg(feature = "real")]
fn disk_of(number: u64) -> Option<u64> {
    let at = PathBuf::from(format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number)));
    let is_partition = at.join("partition").exists();
    let disk = is_partition.then(|| std::fs::read_to_string(at.join("../dev")).ok()).flatten()?;
    let (major, minor) = disk.trim().split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// Virtual time has no files.
#[cfg(not(feature = "real"))]
fn storage(_: &Path) -> Option<Storage> {
    None
}
