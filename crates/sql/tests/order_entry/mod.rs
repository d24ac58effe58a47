//! What TPROC-C must do on every database, in one body.

pub mod crash;

use std::ops::ControlFlow;

use fathom_job::draw::Arrivals;
use fathom_job::sampler::WORKLOAD;
use fathom_job::{Failure, Progress, Reason};
use fathom_runtime::{MILLISECOND, Nanos, Random, SECOND};
use fathom_sql::checksum::Checksum;
use fathom_sql::database::{Database, DatabaseKind, Known};
use fathom_sql::drive::{Drive, Driven, Observer, Pace, RampRule};
use fathom_sql::error::Result;
use fathom_sql::load::{Report, load, state};
use fathom_sql::session::Session;
use fathom_sql::tprocc::conditions::conditions;
use fathom_sql::tprocc::input::{Fidelity, HomeWarehouses, Inputs, Kind};
use fathom_sql::tprocc::load::{checksum, load as steps};
use fathom_sql::tprocc::population::Population;
use fathom_sql::tprocc::random::KeySpace;
use fathom_sql::tprocc::scale::Scale;
use fathom_sql::tprocc::terminal::{Interface, Terminal};
use fathom_sql::tprocc::texts;
use fathom_sql::tprocc::user::User;
use fathom_volume::Kind::Write;

/// Two warehouses of a hundredth of their size.
pub const SCALE: Scale = Scale { warehouses: 2, items: 200, customers: 40 };
pub const SEED: u64 = 7;
const IDENTITY: &str = "tproc-c test 7";

/// The checksum of [`SCALE`] and [`SEED`] on every database.
const CHECKSUM: (u64, u64) = (2_047_132_928_953_774_766, 11_336);

pub fn population() -> Population {
    Population::new(SCALE, SEED, 0.0)
}

pub fn loaded(database: &(dyn Database + Sync), progress: &mut dyn Progress) -> Result<Report, Failure> {
    let (population, texts) = (population(), texts::of(database.kind()));
    load(database, &steps(&population, IDENTITY.to_owned(), database.kind(), &texts), 3, progress)
}

fn session<'d>(database: &'d (dyn Database + Sync)) -> Box<dyn Session + 'd> {
    database.connect().expect("the server is there")
}

/// Runs every check of the load on an empty database.
pub fn loads(database: &(dyn Database + Sync)) {
    a_load_that_was_stopped_goes_on(database);
    the_checksum_is_the_same_everywhere(database);
    another_load_is_refused(database);
}

/// Runs every check on an empty database.
pub fn works(database: &(dyn Database + Sync)) {
    let all = [Interface::Procedures, Interface::Statements];
    let offered = |interface: &Interface| {
        *interface != Interface::Procedures || database.kind().dialect().features.procedures
    };
    works_by(database, &all.into_iter().filter(offered).collect::<Vec<_>>());
}

/// The same, by these interfaces.
pub fn works_by(database: &(dyn Database + Sync), interfaces: &[Interface]) {
    loads(database);
    for interface in interfaces.iter().copied() {
        every_transaction_does_what_the_clauses_say(database, interface);
        users_leave_a_consistent_database(database, interface);
    }
    a_rate_is_kept_and_latency_counts_from_the_intended_start(database);
    arrivals_that_are_served_do_not_wait(database);
    a_violation_is_found_and_named(database);
}

/// Stops the load at the third tick.
struct Stops(u32);

