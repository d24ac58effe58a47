//! What is in somebody's database under the names that a load or a run is about to create. What is not Fathom's own is
//! never replaced, dropped or filled: no statement says `OR REPLACE`, and whoever creates looks here first.
//!
//! A database whose definitions are part of transactions needs no mark on an object to tell whose it is: it was made
//! together with its row in `load_steps`, or by somebody else. Where every definition commits by itself, and for what a
//! run of `insert` makes and drops, the object says so itself: "made by Fathom" is its comment, or a comment in its
//! body, or on SQL Server the name of a table's key.

use std::collections::BTreeSet;

use crate::database::{DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::session::Session;

/// How many objects in the way are named; of more only the number is.
const NAMED: usize = 20;

/// An object of the database.
#[derive(Debug)]
pub(crate) struct Object {
    /// `table`, `function` and so on, as in `DROP`.
    what: String,
    /// Its name as `DROP` takes it: on PostgreSQL with the schema, and with the types of parameters.
    name: String,
    /// Whether it says that it is Fathom's.
    pub(crate) own: bool,
}

/// The names of what a text creates: tables, indexes, functions, procedures, triggers, catalogues and constraints.
pub(crate) fn created(text: &'static str) -> Vec<&'static str> {
    let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let mut words = lines.flat_map(str::split_whitespace).peekable();
    let mut names = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "CREATE" => {
                let adjectives = ["UNIQUE", "FULLTEXT", "VIRTUAL"];
                while words.next_if(|word| adjectives.contains(word)).is_some() {}
                words.next();
                let condition = ["IF", "NOT", "EXISTS", "/*M!", "*/"];
                while words.next_if(|word| condition.contains(word)).is_some() {}
            }
            "CONSTRAINT" => {}
            _ => continue,
        }
        let name = words.peek().and_then(|word| word.split(['(', ';']).next()).unwrap_or_default();
        // A full-text index of SQL Server has no name.
        if name != "ON" && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What has one of these names, of whatever kind: a function may keep a table from its name too, and a database in
/// which both are not in each other's way is none that was meant to be filled.
///
/// # Errors
/// The database's.
pub(crate) fn found(session: &mut dyn Session, kind: DatabaseKind, names: &[&str]) -> Result<Vec<Object>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // The program's own names: letters, digits, underscores.
    let list = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let mut objects = Vec::new();
    for (_, question) in Script::parse(kind.dialect().objects).blocks() {
        let answer = session.query(&question.replace("{}", &list), &[])?;
        for row in answer.rows() {
            let text = |at: usize| row.text(at).map(str::to_owned);
            objects.push(Object { what: text(0)?, name: text(1)?, own: row.int(2)? > 0 });
        }
    }
    Ok(objects)
}

/// Drops what earlier work of Fathom's left under these names.
///
/// # Errors
/// [`ErrorKind::Occupied`] naming what is not Fathom's own: nothing is dropped then; the database's.
pub(crate) fn drop_own(session: &mut dyn Session, kind: DatabaseKind, names: &[&str]) -> Result<()> {
    let found = found(session, kind, names)?;
    let foreign: Vec<&Object> = found.iter().filter(|object| !object.own).collect();
    if !foreign.is_empty() {
        return Err(in_the_way(
            &foreign,
            "that Fathom creates and drops (what a version before this one left is not recognised: drop it)",
        ));
    }
    found.iter().try_for_each(|object| session.batch(&format!("DROP {} {}", object.what, object.name)))
}

/// The refusal of objects with names `of_what`.
pub(crate) fn in_the_way(objects: &[&Object], of_what: &str) -> Error {
    let words: BTreeSet<String> =
        objects.iter().map(|object| format!("{} `{}`", object.what, object.name)).collect();
    let more = words.len().saturating_sub(NAMED);
    let mut listed = words.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        listed.push_str(&format!(" and {more} more"));
    }
    let message =
        format!("the database has objects with names {of_what}, and they are left as they are: {listed}");
    Error::new(ErrorKind::Occupied, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::created;
    use crate::database::{DatabaseKind, Known};
    use crate::insert::Table;
    use crate::script::Script;
    use crate::texts::Texts;

    const MADE: &str = "made by Fathom";

    #[test]
    fn names_are_those_that_a_text_creates() {
        let text = "-- CREATE TABLE no (\nCREATE TABLE IF NOT EXISTS one (\n    id int CONSTRAINT two PRIMARY KEY\n);
            CREATE UNIQUE INDEX /*M! IF NOT EXISTS */ three ON one (id);
            CREATE VIRTUAL TABLE four USING fts5 (a); CREATE FUNCTION five(a int);
            CREATE TRIGGER five BEFORE UPDATE ON one; CREATE FULLTEXT CATALOG six; CREATE FULLTEXT INDEX ON one";
        assert_eq!(created(text), ["one", "two", "three", "four", "five", "six"]);
    }

    #[test]
    fn nothing_is_replaced_and_what_may_be_made_twice_says_whose_it_is() {
        for kind in DatabaseKind::all() {
            let dialect = kind.dialect();
            let own = dialect.commits_definitions;
            for workload in ["tprocc", "dvdstore"] {
                let texts = Texts::of(workload, kind);
                let scripts = [Some(&texts.indexes), Some(&texts.rules), Some(&texts.finish)];
                let procedures = texts.procedures.as_ref().map(|procedures| &procedures.definitions);
                let blocks = scripts.into_iter().chain([procedures]).flatten().flat_map(Script::blocks);
                let mut makers = BTreeMap::new();
                for (step, text) in blocks.chain([("tables", texts.tables)]) {
                    for words in ["OR REPLACE", "DROP "] {
                        assert!(!text.contains(words), "{kind:?} {workload}/{step}: {words}");
                    }
                    assert!(own || !text.contains("CREATE TABLE IF NOT"), "{kind:?} {workload}/{step}");
                    for name in created(text) {
                        assert!(
                            name.bytes()
                                .all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte)),
                            "{name}"
                        );
                        assert_eq!(
                            makers.insert(name, step),
                            None,
                            "{kind:?} {workload}: {name} by one step only"
                        );
                    }
                    let count = |words: &str| text.matches(words).count();
                    let objects = count("CREATE TABLE") + count("CREATE PROCEDURE") + count("CREATE TRIGGER");
                    assert!(!own || count(MADE) == objects, "{kind:?} {workload}/{step}");
                }
                assert!(makers.len() >= 9, "{makers:?}");
            }
            let table = Table::Trade;
            let made = [Some(table.create(kind)), table.procedure(kind)];
            for text in made.into_iter().flatten().filter(|_| kind != DatabaseKind::Sqlite) {
                assert!(
                    text.replace('_', " ").to_lowercase().contains(&MADE.to_lowercase()),
                    "{kind:?} {text}"
                );
            }
            let questions = Script::parse(dialect.objects);
            assert!(
                questions.blocks().len() > 0 && questions.blocks().all(|(_, text)| text.contains("({})"))
            );
        }
    }
}
