//! Which legs belong together, which of them can be trusted, and which may run alone. Decides only.
//!
//! Every opening, every loss and every return of a leg begins a generation with a name of its own, written to all legs
//! that take part before anything is answered in it. A generation says of every leg whether it is in sync, and of those
//! that are not, which generation they stopped at. So each leg is one of:
//!
//! - *in sync*: the newest superblock says so, and the leg carries that generation or, if the power failed while it was
//!   being written, the one that it carried before;
//! - *stale*: the newest superblock says that it was left behind, and the leg carries the generation that it was left at;
//!   what it lacks is in the bitmap;
//! - *old*: it carries a generation that the newest superblock's history names, or its bitmap is older than that
//!   superblock knows the leg's to be: somebody has put back a copy of the leg. Or the volume below says that it went back. All that was answered while it was copied
//!   is on the others too; what it lacks nobody has written down, so that it is copied whole;
//! - *diverged*: it carries a generation that the others know nothing of. It was opened without them, or it is a copy older
//!   than their history. Nobody but a person can say which is right.
//!
//! The age of a bitmap counts the writes of its blocks. Each goes to all legs that take part, and is durable on them before
//! the next one begins: a power cut leaves their ages one apart at most. A copy that is one behind lacks nothing beyond the
//! regions whose bits are set on it or on the others, for a bit is set before a write and cleared by a further one.
//!
//! There is no quorum: with two legs none can tell the other's loss from its own. A leg opens without another exactly
//! if its superblock says that the other was left behind; everything else is refused with the setting that accepts it.

use super::superblock::{Entry, Generation, Super};

/// The generation that is written to all legs before the one in which a new mirror begins to answer.
pub const FIRST: u64 = 1;

/// What was found on a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It cannot be read: why.
    Missing(String),
    /// Nothing was ever written there.
    Blank,
    /// Something else was written there: where superblocks and bitmap of this mirror begin, and where they end.
    Foreign { from: u64, to: u64 },
    /// A leg of a mirror of another version of this layer.
    OtherVersion,
    /// A leg of a mirror.
    Leg(Super),
}

impl Found {
    fn went_back(&self) -> bool {
        matches!(self, Self::Leg(found) if found.went_back)
    }

    fn as_if_whole(&self) -> Self {
        match self {
            Self::Leg(found) => Self::Leg(Super { went_back: false, ..found.clone() }),
            other => other.clone(),
        }
    }
}

/// What a leg is from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It holds everything.
    InSync,
    /// It lacks what the bitmap says.
    Stale,
    /// It holds nothing of the mirror.
    New,
    /// It is not there.
    Missing,
}

/// A leg and its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegRole {
    /// Its number in the mirror.
    pub leg: usize,
    /// What it is.
    pub role: Role,
}

/// How to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// All legs are blank: a new mirror.
    Create,
    /// The legs belong together.
    Open {
        /// The newest superblock.
        newest: Super,
        /// By the order in the settings.
        roles: Vec<LegRole>,
    },
}

/// Which legs may go on without the others, and in which generation. A leg that was given up carries that generation as
/// well: it must not open by the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Force {
    /// The generation that they carry.
    pub generation: Generation,
    /// Their numbers in the mirror. Earlier versions named none: that has no effect.
    pub legs: Vec<usize>,
}

impl std::fmt::Display for Force {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.generation)?;
        self.legs.iter().try_for_each(|leg| write!(f, "{leg}"))
    }
}

impl std::str::FromStr for Force {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (generation, legs) = text.split_once(':').unwrap_or((text, ""));
        let legs = legs.chars().map(|digit| digit.to_digit(10).map(|leg| leg as usize));
        let legs =
            legs.collect::<Option<_>>().ok_or_else(|| format!("`{text}` names no legs behind its colon"))?;
        Ok(Self { generation: generation.parse()?, legs })
    }
}

/// What a person has accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Goes on from some legs, whatever the missing ones hold.
    pub force: Option<Force>,
    /// Throws away what the legs of these generations hold.
    pub discard: Vec<Generation>,
}

impl Accepted {
    fn discards(&self, found: &Super) -> bool {
        self.discard.contains(&found.current)
    }

    /// Whether a leg of a generation may go on.
    fn forces(&self, generation: Generation, leg: usize) -> bool {
        let forces = |force: &Force| {
            // The one that was given up carries that generation too.
            force.generation == generation && force.legs.contains(&leg)
        };
        self.force.as_ref().is_some_and(forces)
    }
}

