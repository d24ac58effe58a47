//! TPROC-C on a schema of HammerDB's layout on PostgreSQL: it runs, it changes nothing but rows, and what is incomplete is refused
//! by name.

use std::collections::BTreeMap;

use crate::common::named::named;
use crate::common::servers::{Server, answers};
use fathom_job::{Connection, DatabaseKind, Databases, Failure, Job, Outcome, Reason, RunEnvironment};
use fathom_runtime::{Clock, Random};
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::database::Database;
use fathom_sql::drivers::postgresql::Postgresql;
use fathom_sql::session::Session;
use fathom_sql::tprocc::Config;
use fathom_sql::tprocc::hammerdb::check_schema;
use fathom_sql::tprocc::input::{Fidelity, HomeWarehouses, Inputs, Kind};
use fathom_sql::tprocc::random::KeySpace;
use fathom_sql::tprocc::scale::Scale;
use fathom_sql::tprocc::terminal::{Interface, Terminal};
use fathom_sql::tprocc::texts;

const SCALE: Scale = Scale { warehouses: 2, items: 120, customers: 30 };

/// The settings, or what is wrong with them.
fn config(text: &str) -> Result<Config, String> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    config.ok_or_else(|| to_text(&diagnostics))
}

fn run(to: &Connection, more: &str) -> Result<Outcome, Failure> {
    let text = format!(
        "database = \"d\"\nschema = \"hammerdb\"\nusers = 3\nramp = \"100ms\"\nduration = \"700ms\"\n\
         interval = \"200ms\"\n{more}"
    );
    let databases = Databases(BTreeMap::from([("d".to_owned(), to.clone())]));
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let environment = RunEnvironment {
        storage: None,
        databases: &databases,
        scratch: scratch.path(),
        clock: Clock::Real,
        seed: 3,
    };
    config(&text).expect("valid").run(&environment, &mut ())
}

fn count(session: &mut dyn Session, question: &str) -> i64 {
    session.query(question, &[]).expect(question).first().expect("a row").int(0).expect("a number")
}

#[test]
fn a_schema_of_hammerdb_is_run_on_and_an_incomplete_one_is_refused() {
    let mut server = Server::postgresql(&[]);
    server.wait_for(answers);
    let database = Postgresql::new(server.connection.clone());
    let mut session = database.connect().expect("the server is there");
    let session = &mut *session;

    let to = &server.connection;
    let nothing = run(to, "").expect_err("there is no schema");
    assert_eq!(nothing.reason, Reason::Settings);
    assert!(nothing.message.contains("no table `item`, `warehouse`, `district`, "), "{nothing}");

    session.batch(include_str!("hammerdb.sql")).expect("built");
    what_is_missing_is_named(session);
    for fidelity in ["spec", "hammerdb"] {
        it_runs(to, session, fidelity);
    }
    its_own_routines_are_called(to, session);
    numbers_that_are_taken_are_told(to, session);
    what_did_not_hold_before_is_told(to, session);
}

/// Routines of the test's own with HammerDB's names and parameters: they tell what came. Neither is HammerDB's own.
const FUNCTIONS: &str = "
CREATE FUNCTION neword(integer, integer, integer, integer, integer, integer) RETURNS numeric LANGUAGE sql AS
    $$ INSERT INTO called VALUES ('order', $1, $2, $5) RETURNING NULL::numeric $$;
CREATE FUNCTION payment(integer, integer, integer, integer, integer, integer, numeric, varchar, varchar, numeric)
    RETURNS integer LANGUAGE sql AS $$ INSERT INTO called VALUES ('payment', $5, $6, length($8)) RETURNING 1 $$;
CREATE FUNCTION ostat(integer, integer, integer, integer, varchar) RETURNS SETOF record LANGUAGE sql AS
    $$ INSERT INTO called VALUES ('status', $3, $4, length($5));
       SELECT 1, 1, 1::smallint, 1.5, now(), 1, 'L'::varchar, 'F'::varchar, 'M'::varchar, 0.5, 1, localtimestamp, 1 $$;
CREATE FUNCTION delivery(integer, integer) RETURNS integer LANGUAGE sql AS
    $$ INSERT INTO called VALUES ('delivery', $1, $2, 0) RETURNING 1 $$;
CREATE FUNCTION slev(integer, integer, integer) RETURNS integer LANGUAGE sql AS
    $$ INSERT INTO called VALUES ('stock', $1, $2, $3) RETURNING 1 $$;";

