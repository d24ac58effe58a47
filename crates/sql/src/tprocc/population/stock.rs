//! The stock of a warehouse.

use super::Population;
use crate::population::ColumnKind::{Int, Text};
use crate::population::{Column, Field, Sink, Strings, between, column};
use crate::tprocc::scale::DISTRICTS;
use crate::tprocc::text::data;

pub(super) const STOCK: &[Column] = &[
    column("s_w_id", Int),
    column("s_i_id", Int),
    column("s_quantity", Int),
    column("s_dist_01", Text),
    column("s_dist_02", Text),
    column("s_dist_03", Text),
    column("s_dist_04", Text),
    column("s_dist_05", Text),
    column("s_dist_06", Text),
    column("s_dist_07", Text),
    column("s_dist_08", Text),
    column("s_dist_09", Text),
    column("s_dist_10", Text),
    column("s_ytd", Int),
    column("s_order_cnt", Int),
    column("s_remote_cnt", Int),
    column("s_data", Text),
];

impl Population {
    pub(super) fn stock<E>(&self, warehouse: u32, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("stock", warehouse, 0), Strings::default());
        for item in 1..=self.scale.items {
            texts.clear();
            let quantity = between(&mut random, 10, 100);
            for _ in 0..DISTRICTS {
                texts.add(|out| self.texts.text(&mut random, 24, 24, out));
            }
            texts.add(|out| data(&self.texts, &mut random, 26, 50, out));
            sink(&[
                Field::Int(warehouse.into()),
                Field::Int(item.into()),
                Field::Int(quantity.into()),
                texts.get(0),
                texts.get(1),
                texts.get(2),
                texts.get(3),
                texts.get(4),
                texts.get(5),
                texts.get(6),
                texts.get(7),
                texts.get(8),
                texts.get(9),
                Field::Int(0),
                Field::Int(0),
                Field::Int(0),
                texts.get(10),
            ])?;
        }
        Ok(())
    }
}
