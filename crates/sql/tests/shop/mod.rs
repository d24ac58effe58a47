//! What DVD Store must do on every database, in one body.

use fathom_job::Failure;
use fathom_runtime::{MILLISECOND, Nanos, Random, SECOND};
use fathom_sql::checksum::Checksum;
use fathom_sql::database::{Database, DatabaseKind, Known};
use fathom_sql::drive::{Drive, Ending, Observer, Pace, RampRule, VirtualUser};
use fathom_sql::dvdstore::catalogue::{Catalogue, spelt};
use fathom_sql::dvdstore::conditions::conditions;
use fathom_sql::dvdstore::input::{Inputs, Kind, Operation, Reading, Search, VisitMix};
use fathom_sql::dvdstore::load::{checksum, load as steps};
use fathom_sql::dvdstore::person::Person;
use fathom_sql::dvdstore::population::Population;
use fathom_sql::dvdstore::scale::Scale;
use fathom_sql::dvdstore::shop::Shop;
use fathom_sql::dvdstore::texts;
use fathom_sql::dvdstore::user::User;
use fathom_sql::error::Result;
use fathom_sql::load::{Report, load};
use fathom_sql::session::Session;
use fathom_sql::settings::Interface;

/// A two-hundredth of the original's smallest size, with few reviews.
const SCALE: Scale = Scale { customers: 100, orders: 60, products: 50, reviews: 3, ratings: 2 };
const SEED: u64 = 7;

/// The checksum of [`SCALE`] and [`SEED`] on every database.
const CHECKSUM: (u64, u64) = (7_105_351_391_985_720_350, 1410);

fn session<'d>(database: &'d (dyn Database + Sync)) -> Box<dyn Session + 'd> {
    database.connect().expect("the server is there")
}

/// Runs every check on an empty database, and leaves it consistent.
pub fn works(database: &(dyn Database + Sync)) {
    the_load_is_consistent_and_the_same_everywhere(database);
    for interface in [Interface::Procedures, Interface::Statements] {
        if interface == Interface::Procedures && !database.kind().dialect().features.procedures {
            continue;
        }
        every_operation_does_what_it_says(database, interface);
        users_leave_a_consistent_database(database, interface);
    }
    a_violation_is_found_and_named(database);
}

/// As after a crash.
pub fn is_consistent(database: &(dyn Database + Sync)) {
    conditions(database.kind(), &SCALE).ensure(&mut *session(database), false).expect("consistent");
}

/// Loads a database.
pub fn load_of_a_test(database: &(dyn Database + Sync)) -> Result<Report, Failure> {
    let (population, texts) = (Population::new(SCALE, SEED, 0.0), texts::of(database.kind()));
    load(database, &steps(&population, "dvd-store test".to_owned(), database.kind(), &texts), 3, &mut ())
}

/// Loads an empty database, and reads back what was sent.
pub fn the_load_is_consistent_and_the_same_everywhere(database: &(dyn Database + Sync)) {
    let report = load_of_a_test(database).expect("loaded");
    conditions(database.kind(), &SCALE).ensure(&mut *session(database), true).expect("consistent");
    let read = checksum(&mut *session(database), &SCALE).expect("read back");
    let sent = Checksum::of(report.total.checksum, report.total.rows);
    assert_eq!(read, sent, "what was sent is what is there");
    assert_eq!((read.sum(), read.rows()), CHECKSUM);
}

/// On databases that commit at every definition: a load that was killed may do them again.
#[allow(dead_code, reason = "for databases that commit at every definition")]
pub fn definitions_may_be_done_again(database: &(dyn Database + Sync)) {
    let (population, texts) = (Population::new(SCALE, SEED, 0.0), texts::of(database.kind()));
    let all = steps(&population, "dvd-store test".to_owned(), database.kind(), &texts);
    load(database, &all, 3, &mut ()).expect("loaded");
    let references = "SELECT count(*) FROM information_schema.table_constraints
        WHERE constraint_type = 'FOREIGN KEY' AND table_schema = database()";
    let before = number(&mut *session(database), references);
    let definitions =
        "DELETE FROM load_steps WHERE name = 'tables' OR name LIKE 'index/%' OR name LIKE 'rule/%'
        OR name LIKE 'procedure/%'";
    session(database).batch(definitions).expect("forgotten");
    let report = load(database, &all, 3, &mut ()).expect("done again");
    assert!(report.done >= 20, "{report:?}");
    assert_eq!((before, number(&mut *session(database), references)), (6, 6), "no reference twice");
    conditions(database.kind(), &SCALE).ensure(&mut *session(database), true).expect("consistent");
}

