//! Customers, half of them in the US, a tenth of them members.

use crate::dvdstore::person::{Person, username};
use crate::population::ColumnKind::{Int, Text, Time};
use crate::population::{Column, Field, Sink, between, column};

use super::{DAY, Part, Population, YEAR};

pub(super) const CUSTOMERS: &[Column] = &[
    column("customerid", Int),
    column("firstname", Text),
    column("lastname", Text),
    column("address1", Text),
    column("address2", Text),
    column("city", Text),
    column("state", Text),
    column("zip", Int),
    column("country", Text),
    column("region", Int),
    column("email", Text),
    column("phone", Text),
    column("creditcardtype", Int),
    column("creditcard", Text),
    column("creditcardexpiration", Text),
    column("username", Text),
    column("password", Text),
    column("age", Int),
    column("income", Int),
    column("gender", Text),
];

pub(super) const MEMBERSHIP: &[Column] =
    &[column("customerid", Int), column("membershiptype", Int), column("expiredate", Time)];

impl Population {
    pub(super) fn customers<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut person) = (self.stream("customers", part.run), Person::default());
        for customer in self.numbers(part) {
            let american = customer <= self.scale.customers / 2;
            person.redraw(&self.texts, &mut random, american, &username(customer));
            let mut row = [Field::Int(customer.into()); 20];
            row[1..].copy_from_slice(&person.fields());
            sink(&row)?;
        }
        Ok(())
    }

    pub(super) fn membership<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut random = self.stream("membership", part.run);
        for customer in self.numbers(part) {
            if random.below(10) > 0 {
                continue;
            }
            let level = between(&mut random, 1, 3);
            let expires = YEAR + DAY * i64::from(between(&mut random, 365, 729));
            sink(&[Field::Int(customer.into()), Field::Int(level.into()), Field::Time(expires)])?;
        }
        Ok(())
    }
}
