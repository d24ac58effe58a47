//! Items, warehouses, districts, customers and their first payments.

use fathom_runtime::Random;

use super::{LOADED_AT, Population};
use crate::population::ColumnKind::{Cents, Int, Rate, Text, Time};
use crate::population::{Column, Field, Sink, Strings, between, column};
use crate::text::digits;
use crate::tprocc::scale::DISTRICTS;
use crate::tprocc::text::{data, last_name, state};

pub(super) const ITEM: &[Column] = &[
    column("i_id", Int),
    column("i_im_id", Int),
    column("i_name", Text),
    column("i_price", Cents),
    column("i_data", Text),
];

pub(super) const WAREHOUSE: &[Column] = &[
    column("w_id", Int),
    column("w_name", Text),
    column("w_street_1", Text),
    column("w_street_2", Text),
    column("w_city", Text),
    column("w_state", Text),
    column("w_zip", Text),
    column("w_tax", Rate),
    column("w_ytd", Cents),
];

pub(super) const DISTRICT: &[Column] = &[
    column("d_w_id", Int),
    column("d_id", Int),
    column("d_name", Text),
    column("d_street_1", Text),
    column("d_street_2", Text),
    column("d_city", Text),
    column("d_state", Text),
    column("d_zip", Text),
    column("d_tax", Rate),
    column("d_ytd", Cents),
    column("d_next_o_id", Int),
];

pub(super) const CUSTOMER: &[Column] = &[
    column("c_w_id", Int),
    column("c_d_id", Int),
    column("c_id", Int),
    column("c_first", Text),
    column("c_middle", Text),
    column("c_last", Text),
    column("c_street_1", Text),
    column("c_street_2", Text),
    column("c_city", Text),
    column("c_state", Text),
    column("c_zip", Text),
    column("c_phone", Text),
    column("c_since", Time),
    column("c_credit", Text),
    column("c_credit_lim", Cents),
    column("c_discount", Rate),
    column("c_balance", Cents),
    column("c_ytd_payment", Cents),
    column("c_payment_cnt", Int),
    column("c_delivery_cnt", Int),
    column("c_data", Text),
];

pub(super) const HISTORY: &[Column] = &[
    column("h_c_w_id", Int),
    column("h_c_d_id", Int),
    column("h_c_id", Int),
    column("h_w_id", Int),
    column("h_d_id", Int),
    column("h_date", Time),
    column("h_amount", Cents),
    column("h_data", Text),
];

/// The first payment of every customer, in cents; what districts and warehouses have taken follows from it.
const FIRST_PAYMENT: i64 = 1000;

impl Population {
    pub(super) fn items<E>(&self, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("item", 0, 0), Strings::default());
        for item in 1..=self.scale.items {
            texts.clear();
            let image = between(&mut random, 1, 10_000);
            texts.add(|out| self.texts.text(&mut random, 14, 24, out));
            let price = between(&mut random, 100, 10_000);
            texts.add(|out| data(&self.texts, &mut random, 26, 50, out));
            sink(&[
                Field::Int(item.into()),
                Field::Int(image.into()),
                texts.get(0),
                Field::Cents(price.into()),
                texts.get(1),
            ])?;
        }
        Ok(())
    }

    /// Two streets, city, state and zip code.
    fn address(&self, random: &mut Random, texts: &mut Strings) {
        for _ in 0..3 {
            texts.add(|out| self.texts.text(random, 10, 20, out));
        }
        texts.add(|out| state(random, out));
        texts.add(|out| {
            digits(random, 4, out);
            out.extend_from_slice(b"11111");
        });
    }

    pub(super) fn warehouse<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("warehouse", warehouse, 0), Strings::default());
        texts.add(|out| self.texts.text(&mut random, 6, 10, out));
        self.address(&mut random, &mut texts);
        let taken = FIRST_PAYMENT * i64::from(self.scale.customers) * i64::from(DISTRICTS);
        sink(&[
            Field::Int(warehouse.into()),
            texts.get(0),
            texts.get(1),
            texts.get(2),
            texts.get(3),
            texts.get(4),
            texts.get(5),
            Field::Rate(between(&mut random, 0, 2000).into()),
            Field::Cents(taken),
        ])
    }

    pub(super) fn districts<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("district", warehouse, 0), Strings::default());
        for district in 1..=DISTRICTS {
            texts.clear();
            texts.add(|out| self.texts.text(&mut random, 6, 10, out));
            self.address(&mut random, &mut texts);
            sink(&[
                Field::Int(warehouse.into()),
                Field::Int(district.into()),
                texts.get(0),
                texts.get(1),
                texts.get(2),
                texts.get(3),
                texts.get(4),
                texts.get(5),
                Field::Rate(between(&mut random, 0, 2000).into()),
                Field::Cents(FIRST_PAYMENT * i64::from(self.scale.customers)),
                Field::Int(i64::from(self.scale.customers) + 1),
            ])?;
        }
        Ok(())
    }

    pub(super) fn customers<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut texts = Strings::default();
        for district in 1..=DISTRICTS {
            let mut random = self.stream("customer", warehouse, district);
            for customer in 1..=self.scale.customers {
                texts.clear();
                self.customer((warehouse, district, customer), &mut random, &mut texts, sink)?;
            }
        }
        Ok(())
    }

    fn customer<E>(
        &self,
        (warehouse, district, customer): (u32, u32, u32),
        random: &mut Random,
        texts: &mut Strings,
        sink: &mut Sink<'_, E>,
    ) -> Result<(), E> {
        texts.add(|out| self.texts.text(random, 8, 16, out));
        let names = self.scale.names();
        let name = if customer <= names { customer - 1 } else { self.keys.names_loaded.draw(random) };
        texts.add(|out| last_name(name, out));
        self.address(random, texts);
        texts.add(|out| digits(random, 16, out));
        let credit: &[u8] = if random.below(10) == 0 { b"BC" } else { b"GC" };
        let discount = between(random, 0, 5000);
        texts.add(|out| self.texts.text(random, 300, 500, out));
        sink(&[
            Field::Int(warehouse.into()),
            Field::Int(district.into()),
            Field::Int(customer.into()),
            texts.get(0),
            Field::Text(b"OE"),
            texts.get(1),
            texts.get(2),
            texts.get(3),
            texts.get(4),
            texts.get(5),
            texts.get(6),
            texts.get(7),
            Field::Time(LOADED_AT),
            Field::Text(credit),
            Field::Cents(5_000_000),
            Field::Rate(discount.into()),
            Field::Cents(-FIRST_PAYMENT),
            Field::Cents(FIRST_PAYMENT),
            Field::Int(1),
            Field::Int(0),
            texts.get(8),
        ])
    }

    pub(super) fn history<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut texts = Strings::default();
        for district in 1..=DISTRICTS {
            let mut random = self.stream("history", warehouse, district);
            for customer in 1..=self.scale.customers {
                texts.clear();
                texts.add(|out| self.texts.text(&mut random, 12, 24, out));
                sink(&[
                    Field::Int(warehouse.into()),
                    Field::Int(district.into()),
                    Field::Int(customer.into()),
                    Field::Int(warehouse.into()),
                    Field::Int(district.into()),
                    Field::Time(LOADED_AT),
                    Field::Cents(FIRST_PAYMENT),
                    texts.get(0),
                ])?;
            }
        }
        Ok(())
    }
}
