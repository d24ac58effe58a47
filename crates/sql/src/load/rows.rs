//! Steps of every load: statements as text, rows of a population by the bulk path; and the rows read back.

use crate::checksum::Checksum;
use crate::database::{DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::objects;
use crate::population::{ColumnKind, Field, Relation, Sink};
use crate::script::Script;
use crate::session::{Session, Target};
use crate::texts::Texts;
use crate::value::Value;

use super::{Done, Load, MarkOrder, Step};

/// Columns of the widest table there is: TPC-C's `customer`; DVD Store's `customers` has one fewer.
const MOST_COLUMNS: usize = 21;

/// A step that runs statements as text.
fn text<'a>(name: String, kind: DatabaseKind, keeping: MarkOrder, text: &'static str) -> Step<'a> {
    let creates = objects::created(text);
    let names = creates.clone();
    // Tables and indexes are left where they are; of procedures and triggers there is no `IF NOT EXISTS` on MySQL.
    let made_anew = kind.dialect().commits_definitions
        && ["CREATE PROCEDURE", "CREATE TRIGGER"].iter().any(|words| text.contains(words));
    let work = move |session: &mut dyn Session| {
        if made_anew {
            objects::drop_own(session, kind, &names)?;
        }
        match session.batch(text) {
            // A load that was killed had done it, and could not say so in the same transaction.
            Err(error) if keeping == MarkOrder::Afterwards && error.is_defined_already() => {
                Ok(Done::default())
            }
            done => done.map(|()| Done::default()),
        }
    };
    Step { name, keeping, creates, work: Box::new(work) }
}

/// The load of a workload: its tables, the `parts` that fill them, then keys and indexes, then the rules that need them and
/// the procedures, and what ends it.
pub fn steps<'a>(identity: String, kind: DatabaseKind, texts: &'a Texts, parts: Vec<Step<'a>>) -> Load<'a> {
    // The mark of a step that commits by itself can only follow.
    let defining =
        if kind.dialect().commits_definitions { MarkOrder::Afterwards } else { MarkOrder::SameTransaction };
    let all = |prefix: &str, script: &Script, keeping: MarkOrder| -> Vec<Step<'a>> {
        script.blocks().map(|(name, body)| text(format!("{prefix}/{name}"), kind, keeping, body)).collect()
    };
    let mut rules = all("rule", &texts.rules, defining);
    rules.extend(texts.procedures.iter().flat_map(|own| all("procedure", &own.definitions, defining)));
    let tables = vec![text("tables".to_owned(), kind, defining, texts.tables)];
    let mut stages = vec![tables, parts, all("index", &texts.indexes, defining), rules];
    // One after the other, outside of any transaction.
    stages.extend(all("finish", &texts.finish, MarkOrder::Afterwards).into_iter().map(|step| vec![step]));
    Load { identity, stages }
}

/// A step that sends the rows of one part into a table by the bulk path.
pub fn part<'a>(
    relation: Relation,
    name: String,
    rows: impl Fn(&mut Sink<'_, Error>) -> Result<()> + Send + Sync + 'a,
) -> Step<'a> {
    let part = name.clone();
    let work = move |session: &mut dyn Session| insert(&relation, &part, session, &rows);
    Step { name, keeping: MarkOrder::SameTransaction, creates: Vec::new(), work: Box::new(work) }
}

/// Sends the rows that `rows` makes into a table by the bulk path; `part` names them in messages.
///
/// # Errors
/// The database's; [`ErrorKind::Other`] if it took another number of rows than were sent.
pub fn insert(
    relation: &Relation,
    part: &str,
    session: &mut dyn Session,
    rows: impl FnOnce(&mut Sink<'_, Error>) -> Result<()>,
) -> Result<Done> {
    let names: Vec<&str> = relation.columns.iter().map(|column| column.name).collect();
    let mut bulk = session.bulk(&Target { table: relation.name, columns: &names })?;
    let mut sum = Checksum::default();
    rows(&mut |row: &[Field<'_>]| {
        sum.add(relation.number, row);
        let mut values = [Value::Null; MOST_COLUMNS];
        for (value, field) in values.iter_mut().zip(row) {
            *value = to_value(*field)?;
        }
        bulk.row(&values[..row.len()])
    })?;
    let taken = bulk.finish()?;
    if taken != sum.rows() {
        let message = format!("{part}: {} rows were sent and {taken} taken", sum.rows());
        return Err(Error::new(ErrorKind::Other, message));
    }
    Ok(Done { rows: sum.rows(), checksum: sum.sum() })
}

/// A logical value as a parameter.
///
/// # Errors
/// [`ErrorKind::Other`] for a text that is not UTF-8.
pub fn to_value(field: Field<'_>) -> Result<Value<'_>> {
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

/// Adds up the rows of a table that `condition` (empty, or `WHERE ...`) picks. An answer is kept in memory as a whole.
///
/// # Errors
/// The database's; [`ErrorKind::Corrupt`] for a value of the wrong type.
pub fn read_back(
    session: &mut dyn Session,
    relation: &Relation,
    condition: &str,
    sum: &mut Checksum,
) -> Result<()> {
    let answer = session.query(&format!("{} {condition}", relation.select()), &[])?;
    for row in answer.rows() {
        let mut fields = Vec::with_capacity(relation.columns.len());
        for (value, column) in row.values().zip(relation.columns) {
            let wrong = |error: Error| Error::new(ErrorKind::Corrupt, format!("{}: {error}", relation.name));
            fields.push(field(value, column.kind).map_err(wrong)?);
        }
        sum.add(relation.number, &fields);
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
