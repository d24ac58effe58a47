//! Numbers of the kernel's interface.

/// What is asked.
#[allow(missing_docs, reason = "the kernel's own words")]
pub mod opcode {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const SETATTR: u32 = 4;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const FSYNCDIR: u32 = 30;
    pub const ACCESS: u32 = 34;
    pub const INTERRUPT: u32 = 36;
    pub const DESTROY: u32 = 38;
    pub const BATCH_FORGET: u32 = 42;
    pub const FALLOCATE: u32 = 43;
    /// SYMLINK, MKNOD, MKDIR, UNLINK, RMDIR, RENAME, LINK, CREATE, RENAME2, TMPFILE: what adds, removes or renames.
    pub const CHANGE_FOLDER: [u32; 10] = [6, 8, 9, 10, 11, 12, 13, 35, 45, 51];
}

/// What the kernel offers and the server takes at the beginning.
pub(crate) mod init_flag {
    /// Reads of one file may be on their way side by side.
    pub const ASYNC_READ: u64 = 1 << 0;
    /// Writes larger than a page.
    pub const BIG_WRITES: u64 = 1 << 5;
    /// Direct requests of one caller go out side by side.
    pub const ASYNC_DIO: u64 = 1 << 15;
    /// Look-ups in one folder side by side.
    pub const PARALLEL_DIROPS: u64 = 1 << 18;
    /// `max_pages` of the answer counts: requests larger than 128 KiB.
    pub const MAX_PAGES: u64 = 1 << 22;
    /// The upper half of the flags counts.
    pub const INIT_EXT: u64 = 1 << 30;
    /// Requests through io_uring.
    pub const OVER_IO_URING: u64 = 1 << 41;
}

/// How an open file behaves.
pub mod open_flag {
    /// Past the page cache.
    pub const DIRECT_IO: u32 = 1 << 0;
    /// No FLUSH at a close.
    pub const NO_FLUSH: u32 = 1 << 5;
    /// Writes of one file side by side.
    pub const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
}

/// What a SETATTR wants to change.
pub mod set_attr {
    /// Permissions.
    pub const MODE: u32 = 1 << 0;
    /// Owner.
    pub const UID: u32 = 1 << 1;
    /// Group.
    pub const GID: u32 = 1 << 2;
    /// Size: truncate.
    pub const SIZE: u32 = 1 << 3;
}