impl Progress for Stops {
    fn tick(&mut self, _: f64, note: &str) -> ControlFlow<()> {
        let loads = note.starts_with("loading: ") && !note.starts_with("loading: 0 of");
        self.0 += u32::from(loads);
        if self.0 >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn a_load_that_was_stopped_goes_on(database: &(dyn Database + Sync)) {
    let (population, texts) = (population(), texts::of(database.kind()));
    let all = steps(&population, IDENTITY.to_owned(), database.kind(), &texts);
    let count: usize = all.stages.iter().map(Vec::len).sum();
    assert_eq!(state(&mut *session(database), database.kind(), &all).expect("asked"), None);
    let stopped = loaded(database, &mut Stops(0)).expect_err("it was stopped");
    assert_eq!(stopped.reason, Reason::Cancelled);
    assert_eq!(state(&mut *session(database), database.kind(), &all).expect("asked"), Some(false));
    let report = loaded(database, &mut ()).expect("it goes on");
    assert!(report.found > 0 && report.done > 0, "{report:?}");
    assert_eq!(report.found + report.done, count);
    assert_eq!(state(&mut *session(database), database.kind(), &all).expect("asked"), Some(true));
    let again = loaded(database, &mut ()).expect("there is nothing left to do");
    assert_eq!((again.found, again.done, again.total), (count, 0, report.total));
    conditions(&SCALE).ensure(&mut *session(database), true).expect("consistent after the load");
}

fn the_checksum_is_the_same_everywhere(database: &(dyn Database + Sync)) {
    let report = loaded(database, &mut ()).expect("loaded");
    let read = checksum(&mut *session(database), SCALE.warehouses).expect("read back");
    assert_eq!(
        read,
        Checksum::of(report.total.checksum, report.total.rows),
        "what was sent is what is there"
    );
    assert_eq!((read.sum(), read.rows()), CHECKSUM);
}

/// On databases that commit at every definition: a load that was killed may do them again.
#[allow(dead_code, reason = "for databases that commit at every definition")]
pub fn definitions_may_be_done_again(database: &(dyn Database + Sync)) {
    loaded(database, &mut ()).expect("loaded");
    let definitions =
        "DELETE FROM load_steps WHERE name = 'tables' OR name LIKE 'index/%' OR name LIKE 'procedure/%'";
    session(database).batch(definitions).expect("forgotten");
    let report = loaded(database, &mut ()).expect("done again");
    assert!(report.done >= 8, "{report:?}");
    conditions(&SCALE).ensure(&mut *session(database), true).expect("consistent");
}

fn another_load_is_refused(database: &(dyn Database + Sync)) {
    let (population, texts) = (population(), texts::of(database.kind()));
    let other = steps(&population, "tproc-c test 8".to_owned(), database.kind(), &texts);
    let refused = load(database, &other, 1, &mut ()).expect_err("the database holds another load");
    assert_eq!(refused.reason, Reason::Settings);
    assert!(refused.message.contains(IDENTITY), "{}", refused.message);
}

fn inputs(user: u32, users: u32, seed: u64) -> Inputs {
    let keys = KeySpace::new(&SCALE, SEED, true);
    let home = HomeWarehouses::all(user, users, SCALE.warehouses);
    Inputs::new(SCALE, keys, Fidelity::Spec, home, Random::new(seed, &format!("user/{user}")))
}

fn number(session: &mut dyn Session, question: &str) -> i64 {
    let answer = session.query(question, &[]).unwrap_or_else(|error| panic!("{question}: {error}"));
    let value = answer.first().expect("one row").get(0).expect("one column");
    value.decimal(0).or_else(|_| value.decimal(2)).unwrap_or_else(|error| panic!("{question}: {error}"))
}

/// What the transactions change.
const LEDGER: [&str; 9] = [
    "SELECT sum(d_next_o_id) FROM district",
    "SELECT count(*) FROM orders",
    "SELECT sum(s_order_cnt) FROM stock",
    "SELECT count(*) FROM order_line",
    "SELECT count(*) FROM history",
    "SELECT sum(c_payment_cnt) FROM customer",
    "SELECT count(*) FROM new_order",
    "SELECT sum(c_delivery_cnt) FROM customer",
    "SELECT count(*) FROM order_line WHERE ol_delivery_d IS NULL",
];

fn ledger(session: &mut dyn Session) -> [i64; 9] {
    LEDGER.map(|question| number(session, question))
}

pub fn every_transaction_does_what_the_clauses_say(database: &(dyn Database + Sync), interface: Interface) {
    use fathom_sql::drive::Ending;
    use fathom_sql::tprocc::input::Input;
    let mut session = session(database);
    let session = &mut *session;
    let mut terminal = Terminal::prepare(interface, &texts::of(database.kind()), session).expect("prepared");
    let mut inputs = inputs(0, 1, 11);
    let before = ledger(session);
    let (mut orders, mut lines, mut rolled_back) = (0, 0, 0);
    while orders < 40 || rolled_back < 1 {
        let input = inputs.input(Kind::NewOrder);
        let Input::NewOrder(order) = &input else { panic!("an order was asked for") };
        let end = terminal.perform(session, &input).expect("an order is placed");
        assert_eq!(end == Ending::RolledBack, order.items.contains(&0));
        if end == Ending::Committed {
            (orders, lines) = (orders + 1, lines + order.items.len() as i64);
        } else {
            rolled_back += 1;
        }
    }
    let after = ledger(session);
    let grown: Vec<i64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [orders, orders, lines, lines, 0, 0, orders, 0, lines], "{interface:?}: orders");

    let before = after;
    for _ in 0..40 {
        assert_eq!(terminal.perform(session, &inputs.input(Kind::Payment)).expect("paid"), Ending::Committed);
        terminal.perform(session, &inputs.input(Kind::OrderStatus)).expect("told");
        terminal.perform(session, &inputs.input(Kind::StockLevel)).expect("told");
    }
    let after = ledger(session);
    let grown: Vec<i64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [0, 0, 0, 0, 40, 40, 0, 0, 0], "{interface:?}: payments and questions");

