//! What DVD Store sends to a SQL Server, byte by byte, against a scripted peer: the load, each operation, the purchase by
//! procedure and by statement, and what happens when it fails. Not against a SQL Server: see docs/SQLSERVER.md.

use crate::common::certificates::Certificates;
use crate::tds::call::Called;
use crate::tds::loaded::Loaded;
use crate::tds::recorded::{self, Calls, declares_what_it_sends, defined};
use crate::tds::tls::{Encrypts, both};
use crate::tds::types::Datum;
use crate::tds::{Cell, Column, columns, failed, numbers, returned, row};
use fathom_job::{DatabaseKind, Reason};
use fathom_runtime::Random;
use fathom_sql::drive::Ending;
use fathom_sql::drivers::sqlserver::Sqlserver;
use fathom_sql::dvdstore::input::{Operation, Reading, Search};
use fathom_sql::dvdstore::person::Person;
use fathom_sql::dvdstore::shop::Shop;
use fathom_sql::dvdstore::texts;
use fathom_sql::error::{ErrorKind, Result};
use fathom_sql::settings::Interface;

const KIND: DatabaseKind = DatabaseKind::Sqlserver;

#[test]
fn a_load_arrives_byte_by_byte_and_is_read_back_the_same() {
    let loaded = Loaded::by(|peer| crate::shop::the_load_is_consistent_and_the_same_everywhere(peer));
    assert_eq!(loaded.size(), (11, 1410));
    let texts = texts::of(KIND);
    let procedures = texts.procedures.expect("SQL Server has procedures").definitions;
    loaded.was_told(&[&texts.indexes, &texts.rules, &procedures, &texts.finish]);
}

#[test]
fn a_load_into_a_database_that_is_not_empty_creates_nothing() {
    let others = vec![
        ("procedure", "purchase"),
        ("trigger", "restock"),
        ("fulltext catalog", "dvd_store"),
        ("view", "mine"),
    ];
    let load = |peer: &Sqlserver| {
        let refused = crate::shop::load_of_a_test(peer).expect_err("somebody has such objects");
        assert_eq!(refused.reason, Reason::Settings);
        let named =
            "fulltext catalog `dvd_store`, procedure `purchase`, trigger `restock`; name an empty database";
        assert!(refused.message.contains(named), "{refused}");
    };
    let peer = Loaded::beside(others, Encrypts::Never, load);
    assert_eq!((peer.size(), peer.marks.len()), ((0, 0), 0));
    assert!(peer.texts.iter().all(|text| !text.contains("CREATE")), "{:?}", peer.texts);
}

fn purchase() -> Operation {
    Operation::Purchase(vec![7, 11], vec![3, 1])
}

/// Every operation by each of its statements, but for the purchase.
fn looking_around() -> Vec<(&'static str, Operation)> {
    let mut person = Box::<Person>::default();
    person.redraw(&fathom_sql::text::Texts::new(0.0), &mut Random::new(1, "person"), true, "newuser1");
    let words = || "GOLDEN HORSE".to_owned();
    let read = |reading| Operation::ReadReviews(7, reading, 5);
    vec![
        ("login", Operation::Login("user17".to_owned())),
        ("new_customer", Operation::NewCustomer(person)),
        ("new_member", Operation::NewMember(2)),
        ("browse_category", Operation::BrowseCategory(3, 5)),
        ("browse_actor", Operation::Browse(Search::Actor, words(), 5)),
        ("browse_title", Operation::Browse(Search::Title, words(), 5)),
        ("search_reviews_actor", Operation::SearchReviews(Search::Actor, "HORSE".to_owned(), 5)),
        ("search_reviews_title", Operation::SearchReviews(Search::Title, "HORSE".to_owned(), 5)),
        ("reviews_by_rating", read(Reading::Rating)),
        ("reviews_by_stars", read(Reading::Stars(4))),
        ("reviews_by_date", read(Reading::Date)),
        ("new_review", Operation::NewReview(7, 5, "good".to_owned(), "very good".to_owned())),
        ("rate_review", Operation::RateReview(9, 10)),
    ]
}

