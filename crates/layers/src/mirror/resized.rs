//! Legs that have another size than when the mirror was made: their superblocks are not where they are looked for. Taken for
//! new legs, the first one, which may be the older one, would be copied over the others.
//!
//! Nothing on a leg has a place that does not depend on its size, for all before its tail is the users'. So the places are
//! searched in which legs of usual sizes have their superblocks; a small leg is searched whole.

use std::collections::BTreeSet;
use std::ops::Range;

use fathom_units::Bytes;
use fathom_volume::{Action, Geometry, Handle, Pool, Refusal, Remedy, Result, Setting};

use super::membership::{FIRST, Found};
use super::open::read_leg;
use super::superblock::{Layout, Super};
use crate::codec::BLOCK;
use crate::head::{WHOLE, find, whole};

/// Legs are cut at sixtieths of a larger size: a half, two thirds, four fifths.
const PARTS: u64 = 60;
/// So many multiples of one unit are looked at, at most: 2 TiB in steps of 1 GiB, in a second at 5,000 IOPS.
const MULTIPLES: u64 = 2048;
/// Of a size that is as round as the smallest of these units, a leg is rarely made.
const LEAST_UNITS: [u64; 2] = [1 << 20, 1_000_000];
/// Regions of this many bytes are usual; another setting moves the superblocks of large legs by some blocks.
const USUAL_REGION: u64 = 1 << 20;
/// The smallest.
const LEAST_REGION: u64 = 64 << 10;

/// Why a mirror does not open whose legs have other sizes than when it was made.
pub struct Resized {
    /// For people.
    pub why: String,
    /// For programs.
    pub refusal: Refusal,
}

/// Refuses legs of other sizes. `closely`: superblocks are searched in more places than the end of each leg.
///
/// # Errors
/// If a leg cannot be read.
pub async fn resized(
    pool: &Pool,
    (name, layout, region): (&str, &Layout, u64),
    legs: &[Handle],
    found: &[Found],
    closely: bool,
) -> Result<Option<Resized>> {
    for (leg, found) in legs.iter().zip(found) {
        let known = leg.geometry().size < Geometry::UNKNOWN_SIZE;
        if !known || matches!(found, Found::Leg(_) | Found::Missing(_)) {
            continue;
        }
        let sector = u64::from(leg.geometry().logical_sector);
        let own = Layout::new(leg.geometry().size, sector, region).filter(|own| own != layout);
        if let Some(own) = own
            && let Found::Leg(_) = read_leg(pool, leg, &own).await
        {
            return Ok(Some(one_shorter(legs, leg, own.end())));
        }
        if closely && let Some((had, said)) = search(pool, leg, region).await? {
            let same_size = leg.geometry().size - had < BLOCK as u64;
            let other = same_size && said != region;
            return Ok(Some(if other { other_region(name, said) } else { other_sizes(legs, leg, had) }));
        }
    }
    Ok(None)
}

/// One leg has become shorter: where superblocks are looked for then, a longer one holds its users' bytes.
fn one_shorter(legs: &[Handle], told_by: &Handle, needs: u64) -> Resized {
    let short = legs.iter().min_by_key(|leg| leg.geometry().size).unwrap_or(told_by);
    let text = format!(
        "leg `{}` of {} bytes is smaller than when the mirror was made, as leg `{}` records: it had at least {needs} bytes; \
         bring back what it held. To go without it: give its `size` or take it away, if it is a `file`; if it is a `writeback`, make \
         what it stands on blank, and it is copied whole",
        short.name(),
        short.geometry().size,
        told_by.name()
    );
    let larger = Action::Resize { device: short.name().to_owned(), bytes: Some(needs) };
    let remedies = vec![Remedy { action: larger, text: text.clone(), loses: None }];
    Resized { why: text, refusal: Refusal { code: "leg_too_small", remedies } }
}

/// The settings say another size of regions than the mirror was made with.
pub fn other_region(name: &str, had: u64) -> Resized {
    let size = Bytes::new(had);
    let text = format!("set `region = \"{size:#}\"`, which cannot change later; nothing is lost");
    let action =
        Action::Set { volumes: vec![name.to_owned()], keys: vec![("region", Some(Setting::Bytes(had)))] };
    let why = format!("it was made with regions of {size:#}, and the settings say another size; {text}");
    Resized {
        why,
        refusal: Refusal { code: "mirror_region", remedies: vec![Remedy { action, text, loses: None }] },
    }
}

