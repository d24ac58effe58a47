//! The tables that are filled: the published 16-column trade table, and a row of plain payload.

use rusqlite::types::Value;
use rusqlite::{Connection, Statement};

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

impl Table {
    /// The table's definition.
    pub fn create(self) -> &'static str {
        match self {
            Self::Trade => {
                "CREATE TABLE rows (
                    rec_num  INTEGER PRIMARY KEY,
                    date     CHAR(8),  time    CHAR(8), reff   CHAR(10), acc    CHAR(10),
                    stock    CHAR(6),  bs      CHAR(1), price  CHAR(8),  qty    CHAR(8),
                    status   CHAR(1),  owflag  CHAR(3), ordrec CHAR(8),  firmid CHAR(5),
                    checkord BINARY(16), branchid CHAR(5),
                    sj       DATETIME DEFAULT CURRENT_TIMESTAMP)"
            }
            Self::Payload { .. } => "CREATE TABLE rows (rec_num INTEGER PRIMARY KEY, payload TEXT NOT NULL)",
        }
    }

    fn insert(self) -> &'static str {
        match self {
            Self::Trade => {
                "INSERT INTO rows (rec_num, date, time, reff, acc, stock, bs, price, qty, status, owflag, ordrec, firmid,
                                   checkord, branchid)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
            }
            Self::Payload { .. } => "INSERT INTO rows (rec_num, payload) VALUES (?1, ?2)",
        }
    }

    /// The statement that inserts a row, prepared once.
    ///
    /// # Errors
    /// SQLite's.
    pub fn prepare(self, connection: &Connection) -> rusqlite::Result<Inserter<'_>> {
        let row = match self {
            Self::Trade => trade_row(),
            Self::Payload { bytes } => vec![Value::Integer(0), Value::Text(pattern(bytes as usize))],
        };
        Ok(Inserter { statement: connection.prepare(self.insert())?, row })
    }
}

/// Inserts rows that differ in their key.
pub struct Inserter<'c> {
    statement: Statement<'c>,
    row: Vec<Value>,
}

impl Inserter<'_> {
    /// Inserts the row of that key.
    ///
    /// # Errors
    /// SQLite's.
    pub fn insert(&mut self, key: i64) -> rusqlite::Result<()> {
        self.row[0] = Value::Integer(key);
        for (index, value) in self.row.iter().enumerate() {
            self.statement.raw_bind_parameter(index + 1, value)?;
        }
        self.statement.raw_execute().map(drop)
    }
}

fn trade_row() -> Vec<Value> {
    let text = |value: &str| Value::Text(value.to_owned());
    vec![
        Value::Integer(0),
        text("20181015"),
        text("09300000"),
        text("0000000001"),
        text("A000000001"),
        text("600000"),
        text("B"),
        text("00010.00"),
        text("00000100"),
        text("0"),
        text("   "),
        text("00000001"),
        text("00001"),
        Value::Blob(vec![0x5A; 16]),
        text("00001"),
    ]
}

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
    use super::pattern;

    #[test]
    fn a_payload_of_4000_bytes_is_the_published_row() {
        let expected = ["A".repeat(800), "B".repeat(200), "X".repeat(1000), "Z".repeat(2000)].concat();
        assert_eq!(pattern(4000), expected);
    }
}
