//! A server that speaks T-SQL but not all of it: what it lacks is named by a word, and its statements are put in other words.
//! A SQL Server lacks nothing, and gets every text as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_sql::database::{Database, DatabaseKind};
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::Result;
use fathom_sql::rows::Answer;
use fathom_sql::session::{Bulk, Session, Statement, Target};
use fathom_sql::value::Value;

const VARIABLE: &str = "FATHOM_TEST_SQLSERVER_LACKS";

const WORDS: [&str; 6] =
    ["update-locks", "output-into", "full-text", "null-type", "kill", "duplicate-key-codes"];

/// Whether the server that is tested lacks that.
pub fn lacks(what: &str) -> bool {
    assert!(WORDS.contains(&what), "{what} is none of {WORDS:?}");
    let words = std::env::var(VARIABLE).unwrap_or_default();
    for word in words.split_whitespace() {
        assert!(WORDS.contains(&word), "{VARIABLE}: {word} is none of {WORDS:?}");
    }
    let lacks = words.split_whitespace().any(|word| word == what);
    if lacks {
        eprintln!("not as SQL Server has it, because this server lacks it: {what}");
    }
    lacks
}

/// Such a server.
pub struct Less {
    pub server: Sqlserver,
    update_locks: bool,
    output_into: bool,
    full_text: bool,
    null_type: bool,
}

impl Less {
    pub fn new(server: Sqlserver) -> Self {
        Self {
            server,
            update_locks: lacks("update-locks"),
            output_into: lacks("output-into"),
            full_text: lacks("full-text"),
            null_type: lacks("null-type"),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.update_locks {
            text = without_update_locks(text);
        }
        if self.output_into {
            text = without_output_into(text);
        }
        if self.full_text {
            for column in ["products.actor", "products.title", "actor", "title"] {
                text = text.replace(&format!("CONTAINS({column}, @words)"), &holds_every_word(column));
            }
        }
        text
    }
}

/// The row that a read would lock is updated to what it is before the read. Orders that wait are locked by their district,
/// memberships that are not there by the customer.
fn without_update_locks(mut text: String) -> String {
    const HINTS: [&str; 2] = [" WITH (UPDLOCK, HOLDLOCK)", " WITH (UPDLOCK)"];
    for (table, (locked, column), names) in [
        ("district", ("district", "d_tax"), &[][..]),
        ("stock", ("stock", "s_data"), &[]),
        ("inventory", ("inventory", "sales"), &[]),
        ("new_order", ("district", "d_tax"), &[("no_w_id", "d_w_id"), ("no_d_id", "d_id")]),
        ("membership", ("customers", "age"), &[]),
    ] {
        for hint in HINTS {
            let Some(at) = text.find(&format!("FROM {table}{hint}")) else { continue };
            let condition = text[at..].split_once(" WHERE ").expect("it names its row").1;
            let end = condition.find(" ORDER BY").or_else(|| condition.find([';', ')']));
            let mut condition = condition[..end.unwrap_or(condition.len())].to_owned();
            for (name, of_the_locked) in names {
                condition = condition.replace(name, of_the_locked);
            }
            let update = format!("UPDATE {locked} SET {column} = {column} WHERE {condition};\n");
            let begins = ["INSERT INTO", "SELECT"].iter().find_map(|word| text[..at].rfind(word));
            text.insert_str(begins.expect("it is read by a statement"), &update);
        }
    }
    HINTS.iter().fold(text, |text, hint| text.replace(hint, ""))
}

/// An update that hands its rows to another table becomes an update and an insertion of the same rows.
fn without_output_into(text: String) -> String {
    let (Some(output), Some(into)) = (text.find("    OUTPUT @"), text.find("    INTO order_line")) else {
        return text;
    };
    let from = into + text[into..].find("    FROM @line").expect("the rows come from somewhere");
    let end = from + text[from..].find(';').expect("a statement ends");
    let (head, rows, insertion) = (&text[..output], &text[output..into], text[into..from].trim());
    let (source, rest) = (&text[from..end], &text[end..]);
    let rows = rows.replacen("OUTPUT", "SELECT", 1).replace("inserted.", "stock.");
    format!("{head}{source};\n    INSERT {insertion}\n{rows}{source}{rest}")
}

/// A condition in place of a full-text search: every word that `@words` asks for is in the column.
fn holds_every_word(column: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM STRING_SPLIT(REPLACE(REPLACE(@words, '\"', ''), ' AND ', ' '), ' ') AS word
         WHERE CHARINDEX(' ' + word.value + ' ', ' ' + {column} + ' ') = 0)"
    )
}

fn not_null(value: Value<'_>) -> Value<'_> {
    if value.is_null() { Value::Text("") } else { value }
}

impl Database for Less {
    fn kind(&self) -> DatabaseKind {
        self.server.kind()
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(LessSession { session: self.server.connect()?, of: self }))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        self.server.facts(session)
    }
}

struct LessSession<'s> {
    session: Box<dyn Session + 's>,
    of: &'s Less,
}

impl Session for LessSession<'_> {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        self.session.prepare(&self.of.text(text))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        if !self.of.null_type {
            return self.session.run(statement, parameters, answer);
        }
        let known: Vec<Value<'_>> = parameters.iter().map(|value| not_null(*value)).collect();
        self.session.run(statement, &known, answer)
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        // The catalogue's views of it may be missing as well.
        if self.of.full_text && text.contains("sys.fulltext_") {
            return Ok(());
        }
        self.session.batch(&self.of.text(text))
    }

    fn begin(&mut self) -> Result<()> {
        self.session.begin()
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session.rollback()
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        self.session.bulk(target)
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.session.set_timeout(timeout)
    }
}

#[test]
fn other_words_do_the_same() {
    let read = "-- @P1 int, @P2 smallint\nSELECT TOP (1) no_o_id FROM new_order WITH (UPDLOCK) WHERE no_w_id = @P1 AND no_d_id = @P2 ORDER BY no_o_id;";
    assert_eq!(
        without_update_locks(read.to_owned()),
        "-- @P1 int, @P2 smallint\nUPDATE district SET d_tax = d_tax WHERE d_w_id = @P1 AND d_id = @P2;\n\
         SELECT TOP (1) no_o_id FROM new_order WHERE no_w_id = @P1 AND no_d_id = @P2 ORDER BY no_o_id;"
    );
    let update = "UPDATE stock\n    SET a = 1\n    OUTPUT @o, inserted.s\n    INTO order_line (o, s)\n    FROM @line AS line\n    JOIN stock ON x = y;\nEND";
    assert_eq!(
        without_output_into(update.to_owned()),
        "UPDATE stock\n    SET a = 1\n    FROM @line AS line\n    JOIN stock ON x = y;\n    INSERT INTO order_line (o, s)\n    \
         SELECT @o, stock.s\n    FROM @line AS line\n    JOIN stock ON x = y;\nEND"
    );
}