/// Superblocks are where a leg of `had` bytes ends.
pub fn other_sizes(legs: &[Handle], told_by: &Handle, had: u64) -> Resized {
    let names: Vec<String> = legs.iter().map(|leg| leg.name().to_owned()).collect();
    let (name, size) = (told_by.name(), Bytes::new(had));
    let text = format!(
        "set `size = \"{size:#}\"` for each leg, so that the mirror opens with the data of its newest leg, which loses nothing. A \
         mirror does not grow: to have more room, make a new mirror of larger volumes and copy what this one shows"
    );
    let action = Action::Set { volumes: names, keys: vec![("size", Some(Setting::Bytes(had)))] };
    let why = format!(
        "leg `{name}` of {:#} carries the superblocks of a mirror of legs of {size:#}: the legs were resized, and taken for new \
         ones, the first would be copied over the others; {text}. If this leg is to be one of a new mirror and nobody needs what \
         it holds, write zeroes over all of it",
        Bytes::new(told_by.geometry().size)
    );
    Resized {
        why,
        refusal: Refusal { code: "legs_resized", remedies: vec![Remedy { action, text, loses: None }] },
    }
}

/// The size of the largest leg of which superblocks are found within this one, and of its regions.
async fn search(pool: &Pool, leg: &Handle, region: u64) -> Result<Option<(u64, u64)>> {
    let (size, sector) = (leg.geometry().size, u64::from(leg.geometry().logical_sector));
    let ended = |at: u64, block: &[u8]| {
        let said = Super::decode(block).filter(|said| said.current.number > FIRST)?;
        // A copy of a leg that somebody keeps in a file has them elsewhere.
        let layout = Layout::of(said.size, said.region)?;
        layout.superblocks.contains(&at).then(|| (layout.end(), said.region))
    };
    find(pool, leg, &places(size, sector, region), ended).await
}

/// Where superblocks may be on a leg of that size, the last first.
fn places(size: u64, sector: u64, region: u64) -> Vec<Range<u64>> {
    if size <= WHOLE {
        return whole(size);
    }
    let ends = ends(size);
    let both = [region, USUAL_REGION];
    let of = |end: &u64| both.map(|region| Layout::new(*end, sector, region));
    let starts: BTreeSet<u64> =
        ends.iter().flat_map(of).flatten().map(|layout| layout.superblocks[0]).collect();
    // With smaller regions its own superblocks are further from the end.
    let tail =
        Layout::new(size, sector, LEAST_REGION).map(|layout| layout.size..size / BLOCK as u64 * BLOCK as u64);
    tail.into_iter().chain(starts.into_iter().rev().map(|at| at..at + 2 * BLOCK as u64)).collect()
}

/// Sizes that a leg may have had which has this size now.
fn ends(size: u64) -> BTreeSet<u64> {
    let parts = (1..PARTS).map(|part| (u128::from(size) * u128::from(part) / u128::from(PARTS)) as u64);
    let mut ends: BTreeSet<u64> = parts.collect();
    for (least, next) in LEAST_UNITS.into_iter().zip([2, 10]) {
        let mut unit = least;
        while size / unit > MULTIPLES {
            unit *= next;
        }
        ends.extend((1..=size / unit).map(|count| count * unit).filter(|end| *end < size));
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Layout, ends, places};

    #[test]
    fn legs_of_usual_sizes_are_found_in_a_larger_one() {
        let (gib, mib) = (1 << 30, 1 << 20);
        for (now, had) in [
            (200 * gib, 100 * gib),
            (150 * gib, 100 * gib),
            (110 * gib, 100 * gib),
            (2048 * gib, 2047 * gib),
            (600_000_000_000, 500_000_000_000),
            (gib, 999 * mib),
        ] {
            let layout = Layout::new(had, 512, mib).expect("it is large enough");
            let at = layout.superblocks[0];
            let looked = places(now, 512, mib);
            assert!(looked.contains(&(at..at + 2 * BLOCK as u64)), "{had} in {now}");
            assert!(looked.len() < 5000, "{} reads", looked.len());
            assert!(looked[1..].is_sorted_by_key(|place| std::cmp::Reverse(place.start)), "the last first");
        }
        assert_eq!(places(64 * mib, 512, mib), super::whole(64 * mib));
        assert!(!ends(100 * gib).contains(&(100 * gib)), "its own size is no other one");
    }
}
