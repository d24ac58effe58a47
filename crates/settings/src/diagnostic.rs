//! A mistake in a text, and the collector of all mistakes.

use std::cell::{Cell, RefCell};
use std::fmt;

use crate::from_value::Problem;
use crate::path::Path;
use crate::position::{Position, Source};

/// Further ones are only counted: they are not useful, and a hostile text could hold a million.
const KEPT: usize = 1000;

/// One mistake: where it is, what it is, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The text's name, as a person knows it.
    pub file: String,
    /// Where in that text.
    pub position: Position,
    /// Dotted path of the key; empty for the text as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do; empty if the message says it all.
    pub help: String,
    /// The line of the text, whole.
    pub source: String,
}

impl fmt::Display for Diagnostic {
    /// On one line: file, line, column, path, message, help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.position.line, self.position.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

impl Source {
    /// A mistake at a position of this text, for checks that span several sections.
    pub fn diagnostic(&self, position: Position, path: &Path, problem: Problem) -> Diagnostic {
        Diagnostic {
            file: self.file().to_owned(),
            position,
            path: path.to_string(),
            message: problem.message,
            help: problem.help,
            source: self.line(position.line).to_owned(),
        }
    }
}

/// Collects mistakes, in the order they are found.
#[derive(Debug, Default)]
pub struct Diagnostics {
    kept: RefCell<Vec<Diagnostic>>,
    found: Cell<usize>,
    reported: Cell<usize>,
}

impl Diagnostics {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. The same at the same position is one mistake, however often it is reported: the variants of a study are
    /// read one after the other and share most of it.
    pub fn push(&self, diagnostic: Diagnostic) {
        self.reported.set(self.reported.get() + 1);
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT {
            if kept.contains(&diagnostic) {
                return;
            }
            kept.push(diagnostic);
        }
        self.found.set(self.found.get() + 1);
    }

    /// How many were found, also those not kept.
    pub fn len(&self) -> usize {
        self.found.get()
    }

    /// How often anything was reported, also what was known already: whether that has grown shows whether a reading was
    /// clean.
    pub fn reported(&self) -> usize {
        self.reported.get()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.get() == 0
    }

    /// Whether further ones would only be counted: then suggestions are not worth computing.
    pub fn is_full(&self) -> bool {
        self.found.get() >= KEPT
    }

    /// Those kept so far, sorted by file and position.
    pub fn list(&self) -> Vec<Diagnostic> {
        let mut list = self.kept.borrow().clone();
        list.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
        list
    }
}
