//! The oracle: requests of users, their answers, and what may be there after an event.

mod history;
mod rules;
#[cfg(test)]
mod tests;

pub use history::{Content, History, Op};
pub use rules::{Rule, View};
