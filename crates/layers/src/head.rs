//! What a volume holds, where a layer is about to write something of its own: file systems, databases, partition tables and
//! arrays of disks leave something in the places that are looked at.

use std::ops::Range;

use fathom_volume::{Buf, Handle, Pool, Request, Result};

use crate::side_by_side::side_by_side;

/// How much of its beginning shows how far a file system reaches, bytes: btrfs has its superblock at 64 KiB.
const LONG_HEAD: u64 = (64 << 10) + PAGE;
/// How much of the beginning and of the end is looked at, bytes. Where the known formats have their marks:
///
/// - beginning: XFS, NTFS, LUKS, swap, MBR and GPT, LVM's labels and md 1.1 in the first 4 KiB; ext at 1 KiB; bcache and md 1.2
///   at 4 KiB; btrfs and ReiserFS at 64 KiB; UFS2 at 64 or 256 KiB; ZFS' first two labels in 512 KiB (blkid's probes in
///   util-linux, `libblkid/src/superblocks`; OpenZFS, `vdev_label.c`);
/// - end: the second GPT in the last 33 sectors; md 0.90 within the last 128 KiB and md 1.0 within the last 12 KiB (kernel,
///   `drivers/md/md.c`); ZFS' last two labels in 512 KiB; firmware RAID in the last sectors (`dmraid`);
/// - both: this program's pools and caches begin with superblocks, mirrors and backing volumes end with them.
///
/// A mebibyte at each end holds all of these, and is one read.
const END: u64 = 1 << 20;
/// What a simulated device is looked at, bytes: it holds what its run wrote, and looking costs its time.
const SIMULATED: u64 = 64 << 10;
/// Volumes of up to so many bytes are read whole by a close look: two seconds of a slow disk.
pub const WHOLE: u64 = 256 << 20;

/// A page of a device that is looked at, bytes.
const PAGE: u64 = 4096;
/// How many mebibytes from the beginning have one each, and how many there are in between.
const NEAR: u64 = 16;
const FAR: u64 = 64;
/// Bytes of the longest read, and how many go at once.
const LONGEST: u64 = 1 << 20;
const AT_ONCE: usize = 16;

/// Something that takes a volume up to an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// What it is, with an article.
    pub name: &'static str,
    /// Bytes from the volume's beginning that are its own.
    pub end: u64,
}

/// How thoroughly a volume is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// As a simulated device.
    Simulated,
    /// Both ends: whoever writes zeroes over them has said that nobody needs the rest.
    Ends,
    /// Both ends, a page at each of the first mebibytes and some in between; all of a small one.
    Closely,
}

/// What a creation that was cut off may have left: blocks with this magic in this range.
#[derive(Debug, Clone)]
pub struct Leftovers {
    /// Where.
    pub range: Range<u64>,
    /// How they begin.
    pub magic: &'static [u8],
}

/// Where the first `size` bytes of a volume hold something that nobody may write over, as far as is looked; None if they seem
/// to hold nothing.
pub async fn first_use(
    pool: &Pool,
    volume: &Handle,
    size: u64,
    look: Look,
    leftovers: Option<&Leftovers>,
) -> Result<Option<u64>> {
    first_use_in(pool, volume, &places(size, look), leftovers).await
}

/// The same of these ranges.
pub async fn first_use_in(
    pool: &Pool,
    volume: &Handle,
    ranges: &[Range<u64>],
    leftovers: Option<&Leftovers>,
) -> Result<Option<u64>> {
    let is_left_over = |at: u64, page: &[u8]| {
        leftovers.is_some_and(|left| left.range.contains(&at) && page.starts_with(left.magic))
    };
    let used = |at: u64, page: &[u8]| {
        let within = page.iter().position(|byte| *byte != 0)?;
        (!is_left_over(at, page)).then_some(at + within as u64)
    };
    find(pool, volume, ranges, used).await
}

