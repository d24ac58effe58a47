//! The SQL Server driver keeps to the protocol, against a scripted peer. Not against a SQL Server: see docs/SQLSERVER.md.

use std::sync::{Arc, Mutex};

use crate::common::certificates::Certificates;
use crate::tds::kept::{Table, tables};
use crate::tds::tls::{Encrypts, both};
use crate::tds::types::Datum;
use crate::tds::{
    Asked, Cell, Column, Peer, Request, columns, connection, database, failed, finished, numbers, returned,
    row, transaction,
};
use fathom_job::{Connection, DatabaseKind, Job, Reason, Tls};
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::database::Database;
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::error::ErrorKind;
use fathom_sql::insert::Config;
use fathom_sql::rows::Answer;
use fathom_sql::session::{Session, Target};
use fathom_sql::value::Value;

/// Runs against a peer that answers as told; what every session asks first is answered here.
fn with(
    mut answer: impl FnMut(&Asked) -> Option<Vec<u8>> + Send + 'static,
    check: impl FnOnce(&mut dyn Session),
) {
    let peer = Peer::start(move |asked| {
        let own = asked.holds("SET XACT_ABORT ON") || asked.holds("IF @@TRANCOUNT > 0 ROLLBACK");
        if own { Some(finished(None)) } else { answer(asked) }
    });
    let database = database(&peer);
    let mut session = database.connect().expect("the peer lets everybody in");
    check(&mut *session);
    drop(session);
    peer.end();
}

#[test]
fn a_statement_is_sent_with_the_types_the_server_suggests() {
    let answer = |asked: &Asked| {
        assert_eq!(asked.request, Request::Call);
        if asked.holds("sp_describe_undeclared_parameters") {
            let types = columns(&[Column::Text("name"), Column::Text("suggested_system_type_name")]);
            return Some([types, row(&[Cell::Text("@P1"), Cell::Text("bigint")]), returned(1)].concat());
        }
        assert!(asked.holds("sp_executesql") && asked.holds("@P1 bigint"), "{}", asked.text());
        let rows = [
            row(&[Cell::Int(Some(7)), Cell::Text("seven \u{20ac}")]),
            row(&[Cell::Int(None), Cell::Text("")]),
        ];
        Some([columns(&[Column::Int("id"), Column::Text("name")]), rows.concat(), returned(2)].concat())
    };
    with(answer, |session| {
        let found =
            session.query("SELECT id, name FROM t WHERE id = @P1", &[Value::Int(7)]).expect("answered");
        let rows: Vec<Vec<Value<'_>>> = found.rows().map(|row| row.values().collect()).collect();
        assert_eq!(rows[0], [Value::Int(7), Value::Text("seven \u{20ac}")]);
        assert_eq!((rows.len(), rows[1][0], found.affected), (2, Value::Null, 2));
    });
}

#[test]
fn a_procedure_is_called_by_name_and_a_deadlock_may_be_tried_again() {
    let mut calls = 0;
    let answer = move |asked: &Asked| {
        if asked.request == Request::Transaction {
            return Some(transaction(8));
        }
        assert!(asked.holds("dbo.pay") && asked.holds("@w_id") && asked.holds("@amount"), "{}", asked.text());
        calls += 1;
        Some(if calls == 1 { failed(1205, "chosen as the deadlock victim") } else { returned(3) })
    };
    with(answer, |session| {
        let call = session.prepare("EXEC dbo.pay @w_id, @amount").expect("a call needs no round trip");
        let parameters = [Value::Int(1), Value::cents(12_345)];
        let mut answer = Answer::new();
        session.begin().expect("begun");
        let error = session.run(call, &parameters, &mut answer).expect_err("a deadlock");
        assert!(error.is_retryable(), "{error}");
        assert_eq!(error.code(), Some("1205"));
        session.run(call, &parameters, &mut answer).expect("the second time it goes through");
        assert_eq!(answer.affected, 3);
        let wrong = session.run(call, &parameters[..1], &mut answer).expect_err("a parameter is missing");
        assert_eq!(wrong.kind(), ErrorKind::Other, "{wrong}");
    });
}

