//! What TPROC-C sends to a SQL Server, byte by byte, against a scripted peer: the load, each transaction by procedure and by
//! statement, what is looked at every second, and what happens when it fails. Not against a SQL Server: see
//! docs/SQLSERVER.md.

use crate::common::certificates::Certificates;
use crate::tds::call::Called;
use crate::tds::loaded::Loaded;
use crate::tds::recorded::{self, Calls, declares_what_it_sends, defined, recorded};
use crate::tds::tls::{Encrypts, both};
use crate::tds::types::Datum;
use crate::tds::{Cell, Column, columns, database, failed, numbers, returned, row};
use fathom_job::{DatabaseKind, Failure};
use fathom_runtime::{MILLISECOND, Random};
use fathom_sql::database::Database;
use fathom_sql::drive::Ending;
use fathom_sql::drive::{Drive, Observer, Pace, RampRule, VirtualUser};
use fathom_sql::error::{ErrorKind, Result};
use fathom_sql::session::Session;
use fathom_sql::tprocc::hammerdb::{Found, check_schema};
use fathom_sql::tprocc::input::{Customer, Fidelity, HomeWarehouses, Input, Inputs, Kind, Order};
use fathom_sql::tprocc::population::Table;
use fathom_sql::tprocc::random::KeySpace;
use fathom_sql::tprocc::scale::Scale;
use fathom_sql::tprocc::terminal::{Interface, Terminal};
use fathom_sql::tprocc::texts;
use fathom_sql::tprocc::user::User;
use fathom_sql::watch::{Watch, sizes};

const KIND: DatabaseKind = DatabaseKind::Sqlserver;

// The load.

#[test]
fn a_load_arrives_byte_by_byte_and_is_read_back_the_same() {
    let loaded = Loaded::by(|peer| crate::order_entry::loads(peer));
    assert_eq!(loaded.size(), (9, 11_336));
    let texts = texts::of(KIND);
    let procedures = texts.procedures.expect("SQL Server has procedures").definitions;
    loaded.was_told(&[&texts.indexes, &procedures, &texts.finish]);
    assert_eq!(loaded.texts.last().map(String::as_str), Some("CHECKPOINT;"));
}

// Transactions.

fn order(items: &[i64]) -> Order {
    let each = |value: i64| vec![value; items.len()];
    Order {
        warehouse: 1,
        district: 4,
        customer: 17,
        items: items.to_vec(),
        supplies: each(1),
        quantities: each(3),
    }
}

fn payment(customer: Customer) -> Input {
    Input::Payment {
        warehouse: 1,
        district: 4,
        customer_warehouse: 2,
        customer_district: 5,
        customer,
        cents: 12_345,
    }
}

/// The five inputs.
fn all() -> Vec<Input> {
    vec![
        Input::NewOrder(order(&[7, 11])),
        payment(Customer::Name("BARBARBAR".into())),
        Input::OrderStatus { warehouse: 1, district: 4, customer: Customer::Number(17) },
        Input::Delivery { warehouse: 1, carrier: 9 },
        Input::StockLevel { warehouse: 1, district: 4, threshold: 15 },
    ]
}

/// Carries them out; what came of each, and what was asked for.
fn carried_out(
    interface: Interface,
    inputs: &[Input],
    answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
) -> (Vec<Result<Ending>>, Calls) {
    carried_out_over(Encrypts::Never, interface, inputs, answer)
}

/// The same, encrypted as told.
fn carried_out_over(
    encrypts: Encrypts,
    interface: Interface,
    inputs: &[Input],
    answer: impl FnMut(&str, &Called) -> Option<Vec<u8>> + Send + 'static,
) -> (Vec<Result<Ending>>, Calls) {
    let texts = texts::of(KIND);
    recorded::carried_out(encrypts, &texts, answer, |session| {
        let mut terminal = Terminal::prepare(interface, &texts, session).expect("needs no round trip");
        inputs.iter().map(|input| terminal.perform(session, input)).collect()
    })
}

/// As a server would answer a procedure.
fn of_procedure(name: &str) -> Vec<u8> {
    match name {
        "place_order" => numbers(&[3_001, 0]),
        "order_status" => numbers(&[3_000, 7, 1, 5, 100, 0]),
        "pay" | "deliver" | "stock_level" => numbers(&[5]),
        other => panic!("no procedure {other}"),
    }
}

