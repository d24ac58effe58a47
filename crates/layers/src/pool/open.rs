//! Opening a pool: are these its members, in their order, and where does each extent lie.
//!
//! 1. Flush every member, so that what is read cannot be lost afterwards.
//! 2. Read the superblocks. A member counts once both of its superblocks are written; a pool, once its first member counts.
//! 3. A new pool writes its map, then the members' first superblocks, then the second ones, the first member's before the
//!    others'. An existing one takes in members that hold nothing yet.

use fathom_runtime::Context;
use fathom_volume::{Buf, Env, Error, ErrorKind, Handle, Pool, Request, Result};

use super::config::{Config, Settings};
use super::live::Live;
use super::map::{Map, Place};
use super::metadata::{Layout, Super, decode_places, encode_places};
use crate::codec::{BLOCK, Uuid};
use crate::side_by_side::side_by_side;
use crate::tap::{Owner, tap};

/// Blocks of the map that are written at once when a pool is made.
const AT_ONCE: usize = 16;

/// What a pool is opened from.
pub struct Parts {
    /// Clock and chance.
    pub context: Context,
    /// Where buffers come from.
    pub pool: Pool,
    /// Its name in the settings.
    pub name: String,
    /// What it does.
    pub settings: Settings,
    /// Where things lie.
    pub layout: Layout,
    /// Places of each member.
    pub slots: Vec<u32>,
    /// Bytes of the longest request that every member takes.
    pub longest: u64,
    /// The members, in their order.
    pub members: Vec<Handle>,
    /// How many of them a new pool places extents on.
    pub filled: usize,
    /// Where the moves are counted, and for whom.
    pub tap: Handle,
    pub owner: Owner<Live>,
    /// Whether it is opened for reading only: nothing on the members may change.
    pub for_reading: bool,
}

impl Parts {
    /// Of the pool of that name.
    ///
    /// # Errors
    /// If there is no seam of that name.
    pub fn new(
        env: &Env,
        name: &str,
        config: &Config,
        (layout, slots, longest): (Layout, Vec<u32>, u64),
        members: Vec<Handle>,
    ) -> Result<Self> {
        let owner = Owner::<Live>::default();
        let tap = tap(env, name, layout.extents as u64 * layout.extent, &owner)?;
        Ok(Self {
            context: env.context.clone(),
            pool: env.pool.clone(),
            name: name.to_owned(),
            settings: config.settings.clone(),
            layout,
            slots,
            longest,
            members,
            filled: config.members.len(),
            tap,
            owner,
            for_reading: env.is_for_reading(),
        })
    }

    fn refuse(&self, why: &str) -> Error {
        Error::new(ErrorKind::Misuse, format!("pool `{}`: {why}", self.name))
    }

    /// A block with something in it; untouched in a run without payload.
    fn block(&self, fill: impl FnOnce(&mut [u8])) -> Buf {
        let block = self.pool.get(BLOCK);
        block.with_mut(|bytes| {
            if !bytes.is_empty() {
                fill(bytes);
            }
        });
        block
    }
}

/// What a member says of itself.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Nothing: it is all zeroes where superblocks would be.
    Blank,
    /// It was being taken in, and nothing was placed on it.
    Begun(Super),
    /// It belongs to a pool.
    Whole(Super),
    /// A pool that another version of Fathom made.
    OtherVersion,
    /// Something else.
    Foreign,
}

async fn read_block(parts: &Parts, member: usize, at: u64) -> Result<Buf> {
    let block = parts.pool.get(BLOCK);
    parts.members[member].read(Request::new(at, BLOCK as u64), block.clone()).await?;
    Ok(block)
}

async fn look(parts: &Parts, member: usize) -> Result<Found> {
    parts.members[member].flush(Request::flush()).await?;
    let mut blocks = Vec::new();
    for at in [0, BLOCK as u64] {
        blocks.push(read_block(parts, member, at).await?);
    }
    let is_blank = |block: &Buf| block.with(|bytes| bytes.iter().all(|byte| *byte == 0));
    let decode = |block: &Buf| block.with(Super::decode);
    Ok(match (decode(&blocks[0]), decode(&blocks[1])) {
        (Some(begun), Some(whole)) if begun == whole => Found::Whole(whole),
        (Some(begun), None) if is_blank(&blocks[1]) => Found::Begun(begun),
        (None, None) if blocks.iter().all(is_blank) => Found::Blank,
        _ if blocks.iter().any(|block| block.with(Super::is_other_version)) => Found::OtherVersion,
        _ => Found::Foreign,
    })
}

/// Opens a pool.
///
/// # Errors
/// Why it must not be opened, with the remedy.
pub async fn open(parts: Parts) -> Result<Live> {
    let mut found = Vec::with_capacity(parts.members.len());
    for member in 0..parts.members.len() {
        found.push(look(&parts, member).await?);
    }
    for (member, found) in parts.members.iter().zip(&found) {
        let name = member.name();
        let why = match found {
            Found::Foreign => format!(
                "`{name}` holds something that is not a pool's; if nobody needs it, write zeroes over its first 8 KiB"
            ),
            Found::OtherVersion => {
                format!("`{name}` was written by another version of Fathom; open it with that one")
            }
            _ => continue,
        };
        return Err(parts.refuse(&why));
    }
    let exists = found.iter().any(|found| matches!(found, Found::Whole(_)));
    let (uuid, map, versions) = if exists { existing(&parts, &found).await? } else { create(&parts).await? };
    Ok(Live::new(parts, uuid, map, versions))
}

type Opened = (Uuid, Map, Vec<u64>);

