//! Claims about who belongs together: a small world of legs that are opened, lost, returned and copied at random, beside
//! a model that knows which writes each leg holds.

use proptest::prelude::*;

use super::{Accepted, Decision, Force, Found, Role, decide, left};
use crate::mirror::superblock::{Entry, Generation, Super};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn fresh(legs: usize) -> Vec<Super> {
    let entries = vec![Entry { in_sync: true, ..Entry::default() }; legs];
    let current = Generation { number: 2, nonce: 1 };
    (0..legs)
        .map(|leg| Super {
            counter: 1,
            uuid: [1; 16],
            leg,
            region: 1 << 20,
            size: 1 << 30,
            current,
            previous: Generation::default(),
            entries: entries.clone(),
            age: 0,
            history: Vec::new(),
            went_back: false,
        })
        .collect()
}

fn found(legs: &[Super]) -> Vec<Found> {
    legs.iter().cloned().map(Found::Leg).collect()
}

fn roles(decision: Result<Decision, String>) -> Vec<Role> {
    match decision.expect("it opens") {
        Decision::Open { roles, .. } => roles.iter().map(|role| role.role).collect(),
        Decision::Create => panic!("nothing is blank"),
    }
}

/// Begins a generation on those present; the others are left behind.
fn go_on(legs: &mut [Super], present: &[usize], nonce: u64) {
    let base = legs[present[0]].clone();
    let mut entries = base.entries.clone();
    for (leg, entry) in entries.iter_mut().enumerate() {
        if !present.contains(&leg) && entry.in_sync {
            *entry = left(base.current, base.previous);
        }
    }
    let current = Generation { number: base.current.number + 1, nonce };
    for leg in present {
        let mut history = base.history.clone();
        history.insert(0, base.current);
        let entries = entries.clone();
        legs[*leg] = Super { leg: *leg, current, previous: base.current, entries, history, ..base.clone() };
    }
}

#[test]
fn a_mirror_keeps_its_number_of_legs() {
    let refusal = |legs: &[Super], names: &[&str]| {
        let mut found = found(legs);
        found.resize(names.len(), Found::Blank);
        decide(&found, names, &Accepted::default()).expect_err("it has another number of legs")
    };
    let added = refusal(&fresh(2), &NAMES);
    assert!(added.contains("is one of 2") && added.contains("make a new mirror"), "{added}");
    let left_out = refusal(&fresh(3)[..2], &NAMES[..2]);
    assert!(left_out.contains("is one of 3") && left_out.contains("name all of them"), "{left_out}");
}

#[test]
fn blank_legs_make_a_new_mirror_and_a_missing_one_does_not() {
    assert_eq!(decide(&[Found::Blank, Found::Blank], &NAMES, &Accepted::default()), Ok(Decision::Create));
    let refusal = decide(&[Found::Blank, Found::Missing("gone".into())], &NAMES, &Accepted::default());
    assert!(refusal.expect_err("it must not").contains("leg `b` is missing"));
    let foreign = Found::Foreign { from: 1_036_288, to: 1_048_576 };
    let refusal = decide(&[foreign, Found::Blank], &NAMES, &Accepted::default()).expect_err("it must not");
    assert!(refusal.contains("leg `a` holds something"), "{refusal}");
    assert!(refusal.contains("bytes 1036288 to 1048576"), "{refusal}");
}

#[test]
fn a_power_cut_while_a_mirror_is_created_leaves_one_to_create() {
    let mut leg = fresh(2).remove(0);
    leg.current.number = 1;
    let begun = [Found::Leg(leg.clone()), Found::Blank];
    assert_eq!(decide(&begun, &NAMES, &Accepted::default()), Ok(Decision::Create));
    assert!(decide(&[Found::Leg(leg), Found::Missing("away".into())], &NAMES, &Accepted::default()).is_err());
}

#[test]
fn a_leg_left_behind_is_stale_when_it_returns_and_may_stay_away() {
    let mut legs = fresh(2);
    go_on(&mut legs, &[0], 7);
    assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, Role::Stale]);
    let alone = [Found::Leg(legs[0].clone()), Found::Missing("gone".into())];
    assert_eq!(roles(decide(&alone, &NAMES, &Accepted::default())), [Role::InSync, Role::Missing]);
    let replaced = [Found::Leg(legs[0].clone()), Found::Blank];
    assert_eq!(roles(decide(&replaced, &NAMES, &Accepted::default())), [Role::InSync, Role::New]);
}

