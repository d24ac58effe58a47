//! The load of TPROC-C: tables, rows of the population by the bulk path, keys and indexes, procedures, statistics.

use crate::database::DatabaseKind;
use crate::error::{Error, ErrorKind, Result};
use crate::load::{Done, Keeping, Load, Step};
use crate::session::{Session, Target};
use crate::value::Value;

use super::checksum::Checksum;
use super::population::{ColumnKind, Field, Part, Population, Table};
use super::texts::Texts;

/// The load of a population into a database of that dialect.
pub fn load<'a>(
    population: &'a Population,
    identity: String,
    kind: DatabaseKind,
    texts: &'a Texts,
) -> Load<'a> {
    // MariaDB commits at every definition, so that its mark can only follow.
    let defining = if kind == DatabaseKind::Mariadb { Keeping::Afterwards } else { Keeping::Together };
    let text = |name: String, keeping, text: &'static str| Step {
        name,
        keeping,
        work: Box::new(move |session: &mut dyn Session| session.batch(text).map(|()| Done::default())),
    };
    let rows = |part: Part| Step {
        name: part.name(),
        keeping: Keeping::Together,
        work: Box::new(move |session: &mut dyn Session| insert(population, part, session)),
    };
    let tables = text("tables".to_owned(), defining, texts.tables);
    let parts = population.parts().into_iter().map(rows);
    let indexes = texts.indexes.blocks().map(|(name, body)| text(format!("index/{name}"), defining, body));
    let procedures = texts.procedures.iter().flat_map(|procedures| procedures.definitions.blocks());
    let procedures = procedures.map(|(name, body)| text(format!("procedure/{name}"), defining, body));
    let finish = texts.finish.blocks();
    let finish = finish.map(|(name, body)| vec![text(format!("finish/{name}"), Keeping::Afterwards, body)]);
    let mut stages = vec![vec![tables], parts.collect(), indexes.chain(procedures).collect()];
    stages.extend(finish);
    Load { identity, stages }
}

/// Columns of the widest table, `customer`.
const MOST_COLUMNS: usize = 21;

/// Sends one part by the bulk path.
fn insert(population: &Population, part: Part, session: &mut dyn Session) -> Result<Done> {
    let names: Vec<&str> = part.table.columns().iter().map(|column| column.name).collect();
    let mut bulk = session.bulk(&Target { table: part.table.name(), columns: &names })?;
    let mut sum = Checksum::default();
    population.rows(part, &mut |row: &[Field<'_>]| {
        sum.add(part.table, row);
        let mut values = [Value::Null; MOST_COLUMNS];
        for (value, field) in values.iter_mut().zip(row) {
            *value = to_value(*field)?;
        }
        bulk.row(&values[..row.len()])
    })?;
    let taken = bulk.finish()?;
    if taken != sum.rows() {
        let message = format!("{}: {} rows were sent and {taken} taken", part.name(), sum.rows());
        return Err(Error::new(ErrorKind::Other, message));
    }
    Ok(Done { rows: sum.rows(), checksum: sum.sum() })
}

fn to_value(field: Field<'_>) -> Result<Value<'_>> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Int(number) => Value::Int(number),
        Field::Cents(cents) => Value::cents(cents),
        Field::Rate(units) => Value::Decimal { units, scale: 4 },
        Field::Time(seconds) => Value::Time(seconds * 1_000_000),
        Field::Text(text) => Value::Text(std::str::from_utf8(text).map_err(|_| not_ascii())?),
    })
}

fn not_ascii() -> Error {
    Error::new(ErrorKind::Other, "a text of the population is not ASCII")
}

/// The checksum over everything a database holds, read back row by row.
///
/// # Errors
/// The database's; [`ErrorKind::Corrupt`] for a value of the wrong type.
pub fn checksum(session: &mut dyn Session, warehouses: u32) -> Result<Checksum> {
    let mut sum = Checksum::default();
    for table in Table::ALL {
        let columns: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
        let select = format!("SELECT {} FROM {}", columns.join(", "), table.name());
        if table == Table::Item {
            add(session, table, &select, &mut sum)?;
            continue;
        }
        // One warehouse at a time: an answer is kept in memory as a whole.
        for warehouse in 1..=warehouses {
            let home = owner(table);
            add(session, table, &format!("{select} WHERE {home} = {warehouse}"), &mut sum)?;
        }
    }
    Ok(sum)
}

/// The column that says whose row it is.
fn owner(table: Table) -> &'static str {
    let named = |name: &&str| name.ends_with("_w_id") || *name == "w_id";
    let mut columns = table.columns().iter().map(|column| column.name);
    columns.find(named).expect("every table but `item` names a warehouse")
}

fn add(session: &mut dyn Session, table: Table, select: &str, sum: &mut Checksum) -> Result<()> {
    let answer = session.query(select, &[])?;
    let kinds: Vec<ColumnKind> = table.columns().iter().map(|column| column.kind).collect();
    for row in answer.rows() {
        let mut fields = Vec::with_capacity(kinds.len());
        for (value, kind) in row.values().zip(&kinds) {
            let wrong = |error: Error| Error::new(ErrorKind::Corrupt, format!("{}: {error}", table.name()));
            fields.push(field(value, *kind).map_err(wrong)?);
        }
        sum.add(table, &fields);
    }
    Ok(())
}

fn field(value: Value<'_>, kind: ColumnKind) -> Result<Field<'_>> {
    if value.is_null() {
        return Ok(Field::Null);
    }
    Ok(match kind {
        ColumnKind::Int => Field::Int(value.int()?),
        ColumnKind::Cents => Field::Cents(value.decimal(2)?),
        ColumnKind::Rate => Field::Rate(value.decimal(4)?),
        ColumnKind::Time => Field::Time(value.time()? / 1_000_000),
        ColumnKind::Text => Field::Text(value.text()?.as_bytes()),
    })
}