#[test]
fn a_transaction_is_begun_and_committed_by_request() {
    let mut expected = [8, 9].into_iter();
    let answer = move |asked: &Asked| {
        assert_eq!(asked.request, Request::Transaction);
        expected.next().map(transaction)
    };
    with(answer, |session| {
        session.begin().expect("begun");
        session.commit().expect("committed");
        session.rollback().expect("nothing is open: nothing happens");
    });
}

#[test]
fn bulk_rows_go_over_in_one_copy_within_a_transaction() {
    let mut transactions = [8, 9].into_iter();
    let answer = move |asked: &Asked| match asked.request {
        Request::Transaction => transactions.next().map(transaction),
        Request::Bulk => {
            assert!(asked.holds("first \u{e9}") && asked.holds("second"), "{}", asked.text());
            Some(finished(Some(2)))
        }
        Request::Batch if asked.holds("INSERT BULK") => {
            assert!(asked.holds("TABLOCK"), "{}", asked.text());
            Some(finished(None))
        }
        Request::Batch | Request::Call => {
            Some([columns(&[Column::Int("id"), Column::Text("name")]), finished(Some(0))].concat())
        }
    };
    with(answer, |session| {
        let mut bulk = session.bulk(&Target { table: "t", columns: &["id", "name"] }).expect("begun");
        bulk.row(&[Value::Int(1), Value::Text("first \u{e9}")]).expect("taken");
        bulk.row(&[Value::Null, Value::Text("second")]).expect("taken");
        assert!(bulk.row(&[Value::Int(1)]).is_err(), "a value is missing");
        assert_eq!(bulk.finish().expect("finished"), 2);
    });
}

#[test]
fn a_server_that_goes_away_is_lost() {
    with(
        |_| None,
        |session| {
            let lost = session.batch("CHECKPOINT").expect_err("nobody answers");
            assert_eq!(lost.kind(), ErrorKind::Lost, "{lost}");
        },
    );
}

#[test]
fn nobody_there_is_refused() {
    // A privileged port: one that a peer had and gave back may be another test's by now.
    let nobody = Sqlserver::new(connection(1));
    assert_eq!(nobody.connect().err().map(|error| error.kind()), Some(ErrorKind::Refused));
}

#[test]
fn money_is_read_exactly_or_not_at_all() {
    // Beyond 2^51 units of 1/10,000 the library's double is no longer the number.
    const EDGE: i64 = 1 << 51;
    let large = [0, 1, -1, 1_234_567, -9_999, EDGE - 1, 1 - EDGE];
    let small = [0, 1, -1, 1_500_000, i32::MAX, i32::MIN, 7];
    let answer = move |asked: &Asked| {
        let names = columns(&[Column::Money("large"), Column::SmallMoney("small")]);
        let one = |(large, small): (i64, i32)| row(&[Cell::Money(Some(large)), Cell::SmallMoney(small)]);
        let rows: Vec<Vec<u8>> = match asked.holds("SELECT too_large") {
            true => vec![one((EDGE, 0))],
            false => large.into_iter().zip(small).map(one).collect(),
        };
        let null = row(&[Cell::Money(None), Cell::SmallMoney(0)]);
        Some([names, rows.concat(), null, returned(rows.len() as u64 + 1)].concat())
    };
    with(answer, |session| {
        let answer = session.query("SELECT money", &[]).expect("read");
        let rows: Vec<Vec<Value<'_>>> = answer.rows().map(|row| row.values().collect()).collect();
        let units = |units: i64| Value::Decimal { units, scale: 4 };
        for ((row, large), small) in rows.iter().zip(large).zip(small) {
            assert_eq!(row[..], [units(large), units(small.into())]);
        }
        assert_eq!((rows.len(), rows[7][0]), (8, Value::Null));
        let refused = session.query("SELECT too_large", &[]).expect_err("it may be another number");
        let said = refused.to_string();
        assert!(said.contains("column large: money of 225179981368.5248 is not read exactly"), "{said}");
    });
}

