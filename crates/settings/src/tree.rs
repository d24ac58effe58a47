//! A parsed settings text: the tree of its values, and overrides of them.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use crate::diagnostic::Diagnostics;
use crate::from_value::Problem;
use crate::path::Path;
use crate::position::{Position, Source};
use crate::suggest::did_you_mean;
use crate::value::{Data, Entry, Table, Value};

/// Longer texts are refused, bytes. No person writes one, and checking stays far below a second.
pub const LARGEST_TEXT: usize = 1 << 20;

/// A settings text and its values.
#[derive(Debug, Clone)]
pub struct Tree {
    source: Source,
    root: Value,
}

impl Tree {
    /// Reads a TOML text. `file` is the name messages give it. A text that is no TOML yields a diagnostic and an empty tree,
    /// so that the caller need not stop for it.
    pub fn parse(file: &str, text: &str, diagnostics: &Diagnostics) -> Self {
        let source = Source::new(file, text);
        let empty =
            |source| Self { source, root: Value::new(Data::Table(Table::default()), Position::START) };
        if text.len() > LARGEST_TEXT {
            let message = format!("the file holds {} bytes", text.len());
            let problem = Problem::new(message, format!("settings hold at most {LARGEST_TEXT} bytes"));
            diagnostics.push(source.diagnostic(Position::START, &Path::ROOT, problem));
            return empty(source);
        }
        match Document::parse(text) {
            Ok(document) => {
                let convert = Convert { source: &source };
                let root = convert.table(document.as_table(), Position::START);
                Self { source, root }
            }
            Err(error) => {
                let position = source.position(error.span().unwrap_or(0..1));
                let message = error.message().trim().replace('\n', ", ");
                let problem = {
                    let help = syntax_help(&source, position, &message);
                    Problem::new(message, help)
                };
                diagnostics.push(source.diagnostic(position, &Path::ROOT, problem));
                empty(source)
            }
        }
    }

    /// The text with its name, to point into.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The whole tree as one value.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// The value at a path.
    pub fn get(&self, path: &Path) -> Option<&Value> {
        path.steps().iter().try_fold(&self.root, |value, step| value.child(step))
    }

    /// The position of the value at a path, or of the nearest value above it that exists.
    pub fn position_of(&self, path: &Path) -> Position {
        let mut steps = path.clone();
        loop {
            match self.get(&steps) {
                Some(value) => return value.position,
                None => steps = steps.parent(),
            }
        }
    }

    /// Replaces the value at a path, or adds a key to a table that exists. The value keeps its own position, so that later
    /// messages about it point at the override; `written` is where the override names the path, the position
    /// of a key that was not there.
    ///
    /// # Errors
    /// If what should hold the value does not exist or can hold none; the help names a path that was likely meant.
    pub fn set(&mut self, path: &Path, value: Value, written: Position) -> Result<(), Problem> {
        let Some(last) = path.steps().last() else {
            return Err(Problem::new("the path is empty", "write it like `volumes.data.size`"));
        };
        self.check_holder(path)?;
        let mut holder = &mut self.root;
        for step in path.parent().steps() {
            holder = holder.child_mut(step).expect("the check walked the same steps");
        }
        match holder.child_mut(last) {
            Some(old) => *old = value,
            None => {
                let table = holder.as_table_mut().expect("the check allows new keys in tables only");
                table.push(Entry { key: last.clone(), position: written, value });
            }
        }
        Ok(())
    }

    /// Whether what should hold the value at a path exists and can hold it.
    fn check_holder(&self, path: &Path) -> Result<(), Problem> {
        let mut holder = &self.root;
        let mut reached = Path::ROOT;
        for (index, step) in path.steps().iter().enumerate() {
            let is_last = index + 1 == path.steps().len();
            let here = reached.join(step);
            holder = match (&holder.data, holder.child(step)) {
                (_, Some(child)) => child,
                (Data::Table(_), None) if is_last => return Ok(()),
                (Data::Table(table), None) => return Err(no_such(&here, step, table, path)),
                (Data::List(list), None) => return Err(no_element(&here, step, list.len())),
                (_, None) => return Err(holds_nothing(&reached, holder.kind())),
            };
            reached = here;
        }
        Ok(())
    }
}

