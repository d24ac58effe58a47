//! The rows of DVD Store's tables as a pure function of scale and seed.
//!
//! A *part* is one table of one run of numbers (customers, orders or products). Every part draws from streams of its own, named
//! after table and run, so that parts can be made in any order, at the same time, again after a crash, and always hold the
//! same rows; lines and history follow their orders by drawing the same stream as they do.

mod orders;
mod people;
mod products;
mod reviews;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use fathom_runtime::Random;

use crate::population::{Column, Relation, Sink};
use crate::text::Texts;

use super::catalogue::Catalogue;
use super::scale::Scale;

pub use orders::tax;
pub use products::POPULAR;

/// Categories there are.
pub const CATEGORIES: u32 = products::NAMES.len() as u32;

/// 2013-01-01 00:00:00 UTC, seconds since 1970: the year before the first run, as in the original.
const YEAR: i64 = 1_356_998_400;
const DAY: i64 = 86_400;

/// The tables that are loaded; `reorder` is empty at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// What kinds of film there are.
    Categories,
    /// What is sold.
    Products,
    /// How many of each product are in stock.
    Inventory,
    /// Who buys.
    Customers,
    /// Who has become a member.
    Membership,
    /// Orders.
    Orders,
    /// Lines of the orders.
    Orderlines,
    /// What each customer has bought.
    CustHist,
    /// What customers think of products.
    Reviews,
    /// What customers think of reviews.
    Helpfulness,
}

/// What the parts of a table are runs of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    /// There is one part.
    Whole,
    Customers,
    Orders,
    Products,
    /// Products, fewer of them: each has many reviews and more ratings.
    Reviewed,
}

impl Run {
    /// Numbers in a part.
    fn length(self) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Customers => 20_000,
            Self::Orders | Self::Products => 10_000,
            Self::Reviewed => 500,
        }
    }

    fn count(self, scale: &Scale) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Customers => scale.customers,
            Self::Orders => scale.orders,
            Self::Products | Self::Reviewed => scale.products,
        }
    }
}

impl Table {
    /// Every table, each after those its rows refer to: a single session loads them in this order.
    pub const ALL: [Self; 10] = [
        Self::Categories,
        Self::Products,
        Self::Inventory,
        Self::Customers,
        Self::Membership,
        Self::Orders,
        Self::Orderlines,
        Self::CustHist,
        Self::Reviews,
        Self::Helpfulness,
    ];

    /// What the loader needs to know of it.
    pub fn relation(self) -> Relation {
        Relation { number: self as u64, name: self.name(), columns: self.columns() }
    }

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Categories => "categories",
            Self::Products => "products",
            Self::Inventory => "inventory",
            Self::Customers => "customers",
            Self::Membership => "membership",
            Self::Orders => "orders",
            Self::Orderlines => "orderlines",
            Self::CustHist => "cust_hist",
            Self::Reviews => "reviews",
            Self::Helpfulness => "reviews_helpfulness",
        }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            Self::Categories => products::CATEGORIES,
            Self::Products => products::PRODUCTS,
            Self::Inventory => products::INVENTORY,
            Self::Customers => people::CUSTOMERS,
            Self::Membership => people::MEMBERSHIP,
            Self::Orders => orders::ORDERS,
            Self::Orderlines => orders::ORDERLINES,
            Self::CustHist => orders::CUST_HIST,
            Self::Reviews => reviews::REVIEWS,
            Self::Helpfulness => reviews::HELPFULNESS,
        }
    }

    fn run(self) -> Run {
        match self {
            Self::Categories => Run::Whole,
            Self::Products | Self::Inventory => Run::Products,
            Self::Customers | Self::Membership => Run::Customers,
            Self::Orders | Self::Orderlines | Self::CustHist => Run::Orders,
            Self::Reviews | Self::Helpfulness => Run::Reviewed,
        }
    }

    /// Conditions that pick every row of the table once, few enough at a time for one answer, by a column with an index.
    pub fn slices(self, scale: &Scale) -> Vec<String> {
        let (column, run, each) = match self {
            Self::Categories => return vec![String::new()],
            // Its key begins with the customer.
            Self::CustHist => ("customerid", Run::Customers, 1),
            Self::Customers | Self::Membership => ("customerid", Run::Customers, 1),
            Self::Orders | Self::Orderlines => ("orderid", Run::Orders, 1),
            Self::Products | Self::Inventory => ("prod_id", Run::Products, 1),
            Self::Reviews | Self::Helpfulness => ("review_id", Run::Reviewed, u64::from(scale.reviews)),
        };
        let (length, count) = (u64::from(run.length()), u64::from(run.count(scale)));
        (0..count.div_ceil(length))
            .map(|part| {
                let (first, last) = (part * length * each + 1, (part + 1) * length * each);
                format!("WHERE {column} BETWEEN {first} AND {last}")
            })
            .collect()
    }
}

/// What is loaded at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The table.
    pub table: Table,
    /// Which of its runs, from 0.
    pub run: u32,
}

impl Part {
    /// Its name in the table of loaded parts.
    pub fn name(&self) -> String {
        format!("{}/{}", self.table.name(), self.run)
    }
}

/// A population: which rows a database of that scale holds.
#[derive(Debug)]
pub struct Population {
    /// Sizes.
    pub scale: Scale,
    /// Of everything random.
    pub seed: u64,
    texts: Texts,
    catalogue: Catalogue,
    /// How many of each product the loaded orders hold; inventory needs all of them at once.
    sales: OnceLock<Vec<u32>>,
}

impl Population {
    /// A population of that scale and seed; `repeated` is the share of every text that is the same everywhere (0 to 1),
    /// which sets how well a storage system can compress the data.
    pub fn new(scale: Scale, seed: u64, repeated: f64) -> Self {
        let catalogue = Catalogue::new(seed);
        Self { scale, seed, texts: Texts::new(repeated), catalogue, sales: OnceLock::new() }
    }

    /// Every part, tables in the order of [`Table::ALL`].
    pub fn parts(&self) -> Vec<Part> {
        let of = |table: Table| {
            let run = table.run();
            (0..run.count(&self.scale).div_ceil(run.length())).map(move |run| Part { table, run })
        };
        Table::ALL.into_iter().flat_map(of).collect()
    }

    /// Every row of a part, in the order of the table's key but for `cust_hist`.
    ///
    /// # Errors
    /// The sink's.
    pub fn rows<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        match part.table {
            Table::Categories => products::categories(sink),
            Table::Products => self.products(part, sink),
            Table::Inventory => self.inventory(part, sink),
            Table::Customers => self.customers(part, sink),
            Table::Membership => self.membership(part, sink),
            Table::Orders => self.orders(part, sink),
            Table::Orderlines => self.orderlines(part, sink),
            Table::CustHist => self.cust_hist(part, sink),
            Table::Reviews => self.reviews(part, sink),
            Table::Helpfulness => self.helpfulness(part, sink),
        }
    }

    /// The numbers of a part.
    fn numbers(&self, part: Part) -> RangeInclusive<u32> {
        let run = part.table.run();
        let first = part.run * run.length() + 1;
        first..=run.count(&self.scale).min(first + run.length() - 1)
    }

    fn stream(&self, what: &str, run: u32) -> Random {
        Random::new(self.seed, &format!("dvd-store/{what}/{run}"))
    }
}
