//! Opening a pool: are these its members, in their order, and where is each extent.
//!
//! 1. Flush every member, so that what is read cannot be lost afterwards.
//! 2. Read the superblocks. A member counts once both of its superblocks are written; a pool, once its first member counts.
//! 3. A new pool writes zeroes over its ends, its map, then the members' first superblocks, then the second ones, the first member's before the
//!    others'. An existing one makes both copies of its map equal, takes in members that hold nothing yet, and writes the
//!    superblocks of all again, so that older copies of them are recognised afterwards.

use fathom_units::Bytes;
use fathom_volume::{Action, Error, Refusal, Remedy, Request, Result, Setting};

use super::live::Live;
use super::map::{Map, PhysicalExtent};
use super::metadata::Super;
use super::parts::Parts;
use super::stored::{Found, identify, read_map, write_places, write_superblocks};
use crate::codec::Uuid;
use crate::side_by_side::side_by_side;

/// Blocks of the map that are written at once when a pool is made.
const AT_ONCE: usize = 16;

/// The version of a map that is nowhere yet.
pub const NOT_WRITTEN: u64 = 0;

/// Opens a pool.
///
/// # Errors
/// Why it must not be opened, with the remedy.
pub async fn open(parts: Parts) -> Result<Live> {
    let mut found = Vec::with_capacity(parts.members.len());
    for member in 0..parts.members.len() {
        found.push(identify(&parts, member).await?);
    }
    for (member, found) in parts.members.iter().zip(&found) {
        let name = member.name();
        let why = match found {
            Found::Foreign(at) => format!(
                "`{name}` holds data at byte {at} that is not a pool's: it is another volume, or is in use for something else. If it \
                 was a member, bring back what it held; if it is the wrong volume, name the right one. Only if nobody needs what it \
                 holds: write zeroes over its first and its last MiB"
            ),
            Found::OtherVersion => {
                format!("`{name}` was written by another version of Fathom; open it with that one")
            }
            _ => continue,
        };
        return Err(parts.refuse(&why));
    }
    let exists = found.iter().any(|found| matches!(found, Found::Whole(..)));
    let (uuid, map, versions) = if exists { existing(&parts, &found).await? } else { create(&parts).await? };
    Ok(Live::new(parts, uuid, map, versions))
}

type Opened = (Uuid, Map, Vec<u64>);

async fn existing(parts: &Parts, found: &[Found]) -> Result<Opened> {
    let first = own_members(parts, found)?;
    let maps = read_map(parts, &first.uuid).await?;
    let versions = maps.iter().map(|block| block.version).collect();
    let places: Vec<_> = maps.iter().flat_map(|block| block.places.iter().copied()).collect();
    cut_short(parts, &places)?;
    let map = Map::of(&parts.slots, places).map_err(|place| match parts.members.get(place.member) {
        Some(member) => parts.refuse(&format!(
            "two extents are in slot {} of `{}`: the map is damaged; restore the pool from a backup",
            place.slot,
            member.name()
        )),
        None => parts.refuse(&format!(
            "extents are on its member number {}, and the settings name {}: name every member",
            place.member + 1,
            parts.members.len()
        )),
    })?;
    let ended =
        found.iter().filter_map(|found| if let Found::Whole(_, ended) = found { Some(*ended) } else { None });
    let last = ended.max().unwrap_or(0);
    for (index, (member, found)) in parts.members.iter().zip(found).enumerate() {
        let (name, lie) = (member.name(), map.lie_on(index));
        let why = match found {
            // What holds no extent may have been away.
            Found::Whole(said, _) if said.opening < last && (index == 0 || lie > 0) => format!(
                "`{name}` is an older copy: it was there at the pool's opening {}, and others at opening {last}; bring back \
                 what it held then, or every member as it was at one moment",
                said.opening
            ),
            Found::Begun(begun) if begun.uuid != first.uuid => {
                format!(
                    "`{name}` was being taken into another pool; name the right volume. Only if nobody needs it there: write zeroes \
                     over its first and its last MiB"
                )
            }
            Found::Blank if lie > 0 => format!(
                "`{name}` holds nothing, but should have {lie} extents; bring back the volume that was here"
            ),
            _ => continue,
        };
        return Err(parts.refuse(&why));
    }
    let counts = |index: usize| index == 0 || map.lie_on(index) > 0;
    one_pool(parts, found, counts)?;
    if !parts.for_reading {
        for (number, block) in maps.iter().enumerate() {
            if let Some(copy) = block.older {
                write_places(parts, &first.uuid, (number, copy, block.version), &block.places).await?;
            }
        }
        let said = found.iter().filter_map(|found| match found {
            Found::Begun(said) | Found::Whole(said, _) => Some(said.opening),
            _ => None,
        });
        let next = Super { opening: said.max().unwrap_or(0) + 1, ..first };
        let newest = found.iter().enumerate().filter_map(|(index, found)| match found {
            Found::Whole(said, _) if counts(index) && said.opening + 1 == next.opening => Some(said.lives[0]),
            _ => None,
        });
        let next = Super { lives: [new_life(parts, next.opening), newest.max().unwrap_or(0)], ..next };
        let all: Vec<usize> = (0..parts.members.len()).collect();
        for copy in [0, 1] {
            write_superblocks(parts, next, copy, &all).await?;
        }
    }
    Ok((first.uuid, map, versions))
}