/// The mistake of a step towards `path` that is not there: a slip of the pen, or a table still to be written.
fn no_such(reached: &Path, step: &str, table: &Table, path: &Path) -> Problem {
    let known = table.entries().iter().map(|entry| entry.key.as_str());
    let mut help = did_you_mean(step, "keys", known);
    if !help.ends_with('?') {
        // What an index leads into is a list, and its element has no header of its own.
        let tables = path.parent();
        let before = tables.steps().iter().position(|step| step.parse::<usize>().is_ok());
        let header = match before {
            Some(at) => {
                let list = tables.steps()[..at].iter().fold(Path::ROOT, |path, step| path.join(step));
                format!("[[{list}]]")
            }
            None => format!("[{tables}]"),
        };
        help = format!("add a table {header} above it; {help}");
    }
    Problem::new(format!("there is no `{reached}` in these settings"), help)
}

fn no_element(reached: &Path, step: &str, length: usize) -> Problem {
    let help = format!("elements are counted from 0, and the list has {length}");
    Problem::new(format!("`{reached}`: the list has no element `{}`", step.escape_debug()), help)
}

fn holds_nothing(reached: &Path, kind: &str) -> Problem {
    Problem::new(format!("`{reached}` is {kind} and holds no keys"), "end the path there")
}

/// The mistakes people make most when they write TOML.
fn syntax_help(source: &Source, position: Position, message: &str) -> String {
    let line = source.line(position.line);
    let value = line.split_once('=').map_or("", |(_, value)| value.trim());
    let bare = value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '.');
    let digits = value.split('#').next().unwrap_or("").trim().replace('_', "");
    let help = if message.starts_with("duplicate key") {
        "leave one of the two out"
    } else if digits.len() >= 19 && digits.parse::<i64>().is_err() && digits.parse::<f64>().is_ok() {
        "a whole number is at most 9,223,372,036,854,775,807"
    } else if bare && !value.contains('"') {
        "texts, sizes and times need double quotes: size = \"4TiB\""
    } else if value.starts_with('"') && value.contains('\\') {
        "write a backslash twice, or put the text in single quotes"
    } else {
        ""
    };
    help.to_owned()
}

/// From toml_edit's tree to ours.
struct Convert<'a> {
    source: &'a Source,
}

impl Convert<'_> {
    fn position(&self, span: Option<Range<usize>>, otherwise: Position) -> Position {
        span.map_or(otherwise, |span| self.source.position(span))
    }

    fn table(&self, table: &dyn TableLike, position: Position) -> Value {
        let entry = |(name, item): (&str, &Item)| {
            let key_place = self.position(table.key(name).and_then(|key| key.span()), position);
            let value = self.item(item, key_place)?;
            Some(Entry { key: name.to_owned(), position: key_place, value })
        };
        Value::new(Data::Table(Table::new(table.iter().filter_map(entry).collect())), position)
    }

    fn item(&self, item: &Item, otherwise: Position) -> Option<Value> {
        match item {
            Item::None => None,
            Item::Value(value) => Some(self.value(value, otherwise)),
            Item::Table(table) => Some(self.table(table, self.position(table.span(), otherwise))),
            Item::ArrayOfTables(tables) => {
                let tables =
                    tables.iter().map(|table| self.table(table, self.position(table.span(), otherwise)));
                Some(Value::new(Data::List(tables.collect()), otherwise))
            }
        }
    }

    fn value(&self, value: &TomlValue, otherwise: Position) -> Value {
        let position = self.position(value.span(), otherwise);
        let data = match value {
            TomlValue::Boolean(value) => Data::Boolean(*value.value()),
            TomlValue::Integer(value) => Data::Integer(*value.value()),
            TomlValue::Float(value) => Data::Float(*value.value()),
            TomlValue::String(value) => Data::Text(value.value().clone()),
            TomlValue::Datetime(value) => Data::Date(value.value().to_string()),
            TomlValue::Array(list) => {
                Data::List(list.iter().map(|element| self.value(element, position)).collect())
            }
            TomlValue::InlineTable(table) => return self.table(table, position),
        };
        Value::new(data, position)
    }
}