#[test]
fn a_leg_that_does_not_know_that_it_was_left_opens_only_if_told_to() {
    let mut legs = fresh(2);
    go_on(&mut legs, &[0], 7);
    let alone = [Found::Missing("gone".into()), Found::Leg(legs[1].clone())];
    let refusal = decide(&alone, &NAMES, &Accepted::default()).expect_err("leg b lacks writes");
    let force = Some(offered(&refusal));
    assert_eq!(force, Some(Force { generation: legs[1].current, legs: vec![1] }));
    assert_eq!(
        roles(decide(&alone, &NAMES, &Accepted { force, discard: Vec::new() })),
        [Role::Missing, Role::InSync]
    );
    let other = Force { generation: Generation { number: 1, nonce: 9 }, legs: vec![1] };
    let other = Accepted { force: Some(other), discard: Vec::new() };
    assert!(decide(&alone, &NAMES, &other).is_err(), "what was accepted once is not accepted for ever");
}

/// The setting that a refusal names.
fn offered(refusal: &str) -> Force {
    let (_, remedy) = refusal.split_once("force = \"").expect("the refusal names its remedy");
    remedy.split('"').next().and_then(|text| text.parse().ok()).expect("it is read")
}

#[test]
fn a_force_left_in_the_settings_opens_no_leg_that_was_given_up_by_it() {
    let mut legs = fresh(3);
    let without = |legs: &[Super], gone: &[usize]| {
        let mut found = found(legs);
        gone.iter().for_each(|leg| found[*leg] = Found::Missing("away".into()));
        found
    };
    let refusal = decide(&without(&legs, &[2]), &NAMES, &Accepted::default()).expect_err("leg c was in sync");
    let force = offered(&refusal);
    assert_eq!(force.legs, [0, 1]);
    let left = Accepted { force: Some(force.clone()), discard: Vec::new() };
    assert_eq!(
        roles(decide(&without(&legs, &[2]), &NAMES, &left)),
        [Role::InSync, Role::InSync, Role::Missing]
    );
    // Before the two went on: with one of them, or with the other one only, something else would be given up.
    assert!(decide(&without(&legs, &[1, 2]), &NAMES, &left).is_err(), "leg b is not there");
    go_on(&mut legs, &[0, 1], 7);
    assert!(decide(&without(&legs, &[0, 1]), &NAMES, &left).is_err(), "leg c lacks what followed");
    let unnamed = Accepted { force: Some(Force { legs: Vec::new(), ..force }), discard: Vec::new() };
    assert!(decide(&without(&fresh(3), &[2]), &NAMES, &unnamed).is_err(), "earlier versions named no legs");
}

#[test]
fn legs_that_went_on_apart_are_refused_until_one_is_thrown_away() {
    let mut legs = fresh(2);
    let mut others = legs.clone();
    go_on(&mut legs, &[0], 7);
    go_on(&mut others, &[1], 8);
    legs[1] = others[1].clone();
    let refusal = decide(&found(&legs), &NAMES, &Accepted::default()).expect_err("both hold writes");
    let each = "discard = \"3-0000000000000008\" (what `b` holds; `a` stays) or discard = \"3-0000000000000007\" (what `a` \
                holds; `b` stays)";
    assert!(refusal.contains("without knowing of each other") && refusal.ends_with(each), "{refusal}");
    let accepted = Accepted { force: None, discard: vec![legs[1].current] };
    assert_eq!(roles(decide(&found(&legs), &NAMES, &accepted)), [Role::InSync, Role::New]);
}

/// The generations of each `discard` that a refusal offers.
fn offers(refusal: &str) -> Vec<Vec<Generation>> {
    let generations = |value: &str| value.split('"').filter_map(|part| part.parse().ok()).collect();
    refusal
        .split("discard = ")
        .skip(1)
        .filter_map(|offer| offer.split(" (").next())
        .map(generations)
        .collect()
}

