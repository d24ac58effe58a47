//! How long a write is held back while the cache fills: nothing below 60 %, then growing without bound towards the limit,
//! so that writers slow down to the drain rate smoothly. The form is that of OpenZFS' write throttle (man page zfs.4,
//! `zfs_delay_min_dirty_percent` and `zfs_delay_scale`); the cap is Crucible's.

/// Below this many parts in [`WHOLE`] nothing is held back.
const FROM: u64 = 614;
/// Parts of a whole.
const WHOLE: u64 = 1024;
/// The delay half-way between the beginning and the limit, ns.
const SCALE: u64 = 500_000;
/// The longest delay, ns.
pub const LONGEST: u64 = 100_000_000;

/// How long to hold a write back, ns, when `used` of `limit` is in use (bytes, or ns of lag).
pub fn delay(used: u64, limit: u64) -> u64 {
    let parts = u128::from(used) * u128::from(WHOLE) / u128::from(limit.max(1));
    let parts = u64::try_from(parts).unwrap_or(u64::MAX);
    if parts <= FROM {
        return 0;
    }
    if parts >= WHOLE {
        return LONGEST;
    }
    (SCALE * (parts - FROM) / (WHOLE - parts)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONGEST, delay};

    proptest! {
        #[test]
        fn it_grows_with_use_and_never_passes_the_cap(used in 0..2_000_000_u64, limit in 1..1_000_000_u64) {
            prop_assert!(delay(used, limit) <= delay(used + 1, limit));
            prop_assert!(delay(used, limit) <= LONGEST);
            prop_assert_eq!(delay(limit, limit), LONGEST);
            prop_assert_eq!(delay(limit * 59 / 100, limit), 0);
        }
    }

    #[test]
    fn it_begins_gently() {
        assert!(delay(61, 100) < 30_000 && (400_000..600_000).contains(&delay(80, 100)));
    }
}
