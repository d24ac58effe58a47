//! What a shopper does: visit after visit, each with a login, some browsing, and a purchase.

use std::collections::VecDeque;

use fathom_job::draw::Zipf;
use fathom_runtime::{Nanos, Random};

use crate::population::between;
use crate::text::Texts;

use super::catalogue::{Catalogue, spelt};
use super::person::{Person, username};
use super::population::{CATEGORIES, POPULAR};
use super::scale::Scale;

/// Most products in a cart, as in the original.
const MOST_IN_CART: u32 = 10;

/// How often a popular product is in the original's list to draw from.
const POPULAR_WEIGHT: u64 = 10;

/// The kinds of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A customer logs in.
    Login,
    /// Somebody becomes a customer.
    NewCustomer,
    /// A customer becomes a member.
    NewMember,
    /// Specials of a category are looked at.
    BrowseCategory,
    /// Products with an actor are looked for.
    BrowseActor,
    /// Products of a title are looked for.
    BrowseTitle,
    /// Helpful reviews of an actor's or a title's products are looked for.
    SearchReviews,
    /// Reviews of one product are read.
    ReadReviews,
    /// A review is written.
    NewReview,
    /// A review is rated.
    RateReview,
    /// The cart is paid for.
    Purchase,
}

impl Kind {
    /// Names of the nodes in results, in the order of the declaration.
    pub const NAMES: [&'static str; 11] = [
        "login",
        "new-customer",
        "new-member",
        "browse-category",
        "browse-actor",
        "browse-title",
        "search-reviews",
        "read-reviews",
        "new-review",
        "rate-review",
        "purchase",
    ];
}

/// By what a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The actor.
    Actor,
    /// The title.
    Title,
}

/// Which reviews of a product are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The most helpful ones.
    Rating,
    /// The most helpful ones of so many stars.
    Stars(u32),
    /// The newest ones.
    Date,
}

/// One operation.
#[derive(Debug)]
pub enum Operation {
    /// A customer logs in by that name.
    Login(String),
    /// Somebody fills in the form.
    NewCustomer(Box<Person>),
    /// The customer becomes a member of that level.
    NewMember(u32),
    /// Specials of a category, so many at most.
    BrowseCategory(u32, u32),
    /// Products by two words, so many at most.
    Browse(Search, String, u32),
    /// Reviews by one word, so many at most.
    SearchReviews(Search, String, u32),
    /// Reviews of a product, so many at most.
    ReadReviews(u32, Reading, u32),
    /// A review of a product: stars, summary, text.
    NewReview(u32, u32, String, String),
    /// A rating of a review, 1 to 10.
    RateReview(i64, u32),
    /// Products, distinct and sorted, so that two purchases cannot wait for each other, and their quantities.
    Purchase(Vec<i64>, Vec<i64>),
}

impl Operation {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Login(_) => Kind::Login,
            Self::NewCustomer(_) => Kind::NewCustomer,
            Self::NewMember(_) => Kind::NewMember,
            Self::BrowseCategory(..) => Kind::BrowseCategory,
            Self::Browse(Search::Actor, ..) => Kind::BrowseActor,
            Self::Browse(Search::Title, ..) => Kind::BrowseTitle,
            Self::SearchReviews(..) => Kind::SearchReviews,
            Self::ReadReviews(..) => Kind::ReadReviews,
            Self::NewReview(..) => Kind::NewReview,
            Self::RateReview(..) => Kind::RateReview,
            Self::Purchase(..) => Kind::Purchase,
        }
    }
}

/// The mix of a shopper's visit: the original driver's options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitMix {
    /// Share of visits by new customers, 0 to 1.
    pub new_customers: f64,
    /// Share of visits in which the customer becomes a member.
    pub new_members: f64,
    /// Mean number of searches for products in a visit: 1 to twice as many less 1.
    pub searches: u32,
    /// Mean number of rows a search may answer: 1 to twice as many less 1.
    pub search_batch: u32,
    /// Mean number of searches for reviews, and of readings of reviews; 0 for none.
    pub review_searches: u32,
    /// Share of visits in which a review is written.
    pub new_reviews: f64,
    /// Share of visits in which a review is rated.
    pub new_ratings: f64,
    /// Mean number of products in a cart: 1 to twice as many less 1, at most 10.
    pub line_items: u32,
    /// Zipf's exponent of the products' popularity; 0 for the original's: all alike but every 10,000th.
    pub skew: f64,
    /// Mean thinking time after a purchase, ns: none to twice as long.
    pub think_time: Nanos,
}

/// Which product comes next.
#[derive(Debug, Clone)]
enum Popularity {
    /// All alike, but every [`POPULAR`]-th ten times as often.
    Original,
    /// By rank; the rank's product is `rank * step` modulo their number, so that popular ones are spread.
    Skewed(Box<Zipf>, u64),
}

/// The operations of one shopper, one after the other.
#[derive(Debug)]
pub struct Inputs {
    scale: Scale,
    habits: VisitMix,
    catalogue: Catalogue,
    texts: Texts,
    popularity: Popularity,
    planned: VecDeque<Operation>,
    random: Random,
    /// Names of new customers, apart from those of every other run on the same database.
    names: Random,
}

impl Inputs {
    /// Of a shopper in a shop of that scale and seed of its data. `names` must be another stream in every run.
    pub fn new(
        scale: Scale,
        seed: u64,
        habits: VisitMix,
        repeated: f64,
        random: Random,
        names: Random,
    ) -> Self {
        let popularity = if habits.skew > 0.0 {
            let count = u64::from(scale.products);
            Popularity::Skewed(Box::new(Zipf::new(count, habits.skew)), step(count))
        } else {
            Popularity::Original
        };
        let (catalogue, texts) = (Catalogue::new(seed), Texts::new(repeated));
        Self { scale, habits, catalogue, texts, popularity, planned: VecDeque::new(), random, names }
    }

