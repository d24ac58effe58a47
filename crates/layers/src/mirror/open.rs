//! Opening a mirror: what is on the legs, do they belong together, which of them count.
//!
//! 1. Flush every leg, so that what is read cannot be lost afterwards.
//! 2. Read the superblocks; decide which take part and which are trusted.
//! 3. Read the bitmaps. Legs that were in sync differ where a bit is set: the first one counts, the others are rebuilt.
//! 4. Write the bitmap to every leg, then begin a generation.

use fathom_runtime::Context;
use fathom_volume::{Error, ErrorKind, Geometry, Handle, Pool, Request, Result};

use super::bitmap::Regions;
use super::config::{Initial, Settings};
use super::live::{Leg, Live, Standing};
use super::membership::{Decision, FIRST, Found, LegRole, Role, decide, least_age};
use super::resized::{other_region, other_sizes, resized};
use super::superblock::{BITS_PER_BLOCK, Entry, Generation, Layout, Super, decode_age, decode_bits};
use super::unused::would_be_lost;
use crate::codec::{BLOCK, Uuid};
use crate::share::Gate;

/// What a mirror is opened from.
pub struct Parts {
    /// Clock and chance.
    pub context: Context,
    /// Where buffers come from.
    pub pool: Pool,
    /// Its name in the settings.
    pub name: String,
    /// What it does.
    pub settings: Settings,
    /// Offsets of the metadata.
    pub layout: Layout,
    /// The legs, as the settings name them.
    pub legs: Vec<Handle>,
    /// Where the rebuild is counted.
    pub tap: Handle,
    /// Whether it is opened for reading only: nothing on the legs may change.
    pub for_reading: bool,
}

/// Reads what a leg says of itself.
pub async fn read_leg(pool: &Pool, leg: &Handle, layout: &Layout) -> Found {
    if let Err(error) = leg.flush(Request::flush()).await {
        return Found::Missing(error.to_string());
    }
    let mut found: Option<Super> = None;
    let (mut blank, mut other) = (true, false);
    for at in layout.superblocks {
        let block = pool.get(BLOCK);
        if let Err(error) = leg.read(Request::new(at, BLOCK as u64), block.clone()).await {
            return Found::Missing(error.to_string());
        }
        blank &= block.with(|bytes| bytes.iter().all(|byte| *byte == 0));
        other |= block.with(Super::is_other_version);
        let Some(copy) = block.with(Super::decode) else { continue };
        let newer = found.as_ref().is_none_or(|found| copy.counter > found.counter);
        if newer {
            found = Some(copy);
        }
    }
    match found {
        Some(mut found) => {
            let held = bitmap(pool, leg, layout, &found.uuid).await;
            found.went_back = leg.went_back();
            found.age = held.iter().map(|(_, age)| *age).fold(found.age, u64::max);
            Found::Leg(found)
        }
        None if other => Found::OtherVersion,
        None if blank => Found::Blank,
        None => Found::Foreign { from: layout.size, to: layout.end() },
    }
}

/// Opens a mirror.
///
/// # Errors
/// Why it must not be opened, with the remedy.
pub async fn open(parts: Parts) -> Result<Live> {
    let Parts { context, pool, name, settings, layout, legs, tap, for_reading } = parts;
    let mut found = Vec::with_capacity(legs.len());
    for leg in &legs {
        found.push(read_leg(&pool, leg, &layout).await);
    }
    let names: Vec<&str> = legs.iter().map(Handle::name).collect();
    let refuse = |why: String| Error::new(ErrorKind::Misuse, format!("mirror `{name}`: {why}"));
    let simulated = context.is_virtual();
    let unread = |error: Error| refuse(format!("its legs cannot be looked at: {error}"));
    let own = (name.as_str(), &layout, settings.region);
    if let Some(resized) = resized(&pool, own, &legs, &found, !simulated).await.map_err(unread)? {
        return Err(refuse(resized.why).advising(resized.refusal));
    }
    let unsized_leg = legs.iter().find(|leg| leg.geometry().size >= Geometry::UNKNOWN_SIZE);
    if let Some(leg) = unsized_leg
        && !found.iter().any(|found| matches!(found, Found::Leg(_)))
    {
        return Err(refuse(format!(
            "leg `{}` is not there, and no other leg has a superblock where legs of {} bytes have it; bring the leg back, or \
             give its `size`: the smallest leg says where superblocks are",
            leg.name(),
            layout.size
        )));
    }
    let decision = decide(&found, &names, &settings.accepted).map_err(refuse)?;
    let told =
        || found.iter().filter_map(|found| if let Found::Leg(found) = found { Some(found) } else { None });
    let counter = told().map(|found| found.counter).max().unwrap_or(0);
    let age = told().map(|found| found.age).max().unwrap_or(0);
    let initial = settings.initial;
    let lost = would_be_lost(&pool, &layout, (&legs, &found), &decision, initial, simulated).await;
    if let Some(why) = lost.map_err(unread)? {
        return Err(refuse(why));
    }
    let (mut newest, roles) = match decision {
        Decision::Create => created(&context, &name, &settings, &layout, legs.len()),
        Decision::Open { newest, roles } => (newest, roles),
    };
    if newest.region != settings.region {
        let other = other_region(&name, newest.region);
        return Err(refuse(other.why).advising(other.refusal));
    }
    if newest.size != layout.size {
        let had = Layout::of(newest.size, newest.region).map_or(newest.size, |layout| layout.end());
        let other = other_sizes(&legs, &legs[0], had);
        return Err(refuse(other.why).advising(other.refusal));
    }
    newest.counter = counter;
    // What is expected of a leg that is not there, by what the leg that counts has; what is written next is newer than all.
    let expected: Vec<u64> = roles.iter().map(|role| least_age(&newest, role.leg)).collect();
    newest.age = age;
    let mut regions = Regions::new(layout.size, settings.region, BITS_PER_BLOCK);
    for (leg, role) in legs.iter().zip(&roles) {
        if matches!(role.role, Role::InSync | Role::Stale) {
            learn(&pool, leg, &layout, &newest, &mut regions).await?;
        }
    }
    if roles.iter().any(|role| role.role == Role::New) {
        regions.mark_all();
    }
    let is_old = |(role, found): (&LegRole, &Found)| role.role == Role::New && matches!(found, Found::Leg(_));
    let old = roles.iter().zip(&found).filter(|pair| is_old(*pair) && newest.current.number > FIRST).count();
    let legs = take_seats(&context, &settings, legs, &roles, newest.leg, regions.dirty() > 0);
    for ((leg, found), expected) in legs.iter().zip(&found).zip(expected) {
        leg.said.set(expected);
        match found {
            Found::Leg(found) => {
                leg.carries.set(found.current);
                leg.said.set(found.age);
            }
            Found::Missing(why) => leg.why.borrow_mut().clone_from(why),
            Found::Blank | Found::Foreign { .. } | Found::OtherVersion => {}
        }
    }
    regions.copy_dirty();
    regions.say_all_again();
    let live = Live::new((context, pool, name, tap), settings, layout, legs, regions, newest);
    live.count(|counts| counts.old = old as u64);
    if !live.rebuilding() {
        live.regions.borrow_mut().copy_nothing();
    }
    if for_reading {
        live.known.set(live.wanted.get());
        return Ok(live);
    }
    // Who counts is a step ahead of the others until all know that: cut off here, it counts again.
    live.leader.set(live.standing(Standing::InSync).next());
    live.say().await?;
    let number = live.newest.borrow().current.number;
    live.settle().await?;
    if number < FIRST {
        // Now that every leg belongs to the mirror, the generation in which it answers.
        live.wanted.set(live.wanted.get() + 1);
        live.settle().await?;
    }
    live.leader.set(None);
    live.guard();
    Ok(live)
}

