//! A peer that can be loaded: it makes the tables that are defined, keeps rows and marks of a connection until it commits, and
//! answers what a load and the reading back of it ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::script::Script;

use super::call::Called;
use super::kept::{Table, tables};
use super::tls::Encrypts;
use super::types::Datum;
use super::{
    Asked, Cell, Column, Peer, Request, columns, database, finished, numbers, returned, row, transaction,
};

/// What a loaded peer holds, and what waits for a commit, by connection.
#[derive(Default)]
pub struct Loaded {
    pub tables: Vec<Table>,
    /// What else is in the database, by what it is and its name.
    pub others: Vec<(&'static str, &'static str)>,
    pub marks: Vec<Mark>,
    pub waiting: BTreeMap<usize, Vec<Waiting>>,
    /// Into which table a connection's bulk copy goes.
    pub target: BTreeMap<usize, String>,
    /// Definitions and other texts, in the order they came.
    pub texts: Vec<String>,
}

/// A row of `load_steps`.
pub type Mark = (String, i64, i64);

/// What a commit makes lasting.
pub enum Waiting {
    Rows(String, Vec<(Vec<u8>, Vec<Datum>)>),
    Mark(Mark),
}

impl Loaded {
    /// What a load leaves on such a peer, all of it committed.
    pub fn by(load: impl FnOnce(&Sqlserver)) -> Self {
        Self::over(Encrypts::Never, load)
    }

    /// The same, encrypted as told.
    pub fn over(encrypts: Encrypts, load: impl FnOnce(&Sqlserver)) -> Self {
        Self::beside(Vec::new(), encrypts, load)
    }

    /// The same on a peer that holds something else already.
    pub fn beside(
        others: Vec<(&'static str, &'static str)>,
        encrypts: Encrypts,
        load: impl FnOnce(&Sqlserver),
    ) -> Self {
        let loaded = Arc::new(Mutex::new(Self { others, ..Self::default() }));
        let told = Arc::clone(&loaded);
        let answer = move |asked: &Asked| Some(told.lock().expect("the peer is content").answer(asked));
        let peer = Peer::encrypted(encrypts, answer);
        load(&database(&peer));
        peer.end();
        let loaded = std::mem::take(&mut *loaded.lock().expect("the peer is content"));
        assert!(loaded.waiting.is_empty() && loaded.target.is_empty());
        loaded
    }

    /// How many tables there are, and rows in all of them.
    pub fn size(&self) -> (usize, usize) {
        (self.tables.len(), self.tables.iter().map(|table| table.rows.len()).sum())
    }

    /// Every text of these scripts came once, and those of the last at the end in their order.
    pub fn was_told(&self, scripts: &[&Script]) {
        for (name, text) in scripts.iter().flat_map(|script| script.blocks()) {
            assert_eq!(self.texts.iter().filter(|sent| *sent == text).count(), 1, "{name}");
        }
        let last = scripts.last().map(|script| script.blocks().map(|(_, text)| text.to_owned()));
        assert!(self.texts.ends_with(&last.into_iter().flatten().collect::<Vec<_>>()));
    }

    fn table(&mut self, name: &str) -> &mut Table {
        self.tables.iter_mut().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
    }

    pub fn answer(&mut self, asked: &Asked) -> Vec<u8> {
        match asked.request {
            Request::Transaction => match asked.transaction() {
                5 => transaction(8),
                7 => {
                    self.commit(asked.connection);
                    transaction(9)
                }
                other => panic!("a transaction request of type {other}"),
            },
            Request::Batch => self.batch(asked.connection, asked.batch()),
            Request::Call => self.statement(asked.connection, &asked.call()),
            Request::Bulk => {
                let name = self.target.remove(&asked.connection).expect("a bulk copy was announced");
                let rows = self.table(&name).copied(asked.tokens());
                let count = rows.len() as u64;
                self.waiting.entry(asked.connection).or_default().push(Waiting::Rows(name, rows));
                finished(Some(count))
            }
        }
    }

