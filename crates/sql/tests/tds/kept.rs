//! Tables that a peer keeps: it makes them as a `CREATE TABLE` says, takes rows of bulk copies into them, byte for byte, and
//! gives them back. What it cannot do: everything else that a database does.

use std::ops::RangeInclusive;

use fathom_tsql as tsql;

use super::types::{CHAR, Datum, Reader, Type, VARCHAR};
use super::{finished, short};

/// A column of a table.
pub struct Column {
    name: String,
    of_type: Type,
    nullable: bool,
    /// Whether the server numbers the rows by it.
    identity: bool,
}

/// A table and its rows as they came.
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub rows: Vec<(Vec<u8>, Vec<Datum>)>,
}

/// The tables that a text defines.
pub fn tables(text: &str) -> Vec<Table> {
    let column = |written: tsql::Column| {
        let tsql::Column { name, data_type, nullable, identity } = written;
        Column { name, of_type: of(&data_type, nullable), nullable, identity }
    };
    let table = |tsql::Table { name, columns }| Table {
        name,
        columns: columns.into_iter().map(column).collect(),
        rows: Vec::new(),
    };
    tsql::tables(text).expect("definitions of tables").into_iter().map(table).collect()
}

fn of(written: &str, nullable: bool) -> Type {
    let mut words = written.split(['(', ',', ')']).map(str::trim);
    let name = words.next().expect("a type has a name");
    let mut number = || match words.next().expect("a length") {
        "max" => u16::MAX,
        length => length.parse().expect("a length"),
    };
    match name {
        "bigint" => Type::Int { bytes: 8, nullable },
        "int" => Type::Int { bytes: 4, nullable },
        "smallint" => Type::Int { bytes: 2, nullable },
        "decimal" => Type::decimal(number() as u8, number() as u8),
        "varchar" => Type::Text { token: VARCHAR, most: number() },
        "char" => Type::Text { token: CHAR, most: number() },
        "date" => Type::Date,
        "datetime2" => Type::Moment { scale: number() as u8 },
        _ => panic!("the peer has no type {written}"),
    }
}

impl Table {
    /// The description of its columns, as it precedes rows in both directions.
    pub fn described(&self) -> Vec<u8> {
        let mut bytes = [&[0x81], &(self.columns.len() as u16).to_le_bytes()[..]].concat();
        for Column { name, of_type, nullable, identity } in &self.columns {
            // No user type; may be written, unless the server numbers it.
            let may = if *identity { 0x10 } else { 4 };
            bytes.extend([0, 0, 0, 0, may | u8::from(*nullable), 0]);
            bytes.extend([of_type.write(), short(name)].concat());
        }
        bytes
    }

    /// Reads the tokens of a bulk copy into this table: its rows, as bytes and as values.
    pub fn copied(&self, mut tokens: Reader<'_>) -> Vec<(Vec<u8>, Vec<Datum>)> {
        assert_eq!(tokens.byte(), 0x81, "a bulk copy begins with its columns");
        assert_eq!(tokens.number(2) as usize, self.columns.len());
        for Column { name, of_type, .. } in &self.columns {
            // No user type, flags.
            tokens.take(6);
            assert_eq!(Type::read(&mut tokens), *of_type, "{}.{name}", self.name);
            let units = tokens.byte().into();
            assert_eq!(tokens.utf16(units), *name);
        }
        let mut rows = Vec::new();
        loop {
            let before = tokens.0;
            match tokens.byte() {
                0xD1 => {}
                0xFD => return rows,
                other => panic!("a token {other:#x} among the rows of {}", self.name),
            }
            let values = self.columns.iter().map(|column| column.of_type.value(&mut tokens)).collect();
            rows.push((before[..before.len() - tokens.0.len()].to_vec(), values));
        }
    }

    /// Its rows for which the column of that name has one of those values; all for None.
    pub fn answered(&self, only: Option<(&str, RangeInclusive<i64>)>) -> Vec<u8> {
        let place = |name| self.columns.iter().position(|known| known.name == name).expect("a column");
        let only = only.map(|(name, values)| (place(name), values));
        let wanted = |values: &[Datum]| {
            only.as_ref().is_none_or(
                |(place, range)| matches!(values[*place], Datum::Int(value) if range.contains(&value)),
            )
        };
        let rows: Vec<&[u8]> =
            self.rows.iter().filter(|(_, values)| wanted(values)).map(|(bytes, _)| &bytes[..]).collect();
        [self.described(), rows.concat(), super::returned(rows.len() as u64)].concat()
    }

    /// What `SELECT TOP 0` answers.
    pub fn empty(&self) -> Vec<u8> {
        [self.described(), finished(Some(0))].concat()
    }
}
