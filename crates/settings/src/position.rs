//! A value's position in a text, and the lines of that text.

use std::ops::Range;
use std::rc::Rc;

/// A stretch of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// In characters; at least 1. What spans several lines counts to the end of the first.
    pub length: u32,
}

impl Position {
    /// The first character of a text: the position of what has no other.
    pub const START: Self = Self { line: 1, column: 1, length: 1 };
}

/// A text with its name, cut into lines. Cheap to clone, so that later checks can point into it.
#[derive(Debug, Clone)]
pub struct Source(Rc<Lines>);

#[derive(Debug)]
struct Lines {
    file: String,
    text: String,
    // Byte offset of the first character of each line; never empty.
    starts: Vec<usize>,
}

impl Source {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        // A byte order mark is no character of the first line.
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        let after_newline = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let mut starts: Vec<usize> = std::iter::once(mark).chain(after_newline).collect();
        // A last newline ends its line; it does not begin another.
        if starts.len() > 1 && starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self(Rc::new(Lines { file: file.to_owned(), text: text.to_owned(), starts }))
    }

    /// The name of the text.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line's text without its end; `line` counts from 1. Empty beyond the last.
    pub(crate) fn line(&self, line: u32) -> &str {
        let index = line as usize;
        let Some(&start) = index.checked_sub(1).and_then(|before| self.0.starts.get(before)) else {
            return "";
        };
        let end = self.0.starts.get(index).copied().unwrap_or(self.0.text.len());
        self.0.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The position of a range of bytes; ends that fall within a character move to its start.
    pub(crate) fn position(&self, range: Range<usize>) -> Position {
        let text = &self.0.text;
        let start = floor(text, range.start).max(self.0.starts[0]);
        let line = self.0.starts.partition_point(|first| *first <= start) - 1;
        let first = self.0.starts[line];
        // The line's end is no position: a carriage return belongs to it.
        let last = first + self.line(line as u32 + 1).len();
        let start = start.min(last);
        let end = floor(text, range.end).clamp(start, last);
        Position {
            line: line as u32 + 1,
            column: text[first..start].chars().count() as u32 + 1,
            length: (text[start..end].chars().count() as u32).max(1),
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Position, Source};

    #[test]
    fn places_count_characters_and_stay_on_one_line() {
        let source = Source::new("f", "a = \"ü\" # x\r\nsecond = 1\n");
        assert_eq!(source.position(4..8), Position { line: 1, column: 5, length: 3 });
        assert_eq!(source.position(11..20), Position { line: 1, column: 11, length: 1 });
        assert_eq!(source.position(14..20), Position { line: 2, column: 1, length: 6 });
        assert_eq!(source.line(1), "a = \"ü\" # x");
        assert_eq!((source.line(2), source.line(3), source.line(0)), ("second = 1", "", ""));
    }

    #[test]
    fn a_place_never_lies_beyond_the_last_line() {
        let source = Source::new("f", "a = 1\n");
        assert_eq!(source.position(6..9).line, 1);
        assert_eq!(Source::new("f", "").position(0..1), Position::START);
        let marked = Source::new("f", "\u{feff}a = 1\n");
        assert_eq!(marked.position(0..4), Position::START);
        assert_eq!(marked.position(7..8), Position { line: 1, column: 5, length: 1 });
        assert_eq!(Source::new("f", "\"A\r").position(3..3), Position { line: 1, column: 3, length: 1 });
    }
}
