//! What volumes that a layer treats alike offer together.

use fathom_volume::Geometry;

/// The smallest size, the strictest limits. None without volumes.
pub(crate) fn combined(all: &[&Geometry]) -> Option<Geometry> {
    let least = |of: fn(&Geometry) -> u32| all.iter().map(|one| of(one)).min();
    let most = |of: fn(&Geometry) -> u32| all.iter().map(|one| of(one)).max();
    let logical_sector = most(|one| one.logical_sector)?;
    let size = all.iter().map(|one| one.size).min()?;
    Some(Geometry {
        size: size - size % u64::from(logical_sector),
        logical_sector,
        physical_sector: most(|one| one.physical_sector)?,
        optimal_transfer: most(|one| one.optimal_transfer)?,
        max_transfer: least(|one| one.max_transfer)?,
        // Requests spread over them; 0 means unlimited, and then so is the whole.
        queue_depth: if all.iter().any(|one| one.queue_depth == 0) {
            0
        } else {
            all.iter().fold(0, |sum, one| sum.saturating_add(one.queue_depth))
        },
        volatile_cache: all.iter().any(|one| one.volatile_cache),
        atomic_write: least(|one| one.atomic_write)?,
    })
}
