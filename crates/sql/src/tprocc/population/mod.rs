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

use super::random::KeySpace;
use super::scale::Scale;
use super::text::Texts;

/// The moment that every loaded row bears: 2020-01-01 00:00:00 UTC, seconds since 1970. Part of the population, so that
/// a seed gives the same data whenever it is loaded.
pub const LOADED_AT: i64 = 1_577_836_800;

/// One logical value, the same on every database whatever its column type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// An amount of money, in hundredths.
    Cents(i64),
    /// A tax or a discount, in ten-thousandths.
    Rate(i64),
    /// A moment, seconds since 1970, UTC.
    Time(i64),
    /// A text, in ASCII.
    Text(&'a [u8]),
}

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
    /// What a warehouse has of each item.
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

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// [`Field::Int`].
    Int,
    /// [`Field::Cents`].
    Cents,
    /// [`Field::Rate`].
    Rate,
    /// [`Field::Time`].
    Time,
    /// [`Field::Text`].
    Text,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the database.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
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

/// Receives rows one by one; an error stops the part.
pub type Sink<'s, E> = dyn FnMut(&[Field<'_>]) -> Result<(), E> + 's;

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

/// A buffer of texts of one row, reused from row to row: texts are written one after the other and taken out by place.
#[derive(Debug, Default)]
struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, index: usize) -> Field<'_> {
        let begin = if index == 0 { 0 } else { self.ends[index - 1] };
        Field::Text(&self.bytes[begin..self.ends[index]])
    }
}

#[cfg(test)]
mod tests;