fn its_own_routines_are_called(server: &Connection, session: &mut dyn Session) {
    let own = "interface = \"procedures\"\nfidelity = \"hammerdb\"";
    let missing = run(server, own).expect_err("they are not there");
    assert!(missing.message.contains("are not in this database (0 of them"), "{missing}");
    session.batch("CREATE TABLE called (what text, a integer, b integer, c integer)").expect("made");
    session.batch(FUNCTIONS).expect("made");
    let outcome = run(server, own).expect("it runs");
    assert_eq!(outcome.facts["interface"], "HammerDB's own procedures");
    let texts = texts::of(DatabaseKind::Postgresql);
    let terminal = Terminal::of_hammerdb(Interface::Procedures, SCALE.warehouses, &texts, session);
    let mut terminal = terminal.expect("they are there");
    let (keys, home) = (KeySpace::of_hammerdb(&SCALE, false), HomeWarehouses::all(0, 1, SCALE.warehouses));
    let mut inputs = Inputs::new(SCALE, keys, Fidelity::Hammerdb, home, Random::new(5, "user/0"));
    for kind in Kind::ALL {
        for _ in 0..30 {
            terminal.perform(session, &inputs.input(kind)).expect("called");
        }
    }
    for (what, holds) in [
        ("order", "a IN (1, 2) AND b = 2 AND c BETWEEN 5 AND 15"),
        // By name, without a number, or by number, without a name.
        ("payment", "(a = 0 AND b = 1 AND c > 0) OR (a > 0 AND b = 0 AND c = 0)"),
        ("status", "(a = 0 AND b = 1 AND c > 0) OR (a > 0 AND b = 0 AND c = 0)"),
        ("delivery", "a IN (1, 2) AND b BETWEEN 1 AND 10"),
        ("stock", "a IN (1, 2) AND b BETWEEN 1 AND 10 AND c BETWEEN 10 AND 20"),
    ] {
        let counted =
            |condition: &str| format!("SELECT count(*) FROM called WHERE what = '{what}' AND {condition}");
        assert!(count(session, &counted("true")) > 0, "{what} was called");
        assert_eq!(count(session, &counted(&format!("NOT ({holds})"))), 0, "{what}");
    }
    session
        .batch("DROP TABLE called; DROP FUNCTION neword, payment, ostat, delivery, slev")
        .expect("dropped");
}

fn it_runs(server: &Connection, session: &mut dyn Session, fidelity: &str) {
    let orders = "SELECT count(*) FROM orders";
    let before = count(session, orders);
    let outcome = run(server, &format!("fidelity = \"{fidelity}\"")).expect("it runs");
    let facts = &outcome.facts;
    assert!(outcome.metrics["nopm"].expect("a figure") > 0.0);
    assert!(count(session, orders) > before, "orders were placed");
    assert_eq!(facts["schema"], "built by HammerDB");
    assert!(facts["scale"].starts_with("2 warehouses, scaled down: 120 items"), "{}", facts["scale"]);
    assert_eq!(facts["interface"], "prepared statements, pipelined");
    assert!(facts["hammerdb"].starts_with("TEST RESULT : System achieved "), "{}", facts["hammerdb"]);
    assert!(!facts.contains_key("warning.conditions") && !facts.contains_key("loaded"), "{facts:?}");
    let found = check_schema(session, DatabaseKind::Postgresql).expect("still complete");
    assert_eq!((found.scale, found.broken.as_str()), (SCALE, ""), "consistent after the run");
    for kind in ["c_payment_cnt > 1", "c_delivery_cnt > 0", "c_credit = 'BC' AND c_data <> 'data'"] {
        assert!(count(session, &format!("SELECT count(*) FROM customer WHERE {kind}")) > 0, "{kind}");
    }
    let added = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
                 WHERE nspname = 'public' AND relkind IN ('r', 'p')";
    let functions = "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace \
                     WHERE nspname = 'public'";
    assert_eq!((count(session, added), count(session, functions)), (11, 0), "nothing was added to it");
}

/// Each way to spoil it, how to undo that, and what is said.
const SPOILT: [(&str, &str, &str); 8] = [
    ("ALTER TABLE stock RENAME TO s", "ALTER TABLE s RENAME TO stock", "no table `stock`"),
    (
        "ALTER TABLE orders RENAME o_all_local TO local",
        "ALTER TABLE orders RENAME local TO o_all_local",
        "table `orders` has no column `o_all_local`",
    ),
    (
        "DROP INDEX customer_i2",
        "CREATE UNIQUE INDEX customer_i2 ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
        "table `customer` has 1 indexes, and HammerDB gives it 2",
    ),
    (
        "UPDATE warehouse SET w_id = 3 WHERE w_id = 2",
        "UPDATE warehouse SET w_id = 2 WHERE w_id = 3",
        "2 warehouses have the numbers 1 to 3",
    ),
    (
        "UPDATE stock SET s_w_id = 9 WHERE s_w_id = 2 AND s_i_id = 7",
        "UPDATE stock SET s_w_id = 2 WHERE s_w_id = 9",
        "3 warehouses of 2 have items in stock",
    ),
    (
        "UPDATE district SET d_w_id = 1, d_id = 11 WHERE d_w_id = 2 AND d_id = 10",
        "UPDATE district SET d_w_id = 2, d_id = 10 WHERE d_id = 11",
        "warehouses have 9 to 11 districts, and not 10",
    ),
    (
        "UPDATE customer SET c_d_id = 11 WHERE c_w_id = 2 AND c_d_id = 10 AND c_id = 1",
        "UPDATE customer SET c_d_id = 10 WHERE c_d_id = 11",
        "21 districts of 20 have customers",
    ),
    (
        "UPDATE orders SET o_d_id = 11 WHERE o_w_id = 2 AND o_d_id = 10",
        "UPDATE orders SET o_d_id = 10 WHERE o_d_id = 11",
        "19 districts of 20 have orders and lines: the build did not end",
    ),
];

