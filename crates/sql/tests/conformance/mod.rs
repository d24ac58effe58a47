//! What every driver must do, in one body: each database's test runs all of it against a real server.

use fathom_sql::database::{Database, DatabaseKind, Known};
use fathom_sql::error::ErrorKind;
use fathom_sql::rows::Answer;
use fathom_sql::session::{Call, Session, Target};
use fathom_sql::value::Value;

pub mod random;

/// Runs every check on an empty database.
#[allow(dead_code, reason = "servers that speak another's language are asked less")]
pub fn conforms(database: &dyn Database) {
    conforms_as(database, true);
}

/// The same; `kinds`: whether every error has the kind that it should.
#[allow(dead_code, reason = "servers that speak another's language give other numbers")]
pub fn conforms_as(database: &dyn Database, kinds: bool) {
    random::values_come_back(database, true);
    facts_name_the_database(database);
    values_come_back_as_they_were_sent(database);
    transactions_keep_and_undo(database);
    a_pipeline_stops_at_the_first_failure_and_undoes(database);
    bulk_rows_come_back_as_they_were_sent(database);
    a_load_that_is_not_finished_leaves_nothing(database);
    a_load_that_fails_leaves_nothing(database);
    if kinds {
        errors_have_their_kinds(database);
    }
    rows_that_were_changed_are_counted(database);
    many_calls_in_one_pipeline_do_not_stall(database);
}

fn connect(database: &dyn Database) -> Box<dyn Session + '_> {
    database.connect().expect("the server is there")
}

/// Column types that each dialect keeps `Int`, `Decimal`, `Float`, `Text`, `Bytes` and `Time` in.
fn types(dialect: DatabaseKind) -> [&'static str; 6] {
    match dialect {
        DatabaseKind::Sqlite => ["INTEGER", "INTEGER", "REAL", "TEXT", "BLOB", "INTEGER"],
        DatabaseKind::Postgresql => {
            ["bigint", "numeric(12, 2)", "double precision", "varchar(500)", "bytea", "timestamp"]
        }
        DatabaseKind::Mariadb | DatabaseKind::Mysql => {
            ["bigint", "decimal(12, 2)", "double", "varchar(500)", "varbinary(500)", "datetime(6)"]
        }
        DatabaseKind::Sqlserver => {
            ["bigint", "decimal(12, 2)", "float", "nvarchar(500)", "varbinary(500)", "datetime2(6)"]
        }
    }
}

const COLUMNS: [&str; 7] = ["id", "i", "d", "f", "t", "b", "m"];

fn table(session: &mut dyn Session, dialect: DatabaseKind, name: &str) {
    let [int, decimal, float, text, bytes, time] = types(dialect);
    let definition = format!(
        "CREATE TABLE {name} (id {int} NOT NULL PRIMARY KEY, i {int}, d {decimal}, f {float}, t {text}, b {bytes}, m {time})"
    );
    session.batch(&format!("DROP TABLE IF EXISTS {name}")).expect("dropped");
    session.batch(&definition).expect("the table is made");
}

fn insert(dialect: DatabaseKind, name: &str) -> String {
    let places: Vec<String> = (1..=7).map(|number| dialect.dialect().parameter(number)).collect();
    format!("INSERT INTO {name} ({}) VALUES ({})", COLUMNS.join(", "), places.join(", "))
}

fn select(name: &str) -> String {
    format!("SELECT {} FROM {name} ORDER BY id", COLUMNS.join(", "))
}

