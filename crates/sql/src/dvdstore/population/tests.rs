//! The population against what the original's generators make and what the consistency conditions ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::{Part, Population, Table};
use crate::checksum::Checksum;
use crate::dvdstore::scale::Scale;
use crate::population::Field;

/// A fifth of the original's smallest size, with few ratings.
const SCALE: Scale = Scale { customers: 4000, orders: 2400, products: 2000, reviews: 3, ratings: 2 };

fn each(population: &Population, table: Table, see: &mut dyn FnMut(&[Field<'_>])) {
    for part in population.parts().into_iter().filter(|part| part.table == table) {
        let sink = &mut |row: &[Field<'_>]| -> Result<(), Infallible> {
            assert_eq!(row.len(), table.relation().columns.len(), "{table:?}");
            see(row);
            Ok(())
        };
        population.rows(part, sink).unwrap_or_else(|never| match never {});
    }
}

fn number(field: &Field<'_>) -> i64 {
    match field {
        Field::Int(number) | Field::Cents(number) | Field::Time(number) => *number,
        other => panic!("{other:?} is not a number"),
    }
}

/// The numbers in some columns of every row.
fn numbers<const N: usize>(population: &Population, table: Table, columns: [usize; N]) -> Vec<[i64; N]> {
    let mut rows = Vec::new();
    each(population, table, &mut |row| rows.push(columns.map(|column| number(&row[column]))));
    rows
}

#[test]
fn money_stock_and_history_agree_with_the_lines() {
    let population = Population::new(SCALE, 3, 0.0);
    let prices: Vec<i64> =
        numbers(&population, Table::Products, [4]).into_iter().map(|[price]| price).collect();
    let lines = numbers(&population, Table::Orderlines, [0, 2, 3, 1]);
    let (mut net, mut sold, mut bought) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for [order, product, quantity, _] in &lines {
        *net.entry(*order).or_insert(0) += prices[*product as usize - 1] * quantity;
        *sold.entry(*product).or_insert(0) += quantity;
        assert!(bought.insert((*order, *product)), "a product stands once in an order");
    }
    let orders = numbers(&population, Table::Orders, [0, 2, 3, 4, 5]);
    assert_eq!(orders.len(), 2400);
    for [order, _, amount, tax, total] in &orders {
        assert_eq!(net[order], *amount);
        assert!((tax * 10_000 - amount * 825).abs() <= 5000 && total == &(amount + tax));
    }
    for [product, stock, sales, received] in numbers(&population, Table::Inventory, [0, 1, 2, 3]) {
        assert_eq!(sold.get(&product).copied().unwrap_or(0), sales);
        assert!((0..=500).contains(&stock) && stock + sales == received);
    }
    let owners: BTreeMap<i64, i64> = orders.iter().map(|[order, customer, ..]| (*order, *customer)).collect();
    let history = numbers(&population, Table::CustHist, [0, 1, 2]);
    assert_eq!(history.len(), lines.len());
    assert!(history.iter().all(|[customer, order, product]| {
        owners[order] == *customer && bought.contains(&(*order, *product))
    }));
    let mean = lines.len() as f64 / 2400.0;
    assert!((4.8..5.2).contains(&mean), "{mean} lines in the mean");
}

#[test]
fn reviews_and_ratings_have_numbers_of_their_own() {
    let population = Population::new(SCALE, 3, 0.0);
    let reviews = numbers(&population, Table::Reviews, [0, 1, 3]);
    assert!((1..).zip(&reviews).all(|(place, [review, ..])| place == *review));
    assert!(
        reviews
            .iter()
            .all(|[review, product, stars]| { (review - 1) / 3 + 1 == *product && (1..=5).contains(stars) })
    );
    let ratings = numbers(&population, Table::Helpfulness, [0, 1]);
    let mut of_review: BTreeMap<i64, u32> = BTreeMap::new();
    for pair in ratings.windows(2) {
        assert!(pair[0][0] < pair[1][0], "ratings come in the order of their numbers");
    }
    ratings.iter().for_each(|[_, review]| *of_review.entry(*review).or_default() += 1);
    assert_eq!(of_review.len(), reviews.len());
    assert_eq!(of_review.values().collect::<BTreeSet<_>>(), BTreeSet::from([&2, &3]));
}

#[test]
fn half_the_customers_live_in_the_us_and_a_tenth_are_members() {
    let population = Population::new(SCALE, 3, 0.0);
    let mut american = 0;
    each(&population, Table::Customers, &mut |row| {
        let here = row[8] == Field::Text(b"US");
        american += u32::from(here);
        assert_eq!((row[6] == Field::Null, row[7] == Field::Null), (!here, !here));
        assert_eq!(number(&row[9]), if here { 1 } else { 2 });
    });
    assert_eq!(american, 2000);
    let members = numbers(&population, Table::Membership, [0]).len();
    assert!((320..480).contains(&members), "{members} members of 4,000");
}

#[test]
fn a_seed_gives_the_same_rows_whatever_the_order_of_parts() {
    let checksum = |population: &Population, parts: &[Part]| {
        let mut sum = Checksum::default();
        for part in parts {
            let add = &mut |row: &[Field<'_>]| -> Result<(), Infallible> {
                sum.add(part.table as u64, row);
                Ok(())
            };
            population.rows(*part, add).unwrap_or_else(|never| match never {});
        }
        sum
    };
    let population = Population::new(SCALE, 5, 0.0);
    let mut parts = population.parts();
    let first = checksum(&population, &parts);
    parts.reverse();
    assert_eq!(first, checksum(&Population::new(SCALE, 5, 0.0), &parts));
    assert_ne!(first, checksum(&Population::new(SCALE, 6, 0.0), &parts));
    assert_ne!(first, checksum(&Population::new(SCALE, 5, 0.5), &parts));
}

#[test]
fn slices_cover_every_number_of_a_table() {
    let scale = Scale { customers: 20_001, orders: 10_000, products: 501, reviews: 2, ratings: 2 };
    assert_eq!(Table::Customers.slices(&scale).len(), 2);
    assert_eq!(Table::Orders.slices(&scale), ["WHERE orderid BETWEEN 1 AND 10000"]);
    let reviews = ["WHERE review_id BETWEEN 1 AND 1000", "WHERE review_id BETWEEN 1001 AND 2000"];
    assert_eq!(Table::Reviews.slices(&scale), reviews);
}
