//! The orders of the year before the first run, their lines, and what each customer has bought.

use fathom_runtime::Random;

use crate::population::ColumnKind::{Cents, Int, Time};
use crate::population::{Column, Field, Sink, between, column};

use super::{DAY, Part, Population, Table, YEAR};

pub(super) const ORDERS: &[Column] = &[
    column("orderid", Int),
    column("orderdate", Time),
    column("customerid", Int),
    column("netamount", Cents),
    column("tax", Cents),
    column("totalamount", Cents),
];

pub(super) const ORDERLINES: &[Column] = &[
    column("orderid", Int),
    column("orderlineid", Int),
    column("prod_id", Int),
    column("quantity", Int),
    column("orderdate", Time),
];

pub(super) const CUST_HIST: &[Column] =
    &[column("customerid", Int), column("orderid", Int), column("prod_id", Int)];

/// The first day of each month, and of the next year.
const MONTHS: [u32; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// Most lines of a loaded order.
const MOST_LINES: u32 = 9;

/// What an order, its lines and its history have in common.
struct Order {
    number: u32,
    date: i64,
    customer: u32,
    /// Products and quantities, sorted.
    lines: Vec<(u32, u32)>,
}

/// The sales tax, 8.25 %, rounded to the cent.
pub fn tax(net_cents: i64) -> i64 {
    (net_cents * 825 + 5000) / 10_000
}

impl Population {
    /// The orders of a part; those of `orders`, `orderlines` and `cust_hist` are the same.
    fn orders_of(&self, part: Part) -> impl Iterator<Item = Order> {
        let mut random = self.stream("orders", part.run);
        self.numbers(part).map(move |number| self.order(number, &mut random))
    }

    fn order(&self, number: u32, random: &mut Random) -> Order {
        let month = (u64::from(number - 1) * 12 / u64::from(self.scale.orders)) as usize;
        let day = between(random, MONTHS[month], MONTHS[month + 1] - 1);
        let customer = between(random, 1, self.scale.customers);
        let count = between(random, 1, MOST_LINES) as usize;
        let mut lines: Vec<(u32, u32)> = Vec::with_capacity(count);
        while lines.len() < count {
            let product = between(random, 1, self.scale.products);
            if lines.iter().all(|line| line.0 != product) {
                lines.push((product, between(random, 1, 3)));
            }
        }
        lines.sort_unstable();
        Order { number, date: YEAR + DAY * i64::from(day), customer, lines }
    }

    /// How many of each product the orders hold.
    pub(super) fn sales(&self) -> &[u32] {
        self.sales.get_or_init(|| {
            let mut sales = vec![0; self.scale.products as usize];
            for part in self.parts().into_iter().filter(|part| part.table == Table::Orders) {
                for (product, quantity) in self.orders_of(part).flat_map(|order| order.lines) {
                    sales[product as usize - 1] += quantity;
                }
            }
            sales
        })
    }

    pub(super) fn orders<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for order in self.orders_of(part) {
            let cost =
                |(product, quantity): &(u32, u32)| self.catalogue.cents(*product) * i64::from(*quantity);
            let net: i64 = order.lines.iter().map(cost).sum();
            sink(&[
                Field::Int(order.number.into()),
                Field::Time(order.date),
                Field::Int(order.customer.into()),
                Field::Cents(net),
                Field::Cents(tax(net)),
                Field::Cents(net + tax(net)),
            ])?;
        }
        Ok(())
    }

    pub(super) fn orderlines<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for order in self.orders_of(part) {
            for (line, (product, quantity)) in (1..).zip(&order.lines) {
                sink(&[
                    Field::Int(order.number.into()),
                    Field::Int(line),
                    Field::Int((*product).into()),
                    Field::Int((*quantity).into()),
                    Field::Time(order.date),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn cust_hist<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for order in self.orders_of(part) {
            for (product, _) in &order.lines {
                let row = [order.customer, order.number, *product];
                sink(&row.map(|number| Field::Int(number.into())))?;
            }
        }
        Ok(())
    }
}