    let before = after;
    terminal.perform(session, &inputs.input(Kind::Delivery)).expect("delivered");
    let after = ledger(session);
    assert_eq!((after[6] - before[6], after[7] - before[7]), (-10, 10), "{interface:?}: deliveries");
    assert!((50..=150).contains(&(before[8] - after[8])), "{interface:?}: lines delivered");
    conditions(&SCALE).ensure(session, false).expect("consistent");
}

/// Counts how often it was called.
#[derive(Default)]
struct Orders {
    begin: i64,
    end: i64,
    intervals: u32,
}

impl Observer for Orders {
    fn begin(&mut self, session: &mut dyn Session) -> Result<()> {
        self.begin = number(session, "SELECT sum(d_next_o_id) FROM district");
        Ok(())
    }

    fn interval(&mut self, _: &mut dyn Session, _: Nanos) -> Result<()> {
        self.intervals += 1;
        Ok(())
    }

    fn end(&mut self, session: &mut dyn Session) -> Result<()> {
        self.end = number(session, "SELECT sum(d_next_o_id) FROM district");
        Ok(())
    }
}

fn driven(
    database: &(dyn Database + Sync),
    interface: Interface,
    users: u32,
    pace: Pace,
    observer: &mut Orders,
) -> Driven {
    let texts = texts::of(database.kind());
    // A SQL Server is somebody else's, and may be slow to begin.
    let slow = database.kind() == DatabaseKind::Sqlserver;
    let drive = Drive {
        database,
        kinds: &Kind::NAMES,
        users,
        pace,
        ramp: if slow { 10 * SECOND } else { 600 * MILLISECOND },
        warming: RampRule::default(),
        duration: if slow { 20 * SECOND } else { 900 * MILLISECOND },
        interval: 300 * MILLISECOND,
        seed: 5,
    };
    let recruit = |user, session: &mut dyn Session| -> Result<Box<dyn fathom_sql::drive::VirtualUser>> {
        let terminal = Terminal::prepare(interface, &texts, session)?;
        Ok(Box::new(User::new(inputs(user, users, 23), terminal, false)))
    };
    drive.run(&recruit, observer, &mut ()).expect("the users work")
}

