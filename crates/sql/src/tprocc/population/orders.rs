//! The initial orders, one of every customer, the older seven tenths of them delivered, and their lines.

use fathom_runtime::Random;

use super::{LOADED_AT, Population};
use crate::population::ColumnKind::{Cents, Int, Text, Time};
use crate::population::{Column, Field, Sink, Strings, between, column};
use crate::tprocc::scale::DISTRICTS;

pub(super) const ORDERS: &[Column] = &[
    column("o_w_id", Int),
    column("o_d_id", Int),
    column("o_id", Int),
    column("o_c_id", Int),
    column("o_entry_d", Time),
    column("o_carrier_id", Int),
    column("o_ol_cnt", Int),
    column("o_all_local", Int),
];

pub(super) const NEW_ORDER: &[Column] =
    &[column("no_w_id", Int), column("no_d_id", Int), column("no_o_id", Int)];

pub(super) const ORDER_LINE: &[Column] = &[
    column("ol_w_id", Int),
    column("ol_d_id", Int),
    column("ol_o_id", Int),
    column("ol_number", Int),
    column("ol_i_id", Int),
    column("ol_supply_w_id", Int),
    column("ol_delivery_d", Time),
    column("ol_quantity", Int),
    column("ol_amount", Cents),
    column("ol_dist_info", Text),
];

/// What an order and its lines have in common.
struct Order {
    id: u32,
    customer: u32,
    carrier: Option<u32>,
    lines: u32,
}

impl Population {
    /// The orders of a district; the lines draw the same ones.
    fn orders_of(&self, warehouse: u32, district: u32) -> impl Iterator<Item = Order> {
        let mut random = self.stream("orders", warehouse, district);
        let customers = permutation(self.scale.customers, &mut random);
        let delivered = self.scale.delivered();
        (1..).zip(customers).map(move |(id, customer)| {
            let carrier = (id <= delivered).then(|| between(&mut random, 1, 10));
            Order { id, customer, carrier, lines: between(&mut random, 5, 15) }
        })
    }

    pub(super) fn orders<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for district in 1..=DISTRICTS {
            for order in self.orders_of(warehouse, district) {
                sink(&[
                    Field::Int(warehouse.into()),
                    Field::Int(district.into()),
                    Field::Int(order.id.into()),
                    Field::Int(order.customer.into()),
                    Field::Time(LOADED_AT),
                    order.carrier.map_or(Field::Null, |carrier| Field::Int(carrier.into())),
                    Field::Int(order.lines.into()),
                    Field::Int(1),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn new_orders<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for district in 1..=DISTRICTS {
            for order in self.scale.delivered() + 1..=self.scale.customers {
                sink(&[Field::Int(warehouse.into()), Field::Int(district.into()), Field::Int(order.into())])?;
            }
        }
        Ok(())
    }

    pub(super) fn order_lines<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut texts = Strings::default();
        for district in 1..=DISTRICTS {
            let mut random = self.stream("order_line", warehouse, district);
            for order in self.orders_of(warehouse, district) {
                let delivered = order.carrier.is_some();
                for number in 1..=order.lines {
                    texts.clear();
                    let item = between(&mut random, 1, self.scale.items);
                    let amount = if delivered { 0 } else { between(&mut random, 1, 999_999) };
                    texts.add(|out| self.texts.text(&mut random, 24, 24, out));
                    sink(&[
                        Field::Int(warehouse.into()),
                        Field::Int(district.into()),
                        Field::Int(order.id.into()),
                        Field::Int(number.into()),
                        Field::Int(item.into()),
                        Field::Int(warehouse.into()),
                        if delivered { Field::Time(LOADED_AT) } else { Field::Null },
                        Field::Int(5),
                        Field::Cents(amount.into()),
                        texts.get(0),
                    ])?;
                }
            }
        }
        Ok(())
    }
}

/// 1 to `count` in random order (Fisher and Yates).
fn permutation(count: u32, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (1..=count).collect();
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, random.below(place as u64 + 1) as usize);
    }
    numbers
}
