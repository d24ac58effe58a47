//! Texts and remote calls taken apart: \[MS-TDS\] sections 2.2.6.6 (remote calls), 2.2.6.7 (batches), 2.2.6.9 (transactions).

use super::types::{Datum, Reader, Type};
use super::{Asked, Request};

/// A remote call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub name: String,
    pub parameters: Vec<(String, Type, Datum)>,
}

impl Called {
    /// The value of that parameter.
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.parameters.iter().find(|(known, ..)| known == name).map(|(.., value)| value)
    }

    /// The text of that parameter.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Datum::Text(text)) => text,
            other => panic!("{name} is {other:?} in {self:?}"),
        }
    }
}

impl Asked {
    /// What follows the headers that every request but a bulk copy begins with.
    fn content(&self) -> Reader<'_> {
        let mut body = Reader(&self.body);
        if self.request != Request::Bulk {
            let length = body.number(4) as usize;
            body.take(length - 4);
        }
        body
    }

    /// The text of a batch.
    pub fn batch(&self) -> String {
        assert_eq!(self.request, Request::Batch);
        let mut content = self.content();
        let units = content.0.len() / 2;
        content.utf16(units)
    }

    /// The remote call.
    pub fn call(&self) -> Called {
        assert_eq!(self.request, Request::Call);
        let mut content = self.content();
        let units = content.number(2) as usize;
        let name = content.utf16(units);
        // Options.
        content.take(2);
        let mut parameters = Vec::new();
        while !content.0.is_empty() {
            let units = content.byte().into();
            let name = content.utf16(units);
            // Status: by value.
            assert_eq!(content.byte(), 0);
            let of_type = Type::read(&mut content);
            let value = of_type.value(&mut content);
            parameters.push((name, of_type, value));
        }
        Called { name, parameters }
    }

    /// What is asked of the transaction manager: 5 begins, 7 commits, 8 rolls back.
    pub fn transaction(&self) -> u64 {
        assert_eq!(self.request, Request::Transaction);
        self.content().number(2)
    }

    /// The tokens of a bulk copy.
    pub fn tokens(&self) -> Reader<'_> {
        assert_eq!(self.request, Request::Bulk);
        self.content()
    }
}