fn users_leave_a_consistent_database(database: &(dyn Database + Sync), interface: Interface) {
    let run = || {
        let mut observer = Orders::default();
        (driven(database, interface, 4, Pace::Closed, &mut observer), observer)
    };
    // A machine that is shared may stand still for as long as the measured phase takes: such a run is done again.
    let done = |(driven, orders): &(Driven, Orders)| driven.all.count() > 0 && orders.end > orders.begin;
    let (driven, observer) = (0..2).map(|_| run()).find(done).unwrap_or_else(run);
    conditions(&SCALE).ensure(&mut *session(database), false).expect("consistent after the run");
    assert!(driven.all.count() > 0 && observer.end > observer.begin, "{interface:?}: nothing was done");
    let of_kinds: u64 = driven.kinds.iter().map(|seen| seen.count()).sum();
    assert_eq!(of_kinds, driven.all.count());
    let total =
        driven.totals.iter().find(|total| total.node == WORKLOAD).expect("what the users saw is counted");
    assert_eq!(total.total.kind(Write).map(|all| all.count), Some(of_kinds), "all kinds together");
    assert!(driven.samples.iter().any(|sample| sample.start < 0), "the ramp is kept");
    let measured: u64 = (driven.samples.iter())
        .filter(|sample| sample.node == "workload" && sample.start >= 0)
        .map(|sample| sample.count)
        .sum();
    assert_eq!(measured, driven.all.count(), "intervals add up to the measured phase");
    assert!(observer.intervals >= 1);
}

fn a_rate_is_kept_and_latency_counts_from_the_intended_start(database: &(dyn Database + Sync)) {
    let interface = Interface::best(database.kind());
    let mut observer = Orders::default();
    // More than any database does: what arrives waits, and the waiting is part of the latency.
    let pace = Pace::Rate(Arrivals::Constant, 1e6);
    let driven = driven(database, interface, 2, pace, &mut observer);
    let all = driven.all.statistics.expect("something was done");
    assert!(all.waiting_sum > 0 && all.latency_sum > all.waiting_sum);
    assert!(all.latency.max() > 300 * MILLISECOND, "late by {} ns at most", all.latency.max());
    let arrived = driven.arrived.expect("it has a rate");
    assert!(
        arrived.count.abs_diff(driven.measured / 1000) <= 1,
        "{} in {} ns",
        arrived.count,
        driven.measured
    );
    assert!(arrived.waiting > all.count && arrived.longest >= arrived.waiting, "{arrived:?}");
}

fn arrivals_that_are_served_do_not_wait(database: &(dyn Database + Sync)) {
    let mut observer = Orders::default();
    let pace = Pace::Rate(Arrivals::Poisson, 20.0);
    let driven = driven(database, Interface::best(database.kind()), 2, pace, &mut observer);
    let (done, arrived) = (driven.all.count(), driven.arrived.expect("it has a rate"));
    // Two may be under way at each end of the measured phase.
    assert!(arrived.count.abs_diff(done) <= 4 && arrived.waiting <= 2, "{done} done of {arrived:?}");
}

fn a_violation_is_found_and_named(database: &(dyn Database + Sync)) {
    let mut session = session(database);
    let session = &mut *session;
    session
        .batch("UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id <= 3")
        .expect("spoilt");
    let violations = conditions(&SCALE).check(session, false).expect("checked");
    let found: Vec<(&str, i64)> =
        violations.iter().map(|violation| (violation.condition.as_str(), violation.rows)).collect();
    assert_eq!(found, [("10", 3), ("12", 3)]);
    let error = conditions(&SCALE).ensure(session, false).expect_err("not consistent");
    assert!(
        error.to_string().contains("condition 10 (What a customer owes is what was delivered"),
        "{error}"
    );
}

/// Undoes what [`a_violation_is_found_and_named`] has done.
pub fn repair(database: &(dyn Database + Sync)) {
    let spoilt =
        "UPDATE customer SET c_balance = c_balance - 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id <= 3";
    session(database).batch(spoilt).expect("repaired");
    conditions(&SCALE).ensure(&mut *session(database), false).expect("consistent again");
}
