//! What a terminal enters: which transaction comes next and with which keys (clauses 2.4.1 to 2.8.1 and 5.2), in the
//! specification's way or in HammerDB's.

use fathom_runtime::{Nanos, Random, SECOND};
use fathom_settings::Choice;

use crate::population::between;

use super::random::KeySpace;
use super::scale::{DISTRICTS, Scale};
use super::text::last_name;

/// Whose rules a run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// The specification: skewed keys, a deck of cards, its keying and thinking times.
    Spec,
    /// HammerDB 4 to 6: uniform customers and items, independent draws, its keying and thinking times.
    Hammerdb,
}

impl Choice for Fidelity {
    const CHOICES: &'static [(&'static str, Self)] = &[("spec", Self::Spec), ("hammerdb", Self::Hammerdb)];
}

/// The five kinds of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An order is placed.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for his last order.
    OrderStatus,
    /// Ten orders are delivered.
    Delivery,
    /// Somebody asks which items run out.
    StockLevel,
}

impl Kind {
    /// Every kind; the order of the declaration.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Names of the nodes in results.
    pub const NAMES: [&'static str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

    /// Cards of the deck (clause 5.2.4.2): 43.5 % New-Order and Payment each, 4.3 % of the others.
    fn cards(self) -> usize {
        match self {
            Self::NewOrder | Self::Payment => 10,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 1,
        }
    }

    /// Keying time, s (clause 5.2.5.7; HammerDB's are the same).
    fn keying(self) -> u64 {
        match self {
            Self::NewOrder => 18,
            Self::Payment => 3,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2,
        }
    }

    /// Mean thinking time, s. HammerDB has those of Delivery and Order-Status the other way round.
    fn thinking(self, fidelity: Fidelity) -> u64 {
        match (self, fidelity) {
            (Self::NewOrder | Self::Payment, _) => 12,
            (Self::OrderStatus, Fidelity::Spec) | (Self::Delivery, Fidelity::Hammerdb) => 10,
            (Self::Delivery, Fidelity::Spec)
            | (Self::OrderStatus, Fidelity::Hammerdb)
            | (Self::StockLevel, _) => 5,
        }
    }
}

/// A customer, by number or by last name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Customer {
    /// By number, from 1.
    Number(u32),
    /// By last name; the one in the middle of those who bear it.
    Name(String),
}

/// What is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// An order.
    NewOrder(Order),
    /// A payment.
    Payment {
        /// Where it is paid.
        warehouse: u32,
        /// Where it is paid.
        district: u32,
        /// The customer's own warehouse; another one in 15 % of payments.
        customer_warehouse: u32,
        /// The customer's own district.
        customer_district: u32,
        /// Who pays.
        customer: Customer,
        /// How much.
        cents: i64,
    },
    /// A question for the last order.
    OrderStatus {
        /// The customer's warehouse.
        warehouse: u32,
        /// The customer's district.
        district: u32,
        /// Who asks.
        customer: Customer,
    },
    /// A delivery of the oldest orders of every district.
    Delivery {
        /// The warehouse.
        warehouse: u32,
        /// Who carries them, 1 to 10.
        carrier: u32,
    },
    /// A question for items that run out.
    StockLevel {
        /// The terminal's warehouse.
        warehouse: u32,
        /// The terminal's district.
        district: u32,
        /// Below so many an item runs out, 10 to 20.
        threshold: u32,
    },
}

/// An order. Its items are distinct and sorted by supplying warehouse and number: all orders lock stock in one order, so
/// that two of them cannot wait for each other. (The specification draws items independently; one order in some
/// hundred would name an item twice.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer's number.
    pub customer: u32,
    /// Item of each line. Number 0 is the unused item of an order that is to roll back.
    pub items: Vec<i64>,
    /// Supplying warehouse of each line.
    pub supplies: Vec<i64>,
    /// Quantity of each line.
    pub quantities: Vec<i64>,
}

impl Input {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment { .. } => Kind::Payment,
            Self::OrderStatus { .. } => Kind::OrderStatus,
            Self::Delivery { .. } => Kind::Delivery,
            Self::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// Which warehouses a virtual user works for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeWarehouses {
    first: u32,
    step: u32,
    count: u32,
}

impl HomeWarehouses {
    /// One warehouse.
    pub fn one(warehouse: u32) -> Self {
        Self { first: warehouse, step: 1, count: 1 }
    }

    /// User `user` (from 0) of `users` shares all warehouses with the others, as HammerDB deals them out: user k has k,
    /// k + users, k + 2 users, ... With more users than warehouses they share them.
    pub fn all(user: u32, users: u32, warehouses: u32) -> Self {
        let first = user % warehouses + 1;
        Self { first, step: users, count: (warehouses - first) / users + 1 }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        self.first + self.step * random.below(self.count.into()) as u32
    }

