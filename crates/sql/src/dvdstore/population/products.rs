//! Categories, products and their stock.

use crate::dvdstore::catalogue::spell;
use crate::population::ColumnKind::{Cents, Int, Text};
use crate::population::{Column, Field, Sink, Strings, between, column};

use super::{Part, Population};

pub(super) const CATEGORIES: &[Column] = &[column("category", Int), column("categoryname", Text)];

pub(super) const PRODUCTS: &[Column] = &[
    column("prod_id", Int),
    column("category", Int),
    column("title", Text),
    column("actor", Text),
    column("price", Cents),
    column("special", Int),
    column("common_prod_id", Int),
    column("membership_item", Int),
];

pub(super) const INVENTORY: &[Column] = &[
    column("prod_id", Int),
    column("quan_in_stock", Int),
    column("sales", Int),
    column("quan_received", Int),
];

/// The names of the categories, in the order of their numbers, from 1.
pub const NAMES: [&str; 16] = [
    "Action",
    "Animation",
    "Children",
    "Classics",
    "Comedy",
    "Documentary",
    "Drama",
    "Family",
    "Foreign",
    "Games",
    "Horror",
    "Music",
    "New",
    "Sci-Fi",
    "Sports",
    "Travel",
];

/// Every so many-th product is a popular one.
pub const POPULAR: u32 = 10_000;

pub(super) fn categories<E>(sink: &mut Sink<'_, E>) -> Result<(), E> {
    for (number, name) in (1..).zip(NAMES) {
        sink(&[Field::Int(number), Field::Text(name.as_bytes())])?;
    }
    Ok(())
}

impl Population {
    pub(super) fn products<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("products", part.run), Strings::default());
        // Larger shops have a smaller share of specials, as in the original.
        let special_in = if self.scale.products > 100_000 { 10_000 } else { 100 };
        for product in self.numbers(part) {
            texts.clear();
            texts.add(|out| spell(&self.catalogue.title(product), out));
            texts.add(|out| spell(&self.catalogue.actor(product), out));
            sink(&[
                Field::Int(product.into()),
                Field::Int(between(&mut random, 1, NAMES.len() as u32).into()),
                texts.get(0),
                texts.get(1),
                Field::Cents(self.catalogue.cents(product)),
                Field::Int((random.below(special_in) == 0).into()),
                Field::Int(between(&mut random, 1, self.scale.products).into()),
                Field::Int(between(&mut random, 0, 3).into()),
            ])?;
        }
        Ok(())
    }

    pub(super) fn inventory<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut random = self.stream("inventory", part.run);
        let sales = self.sales();
        for product in self.numbers(part) {
            let each = if product % POPULAR == 0 { 10 } else { 1 };
            let stock = i64::from(each * between(&mut random, 0, 500));
            let sold = i64::from(sales[product as usize - 1]);
            sink(&[
                Field::Int(product.into()),
                Field::Int(stock),
                Field::Int(sold),
                Field::Int(stock + sold),
            ])?;
        }
        Ok(())
    }
}
