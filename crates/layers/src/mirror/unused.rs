//! Legs that the mirror is about to write over: none of them may hold anything.

use fathom_volume::{Handle, Pool, Result};

use super::config::Initial;
use super::membership::{Decision, Found, LegRole, Role};
use super::superblock::{BITMAP_MAGIC, Layout};
use crate::head::{Content, Leftovers, Look, content, first_use, first_use_in};

/// What an opening that was cut off may have left on a leg before its first superblock.
fn leftovers(layout: &Layout) -> Leftovers {
    Leftovers { range: layout.bitmap..layout.end(), magic: BITMAP_MAGIC }
}

/// Where a leg without superblocks holds something nevertheless.
pub async fn in_use(pool: &Pool, leg: &Handle, layout: &Layout, look: Look) -> Result<Option<u64>> {
    first_use(pool, leg, leg.geometry().size, look, Some(&leftovers(layout))).await
}

/// Why legs must not be written over as was decided; None if they may be. `simulated`: they hold what their run wrote.
///
/// # Errors
/// If a leg cannot be read.
pub async fn would_be_lost(
    pool: &Pool,
    layout: &Layout,
    (legs, found): (&[Handle], &[Found]),
    decision: &Decision,
    initial: Initial,
    simulated: bool,
) -> Result<Option<String>> {
    let blank = |leg: usize| found[leg] == Found::Blank;
    let (legs_to_check, look) = match decision {
        // The first leg's bytes are copied, or nothing is.
        Decision::Create => {
            let first = usize::from(initial == Initial::Copy);
            let look = if simulated { Look::Simulated } else { Look::Closely };
            ((first..legs.len()).filter(|leg| blank(*leg)).collect::<Vec<_>>(), look)
        }
        Decision::Open { roles, .. } => {
            let is_new = |leg: &usize| matches!(roles[*leg], LegRole { role: Role::New, .. });
            ((0..legs.len()).filter(is_new).filter(|leg| blank(*leg)).collect(), Look::Ends)
        }
    };
    if simulated && (initial == Initial::Blank || *decision != Decision::Create) {
        return Ok(None);
    }
    for leg in legs_to_check {
        if let Some(at) = in_use(pool, &legs[leg], layout, look).await? {
            return Ok(Some(match decision {
                Decision::Create => new_mirror(legs, leg, at, initial),
                Decision::Open { .. } => replaced(&legs[leg], at),
            }));
        }
    }
    if *decision == Decision::Create && initial == Initial::Copy {
        return reaches_too_far(pool, layout, &legs[0], blank(0) && !simulated).await;
    }
    Ok(None)
}

fn new_mirror(legs: &[Handle], leg: usize, at: u64, initial: Initial) -> String {
    let (name, first) = (legs[leg].name(), legs[0].name());
    let over = match initial {
        Initial::Copy => format!(
            "a new mirror copies leg `{first}` over it; if it was a leg of a mirror and has another size than then, give every leg \
             the `size` that it had; if the data of `{name}` counts, name it first in `legs`"
        ),
        Initial::Blank => {
            "a new mirror with `initial = \"blank\"` shows what any of its legs holds; if it was a leg of a mirror and has another \
             size than then, give every leg the `size` that it had; if its data counts, name it first in `legs`, with \
             `initial = \"copy\"`"
                .to_owned()
        }
    };
    format!(
        "leg `{name}` holds data at byte {at}, and {over}. Only if nobody needs what `{name}` holds: write zeroes over all of it"
    )
}

fn replaced(leg: &Handle, at: u64) -> String {
    let name = leg.name();
    format!(
        "leg `{name}` has no superblock of this mirror and holds data at byte {at}, and the mirror would copy another leg over it; \
         name the volume that was this leg, or bring back what it held. Only if nobody needs what `{name}` holds: write zeroes over \
         its first and its last MiB, and it is copied whole"
    )
}

/// Refuses a first leg whose content reaches to where the mirror's metadata goes.
async fn reaches_too_far(
    pool: &Pool,
    layout: &Layout,
    first: &Handle,
    tail_too: bool,
) -> Result<Option<String>> {
    if let Some(Content { name: content, end }) =
        content(pool, first).await?.filter(|content| content.end > layout.size)
    {
        return Ok(Some(format!(
            "leg `{}` holds {content} of {end} bytes, and the mirror shows {}: its superblocks and bitmap take the rest. Shrink \
             what is there first, or give the leg more room",
            first.name(),
            layout.size
        )));
    }
    let tail = std::iter::once(layout.size..first.geometry().size).collect::<Vec<_>>();
    let left = leftovers(layout);
    let at = if tail_too { first_use_in(pool, first, &tail, Some(&left)).await? } else { None };
    Ok(at.map(|at| {
        format!(
            "leg `{}` holds something at byte {at}, and the mirror's superblocks and bitmap take everything from byte {} on: the \
             end of an array or of a partition table, perhaps. Give the leg more room, or move what is there",
            first.name(),
            layout.size
        )
    }))
}
