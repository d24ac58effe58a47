//! The five transactions statement by statement, in as few round trips as their dependencies allow where the database
//! takes pipelines: two for New-Order, Payment and Delivery, one or two for Order-Status, one for Stock-Level.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::script::Script;
use crate::session::{Call, Session, Statement};
use crate::tprocc::input::{Customer, Input, Order};
use crate::tprocc::scale::DISTRICTS;
use crate::value::Value;

use crate::drive::Ending;

/// The prepared statements of one session.
#[derive(Debug)]
pub struct Statements {
    customers_of_name: Statement,
    order_district: Statement,
    order_number_taken: Statement,
    order_customer: Statement,
    order_item: Statement,
    order_stock: Statement,
    order_stock_taken: Statement,
    order_added: Statement,
    order_waits: Statement,
    order_line_added: Statement,
    payment_customer: Statement,
    payment_customer_read: Statement,
    payment_district: Statement,
    payment_warehouse: Statement,
    payment_history: Statement,
    status_customer: Statement,
    status_lines: Statement,
    delivery_oldest: Statement,
    delivery_taken: Statement,
    delivery_order: Statement,
    delivery_lines: Statement,
    delivery_customer: Statement,
    stock_level: Statement,
    /// As the specification populates its tables, and HammerDB does not.
    everybody_has_ordered: bool,
    answers: Vec<Answer>,
}

/// A line with what the database says about it.
struct Line {
    quantity_left: i64,
    cents: i64,
    information: String,
}

impl Statements {
    /// Unless `everybody_has_ordered`, a customer without an order has nothing to be shown.
    pub(super) fn prepare(
        texts: &Script,
        everybody_has_ordered: bool,
        session: &mut dyn Session,
    ) -> Result<Self> {
        let mut prepare = |name: &str| session.prepare(texts.get(name));
        Ok(Self {
            customers_of_name: prepare("customers_of_name")?,
            order_district: prepare("order_district")?,
            order_number_taken: prepare("order_number_taken")?,
            order_customer: prepare("order_customer")?,
            order_item: prepare("order_item")?,
            order_stock: prepare("order_stock")?,
            order_stock_taken: prepare("order_stock_taken")?,
            order_added: prepare("order_added")?,
            order_waits: prepare("order_waits")?,
            order_line_added: prepare("order_line_added")?,
            payment_customer: prepare("payment_customer")?,
            payment_customer_read: prepare("payment_customer_read")?,
            payment_district: prepare("payment_district")?,
            payment_warehouse: prepare("payment_warehouse")?,
            payment_history: prepare("payment_history")?,
            status_customer: prepare("status_customer")?,
            status_lines: prepare("status_lines")?,
            delivery_oldest: prepare("delivery_oldest")?,
            delivery_taken: prepare("delivery_taken")?,
            delivery_order: prepare("delivery_order")?,
            delivery_lines: prepare("delivery_lines")?,
            delivery_customer: prepare("delivery_customer")?,
            stock_level: prepare("stock_level")?,
            everybody_has_ordered,
            answers: Vec::new(),
        })
    }

    pub(super) fn perform(&mut self, session: &mut dyn Session, input: &Input) -> Result<Ending> {
        match input {
            Input::NewOrder(order) => return self.new_order(session, order),
            Input::Payment { .. } => self.payment(session, input)?,
            Input::OrderStatus { warehouse, district, customer } => {
                self.order_status(session, (*warehouse, *district), customer)?;
            }
            Input::Delivery { warehouse, carrier } => self.delivery(session, *warehouse, *carrier)?,
            Input::StockLevel { warehouse, district, threshold } => {
                let parameters = [int(*warehouse), int(*district), int(*threshold)];
                self.send(session, &[Call::Run(self.stock_level, &parameters)])?;
                self.answers[0].first()?.int(0)?;
            }
        }
        Ok(Ending::Committed)
    }