/// Values at the edges of what TPROC-C and the insert workloads send.
fn samples() -> Vec<[Value<'static>; 7]> {
    let all_bytes: &'static [u8] = const { &[0, 1, 9, 10, 13, 26, 34, 39, 44, 92, 127, 128, 255] };
    let row = |id, rest: [Value<'static>; 6]| {
        let [i, d, f, t, b, m] = rest;
        [Value::Int(id), i, d, f, t, b, m]
    };
    vec![
        row(1, [Value::Null; 6]),
        row(
            2,
            [
                Value::Int(i64::MAX),
                Value::cents(999_999_999_999),
                Value::Float(-0.1),
                Value::Text(
                    "tab\t, line\nreturn\r, \\N, \\, 'quote', \"double\", zero-width \u{200b}, \u{1f600}",
                ),
                Value::Bytes(all_bytes),
                Value::Time(1_539_595_800_123_456),
            ],
        ),
        row(
            3,
            [
                Value::Int(i64::MIN),
                Value::cents(-1),
                Value::Float(1e300),
                Value::Text(""),
                Value::Bytes(&[]),
                Value::Time(0),
            ],
        ),
        row(
            4,
            [
                Value::Int(0),
                Value::cents(1_000_000),
                Value::Float(0.0),
                Value::Text("\\N"),
                Value::Bytes(b"\\N"),
                Value::Time(-1_000_000),
            ],
        ),
        row(
            5,
            [
                Value::Int(-1),
                Value::cents(30_000_001),
                Value::Float(3.5),
                Value::Text("  two blanks in front"),
                Value::Bytes(&[92, 78]),
                Value::Time(253_370_764_800_000_000),
            ],
        ),
    ]
}

/// Compares by meaning: SQLite answers whole numbers where others answer decimals and times.
fn assert_same(answer: &Answer, expected: &[[Value<'static>; 7]]) {
    assert_eq!(answer.len(), expected.len());
    for (row, expected) in answer.rows().zip(expected) {
        for (column, (found, expected)) in row.values().zip(expected).enumerate() {
            let same = match expected {
                Value::Null => found.is_null(),
                Value::Decimal { units, scale } => found.decimal(*scale).ok() == Some(*units),
                Value::Time(micros) => found.time().ok() == Some(*micros),
                Value::Int(value) => found.int().ok() == Some(*value),
                Value::Float(value) => found.float().ok() == Some(*value),
                Value::Text(text) => found.text().ok() == Some(*text),
                Value::Bytes(bytes) => found.bytes().ok() == Some(*bytes),
                Value::Ints(_) => unreachable!("lists are parameters only"),
            };
            assert!(same, "column {}: {expected:?} came back as {found:?}", COLUMNS[column]);
        }
    }
}

fn count(session: &mut dyn Session, name: &str) -> i64 {
    let answer = session.query(&format!("SELECT count(*) FROM {name}"), &[]).expect("counted");
    answer.first().and_then(|row| row.int(0)).expect("a number")
}

fn facts_name_the_database(database: &dyn Database) {
    let mut session = connect(database);
    let facts = database.facts(&mut *session).expect("facts");
    let version = facts.get(database.kind().name()).expect("the version is a fact");
    assert!(version.contains('.'), "{version}");
    assert!(facts.contains_key(database.kind().dialect().durability_setting), "{facts:?}");
}

fn values_come_back_as_they_were_sent(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "kept");
    let statement = session.prepare(&insert(database.kind(), "kept")).expect("prepared");
    let again = session.prepare(&insert(database.kind(), "kept")).expect("prepared");
    assert_eq!(statement, again, "the same text is the same statement");
    let mut answer = Answer::new();
    for row in samples() {
        session.run(statement, &row, &mut answer).expect("inserted");
        assert_eq!(answer.affected, 1);
    }
    let found = session.query(&select("kept"), &[]).expect("selected");
    assert_eq!(found.affected, 5);
    assert_same(&found, &samples());
    let one = format!("SELECT t, i FROM kept WHERE id = {}", database.kind().dialect().parameter(1));
    let found = session.query(&one, &[Value::Int(3)]).expect("selected");
    assert_eq!((found.len(), found.width()), (1, 2));
    assert_eq!(found.first().and_then(|row| row.int(1)).expect("a number"), i64::MIN);
    let none = session.query(&one, &[Value::Int(77)]).expect("selected");
    assert!(none.is_empty() && none.affected == 0);
}

fn transactions_keep_and_undo(database: &dyn Database) {
    let mut session = connect(database);
    let mut other = connect(database);
    table(&mut *session, database.kind(), "undone");
    let statement = session.prepare(&insert(database.kind(), "undone")).expect("prepared");
    let mut answer = Answer::new();
    let mut add = |session: &mut dyn Session, id| {
        let mut row = [Value::Null; 7];
        row[0] = Value::Int(id);
        session.run(statement, &row, &mut answer).expect("inserted");
    };
    session.begin().expect("begun");
    add(&mut *session, 1);
    session.rollback().expect("rolled back");
    assert_eq!(count(&mut *session, "undone"), 0);
    session.begin().expect("begun");
    add(&mut *session, 2);
    // Without READ_COMMITTED_SNAPSHOT a reader of SQL Server's waits for the row, unless it passes over what is locked.
    let unlocked =
        if database.kind() == DatabaseKind::Sqlserver { "undone WITH (READPAST)" } else { "undone" };
    assert_eq!(count(&mut *other, unlocked), 0, "nobody else sees it yet");
    session.commit().expect("committed");
    assert_eq!(count(&mut *other, "undone"), 1);
    session.rollback().expect("nothing is open: nothing happens");
    drop(session);
    let mut session = connect(database);
    let statement = session.prepare(&insert(database.kind(), "undone")).expect("prepared");
    session.begin().expect("begun");
    session.run(statement, &samples()[0], &mut Answer::new()).expect("inserted");
    drop(session);
    assert_eq!(count(&mut *other, "undone"), 1, "a session that goes away has rolled back");
}

fn a_pipeline_stops_at_the_first_failure_and_undoes(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "piped");
    let statement = session.prepare(&insert(database.kind(), "piped")).expect("prepared");
    let counted = session.prepare("SELECT count(*), max(id) FROM piped").expect("prepared");
    let rows = samples();
    let mut answers = Vec::new();
    let run = |index: usize| Call::Run(statement, &rows[index]);
    let calls = [Call::Begin, run(0), run(1), Call::Run(counted, &[]), Call::Commit];
    session.pipeline(&calls, &mut answers).expect("all of it runs");
    assert_eq!(answers.len(), calls.len());
    assert_eq!((answers[1].affected, answers[2].affected), (1, 1));
    assert_eq!(answers[3].first().and_then(|row| row.int(1)).expect("a number"), 2);
    let failing = [Call::Begin, run(2), run(1), run(3), Call::Commit];
    let failed = session.pipeline(&failing, &mut answers).expect_err("the key is there already");
    assert_eq!(failed.kind(), ErrorKind::Constraint, "{failed}");
    assert_eq!(count(&mut *session, "piped"), 2, "nothing of the second pipeline is kept");
    session.pipeline(&[Call::Begin, run(2), Call::Commit], &mut answers).expect("the session goes on");
    assert_eq!(count(&mut *session, "piped"), 3);
    session.pipeline(&[], &mut answers).expect("nothing to do");
    assert!(answers.is_empty());
}

