//! How a shopper's operations are executed: one prepared statement each, but for the purchase, which is one call of a procedure or
//! a transaction of statements in three round trips where the database takes pipelines.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::drive::Ending;
use crate::error::{Error, ErrorKind, Result};
use crate::load::to_value;
use crate::rows::Answer;
use crate::script::Script;
use crate::session::{Call, Session, Statement};
use crate::settings::Interface;
use crate::value::Value;

use super::input::{Operation, Reading, Search};
use super::person::{PASSWORD, Person};
use super::population::tax;
use crate::texts::Texts;

/// The code of PostgreSQL's function for a product that is short.
const SHORT: &str = "FT002";

const DAY: i64 = 86_400_000_000;

/// How long a new membership lasts, days.
const MEMBERSHIP: i64 = 365;

/// One session's prepared operations, and who shops in it.
#[derive(Debug)]
pub struct Shop {
    login: Statement,
    new_customer: Statement,
    new_member: Statement,
    browse_category: Statement,
    browse_actor: Statement,
    browse_title: Statement,
    search_reviews_actor: Statement,
    search_reviews_title: Statement,
    reviews_by_rating: Statement,
    reviews_by_stars: Statement,
    reviews_by_date: Statement,
    new_review: Statement,
    rate_review: Statement,
    purchase: Purchase,
    customer: i64,
    answer: Answer,
    answers: Vec<Answer>,
}

#[derive(Debug)]
enum Purchase {
    Procedure(Statement),
    Statements {
        prices: Statement,
        order_added: Statement,
        stock: Statement,
        stock_taken: Statement,
        line_added: Statement,
        history_added: Statement,
    },
}

impl Purchase {
    fn prepare(interface: Interface, texts: &Texts, session: &mut dyn Session) -> Result<Self> {
        let statements: &Script = &texts.statements;
        match (interface, &texts.procedures) {
            (Interface::Procedures, Some(procedures)) => {
                session.prepare(procedures.calls.get("purchase")).map(Self::Procedure)
            }
            (Interface::Procedures, None) => Err(Error::new(
                ErrorKind::Other,
                "this database has no procedures; use `interface = \"statements\"`",
            )),
            (Interface::Statements, _) => Ok(Self::Statements {
                prices: session.prepare(statements.get("prices"))?,
                order_added: session.prepare(statements.get("order_added"))?,
                stock: session.prepare(statements.get("stock"))?,
                stock_taken: session.prepare(statements.get("stock_taken"))?,
                line_added: session.prepare(statements.get("line_added"))?,
                history_added: session.prepare(statements.get("history_added"))?,
            }),
        }
    }
}

impl Shop {
    /// Prepares the operations in a session.
    ///
    /// # Errors
    /// The database's; [`ErrorKind::Other`] if it knows no procedures.
    pub fn prepare(interface: Interface, texts: &Texts, session: &mut dyn Session) -> Result<Self> {
        let purchase = Purchase::prepare(interface, texts, session)?;
        let mut prepare = |name: &str| session.prepare(texts.statements.get(name));
        Ok(Self {
            login: prepare("login")?,
            new_customer: prepare("new_customer")?,
            new_member: prepare("new_member")?,
            browse_category: prepare("browse_category")?,
            browse_actor: prepare("browse_actor")?,
            browse_title: prepare("browse_title")?,
            search_reviews_actor: prepare("search_reviews_actor")?,
            search_reviews_title: prepare("search_reviews_title")?,
            reviews_by_rating: prepare("reviews_by_rating")?,
            reviews_by_stars: prepare("reviews_by_stars")?,
            reviews_by_date: prepare("reviews_by_date")?,
            new_review: prepare("new_review")?,
            rate_review: prepare("rate_review")?,
            purchase,
            customer: 0,
            answer: Answer::new(),
            answers: Vec::new(),
        })
    }