fn number(session: &mut dyn Session, question: &str) -> i64 {
    let answer = session.query(question, &[]).unwrap_or_else(|error| panic!("{question}: {error}"));
    let value = answer.first().and_then(|row| row.int(0));
    value.unwrap_or_else(|error| panic!("{question}: {error}"))
}

/// What the operations change.
const LEDGER: [&str; 8] = [
    "SELECT count(*) FROM customers",
    "SELECT count(*) FROM membership",
    "SELECT count(*) FROM reviews",
    "SELECT count(*) FROM reviews_helpfulness",
    "SELECT count(*) FROM orders",
    "SELECT count(*) FROM orderlines",
    "SELECT count(*) FROM cust_hist",
    "SELECT sum(sales) FROM inventory",
];

/// By how much the ledger grows over some operations, which all end as they should.
fn grown(session: &mut dyn Session, shop: &mut Shop, operations: &[Operation], ended: Ending) -> [i64; 8] {
    let before = LEDGER.map(|question| number(session, question));
    for operation in operations {
        let end = shop.perform(session, operation);
        assert_eq!(end.unwrap_or_else(|error| panic!("{operation:?}: {error}")), ended, "{operation:?}");
    }
    let after = LEDGER.map(|question| number(session, question));
    std::array::from_fn(|place| after[place] - before[place])
}

fn somebody(name: &str) -> Operation {
    let mut person = Box::<Person>::default();
    let texts = fathom_sql::text::Texts::new(0.0);
    person.redraw(&texts, &mut Random::new(1, name), true, name);
    Operation::NewCustomer(person)
}

pub fn every_operation_does_what_it_says(database: &(dyn Database + Sync), interface: Interface) {
    let mut session = session(database);
    let session = &mut *session;
    let mut shop = Shop::prepare(interface, &texts::of(database.kind()), session).expect("prepared");

    let newcomer = format!("somebody {interface:?}");
    let arrivals = [
        Operation::Login("user100".to_owned()),
        somebody(&newcomer),
        Operation::NewMember(2),
        Operation::NewMember(3),
        Operation::Login(newcomer),
    ];
    assert_eq!(
        grown(session, &mut shop, &arrivals, Ending::Committed),
        [1, 1, 0, 0, 0, 0, 0, 0],
        "{interface:?}: one member, once"
    );

    let catalogue = Catalogue::new(SEED);
    let mut looks = vec![Operation::BrowseCategory(1, 5), Operation::ReadReviews(1, Reading::Rating, 5)];
    looks.extend([Reading::Stars(3), Reading::Date].map(|reading| Operation::ReadReviews(2, reading, 5)));
    for product in 1..=SCALE.products {
        for (search, words) in
            [(Search::Actor, catalogue.actor(product)), (Search::Title, catalogue.title(product))]
        {
            looks.push(Operation::Browse(search, spelt(&words), 5));
            looks.extend(words.map(|word| Operation::SearchReviews(search, spelt(&[word]), 5)));
        }
    }
    assert_eq!(
        grown(session, &mut shop, &looks, Ending::Committed),
        [0; 8],
        "{interface:?}: a search finds and changes nothing"
    );

    let opinions =
        [Operation::NewReview(3, 5, "good".to_owned(), "very good".to_owned()), Operation::RateReview(9, 10)];
    assert_eq!(
        grown(session, &mut shop, &opinions, Ending::Committed),
        [0, 0, 1, 1, 0, 0, 0, 0],
        "{interface:?}: opinions"
    );

    let too_many = [Operation::Purchase(vec![1, 2], vec![1, 30_000])];
    assert_eq!(
        grown(session, &mut shop, &too_many, Ending::RolledBack),
        [0; 8],
        "{interface:?}: a product is short"
    );

    let in_stock = session
        .query("SELECT prod_id FROM inventory WHERE quan_in_stock >= 10 ORDER BY prod_id", &[])
        .expect("asked");
    let cart: Vec<i64> = in_stock.rows().take(3).map(|row| row.int(0).expect("a number")).collect();
    let login = Operation::Login("user7".to_owned());
    let purchases = [login, Operation::Purchase(cart, vec![1, 2, 3])];
    let after = grown(session, &mut shop, &purchases, Ending::Committed);
    assert_eq!(after, [0, 0, 0, 0, 1, 3, 3, 6], "{interface:?}: a purchase");

    every_product_is_restocked_once_it_runs_out(session, &mut shop);
    conditions(database.kind(), &SCALE).ensure(session, false).expect("consistent");
    let unknown = shop.perform(session, &Operation::Login("nobody".to_owned()));
    assert!(unknown.expect_err("nobody has that name").to_string().contains("nobody"));
}