/// As a server would answer: the customer's number is 17, the order's 77, and 50 pieces of everything are in stock.
fn answered(name: &str, _: &Called) -> Option<Vec<u8>> {
    Some(match name {
        "login" | "new_customer" => numbers(&[17]),
        "purchase" | "order_added" => numbers(&[77]),
        "stock" => numbers(&[50]),
        "prices" => {
            let names = [Column::Int("prod_id"), Column::Cents("price")];
            let price = |product, cents| row(&[Cell::Int(Some(product)), Cell::Cents(cents)]);
            [columns(&names), price(11, 100), price(7, 150), returned(2)].concat()
        }
        name if name.starts_with("browse") || name.contains("reviews_") => numbers(&[7]),
        _ => returned(1),
    })
}

/// Carries them out; what came of each, and what was asked for.
fn carried_out(
    interface: Interface,
    operations: &[Operation],
    answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
) -> (Vec<Result<Ending>>, Calls) {
    carried_out_over(Encrypts::Never, interface, operations, answer)
}

/// The same, encrypted as told.
fn carried_out_over(
    encrypts: Encrypts,
    interface: Interface,
    operations: &[Operation],
    answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
) -> (Vec<Result<Ending>>, Calls) {
    let texts = texts::of(KIND);
    recorded::carried_out(encrypts, &texts, answer, |session| {
        let mut shop = Shop::prepare(interface, &texts, session).expect("needs no round trip");
        operations.iter().map(|operation| shop.perform(session, operation)).collect()
    })
}