    /// Carries one operation out; whoever logged in last is the customer of those that follow. [`Ending::RolledBack`] is a
    /// purchase of which a product is short.
    ///
    /// # Errors
    /// The database's; nothing of the operation is kept then, unless the connection was lost in its commit.
    pub fn perform(&mut self, session: &mut dyn Session, operation: &Operation) -> Result<Ending> {
        let customer = Value::Int(self.customer);
        match operation {
            Operation::Login(name) => self.login(session, name)?,
            Operation::NewCustomer(person) => self.new_customer(session, person)?,
            Operation::NewMember(level) => {
                let parameters = [customer, int(*level), Value::Time(today() + MEMBERSHIP * DAY)];
                session.run(self.new_member, &parameters, &mut self.answer)?;
            }
            Operation::BrowseCategory(category, limit) => {
                session.run(self.browse_category, &[int(*category), int(*limit)], &mut self.answer)?;
            }
            Operation::Browse(search, words, limit) => {
                let statement = match search {
                    Search::Actor => self.browse_actor,
                    Search::Title => self.browse_title,
                };
                session.run(statement, &[Value::Text(words), int(*limit)], &mut self.answer)?;
                found(&self.answer, words)?;
            }
            Operation::SearchReviews(search, word, limit) => {
                let statement = match search {
                    Search::Actor => self.search_reviews_actor,
                    Search::Title => self.search_reviews_title,
                };
                session.run(statement, &[Value::Text(word), int(*limit)], &mut self.answer)?;
                found(&self.answer, word)?;
            }
            Operation::ReadReviews(product, reading, limit) => {
                let (product, limit) = (int(*product), int(*limit));
                let (statement, parameters) = match reading {
                    Reading::Rating => (self.reviews_by_rating, &[product, limit][..]),
                    Reading::Stars(stars) => (self.reviews_by_stars, &[product, int(*stars), limit][..]),
                    Reading::Date => (self.reviews_by_date, &[product, limit][..]),
                };
                session.run(statement, parameters, &mut self.answer)?;
            }
            Operation::NewReview(product, stars, summary, text) => {
                let parameters = [
                    int(*product),
                    Value::Time(today()),
                    int(*stars),
                    customer,
                    Value::Text(summary),
                    Value::Text(text),
                ];
                session.run(self.new_review, &parameters, &mut self.answer)?;
            }
            Operation::RateReview(review, points) => {
                let parameters = [Value::Int(*review), customer, int(*points)];
                session.run(self.rate_review, &parameters, &mut self.answer)?;
            }
            Operation::Purchase(products, quantities) => return self.purchase(session, products, quantities),
        }
        Ok(Ending::Committed)
    }

    fn login(&mut self, session: &mut dyn Session, name: &str) -> Result<()> {
        session.run(self.login, &[Value::Text(name), Value::Text(PASSWORD)], &mut self.answer)?;
        let unknown = |_| Error::new(ErrorKind::Other, format!("no customer is called {name}"));
        self.customer = self.answer.first().map_err(unknown)?.int(0)?;
        Ok(())
    }

    fn new_customer(&mut self, session: &mut dyn Session, person: &Person) -> Result<()> {
        let mut parameters = [Value::Null; 19];
        for (parameter, field) in parameters.iter_mut().zip(person.fields()) {
            *parameter = to_value(field)?;
        }
        session.run(self.new_customer, &parameters, &mut self.answer)?;
        let taken = |_| Error::new(ErrorKind::Constraint, "the name of a new customer is taken");
        self.customer = self.answer.first().map_err(taken)?.int(0)?;
        Ok(())
    }

