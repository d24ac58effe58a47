//! Whether a volume is in use, where a layer is about to take it: file systems, databases and partition tables have something
//! at its beginning.

use fathom_volume::{Handle, Pool, Request, Result};

/// How much of its beginning shows that, bytes.
const HEAD: u64 = 64 << 10;

/// Whether the beginning of a volume, of which users see `size` bytes, holds anything but zeroes.
pub async fn is_in_use(pool: &Pool, volume: &Handle, size: u64) -> Result<bool> {
    let geometry = volume.geometry();
    let most = u64::from(geometry.max_transfer - geometry.max_transfer % geometry.logical_sector);
    let (mut at, end) = (0, size.min(HEAD));
    while at < end {
        let part = pool.get(most.min(end - at) as usize);
        volume.read(Request::new(at, part.len() as u64), part.clone()).await?;
        if part.with(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            return Ok(true);
        }
        at += part.len() as u64;
    }
    Ok(false)
}
