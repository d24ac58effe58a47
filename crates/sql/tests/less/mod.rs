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

const WORDS: [&str; 9] = [
    "update-locks",
    "output-into",
    "variable-updates",
    "check-ident",
    "full-text",
    "null-type",
    "kill",
    "duplicate-key-codes",
    "foreign-key-plans",
];

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
pub struct LimitedServer {
    pub server: Sqlserver,
    update_locks: bool,
    output_into: bool,
    variable_updates: bool,
    check_ident: bool,
    full_text: bool,
    null_type: bool,
    foreign_key_plans: bool,
}

impl LimitedServer {
    pub fn new(server: Sqlserver) -> Self {
        Self {
            server,
            update_locks: lacks("update-locks"),
            output_into: lacks("output-into"),
            variable_updates: lacks("variable-updates"),
            check_ident: lacks("check-ident"),
            full_text: lacks("full-text"),
            null_type: lacks("null-type"),
            foreign_key_plans: lacks("foreign-key-plans"),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.variable_updates {
            text = without_variable_updates(text);
        }
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
        ("customer", ("customer", "c_since"), &[]),
        ("warehouse", ("warehouse", "w_tax"), &[]),
        ("orders", ("orders", "o_ol_cnt"), &[]),
    ] {
        for hint in HINTS {
            let from = format!("FROM {table}{hint}");
            let mut after = 0;
            while let Some(at) = text[after..].find(&from).map(|at| after + at) {
                let condition = text[at..].split_once(" WHERE ").expect("it names its row").1;
                let ends = [condition.find(" ORDER BY"), condition.find([';', ')'])];
                let end = ends.into_iter().flatten().min().unwrap_or(condition.len());
                let mut condition = condition[..end].to_owned();
                for (name, of_the_locked) in names {
                    condition = condition.replace(name, of_the_locked);
                }
                let update = format!("UPDATE {locked} SET {column} = {column} WHERE {condition};\n");
                // A condition of an insertion, or a read by itself.
                let words = if table == "membership" { "INSERT INTO" } else { "SELECT" };
                text.insert_str(text[..at].rfind(words).expect("a statement reads it"), &update);
                after = at + update.len() + from.len();
            }
        }
    }
    HINTS.iter().fold(text, |text, hint| text.replace(hint, ""))
}

/// An update of a procedure that sets variables as well becomes a locking read that sets them, and an update.
fn without_variable_updates(mut text: String) -> String {
    if !text.contains("CREATE PROCEDURE") {
        return text;
    }
    let mut after = 0;
    while let Some(at) = text[after..].find("UPDATE ").map(|at| after + at) {
        let end = at + text[at..].find(';').expect("a statement ends");
        let statement = text[at + "UPDATE ".len()..end].to_owned();
        let (table, rest) = statement.split_once("SET").expect("it sets something");
        after = end;
        // Many rows at once set no variable.
        let Some((set, condition)) = rest.split_once("WHERE") else { continue };
        let (mut variables, mut columns, mut depth, mut one) = (Vec::new(), Vec::new(), 0, String::new());
        for letter in set.trim().chars().chain([',']) {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if letter == ',' && depth == 0 {
                let to = if one.trim().starts_with('@') { &mut variables } else { &mut columns };
                to.push(std::mem::take(&mut one));
            } else {
                one.push(letter);
            }
        }
        if variables.is_empty() {
            continue;
        }
        let (table, variables, columns) = (table.trim(), variables.join(","), columns.join(","));
        let changed = format!(
            "SELECT {variables} FROM {table} WITH (UPDLOCK) WHERE{condition};\n    UPDATE {table} SET {columns} WHERE{condition}"
        );
        text.replace_range(at..end, &changed);
        after = at + changed.len();
    }
    text
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

fn not_null(value: Value<'_>, number: bool) -> Value<'_> {
    match (value.is_null(), number) {
        (false, _) => value,
        (true, true) => Value::Int(0),
        (true, false) => Value::Text(""),
    }
}

impl Database for LimitedServer {
    fn kind(&self) -> DatabaseKind {
        self.server.kind()
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let mut session = self.server.connect()?;
        if self.foreign_key_plans {
            session.batch("DECLARE @first TABLE (n int)")?;
        }
        Ok(Box::new(LimitedSession { session, of: self, numbers: Vec::new() }))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        self.server.facts(session)
    }
}

struct LimitedSession<'s> {
    session: Box<dyn Session + 's>,
    of: &'s LimitedServer,
    /// Of statements whose text declares its parameters, which of those are whole numbers.
    numbers: Vec<(Statement, Vec<bool>)>,
}

impl LimitedSession<'_> {
    /// Numbers go on after the greatest, which is looked for here.
    fn number_on(&mut self) -> Result<()> {
        for (table, column) in [
            ("customers", "customerid"),
            ("orders", "orderid"),
            ("reviews", "review_id"),
            ("reviews_helpfulness", "reviews_helpfulness_id"),
        ] {
            let greatest = self.session.query(&format!("SELECT MAX({column}) FROM {table}"), &[])?;
            let next = greatest.first()?.int(0)? + 1;
            self.session.batch(&format!("DBCC CHECKIDENT ('{table}', RESEED, {next}) WITH NO_INFOMSGS"))?;
        }
        Ok(())
    }
}

impl Session for LimitedSession<'_> {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        let statement = self.session.prepare(&self.of.text(text))?;
        if let Some(declared) = text.strip_prefix("-- @").and_then(|rest| rest.lines().next()) {
            let numbers = declared.split(", @").map(|one| one.ends_with("int")).collect();
            self.numbers.push((statement, numbers));
        }
        Ok(statement)
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        if !self.of.null_type {
            return self.session.run(statement, parameters, answer);
        }
        let numbers = self.numbers.iter().find(|(known, _)| *known == statement);
        let number = |place: usize| numbers.is_some_and(|(_, numbers)| numbers[place]);
        let known = parameters.iter().enumerate().map(|(place, value)| not_null(*value, number(place)));
        let known: Vec<Value<'_>> = known.collect();
        self.session.run(statement, &known, answer)
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        // The catalogue's views of it may be missing as well.
        if self.of.full_text && text.contains("sys.fulltext_") {
            return Ok(());
        }
        if self.of.check_ident && text.contains("DBCC CHECKIDENT") {
            return self.number_on();
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
    let counted = "CREATE PROCEDURE p AS UPDATE district\n    SET @o = n, @t = ISNULL(@t, 0) + t, n = n + 1\n    WHERE id = 1;\nUPDATE x SET a = 1 WHERE b = 2;";
    assert_eq!(
        without_variable_updates(counted.to_owned()),
        "CREATE PROCEDURE p AS SELECT @o = n, @t = ISNULL(@t, 0) + t FROM district WITH (UPDLOCK) WHERE id = 1;\n    \
         UPDATE district SET  n = n + 1 WHERE id = 1;\nUPDATE x SET a = 1 WHERE b = 2;"
    );
    let update = "UPDATE stock\n    SET a = 1\n    OUTPUT @o, inserted.s\n    INTO order_line (o, s)\n    FROM @line AS line\n    JOIN stock ON x = y;\nEND";
    assert_eq!(
        without_output_into(update.to_owned()),
        "UPDATE stock\n    SET a = 1\n    FROM @line AS line\n    JOIN stock ON x = y;\n    INSERT INTO order_line (o, s)\n    \
         SELECT @o, stock.s\n    FROM @line AS line\n    JOIN stock ON x = y;\nEND"
    );
}
