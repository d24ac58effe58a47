//! The typed reader of one table: asks for keys one by one, records what is wrong, and at the end refuses what was never
//! asked for.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::rc::Rc;

use crate::diagnostic::Diagnostics;
use crate::from_value::{FromValue, Problem};
use crate::path::Path;
use crate::position::{Position, Source};
use crate::suggest::did_you_mean;
use crate::tree::Tree;
use crate::value::{Data, Entry, Table, Value};

/// Numbers above zero, as a range of [`Section::required_in`].
pub const ABOVE_ZERO: (Bound<f64>, Bound<f64>) = (Bound::Excluded(0.0), Bound::Unbounded);

/// A volume that a section refers to by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The volume's name.
    pub name: String,
    /// Position of the reference.
    pub position: Position,
    /// Path of the key that refers.
    pub path: Path,
}

/// Reads one table.
///
/// Read every key, then call [`Section::finish`], then act on what was read: a reader that returns early hides the
/// mistakes behind the first one.
pub struct Section<'a> {
    tree: &'a Tree,
    diagnostics: &'a Diagnostics,
    path: Path,
    position: Position,
    table: &'a Table,
    asked: Vec<String>,
    // Shared with the sections opened from this one.
    references: Rc<RefCell<Vec<Reference>>>,
    reported_before: usize,
}

static NO_KEYS: Table = Table::EMPTY;

impl Tree {
    /// A reader of the whole text.
    pub fn section<'a>(&'a self, diagnostics: &'a Diagnostics) -> Section<'a> {
        Section::new(self, diagnostics, Path::ROOT, self.root())
    }
}

impl<'a> Section<'a> {
    pub(crate) fn new(tree: &'a Tree, diagnostics: &'a Diagnostics, path: Path, value: &'a Value) -> Self {
        Self {
            tree,
            diagnostics,
            path,
            position: value.position,
            table: value.as_table().unwrap_or(&NO_KEYS),
            asked: Vec::new(),
            references: Rc::default(),
            reported_before: diagnostics.reported(),
        }
    }