/// Refuses members of copies of one pool that went on apart: what one wrote the other one has not got.
fn one_pool(parts: &Parts, found: &[Found], counts: impl Fn(usize) -> bool) -> Result<()> {
    let whole = |(index, found): (usize, &Found)| match found {
        Found::Whole(said, _) if counts(index) => Some((index, *said)),
        _ => None,
    };
    let said: Vec<(usize, Super)> = found.iter().enumerate().filter_map(whole).collect();
    let Some((index, _)) = said.iter().find(|(_, said_of)| !said_of.agrees(&said[0].1)) else {
        return Ok(());
    };
    Err(parts.refuse(&format!(
        "`{}` and `{}` are of different copies of the pool: both went on since one was copied, and neither knows what the other \
         wrote; bring back the members of one copy",
        parts.members[said[0].0].name(),
        parts.members[*index].name()
    )))
}

/// A name for an opening; never the one for "not known".
fn new_life(parts: &Parts, opening: u64) -> u32 {
    let mut bytes = [0; 4];
    let label = format!("opening {opening} of pool {} at {}", parts.name, parts.context.now());
    parts.context.random(&label).fill(&mut bytes);
    u32::from_le_bytes(bytes).max(1)
}

/// Refuses a member that ends before an extent that lies on it.
fn cut_short(parts: &Parts, places: &[PhysicalExtent]) -> Result<()> {
    for (index, member) in parts.members.iter().enumerate() {
        let last = places.iter().filter(|place| place.member == index).max_by_key(|place| place.slot);
        let Some(last) = last.filter(|last| last.slot >= parts.slots[index]) else { continue };
        let (name, has) = (member.name(), member.geometry().size);
        let needs = parts.layout.offset(*last, parts.layout.extent);
        let text = format!("give it the size it had, at least {needs} bytes, with what it held");
        let why = format!(
            "`{name}` has {has} bytes: the volume has become smaller, and extents lie beyond its end; {text}"
        );
        let larger = Action::Resize { device: name.to_owned(), bytes: Some(needs) };
        let remedies = vec![Remedy { action: larger, text, loses: None }];
        return Err(parts.refuse(&why).advising(Refusal { code: "member_too_small", remedies }));
    }
    Ok(())
}

/// Whether those that belong to a pool belong to this one, in this order: the first one's superblock.
fn own_members(parts: &Parts, found: &[Found]) -> Result<Super> {
    let names = |index: usize| parts.members[index].name();
    let Found::Whole(first, _) = found[0] else {
        let why = format!(
            "`{}` holds nothing, and others belong to a pool whose map is on its first member; name the members in their \
             order, and bring back the volume that was first. Only if nobody needs what the pool holds, or a mirror's other leg has \
             it: zeroes over the first and the last MiB of every member make it a new pool",
            names(0)
        );
        return Err(parts.refuse(&why));
    };
    if (first.extent, first.size) != (parts.layout.extent, parts.layout.size) {
        return Err(other_shape(parts, &first));
    }
    for (index, found) in found.iter().enumerate() {
        let Found::Whole(said, _) = found else { continue };
        if said.uuid != first.uuid {
            return Err(parts.refuse(&format!("`{}` belongs to another pool; take it away", names(index))));
        }
        if !said.is_like(&Super { member: index, ..first }) {
            return Err(parts.refuse(&format!(
                "`{}` is the pool's member number {}, but is listed as number {}; name the members in their order",
                names(index),
                said.member + 1,
                index + 1
            )));
        }
    }
    if u64::from(parts.sector) > first.sector {
        let large = parts.members.iter().find(|member| member.geometry().logical_sector == parts.sector);
        return Err(parts.refuse(&format!(
            "`{}` has sectors of {} bytes, and the pool was made with sectors of {}, which its users rely on; take that volume \
             out of `added`, or put one of kind `sector` before it",
            large.map_or("a member", |member| member.name()),
            parts.sector,
            first.sector
        )));
    }
    Ok(first)
}

