//! A virtual user of TPROC-C: inputs on one side, a terminal on the other.

use crate::drive::{Ending, Next, VirtualUser};
use crate::error::Result;
use crate::session::Session;

use super::input::{Input, Inputs, Kind};
use super::terminal::Terminal;

/// One virtual user.
#[derive(Debug)]
pub struct User {
    inputs: Inputs,
    terminal: Terminal,
    pauses: bool,
    drawn: Option<Input>,
}

impl User {
    /// A user; `pauses` is whether he needs time for keying and thinking.
    pub fn new(inputs: Inputs, terminal: Terminal, pauses: bool) -> Self {
        Self { inputs, terminal, pauses, drawn: None }
    }
}

impl VirtualUser for User {
    fn draw(&mut self) -> Next {
        let input = self.inputs.next_input();
        let kind = input.kind();
        let (keying, thinking) = if self.pauses { self.inputs.pauses(kind) } else { (0, 0) };
        self.drawn = Some(input);
        Next { kind: place(kind), keying, thinking }
    }

    fn perform(&mut self, session: &mut dyn Session) -> Result<Ending> {
        let input = self.drawn.as_ref().expect("an input is drawn before it is performed");
        self.terminal.perform(session, input)
    }
}

/// The index of a kind in [`Kind::NAMES`].
fn place(kind: Kind) -> usize {
    kind as usize
}