#[test]
fn of_three_legs_that_went_on_apart_each_may_stay_by_one_setting() {
    let apart: Vec<Super> = (0..3)
        .map(|leg| {
            let mut legs = fresh(3);
            go_on(&mut legs, &[leg], 7 + leg as u64);
            legs.remove(leg)
        })
        .collect();
    let refusal = decide(&found(&apart), &NAMES, &Accepted::default()).expect_err("all hold writes");
    let first =
        "discard = [\"3-0000000000000008\", \"3-0000000000000009\"] (what `b` and `c` hold; `a` stays)";
    assert!(refusal.contains(first), "{refusal}");
    let offered = offers(&refusal);
    assert_eq!(offered.len(), 3, "{refusal}");
    for (leg, discard) in offered.into_iter().enumerate() {
        let accepted = Accepted { force: None, discard };
        let roles = roles(decide(&found(&apart), &NAMES, &accepted));
        assert!(
            (0..3).all(|other| roles[other] == if other == leg { Role::InSync } else { Role::New }),
            "{roles:?}"
        );
    }
    // Whoever has given up one of them already is told of it too: the setting takes the place of the one that is there.
    let one = Accepted { force: None, discard: vec![apart[1].current] };
    let refusal = decide(&found(&apart), &NAMES, &one).expect_err("two hold writes");
    assert_eq!(offers(&refusal).len(), 2, "{refusal}");
    for discard in offers(&refusal) {
        assert!(discard.contains(&apart[1].current) && discard.len() == 2, "{refusal}");
        decide(&found(&apart), &NAMES, &Accepted { force: None, discard }).expect("it opens");
    }
}

#[test]
fn a_leg_that_belongs_to_the_one_that_stays_is_kept_with_it() {
    let mut legs = fresh(3);
    let mut other = legs.clone();
    go_on(&mut legs, &[0, 1], 7);
    go_on(&mut other, &[2], 8);
    legs[2] = other[2].clone();
    let refusal = decide(&found(&legs), &NAMES, &Accepted::default()).expect_err("both sides hold writes");
    assert_eq!(offers(&refusal), [[legs[2].current], [legs[0].current]], "{refusal}");
    assert!(refusal.contains("(what `a` and `b` hold; `c` stays)"), "{refusal}");
}

#[test]
fn legs_of_three_mirrors_each_may_stay_by_one_setting() {
    let mut legs = fresh(3);
    for (number, leg) in legs.iter_mut().enumerate() {
        leg.uuid = [number as u8 + 1; 16];
        leg.current.nonce = number as u64;
    }
    let refusal = decide(&found(&legs), &NAMES, &Accepted::default()).expect_err("different mirrors");
    for (leg, discard) in offers(&refusal).into_iter().enumerate() {
        let roles = roles(decide(&found(&legs), &NAMES, &Accepted { force: None, discard }));
        assert_eq!(roles[leg], Role::InSync, "{refusal}");
    }
    assert_eq!(offers(&refusal).len(), 3, "{refusal}");
}

#[test]
fn an_old_copy_of_a_leg_is_not_taken_for_the_leg() {
    let mut legs = fresh(2);
    let old = legs[1].clone();
    for nonce in 5..9 {
        go_on(&mut legs, &[0, 1], nonce);
    }
    legs[1] = old.clone();
    assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, Role::New]);
    // Nor is it trusted in the other leg's absence, or believed where nobody knows its generation any more.
    let alone = [Found::Missing("away".into()), Found::Leg(old)];
    assert!(decide(&alone, &NAMES, &Accepted::default()).is_err());
    legs[0].history.clear();
    assert!(decide(&found(&legs), &NAMES, &Accepted::default()).is_err());
}

#[test]
fn of_legs_in_one_generation_the_older_is_copied_whole_and_of_equals_the_first_counts() {
    let aged = |ages: [u64; 2]| {
        let mut legs = fresh(2);
        legs.iter_mut().zip(ages).for_each(|(leg, age)| leg.age = age);
        match decide(&found(&legs), &NAMES, &Accepted::default()).expect("it opens") {
            Decision::Open { newest, roles } => (newest.leg, [roles[0].role, roles[1].role]),
            Decision::Create => panic!("nothing is blank"),
        }
    };
    assert_eq!(aged([7, 7]), (0, [Role::InSync, Role::InSync]));
    // What a power cut leaves.
    assert_eq!(aged([7, 6]), (0, [Role::InSync, Role::InSync]));
    assert_eq!(aged([6, 7]), (1, [Role::InSync, Role::InSync]));
    // What only a copy explains.
    assert_eq!(aged([7, 5]), (0, [Role::InSync, Role::New]));
    assert_eq!(aged([5, 7]), (1, [Role::New, Role::InSync]));
}