fn bulk_rows_come_back_as_they_were_sent(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "loaded");
    let target = Target { table: "loaded", columns: &COLUMNS };
    let mut bulk = session.bulk(&target).expect("begun");
    for row in samples() {
        bulk.row(&row).expect("taken");
    }
    // More than any driver's buffer.
    let wide = "x".repeat(480);
    for id in 6..=20_005 {
        let mut row = [Value::Null; 7];
        (row[0], row[4]) = (Value::Int(id), Value::Text(&wide));
        bulk.row(&row).expect("taken");
    }
    assert_eq!(bulk.finish().expect("finished"), 20_005);
    let found = session.query("SELECT count(*), max(id), sum(length(t)) FROM loaded WHERE id > 5", &[]);
    let found = match database.kind() {
        DatabaseKind::Sqlserver => {
            session.query("SELECT count_big(*), max(id), sum(len(t)) FROM loaded WHERE id > 5", &[])
        }
        _ => found,
    };
    let found = found.expect("counted");
    let row = found.first().expect("one row");
    assert_eq!(
        (row.int(0).ok(), row.int(1).ok(), row.int(2).ok()),
        (Some(20_000), Some(20_005), Some(9_600_000))
    );
    session.batch("DELETE FROM loaded WHERE id > 5").expect("deleted");
    assert_same(&session.query(&select("loaded"), &[]).expect("selected"), &samples());
    session.begin().expect("begun");
    let mut bulk = session.bulk(&target).expect("begun");
    bulk.row(&{
        let mut row = [Value::Null; 7];
        row[0] = Value::Int(99);
        row
    })
    .expect("taken");
    assert_eq!(bulk.finish().expect("finished"), 1);
    assert_eq!(count(&mut *session, "loaded"), 6);
    session.rollback().expect("rolled back");
    assert_eq!(count(&mut *session, "loaded"), 5, "a load within a transaction is part of it");
    let empty = session.bulk(&target).expect("begun");
    assert_eq!(empty.finish().expect("finished"), 0);
}

