//! A schema that HammerDB built: whether it exists and is complete, and its size. Its tables and columns have the names
//! that this workload's statements use; only their types differ (HammerDB 5 and 6, `src/postgresql/pgoltp.tcl` and
//! `src/mssqlserver/mssqlsoltp.tcl`, procedure `CreateTables`). Nothing is changed before the users begin.

use std::collections::{BTreeMap, BTreeSet};

use fathom_job::{Failure, Reason};

use crate::conditions::Conditions;
use crate::database::{DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::session::Session;

use super::conditions::conditions;
use super::population::Table;
use super::scale::{DISTRICTS, Scale};

/// The databases of which such a schema can be read.
pub const KINDS: [DatabaseKind; 2] = [DatabaseKind::Postgresql, DatabaseKind::Sqlserver];

/// The conditions that HammerDB's own procedures do not keep. 2 and 3: those of HammerDB 4 skip an order number. 10 and 12:
/// amounts of lines with taxes in them, lines without an amount.
pub const NOT_KEPT: [&str; 4] = ["2", "3", "10", "12"];

/// What was found of a schema.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its sizes, by counting.
    pub scale: Scale,
    /// What holds of it. What does not before the first transaction is not among them.
    pub conditions: Conditions,
    /// The conditions that did not hold, in words; empty if all did.
    pub broken: String,
    /// Districts whose next order number is taken.
    taken: i64,
}

impl Found {
    /// Whether this workload's own statements can place orders.
    ///
    /// # Errors
    /// [`Reason::Settings`] if HammerDB's procedures have counted on in their way.
    pub fn takes_statements(&self) -> Result<(), Failure> {
        if self.taken == 0 {
            return Ok(());
        }
        let message = format!(
            "`schema = \"hammerdb\"`: the next order number of {} districts is taken, as HammerDB 4's procedures leave it; call them \
             (`interface = \"procedures\"` and `fidelity = \"hammerdb\"`), or set it right: UPDATE district SET d_next_o_id = \
             d_next_o_id + 1",
            self.taken
        );
        Err(Failure::new(Reason::Settings, message))
    }

    /// Leaves out conditions that what is to come does not keep.
    pub fn leave_out(&mut self, names: &[&str]) {
        self.conditions.left_out.extend(names.iter().map(|name| (*name).to_owned()));
    }
}

/// Checks that a schema is complete, and reads its scale.
///
/// # Errors
/// [`Reason::Settings`] naming the table, column, index or rows that are missing; the database's.
pub fn check_schema(session: &mut dyn Session, kind: DatabaseKind) -> Result<Found, Failure> {
    let catalogue = catalogue(kind)?;
    columns(session, &catalogue)?;
    indexes(session, &catalogue)?;
    let scale = sizes(session)?;
    let mut conditions = conditions(&scale);
    let violations = conditions.check(session, false)?;
    let words = violations.iter().map(|found| format!("{} ({} rows)", found.condition, found.rows));
    let broken = words.collect::<Vec<_>>().join(", ");
    conditions.left_out = violations.into_iter().map(|found| found.condition).collect();
    let taken = session.query(sizes_script().get("taken"), &[])?.first()?.int(0)?;
    Ok(Found { scale, conditions, broken, taken })
}

fn catalogue(kind: DatabaseKind) -> Result<Script> {
    match kind {
        DatabaseKind::Postgresql => Ok(Script::parse(include_str!("sql/hammerdb/postgresql.sql"))),
        DatabaseKind::Sqlserver => Ok(Script::parse(include_str!("sql/hammerdb/sqlserver.sql"))),
        _ => {
            let message = format!("a schema of HammerDB cannot be read on {}", kind.dialect().title);
            Err(Error::new(ErrorKind::Other, message))
        }
    }
}

/// What is wrong with a schema, and what to do.
fn unfit(what: &str) -> Failure {
    let help =
        "name the database that HammerDB built completely, or leave out `schema` and name an empty one";
    Failure::new(Reason::Settings, format!("`schema = \"hammerdb\"`: {what}; {help}"))
}

