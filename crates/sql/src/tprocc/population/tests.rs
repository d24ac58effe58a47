//! The population against the clauses of the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::{Part, Population, Table};
use crate::checksum::Checksum;
use crate::population::{ColumnKind, Field};
use crate::tprocc::scale::Scale;

/// A value that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owned {
    Null,
    Number(i64),
    Text(String),
}

impl Owned {
    fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            other => panic!("{other:?} is not a number"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("{other:?} is not a text"),
        }
    }
}

fn rows(population: &Population, table: Table, warehouse: u32) -> Vec<Vec<Owned>> {
    let mut rows = Vec::new();
    let kinds: Vec<ColumnKind> = table.columns().iter().map(|column| column.kind).collect();
    let keep = &mut |row: &[Field<'_>]| -> Result<(), Infallible> {
        assert_eq!(row.len(), kinds.len(), "{table:?}");
        let own = |(field, kind): (&Field<'_>, &ColumnKind)| match (field, kind) {
            (Field::Null, _) => Owned::Null,
            (Field::Int(number), ColumnKind::Int)
            | (Field::Cents(number), ColumnKind::Cents)
            | (Field::Rate(number), ColumnKind::Rate)
            | (Field::Time(number), ColumnKind::Time) => Owned::Number(*number),
            (Field::Text(text), ColumnKind::Text) => {
                Owned::Text(String::from_utf8(text.to_vec()).expect("texts are ASCII"))
            }
            (field, kind) => panic!("{table:?}: {field:?} in a column of {kind:?}"),
        };
        rows.push(row.iter().zip(&kinds).map(own).collect());
        Ok(())
    };
    population.rows(Part { warehouse, table }, keep).unwrap_or_else(|never| match never {});
    rows
}

fn spec() -> Population {
    Population::new(Scale::spec(2), 17, 0.0)
}

fn share(rows: &[Vec<Owned>], of: impl Fn(&[Owned]) -> bool) -> f64 {
    rows.iter().filter(|row| of(row)).count() as f64 / rows.len() as f64
}

#[test]
fn customers_have_the_names_credits_and_balances_of_the_clauses() {
    let customers = rows(&spec(), Table::Customer, 2);
    assert_eq!(customers.len(), 30_000);
    let mut names = BTreeSet::new();
    for customer in &customers[..1000] {
        names.insert(customer[5].text().to_owned());
    }
    assert_eq!(names.len(), 1000, "the first thousand customers have a name each");
    assert!(customers.iter().all(|row| names.contains(row[5].text())));
    let bad = share(&customers, |row| row[13].text() == "BC");
    assert!((0.094..0.106).contains(&bad), "{bad} with bad credit");
    assert!(customers.iter().all(|row| (300..=500).contains(&row[20].text().len())));
    assert!(customers.iter().all(|row| row[16].number() == -1000 && row[17].number() == 1000));
    assert!(customers.iter().all(|row| (0..=5000).contains(&row[15].number())));
    assert!(customers.iter().all(|row| row[10].text().len() == 9 && row[10].text().ends_with("11111")));
}

#[test]
fn every_customer_has_one_order_and_the_newest_900_wait() {
    let population = spec();
    let orders = rows(&population, Table::Orders, 1);
    let waiting = rows(&population, Table::NewOrder, 1);
    assert_eq!((orders.len(), waiting.len()), (30_000, 9000));
    for district in 1..=10 {
        let of = orders.iter().filter(|row| row[1].number() == district);
        let customers: BTreeSet<i64> = of.clone().map(|row| row[3].number()).collect();
        assert_eq!(customers.len(), 3000, "the customers are a permutation");
        for order in of {
            assert_eq!(order[5] == Owned::Null, order[2].number() > 2100);
        }
    }
    let in_order = orders
        .windows(2)
        .all(|pair| pair[0][2].number() + 1 == pair[1][2].number() || pair[1][2].number() == 1);
    assert!(in_order, "rows come in the order of the key");
    let first = share(&orders, |row| row[3] == row[2]);
    assert!(first < 0.002, "the permutation is not the identity");
    assert!(waiting.iter().all(|row| (2101..=3000).contains(&row[2].number())));
}