fn a_load_that_is_not_finished_leaves_nothing(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "dropped");
    let target = Target { table: "dropped", columns: &COLUMNS };
    let mut bulk = session.bulk(&target).expect("begun");
    for row in samples() {
        bulk.row(&row).expect("taken");
    }
    drop(bulk);
    assert_eq!(count(&mut *session, "dropped"), 0);
}

fn a_load_that_fails_leaves_nothing(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "twice");
    let target = Target { table: "twice", columns: &COLUMNS };
    let mut bulk = session.bulk(&target).expect("begun");
    let all = samples();
    let outcome = all.iter().chain(&all).try_for_each(|row| bulk.row(row));
    let failed = match outcome {
        Ok(()) => bulk.finish().expect_err("each key came twice"),
        Err(failed) => {
            drop(bulk);
            failed
        }
    };
    assert_eq!(failed.kind(), ErrorKind::Constraint, "{failed}");
    assert_eq!(count(&mut *session, "twice"), 0);
}

fn errors_have_their_kinds(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "errors");
    let statement = session.prepare(&insert(database.kind(), "errors")).expect("prepared");
    let mut answer = Answer::new();
    session.run(statement, &samples()[0], &mut answer).expect("inserted");
    session.begin().expect("begun");
    session.run(statement, &samples()[1], &mut answer).expect("inserted");
    let failed = session.run(statement, &samples()[1], &mut answer).expect_err("the key is taken");
    assert_eq!(failed.kind(), ErrorKind::Constraint, "{failed}");
    assert!(
        failed.code().is_some() && failed.to_string().contains(database.kind().dialect().title),
        "{failed}"
    );
    assert_eq!(count(&mut *session, "errors"), 1, "the error has ended the transaction");
    let failed = session.query("SELEC 1", &[]).expect_err("no statement");
    assert_eq!(failed.kind(), ErrorKind::Other, "{failed}");
    let failed = session.batch("DROP TABLE no_such_table").expect_err("no table");
    assert_eq!(failed.kind(), ErrorKind::Other, "{failed}");
    assert_eq!(count(&mut *session, "errors"), 1, "the session goes on");
}

fn rows_that_were_changed_are_counted(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "changed");
    let statement = session.prepare(&insert(database.kind(), "changed")).expect("prepared");
    let mut answer = Answer::new();
    for row in samples() {
        session.run(statement, &row, &mut answer).expect("inserted");
    }
    let parameter = database.kind().dialect().parameter(1);
    let changed =
        session.query(&format!("UPDATE changed SET f = 7 WHERE id <= {parameter}"), &[Value::Int(3)]);
    assert_eq!(changed.expect("updated").affected, 3);
    let deleted = session.query(&format!("DELETE FROM changed WHERE id > {parameter}"), &[Value::Int(1)]);
    assert_eq!(deleted.expect("deleted").affected, 4);
}

/// Answers and questions together are larger than the buffers of a socket.
fn many_calls_in_one_pipeline_do_not_stall(database: &dyn Database) {
    let mut session = connect(database);
    table(&mut *session, database.kind(), "many");
    let statement = session.prepare(&insert(database.kind(), "many")).expect("prepared");
    let one = format!("SELECT t FROM many WHERE id = {}", database.kind().dialect().parameter(1));
    let back = session.prepare(&one).expect("prepared");
    let text = "y".repeat(500);
    let rows: Vec<[Value<'_>; 7]> = (0..1500)
        .map(|id| {
            let mut row = [Value::Null; 7];
            (row[0], row[4]) = (Value::Int(id), Value::Text(&text));
            row
        })
        .collect();
    let mut calls = vec![Call::Begin];
    for row in &rows {
        calls.extend([Call::Run(statement, row), Call::Run(back, &row[..1])]);
    }
    calls.push(Call::Commit);
    let mut answers = Vec::new();
    session.pipeline(&calls, &mut answers).expect("all of it runs");
    assert!(answers.iter().skip(2).step_by(2).take(1500).all(|answer| answer.len() == 1));
    assert_eq!(count(&mut *session, "many"), 1500);
}