fn config(text: &str) -> Config {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    config.unwrap_or_else(|| panic!("{}", to_text(&diagnostics)))
}

#[test]
fn a_statement_beyond_the_servers_limits_is_refused_before_a_run() {
    let said = |text: &str| {
        let text = format!("transaction = \"whole-batch\"\n{text}");
        let misfits = config(&text).database_misfits(&[DatabaseKind::Sqlserver]);
        let each =
            misfits.iter().map(|(key, problem)| format!("{key}: {}; {}", problem.message, problem.help));
        each.collect::<Vec<_>>().join("\n")
    };
    // 15 columns a row; of 2,100 parameters `sp_executesql` takes two itself.
    assert_eq!(said("table = \"trade\"\nmethod = 139"), "");
    let parameters =
        "method: a statement of 140 rows has 2100 parameters, and SQL Server takes 2098; at most 139";
    assert_eq!(said("table = \"trade\"\nmethod = 140"), parameters);
    assert_eq!(said("table = \"payload\"\nmethod = 1000"), "");
    let rows = "method: SQL Server takes 1000 rows in one statement, not 1001; at most 1000";
    assert_eq!(said("table = \"payload\"\nmethod = 1001"), rows);
    assert!(said("table = \"trade\"\nmethod = 1001").ends_with("not 1001; at most 139"));
}

/// The text of a row of 40 bytes.
const PAYLOAD: &str = "AAAAAAAABBXXXXXXXXXXZZZZZZZZZZZZZZZZZZZZ";

/// The keys that a peer holds, which makes the table, takes inserts and bulk copies and counts, and keeps everything else to
/// itself. `loses` is whether a row gets lost on the way.
fn keeps(keys: &Arc<Mutex<Vec<i64>>>, loses: bool) -> impl FnMut(&Asked) -> Option<Vec<u8>> + Send + use<> {
    let (keys, mut table): (_, Vec<Table>) = (Arc::clone(keys), Vec::new());
    let (mut begun, mut made) = (false, Vec::new());
    move |asked| {
        let mut keys = keys.lock().expect("nobody panicked with it");
        Some(match asked.request {
            Request::Transaction => {
                begun = asked.transaction() == 5;
                transaction(if begun { 8 } else { 9 })
            }
            Request::Batch => {
                let text = asked.batch();
                if text.starts_with("CREATE TABLE") {
                    table = tables(&text);
                    made.push("fathom_rows");
                }
                if text.contains("CREATE PROCEDURE") {
                    made.push("fathom_loop");
                }
                if let Some(dropped) = text.strip_prefix("DROP ") {
                    let before = made.len();
                    made.retain(|name| !dropped.ends_with(name));
                    assert_eq!(made.len() + 1, before, "{text}");
                }
                if text.starts_with("SELECT TOP 0") { table[0].empty() } else { finished(None) }
            }
            Request::Bulk => {
                let rows = table[0].copied(asked.tokens());
                let copied = rows.iter().map(|(_, values)| match values[..] {
                    [Datum::Int(key), Datum::Text(_)] => key,
                    _ => panic!("{values:?}"),
                });
                keys.extend(copied);
                finished(Some(rows.len() as u64))
            }
            Request::Call
                if asked.holds("INSERT INTO fathom_rows") && asked.call().name == "sp_executesql" =>
            {
                let called = asked.call();
                let before = keys.len();
                for (number, (.., value)) in (1..).zip(&called.parameters[2..]) {
                    match value {
                        Datum::Int(key) if number % 2 == 1 => keys.push(*key),
                        Datum::Text(text) if number % 2 == 0 => assert_eq!(text.len(), 40),
                        other => panic!("{other:?}"),
                    }
                }
                returned((keys.len() - before) as u64)
            }
            Request::Call if asked.holds("coalesce(min(rec_num)") => {
                let (least, most) = (*keys.iter().min().expect("rows"), *keys.iter().max().expect("rows"));
                numbers(&[keys.len() as i64 - i64::from(loses), least, most])
            }
            Request::Call if asked.holds("FROM sys.objects") || asked.holds("FROM sys.fulltext_catalogs") => {
                let names = [Column::Text("what"), Column::Text("name"), Column::Int("own")];
                let own = |what: &'static str, name: &'static str| {
                    row(&[Cell::Text(what), Cell::Text(name), Cell::Int(Some(1))])
                };
                let known = [("table", "fathom_rows"), ("procedure", "fathom_loop")];
                let known = known.into_iter().filter(|(_, name)| {
                    asked.holds("FROM sys.objects")
                        && made.contains(name)
                        && asked.holds(&format!("'{name}'"))
                });
                let rows: Vec<Vec<u8>> = known.map(|(what, name)| own(what, name)).collect();
                [columns(&names), rows.concat(), returned(rows.len() as u64)].concat()
            }
            Request::Call if asked.holds("sp_describe_undeclared_parameters") => failed(11_501, "ambiguous"),
            Request::Call if asked.holds("WHERE rec_num BETWEEN") => {
                let rows: Vec<Vec<u8>> =
                    keys.iter().map(|key| row(&[Cell::Int(Some(*key)), Cell::Text(PAYLOAD)])).collect();
                let head = columns(&[Column::Int("rec_num"), Column::Text("payload")]);
                [head, rows.concat(), returned(rows.len() as u64)].concat()
            }
            Request::Call if asked.call().name == "fathom_loop" => {
                let called = asked.call();
                assert_eq!(called.text("@payload"), PAYLOAD);
                let number = |name: &str| match called.get(name) {
                    Some(Datum::Int(number)) => *number,
                    other => panic!("{name} is {other:?}"),
                };
                assert!((1..=250).contains(&number("@milliseconds")));
                // A transaction round all rows is the client's.
                assert_eq!(number("@per_transaction") == 0, begun);
                // As if the time were over after 50 rows.
                let done = number("@most").min(number("@begun") + 50);
                keys.extend(number("@begun") + 1..=done);
                numbers(&[done])
            }
            Request::Call => failed(297, "The user does not have permission to perform this action."),
        })
    }
}

