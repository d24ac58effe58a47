//! Copies of a whole group that went on apart: their numbers are alike, what they hold is not. So every opening has a random
//! name of its own beside its number. The group's superblock, the cache devices and the marks of the volumes carry it, each
//! with the one that it followed, for a power cut can end an opening between any two of them. Where two of them have the
//! same number and other names, they are parts of different copies, and are not mixed.

use fathom_runtime::Context;
use fathom_volume::{Action, Error, ErrorKind, Remedy};

use crate::writeback::superblock::{CacheSuper, Life, OriginSuper};

use super::found_log::Log;
use super::member_marks::OtherMoment;
use super::opening::Opening;
use super::other_moment::names;

/// A name for an opening; never the one for "not known".
pub fn new_life(context: &Context, group: &str, incarnation: u64) -> Life {
    let mut bytes = [0; 4];
    let label = format!("life {incarnation} of {group} at {}", context.now());
    context.random(&label).fill(&mut bytes);
    Life::from_le_bytes(bytes).max(1)
}

/// Whether two names may be the same: what an earlier Fathom wrote has none.
pub fn may_be_one(one: Life, other: Life) -> bool {
    one == 0 || other == 0 || one == other
}

/// Whether a cache device of this group was opened by another copy of it. What is further apart than one opening is from another
/// moment, and told so.
pub fn went_on_apart(origin: &OriginSuper, cache: &CacheSuper) -> bool {
    let is_one = match cache.incarnation.checked_sub(origin.incarnation) {
        Some(0) => may_be_one(cache.life, origin.life),
        // Cut off before the backing side was told.
        Some(1) => may_be_one(cache.before, origin.life),
        _ => true,
    };
    cache.uuid == origin.uuid && cache.generation >= origin.generation && !is_one
}

/// Whether a log goes through the place where the backing volumes stand: only then is it theirs, and what follows there is what
/// they lack.
pub fn goes_through(origin: &OriginSuper, log: &Log) -> bool {
    let CacheSuper { began, root, tail, chain, .. } = log.superblock;
    let place = (origin.log_end, origin.log_crc);
    let records = || log.scanned.records.iter().map(|record| (record.end, record.crc));
    let begins = began.1 == origin.seq + 1 && may_be_one(root, origin.life);
    begins || place.1 == 0 || place == (tail, chain) || records().any(|end| end == place)
}

impl Opening {
    /// Whether it is, for certain. Of two devices one may have been left behind by an opening that was cut off.
    pub fn is_of_a_copy(&self, origin: &OriginSuper, cache: &CacheSuper) -> bool {
        let counts = self.parts.caches.len() == 1 || origin.legs.contains(&cache.leg);
        counts && went_on_apart(origin, cache)
    }

    /// Volumes that another copy of the group opened.
    pub fn other_copies(
        &self,
        origin: &OriginSuper,
        found: &[OtherMoment],
        caches: &[Option<CacheSuper>],
    ) -> Error {
        let first = self.parts.ring.name();
        // Where the cache goes with the marks, it is the first that does not belong here.
        let own = |cache: &CacheSuper| cache.uuid == origin.uuid && cache.life != origin.life;
        let with_cache = |other: &OtherMoment| {
            caches.iter().flatten().any(|cache| own(cache) && cache.life == other.mark.life)
        };
        let odd = if found.iter().all(with_cache) { format!("`{first}`") } else { names(found) };
        let devices: Vec<&str> = if found.iter().all(with_cache) {
            vec![first]
        } else {
            found.iter().map(|other| other.device.as_str()).collect()
        };
        let why = format!(
            "{odd} and the other volumes are of different copies of the group: both went on since one was copied, and neither knows \
             what the other wrote. All volumes and the cache must be of one copy"
        );
        let remedy = |device: &&str| Remedy {
            action: Action::BringBack { device: (*device).to_owned() },
            text: format!("give the `{device}` that was opened with the others last; nothing is lost"),
            loses: None,
        };
        self.refuse(ErrorKind::Misuse, "other_copy", why, devices.iter().map(remedy).collect())
    }
}
