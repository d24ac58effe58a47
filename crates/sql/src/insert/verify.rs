//! A run checks its own answer: the database reopens, passes its own check, and holds exactly the committed rows.

use fathom_job::{Failure, Reason};

use super::table::{NAME, Table};
use crate::checksum::Checksum;
use crate::database::{DatabaseKind, Known};
use crate::population::Field;
use crate::rows::Answer;
use crate::session::Session;
use crate::value::Value;

/// Rows that are read back at most: the first ones. What they are made of does not change later.
const MOST_ROWS: u64 = 100_000;
/// And their bytes, about.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of one answer, about.
const ANSWER_BYTES: u64 = 2 << 20;
/// Bytes of a row beside its payload, about.
const ROW_BYTES: u64 = 150;

/// Looks at the table in a session of its own; returns the checksum of the rows that were read back.
///
/// # Errors
/// `Verification` with what was found; the database's errors.
pub fn verify(
    session: &mut dyn Session,
    kind: DatabaseKind,
    table: Table,
    rows: u64,
) -> Result<Checksum, Failure> {
    if let Some((check, column)) = kind.dialect().check {
        let check = check.replace("{}", NAME);
        let answer = session.query(&check, &[])?;
        for row in answer.rows() {
            let said = row.text(column)?;
            if !said.eq_ignore_ascii_case("ok") {
                let message = format!("{}'s check of the table says: {said}", kind.dialect().title);
                return Err(Failure::new(Reason::Verification, message));
            }
        }
    }
    let question =
        format!("SELECT count(*), coalesce(min(rec_num), 1), coalesce(max(rec_num), 0) FROM {NAME}");
    let answer = session.query(&question, &[])?;
    let row = answer.first()?;
    let (count, least, most) = (row.int(0)?, row.int(1)?, row.int(2)?);
    let expected = i64::try_from(rows).unwrap_or(i64::MAX);
    if (count, least, most) != (expected, 1, expected) {
        let found = format!("{count} rows with keys {least} to {most}");
        let message = format!("{rows} rows were committed, and the database holds {found}");
        return Err(Failure::new(Reason::Verification, message));
    }
    contents(session, kind, table, rows)
}

/// Reads the first rows back and compares them with what was sent, each column of each.
fn contents(
    session: &mut dyn Session,
    kind: DatabaseKind,
    table: Table,
    rows: u64,
) -> Result<Checksum, Failure> {
    let text = table.text();
    let mut sent = table.row(&text);
    let row_bytes = ROW_BYTES + text.len() as u64;
    let last = rows.min(MOST_ROWS).min(MOST_BYTES / row_bytes);
    let at_once = (ANSWER_BYTES / row_bytes).max(1);
    let columns = table.columns().join(", ");
    let (first, then) = (kind.dialect().parameter(1), kind.dialect().parameter(2));
    let range = format!("rec_num BETWEEN {first} AND {then}");
    let ask = session.prepare(&format!("SELECT {columns} FROM {NAME} WHERE {range} ORDER BY rec_num"))?;
    let (mut answer, mut sum) = (Answer::new(), Checksum::default());
    let mut key = 0;
    while key < last {
        let to = last.min(key + at_once);
        session.run(ask, &[Value::Int(key as i64 + 1), Value::Int(to as i64)], &mut answer)?;
        for row in answer.rows() {
            key += 1;
            sent[0] = Value::Int(key as i64);
            let found: Vec<Field<'_>> = row.values().map(|value| field(&value)).collect();
            let wanted: Vec<Field<'_>> = sent.iter().map(field).collect();
            if let Some(at) = (0..wanted.len()).find(|at| found.get(*at) != Some(&wanted[*at])) {
                let column = table.columns()[at];
                let message = format!("row {key} came back with another `{column}` than was sent");
                return Err(Failure::new(Reason::Verification, message));
            }
            sum.add(0, &found);
        }
        if key != to {
            let message = format!("asked for the rows to {to}, the database gave those to {key}");
            return Err(Failure::new(Reason::Verification, message));
        }
    }
    Ok(sum)
}

/// A value as a checksum knows it. Blanks at the end of a text are ignored: columns of a fixed length have or lose them.
fn field<'a>(value: &Value<'a>) -> Field<'a> {
    match *value {
        Value::Int(number) => Field::Int(number),
        Value::Text(text) => Field::Text(text.trim_end_matches(' ').as_bytes()),
        Value::Bytes(bytes) => Field::Text(bytes),
        // Neither table has any of these.
        Value::Null | Value::Float(_) | Value::Decimal { .. } | Value::Time(_) | Value::Ints(_) => {
            Field::Null
        }
    }
}