async fn existing(parts: &Parts, found: &[Found]) -> Result<Opened> {
    let names = |index: usize| parts.members[index].name();
    let Found::Whole(first) = &found[0] else {
        let why = format!(
            "`{}` holds nothing, and others belong to a pool whose map lies on its first member; name the members in their \
             order, and bring the first one back",
            names(0)
        );
        return Err(parts.refuse(&why));
    };
    if (first.extent, first.size) != (parts.layout.extent, parts.layout.size) {
        return Err(parts.refuse(&format!(
            "it was made with size {} and extents of {} bytes; the settings say {} and {}",
            first.size, first.extent, parts.layout.size, parts.layout.extent
        )));
    }
    for (index, found) in found.iter().enumerate() {
        if let Found::Whole(found) = found {
            let own = Super { member: index, ..*first };
            if found.uuid != first.uuid {
                return Err(
                    parts.refuse(&format!("`{}` belongs to another pool; take it away", names(index)))
                );
            }
            if *found != own {
                return Err(parts.refuse(&format!(
                    "`{}` is the pool's member number {}, and stands as number {}; name the members in their order",
                    names(index),
                    found.member + 1,
                    index + 1
                )));
            }
        }
    }
    let (places, versions) = read_map(parts, &first.uuid).await?;
    let map = Map::of(&parts.slots, places).map_err(|place| match parts.members.get(place.member) {
        Some(member) => parts.refuse(&format!(
            "an extent lies at place {} of `{}`, which has {} places: the volume has become smaller",
            place.slot,
            member.name(),
            parts.slots[place.member]
        )),
        None => parts.refuse(&format!(
            "extents lie on its member number {}, and the settings name {}: name every member",
            place.member + 1,
            parts.members.len()
        )),
    })?;
    let mut joining = Vec::new();
    for (index, found) in found.iter().enumerate() {
        match found {
            Found::Whole(_) => continue,
            Found::Begun(begun) if begun.uuid == first.uuid && begun.member == index => {}
            _ if map.lie_on(index) > 0 => {
                return Err(parts.refuse(&format!(
                    "`{}` holds nothing, and {} extents should lie on it; bring the volume back that was here",
                    names(index),
                    map.lie_on(index)
                )));
            }
            _ => {}
        }
        joining.push(index);
    }
    if !parts.for_reading {
        for copy in [0, 1] {
            write_superblocks(parts, first.uuid, copy, &joining).await?;
        }
    }
    Ok((first.uuid, map, versions))
}

/// Every place, and the version of each block.
async fn read_map(parts: &Parts, uuid: &Uuid) -> Result<(Vec<Place>, Vec<u64>)> {
    let mut places = Vec::with_capacity(parts.layout.extents);
    let mut versions = Vec::with_capacity(parts.layout.blocks());
    for number in 0..parts.layout.blocks() {
        let mut newest: Option<(u64, Vec<Place>)> = None;
        for copy in [0, 1] {
            let block = read_block(parts, 0, Layout::block_offset(number, copy)).await?;
            let count = parts.layout.block_extents(number).len();
            let decoded = block.with(|bytes| decode_places(bytes, uuid, number, count));
            newest = newest.into_iter().chain(decoded).max_by_key(|(version, _)| *version);
        }
        let Some((version, found)) = newest else {
            let why = format!(
                "pool `{}`: both copies of block {number} of the map on `{}` are damaged; restore the pool from a backup",
                parts.name,
                parts.members[0].name()
            );
            return Err(Error::new(ErrorKind::Corrupt, why));
        };
        places.extend(found);
        versions.push(version);
    }
    Ok((places, versions))
}

async fn create(parts: &Parts) -> Result<Opened> {
    if parts.for_reading {
        return Err(parts.refuse("it was not made yet"));
    }
    let map = Map::create(&parts.slots, parts.layout.extents, parts.filled).ok_or_else(|| {
        let places: u64 = parts.slots[..parts.filled].iter().map(|slots| u64::from(*slots)).sum();
        parts
            .refuse(&format!(
                "its size takes {} extents, and `members` have {places} places of {} bytes; make `size` smaller or name more \
                 members",
                parts.layout.extents, parts.layout.extent
            ))
            .about("size")
    })?;
    let mut uuid = [0; 16];
    parts.context.random(&format!("pool {} at {}", parts.name, parts.context.now())).fill(&mut uuid);
    let numbers: Vec<usize> = (0..parts.layout.blocks()).collect();
    for some in numbers.chunks(AT_ONCE) {
        let write = |number: &usize| {
            let places = &map.places()[parts.layout.block_extents(*number)];
            let block = parts.block(|bytes| encode_places(bytes, &uuid, *number, 1, places));
            let at = Request::new(Layout::block_offset(*number, 1), BLOCK as u64).with_fua(true);
            parts.members[0].write(at, block)
        };
        side_by_side(some.iter().map(write).collect()).await?;
    }
    let all: Vec<usize> = (0..parts.members.len()).collect();
    write_superblocks(parts, uuid, 0, &all).await?;
    // From here on the pool is there.
    write_superblocks(parts, uuid, 1, &all[..1]).await?;
    write_superblocks(parts, uuid, 1, &all[1..]).await?;
    Ok((uuid, map, vec![1; parts.layout.blocks()]))
}

async fn write_superblocks(parts: &Parts, uuid: Uuid, copy: usize, members: &[usize]) -> Result<()> {
    let write = |member: &usize| {
        let own = Super { uuid, member: *member, extent: parts.layout.extent, size: parts.layout.size };
        let at = Request::new((copy * BLOCK) as u64, BLOCK as u64).with_fua(true);
        parts.members[*member].write(at, parts.block(|bytes| own.encode(bytes)))
    };
    side_by_side(members.iter().map(write).collect()).await
}