#[test]
fn lines_follow_their_orders_and_only_undelivered_ones_cost_something() {
    let population = spec();
    let orders = rows(&population, Table::Orders, 1);
    let lines = rows(&population, Table::OrderLine, 1);
    let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for line in &lines {
        *counts.entry((line[1].number(), line[2].number())).or_default() += 1;
        let delivered = line[2].number() <= 2100;
        assert_eq!(line[6] == Owned::Null, !delivered);
        assert_eq!(line[8].number() == 0, delivered);
        assert!((0..=999_999).contains(&line[8].number()));
    }
    for order in &orders {
        assert_eq!(counts[&(order[1].number(), order[2].number())], order[6].number());
    }
    let mean = lines.len() as f64 / 30_000.0;
    assert!((9.95..10.05).contains(&mean), "{mean} lines per order");
}

#[test]
fn stock_and_items_lie_within_the_bounds_of_the_clauses() {
    let population = spec();
    let (stock, items) = (rows(&population, Table::Stock, 2), rows(&population, Table::Item, 0));
    assert_eq!((stock.len(), items.len()), (100_000, 100_000));
    for rows in [&stock, &items] {
        let original = share(rows, |row| row[row.len() - 1].text().contains("ORIGINAL"));
        assert!((0.097..0.103).contains(&original), "{original} are original");
    }
    let quantities: BTreeSet<i64> = stock.iter().map(|row| row[2].number()).collect();
    assert_eq!((quantities.first(), quantities.last(), quantities.len()), (Some(&10), Some(&100), 91));
    assert!(stock.iter().all(|row| row[3..13].iter().all(|text| text.text().len() == 24)));
    assert!(items.iter().all(|row| (100..=10_000).contains(&row[3].number())));
}

#[test]
fn money_adds_up_at_every_scale() {
    for scale in [Scale::spec(1), Scale { warehouses: 1, items: 200, customers: 30 }] {
        let population = Population::new(scale, 1, 0.0);
        let warehouse = rows(&population, Table::Warehouse, 1);
        let districts = rows(&population, Table::District, 1);
        let history = rows(&population, Table::History, 1);
        let of_districts: i64 = districts.iter().map(|row| row[9].number()).sum();
        let of_history: i64 = history.iter().map(|row| row[6].number()).sum();
        assert_eq!(warehouse[0][8].number(), of_districts);
        assert_eq!(of_districts, of_history);
        assert_eq!(districts[3][10].number(), i64::from(scale.customers) + 1);
    }
}

#[test]
fn a_seed_gives_the_same_rows_and_another_seed_others() {
    let scale = Scale { warehouses: 2, items: 100, customers: 20 };
    let checksum = |population: &Population| {
        let mut sum = Checksum::default();
        for part in population.parts() {
            let add = &mut |row: &[Field<'_>]| -> Result<(), Infallible> {
                sum.add(part.table as u64, row);
                Ok(())
            };
            population.rows(part, add).unwrap_or_else(|never| match never {});
        }
        sum
    };
    let first = checksum(&Population::new(scale, 5, 0.0));
    assert_eq!(first, checksum(&Population::new(scale, 5, 0.0)));
    assert_ne!(first, checksum(&Population::new(scale, 6, 0.0)));
    assert_ne!(first, checksum(&Population::new(scale, 5, 0.5)));
    // 100 items, and per warehouse 1 + 10 + 200 + 200 + 100 + 200 + 60 rows and the lines.
    let lines: usize =
        (1..=2).map(|w| rows(&Population::new(scale, 5, 0.0), Table::OrderLine, w).len()).sum();
    assert_eq!(first.rows(), 100 + 2 * 771 + lines as u64);
}
