//! Which extent is where, and which moves make the members equally full. Knows no device and no task.

use std::collections::{BTreeMap, BTreeSet};

use fathom_runtime::Random;

/// Where one extent is: a slot of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalExtent {
    /// Index of the member.
    pub member: usize,
    /// Number of the slot on it.
    pub slot: u32,
}

/// A move that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Number of the extent.
    pub extent: usize,
    /// Where it is.
    pub from: PhysicalExtent,
    /// Where it will be; the slot is reserved for it.
    pub to: PhysicalExtent,
}

#[derive(Debug, Clone)]
struct Member {
    slots: u32,
    /// Places from this one on were never taken.
    fresh: u32,
    /// Free slots before that one.
    free: BTreeSet<u32>,
    /// Extents on it that are not on their way to another.
    held: Vec<usize>,
    /// Extents that are on it when all moves have ended.
    planned: u32,
}

impl Member {
    /// Takes a given slot; false if it is taken, or is none.
    fn take(&mut self, slot: u32) -> bool {
        if slot >= self.slots {
            return false;
        }
        if slot < self.fresh {
            return self.free.remove(&slot);
        }
        self.free.extend(self.fresh..slot);
        self.fresh = slot + 1;
        true
    }

    /// The first free slot, which is taken then.
    fn take_first(&mut self) -> Option<u32> {
        let slot = self.free.first().copied().unwrap_or(self.fresh);
        self.take(slot).then_some(slot)
    }
}

/// How full a member is, in extents.
#[derive(Debug, Clone, Copy)]
struct Fill {
    slots: u64,
    planned: u64,
    held: u64,
    free: u64,
}

/// Where every extent is.
#[derive(Debug)]
pub struct Map {
    places: Vec<PhysicalExtent>,
    members: Vec<Member>,
    moving: BTreeMap<usize, Claim>,
}

/// From which member to which the next extent goes: from the fullest to the emptiest for which that does not turn them round.
fn next_pair(fills: &[Fill]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..fills.len()).collect();
    let which = |member: usize| (fills[member].planned, fills[member].slots);
    order.sort_by(|a, b| {
        let ((planned, slots), (others, theirs)) = (which(*a), which(*b));
        (planned * theirs).cmp(&(others * slots)).then(b.cmp(a))
    });
    let from = order.iter().rev().filter(|member| fills[**member].held > 0);
    from.flat_map(|from| order.iter().filter(|to| fills[**to].free > 0).map(move |to| (*from, *to))).find(
        |(from, to)| {
            let ((planned, slots), (others, theirs)) = (which(*from), which(*to));
            from != to && (planned - 1) * theirs >= (others + 1) * slots
        },
    )
}

impl Map {
    /// So many extents on the first `filled` members, equally full; None if they have too few slots. `slots` are the slots
    /// of each member.
    pub fn create(slots: &[u32], extents: usize, filled: usize) -> Option<Self> {
        let mut used = vec![0_u64; slots.len()];
        let mut places = Vec::with_capacity(extents);
        for _ in 0..extents {
            let room = |member: &usize| used[*member] < u64::from(slots[*member]);
            let member = (0..filled.min(slots.len()))
                .filter(room)
                .min_by(|a, b| (used[*a] * u64::from(slots[*b])).cmp(&(used[*b] * u64::from(slots[*a]))))?;
            places.push(PhysicalExtent { member, slot: used[member] as u32 });
            used[member] += 1;
        }
        Self::of(slots, places).ok()
    }

    /// A map as it was written.
    ///
    /// # Errors
    /// The first slot that cannot be.
    pub fn of(slots: &[u32], places: Vec<PhysicalExtent>) -> Result<Self, PhysicalExtent> {
        let member = |slots: &u32| Member {
            slots: *slots,
            fresh: 0,
            free: BTreeSet::new(),
            held: Vec::new(),
            planned: 0,
        };
        let mut members: Vec<Member> = slots.iter().map(member).collect();
        for (extent, place) in places.iter().enumerate() {
            let member = members.get_mut(place.member).ok_or(*place)?;
            if !member.take(place.slot) {
                return Err(*place);
            }
            member.held.push(extent);
            member.planned += 1;
        }
        Ok(Self { places, members, moving: BTreeMap::new() })
    }

    /// Where an extent is.
    #[inline]
    pub fn place(&self, extent: usize) -> PhysicalExtent {
        self.places[extent]
    }

    /// All slots, by extent.
    pub fn places(&self) -> &[PhysicalExtent] {
        &self.places
    }

    /// Extents on a member.
    pub fn lie_on(&self, member: usize) -> usize {
        let leaving = self.moving.values().filter(|claim| claim.from.member == member).count();
        self.members[member].held.len() + leaving
    }

    /// How much of a member is in use, in percent.
    pub fn fill(&self, member: usize) -> f64 {
        100.0 * self.lie_on(member) as f64 / f64::from(self.members[member].slots.max(1))
    }

    fn fills(&self) -> Vec<Fill> {
        let fill = |member: &Member| Fill {
            slots: u64::from(member.slots),
            planned: u64::from(member.planned),
            held: member.held.len() as u64,
            free: member.free.len() as u64 + u64::from(member.slots - member.fresh),
        };
        self.members.iter().map(fill).collect()
    }

    /// Moves that are left until the members are equally full, without those that have begun; a few more or less, where
    /// members differ much in size.
    pub fn moves_left(&self) -> u64 {
        let mut fills = self.fills();
        let mut moves = 0;
        while let Some((from, to)) = next_pair(&fills) {
            fills[from].planned -= 1;
            fills[from].held -= 1;
            fills[to].planned += 1;
            fills[to].free -= 1;
            moves += 1;
        }
        moves
    }

