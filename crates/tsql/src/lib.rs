//! What a text of T-SQL says to a grammar that is not ours (`sqlparser`); for tests only. A crate of its own, so that the
//! hundreds of types of the grammar are compiled once and not in every test program that asks.

use sqlparser::ast::{ColumnDef, ColumnOption, Statement};
use sqlparser::dialect::MsSqlDialect;
use sqlparser::parser::Parser;

/// A table as its definition describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// In their order.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// As it is written, in lower case: `decimal(12,2)`.
    pub data_type: String,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Whether the server numbers the rows by it.
    pub identity: bool,
}

/// How many statements a text has.
///
/// # Errors
/// Where the grammar does not know it, in the parser's words.
pub fn statements(text: &str) -> Result<usize, String> {
    parse(text).map(|found| found.len())
}

/// The tables that a text defines.
///
/// # Errors
/// If the grammar does not know the text, or a statement of it defines no table.
pub fn tables(text: &str) -> Result<Vec<Table>, String> {
    let table = |statement: &Statement| match statement {
        Statement::CreateTable(table) => {
            let columns = table.columns.iter().map(column).collect();
            Ok(Table { name: table.name.to_string(), columns })
        }
        other => Err(format!("{other} is no table")),
    };
    parse(text)?.iter().map(table).collect()
}

fn column(column: &ColumnDef) -> Column {
    let has = |wanted: fn(&ColumnOption) -> bool| column.options.iter().any(|option| wanted(&option.option));
    Column {
        name: column.name.value.clone(),
        data_type: column.data_type.to_string().to_lowercase(),
        nullable: !has(|option| *option == ColumnOption::NotNull),
        identity: has(|option| matches!(option, ColumnOption::Identity(_))),
    }
}

fn parse(text: &str) -> Result<Vec<Statement>, String> {
    Parser::parse_sql(&MsSqlDialect {}, text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Column, statements, tables};

    #[test]
    fn a_definition_is_read_and_what_is_no_statement_refused() {
        let found = tables("CREATE TABLE t (a INT IDENTITY NOT NULL, b DECIMAL(12,2))").expect("a table");
        let column = |name: &str, data_type: &str, own: bool| Column {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            nullable: !own,
            identity: own,
        };
        assert_eq!(found[0].columns, [column("a", "int", true), column("b", "decimal(12,2)", false)]);
        assert!(tables("SELECT 1").is_err());
        assert_eq!(statements("SELECT 1; SELECT 2"), Ok(2));
        for broken in ["SELEC 1", "CREATE TABLE t (a int,, b int)", "SELECT a FROM t WHERE"] {
            assert!(statements(broken).is_err(), "{broken}");
        }
    }
}
