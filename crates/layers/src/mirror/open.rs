//! Opening a mirror: what is on the legs, do they belong together, who counts.
//!
//! 1. Flush every leg, so that what is read cannot be lost afterwards.
//! 2. Read the superblocks; decide who takes part and who is trusted.
//! 3. Read the bitmaps. Legs that were in sync differ where a bit is set: the first one counts, the others are rebuilt.
//! 4. Write the bitmap to every leg, then begin a generation.

use fathom_runtime::Context;
use fathom_volume::{Error, ErrorKind, Handle, Pool, Request, Result};

use super::bitmap::Regions;
use super::config::{Initial, Settings};
use super::gate::Gate;
use super::live::{Leg, Live, Standing};
use super::membership::{Decision, FIRST, Found, Role, Seat, decide};
use super::mutation::{Mutation, mutated};
use super::superblock::{BITS_PER_BLOCK, Entry, Generation, Layout, Super, decode_bits};
use crate::writeback::codec::BLOCK;

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
    /// Where things lie.
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
    let mut blank = true;
    for at in layout.superblocks {
        let block = pool.get(BLOCK);
        if let Err(error) = leg.read(Request::new(at, BLOCK as u64), block.clone()).await {
            return Found::Missing(error.to_string());
        }
        blank &= block.with(|bytes| bytes.iter().all(|byte| *byte == 0));
        let Some(copy) = block.with(Super::decode) else { continue };
        let newer = found
            .as_ref()
            .is_none_or(|found| (copy.counter > found.counter) != mutated(Mutation::OldestSuperblockWins));
        if newer {
            found = Some(copy);
        }
    }
    match found {
        Some(found) => Found::Leg(found),
        None if blank => Found::Blank,
        None => Found::Foreign,
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
    let decision = decide(&found, &names, settings.accepted).map_err(refuse)?;
    let counter = found
        .iter()
        .filter_map(|found| if let Found::Leg(found) = found { Some(found.counter) } else { None });
    let counter = counter.max().unwrap_or(0);
    let (mut newest, seats) = match decision {
        Decision::Create => created(&context, &name, &settings, &layout, legs.len()),
        Decision::Open { newest, seats } => (newest, seats),
    };
    if (newest.region, newest.size) != (settings.region, layout.size) {
        return Err(refuse(format!(
            "it was made with regions of {} bytes and shows {} bytes; the settings and the legs' sizes say {} and {}",
            newest.region, newest.size, settings.region, layout.size
        )));
    }
    newest.counter = counter;
    let mut regions = Regions::new(layout.size, settings.region, BITS_PER_BLOCK);
    for (leg, seat) in legs.iter().zip(&seats) {
        if matches!(seat.role, Role::InSync | Role::Stale) {
            learn(&pool, leg, &layout, &newest, &mut regions).await?;
        }
    }
    if seats.iter().any(|seat| seat.role == Role::New) && !mutated(Mutation::NewLegNotCopied) {
        regions.mark_all();
    }
    let legs = take_seats(&context, &settings, legs, &seats, newest.leg, regions.dirty() > 0);
    for (leg, found) in legs.iter().zip(&found) {
        if let Found::Leg(found) = found {
            leg.carries.set(found.current);
        }
    }
    regions.copy_dirty();
    regions.say_all_again();
    let live = Live::new((context, pool, name, tap), settings, layout, legs, regions, newest);
    if !live.rebuilding() {
        live.regions.borrow_mut().copy_nothing();
    }
    if for_reading {
        live.known.set(live.wanted.get());
        return Ok(live);
    }
    live.say().await?;
    let number = live.newest.borrow().current.number;
    if mutated(Mutation::GenerationNotBumpedOnOpen) && number > FIRST {
        live.known.set(live.wanted.get());
    }
    live.settle().await?;
    if number < FIRST {
        // Now that every leg belongs to the mirror, the generation in which it answers.
        live.wanted.set(live.wanted.get() + 1);
        live.settle().await?;
    }
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
) -> (Super, Vec<Seat>) {
    let mut uuid = [0; 16];
    context.random(&format!("mirror {name} at {}", context.now())).fill(&mut uuid);
    let equal = settings.initial == Initial::Blank;
    let role = |leg: usize| if leg == 0 || equal { Role::InSync } else { Role::New };
    let seats: Vec<Seat> = (0..count).map(|leg| Seat { leg, role: role(leg) }).collect();
    let entries = seats.iter().map(|seat| Entry { in_sync: seat.role == Role::InSync, ..Entry::default() });
    let newest = Super {
        counter: 0,
        uuid,
        leg: 0,
        region: settings.region,
        size: layout.size,
        current: Generation::default(),
        previous: Generation::default(),
        entries: entries.collect(),
    };
    (newest, seats)
}

/// Takes in a leg's bitmap. What cannot be read may differ.
async fn learn(
    pool: &Pool,
    leg: &Handle,
    layout: &Layout,
    newest: &Super,
    regions: &mut Regions,
) -> Result<()> {
    if mutated(Mutation::BitmapNotRead) || newest.current.number == 0 {
        return Ok(());
    }
    for number in 0..regions.blocks() {
        let block = pool.get(BLOCK);
        let at = layout.bitmap + (number * BLOCK) as u64;
        let read = leg.read(Request::new(at, BLOCK as u64), block.clone()).await;
        let bits = read.ok().and_then(|()| block.with(|bytes| decode_bits(bytes, &newest.uuid, number)));
        regions.learn(number, bits.as_deref());
    }
    Ok(())
}

fn take_seats(
    context: &Context,
    settings: &Settings,
    handles: Vec<Handle>,
    seats: &[Seat],
    newest: usize,
    dirty: bool,
) -> Vec<Leg> {
    let trusted = seats.iter().any(|seat| seat.leg == newest && seat.role == Role::InSync);
    let first = seats.iter().find(|seat| seat.role == Role::InSync).map(|seat| seat.leg);
    let first = if trusted { Some(newest) } else { first };
    let standing = |seat: &Seat| match seat.role {
        Role::InSync if dirty && Some(seat.leg) != first && !mutated(Mutation::UncleanNotCopied) => {
            Standing::Rebuilding
        }
        Role::InSync => Standing::InSync,
        Role::Stale | Role::New => Standing::Rebuilding,
        Role::Missing => Standing::Away,
    };
    let legs = handles.into_iter().zip(seats).map(|(handle, seat)| Leg {
        handle,
        gate: Gate::new(context, settings.capacity),
        number: seat.leg,
        standing: std::cell::Cell::new(standing(seat)),
        confirmed: std::cell::Cell::new(standing(seat) == Standing::InSync),
        carries: std::cell::Cell::default(),
    });
    legs.collect()
}