/// Whether `one` knows why `other` is as it is.
fn explains(one: &Super, other: &Super) -> bool {
    let entry = &one.entries[other.leg];
    if other.current == one.current || entry.in_sync && other.current == one.previous {
        return true;
    }
    entry.left_at.contains(&other.current) || one.history.contains(&other.current)
}

/// The age that a leg's bitmap has at least, if it is the leg and no old copy.
pub fn least_age(newest: &Super, leg: usize) -> u64 {
    let entry = &newest.entries[leg];
    let takes_part = entry.in_sync || entry.left_at[0] == newest.current;
    if takes_part { entry.left_age.max(newest.age.saturating_sub(1)) } else { entry.left_age }
}

/// Whether this is a copy of the leg from earlier.
fn is_old(newest: &Super, found: &Super) -> bool {
    let entry = &newest.entries[found.leg];
    let in_turn = found.current == newest.current
        || entry.in_sync && found.current == newest.previous
        || entry.left_at.contains(&found.current);
    !in_turn || found.went_back || found.age < least_age(newest, found.leg)
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The superblocks that were found, and the names of their legs.
fn supers<'a>(found: &'a [Found], names: &'a [&'a str]) -> impl Iterator<Item = (&'a Super, &'a str)> {
    let pairs = found.iter().zip(names);
    pairs.filter_map(|(found, name)| if let Found::Leg(found) = found { Some((found, *name)) } else { None })
}

/// Decides how to open legs with these names, in the order of the settings.
///
/// # Errors
/// Why they must not be opened, and what a person may do about it.
pub fn decide(found: &[Found], names: &[&str], accepted: &Accepted) -> Result<Decision, String> {
    let foreign = found.iter().zip(names).find_map(|(found, name)| match found {
        Found::Foreign { from, to } => Some((name, from, to)),
        _ => None,
    });
    if let Some((name, from, to)) = foreign {
        return Err(format!(
            "leg `{name}` holds something that is no mirror's where the superblocks go (bytes {from} to {to}): it is another volume, \
             or has another size than when the mirror was made; name the right volume, or give it the size that it had. Only if \
             nobody needs what it holds: write zeroes over these bytes, over its first and its last MiB, and open again"
        ));
    }
    if let Some((_, name)) = found.iter().zip(names).find(|(found, _)| **found == Found::OtherVersion) {
        return Err(format!(
            "leg `{name}` was written by another version of Fathom, and this one cannot read it; open it with that version"
        ));
    }
    // In the first generation nothing was ever answered: the power failed while the mirror was created.
    if supers(found, names).all(|(found, _)| accepted.discards(found) || found.current.number <= FIRST) {
        return create(found, names);
    }
    if found.iter().all(|found| !found.went_back()) {
        return belong(found, names, accepted);
    }
    // What one lacks that went back is accepted as lost if no other leg holds it.
    let whole: Vec<Found> = found.iter().map(Found::as_if_whole).collect();
    belong(found, names, accepted).or_else(|_| belong(&whole, names, accepted))
}

/// How to go on with legs of which none is foreign.
fn belong(found: &[Found], names: &[&str], accepted: &Accepted) -> Result<Decision, String> {
    let discarded = |found: &Super| accepted.discards(found);
    let supers: Vec<(&Super, &str)> = supers(found, names).filter(|(found, _)| !discarded(found)).collect();
    let ways = |stays: &Stays| ways_out(found, names, accepted, stays);
    same_mirror(found.len(), supers.clone(), ways)?;
    let newest = newest(supers, accepted, ways)?;
    let roles = roles(&newest, found, discarded, accepted);
    missed(&newest, &roles, found, names, accepted)?;
    Ok(Decision::Open { newest, roles })
}

fn create(found: &[Found], names: &[&str]) -> Result<Decision, String> {
    for (found, name) in found.iter().zip(names) {
        match found {
            Found::Missing(why) => {
                return Err(format!(
                    "leg `{name}` is missing, and a mirror is created of all its legs: {why}; for a new mirror, give each file a \
                     `size` and have `fathomd --create` make it"
                ));
            }
            Found::Leg(found) if found.current.number > FIRST => {
                return Err(format!(
                    "leg `{name}` of generation {} is to be discarded, and no other leg of its mirror is there; take `discard` \
                     out of the settings",
                    found.current
                ));
            }
            Found::Blank | Found::Foreign { .. } | Found::OtherVersion | Found::Leg(_) => {}
        }
    }
    Ok(Decision::Create)
}

