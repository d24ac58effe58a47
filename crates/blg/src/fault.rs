//! Why a log cannot be read, and where.

use std::fmt;

/// What is wrong at which byte of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Byte of the file; of a record in several parts, where the record begins.
    pub offset: u64,
    /// The byte within the record, where there is one.
    pub within: Option<u64>,
    /// What was expected and what is there.
    pub what: String,
}

impl Fault {
    pub(crate) fn new(offset: u64, what: impl Into<String>) -> Fault {
        Fault { offset, within: None, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            Some(within) => {
                write!(out, "byte {:#x}, {within} bytes into that record: {}", self.offset, self.what)
            }
            None => write!(out, "byte {:#x}: {}", self.offset, self.what),
        }
    }
}

impl std::error::Error for Fault {}
