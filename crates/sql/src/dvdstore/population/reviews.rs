//! Reviews of the products, and ratings of the reviews.

use crate::population::ColumnKind::{Int, Text, Time};
use crate::population::{Column, Field, Sink, Strings, between, column};

use super::{DAY, Part, Population, YEAR};

pub(super) const REVIEWS: &[Column] = &[
    column("review_id", Int),
    column("prod_id", Int),
    column("review_date", Time),
    column("stars", Int),
    column("customerid", Int),
    column("review_summary", Text),
    column("review_text", Text),
];

pub(super) const HELPFULNESS: &[Column] = &[
    column("reviews_helpfulness_id", Int),
    column("review_id", Int),
    column("customerid", Int),
    column("helpfulness", Int),
];

impl Population {
    /// The numbers of a product's reviews.
    fn reviews_of(&self, product: u32) -> impl Iterator<Item = i64> + use<> {
        let each = i64::from(self.scale.reviews);
        let before = i64::from(product - 1) * each;
        before + 1..=before + each
    }

    pub(super) fn reviews<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let (mut random, mut texts) = (self.stream("reviews", part.run), Strings::default());
        for product in self.numbers(part) {
            for review in self.reviews_of(product) {
                texts.clear();
                let day = between(&mut random, 0, 364);
                let stars = between(&mut random, 1, 5);
                let customer = between(&mut random, 1, self.scale.customers);
                // Lengths as of the original's three words, and of its 6 to 129.
                texts.add(|out| self.texts.text(&mut random, 12, 36, out));
                texts.add(|out| self.texts.text(&mut random, 36, 780, out));
                sink(&[
                    Field::Int(review),
                    Field::Int(product.into()),
                    Field::Time(YEAR + DAY * i64::from(day)),
                    Field::Int(stars.into()),
                    Field::Int(customer.into()),
                    texts.get(0),
                    texts.get(1),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn helpfulness<E>(&self, part: Part, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let mut random = self.stream("helpfulness", part.run);
        let most = self.scale.most_ratings();
        for product in self.numbers(part) {
            for review in self.reviews_of(product) {
                // Every review has room for the most there may be, so that a part knows its numbers.
                let before = (review - 1) * i64::from(most);
                for number in 1..=i64::from(between(&mut random, 2, most)) {
                    sink(&[
                        Field::Int(before + number),
                        Field::Int(review),
                        Field::Int(between(&mut random, 1, self.scale.customers).into()),
                        Field::Int(between(&mut random, 1, 10).into()),
                    ])?;
                }
            }
        }
        Ok(())
    }
}
