//! A virtual user of DVD Store: inputs on one side, a shop on the other.

use crate::drive::{Ending, Next, VirtualUser};
use crate::error::Result;
use crate::session::Session;

use super::input::{Inputs, Kind, Operation};
use super::shop::Shop;

/// One virtual user.
#[derive(Debug)]
pub struct User {
    inputs: Inputs,
    shop: Shop,
    drawn: Option<Operation>,
}

impl User {
    /// A user.
    pub fn new(inputs: Inputs, shop: Shop) -> Self {
        Self { inputs, shop, drawn: None }
    }
}

impl VirtualUser for User {
    fn draw(&mut self) -> Next {
        let operation = self.inputs.next_operation();
        let kind = operation.kind();
        self.drawn = Some(operation);
        let thinking = if kind == Kind::Purchase { self.inputs.thinking() } else { 0 };
        Next { kind: kind as usize, keying: 0, thinking }
    }

    fn perform(&mut self, session: &mut dyn Session) -> Result<Ending> {
        let operation = self.drawn.as_ref().expect("an operation is drawn before it is performed");
        self.shop.perform(session, operation)
    }
}