    fn purchase(
        &mut self,
        session: &mut dyn Session,
        products: &[i64],
        quantities: &[i64],
    ) -> Result<Ending> {
        let Purchase::Procedure(call) = self.purchase else {
            return self.purchase_by_statements(session, products, quantities);
        };
        let parameters = [Value::Int(self.customer), Value::Ints(products), Value::Ints(quantities)];
        match session.run(call, &parameters, &mut self.answer) {
            Err(error) if error.code() == Some(SHORT) => Ok(Ending::RolledBack),
            Err(error) => Err(error),
            Ok(()) if self.answer.first()?.int(0)? == 0 => Ok(Ending::RolledBack),
            Ok(()) => Ok(Ending::Committed),
        }
    }

    fn purchase_by_statements(
        &mut self,
        session: &mut dyn Session,
        products: &[i64],
        quantities: &[i64],
    ) -> Result<Ending> {
        let Purchase::Statements { prices, order_added, stock, stock_taken, line_added, history_added } =
            self.purchase
        else {
            unreachable!("the caller has looked");
        };
        session.run(prices, &[Value::Ints(products)], &mut self.answer)?;
        let net = cost(&self.answer, products, quantities)?;
        let (customer, date) = (Value::Int(self.customer), Value::Time(today()));
        let order = [date, customer, Value::cents(net), Value::cents(tax(net)), Value::cents(net + tax(net))];
        let wanted: Vec<[Value<'_>; 1]> = products.iter().map(|product| [Value::Int(*product)]).collect();
        let mut calls = vec![Call::Begin, Call::Run(order_added, &order)];
        calls.extend(wanted.iter().map(|product| Call::Run(stock, product)));
        session.pipeline(&calls, &mut self.answers)?;

        let number = Value::Int(self.answers[1].first()?.int(0)?);
        for (answer, quantity) in self.answers[2..].iter().zip(quantities) {
            if answer.first()?.int(0)? < *quantity {
                session.rollback()?;
                return Ok(Ending::RolledBack);
            }
        }
        let each =
            || products.iter().zip(quantities).map(|(one, other)| (Value::Int(*one), Value::Int(*other)));
        let taken: Vec<[Value<'_>; 3]> =
            each().map(|(product, quantity)| [quantity, quantity, product]).collect();
        let lines: Vec<[Value<'_>; 5]> = each()
            .zip(1..)
            .map(|((product, quantity), line)| [number, Value::Int(line), product, quantity, date])
            .collect();
        let bought: Vec<[Value<'_>; 3]> = each().map(|(product, _)| [customer, number, product]).collect();
        let mut calls = Vec::with_capacity(3 * products.len() + 1);
        calls.extend(taken.iter().map(|taken| Call::Run(stock_taken, taken)));
        calls.extend(lines.iter().map(|line| Call::Run(line_added, line)));
        calls.extend(bought.iter().map(|bought| Call::Run(history_added, bought)));
        calls.push(Call::Commit);
        session.pipeline(&calls, &mut self.answers)?;
        Ok(Ending::Committed)
    }
}

/// What the cart costs, cents, by an answer of products and prices.
fn cost(prices: &Answer, products: &[i64], quantities: &[i64]) -> Result<i64> {
    if prices.len() != products.len() {
        let message = format!("{} of {} products of a cart have a price", prices.len(), products.len());
        return Err(Error::new(ErrorKind::Other, message));
    }
    let mut net = 0;
    for row in prices.rows() {
        let product = row.int(0)?;
        let quantity = products.iter().position(|one| *one == product).map_or(0, |place| quantities[place]);
        net += quantity * row.decimal(1, 2)?;
    }
    Ok(net)
}

/// Every search is for something that exists: an empty answer is an index that does not work.
fn found(answer: &Answer, words: &str) -> Result<()> {
    let nothing = |_| Error::new(ErrorKind::Other, format!("nothing was found for {words}"));
    answer.first().map(drop).map_err(nothing)
}

fn int(number: u32) -> Value<'static> {
    Value::Int(i64::from(number))
}

/// The date that a row bears, us since 1970.
#[expect(clippy::disallowed_methods, reason = "a date within the data; nothing is timed by it")]
fn today() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    micros - micros.rem_euclid(DAY)
}
