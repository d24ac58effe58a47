//! Values with their position in the text.

use crate::position::Position;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Its position; of a table with a header, that of the header.
    pub position: Position,
    /// What it is.
    pub data: Data,
}

/// The kinds of value a settings text can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number, also `inf` and `nan`.
    Float(f64),
    /// A text.
    Text(String),
    /// A date, a time or both, as its text.
    Date(String),
    /// A list; also a list of tables.
    List(Vec<Value>),
    /// A table.
    Table(Table),
}

/// Keys and values in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table(Vec<Entry>);

/// One key of a table with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key, unquoted.
    pub key: String,
    /// Position of the key.
    pub position: Position,
    /// What it is set to.
    pub value: Value,
}

impl Table {
    pub(crate) const EMPTY: Self = Self(Vec::new());

    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// The entries, in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entry of that key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.key == key)
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }
}

impl Value {
    /// A value with a position.
    pub fn new(data: Data, position: Position) -> Self {
        Self { position, data }
    }

    /// What kind of value it is, for messages: "a whole number".
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Boolean(_) => "true or false",
            Data::Integer(_) => "a whole number",
            Data::Float(_) => "a number with a fraction",
            Data::Text(_) => "a text",
            Data::Date(_) => "a date",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
        }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        if let Data::Table(table) = &self.data { Some(table) } else { None }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        if let Data::Table(table) = &mut self.data { Some(table) } else { None }
    }

    /// What one step of a path leads to: a table's value by its key, a list's element by its index.
    pub(crate) fn child(&self, step: &str) -> Option<&Self> {
        match &self.data {
            Data::Table(table) => table.get(step).map(|entry| &entry.value),
            Data::List(list) => list.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    pub(crate) fn child_mut(&mut self, step: &str) -> Option<&mut Self> {
        match &mut self.data {
            Data::Table(table) => table.get_mut(step).map(|entry| &mut entry.value),
            Data::List(list) => list.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Data::List(list) = &self.data { Some(list) } else { None }
    }

    /// The text, if it is one; a date is its text.
    pub fn as_text(&self) -> Option<&str> {
        if let Data::Text(text) | Data::Date(text) = &self.data { Some(text) } else { None }
    }

    /// Whether it is a single value: neither a list nor a table.
    pub fn is_single(&self) -> bool {
        !matches!(self.data, Data::List(_) | Data::Table(_))
    }

    /// Whether two values are equal, whatever their positions. 1 and 1.0 are the same number.
    pub fn same_as(&self, other: &Self) -> bool {
        match (&self.data, &other.data) {
            (Data::Integer(whole), Data::Float(number)) | (Data::Float(number), Data::Integer(whole)) => {
                *whole as f64 == *number
            }
            (Data::List(own), Data::List(theirs)) => {
                own.len() == theirs.len() && own.iter().zip(theirs).all(|(a, b)| a.same_as(b))
            }
            (Data::Table(own), Data::Table(theirs)) => {
                let same =
                    |entry: &Entry| theirs.get(&entry.key).is_some_and(|e| entry.value.same_as(&e.value));
                own.0.len() == theirs.0.len() && own.0.iter().all(same)
            }
            (own, theirs) => own == theirs,
        }
    }

    /// As JSON; dates become texts, and numbers JSON cannot hold (`inf`, `nan`) null.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.data {
            Data::Boolean(value) => (*value).into(),
            Data::Integer(value) => (*value).into(),
            Data::Float(value) => (*value).into(),
            Data::Text(value) | Data::Date(value) => value.as_str().into(),
            Data::List(list) => list.iter().map(Self::to_json).collect::<Vec<_>>().into(),
            Data::Table(table) => table.to_json(),
        }
    }

    /// A value as it came through JSON (a level chosen on a command line, a plan), standing at `position`.
    ///
    /// # Errors
    /// A sentence on what settings cannot hold: null, or a whole number beyond 64 bits.
    pub fn from_json(json: &serde_json::Value, position: Position) -> Result<Self, String> {
        use serde_json::Value as Json;
        let data = match json {
            Json::Null => return Err("null is no value: leave the key out instead".to_owned()),
            Json::Bool(value) => Data::Boolean(*value),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Data::Integer(whole),
                (None, Some(float)) if number.is_f64() => Data::Float(float),
                _ => return Err(format!("{number} is beyond the numbers settings can hold")),
            },
            Json::String(text) => Data::Text(text.clone()),
            Json::Array(list) => Data::List(
                list.iter().map(|value| Self::from_json(value, position)).collect::<Result<_, _>>()?,
            ),
            Json::Object(object) => {
                let entry = |(key, value): (&String, &Json)| {
                    Ok(Entry { key: key.clone(), position, value: Self::from_json(value, position)? })
                };
                Data::Table(Table(object.iter().map(entry).collect::<Result<_, String>>()?))
            }
        };
        Ok(Self { position, data })
    }
}

impl Table {
    /// As a JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        let pairs = self.0.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
        serde_json::Value::Object(pairs.collect())
    }
}

impl std::fmt::Display for Value {
    /// As one would write it in the settings, lists and tables shortened to their kind.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.data {
            Data::Boolean(value) => write!(f, "{value}"),
            Data::Integer(value) => write!(f, "{value}"),
            Data::Float(value) => write!(f, "{value:?}"),
            Data::Date(text) => f.write_str(text),
            Data::Text(text) => {
                let mut shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
                if text.chars().nth(60).is_some() {
                    shown.push('…');
                }
                write!(f, "\"{shown}\"")
            }
            Data::List(_) | Data::Table(_) => f.write_str(self.kind()),
        }
    }
}
