//! The T-SQL of the project is T-SQL to a grammar that is not ours, for want of a server to ask.

use std::path::{Path, PathBuf};

use sqlparser::dialect::MsSqlDialect;
use sqlparser::parser::Parser;

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the crate's own folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "sql") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_of_the_driver_and_the_inserts_parses() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["drivers/sqlserver/sql", "insert/sql/sqlserver"] {
        files_below(&source.join(folder), &mut files);
    }
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it is there");
        let parsed = Parser::parse_sql(&MsSqlDialect {}, &text);
        assert!(parsed.as_ref().is_ok_and(|parsed| !parsed.is_empty()), "{}: {parsed:?}", file.display());
    }
}

#[test]
fn what_is_no_statement_is_refused() {
    for broken in ["SELEC 1", "CREATE TABLE t (a int,, b int)", "SELECT a FROM t WHERE"] {
        assert!(Parser::parse_sql(&MsSqlDialect {}, broken).is_err(), "{broken}");
    }
}
