//! The rows of TPC-C's nine tables (clause 4.3.3.1) as a pure function of scale and seed.
//!
//! A *part* is one table of one warehouse (or the items, which no warehouse owns). Every part draws from streams of its
//! own, named after table, warehouse and district, so that parts can be made in any order, at the same time, again
//! after a crash, and always hold the same rows; `order_line` follows the orders of its warehouse by drawing the same
//! stream as they do.

mod business;
mod orders;
mod stock;

use fathom_runtime::Random;

use crate::population::{Column, Relation, Sink};
use crate::text::Texts;

use super::random::KeySpace;
use super::scale::Scale;

/// The moment that every loaded row bears: 2020-01-01 00:00:00 UTC, seconds since 1970. Part of the population, so that
/// a seed gives the same data whenever it is loaded.
pub const LOADED_AT: i64 = 1_577_836_800;

/// The nine tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// What is sold; the same for all warehouses.
    Item,
    /// One row per warehouse.
    Warehouse,
    /// Ten rows per warehouse.
    District,
    /// Customers of the districts.
    Customer,
    /// Payments.
    History,
    /// The stock of a warehouse.
    Stock,
    /// Orders.
    Orders,
    /// Orders that wait for delivery.
    NewOrder,
    /// Lines of the orders.
    OrderLine,
}

impl Table {
    /// Every table, in the order in which a single session loads them.
    pub const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Stock,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrder,
        Self::OrderLine,
    ];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Stock => "stock",
            Self::Orders => "orders",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
        }
    }

    /// What the loader needs to know of it.
    pub fn relation(self) -> Relation {
        Relation { number: self as u64, name: self.name(), columns: self.columns() }
    }

    /// Its columns, in the order of the fields of a row.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Item => business::ITEM,
            Self::Warehouse => business::WAREHOUSE,
            Self::District => business::DISTRICT,
            Self::Customer => business::CUSTOMER,
            Self::History => business::HISTORY,
            Self::Stock => stock::STOCK,
            Self::Orders => orders::ORDERS,
            Self::NewOrder => orders::NEW_ORDER,
            Self::OrderLine => orders::ORDER_LINE,
        }
    }
}

/// What is loaded at once: a table of a warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The warehouse, from 1; 0 for the items.
    pub warehouse: u32,
    /// The table.
    pub table: Table,
}

impl Part {
    /// Its name in the table of loaded parts.
    pub fn name(&self) -> String {
        format!("{}/{}", self.table.name(), self.warehouse)
    }
}

/// A population: which rows a database of that scale holds.
#[derive(Debug, Clone)]
pub struct Population {
    /// Sizes.
    pub scale: Scale,
    /// Of everything random.
    pub seed: u64,
    texts: Texts,
    keys: KeySpace,
}

impl Population {
    /// A population of that scale and seed; `repeated` is the share of every text that is the same everywhere (0 to 1),
    /// which sets how well a storage system can compress the data.
    pub fn new(scale: Scale, seed: u64, repeated: f64) -> Self {
        // The names loaded are the same for both kinds of run keys.
        let keys = KeySpace::new(&scale, seed, true);
        Self { scale, seed, texts: Texts::new(repeated), keys }
    }

    /// Every part, large ones of a warehouse first, so that the last to finish is a small one.
    pub fn parts(&self) -> Vec<Part> {
        let order = [
            Table::Stock,
            Table::OrderLine,
            Table::Customer,
            Table::History,
            Table::Orders,
            Table::NewOrder,
            Table::District,
            Table::Warehouse,
        ];
        let items = std::iter::once(Part { warehouse: 0, table: Table::Item });
        let of = |warehouse| order.map(|table| Part { warehouse, table });
        items.chain((1..=self.scale.warehouses).flat_map(of)).collect()
    }

    /// Every row of a part, in the order of the table's key.
    ///
    /// # Errors
    /// The sink's.
    pub fn rows<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        match part.table {
            Table::Item => self.items(sink),
            Table::Warehouse => self.warehouse(part.warehouse, sink),
            Table::District => self.districts(part.warehouse, sink),
            Table::Customer => self.customers(part.warehouse, sink),
            Table::History => self.history(part.warehouse, sink),
            Table::Stock => self.stock(part.warehouse, sink),
            Table::Orders => self.orders(part.warehouse, sink),
            Table::NewOrder => self.new_orders(part.warehouse, sink),
            Table::OrderLine => self.order_lines(part.warehouse, sink),
        }
    }

    fn stream(&self, what: &str, warehouse: u32, district: u32) -> Random {
        Random::new(self.seed, &format!("tproc-c/{what}/{warehouse}/{district}"))
    }
}

#[cfg(test)]
mod tests;
