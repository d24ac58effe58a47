//! A customer's details: the load creates them in bulk, a shopper enters them one by one.

use fathom_runtime::Random;

use crate::population::{Field, Strings, between};
use crate::text::{Texts, digits};

/// Every customer's password, as in the original.
pub const PASSWORD: &str = "password";

/// Where customers live who do not live in the US.
const COUNTRIES: [&str; 10] =
    ["Australia", "Canada", "Chile", "China", "France", "Germany", "Japan", "Russia", "South Africa", "UK"];

/// What a form holds; reused from customer to customer.
#[derive(Debug, Default)]
pub struct Person {
    texts: Strings,
    zip: Option<i64>,
    card: i64,
    age: i64,
    income: i64,
}

/// The loaded customer of that number has that name.
pub fn username(customer: u32) -> String {
    format!("user{customer}")
}

impl Person {
    /// Draws another one, who lives in the US or elsewhere.
    pub fn redraw(&mut self, texts: &Texts, random: &mut Random, american: bool, username: &str) {
        let all = &mut self.texts;
        all.clear();
        all.add(|out| texts.text(random, 6, 6, out));
        all.add(|out| texts.text(random, 10, 10, out));
        all.add(|out| {
            digits(random, 10, out);
            out.extend_from_slice(b" Film Way");
        });
        all.add(|out| texts.text(random, 7, 7, out));
        all.add(|out| texts.text(random, 2, 2, out));
        let country = if american { "US" } else { COUNTRIES[random.below(10) as usize] };
        all.add(|out| out.extend_from_slice(country.as_bytes()));
        all.add(|out| {
            texts.text(random, 10, 10, out);
            out.extend_from_slice(b"@example.com");
        });
        all.add(|out| digits(random, 10, out));
        all.add(|out| digits(random, 16, out));
        let (year, month) = (between(random, 2013, 2017), between(random, 1, 12));
        all.add(|out| out.extend_from_slice(format!("{year}/{month:02}").as_bytes()));
        all.add(|out| out.extend_from_slice(username.as_bytes()));
        let gender = if random.below(2) == 0 { b"F" } else { b"M" };
        all.add(|out| out.extend_from_slice(gender));
        self.zip = american.then(|| between(random, 10_000, 99_999).into());
        self.card = between(random, 1, 5).into();
        self.age = between(random, 18, 90).into();
        self.income = i64::from(between(random, 1, 5)) * 20_000;
    }

    /// The columns of `customers` after the number, in their order.
    pub fn fields(&self) -> [Field<'_>; 19] {
        let text = |place| self.texts.get(place);
        [
            text(0),
            text(1),
            text(2),
            Field::Null,
            text(3),
            if self.zip.is_some() { text(4) } else { Field::Null },
            self.zip.map_or(Field::Null, Field::Int),
            text(5),
            Field::Int(if self.zip.is_some() { 1 } else { 2 }),
            text(6),
            text(7),
            Field::Int(self.card),
            text(8),
            text(9),
            text(10),
            Field::Text(PASSWORD.as_bytes()),
            Field::Int(self.age),
            Field::Int(self.income),
            text(11),
        ]
    }
}
