//! The tables that are filled: the published 16-column trade table, and a row of plain payload.

use crate::database::{DatabaseKind, Known};
use crate::texts::{required, text};
use crate::value::Value;

/// The table's name. One that a broken run left behind is dropped; it says that it is Fathom's ([`crate::objects`]).
pub const NAME: &str = "fathom_rows";

/// The name of the procedure with the loop, likewise.
pub const PROCEDURE: &str = "fathom_loop";

/// What a row looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// The table of the batch-insert experiment (VMware, "SQL Server 2016 Database Performance and Improvements on vSAN
    /// 6.7"): 16 columns, about 136 bytes a row, an integer key and a default of the current time.
    Trade,
    /// A key and that many bytes of text, in the experiment's pattern of repeated letters.
    Payload {
        /// Bytes of text per row.
        bytes: u32,
    },
}

const TRADE_COLUMNS: [&str; 15] = [
    "rec_num", "date", "time", "reff", "acc", "stock", "bs", "price", "qty", "status", "owflag", "ordrec",
    "firmid", "checkord", "branchid",
];

impl Table {
    /// The word in the names of its SQL files.
    fn word(self) -> &'static str {
        match self {
            Self::Trade => "trade",
            Self::Payload { .. } => "payload",
        }
    }

    /// The table's definition.
    ///
    /// # Panics
    /// If there is no such file for that kind of database; a test looks.
    pub fn create(self, kind: DatabaseKind) -> &'static str {
        required("insert", kind, self.word())
    }

    /// The definition of the procedure with the loop; None where the database has none.
    pub fn procedure(self, kind: DatabaseKind) -> Option<&'static str> {
        text("insert", kind, &format!("loop_{}", self.word()))
    }

    /// The columns that are given; the trade table's last one has a default.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Trade => &TRADE_COLUMNS,
            Self::Payload { .. } => &["rec_num", "payload"],
        }
    }

    /// A statement that inserts so many rows.
    pub fn insert(self, kind: DatabaseKind, rows: usize) -> String {
        let columns = self.columns();
        let row = |row: usize| {
            let first = row * columns.len() + 1;
            let places: Vec<String> =
                (first..first + columns.len()).map(|number| kind.dialect().parameter(number)).collect();
            format!("({})", places.join(", "))
        };
        let rows: Vec<String> = (0..rows).map(row).collect();
        format!("INSERT INTO {NAME} ({}) VALUES {}", columns.join(", "), rows.join(", "))
    }

    /// The text that [`Table::row`] borrows; empty for the trade table.
    pub fn text(self) -> String {
        match self {
            Self::Trade => String::new(),
            Self::Payload { bytes } => pattern(bytes as usize),
        }
    }

    /// The values of a row, in the order of the columns; the key, its first, is the caller's to set.
    pub fn row(self, text: &str) -> Vec<Value<'_>> {
        match self {
            Self::Trade => TRADE_ROW.to_vec(),
            Self::Payload { .. } => vec![Value::Int(0), Value::Text(text)],
        }
    }
}

const TRADE_ROW: [Value<'static>; 15] = [
    Value::Int(0),
    Value::Text("20181015"),
    Value::Text("09300000"),
    Value::Text("0000000001"),
    Value::Text("A000000001"),
    Value::Text("600000"),
    Value::Text("B"),
    Value::Text("00010.00"),
    Value::Text("00000100"),
    Value::Text("0"),
    Value::Text("   "),
    Value::Text("00000001"),
    Value::Text("00001"),
    Value::Bytes(&[0x5A; 16]),
    Value::Text("00001"),
];

/// 20 % 'A', 5 % 'B', 25 % 'X' and 50 % 'Z', as the example row of the log-block experiment (800, 200, 1,000 and 2,000
/// of 4,000 bytes).
fn pattern(bytes: usize) -> String {
    let letter = |at: usize| match at * 20 / bytes {
        0..4 => 'A',
        4 => 'B',
        5..10 => 'X',
        _ => 'Z',
    };
    (0..bytes).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::{Table, pattern};
    use crate::database::DatabaseKind;

    #[test]
    fn a_payload_of_4000_bytes_is_the_published_row() {
        let expected = ["A".repeat(800), "B".repeat(200), "X".repeat(1000), "Z".repeat(2000)].concat();
        assert_eq!(pattern(4000), expected);
    }

    #[test]
    fn a_statement_numbers_its_parameters_as_the_database_has_them() {
        let table = Table::Payload { bytes: 1 };
        assert_eq!(
            table.insert(DatabaseKind::Postgresql, 2),
            "INSERT INTO fathom_rows (rec_num, payload) VALUES ($1, $2), ($3, $4)"
        );
        assert_eq!(
            table.insert(DatabaseKind::Mariadb, 1),
            "INSERT INTO fathom_rows (rec_num, payload) VALUES (?, ?)"
        );
    }

    #[test]
    fn a_row_has_a_value_for_every_column() {
        for table in [Table::Trade, Table::Payload { bytes: 3 }] {
            assert_eq!(table.row(&table.text()).len(), table.columns().len());
            for kind in DatabaseKind::all() {
                assert!(table.columns().iter().all(|column| table.create(kind).contains(column)), "{kind:?}");
            }
        }
    }
}