#[test]
fn a_procedure_is_one_call_with_the_parameters_it_defines() {
    let (ends, seen) = carried_out(Interface::Procedures, &all(), |name, _| Some(of_procedure(name)));
    assert!(ends.iter().all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["place_order", "pay", "order_status", "deliver", "stock_level"]);
    let definitions = texts::of(KIND).procedures.expect("SQL Server has procedures").definitions;
    for (name, called) in &seen {
        let sent: Vec<&str> = called.parameters.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(sent, defined(&definitions, name), "{name}");
    }
    let (placed, paid) = (&seen[0].1, &seen[1].1);
    let text = |text: &str| Some(Datum::Text(text.to_owned()));
    assert_eq!(placed.get("@customer_id"), Some(&Datum::Int(17)));
    assert_eq!(placed.get("@items").cloned(), text("[7,11]"));
    assert_eq!(placed.get("@quantities").cloned(), text("[3,3]"));
    assert_eq!(paid.get("@customer_id"), Some(&Datum::Int(0)));
    assert_eq!(paid.get("@last_name").cloned(), text("BARBARBAR"));
    assert_eq!(paid.get("@amount"), Some(&Datum::Decimal(12_345, 2)));
}

#[test]
fn an_order_of_an_unused_item_was_rolled_back_by_its_procedure() {
    let orders = [Input::NewOrder(order(&[0, 11]))];
    let (ends, seen) = carried_out(Interface::Procedures, &orders, |_, _| Some(numbers(&[0, 0])));
    assert!(matches!(ends[..], [Ok(Ending::RolledBack)]), "{ends:?}");
    assert_eq!(seen.len(), 1);
}

/// As a server would answer a statement; item 0 does not exist.
fn of_statement(name: &str, called: &Called) -> Vec<u8> {
    match name {
        "customers_of_name" => {
            let rows = [41, 42, 43].map(|id| row(&[Cell::Int(Some(id))]));
            [columns(&[Column::Int("c_id")]), rows.concat(), returned(3)].concat()
        }
        "order_item" if called.get("@P1") == Some(&Datum::Int(0)) => {
            [columns(&[Column::Cents("i_price")]), returned(0)].concat()
        }
        "order_item" => {
            let names = [Column::Cents("i_price"), Column::Text("i_name")];
            [columns(&names), row(&[Cell::Cents(150), Cell::Text("thing")]), returned(1)].concat()
        }
        "order_stock" => {
            let names = [Column::Int("s_quantity"), Column::Text("s_data"), Column::Text("s_dist")];
            let cells = [Cell::Int(Some(12)), Cell::Text("data"), Cell::Text("of the fourth district")];
            [columns(&names), row(&cells), returned(1)].concat()
        }
        "order_district"
        | "order_customer"
        | "payment_customer_read"
        | "status_customer"
        | "status_lines"
        | "delivery_oldest"
        | "stock_level" => numbers(&[3_001]),
        _ => returned(1),
    }
}