    fn commit(&mut self, connection: usize) {
        for waiting in self.waiting.remove(&connection).unwrap_or_default() {
            match waiting {
                Waiting::Rows(name, rows) => self.table(&name).rows.extend(rows),
                Waiting::Mark(mark) => self.marks.push(mark),
            }
        }
    }

    fn batch(&mut self, connection: usize, text: String) -> Vec<u8> {
        let word = |number: usize| text.split_whitespace().nth(number).unwrap_or_default().to_owned();
        if text.starts_with("IF @@TRANCOUNT > 0 ROLLBACK") {
            self.waiting.remove(&connection);
        } else if text.starts_with("SELECT TOP 0") {
            let name = text.rsplit(' ').next().unwrap_or_default().to_owned();
            return self.table(&name).empty();
        } else if text.starts_with("INSERT BULK") {
            assert!(text.contains("TABLOCK"), "{text}");
            self.target.insert(connection, word(2));
        } else if text.contains("CREATE TABLE") && !text.contains("load_steps") {
            self.tables.extend(tables(&text));
        } else if !text.starts_with("SET ") {
            self.texts.push(text);
        }
        finished(None)
    }

    /// The objects of the database, as `objects.sql` asks for them. Of its own it tells the tables alone.
    fn named(&self, text: &str) -> Vec<u8> {
        let names = [Column::Text("what"), Column::Text("name"), Column::Int("own")];
        let others = self.others.iter().map(|(what, name)| (*what, (*name).to_owned()));
        let found = self.tables.iter().map(|table| ("table", table.name.clone())).chain(others);
        let found = found.filter(|(what, _)| text.contains("catalogs") == what.ends_with("catalog"));
        let found = found.filter(|(_, name)| text.contains(&format!("'{name}'")));
        let rows: Vec<Vec<u8>> = found
            .map(|(what, name)| {
                let name: &'static str = name.leak();
                row(&[Cell::Text(what), Cell::Text(name), Cell::Int(Some(0))])
            })
            .collect();
        [columns(&names), rows.concat(), returned(rows.len() as u64)].concat()
    }

    fn statement(&mut self, connection: usize, called: &Called) -> Vec<u8> {
        assert_eq!(called.name, "sp_executesql");
        let text = called.text("@stmt");
        if text.contains("FROM sys.columns") {
            let columns = if self.texts.iter().any(|text| text.contains("load_steps")) { 3 } else { 0 };
            return numbers(&[columns, columns]);
        }
        if text.contains("FROM sys.objects") || text.contains("FROM sys.fulltext_catalogs") {
            return self.named(text);
        }
        if text.starts_with("INSERT INTO load_steps") {
            let values = text.split(['(', ')']).nth(3).expect("values");
            let values: Vec<&str> = values.split(", ").collect();
            let number = |at: usize| values[at].parse().expect("a number");
            let mark = (values[0].trim_matches('\'').to_owned(), number(1), number(2));
            self.waiting.entry(connection).or_default().push(Waiting::Mark(mark));
            // Its own transaction if none is open: nothing but a mark can stand alone here.
            if self.waiting[&connection].len() == 1 {
                self.commit(connection);
            }
            return returned(1);
        }
        if text.contains("FROM load_steps") {
            let names = [Column::Text("name"), Column::Int("inserted"), Column::Int("checksum")];
            let mark = |(name, rows, sum): &Mark| {
                row(&[Cell::Text(name.clone().leak()), Cell::Int(Some(*rows)), Cell::Int(Some(*sum))])
            };
            let rows: Vec<Vec<u8>> = self.marks.iter().map(mark).collect();
            return [columns(&names), rows.concat(), returned(rows.len() as u64)].concat();
        }
        if text.starts_with("-- ") {
            // A consistency condition: no row violates it.
            return numbers(&[0]);
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let from = words.iter().position(|word| *word == "FROM").expect("a table is read back");
        let number = |place: usize| -> i64 { words[from + place].parse().expect("a number") };
        let only = words.get(from + 3).map(|column| match words[from + 4] {
            "=" => (*column, number(5)..=number(5)),
            "BETWEEN" => (*column, number(5)..=number(7)),
            other => panic!("{other} in {text}"),
        });
        self.table(words[from + 1]).answered(only)
    }
}