#[test]
fn insert_arrives_in_the_clear_and_encrypted_in_both_versions() {
    let files = Certificates::of("postgres");
    let ways = [
        ("\"per-row\"", "1"),
        ("20", "20"),
        ("25", "\"bulk\""),
        ("\"whole-batch\"", "\"bulk\""),
        ("\"per-row\"", "\"loop\""),
        ("25", "\"loop\""),
        ("\"whole-batch\"", "\"loop\""),
    ];
    for encrypts in both(&files.certificate(), &files.key()).into_iter().chain([Encrypts::Never]) {
        for (transaction, method) in ways {
            let keys = Arc::default();
            let peer = Peer::encrypted(encrypts.clone(), keeps(&keys, false));
            let text = format!(
                "rows = 60\ntable = \"payload\"\npayload = \"40B\"\ntransaction = {transaction}\nmethod = {method}"
            );
            let tls = if matches!(encrypts, Encrypts::Never) { Tls::Disable } else { Tls::Require };
            let to = Connection { tls: Some(tls), ..connection(peer.port) };
            let outcome =
                config(&text).run_on_server(&to, &mut ()).unwrap_or_else(|failed| panic!("{failed}"));
            peer.end();
            assert_eq!(outcome.metrics["rows"], Some(60.0));
            assert_eq!(*keys.lock().expect("nobody panicked with it"), (1..=60).collect::<Vec<i64>>());
        }
    }
}

#[test]
fn a_row_that_got_lost_fails_the_run() {
    let peer = Peer::start(keeps(&Arc::default(), true));
    let text = "rows = 5\ntable = \"payload\"\npayload = \"40B\"";
    let failed = config(text).run_on_server(&connection(peer.port), &mut ()).expect_err("one is missing");
    peer.end();
    assert_eq!(failed.reason, Reason::Verification);
    assert!(failed.message.contains("5 rows were committed, and the database holds 4 rows"), "{failed}");
}