#[test]
fn statements_go_one_by_one_with_the_types_they_declare() {
    let (ends, seen) =
        carried_out(Interface::Statements, &all(), |name, called| Some(of_statement(name, called)));
    assert!(ends.iter().all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let order = "begin order_district order_number_taken order_customer order_item order_item order_stock \
                 order_stock order_added order_waits order_stock_taken order_stock_taken order_line_added \
                 order_line_added commit";
    let pay = "customers_of_name begin payment_customer payment_customer_read payment_district \
               payment_warehouse payment_history commit";
    let delivery = "delivery_taken delivery_order delivery_lines delivery_customer ".repeat(10);
    let oldest = "delivery_oldest ".repeat(10);
    let expected =
        format!("{order} {pay} status_customer status_lines begin {oldest}{delivery}commit stock_level");
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    for (name, called) in seen.iter().filter(|(_, called)| !called.name.is_empty()) {
        declares_what_it_sends(name, called);
    }
    let of = |name: &str| &seen.iter().find(|(known, _)| known == name).expect("it was sent").1;
    // 12 pieces less 3 are below 10: 91 come in.
    assert_eq!(of("order_stock_taken").get("@P1"), Some(&Datum::Int(100)));
    assert_eq!(of("order_line_added").get("@P8"), Some(&Datum::Decimal(450, 2)));
    assert_eq!(of("order_line_added").get("@P9"), Some(&Datum::Text("of the fourth district".into())));
    // The second of three who bear the name.
    assert_eq!(of("payment_customer").get("@P6"), Some(&Datum::Int(42)));
    assert_eq!(of("payment_customer").get("@P3"), Some(&Datum::Text("42 5 2 4 1 123.45 ".into())));
    // After 2020, by the seconds since the year 1.
    let when = of("payment_history").get("@P4");
    assert!(matches!(when, Some(Datum::Seconds(63_713_433_600..))), "{when:?}");
}

#[test]
fn an_unused_item_rolls_the_order_back() {
    let orders = [Input::NewOrder(order(&[0, 11]))];
    let (ends, seen) =
        carried_out(Interface::Statements, &orders, |name, called| Some(of_statement(name, called)));
    assert!(matches!(ends[..], [Ok(Ending::RolledBack)]), "{ends:?}");
    assert_eq!(seen.last().map(|(name, _)| name.as_str()), Some("rollback"));
    assert!(seen.iter().all(|(name, _)| name != "order_added"));
}

// Encrypted.

#[test]
fn encrypted_it_loads_and_runs_the_same() {
    let files = Certificates::of("postgres");
    for encrypts in both(&files.certificate(), &files.key()) {
        let loaded = Loaded::over(encrypts.clone(), |peer| crate::order_entry::loads(peer));
        assert_eq!(loaded.size(), (9, 11_336));
        for interface in [Interface::Procedures, Interface::Statements] {
            let answer = move |name: &str, called: &Called| {
                let by_procedure = interface == Interface::Procedures;
                Some(if by_procedure { of_procedure(name) } else { of_statement(name, called) })
            };
            let (clear, wanted) = carried_out(interface, &all(), answer);
            let (ends, seen) = carried_out_over(encrypts.clone(), interface, &all(), answer);
            assert!(clear.iter().chain(&ends).all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
            let names = |seen: &Calls| seen.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&seen), names(&wanted), "{interface:?}");
        }
    }
}

// A schema of HammerDB.

/// As a server would answer of a schema that HammerDB built: what its catalogue and its counts say; None for anything else.
/// `short` is a table that lacks its last index.
fn of_hammerdb(text: &str, short: &str) -> Option<Vec<u8>> {
    let two = |rows: Vec<Vec<u8>>, kinds: [Column; 2]| {
        let count = rows.len() as u64;
        Some([columns(&kinds), rows.concat(), returned(count)].concat())
    };
    if text.contains("FROM sys.columns") {
        let padding = [("warehouse", "padding"), ("district", "padding")];
        let names = Table::ALL
            .iter()
            .flat_map(|table| table.columns().iter().map(|column| (table.name(), column.name)));
        let rows = names.chain(padding).map(|(table, name)| row(&[Cell::Text(table), Cell::Text(name)]));
        return two(rows.collect(), [Column::Text("table"), Column::Text("name")]);
    }
    if text.contains("FROM sys.indexes") {
        let of = |table: &Table| match table {
            Table::Customer | Table::District | Table::Orders => 2 - i64::from(table.name() == short),
            _ => 1,
        };
        let rows =
            Table::ALL.iter().map(|table| row(&[Cell::Text(table.name()), Cell::Int(Some(of(table)))]));
        return two(rows.collect(), [Column::Text("table"), Column::Int("count")]);
    }
    if text.contains("FROM sys.tables") {
        return Some([columns(&[Column::Text("name")]), returned(0)].concat());
    }
    let size = |names: &[i64]| Some(numbers(names));
    match text {
        _ if text.contains("FROM warehouse;") => size(&[3, 1, 3]),
        _ if text.contains("FROM district GROUP") => size(&[3, 10, 10]),
        _ if text.contains("FROM item;") => size(&[100_000, 1, 100_000]),
        _ if text.contains("FROM stock GROUP") => size(&[3, 100_000, 100_000]),
        _ if text.contains("FROM customer GROUP") => size(&[30, 3_000, 3_000]),
        _ if text.contains("WHERE EXISTS") => size(&[30, 1, 1]),
        // Two of the consistency conditions, after runs of HammerDB.
        _ if text.contains("c_balance <> coalesce") => size(&[5]),
        _ if text.starts_with("-- ") && text.contains("SELECT") => size(&[0]),
        _ => None,
    }
}

fn looked_through(short: &'static str) -> std::result::Result<Found, Failure> {
    let texts = texts::of(KIND);
    let answer = move |name: &str, called: &Called| {
        assert_eq!(name, "other");
        let text = called.text("@stmt");
        Some(of_hammerdb(text, short).unwrap_or_else(|| panic!("{text}")))
    };
    recorded::carried_out(Encrypts::Never, &texts, answer, |session| check_schema(session, KIND)).0
}

