//! From a position in a file's text to line, column and key, for error messages.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::FileError;

/// A file's name and text.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Text<'_> {
    /// The error at that range of bytes.
    pub(crate) fn error(self, at: Range<usize>, message: String, remedy: String) -> FileError {
        let mut start = at.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or("");
        FileError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: self.key_at(start),
            message,
            remedy,
            text: line
                .chars()
                .take(120)
                .flat_map(char::escape_debug)
                .collect::<String>()
                .replace("\\\"", "\""),
        }
    }

    /// The error at the key of that dotted path, or at the nearest key above it that is written in the file.
    pub(crate) fn error_at_key(self, path: &str, message: String, remedy: String) -> FileError {
        let mut best = Longest { length: 0, span: 0..0 };
        if let Ok(table) = DeTable::parse(self.text) {
            find_key(table.get_ref(), "", path, &mut best);
        }
        FileError { key: path.to_owned(), ..self.error(best.span, message, remedy) }
    }

    /// The dotted path of the innermost key whose name or value is at that byte.
    fn key_at(self, offset: usize) -> String {
        let mut best = Best { length: usize::MAX, path: String::new() };
        if let Ok(table) = DeTable::parse(self.text) {
            visit_table(table.get_ref(), "", offset, &mut best);
        }
        best.path
    }
}

struct Best {
    length: usize,
    path: String,
}

impl Best {
    fn offer(&mut self, span: Range<usize>, offset: usize, path: &str) {
        if span.contains(&offset) && span.len() <= self.length {
            *self = Self { length: span.len(), path: path.to_owned() };
        }
    }
}

fn visit_table(table: &DeTable<'_>, prefix: &str, offset: usize, best: &mut Best) {
    for (key, value) in table {
        let name = key.get_ref().escape_debug();
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        best.offer(key.span(), offset, &path);
        visit_value(value, &path, offset, best);
    }
}

fn visit_value(value: &Spanned<DeValue<'_>>, path: &str, offset: usize, best: &mut Best) {
    best.offer(value.span(), offset, path);
    match value.get_ref() {
        // The span of a table written under a header is the header's alone, so its keys are visited in any case.
        DeValue::Table(table) => visit_table(table, path, offset, best),
        DeValue::Array(array) => {
            for (i, item) in array.iter().enumerate() {
                visit_value(item, &format!("{path}[{i}]"), offset, best);
            }
        }
        _ => {}
    }
}

struct Longest {
    length: usize,
    span: Range<usize>,
}

/// Finds the longest written path that leads to `wanted`.
fn find_key(table: &DeTable<'_>, prefix: &str, wanted: &str, best: &mut Longest) {
    for (key, value) in table {
        let path = format!("{prefix}{}", key.get_ref());
        let rest = wanted.strip_prefix(path.as_str());
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            && path.len() > best.length
        {
            *best = Longest { length: path.len(), span: key.span() };
        }
        match value.get_ref() {
            DeValue::Table(inner) => find_key(inner, &format!("{path}."), wanted, best),
            DeValue::Array(array) => {
                for (i, item) in array.iter().enumerate() {
                    let path = format!("{path}[{i}]");
                    if wanted.starts_with(&path) && path.len() > best.length {
                        *best = Longest { length: path.len(), span: item.span() };
                    }
                    if let DeValue::Table(inner) = item.get_ref() {
                        find_key(inner, &format!("{path}."), wanted, best);
                    }
                }
            }
            _ => {}
        }
    }
}
