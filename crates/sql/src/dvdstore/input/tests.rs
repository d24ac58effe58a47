//! What shoppers do against their habits.

use std::collections::{BTreeMap, BTreeSet};

use fathom_runtime::{Random, SECOND};

use super::{Inputs, Kind, Operation, VisitMix, step};
use crate::dvdstore::scale::Scale;

const HABITS: VisitMix = VisitMix {
    new_customers: 0.2,
    new_members: 0.01,
    searches: 3,
    search_batch: 5,
    review_searches: 3,
    new_reviews: 0.05,
    new_ratings: 0.1,
    line_items: 5,
    skew: 0.0,
    think_time: 0,
};

fn inputs(habits: VisitMix, products: u32) -> Inputs {
    let scale = Scale { customers: 1000, orders: 100, products, reviews: 20, ratings: 20 };
    Inputs::new(scale, 1, habits, 0.0, Random::new(2, "shopper"), Random::new(3, "names"))
}

/// Operations up to that many purchases.
fn visits(inputs: &mut Inputs, count: u32) -> Vec<Operation> {
    let (mut operations, mut purchases) = (Vec::new(), 0);
    while purchases < count {
        let operation = inputs.next_operation();
        purchases += u32::from(operation.kind() == Kind::Purchase);
        operations.push(operation);
    }
    operations
}

#[test]
fn a_visit_has_the_originals_operations_in_the_mean() {
    let mut counts: BTreeMap<Kind, f64> = BTreeMap::new();
    let visits = visits(&mut inputs(HABITS, 10_000), 40_000);
    visits.iter().for_each(|operation| *counts.entry(operation.kind()).or_default() += 1.0 / 40_000.0);
    for (kind, mean, within) in [
        (Kind::Login, 0.8, 0.01),
        (Kind::NewCustomer, 0.2, 0.01),
        (Kind::NewMember, 0.01, 0.003),
        (Kind::BrowseCategory, 1.0, 0.03),
        (Kind::BrowseActor, 1.0, 0.03),
        (Kind::BrowseTitle, 1.0, 0.03),
        (Kind::SearchReviews, 3.0, 0.05),
        (Kind::ReadReviews, 3.0, 0.05),
        (Kind::NewReview, 0.05, 0.006),
        (Kind::RateReview, 0.1, 0.008),
        (Kind::Purchase, 1.0, 1e-6),
    ] {
        assert!((counts[&kind] - mean).abs() < within, "{kind:?}: {} per visit", counts[&kind]);
    }
}

#[test]
fn those_who_log_in_review_rate_and_join_too() {
    // One draw for every share would leave all of that to new customers.
    let everybody = VisitMix { new_members: 0.5, new_reviews: 0.5, new_ratings: 0.5, ..HABITS };
    let (mut login, mut seen) = (false, BTreeSet::new());
    for operation in visits(&mut inputs(everybody, 10_000), 1000) {
        match operation.kind() {
            Kind::Login => login = true,
            Kind::NewCustomer => login = false,
            kind if login => drop(seen.insert(kind)),
            _ => {}
        }
    }
    assert!([Kind::NewMember, Kind::NewReview, Kind::RateReview].iter().all(|kind| seen.contains(kind)));
}

#[test]
fn carts_hold_one_to_nine_products_sorted_and_distinct() {
    let mut lengths = BTreeSet::new();
    for operation in visits(&mut inputs(HABITS, 50), 2000) {
        if let Operation::Purchase(products, quantities) = operation {
            assert!(products.windows(2).all(|pair| pair[0] < pair[1]), "{products:?}");
            assert!(products.iter().all(|product| (1..=50).contains(product)));
            assert!(quantities.iter().all(|quantity| (1..=3).contains(quantity)));
            assert_eq!(products.len(), quantities.len());
            lengths.insert(products.len());
        }
    }
    assert_eq!(lengths, (1..=9).collect());
}

#[test]
fn a_popular_product_is_drawn_ten_times_as_often() {
    let mut inputs = inputs(HABITS, 20_000);
    let mut popular = 0;
    (0..2_000_000).for_each(|_| popular += u32::from(inputs.product().is_multiple_of(10_000)));
    // 20 of 20,018 draws: 1,998 in the mean, 45 standard deviation.
    assert!((1750..2250).contains(&popular), "{popular} of 2,000,000");
}

#[test]
fn skew_concentrates_the_draws_and_leaves_no_product_out_of_reach() {
    let mut inputs = inputs(VisitMix { skew: 1.0, ..HABITS }, 1000);
    let mut counts = vec![0_u32; 1000];
    (0..200_000).for_each(|_| counts[inputs.product() as usize - 1] += 1);
    assert!(counts.iter().all(|count| *count > 0));
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u32 = counts[..200].iter().sum();
    // Harmonic numbers: H(200) / H(1000) = 0.785.
    assert!((155_000..159_500).contains(&hot), "{hot} of 200,000 to the hottest fifth");
    for count in [50, 1000, 10_000, 99_991] {
        let step = step(count);
        assert_eq!((0..count).map(|rank| rank * step % count).collect::<BTreeSet<_>>().len() as u64, count);
    }
}

#[test]
fn thinking_is_uniform_around_its_mean() {
    let mut inputs = inputs(VisitMix { think_time: 2 * SECOND, ..HABITS }, 100);
    let times: Vec<f64> = (0..20_000).map(|_| inputs.thinking() as f64 / SECOND as f64).collect();
    let mean = times.iter().sum::<f64>() / 20_000.0;
    assert!((1.97..2.03).contains(&mean) && times.iter().all(|time| (0.0..4.0).contains(time)), "{mean}");
}