fn same_mirror(
    count: usize,
    supers: Vec<(&Super, &str)>,
    ways_out: impl Fn(&Stays) -> String,
) -> Result<(), String> {
    let (first, first_name) = supers[0];
    for (found, name) in &supers {
        if found.uuid != first.uuid {
            return Err(format!(
                "legs `{first_name}` (generation {}) and `{name}` (generation {}) are of different mirrors; name the right \
                 volume, or keep one and throw away what the others hold: {}",
                first.current,
                found.current,
                ways_out(&|kept, other| kept.uuid == other.uuid)
            ));
        }
        if found.entries.len() != count {
            let made_of = found.entries.len();
            let what = if made_of > count {
                "name all of them, also one that is missing"
            } else {
                "a mirror keeps the number of legs that it was made with: name those alone. For more of them, make a new mirror of \
                 other volumes and copy what this one shows"
            };
            return Err(format!("leg `{name}` is one of {made_of}, and the settings name {count}; {what}"));
        }
    }
    for (index, (found, name)) in supers.iter().enumerate() {
        if let Some((other, twin)) = supers[..index].iter().find(|(other, _)| other.leg == found.leg) {
            return Err(format!(
                "legs `{twin}` and `{name}` are copies of one leg (generations {} and {}). Name each leg once; if the other leg \
                 was overwritten with the copy, put that leg back, or write zeroes over the first and the last MiB of the copy, and \
                 it is copied again from the others",
                other.current, found.current
            ));
        }
    }
    Ok(())
}

fn newest(
    supers: Vec<(&Super, &str)>,
    accepted: &Accepted,
    ways_out: impl Fn(&Stays) -> String,
) -> Result<Super, String> {
    let knows_all = |one: &Super| supers.iter().all(|(other, _)| explains(one, other));
    // A superblock may say that its own leg is stale and another one counts: the power failed before that one had it.
    let counts = |one: &Super, other: &Super| one.entries[other.leg].in_sync && !is_old(one, other);
    let trusted = |one: &Super| supers.iter().any(|(other, _)| counts(one, other));
    let may_open = |one: &Super| trusted(one) || opens_alone(one, accepted);
    let chosen = supers.iter().filter(|(found, _)| knows_all(found) && may_open(found));
    // One that needs not be told to; the newest of them; of equals the first: max_by_key takes the last.
    let rank = |found: &Super| {
        (trusted(found), found.entries[found.leg].in_sync, found.current, !found.went_back, found.age)
    };
    let best = chosen.rev().max_by_key(|(found, _)| rank(found));
    if let Some((found, _)) = best {
        return Ok((*found).clone());
    }
    let told =
        list(supers.iter().map(|(found, name)| format!("`{name}` is of generation {}", found.current)));
    if supers.iter().any(|(found, _)| knows_all(found)) {
        let (best, name) = supers
            .iter()
            .filter(|(found, _)| knows_all(found))
            .max_by_key(|(found, _)| found.current)
            .expect("just found");
        return Err(format!(
            "the legs that are there were left behind by the others and lack writes that were answered ({told}); bring the \
             others back, or, if they are lost, continue with what `{name}` holds: force = \"{}\"",
            Force { generation: best.current, legs: vec![best.leg] }
        ));
    }
    Err(format!(
        "the legs continued without knowing of each other ({told}): each may hold writes that were answered. Keep one and \
         throw away what the others hold: {}",
        ways_out(&explains)
    ))
}

/// Whether a leg can stay beside the one that is kept.
type Stays = dyn Fn(&Super, &Super) -> bool;

/// For each leg that may be kept, the one setting that throws away what all legs hold that cannot stay beside it: what was
/// accepted before is part of it, since it takes that setting's place.
fn ways_out(found: &[Found], names: &[&str], accepted: &Accepted, stays: &Stays) -> String {
    let mut ways: Vec<(Vec<Generation>, String)> = Vec::new();
    let legs = || supers(found, names);
    for (kept, _) in legs().filter(|(found, _)| !accepted.discards(found)) {
        let (mut gone, mut stay, mut discard) = (Vec::new(), Vec::new(), Vec::new());
        for (other, name) in legs() {
            if !accepted.discards(other) && stays(kept, other) {
                stay.push(name);
                continue;
            }
            gone.push(name);
            if !discard.contains(&other.current) {
                discard.push(other.current);
            }
        }
        let (hold, remain) =
            (if gone.len() == 1 { "holds" } else { "hold" }, if stay.len() == 1 { "stays" } else { "stay" });
        let text =
            format!("{} (what {} {hold}; {} {remain})", setting(&discard), legs_of(&gone), legs_of(&stay));
        if !ways.iter().any(|(known, _)| *known == discard) {
            ways.push((discard, text));
        }
    }
    let opens = |discard: &[Generation]| {
        decide(found, names, &Accepted { force: accepted.force.clone(), discard: discard.to_vec() }).is_ok()
    };
    let (good, others): (Vec<_>, Vec<_>) = ways.into_iter().partition(|(discard, _)| opens(discard));
    let told = if good.is_empty() { others } else { good };
    told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" or ")
}

