//! The folder of a mount: one file per export, and nothing can be added, renamed or resized.

use std::rc::Rc;

use fathom_fuse::reply::{self, Attributes};
use fathom_fuse::{ROOT, open_flag, set_attr};
use fathom_layers::RangeLock;

use crate::exports::{Exports, Served};

/// The longest name of a file, in bytes.
const LONGEST_NAME: u32 = 255;
/// What a folder says of its own size.
const FOLDER_BYTES: u64 = 4096;

/// One file.
pub struct File {
    pub served: Rc<Served>,
    /// Changes of the volume that are on their way, by ranges of whole sectors.
    pub changing: RangeLock,
}

/// The files of a mount.
pub struct Tree {
    files: Vec<File>,
    // Permissions of the files.
    mode: u32,
    // Who runs the daemon owns everything.
    owner: (u32, u32),
    // When it was mounted, in seconds since 1970.
    since: u64,
}

impl Tree {
    /// The files of these exports with these permissions.
    pub fn new(exports: &Exports, mode: u32) -> Self {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: these calls touch no memory but `now`, which lives for the length of the call.
        let owner = unsafe {
            // The date of a file is a wall clock's and orders nothing.
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
            (libc::geteuid(), libc::getegid())
        };
        let mut files: Vec<File> = Vec::new();
        for served in exports.all() {
            // Two exports of one volume change the same sectors.
            let same = files.iter().find(|file| file.served.volume.name() == served.volume.name());
            let changing = same.map(|file| file.changing.clone()).unwrap_or_default();
            files.push(File { served: Rc::clone(served), changing });
        }
        Self { files, mode, owner, since: now.tv_sec as u64 }
    }

    /// The file that has this node.
    #[inline]
    pub fn file(&self, node: u64) -> Option<&File> {
        let index = usize::try_from(node.checked_sub(ROOT + 1)?).ok()?;
        self.files.get(index)
    }

    fn attributes(&self, node: u64) -> Result<Attributes, i32> {
        let (uid, gid) = self.owner;
        let common = Attributes {
            node,
            size: FOLDER_BYTES,
            mode: 0,
            links: 1,
            uid,
            gid,
            block: 4096,
            time: self.since,
        };
        if node == ROOT {
            // Whoever may read a file may enter the folder.
            let mode = libc::S_IFDIR | 0o500 | (self.mode & 0o044) | ((self.mode & 0o044) >> 2);
            return Ok(Attributes { mode, links: 2, ..common });
        }
        let export = &self.file(node).ok_or(libc::ENOENT)?.served.export;
        let allowed = if export.read_only { self.mode & !0o222 } else { self.mode };
        Ok(Attributes { size: export.size, mode: libc::S_IFREG | allowed, block: export.preferred, ..common })
    }

    /// Answers GETATTR.
    pub fn attr(&self, node: u64) -> Result<Vec<u8>, i32> {
        self.attributes(node).map(|attributes| reply::attr(&attributes))
    }

    /// Answers SETATTR: times are taken note of by forgetting them, size and permissions are the settings'.
    pub fn set_attr(&self, node: u64, valid: u32, size: u64) -> Result<Vec<u8>, i32> {
        let attributes = self.attributes(node)?;
        let other_size = valid & set_attr::SIZE != 0 && size != attributes.size;
        if other_size || valid & (set_attr::MODE | set_attr::UID | set_attr::GID) != 0 {
            return Err(libc::EPERM);
        }
        Ok(reply::attr(&attributes))
    }

    /// Answers LOOKUP.
    pub fn look_up(&self, folder: u64, name: &[u8]) -> Result<Vec<u8>, i32> {
        if folder != ROOT {
            return Err(libc::ENOTDIR);
        }
        let index = self.files.iter().position(|file| file.served.export.name.as_bytes() == name);
        let node = index.map(|index| index as u64 + ROOT + 1).ok_or(libc::ENOENT)?;
        self.attributes(node).map(|attributes| reply::entry(&attributes))
    }

    /// Answers OPEN: past the page cache, which would hold a second copy and hide what is durable; requests of one file
    /// go side by side.
    pub fn open(&self, node: u64, flags: u32) -> Result<Vec<u8>, i32> {
        let file = self.file(node).ok_or(libc::EISDIR)?;
        let writes = flags & libc::O_ACCMODE as u32 != libc::O_RDONLY as u32;
        if writes && file.served.export.read_only {
            return Err(libc::EROFS);
        }
        let flags = open_flag::DIRECT_IO | open_flag::PARALLEL_DIRECT_WRITES | open_flag::NO_FLUSH;
        Ok(reply::opened(flags).to_vec())
    }

    /// Answers OPENDIR.
    pub fn open_folder(&self, node: u64) -> Result<Vec<u8>, i32> {
        if node == ROOT { Ok(reply::opened(0).to_vec()) } else { Err(libc::ENOTDIR) }
    }

    /// Answers READDIR.
    pub fn read_folder(&self, node: u64, offset: u64, room: usize) -> Result<Vec<u8>, i32> {
        if node != ROOT {
            return Err(libc::ENOTDIR);
        }
        let files = self.files.iter().enumerate().map(|(index, file)| {
            (index as u64 + ROOT + 1, libc::S_IFREG, file.served.export.name.as_bytes())
        });
        let dots = [(ROOT, libc::S_IFDIR, b".".as_slice()), (ROOT, libc::S_IFDIR, b"..".as_slice())];
        let mut out = Vec::new();
        for (index, (node, kind, name)) in (0_u64..).zip(dots.into_iter().chain(files)) {
            if index >= offset && !reply::push_entry(&mut out, room, node, index + 1, kind, name) {
                break;
            }
        }
        Ok(out)
    }

    /// Answers STATFS.
    pub fn statfs(&self) -> Vec<u8> {
        let bytes = self.files.iter().map(|file| file.served.export.size).fold(0, u64::saturating_add);
        reply::statfs(bytes, self.files.len() as u64, LONGEST_NAME)
    }
}