/// All of a volume of that size.
pub fn whole(size: u64) -> Vec<Range<u64>> {
    std::iter::once(0..size).collect()
}

/// What is looked at of a volume, by its place.
fn places(size: u64, look: Look) -> Vec<Range<u64>> {
    let end = size / PAGE * PAGE;
    let last = end.saturating_sub(END)..size;
    let page = |at: u64| at / PAGE * PAGE..at / PAGE * PAGE + PAGE;
    match look {
        Look::Simulated => whole(size.min(SIMULATED)),
        Look::Closely if size <= WHOLE => whole(size),
        _ if size <= 2 * END => whole(size),
        Look::Ends => vec![0..END, last],
        Look::Closely => {
            let near = (1..=NEAR).map(|step| step << 20);
            let far =
                (1..=FAR).map(|part| (u128::from(size) * u128::from(part) / u128::from(FAR + 1)) as u64);
            let pages = near.chain(far).map(page).filter(|page| page.end <= end);
            std::iter::once(0..END).chain(pages).chain([last]).collect()
        }
    }
}

/// What `look` finds in these ranges of a volume, page by page in their order; None if it finds nothing. Ranges begin at a
/// multiple of a page.
pub async fn find<T>(
    pool: &Pool,
    volume: &Handle,
    ranges: &[Range<u64>],
    look: impl Fn(u64, &[u8]) -> Option<T>,
) -> Result<Option<T>> {
    let sector = u64::from(volume.geometry().logical_sector);
    let most = u64::from(volume.geometry().max_transfer).min(LONGEST);
    let unit = if most < PAGE { sector } else { PAGE.max(sector) };
    let longest = most / unit * unit;
    let pieces: Vec<Range<u64>> = ranges
        .iter()
        .flat_map(|range| {
            let end = range.end / sector * sector;
            (range.start..end).step_by(longest as usize).map(move |at| at..(at + longest).min(end))
        })
        .collect();
    for some in pieces.chunks(AT_ONCE) {
        let read: Vec<(u64, Buf)> =
            some.iter().map(|piece| (piece.start, pool.get((piece.end - piece.start) as usize))).collect();
        let requests =
            read.iter().map(|(at, buf)| volume.read(Request::new(*at, buf.len() as u64), buf.clone()));
        side_by_side(requests.collect()).await?;
        for (at, buf) in &read {
            let found = buf.with(|bytes| {
                let mut pages = bytes.chunks(PAGE as usize).zip((*at..).step_by(PAGE as usize));
                pages.find_map(|(page, at)| look(at, page))
            });
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// The file system or partition table at the beginning of a volume, if it is one of those that are known here.
pub async fn content(pool: &Pool, volume: &Handle) -> Result<Option<Content>> {
    let geometry = volume.geometry();
    let head = read(pool, volume, geometry.size.min(LONG_HEAD)).await?;
    Ok(head.with(|bytes| recognise(bytes, geometry.logical_sector as usize)))
}

async fn read(pool: &Pool, volume: &Handle, length: u64) -> Result<Buf> {
    let geometry = volume.geometry();
    let most = (geometry.max_transfer - geometry.max_transfer % geometry.logical_sector) as usize;
    let head = pool.get(length as usize);
    for at in (0..head.len()).step_by(most) {
        let part = head.slice(at..(at + most).min(head.len()));
        volume.read(Request::new(at as u64, part.len() as u64), part).await?;
    }
    Ok(head)
}

/// Reads ext (kernel documentation, ext4 "Super Block"), XFS ("XFS Algorithms & Data Structures", superblocks), btrfs ("On-disk
/// format", superblock), NTFS (its boot sector) and GPT (UEFI specification, 5.3.2).
fn recognise(head: &[u8], sector: usize) -> Option<Content> {
    let is = |at: usize, magic: &[u8]| head.get(at..at + magic.len()) == Some(magic);
    let sum = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let big = |at: usize, bytes: usize| Some(head.get(at..at + bytes)?.iter().fold(0, sum));
    let little = |at: usize, bytes: usize| Some(head.get(at..at + bytes)?.iter().rev().fold(0, sum));
    let found = |name, end: Option<u64>| end.map(|end| Content { name, end });
    if is(1024 + 56, &[0x53, 0xEF]) {
        let large = little(1024 + 0x60, 4)? & 0x80 != 0;
        let blocks = little(1024 + 4, 4)? | if large { little(1024 + 0x150, 4)? << 32 } else { 0 };
        return found("an ext4 file system", blocks.checked_shl(10 + little(1024 + 24, 4)? as u32));
    }
    if is(0, b"XFSB") {
        return found("an XFS file system", big(4, 4)?.checked_mul(big(8, 8)?));
    }
    if is(0x10040, b"_BHRfS_M") {
        // Of several devices only this one.
        return found("a btrfs file system", little(0x10000 + 0xC9 + 8, 8));
    }
    if is(3, b"NTFS    ") {
        // Its last sector, a copy of the first, is not counted.
        return found("an NTFS file system", (little(0x28, 8)? + 1).checked_mul(little(11, 2)?));
    }
    if is(sector, b"EFI PART") {
        let copy = little(sector + 32, 8)?;
        return found("a partition table", (copy + 1).checked_mul(sector as u64));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Content, END, LONG_HEAD, Look, PAGE, WHOLE, places, recognise, whole};

    /// A head with these bytes at these places.
    fn head(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut head = vec![0; LONG_HEAD as usize];
        for (at, bytes) in parts {
            head[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        head
    }

    #[test]
    fn both_ends_are_looked_at_and_a_small_volume_whole() {
        let large = WHOLE + 3 * END + 512;
        let ends = places(large, Look::Ends);
        assert_eq!(ends, [0..END, large / PAGE * PAGE - END..large]);
        let closely = places(large, Look::Closely);
        assert!(ends.iter().all(|end| closely.contains(end)) && closely.len() > 70, "{closely:?}");
        assert!(closely.iter().all(|place| place.start.is_multiple_of(PAGE) && place.end <= large));
        assert_eq!(places(WHOLE, Look::Closely), whole(WHOLE));
        assert_eq!(places(PAGE, Look::Ends), whole(PAGE));
        assert_eq!(places(large, Look::Simulated), whole(64 << 10));
    }

    #[test]
    fn content_is_known_by_its_magic_and_ends_where_it_says() {
        let blocks = 150_000_u32.to_le_bytes();
        for (parts, name, end) in [
            (
                vec![(1028, &blocks[..]), (1048, &[2]), (1080, &[0x53, 0xEF])],
                "an ext4 file system",
                614_400_000,
            ),
            (
                vec![(1028, &[0]), (1048, &[2]), (1080, &[0x53, 0xEF]), (1120, &[0x80]), (1360, &[1])],
                "an ext4 file system",
                1 << 44,
            ),
            (
                vec![(0, b"XFSB"), (4, &4096_u32.to_be_bytes()), (8, &153_600_u64.to_be_bytes())],
                "an XFS file system",
                629_145_600,
            ),
            (
                vec![(0x10040, b"_BHRfS_M"), (0x100D1, &629_145_600_u64.to_le_bytes())],
                "a btrfs file system",
                629_145_600,
            ),
            (
                vec![(3, b"NTFS    "), (11, &512_u16.to_le_bytes()), (0x28, &2047_u64.to_le_bytes())],
                "an NTFS file system",
                1 << 20,
            ),
            (vec![(512, b"EFI PART"), (544, &2047_u64.to_le_bytes())], "a partition table", 1 << 20),
        ] {
            assert_eq!(recognise(&head(&parts), 512), Some(Content { name, end }));
        }
        assert_eq!(recognise(&head(&[]), 512), None);
        assert_eq!(recognise(b"XFSB", 512), None, "a head that is cut short");
        assert_eq!(recognise(&[], 512), None, "a volume without bytes in memory");
    }
}