/// Every table and column of the workload is there.
fn columns(session: &mut dyn Session, catalogue: &Script) -> Result<(), Failure> {
    let answer = session.query(catalogue.get("columns"), &[])?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in answer.rows() {
        found.entry(row.text(0)?.to_owned()).or_default().insert(row.text(1)?.to_owned());
    }
    let listed =
        |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let missing: Vec<&str> =
        Table::ALL.iter().map(|table| table.name()).filter(|name| !found.contains_key(*name)).collect();
    if !missing.is_empty() {
        let who = "the database has, or shows this user, no table ";
        return Err(unfit(&format!("{who}{}", listed(missing))));
    }
    for table in Table::ALL {
        let known = &found[table.name()];
        let names = table.columns().iter().map(|column| column.name);
        let missing: Vec<&str> = names.filter(|name| !known.contains(*name)).collect();
        if !missing.is_empty() {
            return Err(unfit(&format!("table `{}` has no column {}", table.name(), listed(missing))));
        }
    }
    Ok(())
}

/// HammerDB builds indexes last; without them a build did not end.
fn indexes(session: &mut dyn Session, catalogue: &Script) -> Result<(), Failure> {
    let answer = session.query(catalogue.get("indexes"), &[])?;
    let mut found = BTreeMap::new();
    for row in answer.rows() {
        found.insert(row.text(0)?.to_owned(), row.int(1)?);
    }
    for table in Table::ALL {
        let least = match table {
            // Searched by their keys, and by name or customer.
            Table::Customer | Table::Orders => 2,
            Table::History => 0,
            _ => 1,
        };
        let count = found.get(table.name()).copied().unwrap_or(0);
        if count < least {
            let what = format!("table `{}` has {count} indexes, and HammerDB gives it {least}", table.name());
            return Err(unfit(&format!("{what}: its build did not end")));
        }
    }
    let Some((_, in_memory)) = catalogue.blocks().find(|(name, _)| *name == "in_memory") else {
        return Ok(());
    };
    match session.query(in_memory, &[])?.rows().next() {
        None => Ok(()),
        Some(row) => {
            let what = format!("table `{}` is memory-optimized, which takes no update locks", row.text(0)?);
            Err(unfit(&what))
        }
    }
}

/// How many, and the least and the greatest.
struct Size {
    count: i64,
    least: i64,
    most: i64,
}

fn sizes_script() -> Script {
    Script::parse(include_str!("sql/hammerdb/sizes.sql"))
}

/// Counts everything that has one size in a complete schema.
fn sizes(session: &mut dyn Session) -> Result<Scale, Failure> {
    let script = sizes_script();
    let mut size = |name: &'static str| -> Result<Size, Failure> {
        let answer = session.query(script.get(name), &[])?;
        let row = answer.first()?;
        match row.int(0)? {
            0 => Err(unfit(&format!("table `{name}` holds no row that the workload needs"))),
            count => Ok(Size { count, least: row.int(1)?, most: row.int(2)? }),
        }
    };
    let numbered = |what: &str, size: &Size| match size {
        Size { count, least: 1, most } if count == most => Ok(()),
        Size { count, least, most } => {
            Err(unfit(&format!("{count} {what} have the numbers {least} to {most}, with gaps or not from 1")))
        }
    };
    let alike = |of: &str, what: &str, size: &Size, (wanted, each): (i64, Option<i64>)| {
        let Size { count, least, most } = size;
        if *count != wanted {
            return Err(unfit(&format!("{count} {of} of {wanted} have {what}: the build did not end")));
        }
        if least != most || each.is_some_and(|each| each != *least) {
            let each = each.map_or_else(|| "all alike".to_owned(), |each| each.to_string());
            return Err(unfit(&format!("{of} have {least} to {most} {what}, and not {each}")));
        }
        Ok(())
    };
    let (warehouse, item) = (size("warehouse")?, size("item")?);
    numbered("warehouses", &warehouse)?;
    numbered("items", &item)?;
    let warehouses = warehouse.count;
    alike("warehouses", "districts", &size("district")?, (warehouses, Some(DISTRICTS.into())))?;
    alike("warehouses", "items in stock", &size("stock")?, (warehouses, Some(item.count)))?;
    let districts = warehouses * i64::from(DISTRICTS);
    let customer = size("customer")?;
    alike("districts", "customers", &customer, (districts, None))?;
    alike("districts", "orders and lines", &size("orders")?, (districts, None))?;
    if item.count < 100 || customer.least < 30 {
        let what = format!("{} items and {} customers of a district are too few", item.count, customer.least);
        return Err(unfit(&format!("{what}: at least 100 and 30")));
    }
    let small = |count: i64| u32::try_from(count).map_err(|_| unfit(&format!("{count} is too many")));
    Ok(Scale { warehouses: small(warehouses)?, items: small(item.count)?, customers: small(customer.least)? })
}
