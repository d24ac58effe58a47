//! The SQL Server driver keeps to the protocol, against a scripted peer. Not against a SQL Server: see docs/SQLSERVER.md.

mod tds;

use fathom_sql::database::Database;
use fathom_sql::error::ErrorKind;
use fathom_sql::rows::Answer;
use fathom_sql::session::{Session, Target};
use fathom_sql::value::Value;
use tds::{
    Asked, Cell, Column, Peer, Request, columns, database, failed, finished, returned, row, transaction,
};

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
    let peer = Peer::start(|_| None);
    let database = database(&peer);
    // Taken by this session, and nobody listens any more when it has gone.
    drop(database.connect());
    peer.end();
    assert_eq!(database.connect().err().map(|error| error.kind()), Some(ErrorKind::Refused));
}
