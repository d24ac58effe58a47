//! The five transactions as calls of procedures.

use crate::error::Result;
use crate::rows::Answer;
use crate::script::Script;
use crate::session::{Session, Statement};
use crate::tprocc::input::{Customer, Input, Order};
use crate::value::Value;

use crate::drive::Ending;

/// The code with which PostgreSQL's function ends an order that names an unused item.
const UNUSED_ITEM: &str = "FT001";

/// The prepared calls of one session.
#[derive(Debug)]
pub struct Procedures {
    place_order: Statement,
    pay: Statement,
    order_status: Statement,
    deliver: Statement,
    stock_level: Statement,
    answer: Answer,
}

impl Procedures {
    pub(super) fn prepare(calls: &Script, session: &mut dyn Session) -> Result<Self> {
        Ok(Self {
            place_order: session.prepare(calls.get("place_order"))?,
            pay: session.prepare(calls.get("pay"))?,
            order_status: session.prepare(calls.get("order_status"))?,
            deliver: session.prepare(calls.get("deliver"))?,
            stock_level: session.prepare(calls.get("stock_level"))?,
            answer: Answer::new(),
        })
    }

    pub(super) fn perform(&mut self, session: &mut dyn Session, input: &Input) -> Result<Ending> {
        let int = |number: &u32| Value::Int(i64::from(*number));
        let answer = &mut self.answer;
        match input {
            Input::NewOrder(order) => return self.place(session, order),
            Input::Payment {
                warehouse,
                district,
                customer_warehouse,
                customer_district,
                customer,
                cents,
            } => {
                let (number, name) = both(customer);
                let parameters = [
                    int(warehouse),
                    int(district),
                    int(customer_warehouse),
                    int(customer_district),
                    number,
                    name,
                    Value::cents(*cents),
                ];
                session.run(self.pay, &parameters, answer)?;
                // A payment of nobody would go unnoticed otherwise.
                answer.first()?.int(0)?;
            }
            Input::OrderStatus { warehouse, district, customer } => {
                let (number, name) = both(customer);
                session.run(self.order_status, &[int(warehouse), int(district), number, name], answer)?;
                answer.first()?;
            }
            Input::Delivery { warehouse, carrier } => {
                session.run(self.deliver, &[int(warehouse), int(carrier)], answer)?;
                answer.first()?.int(0)?;
            }
            Input::StockLevel { warehouse, district, threshold } => {
                session.run(self.stock_level, &[int(warehouse), int(district), int(threshold)], answer)?;
                answer.first()?.int(0)?;
            }
        }
        Ok(Ending::Committed)
    }

    fn place(&mut self, session: &mut dyn Session, order: &Order) -> Result<Ending> {
        let parameters = [
            Value::Int(order.warehouse.into()),
            Value::Int(order.district.into()),
            Value::Int(order.customer.into()),
            Value::Ints(&order.items),
            Value::Ints(&order.supplies),
            Value::Ints(&order.quantities),
        ];
        match session.run(self.place_order, &parameters, &mut self.answer) {
            Err(error) if error.code() == Some(UNUSED_ITEM) => Ok(Ending::RolledBack),
            Err(error) => Err(error),
            Ok(()) if self.answer.first()?.int(0)? == 0 => Ok(Ending::RolledBack),
            Ok(()) => Ok(Ending::Committed),
        }
    }
}

/// The customer as two parameters: number, or 0 and the name.
fn both(customer: &Customer) -> (Value<'static>, Value<'_>) {
    match customer {
        Customer::Number(number) => (Value::Int(i64::from(*number)), Value::Text("")),
        Customer::Name(name) => (Value::Int(0), Value::Text(name)),
    }
}
