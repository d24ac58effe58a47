//! Answers: a header, and a payload that is written into the caller's memory.

/// Bytes of an answer's header.
pub const HEADER: usize = 16;
/// Bytes of the payload that answers a write.
pub const WRITTEN: usize = 8;

/// The header of an answer with that many bytes of payload, or with an error (positive; 0 for none).
#[inline]
pub fn header(unique: u64, errno: i32, payload: usize) -> [u8; HEADER] {
    let length = (HEADER + payload) as u32;
    let mut bytes = [0; HEADER];
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..8].copy_from_slice(&(-errno).to_ne_bytes());
    bytes[8..16].copy_from_slice(&unique.to_ne_bytes());
    bytes
}

/// The payload that answers a write of that many bytes.
#[inline]
pub fn written(length: u32) -> [u8; WRITTEN] {
    let mut bytes = [0; WRITTEN];
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

/// Attributes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The node's number.
    pub node: u64,
    /// Bytes.
    pub size: u64,
    /// Type and permissions, as stat(2) has them.
    pub mode: u32,
    /// Names it has.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes that are good to transfer at once.
    pub block: u32,
    /// Of every change; seconds since 1970.
    pub time: u64,
}

/// How long the kernel may cache attributes, in seconds: they never change on this side.
const BELIEVE: u64 = 3600;

fn attributes(of: &Attributes, out: &mut Vec<u8>) {
    for long in [of.node, of.size, of.size.div_ceil(512), of.time, of.time, of.time] {
        out.extend(long.to_ne_bytes());
    }
    // Nanoseconds of the three times, then the device number behind group and owner.
    for word in [0, 0, 0, of.mode, of.links, of.uid, of.gid, 0, of.block, 0] {
        out.extend(u32::to_ne_bytes(word));
    }
}

/// The payload that answers GETATTR and SETATTR.
pub fn attr(of: &Attributes) -> Vec<u8> {
    let mut out = Vec::with_capacity(104);
    out.extend(BELIEVE.to_ne_bytes());
    out.extend(0_u64.to_ne_bytes());
    attributes(of, &mut out);
    out
}

/// The payload that answers LOOKUP.
pub fn entry(of: &Attributes) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    // Node, generation, how long name and attributes are to be believed, and nanoseconds of both.
    for long in [of.node, 0, BELIEVE, BELIEVE, 0] {
        out.extend(u64::to_ne_bytes(long));
    }
    attributes(of, &mut out);
    out
}

/// The payload that answers OPEN and OPENDIR.
pub fn opened(flags: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[8..12].copy_from_slice(&flags.to_ne_bytes());
    out
}

/// The payload that answers STATFS: a full file system of that many bytes in that many files.
pub fn statfs(bytes: u64, files: u64, longest_name: u32) -> Vec<u8> {
    const BLOCK: u32 = 4096;
    let mut out = Vec::with_capacity(80);
    for long in [bytes.div_ceil(u64::from(BLOCK)), 0, 0, files, 0] {
        out.extend(long.to_ne_bytes());
    }
    for word in [BLOCK, longest_name, BLOCK] {
        out.extend(word.to_ne_bytes());
    }
    out.resize(80, 0);
    out
}

/// Adds an entry of a folder to the payload that answers READDIR; false if it does not fit into `room` bytes. `next` is
/// where the following READDIR continues, `kind` the upper bits of a mode.
pub fn push_entry(out: &mut Vec<u8>, room: usize, node: u64, next: u64, kind: u32, name: &[u8]) -> bool {
    let length = (24 + name.len()).next_multiple_of(8);
    if out.len() + length > room {
        return false;
    }
    let end = out.len() + length;
    out.extend(node.to_ne_bytes());
    out.extend(next.to_ne_bytes());
    out.extend((name.len() as u32).to_ne_bytes());
    out.extend((kind >> 12).to_ne_bytes());
    out.extend(name);
    out.resize(end, 0);
    true
}

#[cfg(test)]
mod tests {
    use super::{Attributes, attr, entry, header, opened, push_entry, statfs, written};

    const OF: Attributes =
        Attributes { node: 2, size: 1025, mode: 0o100_600, links: 1, uid: 3, gid: 4, block: 4096, time: 5 };

    #[test]
    fn answers_have_the_kernels_lengths() {
        let lengths = [attr(&OF).len(), entry(&OF).len(), statfs(1, 1, 255).len(), opened(1).len()];
        assert_eq!(lengths, [104, 128, 80, 16]);
        assert_eq!(header(7, 0, 4096)[..4], 4112_u32.to_ne_bytes());
        assert_eq!(header(7, libc::EIO, 0)[4..8], (-libc::EIO).to_ne_bytes());
        assert_eq!(written(512)[..4], 512_u32.to_ne_bytes());
    }

    #[test]
    fn attributes_stand_where_the_kernel_looks_for_them() {
        let bytes = &attr(&OF)[16..];
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        assert_eq!((long(0), long(8), long(16)), (2, 1025, 3), "node, size, blocks");
        assert_eq!((word(60), word(64), word(68), word(72)), (0o100_600, 1, 3, 4), "mode, links, owner");
        assert_eq!(word(80), 4096, "block");
    }

    #[test]
    fn a_folder_is_told_in_as_many_pieces_as_needed() {
        let mut out = Vec::new();
        assert!(push_entry(&mut out, 64, 2, 1, libc::S_IFREG, b"data"));
        assert_eq!(out.len(), 32, "a multiple of eight");
        assert!(push_entry(&mut out, 64, 3, 2, libc::S_IFREG, b"log"));
        assert!(!push_entry(&mut out, 64, 4, 3, libc::S_IFREG, b"x"));
        assert_eq!(out.len(), 64);
        assert_eq!(out[20..24], 8_u32.to_ne_bytes(), "a file");
    }
}