/// The settings say another shape than the pool has: nothing is lost if they say the one it has.
fn other_shape(parts: &Parts, first: &Super) -> Error {
    let shape = |size: u64, extent: u64| {
        format!("size {:#} and extents of {:#}", Bytes::new(size), Bytes::new(extent))
    };
    let text = format!(
        "set `size = \"{:#}\"` and `extent = \"{:#}\"`, as it was made; neither can change later, and nothing is lost",
        Bytes::new(first.size),
        Bytes::new(first.extent)
    );
    let why = format!(
        "it was made with {}, and the settings say {}; {text}",
        shape(first.size, first.extent),
        shape(parts.layout.size, parts.layout.extent)
    );
    let keys =
        vec![("size", Some(Setting::Bytes(first.size))), ("extent", Some(Setting::Bytes(first.extent)))];
    let action = Action::Set { volumes: vec![parts.name.clone()], keys };
    let remedies = vec![Remedy { action, text, loses: None }];
    parts.refuse(&why).about("size").advising(Refusal { code: "pool_shape", remedies })
}

/// Writes zeroes where layers above look for what they wrote. Extents go where those of an earlier pool on these members were:
/// the superblock that a mirror had on it would vouch for content of which a replaced member has nothing.
async fn blank_ends(parts: &Parts, map: &Map) -> Result<()> {
    for end in parts.layout.ends() {
        for part in parts.layout.parts(end.start, end.end - end.start, parts.longest) {
            let place = map.place(part.extent);
            let at = Request::new(parts.layout.offset(place, part.within), part.length);
            parts.members[place.member].write_zeroes(at).await?;
        }
    }
    side_by_side(parts.members.iter().map(|member| member.flush(Request::flush())).collect()).await
}

async fn create(parts: &Parts) -> Result<Opened> {
    let map = Map::create(&parts.slots, parts.layout.extents, parts.filled).ok_or_else(|| {
        let places: u64 = parts.slots[..parts.filled].iter().map(|slots| u64::from(*slots)).sum();
        parts
            .refuse(&format!(
                "its size takes {} extents, and `members` have {places} slots of {} bytes; make `size` smaller or name more \
                 members",
                parts.layout.extents, parts.layout.extent
            ))
            .about("size")
    })?;
    if parts.for_reading {
        return Ok((Uuid::default(), map, vec![NOT_WRITTEN; parts.layout.blocks()]));
    }
    let mut uuid = [0; 16];
    parts.context.random(&format!("pool {} at {}", parts.name, parts.context.now())).fill(&mut uuid);
    blank_ends(parts, &map).await?;
    let numbers: Vec<usize> = (0..parts.layout.blocks()).collect();
    for some in numbers.chunks(AT_ONCE) {
        let both = some.iter().flat_map(|number| [(*number, 0, 1), (*number, 1, 1)]);
        let write = |block: (usize, usize, u64)| {
            let places = &map.places()[parts.layout.block_extents(block.0)];
            Box::pin(write_places(parts, &uuid, block, places))
        };
        side_by_side(both.map(write).collect()).await?;
    }
    let (extent, size, sector) = (parts.layout.extent, parts.layout.size, u64::from(parts.sector));
    let made = Super { uuid, member: 0, extent, size, sector, opening: 1, lives: [new_life(parts, 1), 0] };
    let all: Vec<usize> = (0..parts.members.len()).collect();
    write_superblocks(parts, made, 0, &all).await?;
    // From here on the pool is there.
    write_superblocks(parts, made, 1, &all[..1]).await?;
    write_superblocks(parts, made, 1, &all[1..]).await?;
    Ok((uuid, map, vec![1; parts.layout.blocks()]))
}
