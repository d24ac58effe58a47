//! The five transactions as calls of HammerDB's own functions or procedures on PostgreSQL (HammerDB 4 to 6,
//! `src/postgresql/pgoltp.tcl`): what they do, and what they leave undone, is HammerDB's.

use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::script::Script;
use crate::session::{Session, Statement};
use crate::tprocc::input::{Customer, Input};
use crate::value::Value;

use crate::drive::Ending;

/// "Invalid transaction termination": its functions roll back in their handler of deadlocks, which PostgreSQL refuses. The
/// transaction is undone all the same.
const ROLLED_BACK_IN_A_HANDLER: &str = "2D000";

/// The prepared calls of one session.
#[derive(Debug)]
pub struct Hammerdb {
    orders: Statement,
    pay: Statement,
    order_status: Statement,
    deliver: Statement,
    stock_level: Statement,
    warehouses: i64,
    answer: Answer,
}

impl Hammerdb {
    pub(super) fn prepare(warehouses: u32, session: &mut dyn Session) -> Result<Self> {
        let catalogue = Script::parse(include_str!("../sql/hammerdb/postgresql.sql"));
        let found = session.query(catalogue.get("routines"), &[])?;
        let kinds: Vec<&str> = found.rows().map(|row| row.text(0)).collect::<Result<_>>()?;
        let calls = match kinds.as_slice() {
            ["f", "f", "f", "f", "f"] => Script::parse(include_str!("../sql/hammerdb/functions.sql")),
            ["p", "p", "p", "p", "p"] => Script::parse(include_str!("../sql/hammerdb/procedures.sql")),
            _ => {
                let message = format!(
                    "`interface = \"procedures\"`: HammerDB's neword, payment, ostat, delivery and slev are not in this \
                     database ({} of them are, once each as function or as procedure); use \"statements\"",
                    kinds.len()
                );
                return Err(Error::new(ErrorKind::Other, message));
            }
        };
        Ok(Self {
            orders: session.prepare(calls.get("orders"))?,
            pay: session.prepare(calls.get("pay"))?,
            order_status: session.prepare(calls.get("order_status"))?,
            deliver: session.prepare(calls.get("deliver"))?,
            stock_level: session.prepare(calls.get("stock_level"))?,
            warehouses: warehouses.into(),
            answer: Answer::new(),
        })
    }

    pub(super) fn perform(&mut self, session: &mut dyn Session, input: &Input) -> Result<Ending> {
        let int = |number: &u32| Value::Int(i64::from(*number));
        let answer = &mut self.answer;
        let done = match input {
            // It draws items, quantities and warehouses itself, and whether an item is unused: then it commits all the same.
            Input::NewOrder(order) => {
                let count = Value::Int(order.items.len() as i64);
                let most = Value::Int(self.warehouses);
                let parameters =
                    [int(&order.warehouse), most, int(&order.district), int(&order.customer), count];
                session.run(self.orders, &parameters, answer)
            }
            Input::Payment {
                warehouse,
                district,
                customer_warehouse,
                customer_district,
                customer,
                cents,
            } => {
                let (number, by_name, name) = all(customer);
                let parameters = [
                    int(warehouse),
                    int(district),
                    int(customer_warehouse),
                    int(customer_district),
                    number,
                    by_name,
                    Value::cents(*cents),
                    name,
                ];
                session.run(self.pay, &parameters, answer)
            }
            Input::OrderStatus { warehouse, district, customer } => {
                let (number, by_name, name) = all(customer);
                let parameters = [int(warehouse), int(district), number, by_name, name];
                session.run(self.order_status, &parameters, answer)
            }
            Input::Delivery { warehouse, carrier } => {
                session.run(self.deliver, &[int(warehouse), int(carrier)], answer)
            }
            Input::StockLevel { warehouse, district, threshold } => {
                session.run(self.stock_level, &[int(warehouse), int(district), int(threshold)], answer)
            }
        };
        match done {
            Ok(()) => Ok(Ending::Committed),
            Err(error) if error.code() == Some(ROLLED_BACK_IN_A_HANDLER) => {
                Err(Error::new(ErrorKind::Conflict, error.to_string()).with_code(ROLLED_BACK_IN_A_HANDLER))
            }
            Err(error) => Err(error),
        }
    }
}

/// The customer as three parameters: number, whether it goes by the name, name.
fn all(customer: &Customer) -> (Value<'static>, Value<'static>, Value<'_>) {
    match customer {
        Customer::Number(number) => (Value::Int(i64::from(*number)), Value::Int(0), Value::Text("")),
        Customer::Name(name) => (Value::Int(0), Value::Int(1), Value::Text(name)),
    }
}