#[test]
fn a_schema_of_hammerdb_is_counted_and_its_types_are_read() {
    let found = looked_through("").expect("complete");
    assert_eq!(found.scale, Scale { warehouses: 3, items: 100_000, customers: 3_000 });
    assert_eq!(found.broken, "10 (5 rows)");
    assert_eq!(found.conditions.left_out, ["10"]);
    let refused = looked_through("customer").expect_err("its second index is missing");
    assert!(refused.message.contains("table `customer` has 1 indexes, and HammerDB gives it 2"), "{refused}");

    // There money is `money` and `smallmoney`, and the number of a district a `tinyint`.
    let answer = |name: &str, called: &Called| match name {
        "order_item" => {
            let cells = [Cell::SmallMoney(1_500_000), Cell::Text("thing")];
            let names = [Column::SmallMoney("i_price"), Column::Text("i_name")];
            Some([columns(&names), row(&cells), returned(1)].concat())
        }
        _ => Some(of_statement(name, called)),
    };
    let (ends, seen) = carried_out(Interface::Statements, &all(), answer);
    assert!(ends.iter().all(|end| matches!(end, Ok(Ending::Committed))), "{ends:?}");
    let line = seen.iter().find(|(name, _)| name == "order_line_added").expect("an order has lines");
    assert_eq!(line.1.get("@P8"), Some(&Datum::Decimal(45_000, 2)), "3 pieces of 150.00");
}

// What goes wrong.

#[test]
fn a_deadlock_in_mid_transaction_rolls_back_and_may_be_tried_again() {
    let mut deadlocks = 1;
    let answer = move |name: &str, called: &Called| {
        if name == "order_stock" && deadlocks > 0 {
            deadlocks -= 1;
            return Some(failed(1205, "chosen as the deadlock victim"));
        }
        Some(of_statement(name, called))
    };
    let twice = [Input::NewOrder(order(&[7])), Input::NewOrder(order(&[7]))];
    let (ends, seen) = carried_out(Interface::Statements, &twice, answer);
    let [Err(error), Ok(Ending::Committed)] = &ends[..] else { panic!("{ends:?}") };
    assert!(error.is_retryable(), "{error}");
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let at = names.iter().position(|name| *name == "rollback").expect("it rolled back");
    assert_eq!((names[at - 1], names[at + 1]), ("order_stock", "begin"));
}

