//! A database that is not empty: what somebody has in it under the names of a load, or of a run of `insert`, stays as
//! it is, and nothing is created beside it.

use crate::common::servers::{Server, answers};
use crate::rows::config;
use fathom_job::{Connection, DatabaseKind, Failure, Reason};
use fathom_sql::database::Database;
use fathom_sql::drivers;
use fathom_sql::drivers::sqlite::Sqlite;
use fathom_sql::load::{Load, Report, load, state};
use fathom_sql::session::Session;
use fathom_sql::{dvdstore, tprocc};

/// The load of a workload, small, as it is called in a database.
fn with_load<T>(kind: DatabaseKind, workload: &str, then: impl FnOnce(&Load<'_>) -> T) -> T {
    if workload == "tproc-c" {
        let population = tprocc::population::Population::new(crate::order_entry::SCALE, 7, 0.0);
        let texts = tprocc::texts::of(kind);
        then(&tprocc::load::load(&population, "tproc-c test 7".to_owned(), kind, &texts))
    } else {
        let scale =
            dvdstore::scale::Scale { customers: 100, orders: 60, products: 50, reviews: 3, ratings: 2 };
        let population = dvdstore::population::Population::new(scale, 7, 0.0);
        let texts = dvdstore::texts::of(kind);
        then(&dvdstore::load::load(&population, "dvd-store test 7".to_owned(), kind, &texts))
    }
}

fn loaded(database: &(dyn Database + Sync), workload: &str) -> Result<Report, Failure> {
    with_load(database.kind(), workload, |all| load(database, all, 3, &mut ()))
}

/// The load is refused for these objects.
fn is_refused(database: &(dyn Database + Sync), workload: &str, objects: &[&str]) {
    let refused = loaded(database, workload).expect_err("something is in the way");
    assert_eq!(refused.reason, Reason::Settings, "{refused}");
    for object in objects {
        assert!(refused.message.contains(object), "{object}: {refused}");
    }
    assert!(refused.message.contains("name an empty database"), "{refused}");
}

fn text(session: &mut dyn Session, question: &str) -> String {
    let answer = session.query(question, &[]).unwrap_or_else(|error| panic!("{question}: {error}"));
    answer.rows().map(|row| row.text(0).expect("a text").to_owned()).collect::<Vec<_>>().join("\n")
}

/// One case: what somebody has, the workload that is in its way, and what is named.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// Makes a database of a server at each call.
fn new_databases(server: &Connection) -> impl FnMut() -> Connection {
    let whole = drivers::server(server).expect("a driver");
    let mut names = 0;
    move || {
        names += 1;
        let name = format!("d{names}");
        let mut session = whole.connect().expect("the server is there");
        session.batch(&format!("CREATE DATABASE {name}")).expect("made");
        Connection { database: name, ..server.clone() }
    }
}

/// Each case in a database of its own; `holds` lists everything that is in one.
fn stay_as_they_are(cases: &[Case], holds: &str, mut empty: impl FnMut() -> Connection) {
    for (made, workload, named) in cases {
        let database = drivers::server(&empty()).expect("a driver");
        let mut session = database.connect().expect("the server is there");
        session.batch(made).unwrap_or_else(|error| panic!("{made}: {error}"));
        let before = text(&mut *session, holds);
        is_refused(&*database, workload, named);
        assert_eq!(text(&mut *session, holds), before, "{made}: nothing is replaced and nothing added");
        let holds = with_load(database.kind(), workload, |all| state(&mut *session, database.kind(), all));
        assert_ne!(holds.expect("asked"), Some(true), "{made}");
    }
}

/// What is marked as an earlier version marked it: without a look at what is there.
const BY_AN_EARLIER_VERSION: &str = "DELETE FROM load_steps WHERE name = 'checked'";

fn loads_of_an_earlier_version(database: &(dyn Database + Sync)) {
    loaded(database, "tproc-c").expect("it is empty");
    let mut session = database.connect().expect("the server is there");
    session.batch(BY_AN_EARLIER_VERSION).expect("forgotten");
    let report = loaded(database, "tproc-c").expect("a complete one is used");
    assert_eq!(report.done, 0, "{report:?}");
    session.batch("DELETE FROM load_steps WHERE name LIKE 'finish/%'").expect("forgotten");
    let refused = loaded(database, "tproc-c").expect_err("a part may lie in somebody's tables");
    assert_eq!(refused.reason, Reason::Settings);
    assert!(refused.message.contains("holds a part of this load"), "{refused}");
}

const POSTGRESQL: &[Case] = &[
    (
        "CREATE FUNCTION restock() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE FUNCTION purchase(customer integer, items integer[], quantities integer[]) RETURNS integer
             LANGUAGE sql AS 'SELECT 7'",
        "dvd-store",
        &["function `public.restock()`", "function `public.purchase(customer integer, items integer[]"],
    ),
    (
        "CREATE FUNCTION deliver(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "tproc-c",
        &["function `public.deliver(text)`"],
    ),
    ("CREATE PROCEDURE pay() LANGUAGE sql AS 'SELECT 1'", "tproc-c", &["procedure `public.pay()`"]),
    (
        "CREATE TABLE customer (id integer); CREATE VIEW stock AS SELECT 1",
        "tproc-c",
        &["table `public.customer`", "view `public.stock`"],
    ),
    ("CREATE TYPE reviews AS ENUM ('good', 'bad')", "dvd-store", &["type `public.reviews`"]),
    (
        "CREATE SEQUENCE orders; CREATE TABLE mine (id integer); CREATE INDEX customer_name ON mine (id)",
        "tproc-c",
        &["sequence `public.orders`", "index `public.customer_name`"],
    ),
    ("CREATE TABLE load_steps (step integer)", "tproc-c", &["table `public.load_steps`"]),
    (
        "CREATE TABLE load_steps (name text, inserted bigint, checksum bigint);
         INSERT INTO load_steps VALUES ('mine', 1, 1)",
        "tproc-c",
        &["table `public.load_steps`"],
    ),
    (
        "CREATE FUNCTION stock_level(text) RETURNS text LANGUAGE sql AS 'SELECT $1'; CREATE SCHEMA fathom",
        "tproc-c",
        &["function `public.stock_level(text)`", "alone on its `search_path`"],
    ),
];

#[test]
fn postgresql_keeps_what_is_somebody_elses() {
    let mut server = Server::postgresql(&[]);
    server.wait_for(answers);
    let mut empty = new_databases(&server.connection);
    let holds = "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT relname || relkind::text FROM pg_class WHERE relnamespace NOT IN
            (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg_%' OR nspname = 'information_schema') ORDER BY 1";
    stay_as_they_are(POSTGRESQL, holds, &mut empty);

    // A load of its own in a schema of its own, beside tables of those names.
    let apart = empty();
    let database = drivers::server(&apart).expect("a driver");
    let mut session = database.connect().expect("the server is there");
    session.batch("CREATE TABLE customer (id integer)").expect("made");
    session.batch("CREATE SCHEMA fathom").expect("made");
    loaded(&*database, "tproc-c").expect("the schema of the user's name comes first");
    assert_eq!(text(&mut *session, "SELECT count(*)::text FROM public.customer"), "0");

    // A load that was interrupted, and what somebody made in the meantime.
    let resumed = empty();
    let database = drivers::server(&resumed).expect("a driver");
    let mut session = database.connect().expect("the server is there");
    loaded(&*database, "dvd-store").expect("it is empty");
    let undone = "DROP FUNCTION purchase; DROP TRIGGER restock ON inventory; DROP FUNCTION restock;
        DELETE FROM load_steps WHERE name IN ('procedure/purchase', 'rule/restock')";
    session.batch(undone).expect("undone");
    session
        .batch("CREATE FUNCTION restock(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        .expect("made");
    is_refused(&*database, "dvd-store", &["function `public.restock(integer)`"]);
    session.batch("DROP FUNCTION restock").expect("dropped");
    assert_eq!(loaded(&*database, "dvd-store").expect("it goes on").done, 2);

    loads_of_an_earlier_version(&*drivers::server(&empty()).expect("a driver"));
    insert_keeps_what_is_somebody_elses(
        &empty(),
        "CREATE PROCEDURE fathom_loop(text) LANGUAGE sql AS 'SELECT 1'",
    );
}

const MARIADB: &[Case] = &[
    ("CREATE PROCEDURE deliver() SELECT 1", "tproc-c", &["procedure `deliver`"]),
    ("CREATE PROCEDURE pay(IN a int) SELECT a", "tproc-c", &["procedure `pay`"]),
    ("CREATE FUNCTION purchase() RETURNS int DETERMINISTIC RETURN 7", "dvd-store", &["function `purchase`"]),
    (
        "CREATE TABLE mine (id int); CREATE TRIGGER restock BEFORE UPDATE ON mine FOR EACH ROW SET NEW.id = 1",
        "dvd-store",
        &["trigger `restock`"],
    ),
    (
        "CREATE TABLE customer (id int); CREATE VIEW stock AS SELECT 1 AS one",
        "tproc-c",
        &["table `customer`", "view `stock`"],
    ),
    (
        "CREATE TABLE mine (id int PRIMARY KEY, other int,
            CONSTRAINT orders_to_customers FOREIGN KEY (other) REFERENCES mine (id))",
        "dvd-store",
        &["foreign key `orders_to_customers`"],
    ),
    ("CREATE TABLE load_steps (step int)", "tproc-c", &["table `load_steps`"]),
];

#[test]
fn mariadb_keeps_what_is_somebody_elses() {
    let mut server = Server::mariadb(&[]);
    server.wait_for(answers);
    let mut empty = new_databases(&server.connection);
    let holds = "SELECT concat(routine_name, ' ', routine_type, ' ', routine_definition, ' ', created)
        FROM information_schema.routines
        WHERE routine_schema = database()
        UNION ALL SELECT concat(table_name, ' ', table_type) FROM information_schema.tables
        WHERE table_schema = database()
        UNION ALL SELECT concat(trigger_name, ' ', action_statement) FROM information_schema.triggers
        WHERE trigger_schema = database() ORDER BY 1";
    stay_as_they_are(MARIADB, holds, &mut empty);

    // Definitions commit by themselves: of a load that was killed before it could mark them, what is its own is made
    // anew, and what somebody made in the meantime stays.
    let resumed = empty();
    let database = drivers::server(&resumed).expect("a driver");
    let mut session = database.connect().expect("the server is there");
    loaded(&*database, "tproc-c").expect("it is empty");
    let unmarked = "DELETE FROM load_steps WHERE name IN ('tables', 'procedure/pay', 'procedure/deliver')";
    session.batch(unmarked).expect("forgotten");
    session.batch("DROP PROCEDURE deliver").expect("dropped");
    session.batch("CREATE PROCEDURE deliver() SELECT 1").expect("made");
    is_refused(&*database, "tproc-c", &["load creates, and they are left as they are: procedure `deliver`;"]);
    assert!(text(&mut *session, holds).contains("deliver PROCEDURE SELECT 1"));
    session.batch("DROP PROCEDURE deliver").expect("dropped");
    assert_eq!(loaded(&*database, "tproc-c").expect("it goes on").done, 3);

    loads_of_an_earlier_version(&*drivers::server(&empty()).expect("a driver"));
    insert_keeps_what_is_somebody_elses(&empty(), "CREATE PROCEDURE fathom_loop() SELECT 1");
}

/// Neither a procedure nor a table is dropped, and nothing beside it either.
fn insert_keeps_what_is_somebody_elses(to: &Connection, procedure: &str) {
    let database = drivers::server(to).expect("a driver");
    let mut session = database.connect().expect("the server is there");
    let run = |text: &str| config(&format!("rows = 60\n{text}")).run_on_server(to, &mut ());
    let refused = |text: &str, name: &str| {
        let failed = run(text).expect_err("something is in the way");
        assert_eq!(failed.reason, Reason::Settings, "{failed}");
        assert!(failed.message.contains(name), "{failed}");
    };
    session.batch(procedure).expect("made");
    refused("method = \"loop\"", "fathom_loop");
    run("method = 1").expect("it needs no procedure");
    let again = session.batch(procedure).expect_err("it is still there");
    assert!(again.to_string().contains("already exists"), "{again}");
    session.batch("DROP PROCEDURE fathom_loop").expect("dropped");
    session.batch("CREATE TABLE fathom_rows (id int)").expect("made");
    refused("method = 1", "fathom_rows");
    refused("method = \"loop\"", "fathom_rows");
    session.batch("INSERT INTO fathom_rows VALUES (1)").expect("the table is still there");
    session.batch("DROP TABLE fathom_rows").expect("dropped");
    // What a run that was killed left.
    let kind = database.kind();
    for table in [fathom_sql::insert::Table::Trade, fathom_sql::insert::Table::Payload { bytes: 9 }] {
        session.batch(table.create(kind)).expect("made");
        session.batch(table.procedure(kind).expect("it has procedures")).expect("made");
        run("method = \"loop\"").expect("its own is dropped");
        session.batch("SELECT 1 FROM fathom_rows").expect_err("the run dropped its table");
    }
}

#[test]
fn sqlite_keeps_what_is_somebody_elses() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let cases: [Case; 3] = [
        ("CREATE TABLE Customer (id)", "tproc-c", &["table `Customer`"]),
        (
            "CREATE TABLE mine (id); CREATE TRIGGER restock AFTER UPDATE ON mine BEGIN SELECT 1; END",
            "dvd-store",
            &["trigger `restock`"],
        ),
        ("CREATE TABLE load_steps (step)", "dvd-store", &["table `load_steps`"]),
    ];
    for (number, (made, workload, named)) in cases.into_iter().enumerate() {
        let path = scratch.path().join(format!("{number}.db"));
        let database = Sqlite::new(|| rusqlite::Connection::open(&path), "");
        let mut session = database.connect().expect("it is there");
        session.batch(made).expect("made");
        let holds = "SELECT sql FROM sqlite_master ORDER BY 1";
        let before = text(&mut *session, holds);
        is_refused(&database, workload, named);
        assert_eq!(text(&mut *session, holds), before);
    }
    let path = scratch.path().join("earlier.db");
    loads_of_an_earlier_version(&Sqlite::new(|| rusqlite::Connection::open(&path), ""));
}