    /// Begins the next move; None if no further one makes the members more equally full. Which extent of the fullest member
    /// it is, is drawn: what is accessed often is spread like everything else.
    pub fn begin(&mut self, random: &mut Random) -> Option<Claim> {
        let (from, to) = next_pair(&self.fills())?;
        let target = &mut self.members[to];
        let slot = target.take_first()?;
        target.planned += 1;
        let source = &mut self.members[from];
        source.planned -= 1;
        let drawn = random.below(source.held.len() as u64) as usize;
        let extent = source.held.swap_remove(drawn);
        let claim = Claim { extent, from: self.places[extent], to: PhysicalExtent { member: to, slot } };
        self.moving.insert(extent, claim);
        Some(claim)
    }

    /// Whether a move has begun and not ended.
    pub fn is_moving(&self) -> bool {
        !self.moving.is_empty()
    }

    /// A move has ended: the extent is at its new slot, the old one is free.
    pub fn finish(&mut self, claim: Claim) {
        self.moving.remove(&claim.extent);
        self.places[claim.extent] = claim.to;
        self.members[claim.from.member].free.insert(claim.from.slot);
        self.members[claim.to.member].held.push(claim.extent);
    }

    /// A move has failed: the extent stays where it is.
    pub fn abandon(&mut self, claim: Claim) {
        self.moving.remove(&claim.extent);
        let target = &mut self.members[claim.to.member];
        target.free.insert(claim.to.slot);
        target.planned -= 1;
        let source = &mut self.members[claim.from.member];
        source.planned += 1;
        source.held.push(claim.extent);
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::Random;
    use proptest::prelude::*;

    use super::{Map, PhysicalExtent};

    fn spread(map: &Map, slots: &[u32]) -> (f64, f64) {
        let fills = (0..slots.len()).map(|member| map.fill(member));
        fills.fold((f64::MAX, 0.0), |(least, most), fill| (least.min(fill), most.max(fill)))
    }

    proptest! {
        /// Whatever the sizes, and whichever moves fail on the way: every extent has a slot of its own all the time, and in
        /// the end no member is fuller than another by as much as an extent of each.
        #[test]
        fn moves_end_with_members_that_are_equally_full(
            slots in prop::collection::vec(1..60_u32, 1..6), added in prop::collection::vec(1..60_u32, 0..4),
            fill in 0..=100_u32, fails in prop::collection::vec(any::<bool>(), 1..20), seed in any::<u64>(),
        ) {
            let filled = slots.len();
            let extents = (slots.iter().sum::<u32>() * fill / 100) as usize;
            let all: Vec<u32> = slots.into_iter().chain(added).collect();
            let mut map = Map::create(&all, extents, filled).expect("there is room");
            prop_assert!((filled..all.len()).all(|member| map.lie_on(member) == 0));
            let mut random = Random::new(seed, "moves");
            let (mut open, mut fails) = (Vec::new(), fails.into_iter());
            loop {
                while open.len() < 3 && let Some(claim) = map.begin(&mut random) {
                    prop_assert_eq!(claim.from, map.place(claim.extent));
                    open.push(claim);
                }
                if open.is_empty() {
                    break;
                }
                let claim = open.swap_remove(random.below(open.len() as u64) as usize);
                if fails.next().unwrap_or(false) {
                    map.abandon(claim);
                } else {
                    map.finish(claim);
                }
                let reopened = Map::of(&all, map.places().to_vec());
                prop_assert!(reopened.is_ok(), "two extents at {:?}", reopened.err());
            }
            prop_assert!(!map.is_moving());
            prop_assert_eq!(map.moves_left(), 0);
            prop_assert_eq!((0..all.len()).map(|member| map.lie_on(member)).sum::<usize>(), extents);
            for (full, empty) in (0..all.len()).flat_map(|one| (0..all.len()).map(move |other| (one, other))) {
                let (more, less) = (map.fill(full), map.fill(empty));
                let both = 100.0 / f64::from(all[full]) + 100.0 / f64::from(all[empty]);
                prop_assert!(more - less < both, "{more} % and {less} % of {} and {}", all[full], all[empty]);
            }
        }

        #[test]
        fn a_map_with_a_place_twice_or_beyond_a_member_is_refused(
            slots in prop::collection::vec(1..9_u32, 1..4), places in prop::collection::vec((0..5_usize, 0..10_u32), 0..12),
        ) {
            let places: Vec<PhysicalExtent> = places.into_iter().map(|(member, slot)| PhysicalExtent { member, slot }).collect();
            let fits = |place: &PhysicalExtent| slots.get(place.member).is_some_and(|slots| place.slot < *slots);
            let twice = (1..places.len()).any(|index| places[..index].contains(&places[index]));
            let right = places.iter().all(fits) && !twice;
            prop_assert_eq!(Map::of(&slots, places).is_ok(), right);
        }
    }

    #[test]
    fn a_fifth_member_beside_four_that_are_four_fifths_full_takes_a_fifth_of_what_they_hold() {
        let map = Map::create(&[100, 100, 100, 100, 100], 320, 4).expect("there is room");
        assert_eq!(spread(&map, &[100; 5]), (0.0, 80.0));
        assert_eq!(map.moves_left(), 64);
        assert!(Map::create(&[100, 100, 100], 201, 2).is_none(), "they hold 200");
    }
}