#[test]
fn a_connection_that_goes_away_in_mid_transaction_is_lost() {
    for interface in [Interface::Procedures, Interface::Statements] {
        let answer = |name: &str, called: &Called| match name {
            "pay" | "payment_district" => None,
            _ => Some(of_statement(name, called)),
        };
        let (ends, _) = carried_out(interface, &[payment(Customer::Number(17))], answer);
        let [Err(error)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
}

/// By name.
type Counters = Vec<(String, i64)>;

/// Lets a user pay until the time is over, and watches; `answer` is asked about everything but the procedures first.
fn watched(
    answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
) -> (u64, Vec<String>, Counters, Vec<(String, String)>) {
    let mut calls = 0;
    let texts = texts::of(KIND);
    let (peer, _) = recorded(Encrypts::Never, &texts.statements, move |name, called| {
        if name != "other" {
            calls += 1;
            // Every other call is a deadlock's victim.
            return Some(if calls % 2 == 1 { failed(1205, "a deadlock") } else { of_procedure(name) });
        }
        let text = called.text("@stmt");
        answer(text).or_else(|| Some(numbers(&[1])))
    });
    let database = database(&peer);
    let mut watch = Watch::new(KIND, Some("SELECT sum(CAST(d_next_o_id AS bigint)) FROM district"));
    let drive = Drive {
        database: &database,
        kinds: &Kind::NAMES,
        users: 2,
        pace: Pace::Closed,
        ramp: 20 * MILLISECOND,
        warming: RampRule::default(),
        duration: 600 * MILLISECOND,
        interval: 100 * MILLISECOND,
        seed: 5,
    };
    let recruit = |user: u32, session: &mut dyn Session| -> Result<Box<dyn VirtualUser>> {
        let terminal = Terminal::prepare(Interface::Procedures, &texts, session)?;
        let keys = KeySpace::new(&crate::order_entry::SCALE, 1, true);
        let random = Random::new(3, &format!("user/{user}"));
        let home = HomeWarehouses::all(user, 2, crate::order_entry::SCALE.warehouses);
        let inputs = Inputs::new(crate::order_entry::SCALE, keys, Fidelity::Spec, home, random);
        Ok(Box::new(User::new(inputs, terminal, false)))
    };
    let driven = drive.run(&recruit, &mut watch, &mut ()).expect("deadlocks are tried again");
    assert!(driven.all.count() > 0);
    let mut session = database.connect().expect("the peer lets everybody in");
    let told = sizes(&mut *session, KIND).expect("asked");
    watch.begin(&mut *session).expect("looked");
    drop(session);
    peer.end();
    let nodes = watch.samples.iter().map(|sample| sample.node.clone()).collect();
    let mut counters: Counters =
        watch.begin.counters.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    counters.extend(watch.begin.transactions.map(|count| ("transactions".to_owned(), count)));
    let processors = watch.begin.processors;
    counters.extend(processors.map(|seen| ("processor ms".to_owned(), (seen.spent / MILLISECOND) as i64)));
    counters.extend(processors.map(|seen| ("processors".to_owned(), i64::from(seen.usable))));
    counters.extend(told.map(|(size, _)| ("size".to_owned(), size)));
    counters.extend(watch.series.first().map(|(_, name, _)| ("series ".to_owned() + name, 0)));
    (driven.counts.conflicts, nodes, counters, watch.facts())
}

/// What a server tells of two of its files.
fn files() -> Vec<u8> {
    let names = ["name", "role"].map(Column::Text).into_iter().chain(["n"; 6].map(Column::Int));
    let file = |name, role| {
        let numbers = [1, 8192, 500, 2, 16_384, 900].map(|number| Cell::Int(Some(number)));
        row(&[&[Cell::Text(name), Cell::Text(role)][..], &numbers].concat())
    };
    let rows = [file("tpcc_log", "log"), file("tempdb tempdev", "temp")].concat();
    [columns(&names.collect::<Vec<Column>>()), rows, returned(2)].concat()
}

#[test]
fn log_and_waits_are_read_every_interval_and_deadlocks_are_counted() {
    let (conflicts, nodes, counters, facts) = watched(|text| {
        if text.contains("process_kernel_time_ms") {
            return Some(numbers(&[4_200, 8]));
        }
        if text.contains("sys.master_files") {
            return Some(files());
        }
        let looks = text.contains("dm_io_virtual_file_stats");
        let two = text.contains("sys.allocation_units");
        looks.then(|| numbers(&[10, 2, 3, 40, 5, 6, 7, 8])).or_else(|| two.then(|| numbers(&[90, 91])))
    });
    assert!(conflicts > 0, "every other call was a deadlock");
    assert!(nodes.iter().any(|node| node == "database log"), "{nodes:?}");
    for file in ["file tpcc_log", "file tempdb tempdev"] {
        assert_eq!(nodes.iter().filter(|node| *node == file).count() % 2, 0, "reads and writes: {nodes:?}");
        assert!(nodes.iter().any(|node| node == file), "{nodes:?}");
    }
    let expected = [
        ("log_bytes", 10),
        ("log_flushes", 2),
        ("pages_written_back", 3),
        ("log_since_checkpoint", 40),
        ("log_write_stall_ms", 5),
        ("data_read_stall_ms", 6),
        ("log_wait_ms", 7),
        ("page_wait_ms", 8),
        ("transactions", 1),
        ("processor ms", 4_200),
        ("processors", 8),
        ("size", 90),
        ("series log_since_checkpoint", 0),
    ];
    assert_eq!(counters, expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(facts, []);
}

#[test]
fn who_may_not_look_at_the_server_runs_without() {
    let (_, nodes, counters, facts) = watched(|text| match text {
        _ if ["dm_os_performance_counters", "allocation_units", "dm_os_schedulers"]
            .iter()
            .any(|view| text.contains(view)) =>
        {
            Some(failed(300, "VIEW SERVER STATE permission was denied"))
        }
        // A version without the view.
        _ if text.contains("dm_io_virtual_file_stats") => Some(failed(208, "Invalid object name")),
        _ => None,
    });
    assert_eq!((nodes, counters), (Vec::new(), Vec::new()));
    let [(files, no_files), (processors, why)] = &facts[..] else { panic!("{facts:?}") };
    assert_eq!((files.as_str(), processors.as_str()), ("file_counters", "server_processors"));
    assert!(no_files.contains("Invalid object name"), "{no_files}");
    assert_eq!(why, "not permitted to this user");
}