#[test]
fn a_leg_that_went_back_is_copied_whole_if_another_holds_everything() {
    let mut legs = fresh(2);
    legs[0].went_back = true;
    let opened = decide(&found(&legs), &NAMES, &Accepted::default());
    let Ok(Decision::Open { newest, .. }) = &opened else { panic!("it opens: {opened:?}") };
    assert_eq!((newest.leg, newest.went_back), (1, false));
    assert_eq!(roles(opened), [Role::New, Role::InSync]);
    // Alone it is one that is there, and no more.
    let without = [Found::Leg(legs[0].clone()), Found::Missing("gone".into())];
    assert!(decide(&without, &NAMES, &Accepted::default()).is_err(), "leg b was in sync");
    legs[1].went_back = true;
    let both = decide(&found(&legs), &NAMES, &Accepted::default());
    assert_eq!(roles(both), [Role::InSync, Role::InSync]);
    let mut legs = fresh(2);
    go_on(&mut legs, &[0], 7);
    legs[0].went_back = true;
    assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, Role::Stale]);
}

#[test]
fn a_leg_left_behind_is_old_if_its_bitmap_is_older_than_when_it_was_left() {
    let mut legs = fresh(2);
    go_on(&mut legs, &[0], 7);
    legs[0].entries[1].left_age = 5;
    for (age, role) in [(4, Role::New), (5, Role::Stale), (6, Role::Stale)] {
        legs[1].age = age;
        assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, role], "{age}");
    }
}

#[test]
fn a_power_cut_while_a_generation_is_written_leaves_both_legs_in_sync() {
    let mut legs = fresh(2);
    let before = legs[1].clone();
    go_on(&mut legs, &[0, 1], 5);
    legs[1] = before;
    assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, Role::InSync]);
    legs[1].uuid = [2; 16];
    let refusal = decide(&found(&legs), &NAMES, &Accepted::default()).expect_err("another mirror");
    assert!(refusal.contains("different mirrors"));
}

#[test]
fn a_stale_leg_may_be_the_first_to_know_who_counts() {
    let mut legs = fresh(2);
    let before = legs[0].clone();
    go_on(&mut legs, &[0], 5);
    // Leg b has the generation in which it is rebuilt, leg a has not got it yet.
    legs[1] = Super { leg: 1, ..legs[0].clone() };
    legs[0] = before;
    assert_eq!(roles(decide(&found(&legs), &NAMES, &Accepted::default())), [Role::InSync, Role::Stale]);
    let behind = [Found::Missing("away".into()), Found::Leg(legs[1].clone())];
    assert!(decide(&behind, &NAMES, &Accepted::default()).is_err());
}

proptest! {
    /// Legs come and go as they like. A mirror that opens without being told anything never loses a write that was
    /// answered: the legs it trusts hold everything, whoever went on without whom.
    #[test]
    fn whatever_opens_unasked_holds_every_answered_write(
        steps in prop::collection::vec((1..8_u8, any::<bool>(), any::<u64>()), 1..40),
    ) {
        let mut legs = fresh(3);
        // What each leg holds: the number of the last write it got; and the last that was answered.
        let (mut held, mut answered) = ([0_u64; 3], 0_u64);
        for (mask, cut, nonce) in steps {
            let there: Vec<Found> = (0..3)
                .map(|leg| if mask & (1 << leg) != 0 { Found::Leg(legs[leg].clone()) } else { Found::Missing("away".into()) })
                .collect();
            let Ok(Decision::Open { newest, roles }) = decide(&there, &NAMES, &Accepted::default()) else { continue };
            let in_sync: Vec<usize> = roles.iter().filter(|role| role.role == Role::InSync).map(|role| role.leg).collect();
            prop_assert!(in_sync.contains(&newest.leg));
            for leg in &in_sync {
                prop_assert_eq!(held[*leg], answered, "leg {} is trusted", leg);
            }
            // The opening begins a generation; perhaps the power fails when the first leg has it.
            let before = legs.clone();
            legs[in_sync[0]] = Super { leg: in_sync[0], ..newest.clone() };
            go_on(&mut legs, &in_sync, nonce);
            if cut && in_sync.len() > 1 {
                for leg in &in_sync[1..] {
                    legs[*leg] = before[*leg].clone();
                }
                continue;
            }
            answered += 1;
            in_sync.iter().for_each(|leg| held[*leg] = answered);
            // One of them is lost while the others go on.
            if nonce % 3 == 0 && in_sync.len() > 1 {
                go_on(&mut legs, &in_sync[1..], nonce ^ 1);
                answered += 1;
                in_sync[1..].iter().for_each(|leg| held[*leg] = answered);
            }
        }
    }
}