/// The superblock of a new mirror, which no leg carries: the first generation that is written follows it.
fn created(
    context: &Context,
    name: &str,
    settings: &Settings,
    layout: &Layout,
    count: usize,
) -> (Super, Vec<LegRole>) {
    let mut uuid = [0; 16];
    context.random(&format!("mirror {name} at {}", context.now())).fill(&mut uuid);
    let equal = settings.initial == Initial::Blank;
    let role = |leg: usize| if leg == 0 || equal { Role::InSync } else { Role::New };
    let roles: Vec<LegRole> = (0..count).map(|leg| LegRole { leg, role: role(leg) }).collect();
    let entries = roles.iter().map(|role| Entry { in_sync: role.role == Role::InSync, ..Entry::default() });
    let newest = Super {
        counter: 0,
        uuid,
        leg: 0,
        region: settings.region,
        size: layout.size,
        current: Generation::default(),
        previous: Generation::default(),
        entries: entries.collect(),
        age: 0,
        history: Vec::new(),
        went_back: false,
    };
    (newest, roles)
}

/// Takes in a leg's bitmap. What cannot be read may differ.
async fn learn(
    pool: &Pool,
    leg: &Handle,
    layout: &Layout,
    newest: &Super,
    regions: &mut Regions,
) -> Result<()> {
    if newest.current.number == 0 {
        return Ok(());
    }
    for (number, held) in bitmap(pool, leg, layout, &newest.uuid).await.iter().enumerate() {
        regions.learn(number, held.0.as_deref());
    }
    Ok(())
}

/// The blocks of a leg's bitmap: the bits, None where they cannot be read, and the age.
async fn bitmap(pool: &Pool, leg: &Handle, layout: &Layout, uuid: &Uuid) -> Vec<(Option<Vec<u8>>, u64)> {
    let mut held = Vec::with_capacity(layout.blocks);
    for number in 0..layout.blocks {
        let block = pool.get(BLOCK);
        let at = layout.bitmap + (number * BLOCK) as u64;
        let read = leg.read(Request::new(at, BLOCK as u64), block.clone()).await;
        let decode = |bytes: &[u8]| (decode_bits(bytes, uuid, number), decode_age(bytes, uuid, number));
        held.push(read.map_or((None, 0), |()| block.with(decode)));
    }
    held
}

fn take_seats(
    context: &Context,
    settings: &Settings,
    handles: Vec<Handle>,
    roles: &[LegRole],
    newest: usize,
    dirty: bool,
) -> Vec<Leg> {
    let trusted = roles.iter().any(|role| role.leg == newest && role.role == Role::InSync);
    let first = roles.iter().find(|role| role.role == Role::InSync).map(|role| role.leg);
    let first = if trusted { Some(newest) } else { first };
    let standing = |role: &LegRole| match role.role {
        Role::InSync if dirty && Some(role.leg) != first => Standing::Rebuilding,
        Role::InSync => Standing::InSync,
        Role::Stale | Role::New => Standing::Rebuilding,
        Role::Missing => Standing::Away,
    };
    let legs = handles.into_iter().zip(roles).map(|(handle, role)| Leg {
        handle,
        gate: Gate::new(context, settings.rules),
        guarded: Default::default(),
        number: role.leg,
        standing: std::cell::Cell::new(standing(role)),
        confirmed: std::cell::Cell::new(standing(role) == Standing::InSync),
        carries: std::cell::Cell::default(),
        said: std::cell::Cell::default(),
        why: Default::default(),
    });
    legs.collect()
}