fn what_is_missing_is_named(session: &mut dyn Session) {
    for (spoil, undo, said) in SPOILT {
        session.batch(spoil).expect(spoil);
        let refused = check_schema(session, DatabaseKind::Postgresql).expect_err(spoil);
        assert_eq!(refused.reason, Reason::Settings);
        assert!(refused.message.contains(said), "{spoil}: {refused}");
        assert!(refused.message.contains("leave out `schema`"), "{refused}");
        session.batch(undo).expect(undo);
    }
    let found = check_schema(session, DatabaseKind::Postgresql).expect("whole again");
    assert_eq!((found.scale, found.broken.as_str()), (SCALE, ""));
}

/// HammerDB 4's procedures give an order the number that its district then has as the next one.
fn numbers_that_are_taken_are_told(server: &Connection, session: &mut dyn Session) {
    session.batch("UPDATE district SET d_next_o_id = d_next_o_id - 1").expect("as it leaves them");
    let refused = run(server, "").expect_err("no order can be placed");
    assert_eq!(refused.reason, Reason::Settings);
    assert!(refused.message.contains("next order number of 20 districts is taken"), "{refused}");
    session.batch("UPDATE district SET d_next_o_id = d_next_o_id + 1").expect("as it says");
    run(server, "").expect("it runs again");
}

/// HammerDB's own runs leave some conditions violated.
fn what_did_not_hold_before_is_told(server: &Connection, session: &mut dyn Session) {
    session
        .batch("UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 1 AND c_d_id = 1")
        .expect("spoilt");
    let outcome = run(server, "").expect("it runs all the same");
    let warning = &outcome.facts["warning.conditions"];
    assert!(warning.ends_with("consistency conditions 10 (2 rows), 12 (2 rows)"), "{warning}");
}

/// On tables that HammerDB itself built: the database `tpcc` of the server that `FATHOM_TEST_HAMMERDB` names,
/// `postgresql://USER:PASSWORD@HOST:PORT?tls=disable`.
#[test]
fn a_schema_that_hammerdb_built_is_run_on() {
    let Some(to) = named("FATHOM_TEST_HAMMERDB", DatabaseKind::Postgresql, "tpcc", 5432) else { return };
    let database = Postgresql::new(to.clone());
    let mut session = database.connect().expect("the server is there");
    let found = check_schema(&mut *session, DatabaseKind::Postgresql).expect("it is complete");
    eprintln!("{}, broken before: {:?}", found.scale.describe(), found.broken);
    for fidelity in ["spec", "hammerdb"] {
        match run(&to, &format!("fidelity = \"{fidelity}\"")) {
            Ok(outcome) => eprintln!("statements, {fidelity}: {:?}", outcome.facts),
            // HammerDB 4's own runs leave them so.
            Err(refused) => assert!(refused.message.contains("UPDATE district"), "{refused}"),
        }
    }
    let outcome =
        run(&to, "interface = \"procedures\"\nfidelity = \"hammerdb\"").expect("its own are called");
    eprintln!("procedures: {:?} {:?}", outcome.facts, outcome.metrics);
    assert!(outcome.metrics["nopm"].expect("a figure") > 0.0);
}

#[test]
fn nothing_is_said_of_sizes_or_procedures_of_such_a_schema() {
    let head = "database = \"d\"\nschema = \"hammerdb\"\n";
    for line in ["warehouses = 4", "items = 200", "customers = 40", "repeated = \"5%\"", "load_sessions = 2"]
    {
        let wrong = config(&format!("{head}{line}")).expect_err(line);
        assert!(wrong.contains("HammerDB has built the tables already"), "{wrong}");
    }
    let wrong = config(&format!("{head}interface = \"procedures\"")).expect_err("refused");
    assert!(wrong.contains("HammerDB's own"), "{wrong}");
    let own = format!("{head}interface = \"procedures\"\nfidelity = \"hammerdb\"");
    let misfits = config(&own).expect("valid").database_misfits(&[DatabaseKind::Sqlserver]);
    assert!(misfits.iter().any(|(key, _)| key == "interface"), "{misfits:?}");
    let misfits =
        config(head).expect("valid").database_misfits(&[DatabaseKind::Sqlserver, DatabaseKind::Mariadb]);
    let said: Vec<String> =
        misfits.iter().map(|(key, problem)| format!("{key}: {}", problem.message)).collect();
    assert_eq!(said, ["schema: a schema of HammerDB cannot be read on MariaDB"]);
    assert!(config(head).expect("valid").loads().is_empty(), "nothing is loaded");
}