    /// Path of the table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Position of the table: its header, or where it begins.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The text the table is in.
    pub fn source(&self) -> &'a Source {
        self.tree.source()
    }

    /// Position of the value at a path of the whole text, or of the nearest above it.
    pub fn position_of(&self, path: &Path) -> Position {
        self.tree.position_of(path)
    }

    /// Where mistakes go.
    pub fn diagnostics(&self) -> &'a Diagnostics {
        self.diagnostics
    }

    /// Whether nothing was found wrong since this section was first read: of sections that are opened together, each counts its
    /// own.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.reported() == self.reported_before
    }

    /// The volumes referred to since the last call, by this section, those opened from it and the one it was opened from.
    pub fn take_references(&self) -> Vec<Reference> {
        self.references.take()
    }

    /// The keys asked for so far, in that order.
    pub fn asked(&self) -> &[String] {
        &self.asked
    }

    /// Whether the key is there, whatever it is set to.
    pub fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// A value that must be there; None and a diagnostic if it is missing or wrong.
    pub fn required<T: FromValue>(&mut self, key: &str) -> Option<T> {
        let value = self.required_value(key, || format!("add `{key} = …`"))?;
        self.read(key, value)
    }

    /// A value that may be left out; None also if it is wrong, with a diagnostic.
    pub fn optional<T: FromValue>(&mut self, key: &str) -> Option<T> {
        let value = self.value(key)?;
        self.read(key, value)
    }

    /// A value, or the default if it is left out (or wrong, with a diagnostic).
    pub fn or<T: FromValue>(&mut self, key: &str, default: T) -> T {
        self.optional(key).unwrap_or(default)
    }

    /// As [`Section::required`], within a range.
    pub fn required_in<T>(&mut self, key: &str, range: impl RangeBounds<T>) -> Option<T>
    where
        T: FromValue + PartialOrd + Display,
    {
        let value = self.required(key)?;
        self.within(key, value, &range)
    }

    /// As [`Section::optional`], within a range.
    pub fn optional_in<T>(&mut self, key: &str, range: impl RangeBounds<T>) -> Option<T>
    where
        T: FromValue + PartialOrd + Display,
    {
        let value = self.optional(key)?;
        self.within(key, value, &range)
    }

    /// As [`Section::or`], within a range. The default is not checked.
    pub fn or_in<T>(&mut self, key: &str, default: T, range: impl RangeBounds<T>) -> T
    where
        T: FromValue + PartialOrd + Display,
    {
        self.optional_in(key, range).unwrap_or(default)
    }

    /// A list whose elements are all of one type; None if it is left out, or if anything in it is wrong.
    pub fn list<T: FromValue>(&mut self, key: &str) -> Option<Vec<T>> {
        let value = self.value(key)?;
        let Data::List(elements) = &value.data else {
            let problem =
                Problem::new(format!("expected a list, found {}", value.kind()), "write it like [ … , … ]");
            self.refuse(value.position, &self.path.join(key), problem);
            return None;
        };
        let path = self.path.join(key);
        let read: Vec<Option<T>> = elements
            .iter()
            .enumerate()
            .map(|(index, element)| self.convert(&path.join(&index.to_string()), element))
            .collect();
        read.into_iter().collect()
    }

    /// As [`Section::list`], but it must be there and hold at least one element.
    pub fn required_list<T: FromValue>(&mut self, key: &str) -> Option<Vec<T>> {
        self.required_value(key, || format!("add `{key} = […]`"))?;
        let list = self.list(key)?;
        if list.is_empty() {
            self.error_at(key, "the list is empty", "name at least one");
            return None;
        }
        Some(list)
    }

    /// A value, or a list of such; None if it is left out, or anything in it is wrong.
    pub fn one_or_list<T: FromValue>(&mut self, key: &str) -> Option<Vec<T>> {
        let value = self.value(key)?;
        if matches!(value.data, Data::List(_)) {
            return self.list(key);
        }
        self.read(key, value).map(|one| vec![one])
    }

    /// The table at a key, opened; None if it is left out or no table.
    pub fn section(&mut self, key: &str) -> Option<Section<'a>> {
        let value = self.value(key)?;
        self.open(self.path.join(key), value)
    }

    /// As [`Section::section`], but it must be there.
    pub fn required_section(&mut self, key: &str) -> Option<Section<'a>> {
        let path = self.path.join(key);
        let value = self.required_value(key, || format!("add a table [{path}]"))?;
        self.open(self.path.join(key), value)
    }

    /// The tables of a list of tables (`[[key]]`), opened; empty if it is left out.
    pub fn sections(&mut self, key: &str) -> Vec<Section<'a>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let path = self.path.join(key);
        let Data::List(elements) = &value.data else {
            let problem = Problem::new(
                format!("expected a list of tables, found {}", value.kind()),
                format!("give each its header [[{path}]]"),
            );
            self.refuse(value.position, &path, problem);
            return Vec::new();
        };
        let open = |(index, element)| self.open(path.join(&usize::to_string(&index)), element);
        elements.iter().enumerate().filter_map(open).collect()
    }

    /// The tables of a table of tables (`[key.NAME]`), opened, with their names; empty if it is left out.
    pub fn named_sections(&mut self, key: &str) -> Vec<(&'a str, Section<'a>)> {
        let Some(mut outer) = self.section(key) else { return Vec::new() };
        let entries = outer.entries();
        let open = |entry: &'a Entry| {
            Some((entry.key.as_str(), outer.open(outer.path.join(&entry.key), &entry.value)?))
        };
        entries.iter().filter_map(open).collect()
    }

    /// All entries, for tables whose keys are free; they all count as asked for.
    pub fn entries(&mut self) -> &'a [Entry] {
        self.begin();
        let entries = self.table.entries();
        self.asked.extend(entries.iter().map(|entry| entry.key.clone()));
        entries
    }

    /// The raw value at a key, for what no getter reads; None if it is left out.
    pub fn value(&mut self, key: &str) -> Option<&'a Value> {
        self.begin();
        if !self.asked.iter().any(|asked| asked == key) {
            self.asked.push(key.to_owned());
        }
        self.table.get(key).map(|entry| &entry.value)
    }

    fn begin(&mut self) {
        if self.asked.is_empty() {
            self.reported_before = self.diagnostics.reported();
        }
    }

    /// Records a mistake about the value of a key, or about the table if the key is not there.
    pub fn error_at(&self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        let position = self.table.get(key).map_or(self.position, |entry| entry.value.position);
        self.refuse(position, &self.path.join(key), Problem::new(message, help));
    }

    /// Records a mistake about the table as a whole.
    pub fn error(&self, message: impl Into<String>, help: impl Into<String>) {
        self.refuse(self.position, &self.path, Problem::new(message, help));
    }

    /// Records a mistake about a value that no getter read, with its position and path.
    pub fn refuse(&self, position: Position, path: &Path, problem: Problem) {
        self.diagnostics.push(self.tree.source().diagnostic(position, path, problem));
    }

    /// Refuses the keys that were not read; true if everything in this section was valid. A second call
    /// refuses nothing twice.
    #[must_use = "what was read is only whole if this is true"]
    pub fn finish(&mut self) -> bool {
        let unknown = self.table.entries().iter().filter(|entry| !self.asked.contains(&entry.key));
        for entry in unknown.collect::<Vec<_>>() {
            let known = self.asked.iter().map(String::as_str);
            let help = if self.diagnostics.is_full() {
                String::new()
            } else {
                did_you_mean(&entry.key, "keys", known)
            };
            self.refuse(entry.position, &self.path.join(&entry.key), Problem::new("unknown key", help));
        }
        self.is_clean()
    }

    fn required_value(&mut self, key: &str, add: impl FnOnce() -> String) -> Option<&'a Value> {
        let value = self.value(key);
        if value.is_none() {
            let near = self.table.entries().iter().map(|entry| entry.key.as_str());
            let help = match crate::suggest::nearest(
                key,
                near.filter(|name| !self.asked.iter().any(|asked| asked == name)),
            ) {
                Some(near) => format!("is `{near}` meant to be `{key}`?"),
                None => add(),
            };
            self.error_at(key, "it is missing", help);
        }
        value
    }

    fn open(&self, path: Path, value: &'a Value) -> Option<Section<'a>> {
        if value.as_table().is_none() {
            let problem = Problem::new(
                format!("expected a table, found {}", value.kind()),
                format!("give it a header [{path}]"),
            );
            self.refuse(value.position, &path, problem);
            return None;
        }
        let mut opened = Section::new(self.tree, self.diagnostics, path, value);
        opened.references = Rc::clone(&self.references);
        Some(opened)
    }

    fn read<T: FromValue>(&self, key: &str, value: &Value) -> Option<T> {
        self.convert(&self.path.join(key), value)
    }

    fn convert<T: FromValue>(&self, path: &Path, value: &Value) -> Option<T> {
        match T::from_value(value) {
            Ok(read) => {
                if let Some(name) = read.reference() {
                    let reference =
                        Reference { name: name.to_owned(), position: value.position, path: path.clone() };
                    self.references.borrow_mut().push(reference);
                }
                Some(read)
            }
            Err(problem) => {
                self.refuse(value.position, path, problem);
                None
            }
        }
    }

    fn within<T: PartialOrd + Display>(&self, key: &str, value: T, range: &impl RangeBounds<T>) -> Option<T> {
        if range.contains(&value) {
            return Some(value);
        }
        let low = match range.start_bound() {
            Bound::Included(low) => Some(format!("at least {low}")),
            Bound::Excluded(low) => Some(format!("more than {low}")),
            Bound::Unbounded => None,
        };
        let high = match range.end_bound() {
            Bound::Included(high) => Some(format!("at most {high}")),
            Bound::Excluded(high) => Some(format!("less than {high}")),
            Bound::Unbounded => None,
        };
        let bounds: Vec<String> = [low, high].into_iter().flatten().collect();
        self.error_at(
            key,
            format!("{value} is out of range"),
            format!("it must be {}", bounds.join(" and ")),
        );
        None
    }
}