#[cfg(test)]
mod tests {
    use super::{Tree, Value};
    use crate::diagnostic::Diagnostics;
    use crate::path::Path;
    use crate::position::Position;
    use crate::value::Data;

    const TEXT: &str =
        "seed = 7\n[volumes.data]\nsize = \"1GiB\"\n[[jobs]]\nrate = 10\n[[jobs]]\nrate = 20\n";

    fn tree(text: &str) -> Tree {
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("study.toml", text, &diagnostics);
        assert!(diagnostics.is_empty(), "{:?}", diagnostics.list());
        tree
    }

    fn path(text: &str) -> Path {
        Path::parse(text).expect("it is a path")
    }

    #[test]
    fn values_know_where_they_stand() {
        let tree = tree(TEXT);
        let position = |text: &str| tree.get(&path(text)).expect("it is there").position;
        assert_eq!(position("volumes.data.size"), Position { line: 3, column: 8, length: 6 });
        assert_eq!(position("volumes.data"), Position { line: 2, column: 1, length: 14 });
        assert_eq!(position("jobs.1.rate"), Position { line: 7, column: 8, length: 2 });
        assert_eq!(tree.position_of(&path("volumes.data.nothing.here")).line, 2);
    }

    #[test]
    fn an_override_replaces_a_value_and_keeps_its_own_place() {
        let mut tree = tree(TEXT);
        let level = Value::new(Data::Text("2GiB".to_owned()), Position { line: 9, column: 3, length: 4 });
        for text in ["volumes.data.size", "volumes.data.new", "jobs.0.rate", "jobs.1"] {
            tree.set(&path(text), level.clone(), Position::START).expect("it can be set");
            assert_eq!(tree.get(&path(text)), Some(&level), "{text}");
        }
    }

    #[test]
    fn an_override_that_fits_nowhere_says_what_was_likely_meant() {
        let mut tree = tree(TEXT);
        let mut set = |text: &str| {
            let problem = tree
                .set(&path(text), Value::new(Data::Boolean(true), Position::START), Position::START)
                .expect_err(text);
            format!("{}; {}", problem.message, problem.help)
        };
        assert_eq!(
            set("volume.data.size"),
            "there is no `volume` in these settings; did you mean `volumes`?"
        );
        assert_eq!(
            set("volumes.data.settings.cache"),
            "there is no `volumes.data.settings` in these settings; add a table [volumes.data.settings] above it; keys: size"
        );
        assert!(set("volumes.data.parts.0.share").contains("add a table [[volumes.data.parts]] above it"));
        assert_eq!(set("seed.x"), "`seed` is a whole number and holds no keys; end the path there");
        assert!(set("jobs.2.rate").contains("the list has 2"));
        assert!(set("jobs.first").contains("counted from 0"));
    }

    #[test]
    fn a_text_that_is_no_toml_yields_one_diagnostic_with_its_place() {
        for (text, line, help) in [
            ("a = 1\nsize = 4TiB\n", 2, "double quotes"),
            ("a = \"C:\\data\"\n", 1, "backslash"),
            ("a = 9_223_372_036_854_775_808 # much", 1, "at most 9,223"),
            ("a = 1\na = 2", 2, "leave one of the two out"),
        ] {
            let diagnostics = Diagnostics::new();
            Tree::parse("f", text, &diagnostics);
            let list = diagnostics.list();
            assert_eq!((list.len(), list[0].position.line), (1, line), "{list:?}");
            assert!(list[0].help.contains(help), "{list:?}");
        }
    }

    #[test]
    fn a_text_beyond_any_persons_patience_is_refused() {
        let diagnostics = Diagnostics::new();
        Tree::parse("f", &"#".repeat(super::LARGEST_TEXT + 1), &diagnostics);
        assert_eq!(diagnostics.len(), 1);
    }
}