    fn send(&mut self, session: &mut dyn Session, calls: &[Call<'_>]) -> Result<()> {
        session.pipeline(calls, &mut self.answers)
    }

    fn new_order(&mut self, session: &mut dyn Session, order: &Order) -> Result<Ending> {
        let home = [int(order.warehouse), int(order.district)];
        let customer = [home[0], home[1], int(order.customer)];
        let items: Vec<[Value<'_>; 1]> = order.items.iter().map(|item| [Value::Int(*item)]).collect();
        let stocks: Vec<[Value<'_>; 3]> = (order.supplies.iter().zip(&order.items))
            .map(|(supply, item)| [home[1], Value::Int(*supply), Value::Int(*item)])
            .collect();
        let mut calls = vec![
            Call::Begin,
            Call::Run(self.order_district, &home),
            Call::Run(self.order_number_taken, &home),
            Call::Run(self.order_customer, &customer),
        ];
        let read = calls.len();
        calls.extend(items.iter().map(|item| Call::Run(self.order_item, item)));
        calls.extend(stocks.iter().map(|stock| Call::Run(self.order_stock, stock)));
        self.send(session, &calls)?;

        let number = self.answers[1].first()?.int(0)?;
        self.answers[3].first()?;
        let mut lines = Vec::with_capacity(items.len());
        for (index, quantity) in order.quantities.iter().enumerate() {
            let item = &self.answers[read + index];
            if item.is_empty() {
                session.rollback()?;
                return Ok(Ending::RolledBack);
            }
            let stock = self.answers[read + items.len() + index].first()?;
            let left = stock.int(0)?;
            lines.push(Line {
                quantity_left: if left >= quantity + 10 { left - quantity } else { left - quantity + 91 },
                cents: item.first()?.decimal(0, 2)? * quantity,
                information: stock.text(2)?.to_owned(),
            });
        }
        self.write_order(session, order, number, &lines)?;
        Ok(Ending::Committed)
    }

    fn write_order(
        &mut self,
        session: &mut dyn Session,
        order: &Order,
        number: i64,
        lines: &[Line],
    ) -> Result<()> {
        let home = i64::from(order.warehouse);
        let place = [int(order.warehouse), int(order.district), Value::Int(number)];
        let all_local = order.supplies.iter().all(|supply| *supply == home);
        let added = [
            place[0],
            place[1],
            place[2],
            int(order.customer),
            now(),
            Value::Int(lines.len() as i64),
            Value::Int(all_local.into()),
        ];
        let each = || order.items.iter().zip(&order.supplies).zip(&order.quantities).zip(lines);
        let taken: Vec<[Value<'_>; 5]> = each()
            .map(|(((item, supply), quantity), line)| {
                let remote = i64::from(*supply != home);
                [line.quantity_left, *quantity, remote, *supply, *item].map(Value::Int)
            })
            .collect();
        let added_lines: Vec<[Value<'_>; 9]> = (each().zip(1..))
            .map(|((((item, supply), quantity), line), index)| {
                [
                    place[0],
                    place[1],
                    place[2],
                    Value::Int(index),
                    Value::Int(*item),
                    Value::Int(*supply),
                    Value::Int(*quantity),
                    Value::cents(line.cents),
                    Value::Text(&line.information),
                ]
            })
            .collect();
        let mut calls = vec![Call::Run(self.order_added, &added), Call::Run(self.order_waits, &place)];
        calls.extend(taken.iter().map(|taken| Call::Run(self.order_stock_taken, taken)));
        calls.extend(added_lines.iter().map(|line| Call::Run(self.order_line_added, line)));
        calls.push(Call::Commit);
        self.send(session, &calls)
    }

    /// The number of a customer: of those who bear a name, the one in the middle, rounded up (clause 2.5.2.2).
    fn number(
        &mut self,
        session: &mut dyn Session,
        (warehouse, district): (u32, u32),
        customer: &Customer,
    ) -> Result<i64> {
        let name = match customer {
            Customer::Number(number) => return Ok(i64::from(*number)),
            Customer::Name(name) => name,
        };
        let parameters = [int(warehouse), int(district), Value::Text(name)];
        self.send(session, &[Call::Run(self.customers_of_name, &parameters)])?;
        let count = self.answers[0].len();
        let middle = self.answers[0].rows().nth(count.saturating_sub(1) / 2);
        middle.ok_or_else(|| Error::new(ErrorKind::Other, format!("no customer is called {name}")))?.int(0)
    }

    fn payment(&mut self, session: &mut dyn Session, input: &Input) -> Result<()> {
        let Input::Payment { warehouse, district, customer_warehouse, customer_district, customer, cents } =
            input
        else {
            unreachable!("the caller matched a payment");
        };
        // Names never change, so that the number may be looked up before the transaction.
        let number = self.number(session, (*customer_warehouse, *customer_district), customer)?;
        let amount = Value::cents(*cents);
        let data = format!(
            "{number} {customer_district} {customer_warehouse} {district} {warehouse} {}.{:02} ",
            cents / 100,
            cents % 100
        );
        let who = [int(*customer_warehouse), int(*customer_district), Value::Int(number)];
        let paid = [amount, amount, Value::Text(&data), who[0], who[1], who[2]];
        let (of_district, of_warehouse) =
            ([amount, int(*warehouse), int(*district)], [amount, int(*warehouse)]);
        let history = [who[0], who[1], who[2], now(), amount, int(*warehouse), int(*district)];
        let calls = [
            Call::Begin,
            Call::Run(self.payment_customer, &paid),
            Call::Run(self.payment_customer_read, &who),
            // The rows everybody wants come last.
            Call::Run(self.payment_district, &of_district),
            Call::Run(self.payment_warehouse, &of_warehouse),
            Call::Run(self.payment_history, &history),
            Call::Commit,
        ];
        self.send(session, &calls)?;
        self.answers[2].first().map(drop)
    }

    fn order_status(
        &mut self,
        session: &mut dyn Session,
        (warehouse, district): (u32, u32),
        customer: &Customer,
    ) -> Result<()> {
        let number = Value::Int(self.number(session, (warehouse, district), customer)?);
        let who = [int(warehouse), int(district), number];
        let lines = [who[0], who[1], who[0], who[1], number];
        self.send(session, &[Call::Run(self.status_customer, &who), Call::Run(self.status_lines, &lines)])?;
        self.answers[0].first()?;
        if self.everybody_has_ordered {
            self.answers[1].first()?;
        }
        Ok(())
    }

    fn delivery(&mut self, session: &mut dyn Session, warehouse: u32, carrier: u32) -> Result<()> {
        let districts: Vec<[Value<'_>; 2]> =
            (1..=DISTRICTS).map(|district| [int(warehouse), int(district)]).collect();
        let mut calls = vec![Call::Begin];
        calls.extend(districts.iter().map(|district| Call::Run(self.delivery_oldest, district)));
        self.send(session, &calls)?;

        // The parameters of each statement, for the districts that have an order waiting.
        let (mut orders, moment) = (Vec::new(), now());
        for (district, answer) in districts.iter().zip(&self.answers[1..]) {
            if let Some(row) = answer.rows().next() {
                orders.push([district[0], district[1], Value::Int(row.int(0)?)]);
            }
        }
        let before = |first: Value<'static>| {
            let with = |[w, d, o]: &[Value<'static>; 3]| [first, *w, *d, *o];
            orders.iter().map(with).collect::<Vec<_>>()
        };
        let (carried, delivered) = (before(int(carrier)), before(moment));
        let owed: Vec<[Value<'_>; 8]> =
            orders.iter().map(|[w, d, o]| [*w, *d, *o, *w, *d, *w, *d, *o]).collect();
        let mut calls = Vec::with_capacity(4 * orders.len() + 1);
        for index in 0..orders.len() {
            calls.push(Call::Run(self.delivery_taken, &orders[index]));
            calls.push(Call::Run(self.delivery_order, &carried[index]));
            calls.push(Call::Run(self.delivery_lines, &delivered[index]));
            calls.push(Call::Run(self.delivery_customer, &owed[index]));
        }
        calls.push(Call::Commit);
        self.send(session, &calls)
    }
}

fn int(number: u32) -> Value<'static> {
    Value::Int(i64::from(number))
}

/// The date that a row bears.
#[expect(clippy::disallowed_methods, reason = "a date within the data; nothing is timed by it")]
fn now() -> Value<'static> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Value::Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