/// The setting as it is written.
pub fn setting(discard: &[Generation]) -> String {
    match discard {
        [one] => format!("discard = \"{one}\""),
        several => format!("discard = [{}]", list(several.iter().map(|one| format!("\"{one}\"")))),
    }
}

/// ``` `a`, `b` and `c` ```
fn legs_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Whether a leg counts although no present leg is in sync by its superblock.
fn opens_alone(one: &Super, accepted: &Accepted) -> bool {
    accepted.forces(one.current, one.leg)
}

fn roles(
    newest: &Super,
    found: &[Found],
    discarded: impl Fn(&Super) -> bool,
    accepted: &Accepted,
) -> Vec<LegRole> {
    let kept = |found: &Found| match found {
        Found::Leg(found) if !discarded(found) => Some(found.clone()),
        _ => None,
    };
    let in_sync = |found: &Found| {
        kept(found).is_some_and(|found| newest.entries[found.leg].in_sync && !is_old(newest, &found))
    };
    let alone = !found.iter().any(in_sync) && opens_alone(newest, accepted);
    let mut free: Vec<usize> = (0..newest.entries.len())
        .filter(|leg| found.iter().all(|found| kept(found).is_none_or(|found| found.leg != *leg)))
        .collect();
    // A leg left behind makes room for a blank one sooner than one that is in sync.
    free.sort_by_key(|leg| newest.entries[*leg].in_sync);
    let mut seat_of = |role| LegRole { leg: free.remove(0), role };
    let blank = |found: &Found| kept(found).is_none() && !matches!(found, Found::Missing(_));
    let mut roles: Vec<Option<LegRole>> = found
        .iter()
        .map(|found| match kept(found) {
            Some(found) => Some(LegRole { leg: found.leg, role: role(newest, &found, alone) }),
            None => blank(found).then(|| seat_of(Role::New)),
        })
        .collect();
    for role in &mut roles {
        role.get_or_insert_with(|| seat_of(Role::Missing));
    }
    roles.into_iter().flatten().collect()
}

fn role(newest: &Super, found: &Super, alone: bool) -> Role {
    if is_old(newest, found) {
        return Role::New;
    }
    let counts = newest.entries[found.leg].in_sync || alone && found.leg == newest.leg;
    if counts { Role::InSync } else { Role::Stale }
}

/// Refuses if a leg that was in sync is not there.
fn missed(
    newest: &Super,
    roles: &[LegRole],
    found: &[Found],
    names: &[&str],
    accepted: &Accepted,
) -> Result<(), String> {
    // What an old copy holds was answered when the others were there, and they hold more.
    let is_copy = |found: &Found| matches!(found, Found::Leg(found) if !accepted.discards(found));
    let gone = |role: &LegRole, found: &Found| {
        matches!(role.role, Role::Missing | Role::New) && newest.entries[role.leg].in_sync && !is_copy(found)
    };
    let all_gone = || roles.iter().zip(found).zip(names).filter(|((role, found), _)| gone(role, found));
    let mut missed = all_gone().map(|((_, found), name)| match found {
        Found::Missing(why) => format!("`{name}` cannot be read ({why})"),
        Found::Leg(_) => format!("what `{name}` holds is to be discarded"),
        _ => format!("`{name}` has no superblock of a mirror"),
    });
    let Some(first) = missed.next() else { return Ok(()) };
    let names = list(std::iter::once(first).chain(missed));
    let discarding = found.iter().any(|found| matches!(found, Found::Leg(found) if accepted.discards(found)));
    let forces = |leg| accepted.forces(newest.current, leg);
    let forced = forces(newest.leg) && !all_gone().any(|((role, _), _)| forces(role.leg));
    if forced || discarding {
        return Ok(());
    }
    let going_on = roles.iter().filter(|role| role.role == Role::InSync).map(|role| role.leg);
    Err(format!(
        "a leg is missing that was in sync and may hold newer writes: {names}. Bring it back, or, if it is lost, continue without \
         it: force = \"{}\"",
        Force { generation: newest.current, legs: going_on.collect() }
    ))
}

/// The entry of a leg that is left behind: it carries one of these generations unless it continues alone.
pub fn left(current: Generation, previous: Generation) -> Entry {
    Entry { in_sync: false, left_at: [current, previous], left_age: 0 }
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