fn every_product_is_restocked_once_it_runs_out(session: &mut dyn Session, shop: &mut Shop) {
    let product = number(session, "SELECT max(prod_id) FROM inventory WHERE quan_in_stock >= 10");
    let stock = format!("SELECT quan_in_stock FROM inventory WHERE prod_id = {product}");
    let restocks = format!("SELECT count(*) FROM reorder WHERE prod_id = {product}");
    let (left, before) = (number(session, &stock), number(session, &restocks));
    let mut buy = |session: &mut dyn Session, quantity| {
        let purchase = [Operation::Purchase(vec![product], vec![quantity])];
        assert_eq!(grown(session, shop, &purchase, Ending::Committed)[7], quantity);
        (number(session, &stock), number(session, &restocks))
    };
    assert_eq!(buy(session, left - 2), (252, before + 1), "2 are too few, 250 more come");
    assert_eq!(buy(session, 249), (3, before + 1), "3 are enough");
}

const HABITS: VisitMix = VisitMix {
    new_customers: 0.3,
    new_members: 0.3,
    searches: 2,
    search_batch: 5,
    review_searches: 1,
    new_reviews: 0.5,
    new_ratings: 0.5,
    line_items: 5,
    skew: 0.0,
    think_time: 0,
};

struct Nothing;

impl Observer for Nothing {
    fn begin(&mut self, _: &mut dyn Session) -> Result<()> {
        Ok(())
    }

    fn interval(&mut self, _: &mut dyn Session, _: Nanos) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Session) -> Result<()> {
        Ok(())
    }
}

fn users_leave_a_consistent_database(database: &(dyn Database + Sync), interface: Interface) {
    let texts = texts::of(database.kind());
    let drive = Drive {
        database,
        kinds: &Kind::NAMES,
        users: 4,
        pace: Pace::Closed,
        ramp: 100 * MILLISECOND,
        warming: RampRule::default(),
        // A SQL Server is somebody else's, and may be slow to begin.
        duration: if database.kind() == DatabaseKind::Sqlserver { 20 * SECOND } else { 900 * MILLISECOND },
        interval: 300 * MILLISECOND,
        seed: 5,
    };
    let recruit = |user, session: &mut dyn Session| -> Result<Box<dyn VirtualUser>> {
        let shop = Shop::prepare(interface, &texts, session)?;
        let stream = |what: &str| Random::new(23, &format!("{what} {interface:?} {user}"));
        let inputs = Inputs::new(SCALE, SEED, HABITS, 0.0, stream("user"), stream("names"));
        Ok(Box::new(User::new(inputs, shop)))
    };
    let driven = drive.run(&recruit, &mut Nothing, &mut ()).expect("the users shop");
    assert!(driven.all.count() > 0, "{interface:?}: nothing was done");
    let of_kinds: u64 = driven.kinds.iter().map(|seen| seen.count()).sum();
    assert_eq!(of_kinds, driven.all.count());
    is_consistent(database);
}

fn a_violation_is_found_and_named(database: &(dyn Database + Sync)) {
    let mut session = session(database);
    let session = &mut *session;
    session.batch("UPDATE orders SET netamount = netamount + 1 WHERE orderid <= 3").expect("spoilt");
    let all = conditions(database.kind(), &SCALE);
    let found = all.check(session, false).expect("checked");
    let found: Vec<(&str, i64)> = found.iter().map(|one| (one.condition.as_str(), one.rows)).collect();
    assert_eq!(found, [("net", 3), ("total", 3)]);
    let error = all.ensure(session, false).expect_err("not consistent");
    assert!(error.to_string().contains("condition net (An order's net amount is the sum"), "{error}");
    session.batch("UPDATE orders SET netamount = netamount - 1 WHERE orderid <= 3").expect("repaired");
    session.batch("DELETE FROM cust_hist WHERE orderid = 1").expect("spoilt");
    let found = all.check(session, false).expect("checked");
    assert_eq!(found.iter().map(|one| one.condition.as_str()).collect::<Vec<_>>(), ["history"]);
    let again = "INSERT INTO cust_hist (customerid, orderid, prod_id) SELECT customerid, orders.orderid, prod_id \
                 FROM orders JOIN orderlines ON orderlines.orderid = orders.orderid WHERE orders.orderid = 1";
    session.batch(again).expect("repaired");
    is_consistent(database);
}