    /// What comes next.
    pub fn next_operation(&mut self) -> Operation {
        if self.planned.is_empty() {
            self.plan();
        }
        self.planned.pop_front().expect("a visit has operations")
    }

    /// Time after a purchase, ns.
    pub fn thinking(&mut self) -> Nanos {
        (self.random.fraction() * 2.0 * self.habits.think_time as f64) as Nanos
    }

    /// Draws a visit. Every share is a draw of its own.
    fn plan(&mut self) {
        let habits = self.habits;
        let arrival =
            if self.random.chance(habits.new_customers) { self.new_customer() } else { self.login() };
        self.planned.push_back(arrival);
        if self.random.chance(habits.new_members) {
            let level = between(&mut self.random, 1, 3);
            self.planned.push_back(Operation::NewMember(level));
        }
        for _ in 0..self.about(habits.searches) {
            let operation = self.browse();
            self.planned.push_back(operation);
        }
        for _ in 0..self.about(habits.review_searches) {
            let operation = self.search_reviews();
            self.planned.push_back(operation);
        }
        for _ in 0..self.about(habits.review_searches) {
            let product = self.product();
            let reading = match self.random.below(3) {
                0 => Reading::Rating,
                1 => Reading::Stars(between(&mut self.random, 1, 5)),
                _ => Reading::Date,
            };
            let limit = self.about(habits.search_batch);
            self.planned.push_back(Operation::ReadReviews(product, reading, limit));
        }
        if self.random.chance(habits.new_reviews) {
            let operation = self.new_review();
            self.planned.push_back(operation);
        }
        if self.random.chance(habits.new_ratings) {
            let review = self.random.below(self.scale.all_reviews()) as i64 + 1;
            let points = between(&mut self.random, 1, 10);
            self.planned.push_back(Operation::RateReview(review, points));
        }
        let purchase = self.purchase();
        self.planned.push_back(purchase);
    }

    /// 1 to twice the mean less 1; 0 if the mean is 0.
    fn about(&mut self, mean: u32) -> u32 {
        if mean == 0 { 0 } else { between(&mut self.random, 1, 2 * mean - 1) }
    }

    fn login(&mut self) -> Operation {
        Operation::Login(username(between(&mut self.random, 1, self.scale.customers)))
    }

    fn new_customer(&mut self) -> Operation {
        let american = self.random.below(2) == 0;
        let name = format!("newuser{:016x}", self.names.word());
        let mut person = Box::<Person>::default();
        person.redraw(&self.texts, &mut self.random, american, &name);
        Operation::NewCustomer(person)
    }

    fn browse(&mut self) -> Operation {
        let limit = self.about(self.habits.search_batch);
        let search = match self.random.below(3) {
            0 => return Operation::BrowseCategory(between(&mut self.random, 1, CATEGORIES), limit),
            1 => Search::Actor,
            _ => Search::Title,
        };
        let words = self.words(search);
        Operation::Browse(search, spelt(&words), limit)
    }

    fn search_reviews(&mut self) -> Operation {
        let search = if self.random.below(2) == 0 { Search::Actor } else { Search::Title };
        let word = self.words(search)[self.random.below(2) as usize];
        Operation::SearchReviews(search, spelt(&[word]), self.about(self.habits.search_batch))
    }

    /// Title or actor of a product that exists.
    fn words(&mut self, search: Search) -> [u32; 2] {
        let product = self.product();
        match search {
            Search::Actor => self.catalogue.actor(product),
            Search::Title => self.catalogue.title(product),
        }
    }

    fn new_review(&mut self) -> Operation {
        let product = between(&mut self.random, 1, self.scale.products);
        let stars = between(&mut self.random, 1, 5);
        let mut text = |low, high| {
            let mut out = Vec::new();
            self.texts.text(&mut self.random, low, high, &mut out);
            String::from_utf8(out).expect("texts are ASCII")
        };
        // Lengths as of the original's three words, and of its 25.
        let (summary, body) = (text(12, 36), text(125, 175));
        Operation::NewReview(product, stars, summary, body)
    }

    fn purchase(&mut self) -> Operation {
        let count = self.about(self.habits.line_items).min(MOST_IN_CART) as usize;
        let mut cart: Vec<(i64, i64)> = Vec::with_capacity(count);
        while cart.len() < count {
            let product = i64::from(self.product());
            if cart.iter().all(|line| line.0 != product) {
                cart.push((product, between(&mut self.random, 1, 3).into()));
            }
        }
        cart.sort_unstable();
        let (products, quantities) = cart.into_iter().unzip();
        Operation::Purchase(products, quantities)
    }

    fn product(&mut self) -> u32 {
        let products = u64::from(self.scale.products);
        match &self.popularity {
            Popularity::Skewed(zipf, step) => (zipf.draw(&mut self.random) * step % products) as u32 + 1,
            Popularity::Original => {
                let popular = products / u64::from(POPULAR);
                let drawn = self.random.below(products + (POPULAR_WEIGHT - 1) * popular);
                match drawn.checked_sub(products) {
                    None => drawn as u32 + 1,
                    Some(extra) => ((extra % popular) as u32 + 1) * POPULAR,
                }
            }
        }
    }
}

/// A step that visits all of `count` numbers, the golden section of them.
fn step(count: u64) -> u64 {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (count as f64 * 0.618_033_988_749_895) as u64;
    (golden.max(1)..).find(|step| common(*step, count) == 1).expect("count + 1 shares nothing with count")
}

#[cfg(test)]
mod tests;
