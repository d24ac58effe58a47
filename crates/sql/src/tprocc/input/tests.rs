//! The inputs against the rules they follow.

use std::collections::BTreeMap;

use fathom_runtime::{Random, SECOND};

use super::{Customer, Fidelity, HomeWarehouses, Input, Inputs, Kind};
use crate::tprocc::random::KeySpace;
use crate::tprocc::scale::Scale;

fn inputs(fidelity: Fidelity, warehouses: u32) -> Inputs {
    let scale = Scale::spec(warehouses);
    let keys = KeySpace::new(&scale, 1, fidelity == Fidelity::Spec);
    Inputs::new(scale, keys, fidelity, HomeWarehouses::all(0, 1, warehouses), Random::new(3, "inputs"))
}

fn counts(inputs: &mut Inputs, draws: usize) -> BTreeMap<Kind, usize> {
    let mut counts = BTreeMap::new();
    (0..draws).for_each(|_| *counts.entry(inputs.next_input().kind()).or_default() += 1);
    counts
}

#[test]
fn a_deck_deals_its_mix_exactly_and_independent_draws_about() {
    let spec = counts(&mut inputs(Fidelity::Spec, 4), 23 * 100);
    assert_eq!(spec.into_values().collect::<Vec<_>>(), [1000, 1000, 100, 100, 100]);
    let hammerdb: Vec<usize> = counts(&mut inputs(Fidelity::Hammerdb, 4), 23 * 2000).into_values().collect();
    assert_ne!(hammerdb, [20_000, 20_000, 2000, 2000, 2000]);
    for (count, expected) in hammerdb.into_iter().zip([20_000_f64, 20_000.0, 2000.0, 2000.0, 2000.0]) {
        assert!((count as f64 - expected).abs() < 5.0 * expected.sqrt(), "{count} instead of {expected}");
    }
}

#[test]
fn orders_are_as_the_clauses_want_them() {
    let mut inputs = inputs(Fidelity::Spec, 4);
    let (mut lines, mut remote, mut rolled_back, mut remote_orders) = (0, 0, 0, 0);
    let orders = 40_000;
    for _ in 0..orders {
        let Input::NewOrder(order) = inputs.input(Kind::NewOrder) else { panic!("an order was asked for") };
        assert!((5..=15).contains(&order.items.len()));
        assert!(order.quantities.iter().all(|quantity| (1..=10).contains(quantity)));
        let home = i64::from(order.warehouse);
        let elsewhere = order.supplies.iter().filter(|supply| **supply != home).count();
        lines += order.items.len();
        remote += elsewhere;
        remote_orders += usize::from(elsewhere > 0);
        rolled_back += usize::from(order.items.contains(&0));
        let keys: Vec<_> = order.supplies.iter().zip(&order.items).filter(|(_, item)| **item > 0).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "sorted and distinct");
    }
    let share = |count: usize, of: usize| count as f64 / of as f64;
    assert!((share(lines, orders) - 10.0).abs() < 0.1);
    assert!((share(remote, lines) - 0.01).abs() < 0.001);
    assert!((share(remote_orders, orders) - 0.095).abs() < 0.006);
    assert!((share(rolled_back, orders) - 0.01).abs() < 0.002);
}

#[test]
fn payments_go_elsewhere_in_15_percent_and_by_name_in_60() {
    let mut inputs = inputs(Fidelity::Spec, 4);
    let (mut elsewhere, mut by_name) = (0, 0);
    for _ in 0..20_000 {
        let Input::Payment { warehouse, customer_warehouse, customer, cents, district, customer_district } =
            inputs.input(Kind::Payment)
        else {
            panic!("a payment was asked for")
        };
        assert!((100..=500_000).contains(&cents));
        elsewhere += i32::from(warehouse != customer_warehouse);
        by_name += i32::from(matches!(customer, Customer::Name(_)));
        assert!(warehouse != customer_warehouse || district == customer_district);
        assert!((1..=4).contains(&customer_warehouse));
    }
    assert!((2800..3200).contains(&elsewhere), "{elsewhere} of 20,000 elsewhere");
    assert!((11_700..12_300).contains(&by_name), "{by_name} of 20,000 by name");
}

#[test]
fn one_warehouse_has_no_other() {
    let mut inputs = inputs(Fidelity::Hammerdb, 1);
    for _ in 0..5000 {
        match inputs.next_input() {
            Input::NewOrder(order) => assert!(order.supplies.iter().all(|supply| *supply == 1)),
            Input::Payment { customer_warehouse, .. } => assert_eq!(customer_warehouse, 1),
            _ => {}
        }
    }
}

#[test]
fn all_users_together_cover_every_warehouse() {
    for (users, warehouses) in [(1, 1), (4, 10), (3, 9), (8, 5), (5, 5)] {
        let mut covered: Vec<u32> = (0..users)
            .flat_map(|user| HomeWarehouses::all(user, users, warehouses).warehouses().collect::<Vec<_>>())
            .collect();
        covered.sort_unstable();
        covered.dedup();
        assert_eq!(covered, (1..=warehouses).collect::<Vec<_>>(), "{users} users");
    }
    assert_eq!(HomeWarehouses::all(1, 4, 10).warehouses().collect::<Vec<_>>(), [2, 6, 10]);
}

#[test]
fn pauses_have_their_means() {
    let mut inputs = inputs(Fidelity::Spec, 1);
    for (kind, keying, thinking) in
        [(Kind::NewOrder, 18, 12.0), (Kind::OrderStatus, 2, 10.0), (Kind::Delivery, 2, 5.0)]
    {
        let mut sum = 0;
        for _ in 0..20_000 {
            let (key, think) = inputs.pauses(kind);
            assert_eq!(key, keying * SECOND);
            sum += think;
        }
        let mean = sum as f64 / 20_000.0 / SECOND as f64;
        assert!((mean / thinking - 1.0).abs() < 0.03, "{kind:?}: {mean} s");
    }
}