fn names(seen: &Calls) -> Vec<&str> {
    seen.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn an_operation_is_one_statement_with_the_types_it_declares() {
    let (expected, operations): (Vec<&str>, Vec<Operation>) = looking_around().into_iter().unzip();
    let (ends, seen) = carried_out(Interface::Procedures, &operations, answered);
    assert!(ends.iter().all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
    assert_eq!(names(&seen), expected);
    seen.iter().for_each(|(name, called)| declares_what_it_sends(name, called));
    let of = |name: &str| &seen.iter().find(|(known, _)| known == name).expect("it was sent").1;
    let text = |text: &str| Some(Datum::Text(text.to_owned()));
    assert_eq!(of("login").get("@P1").cloned(), text("user17"));
    assert_eq!(of("new_customer").get("@P15").cloned(), text("newuser1"));
    assert_eq!(of("browse_title").get("@P1").cloned(), text("GOLDEN HORSE"));
    // Who has just become a customer becomes a member, a year from today at least.
    assert_eq!(of("new_member").get("@P1"), Some(&Datum::Int(17)));
    let until = of("new_member").get("@P3");
    assert!(matches!(until, Some(Datum::Seconds(63_745_056_000..))), "{until:?}");
    assert_eq!(of("reviews_by_stars").get("@P2"), Some(&Datum::Int(4)));
    assert_eq!(of("rate_review").get("@P2"), Some(&Datum::Int(17)));
}

#[test]
fn a_purchase_by_procedure_is_one_call_with_the_parameters_it_defines() {
    let operations = [Operation::Login("user17".to_owned()), purchase()];
    let (ends, seen) = carried_out(Interface::Procedures, &operations, answered);
    assert!(matches!(ends[..], [Ok(Ending::Committed), Ok(Ending::Committed)]), "{ends:?}");
    assert_eq!(names(&seen), ["login", "purchase"]);
    let called = &seen[1].1;
    let definitions = texts::of(KIND).procedures.expect("SQL Server has procedures").definitions;
    let sent: Vec<&str> = called.parameters.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(sent, defined(&definitions, "purchase"));
    assert_eq!(called.get("@customer"), Some(&Datum::Int(17)));
    assert_eq!(called.text("@items"), "[7,11]");
    assert_eq!(called.text("@quantities"), "[3,1]");
    let (ends, _) = carried_out(Interface::Procedures, &[purchase()], |_, _| Some(numbers(&[0])));
    assert!(matches!(ends[..], [Ok(Ending::RolledBack)]), "{ends:?}: no order has the number 0");
}

#[test]
fn a_purchase_by_statements_is_a_transaction_that_ends_where_a_product_is_short() {
    let operations = [Operation::Login("user17".to_owned()), purchase()];
    let (ends, seen) = carried_out(Interface::Statements, &operations, answered);
    assert!(matches!(ends[..], [Ok(Ending::Committed), Ok(Ending::Committed)]), "{ends:?}");
    let expected = "login prices begin order_added stock stock stock_taken stock_taken line_added line_added \
                    history_added history_added commit";
    assert_eq!(names(&seen), expected.split_whitespace().collect::<Vec<_>>());
    let statements = seen.iter().filter(|(_, called)| !called.name.is_empty());
    statements.for_each(|(name, called)| declares_what_it_sends(name, called));
    let of = |name: &str| &seen.iter().find(|(known, _)| known == name).expect("it was sent").1;
    // 3 x 1.50 and 1.00, 8.25 % of it, and both.
    let amounts = ["@P3", "@P4", "@P5"].map(|name| of("order_added").get(name).cloned());
    assert_eq!(amounts, [550, 45, 595].map(|cents| Some(Datum::Decimal(cents, 2))));
    let line = ["@P1", "@P2", "@P3", "@P4"].map(|name| of("line_added").get(name).cloned());
    assert_eq!(line, [77, 1, 7, 3].map(|number| Some(Datum::Int(number))));

    let two_left = |name: &str, called: &Called| match name {
        "stock" => Some(numbers(&[2])),
        _ => answered(name, called),
    };
    let (ends, seen) = carried_out(Interface::Statements, &[purchase()], two_left);
    assert!(matches!(ends[..], [Ok(Ending::RolledBack)]), "{ends:?}");
    assert_eq!(names(&seen), ["prices", "begin", "order_added", "stock", "stock", "rollback"]);
}

#[test]
fn encrypted_it_loads_and_sells_the_same() {
    let files = Certificates::of("postgres");
    let operations = || {
        let rest = looking_around().into_iter().map(|(_, operation)| operation);
        rest.chain([purchase()]).collect::<Vec<_>>()
    };
    for encrypts in both(&files.certificate(), &files.key()) {
        let load = |peer: &Sqlserver| crate::shop::the_load_is_consistent_and_the_same_everywhere(peer);
        assert_eq!(Loaded::over(encrypts.clone(), load).size(), (11, 1410));
        for interface in [Interface::Procedures, Interface::Statements] {
            let (_, clear) = carried_out(interface, &operations(), answered);
            let (ends, seen) = carried_out_over(encrypts.clone(), interface, &operations(), answered);
            assert!(ends.iter().all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
            assert_eq!(names(&seen), names(&clear), "{interface:?}");
        }
    }
}

#[test]
fn a_deadlock_may_be_tried_again_and_a_connection_that_goes_away_is_lost() {
    for (interface, at) in [(Interface::Procedures, "purchase"), (Interface::Statements, "stock_taken")] {
        let mut deadlocks = 1;
        let answer = move |name: &str, called: &Called| {
            if name == at && deadlocks > 0 {
                deadlocks -= 1;
                return Some(failed(1205, "chosen as the deadlock victim"));
            }
            answered(name, called)
        };
        let (ends, seen) = carried_out(interface, &[purchase(), purchase()], answer);
        let [Err(error), Ok(Ending::Committed)] = &ends[..] else { panic!("{ends:?}") };
        assert!(error.is_retryable(), "{error}");
        assert!(names(&seen).contains(&"rollback"));
        let silent =
            move |name: &str, called: &Called| (name != at).then(|| answered(name, called)).flatten();
        let (ends, _) = carried_out(interface, &[purchase()], silent);
        let [Err(error)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
}
