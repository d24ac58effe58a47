//! What the beginning of a volume says of its use, where a layer is about to take part of it: file systems, databases and
//! partition tables have something there.

use fathom_volume::{Buf, Handle, Pool, Request, Result};

use crate::side_by_side::side_by_side;

/// How much of its beginning shows whether a volume is in use, bytes.
const HEAD: u64 = 64 << 10;
/// How much shows how far a file system reaches, bytes: btrfs has its superblock at 64 KiB.
const LONG_HEAD: u64 = HEAD + 4096;

/// A page of a device that is looked at, bytes.
const PAGE: u64 = 4096;
/// How many mebibytes from the beginning have one each, and how many there are in between.
const NEAR: u64 = 16;
const FAR: u64 = 64;

/// Something that takes a volume up to an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// What it is, with an article.
    pub name: &'static str,
    /// Bytes from the volume's beginning that are its own.
    pub end: u64,
}

/// Whether the beginning of a volume, of which users see `size` bytes, holds anything but zeroes.
pub async fn is_in_use(pool: &Pool, volume: &Handle, size: u64) -> Result<bool> {
    let head = read(pool, volume, size.min(HEAD)).await?;
    Ok(head.with(|bytes| bytes.iter().any(|byte| *byte != 0)))
}

/// Whether the first `size` bytes of a volume seem to hold nothing: their beginning is zero and, if they are looked at
/// `closely`, their end, a page at each of the first mebibytes and some in between.
pub async fn is_blank(pool: &Pool, volume: &Handle, size: u64, closely: bool) -> Result<bool> {
    if is_in_use(pool, volume, size).await? {
        return Ok(false);
    }
    if !closely {
        return Ok(true);
    }
    let near = (1..=NEAR).map(|step| step << 20).chain([HEAD]);
    let far = (1..=FAR).map(|part| (u128::from(size) * u128::from(part) / u128::from(FAR + 1)) as u64);
    let end = (1..=HEAD / PAGE).map(|back| size.saturating_sub(back * PAGE));
    let places = near.chain(far).chain(end).map(|at| at / PAGE * PAGE).filter(|at| at + PAGE <= size);
    let pages = places.map(|at| (at, pool.get(PAGE as usize))).collect::<Vec<_>>();
    let reads = pages.iter().map(|(at, page)| volume.read(Request::new(*at, PAGE), page.clone()));
    side_by_side(reads.collect()).await?;
    Ok(pages.iter().all(|(_, page)| page.with(|bytes| bytes.iter().all(|byte| *byte == 0))))
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
    use super::{Content, LONG_HEAD, recognise};

    /// A head with these bytes at these places.
    fn head(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut head = vec![0; LONG_HEAD as usize];
        for (at, bytes) in parts {
            head[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        head
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
