//! The T-SQL of the project is T-SQL to a grammar that is not ours, for want of a server to ask.

use std::path::{Path, PathBuf};

use fathom_sql::script::Script;
use fathom_tsql::statements;

/// Every folder of T-SQL, and the statements of all dialects that SQL Server runs too.
const PLACES: [&str; 10] = [
    "drivers/sqlserver/objects.sql",
    "drivers/sqlserver/sql",
    "dvdstore/sql/sqlserver",
    "dvdstore/sql/conditions.sql",
    "insert/sql/sqlserver",
    "tprocc/sql/hammerdb/sizes.sql",
    "tprocc/sql/hammerdb/sqlserver.sql",
    "tprocc/sql/sqlserver",
    "tprocc/sql/conditions.sql",
    "drivers/sqlserver/watch.sql",
];

fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(path).expect("the crate's own folder").flatten() {
        files_below(&entry.path(), found);
    }
}

/// A file's statements by name; one without marks is a single text.
fn texts(file: &Path) -> Vec<(String, &'static str)> {
    let text: &'static str = std::fs::read_to_string(file).expect("it is there").leak();
    let blocks = Script::parse(text);
    if blocks.blocks().len() == 0 {
        return vec![(file.display().to_string(), text)];
    }
    blocks.blocks().map(|(name, text)| (format!("{} {name}", file.display()), text)).collect()
}

/// Statements that the grammar does not know, by how they begin: of what they stand in, everything else must parse.
const UNKNOWN_TO_IT: [&str; 4] =
    ["CHECKPOINT", "CREATE FULLTEXT CATALOG ", "CREATE FULLTEXT INDEX ", "DBCC CHECKIDENT "];

/// A text with `SELECT 1` in the place of each statement that the grammar does not know.
fn without_unknown(text: &str) -> String {
    // Names come in place of these.
    let mut known = text.replace("({})", "('name')");
    for words in UNKNOWN_TO_IT {
        while let Some(from) = known.find(words) {
            let length = known[from..].find(';').expect("a statement ends");
            known.replace_range(from..from + length, "SELECT 1");
        }
    }
    known
}

#[test]
fn every_statement_parses() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    PLACES.iter().for_each(|place| files_below(&source.join(place), &mut files));
    let all: Vec<_> = files.iter().flat_map(|file| texts(file)).collect();
    assert!(files.len() >= 20 && all.len() > 110, "{} statements of {files:?}", all.len());
    let mut wrong = Vec::new();
    for (name, text) in all {
        match statements(&without_unknown(text)) {
            Ok(1..) => {}
            other => wrong.push(format!("{name}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