    /// Its warehouses.
    pub fn warehouses(&self) -> impl Iterator<Item = u32> {
        let Self { first, step, count } = *self;
        (0..count).map(move |index| first + index * step)
    }
}

/// The inputs of one virtual user, one after the other.
#[derive(Debug, Clone)]
pub struct Inputs {
    scale: Scale,
    keys: KeySpace,
    fidelity: Fidelity,
    home: HomeWarehouses,
    deck: Vec<Kind>,
    random: Random,
}

impl Inputs {
    /// Of a user with that home; `keys` are those of the database's load.
    pub fn new(
        scale: Scale,
        keys: KeySpace,
        fidelity: Fidelity,
        home: HomeWarehouses,
        random: Random,
    ) -> Self {
        Self { scale, keys, fidelity, home, deck: Vec::new(), random }
    }

    /// What comes next.
    pub fn next_input(&mut self) -> Input {
        let kind = self.next_kind();
        self.input(kind)
    }

    fn next_kind(&mut self) -> Kind {
        let full = || Kind::ALL.into_iter().flat_map(|kind| std::iter::repeat_n(kind, kind.cards()));
        if self.fidelity == Fidelity::Hammerdb {
            let card = self.random.below(full().count() as u64) as usize;
            return full().nth(card).expect("the card is within the deck");
        }
        if self.deck.is_empty() {
            self.deck = full().collect();
            for place in (1..self.deck.len()).rev() {
                self.deck.swap(place, self.random.below(place as u64 + 1) as usize);
            }
        }
        self.deck.pop().expect("the deck was filled")
    }

    /// An input of that kind.
    pub fn input(&mut self, kind: Kind) -> Input {
        let warehouse = self.home.draw(&mut self.random);
        let random = &mut self.random;
        let district = between(random, 1, DISTRICTS);
        match kind {
            Kind::NewOrder => Input::NewOrder(self.order(warehouse, district)),
            Kind::Payment => {
                let elsewhere = self.scale.warehouses > 1 && random.below(100) >= 85;
                let (customer_warehouse, customer_district) = if elsewhere {
                    (other(random, warehouse, self.scale.warehouses), between(random, 1, DISTRICTS))
                } else {
                    (warehouse, district)
                };
                let cents = i64::from(between(random, 100, 500_000));
                let customer = self.customer();
                Input::Payment { warehouse, district, customer_warehouse, customer_district, customer, cents }
            }
            Kind::OrderStatus => Input::OrderStatus { warehouse, district, customer: self.customer() },
            Kind::Delivery => Input::Delivery { warehouse, carrier: between(random, 1, 10) },
            Kind::StockLevel => Input::StockLevel { warehouse, district, threshold: between(random, 10, 20) },
        }
    }

    /// 60 % by last name.
    fn customer(&mut self) -> Customer {
        if self.random.below(100) < 60 {
            let mut name = Vec::with_capacity(16);
            last_name(self.keys.names.draw(&mut self.random), &mut name);
            return Customer::Name(String::from_utf8(name).expect("syllables are ASCII"));
        }
        Customer::Number(self.keys.customers.draw(&mut self.random))
    }

    fn order(&mut self, warehouse: u32, district: u32) -> Order {
        let random = &mut self.random;
        let customer = self.keys.customers.draw(random);
        let count = between(random, 5, 15) as usize;
        let mut lines: Vec<(i64, i64, i64)> = Vec::with_capacity(count);
        while lines.len() < count {
            let item = i64::from(self.keys.items.draw(random));
            if lines.iter().any(|line| line.1 == item) {
                continue;
            }
            let remote = self.scale.warehouses > 1 && random.below(100) == 0;
            let supply = if remote { other(random, warehouse, self.scale.warehouses) } else { warehouse };
            lines.push((supply.into(), item, between(random, 1, 10).into()));
        }
        lines.sort_unstable();
        if random.below(100) == 0 {
            // The last line, so that the work before it is done.
            lines[count - 1].1 = 0;
        }
        Order {
            warehouse,
            district,
            customer,
            items: lines.iter().map(|line| line.1).collect(),
            supplies: lines.iter().map(|line| line.0).collect(),
            quantities: lines.iter().map(|line| line.2).collect(),
        }
    }

    /// Keying and thinking time around a transaction of that kind, ns: fixed, and exponential capped at ten times its
    /// mean.
    pub fn pauses(&mut self, kind: Kind) -> (Nanos, Nanos) {
        let mean = (kind.thinking(self.fidelity) * SECOND) as f64;
        (kind.keying() * SECOND, self.random.exponential(mean).min(10.0 * mean) as Nanos)
    }
}

/// Any warehouse but this one.
fn other(random: &mut Random, this: u32, warehouses: u32) -> u32 {
    let drawn = between(random, 1, warehouses - 1);
    if drawn >= this { drawn + 1 } else { drawn }
}

#[cfg(test)]
mod tests;
